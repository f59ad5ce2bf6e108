"""Files that are whole or not there: staged beside the target, then moved in."""

from __future__ import annotations

import os
import shutil
import stat
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp
from typing import BinaryIO

from django.core.files import locks
from django.core.files.storage import InvalidStorageError, storages

from django_sitemaps09.compression import Compressor
from django_sitemaps09.conf import conf
from django_sitemaps09.exceptions import ExportError, ExportRunningError

#: Our own folder in the target, on the same file system; what it holds is not for the web.
STATE = ".sitemaps09"
_RUN = "run-"
# Bytes that go to a file's thread at once, and how many times that wait there.
_CHUNK = 1_000_000
_WAITING = 2


def target(output: Path | None) -> tuple[Path, int | None]:
    """The folder to publish into, and the mode of files there if it is not the umask's.

    `output`, else the setting `STORAGE`, else `ROOT`. `ExportError` where there is none.
    """
    if output is not None:
        return output, None
    if conf.storage is None:
        if conf.root is None:
            raise ExportError(
                "There is no place to export to: give --output DIR, or set SITEMAPS09['ROOT'] to a "
                "directory, or SITEMAPS09['STORAGE'] to an alias of STORAGES."
            )
        return conf.root, None
    try:
        storage = storages[conf.storage]
        folder = Path(storage.path("sitemap.xml")).parent
    except InvalidStorageError as error:
        raise ExportError(f"SITEMAPS09['STORAGE'] is {conf.storage!r}: {error}") from error
    except NotImplementedError as error:
        raise ExportError(
            f"The storage {conf.storage!r} has no local path, and this version writes whole files to "
            "local folders only. Set SITEMAPS09['ROOT'], and copy the folder from there."
        ) from error
    return folder, getattr(storage, "file_permissions_mode", None)


@contextmanager
def only_one(folder: Path) -> Iterator[Path]:
    """The state folder, for one export at a time. `ExportRunningError` where there is another.

    Who can write to the target could have put something else in its place: links are not followed,
    and a folder of somebody else's is refused.
    """
    state = folder / STATE
    folder.mkdir(parents=True, exist_ok=True)
    state.mkdir(mode=0o700, exist_ok=True)
    found = state.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != getattr(os, "geteuid", lambda: found.st_uid)():
        raise ExportError(
            f"{state} is not a folder of this user's. Remove it, and run exports as one user, who owns "
            f"{folder}."
        )
    state.chmod(0o700)
    with _lock_file(state / "lock") as handle:
        # False as from a lock that is taken; Windows raises instead.
        if not locks.lock(handle, locks.LOCK_EX | locks.LOCK_NB):
            raise ExportRunningError(f"Another export is writing to {folder}; nothing was touched.")
        try:
            yield state
        finally:
            locks.unlock(handle)


def _lock_file(path: Path) -> BinaryIO:
    """Opened without a wait and without a change, whatever it is."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        raise ExportError(f"{path} cannot be locked ({error.strerror}). Remove it.") from error
    return os.fdopen(descriptor, "r+b", buffering=0)


@contextmanager
def staging(state: Path) -> Iterator[Path]:
    """A new folder for the files of this run. What killed runs left is removed first."""
    for left in state.glob(f"{_RUN}*"):
        if left.is_dir() and not left.is_symlink():
            shutil.rmtree(left)
        else:
            left.unlink()
    run = Path(mkdtemp(prefix=_RUN, dir=state))
    try:
        yield run
    finally:
        shutil.rmtree(run)


class Sink:
    """Where the bytes of one file go: counted, hashed, compressed, and written if it has a path.

    All that happens in a thread of its own: hashing and compressing leave Python to the reading of
    rows. Not more than a few chunks wait there; its errors are raised by the next `write`, or at the end.
    """

    def __init__(self, path: Path | None, stream: Compressor | None, mode: int | None = None) -> None:
        self.size = 0
        self._digest = sha256()
        self._stream = stream
        self._file = None if path is None else _create(path, mode)
        self._thread = ThreadPoolExecutor(1, "sitemap-file")
        self._gathered: list[bytes] = []
        self._waiting: deque[Future[None]] = deque()

    def write(self, data: bytes) -> None:
        """Bytes before compression."""
        self._gathered.append(data)
        # Two threads take turns at Python, and each turn costs both.
        if sum(map(len, self._gathered)) >= _CHUNK:
            self._hand_over()

    def _hand_over(self) -> None:
        data, self._gathered = b"".join(self._gathered), []
        self._waiting.append(self._thread.submit(self._take, data))
        if len(self._waiting) > _WAITING:
            self._waiting.popleft().result()

    def _take(self, data: bytes) -> None:
        self._digest.update(data)
        self._out(data if self._stream is None else self._stream.compress(data))

    def _out(self, data: bytes) -> None:
        self.size += len(data)
        if self._file is not None:
            self._file.write(data)

    def end(self) -> Callable[[], str]:
        """Nothing comes any more. What is given back waits until the file is on disk.

        It gives the hexadecimal SHA-256 of what was given to `write`. Who has something else to do
        meanwhile, such as the next page, does not wait for the thread.
        """
        if self._gathered:
            self._hand_over()
        self._waiting.append(self._thread.submit(self._last))

        def ended() -> str:
            self._thread.shutdown()
            for written in self._waiting:
                written.result()
            return self._digest.hexdigest()

        return ended

    def _last(self) -> None:
        try:
            if self._stream is not None:
                self._out(self._stream.flush())
            if self._file is not None:
                self._file.flush()
                os.fsync(self._file.fileno())
        finally:
            self._close()

    def give_up(self) -> None:
        """Closed, whatever it holds: it is not wanted any more."""
        self._thread.shutdown(cancel_futures=True)
        self._close()

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()


@contextmanager
def sink(path: Path | None, stream: Compressor | None, mode: int | None = None) -> Iterator[Sink]:
    """A `Sink` that is closed where its writer fails; `end()` it otherwise."""
    opened = Sink(path, stream, mode)
    try:
        yield opened
    except BaseException:
        opened.give_up()
        raise


def _create(path: Path, mode: int | None) -> BinaryIO:
    """A new file with the umask's mode: a temporary file's 0600 would give a web server 403."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    if mode is not None:
        # Of the file that was opened: its name could be a link by now.
        os.chmod(descriptor if os.chmod in os.supports_fd else path, mode & 0o777)  # noqa: PTH101
    return os.fdopen(descriptor, "wb")


def write_new(path: Path, content: bytes, mode: int | None = None) -> None:
    """A file that was not there, on disk when this returns."""
    with sink(path, None, mode) as opened:
        opened.write(content)
        opened.end()()


def read_regular(path: Path, most: int) -> bytes | None:
    """The content of a file, `None` where there is none. `ExportError` for what is no plain file."""
    if not path.exists():
        return None
    found = path.stat()
    if not stat.S_ISREG(found.st_mode) or found.st_size > most:
        raise ExportError(f"{path} is no plain file of at most {most:,} bytes.")
    return path.read_bytes()


def replace(path: Path, content: bytes) -> None:
    """A file whole, by a temporary one beside it; it keeps its mode and owner, and a link stays a link."""
    path = path.resolve()
    found = path.stat() if path.exists() else None
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.unlink(missing_ok=True)
    try:
        write_new(temporary, content, None if found is None else stat.S_IMODE(found.st_mode))
        if found is not None and (found.st_uid, found.st_gid) != _owner(temporary):
            os.chown(temporary, found.st_uid, found.st_gid, follow_symlinks=False)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    sync(path.parent)


def _owner(path: Path) -> tuple[int, int]:
    found = path.lstat()
    return found.st_uid, found.st_gid


def sync(folder: Path) -> None:
    """The names in a folder on disk, where the system can do that."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
