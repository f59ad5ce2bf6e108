"""One file of an export: its bytes, and when no file is opened at all."""

from __future__ import annotations

import gzip
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from django_sitemaps09.compression import compressor
from django_sitemaps09.export.rendering import sink
from django_sitemaps09.export.rendering.sink import Sink, open_sink
from django_sitemaps09.stores.local import LocalStore

DATA = [b"<url>%d</url>\n" % number for number in range(10_000)]
#: Several chunks of content that does not compress well.
LARGE = [hashlib.sha256(b"%d" % number).digest() * 1_000 for number in range(100)]


class Spied:
    """A compressor that counts the bytes that it receives."""

    def __init__(self) -> None:
        self.real = compressor(6)
        self.given = 0

    def compress(self, data: bytes) -> bytes:
        self.given += len(data)
        return self.real.compress(data)

    def flush(self) -> bytes:
        self.given += 1
        return self.real.flush()


class Place:
    """The staged file of a page; counts how many times it was opened."""

    def __init__(self, folder: Path) -> None:
        self.store = LocalStore(folder)
        self.path = folder / "staged" / "page"
        self.opened = 0

    @contextmanager
    def __call__(self) -> Iterator[BinaryIO]:
        self.opened += 1
        with self.store.staged("staged/page") as file:
            yield file


def digest(parts: list[bytes]) -> str:
    return hashlib.sha256(b"".join(parts)).hexdigest()


def written(place: Any, stream: Any, parts: list[bytes], known: str | None = None) -> tuple[Sink, str]:
    with open_sink(place, stream, known) as out:
        for part in parts:
            out.write(part)
        ended = out.end()
    return out, ended()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


class TestAPageThatIsPublishedAlready:
    @pytest.mark.parametrize("parts", [DATA, LARGE, []], ids=["small", "several chunks", "empty"])
    def test_is_neither_compressed_nor_staged(
        self, place: Place, tmp_path: Path, parts: list[bytes]
    ) -> None:
        stream = Spied()
        out, found = written(place, stream, parts, digest(parts))
        assert (out.unchanged, out.size, found) == (True, 0, digest(parts))
        assert (stream.given, place.opened) == (0, 0)
        assert list(tmp_path.rglob("*")) == []

    @pytest.mark.parametrize("parts", [DATA, LARGE, []], ids=["small", "several chunks", "empty"])
    @pytest.mark.parametrize("gz", [True, False])
    def test_with_other_bytes_is_staged_as_one_that_is_new(
        self, tmp_path: Path, parts: list[bytes], gz: bool
    ) -> None:
        new, changed = Place(tmp_path / "new"), Place(tmp_path / "changed")
        first, expected = written(new, compressor(6) if gz else None, parts)
        second, found = written(changed, compressor(6) if gz else None, parts, digest([b"other"]))
        assert found == expected == digest(parts)
        assert (first.unchanged, second.unchanged) == (False, False)
        assert changed.path.read_bytes() == new.path.read_bytes()
        assert second.size == first.size == new.path.stat().st_size
        data = changed.path.read_bytes()
        assert (gzip.decompress(data) if gz else data) == b"".join(parts)

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(parts=st.lists(st.binary(max_size=50)), other=st.lists(st.binary(max_size=50)))
    def test_is_staged_exactly_if_its_bytes_are_others(
        self, tmp_path_factory: pytest.TempPathFactory, parts: list[bytes], other: list[bytes]
    ) -> None:
        place = Place(tmp_path_factory.mktemp("sink"))
        out, found = written(place, compressor(6), parts, digest(other))
        assert found == digest(parts)
        assert out.unchanged == (b"".join(parts) == b"".join(other)) == (not place.path.exists())
        assert place.opened == (not out.unchanged)
        if place.opened:
            assert gzip.decompress(place.path.read_bytes()) == b"".join(parts)

    def test_in_a_dry_run_is_measured_if_it_is_another_one(self, place: Place) -> None:
        out, _ = written(None, compressor(6), DATA, digest([b"other"]))
        wanted, _ = written(place, compressor(6), DATA)
        assert (out.size, out.unchanged) == (wanted.size, False)

    def test_leaves_no_open_or_staged_file_if_its_writer_fails(self, place: Place, tmp_path: Path) -> None:
        before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0  # noqa: PTH208
        for known in (None, digest(DATA), digest([b"other"])):
            with suppress(ZeroDivisionError), open_sink(place, compressor(6), known) as out:
                out.write(DATA[0])
                raise ZeroDivisionError
        assert not place.path.exists()
        if before:
            assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


class TestADiskThatIsFull:
    @pytest.mark.parametrize("known", [None, digest([b"other"])], ids=["new", "published"])
    def test_is_reported_at_the_end_at_the_latest_and_leaves_no_file(
        self, place: Place, monkeypatch: pytest.MonkeyPatch, known: str | None
    ) -> None:
        def full(self: Sink, data: bytes) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Sink, "_out", full)
        with pytest.raises(OSError, match="No space left"):
            written(place, compressor(6), LARGE, known)
        assert not place.path.exists()

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no disk that is full")
    @pytest.mark.parametrize("known", [None, digest([b"other"])], ids=["new", "published"])
    def test_is_reported_with_the_file(self, known: str | None) -> None:
        @contextmanager
        def full() -> Iterator[BinaryIO]:
            with Path("/dev/full").open("wb", buffering=0) as file:
                yield file

        with pytest.raises(OSError, match=r"No space left.*/dev/full"):
            written(full, compressor(6), LARGE, known)

    def test_in_the_folder_of_temporary_files_is_reported_too(
        self, place: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        temporary: Callable[..., Any] = sink.TemporaryFile

        @contextmanager
        def tiny() -> Iterator[Any]:
            with temporary() as file:

                class Full:
                    def write(self, data: bytes) -> None:
                        raise OSError(28, "No space left on device")

                    seek, read = file.seek, file.read

                yield Full()

        monkeypatch.setattr(sink, "TemporaryFile", tiny)
        with pytest.raises(OSError, match="No space left"):
            written(place, compressor(6), LARGE, digest(LARGE))
        assert not place.path.exists()
