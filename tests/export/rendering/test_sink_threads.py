"""The thread that compresses a file of an export."""

from __future__ import annotations

import errno
import threading
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from django_sitemaps09.compression import compressor
from django_sitemaps09.export.rendering import sink
from django_sitemaps09.export.rendering.sink import Sink
from tests.support.compressing import unpacked

NO_SPACE = OSError(errno.ENOSPC, "No space left on device")
#: Timeout in seconds, so that a failing test does not hang.
DEADLINE = 20


def threads() -> list[str]:
    """Return the current threads of sinks."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("sitemap-file")]


def chunks_of(count: int) -> list[bytes]:
    return [bytes([i % 256]) * (i * 37 % 5_000) for i in range(count)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file"


def at(path: Path | None) -> Any:
    """Return an opener for a file that is kept even after an error."""
    return None if path is None else lambda: path.open("xb")


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Simulate a disk that is full after this number of bytes."""

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
        """Pass each chunk to the thread at once, instead of collecting a megabyte first."""
        monkeypatch.setattr(sink, "_CHUNK", 0)

    @pytest.mark.parametrize("compressed", [False, True], ids=["plain", "gzip"])
    @pytest.mark.parametrize("count", [0, 1, sink._WAITING, sink._WAITING + 1, 100])
    def test_keeps_all_chunks_in_their_order(self, path: Path, count: int, compressed: bool) -> None:
        chunks = chunks_of(count)
        with Sink(at(path), compressor() if compressed else None) as out:
            for chunk in chunks:
                out.write(chunk)
            digest = out.end()()
        data = path.read_bytes()
        assert (unpacked(data) if compressed else data) == b"".join(chunks)
        assert (digest, out.size) == (sha256(b"".join(chunks)).hexdigest(), len(data))
        assert threads() == []

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
        with Sink(at(path), None) as opened:
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

        with Sink(at(path), None) as out, pytest.raises(OSError, match="No space left") as raised:
            write_all()
        assert raised.value is NO_SPACE
        # All chunks are compressed at once, except those that waited.
        assert 10 <= len(written) <= 11 + sink._WAITING
        with pytest.raises(OSError, match="No space left"):
            out.end()()
        assert path.stat().st_size <= 1_000
        assert out._file.closed
        assert threads() == []

    @pytest.mark.parametrize("compressed", [False, True], ids=["last chunk", "end of the stream"])
    def test_raises_the_error_of_its_thread_on_close(
        self, path: Path, full: Callable[[int], None], compressed: bool
    ) -> None:
        full(10)
        out = Sink(at(path), compressor(6) if compressed else None)
        out.write(b"some bytes more" * 20)
        with pytest.raises(OSError, match="No space left"):
            out.end()()
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
            opened.__exit__(OSError)
            cancelled.set()

        closing = threading.Thread(target=give_up, daemon=True)
        closing.start()
        # The sink is cancelled while the first chunk is processed, so it waits only for that chunk.
        deadline = time.monotonic() + DEADLINE
        while not all(future.cancelled() for future in [*opened._write_futures][1:]):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert not cancelled.is_set()
        go.set()
        assert cancelled.wait(DEADLINE)
        closing.join(DEADLINE)
        assert taken == [b"a"]
        assert threads() == []
