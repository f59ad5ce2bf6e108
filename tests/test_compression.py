"""Laws of compression: one whole gzip member, whatever made it; and of the thread that makes it."""

from __future__ import annotations

import errno
import gzip
import threading
import time
import zlib
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client, override_settings
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from django_sitemaps09 import checks, compression
from django_sitemaps09.compression import compress, compressor
from django_sitemaps09.conf import conf
from django_sitemaps09.export import export
from django_sitemaps09.export.rendering import sink
from django_sitemaps09.export.rendering.sink import Sink, open_sink
from tests.support.sections import Numbers
from tests.support.services import missing

BASE = "https://www.example.com"
#: Gzip, deflate, no flag (of a name, for one), no time.
HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00"
LEVELS = range(1, 10)
#: Text with repetitions that a better level finds more of.
TEXT = b"".join(b"<url><loc>https://www.example.com/%d/%d/</loc></url>\n" % (i, i**3) for i in range(3_000))
NO_SPACE = OSError(errno.ENOSPC, "No space left on device")
#: In seconds: what must happen happens long before, and a failure does not hang.
DEADLINE = 20


class Cubes(Numbers):
    """A section whose pages are not compressed to next to nothing."""

    def __init__(self) -> None:
        super().__init__(5_000)

    def location(self, item: int) -> str:
        return f"/numbers/{item}/{item**3}/"


# What the setting SITEMAPS names.
SECTIONS = {"numbers": Cubes}


def unpacked(data: bytes) -> bytes:
    """What one gzip member holds; a reader that knows no second one, and forgives no rest, takes it."""
    reader = zlib.decompressobj(31)
    content = reader.decompress(data) + reader.flush()
    assert data.startswith(HEADER)
    assert (reader.eof, reader.unused_data) == (True, b"")
    assert gzip.decompress(data) == content
    return content


@pytest.fixture(params=["zlib", pytest.param("isal", marks=pytest.mark.services)])
def codec(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Without the extra `fast`, and with it where it is installed."""
    name: str = request.param
    if name == "zlib":
        monkeypatch.setattr(compression, "isal_zlib", None)
    elif compression.isal_zlib is None:
        missing("isal is not installed: it is the extra `fast`")
    return name


@pytest.mark.usefixtures("codec")
class TestAGzipFile:
    @pytest.mark.parametrize("level", [None, *LEVELS])
    @pytest.mark.parametrize("data", [b"", b"x", TEXT], ids=["empty", "short", "long"])
    def test_is_one_member_without_a_name_or_a_time(self, data: bytes, level: int | None) -> None:
        assert unpacked(compress(data, level)) == data

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(chunks=st.lists(st.binary(max_size=2_000)), level=st.sampled_from([None, 1, 6, 9]))
    def test_holds_the_same_however_it_comes_in_chunks(
        self, chunks: list[bytes], level: int | None
    ) -> None:
        stream = compressor(level)
        data = b"".join([*map(stream.compress, chunks), stream.flush()])
        assert unpacked(data) == b"".join(chunks)
        assert unpacked(compress(b"".join(chunks), level)) == b"".join(chunks)

    @pytest.mark.parametrize("level", [None, 1, 6, 9])
    def test_has_the_same_bytes_for_the_same_input(self, level: int | None) -> None:
        assert compress(TEXT, level) == compress(TEXT, level)

    @pytest.mark.parametrize("level", LEVELS)
    def test_of_a_level_is_that_of_zlib_whatever_is_installed(self, level: int) -> None:
        stream = zlib.compressobj(level, zlib.DEFLATED, 31)
        assert compress(TEXT, level) == stream.compress(TEXT) + stream.flush()


def test_without_a_level_isal_is_used_where_it_is_installed(codec: str) -> None:
    if codec == "zlib":
        assert compress(TEXT) == compress(TEXT, 6)
    else:
        assert compress(TEXT) not in [compress(TEXT, level) for level in LEVELS]


def test_a_better_level_makes_a_smaller_file() -> None:
    assert len(compress(TEXT, 9)) < len(compress(TEXT, 1))


class TestTheSetting:
    @pytest.mark.parametrize("level", [None, *LEVELS])
    def test_is_read_at_each_use(self, level: int | None) -> None:
        with override_settings(SITEMAPS09={"GZIP_LEVEL": level}):
            assert conf.gzip_level == level
            assert checks.check_settings() == []
        with override_settings(SITEMAPS09={}):
            assert conf.gzip_level is None

    @pytest.mark.parametrize("level", [0, 10, -1, "6", True, False, 6.0, [6], "fast"], ids=repr)
    def test_is_refused_by_name_where_zlib_has_no_such_level(self, level: object) -> None:
        with override_settings(SITEMAPS09={"GZIP_LEVEL": level}):
            with pytest.raises(ImproperlyConfigured, match=r"GZIP_LEVEL.*from 1 to 9") as raised:
                _ = conf.gzip_level
            (message,) = checks.check_settings()
            assert (message.id, message.msg) == ("sitemaps09.E003", str(raised.value))
            assert repr(level) in message.msg

    def test_that_is_refused_publishes_nothing(self, tmp_path: Path) -> None:
        with override_settings(SITEMAPS09={"BASE_URL": BASE, "GZIP_LEVEL": 10}):
            report = export(output=tmp_path, sitemaps=SECTIONS)
        assert not report.published
        assert "SITEMAPS09['GZIP_LEVEL']" in report.failures[0]
        assert not [path for path in tmp_path.iterdir() if path.is_file()]


class TestWhatIsServedAndExported:
    """Whatever the codec and the level, it holds the same."""

    @pytest.fixture
    def plain(self, tmp_path: Path) -> bytes:
        with override_settings(SITEMAPS09={"BASE_URL": BASE}):
            export(output=tmp_path / "plain", sitemaps=SECTIONS, gzip=False)
        return (tmp_path / "plain" / "sitemap-numbers-1.xml").read_bytes()

    @pytest.mark.parametrize("level", [None, 1, 6, 9])
    @pytest.mark.usefixtures("codec")
    def test_holds_the_same_bytes(self, plain: bytes, tmp_path: Path, level: int | None) -> None:
        given = {"BASE_URL": BASE, "GZIP_LEVEL": level, "SITEMAPS": f"{__name__}.SECTIONS"}
        with override_settings(SITEMAPS09=given):
            report = export(output=tmp_path / "public")
            response = Client().get("/sitemap-numbers-1.xml.gz")
        data = (tmp_path / "public" / "sitemap-numbers-1.xml.gz").read_bytes()
        assert unpacked(data) == plain
        assert unpacked(response.content) == plain
        assert response.content == compress(plain, level)
        (file,) = report.sections[0].files
        assert file.digest == sha256(plain).hexdigest()
        assert (file.bytes, file.size) == (len(plain), len(data))

    def test_is_as_small_as_the_level_makes_it(self, tmp_path: Path) -> None:
        sizes = []
        for level in (1, 9):
            with override_settings(SITEMAPS09={"BASE_URL": BASE, "GZIP_LEVEL": level}):
                report = export(output=tmp_path / str(level), sitemaps=SECTIONS)
            sizes.append(report.sections[0].size)
        assert sizes[1] < sizes[0]

    def test_has_a_digest_without_a_file_too(self, plain: bytes, tmp_path: Path) -> None:
        with override_settings(SITEMAPS09={"BASE_URL": BASE}):
            report = export(output=tmp_path / "public", sitemaps=SECTIONS, dry_run=True)
        assert report.sections[0].files[0].digest == sha256(plain).hexdigest()
        assert not (tmp_path / "public").exists()


# The thread of a file.


def threads() -> list[str]:
    """Those of a sink that are there now."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("sitemap-file")]


def chunks_of(count: int) -> list[bytes]:
    return [bytes([i % 256]) * (i * 37 % 5_000) for i in range(count)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file"


def at(path: Path | None) -> Any:
    """A place for a file that is left there whatever becomes of it."""
    return None if path is None else lambda: path.open("xb")


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """The disk is full after so many bytes."""

    def change(room: int) -> None:
        out = Sink._out

        def until_full(self: Sink, data: bytes) -> None:
            if self.size + len(data) > room:
                raise NO_SPACE
            out(self, data)

        monkeypatch.setattr(Sink, "_out", until_full)

    return change


class TestASink:
    @pytest.fixture(autouse=True)
    def _handed_over_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Chunks go to the thread as they come, where a real one gathers a megabyte of them."""
        monkeypatch.setattr(sink, "_CHUNK", 0)

    @pytest.mark.parametrize("compressed", [False, True], ids=["plain", "gzip"])
    @pytest.mark.parametrize("count", [0, 1, sink._WAITING, sink._WAITING + 1, 100])
    def test_keeps_all_chunks_in_their_order(self, path: Path, count: int, compressed: bool) -> None:
        chunks = chunks_of(count)
        with open_sink(at(path), compressor() if compressed else None) as out:
            for chunk in chunks:
                out.write(chunk)
            digest = out.end()()
        data = path.read_bytes()
        assert (unpacked(data) if compressed else data) == b"".join(chunks)
        assert (digest, out.size) == (sha256(b"".join(chunks)).hexdigest(), len(data))
        assert threads() == []

    def test_counts_and_hashes_the_same_without_a_file(self, path: Path) -> None:
        found = []
        for place in (path, None):
            with open_sink(at(place), compressor(6)) as out:
                for chunk in chunks_of(20):
                    out.write(chunk)
                found.append((out.end()(), out.size))
        assert found[0] == found[1]

    def test_works_in_one_thread_that_is_not_the_callers(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        inside, second, go = threading.Event(), threading.Event(), threading.Event()
        names: list[str] = []

        def out(self: Sink, data: bytes) -> None:
            names.append(threading.current_thread().name)
            (second if inside.is_set() else inside).set()
            assert go.wait(DEADLINE)

        monkeypatch.setattr(Sink, "_out", out)
        with open_sink(at(path), None) as opened:
            opened.write(b"a")
            opened.write(b"b")
            assert inside.wait(DEADLINE)
            # A second chunk must not overtake the first one.
            assert not second.wait(0.2)
            go.set()
            opened.end()()
        assert second.is_set()
        assert len({*names}) == 1
        assert names[0].startswith("sitemap-file")

    def test_lets_no_more_than_a_few_chunks_wait(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        go, done = threading.Event(), threading.Event()
        taken: list[bytes] = []
        written: list[bytes] = []

        def out(self: Sink, data: bytes) -> None:
            assert go.wait(DEADLINE)
            taken.append(data)

        monkeypatch.setattr(Sink, "_out", out)
        opened = Sink(at(path), None)

        def write_all() -> None:
            for chunk in chunks_of(50):
                opened.write(chunk)
                written.append(chunk)
            done.set()

        writer = threading.Thread(target=write_all, daemon=True)
        writer.start()
        deadline = time.monotonic() + DEADLINE
        while len(written) < sink._WAITING:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert not done.wait(0.2)
        assert len(written) == sink._WAITING
        assert taken == []
        go.set()
        assert done.wait(DEADLINE)
        writer.join(DEADLINE)
        opened.end()()
        assert taken == chunks_of(50)

    def test_raises_what_its_thread_raised_at_a_later_write(
        self, path: Path, full: Callable[[int], None]
    ) -> None:
        full(1_000)
        written: list[bytes] = []

        def write_all() -> None:
            for chunk in [b"x" * 100] * 100:
                out.write(chunk)
                written.append(chunk)

        with open_sink(at(path), None) as out, pytest.raises(OSError, match="No space left") as raised:
            write_all()
        assert raised.value is NO_SPACE
        # At once, but for those that waited.
        assert 10 <= len(written) <= 11 + sink._WAITING
        with pytest.raises(OSError, match="No space left"):
            out.end()()
        assert path.stat().st_size <= 1_000
        assert out._file is not None
        assert out._file.closed
        assert threads() == []

    @pytest.mark.parametrize("compressed", [False, True], ids=["last chunk", "end of the stream"])
    def test_raises_what_its_thread_raised_at_the_close(
        self, path: Path, full: Callable[[int], None], compressed: bool
    ) -> None:
        full(10)
        out = Sink(at(path), compressor(6) if compressed else None)
        out.write(b"some bytes more" * 20)
        with pytest.raises(OSError, match="No space left"):
            out.end()()
        assert out._file is not None
        assert out._file.closed
        assert threads() == []

    def test_that_is_given_up_does_not_write_what_waits(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        inside, go = threading.Event(), threading.Event()
        taken: list[bytes] = []

        def out(self: Sink, data: bytes) -> None:
            taken.append(data)
            inside.set()
            assert go.wait(DEADLINE)

        monkeypatch.setattr(Sink, "_out", out)
        cancelled = threading.Event()
        opened = Sink(at(path), None)
        for chunk in (b"a", b"b"):
            opened.write(chunk)
        assert inside.wait(DEADLINE)

        def give_up() -> None:
            opened.give_up()
            cancelled.set()

        closing = threading.Thread(target=give_up, daemon=True)
        closing.start()
        # Cancelled before the first chunk ends; that one is waited for.
        deadline = time.monotonic() + DEADLINE
        while not all(future.cancelled() for future in [*opened._waiting][1:]):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert not cancelled.is_set()
        go.set()
        assert cancelled.wait(DEADLINE)
        closing.join(DEADLINE)
        assert taken == [b"a"]
        assert threads() == []

    def test_is_closed_where_its_caller_fails(self, path: Path) -> None:
        opened: list[Sink] = []

        def fail() -> None:
            with open_sink(at(path), compressor()) as out:
                opened.append(out)
                out.write(b"x")
                raise KeyError

        with pytest.raises(KeyError):
            fail()
        (out,) = opened
        assert out._file is not None
        assert out._file.closed
        assert threads() == []

    def test_fails_a_page_as_it_fails_a_file(self, tmp_path: Path, full: Callable[[int], None]) -> None:
        with override_settings(SITEMAPS09={"BASE_URL": BASE}):
            export(output=tmp_path, sitemaps=SECTIONS)
            before: dict[str, Any] = {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()}
            full(5_000)
            more = type("More", (Cubes,), {"items": lambda self: range(6_000)})
            report = export(output=tmp_path, sitemaps={"numbers": more})
        assert "No space left on device" in report.failures[0]
        assert {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()} == before
        assert threads() == []
