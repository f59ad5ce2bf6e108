"""Errors of a disk at a chosen operation of a fork."""

from __future__ import annotations

import errno
import io
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from typing_extensions import Buffer

#: `once`: a single operation fails. `full`: from that operation on, nothing can be written. `dead`: from
#: that operation on, nothing works.
Fault = Literal["once", "full", "dead"]
Kind = Literal["read", "write", "remove"]

_EVENTS: dict[str, Kind] = {
    "os.rename": "write",
    "os.mkdir": "write",
    "os.remove": "remove",
    "os.rmdir": "remove",
    "os.scandir": "read",
    "os.listdir": "read",
}


class Disk:
    """The disk of one folder, whose `point`-th operation fails with ENOSPC or EIO.

    Operations are: creating, opening, reading, writing, syncing, moving, removing and listing.
    """

    def __init__(self, point: int, folder: Path, fault: Fault) -> None:
        self.left, self.folder, self.fault = point, str(folder), fault
        self.failed = ""

    def install(self) -> None:
        """Take effect in this process, until it ends."""
        sys.addaudithook(self._hook)
        sync, opened, disk = os.fsync, io.open, self

        def synced(descriptor: int) -> None:
            disk.operate("write", _path_of(descriptor))
            sync(descriptor)

        class Raw(io.FileIO):
            """File whose content is read and written by operations of the disk."""

            def __init__(self, file: Any, mode: str) -> None:
                super().__init__(file, mode)
                self.path = _path_of(self.fileno())

            def readinto(self, buffer: Buffer) -> int | None:
                disk.operate("read", self.path)
                return super().readinto(buffer)

            def readall(self) -> bytes | None:
                disk.operate("read", self.path)
                return super().readall()

            def write(self, data: Buffer) -> int | None:
                disk.operate("write", self.path)
                return super().write(data)

        def opens(file: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
            if mode not in ("rb", "xb", "wb"):
                return opened(file, mode, *arguments, **options)
            raw = Raw(file, mode)
            return io.BufferedReader(raw) if mode == "rb" else io.BufferedWriter(raw)

        def temporary(mode: str, encoding: str) -> Any:
            path = folder / f"spool-{os.getpid()}"
            raw = Raw(path, "x+")
            path.unlink()
            return io.TextIOWrapper(io.BufferedRandom(raw), encoding=encoding)

        from django_sitemaps09.export.publishing import changes

        folder = Path(self.folder)
        os.fsync = synced
        io.open = opens  # type: ignore[assignment]
        changes.TemporaryFile = temporary  # type: ignore[assignment,attr-defined]

    def operate(self, kind: Kind, path: str) -> None:
        """Count an operation, and raise `OSError` if it fails."""
        # Names below an open folder are relative to it.
        if not path or (path.startswith("/") and not path.startswith(self.folder)):
            return
        self.left -= 1
        broken = {"once": self.left == 0, "dead": True, "full": kind == "write"}[self.fault]
        if self.left <= 0 and broken:
            self.failed = self.failed or f"{kind} {path.removeprefix(self.folder)}"
            number = errno.ENOSPC if kind == "write" and self.fault != "dead" else errno.EIO
            raise OSError(number, os.strerror(number), path)

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            kind: Kind = "write" if flags & os.O_CREAT else "read"
        elif event in _EVENTS:
            path, kind = arguments[0], _EVENTS[event]
        else:
            return
        if isinstance(path, (str, os.PathLike)):
            self.operate(kind, str(path))


def _path_of(descriptor: int) -> str:
    return os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115
