"""One file of an export: its bytes, and when no file is opened at all."""

from __future__ import annotations

import gzip
import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import gettempdir
from typing import Any, BinaryIO

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from django_sitemaps09.compression import compressor
from django_sitemaps09.export.rendering import sink
from django_sitemaps09.export.rendering.sink import Sink
from django_sitemaps09.stores.local import LocalStore

DATA = [b"<url>%d</url>\n" % number for number in range(1_000)]


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
    with Sink(place, stream, known) as out:
        for part in parts:
            out.write(part)
        ended = out.end()
    return out, ended()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sink, "_CHUNK", 100)
    monkeypatch.setattr(sink, "_READ", 70)


class TestAPageThatIsPublishedAlready:
    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        parts=st.lists(st.binary(max_size=50), max_size=20),
        other=st.none() | st.lists(st.binary(max_size=50)),
        gz=st.booleans(),
    )
    def test_is_compressed_and_staged_like_a_new_one_exactly_if_its_bytes_are_others(
        self,
        tmp_path_factory: pytest.TempPathFactory,
        small_chunks: None,
        parts: list[bytes],
        other: list[bytes] | None,
        gz: bool,
    ) -> None:
        other = parts if other is None else other
        new, place = (Place(tmp_path_factory.mktemp("sink")) for _ in range(2))
        stream = Spied()
        first, expected = written(new, compressor(6) if gz else None, parts)
        out, found = written(place, stream if gz else None, parts, digest(other))
        assert found == expected == digest(parts)
        assert out.unchanged == (b"".join(parts) == b"".join(other))
        assert first.unchanged is False
        if out.unchanged:
            assert (out.size, stream.given, place.opened) == (0, 0, 0)
            assert list(place.path.parent.parent.iterdir()) == []
        else:
            data = place.path.read_bytes()
            assert data == new.path.read_bytes()
            assert (gzip.decompress(data) if gz else data) == b"".join(parts)
            assert out.size == first.size == len(data)

    @pytest.mark.parametrize("known", [None, digest([b"other"])], ids=["new", "published"])
    def test_in_a_dry_run_is_measured_and_hashed_without_a_file(
        self, place: Place, small_chunks: None, known: str | None
    ) -> None:
        out, found = written(None, compressor(6), DATA, known)
        wanted, expected = written(place, compressor(6), DATA)
        assert (out.size, out.unchanged, found) == (wanted.size, False, expected)

    def test_leaves_no_thread_and_no_open_or_staged_file_if_its_writer_fails(self, place: Place) -> None:
        before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0  # noqa: PTH208
        for known in (None, digest(DATA), digest([b"other"])):
            with suppress(ZeroDivisionError), Sink(place, compressor(6), known) as out:
                out.write(DATA[0])
                raise ZeroDivisionError
        assert not place.path.exists()
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("sitemap-")]
        if before:
            assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


class TestADiskThatIsFull:
    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no disk that is full")
    @pytest.mark.parametrize("known", [None, digest([b"other"])], ids=["new", "published"])
    def test_is_reported_with_the_file(self, known: str | None) -> None:
        @contextmanager
        def full() -> Iterator[BinaryIO]:
            with Path("/dev/full").open("wb", buffering=0) as file:
                yield file

        with pytest.raises(OSError, match=r"No space left.*/dev/full"):
            written(full, compressor(6), DATA, known)

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
        with pytest.raises(OSError, match=rf"No space left.*{gettempdir()}"):
            written(place, compressor(6), DATA, digest(DATA))
        assert not place.path.exists()
