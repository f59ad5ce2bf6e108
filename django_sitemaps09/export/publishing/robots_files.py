"""Keep a robots.txt up to date after exports."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex

from django_sitemaps09.conf import conf
from django_sitemaps09.exceptions import RobotsError, SitemapError
from django_sitemaps09.export.host import Host
from django_sitemaps09.export.report import RobotsState
from django_sitemaps09.protocol import robots
from django_sitemaps09.protocol.filenames import INDEX, index_name, is_cascade
from django_sitemaps09.protocol.limits import MAX_ROBOTS_BYTES
from django_sitemaps09.target.local import create, is_own_link, name_errors, read_plain, sync

_MOST = 10 * MAX_ROBOTS_BYTES
# Maximum number of attempts to update a file that changes before it can be replaced.
_ATTEMPTS = 20
# Maximum number of symbolic links that Linux follows in one path.
_LINKS = 40


@dataclass(slots=True)
class Robots:
    """The robots.txt of a host, if any, with the state and messages of its update.

    It must list the indexes among `documents` and, with `FEED_IN_ROBOTS`, the `feeds`. `previous_documents`
    are the indexes of the previous run.
    """

    host: Host
    documents: Collection[str]
    previous_documents: Collection[str] = ()
    feeds: Collection[str] = ()
    state: RobotsState = "none"
    warnings: Sequence[str] = ()
    problem: str = ""

    @property
    def failures(self) -> list[str]:
        return [f"{self.host.robots} was not changed: {self.problem}"] if self.state == "failed" else []

    @property
    def names(self) -> list[str]:
        """The indexes that robots.txt lists: the root of a cascade, otherwise all of them."""
        # Not by the setting: a killed run may have had another one.
        documents = [INDEX] if is_cascade(self.documents) else self.documents
        return sorted(documents, key=lambda name: (len(name), name))

    @property
    def urls(self) -> list[str]:
        return [f"{self.host.url}{name}" for name in self.names]

    @property
    def lines(self) -> list[str]:
        """The URLs of the indexes and, if it is to be listed, of the feed."""
        return [*self.urls, *(f"{self.host.url}{name}" for name in self.feeds if conf.feed_in_robots)]

    def update_for_transition(self) -> None:
        """List both previous and new indexes, unless they are the same."""
        previous, documents = {*self.previous_documents}, {*self.documents}
        # A previous cascade is listed by its root.
        previous.discard(index_name(1, cascade=True))
        if previous and not is_cascade(documents) and previous != documents:
            replace(self, documents=previous | documents).update()

    def update(self, *, write: bool = True) -> None:
        """Update the file, unless that failed before. Without `write`, only check whether it must change.

        A problem is recorded and not raised, since the sitemap is published in any case.
        """
        path = self.host.robots
        if path is None or self.state == "failed":
            return
        try:
            old_content, new_content = _update(path, self.lines, write=write)
        except (SitemapError, OSError) as error:
            self.state, self.problem = "failed", str(error)
            return
        # The rules of a robots.txt do not apply to other hosts.
        own_urls = [url for url in self.lines if url.startswith(f"{self.host.base}/")]
        self.warnings = [f"{path}: {warning}" for warning in robots.warnings(new_content, own_urls)]
        self.state = "unchanged" if new_content == old_content else "written" if write else "stale"


def _update(path: Path, urls: Sequence[str], *, write: bool) -> tuple[bytes | None, bytes]:
    """Return the old and the new content; with `write`, write the new content if it differs."""
    path = _resolve_links(path)
    if write:
        if not path.parent.is_dir():
            raise RobotsError(
                f"the folder {path.parent} does not exist. Create it, or name another path with --robots "
                "or SITEMAPS09['ROBOTS_TXT']."
            )
        # Exports that were killed left files. The folder may be writable but not readable.
        with suppress(OSError):
            for leftover in path.parent.glob(f".{glob.escape(path.name)}.sitemaps09-{'[0-9a-f]' * 16}.tmp"):
                leftover.unlink(missing_ok=True)
    # If someone edits the file meanwhile, start again from the edited content.
    for _ in range(_ATTEMPTS):
        old_content = read_plain(path, _MOST)
        new_content = robots.update(old_content, urls)
        if new_content == old_content or not write or _replace(path, old_content, new_content):
            return old_content, new_content
    raise RobotsError(f"it changed {_ATTEMPTS} times before it could be replaced. Run the export again.")


def _resolve_links(path: Path) -> Path:
    """Resolve links, but not of parent folders. Raise `ExportError` for another user's link."""
    for _ in range(_LINKS):
        if not is_own_link(path):
            return path
        path = path.parent / path.readlink()
    raise RobotsError(f"its symbolic links form a loop, or there are more than {_LINKS}.")


def _replace(path: Path, old_content: bytes | None, new_content: bytes) -> bool:
    """Replace the file atomically, with its mode, owner and attributes, if it has the old content.

    `replace_whole()` cannot do this: the file is compared once more when the copy is complete and on disk.
    """
    temporary = path.with_name(f".{path.name}.sitemaps09-{token_hex(8)}.tmp")
    try:
        status = None if old_content is None else path.lstat()
        mode = None if status is None else stat.S_IMODE(status.st_mode)
        with name_errors(path), create(temporary, mode) as copy:
            copy.write(new_content)
            if status is not None:
                _keep_attributes(path, status, copy.fileno())
        if read_plain(path, _MOST) != old_content:
            return False
        temporary.replace(path)
    except FileNotFoundError:
        # Someone removed the file, or another export removed the temporary file.
        return False
    finally:
        temporary.unlink(missing_ok=True)
    sync(path.parent)
    return True


def _keep_attributes(path: Path, status: os.stat_result, copy: int) -> None:
    """Copy the owner and the extended attributes of the file to an open file.

    `copy` is its descriptor: who can write to the folder could put another file, and get it, by the name.
    """
    copy_status = os.fstat(copy)
    if (status.st_uid, status.st_gid) != (copy_status.st_uid, copy_status.st_gid):
        os.chown(copy, status.st_uid, status.st_gid)
    if hasattr(os, "listxattr"):
        # The system sets some itself, and not every file system supports them.
        with suppress(OSError):
            for name in os.listxattr(path, follow_symlinks=False):
                with suppress(OSError):
                    value = os.getxattr(path, name, follow_symlinks=False)
                    os.setxattr(copy, name, value)
