"""One file of an export: its bytes, its thread, and when no file is opened at all."""

from __future__ import annotations

import gzip
import hashlib
import os
import threading
import time
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import gettempdir
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tests.support.internals import LocalStore, compression, sink
from tests.support.processes import DEADLINE, until

DATA = [b"<url>%d</url>\n" % number for number in range(1_000)]
#: Each is handed over to the thread at once, with small chunks.
CHUNKS = [b"%d" % number * 100 for number in range(50)]


def digest(parts):
    return hashlib.sha256(b"".join(parts)).hexdigest()


KNOWN = [None, digest([b"other"])]


def placed(folder):
    staged = partial(LocalStore(folder).staged, "staged/page")
    return mock.Mock(side_effect=staged, path=folder / "staged" / "page")


class Slow:
    """A file that records what it is given. Each write waits until the test lets it go on."""

    def __init__(self):
        self.taken, self.is_writing, self.is_closed = [], False, False
        self.inside, self.go = threading.Event(), threading.Event()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        assert not self.is_writing
        self.is_closed = True

    def write(self, data):
        self.is_writing = True
        self.taken.append(data)
        assert threading.current_thread().name.startswith("sitemap-file")
        self.inside.set()
        assert self.go.wait(DEADLINE)
        self.is_writing = False


class Full(Slow):
    def write(self, data):
        if len(self.taken) == 10:
            raise OSError(28, "No space left on device", "page")
        self.taken.append(data)


def write_all(out, parts, written=None):
    for part in parts:
        out.write(part)
        if written is not None:
            written.append(part)


def written(place, stream, parts, known=None):
    with sink.Sink(place, stream, known) as out:
        write_all(out, parts)
        ended = out.end()
    return out, ended()


def threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("sitemap-")]


place = pytest.fixture(lambda tmp_path: placed(tmp_path))
small_chunks = pytest.fixture(lambda monkeypatch: monkeypatch.setattr(sink, "_CHUNK", 100))


@pytest.mark.usefixtures("small_chunks")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    parts=st.lists(st.binary(max_size=50), max_size=20),
    other=st.none() | st.lists(st.binary(max_size=50)),
    gz=st.booleans(),
)
def test_a_published_page_is_staged_again_if_its_bytes_are_others(tmp_path_factory, parts, other, gz):
    other = parts if other is None else other
    new, place = (placed(tmp_path_factory.mktemp("sink")) for _ in range(2))
    stream = mock.Mock(wraps=compression.compressor(6))
    first, expected = written(new, compression.compressor(6) if gz else None, parts)
    out, found = written(place, stream if gz else None, parts, digest(other))
    assert found == expected == digest(parts)
    assert (first.unchanged, out.unchanged) == (False, b"".join(parts) == b"".join(other))
    if out.unchanged:
        assert (out.size, stream.mock_calls, place.mock_calls) == (0, [], [])
        assert list(place.path.parent.parent.iterdir()) == []
    else:
        data = place.path.read_bytes()
        assert (data, gzip.decompress(data) if gz else data) == (new.path.read_bytes(), b"".join(parts))
        assert out.size == first.size == len(data)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("known", KNOWN, ids=["new", "published"])
def test_a_dry_run_measures_and_hashes_a_page_without_a_file(place, known):
    out, found = written(None, compression.compressor(6), DATA, known)
    wanted, expected = written(place, compression.compressor(6), DATA)
    assert (out.size, out.unchanged, found) == (wanted.size, False, expected)


def test_a_writer_that_fails_leaves_no_thread_and_no_open_or_staged_file(place):
    descriptors = Path("/proc/self/fd")
    before = len([*descriptors.iterdir()]) if descriptors.exists() else 0
    for known in (*KNOWN, digest(DATA)):
        with suppress(ZeroDivisionError), sink.Sink(place, compression.compressor(6), known) as out:
            out.write(DATA[0])
            raise ZeroDivisionError
    assert (place.path.exists(), threads()) == (False, [])
    assert not before or len(os.listdir(descriptors)) == before  # noqa: PTH208


class TestADiskThatIsFull:
    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no disk that is full")
    @pytest.mark.parametrize("known", KNOWN, ids=["new", "published"])
    def test_is_reported_with_the_file(self, known):
        full = open("/dev/full", "wb", buffering=0)  # noqa: PTH123, SIM115
        with pytest.raises(OSError, match=r"No space left.*/dev/full"):
            written(lambda: full, compression.compressor(6), DATA, known)

    def test_in_the_folder_of_temporary_files_is_reported_too(self, place, monkeypatch):
        temporary = sink.TemporaryFile

        @contextmanager
        def tiny():
            with temporary() as file:
                full = mock.Mock(wraps=file)
                full.write.side_effect = OSError(28, "No space left on device")
                yield full

        monkeypatch.setattr(sink, "TemporaryFile", tiny)
        with pytest.raises(OSError, match=rf"No space left.*{gettempdir()}"):
            written(place, compression.compressor(6), DATA, digest(DATA))
        assert not place.path.exists()


@pytest.mark.usefixtures("small_chunks")
class TestTheThread:
    def test_is_one_besides_that_of_the_caller(self):
        slow = Slow()
        with sink.Sink(lambda: slow, None) as out:
            write_all(out, CHUNKS[:2])
            assert slow.inside.wait(DEADLINE)
            time.sleep(0.2)
            # The second chunk must not overtake the first one.
            assert slow.taken == CHUNKS[:1]
            slow.go.set()
            out.end()()
        assert slow.taken == CHUNKS[:2]

    def test_lets_no_more_than_a_few_chunks_wait(self):
        slow, written = Slow(), []
        with sink.Sink(lambda: slow, None) as out:
            writer = threading.Thread(target=write_all, args=[out, CHUNKS, written], daemon=True)
            writer.start()
            until(lambda: len(written) == sink._WAITING, "no chunk waits")
            time.sleep(0.2)
            assert (len(written), len(slow.taken)) == (sink._WAITING, 1)
            slow.go.set()
            writer.join(DEADLINE)
            out.end()()
        assert slow.taken == CHUNKS

    def test_has_its_error_raised_by_a_later_write(self):
        full, written = Full(), []
        with sink.Sink(lambda: full, None) as out, pytest.raises(OSError, match=r"No space left.*page"):
            write_all(out, CHUNKS, written)
        # All chunks are written at once, except those that waited.
        assert (full.taken, 10 <= len(written) <= 11 + sink._WAITING) == (CHUNKS[:10], True)
        with pytest.raises(OSError, match="No space left"):
            out.end()()
        assert (full.is_closed, threads()) == (True, [])

    def test_does_not_write_what_waits_if_the_writer_fails(self):
        slow = Slow()
        with suppress(ZeroDivisionError), sink.Sink(lambda: slow, None) as out:
            write_all(out, CHUNKS[:2])
            assert slow.inside.wait(DEADLINE)
            threading.Timer(0.2, slow.go.set).start()
            raise ZeroDivisionError
        assert (slow.is_closed, slow.taken) == (True, CHUNKS[:1])
