"""The function and the line of the project's code that prevent a declaration."""

from __future__ import annotations

import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CodeType, FrameType, TracebackType

import django

import django_sitemaps09

_OURS, _DJANGO = (f"{Path(str(package.__file__)).parent}/" for package in (django_sitemaps09, django))
_STANDARD_LIBRARY = f"{sysconfig.get_path('stdlib')}/"
_PACKAGES = tuple(f"{_STANDARD_LIBRARY}{name}/" for name in ("site-packages", "dist-packages"))


class UntraceableError(BaseException):
    """The result of a hook cannot be declared. The message says where and why.

    This is not an `Exception`, so that the project's code does not handle it.
    """


def describe(code: CodeType, line: int) -> str:
    """Return the name of a function and a line, such as `Article.get_absolute_url, line 31`."""
    # Python 3.10 only has the last part of the name.
    name: str = getattr(code, "co_qualname", code.co_name)
    return f"{name.rpartition('<locals>.')[2]}, line {line}"


def frames_of(traceback: TracebackType | None) -> Iterator[tuple[FrameType, int]]:
    """Yield the frames of an exception with their line numbers, the innermost first."""
    frames = []
    while traceback is not None:
        frames.append((traceback.tb_frame, traceback.tb_lineno))
        traceback = traceback.tb_next
    return reversed(frames)


def callers(frame: FrameType | None, entry: FrameType) -> Iterator[tuple[FrameType, int]]:
    """Yield a frame and its callers with their lines, up to `entry`."""
    while frame is not None and frame is not entry:
        yield frame, frame.f_lineno
        frame = frame.f_back


def is_ours(frame: FrameType) -> bool:
    """Return whether a frame runs code of this package."""
    return frame.f_code.co_filename.startswith(_OURS)


def is_django(frame: FrameType) -> bool:
    """Return whether a frame runs Django's code."""
    return frame.f_code.co_filename.startswith(_DJANGO)


def project_frame(frames: Iterable[tuple[FrameType, int]]) -> tuple[FrameType, int] | None:
    """Return the first frame that runs code of the project or of a package, or else Django's code.

    Models can be Django's own, such as `FlatPage`.
    """
    other = None
    for frame, line in frames:
        if is_ours(frame) or _is_standard(frame.f_code):
            continue
        if not is_foreign(frame.f_code):
            return frame, line
        other = other or (frame, line)
    return other


def is_foreign(code: CodeType) -> bool:
    """Return whether code is Django's, or from the standard library."""
    return code.co_filename.startswith(_DJANGO) or _is_standard(code)


def _is_standard(code: CodeType) -> bool:
    file = code.co_filename
    return file.startswith((_STANDARD_LIBRARY, "<frozen")) and not file.startswith(_PACKAGES)
