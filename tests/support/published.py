"""Use these to read a folder as a crawler sees it: indexes, their pages, and the URLs of these pages.

`states` tells whether anything was written, `unpacked` has whole files to compare.
"""

from __future__ import annotations

import gzip
import os
import re
import tempfile
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from xml.etree import ElementTree

from tests.support.internals import EXPORTED

SPACE = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
INDEX = "sitemap.xml"
_INDEX = re.compile(r"sitemap(-[0-9]+)?\.xml")


@contextmanager
def quick_folder():
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


@lru_cache(10_000)
def plain(content, compressed):
    """Return a complete file; raise `EOFError`, `BadGzipFile` or `AssertionError` for a truncated one."""
    found = gzip.decompress(content) if compressed else content
    assert found.endswith((b"</urlset>", b"</urlset>\n", b"</sitemapindex>", b"</sitemapindex>\n"))
    return found


@lru_cache(10_000)
def locations(content, compressed):
    """Return the root of a complete file; raise `ParseError` if it is not XML."""
    root = ElementTree.fromstring(plain(content, compressed))  # noqa: S314 our own output
    assert root.tag in (f"{SPACE}urlset", f"{SPACE}sitemapindex")
    return tuple(str(loc.text) for loc in root.iter(f"{SPACE}loc"))


def urls(folder, name):
    return locations((folder / name).read_bytes(), name.endswith(".gz"))


def _walk(folder, index):
    yield index
    for location in urls(folder, index):
        name = location.rpartition("/")[2]
        if _INDEX.fullmatch(name):
            yield from _walk(folder, name)
        else:
            yield name


def named(folder):
    """Return the index with all files in it and in its sub-indexes; empty without an index."""
    return set(_walk(folder, INDEX)) if (folder / INDEX).exists() else set()


def pages(folder):
    if not (folder / INDEX).exists():
        return []
    return [name for name in _walk(folder, INDEX) if not _INDEX.fullmatch(name)]


def indexed(folder):
    return {url for name in pages(folder) for url in urls(folder, name)}


def unpacked(folder):
    found = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    return {name: gzip.decompress(data) if name.endswith(".gz") else data for name, data in found.items()}


def states(folder, *, hidden=False):
    """Return the state of each file, which differs after each write, even with the same bytes.

    The time of the export is not part of it: each run writes it.
    """
    found = {}
    for above, folders, names in os.walk(folder):
        if not hidden:
            folders[:] = [name for name in folders if not name.startswith(".")]
        for name in set(names) - {EXPORTED}:
            path = Path(above) / name
            state = path.stat()
            content = b"" if name == "lock" else path.read_bytes()
            found[str(path.relative_to(folder))] = (state.st_ino, state.st_mtime_ns, content)
        for name in folders:
            found[f"{Path(above, name).relative_to(folder)}/"] = (0, 0, b"")
    return found
