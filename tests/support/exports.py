"""Use these in tests of `export()`: sections that fail, and readers of the files as bytes (`content`).

`touched` tells whether a file was written again; `tests.support.published` reads as a crawler does.
"""

from __future__ import annotations

import errno
import gzip
import json
import os
from itertools import count
from pathlib import Path
from xml.etree import ElementTree

from django.core.exceptions import ImproperlyConfigured
from django.db.models import F

from django_sitemaps09 import Route
from tests.support.configuration import BASE
from tests.support.internals import BACKUP, EXPORTED, HISTORY, ROOT as MANIFEST, STATE, LocalStore
from tests.support.published import SPACE, pages as named
from tests.support.sections import Numbers, declare

#: Byte 3 has the flags, bytes 4 to 7 the time.
GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00"


class Failing(Numbers):
    """Section whose items after the first `fine` ones raise, as in a broken project."""

    def __init__(self, count, fine):
        super().__init__(count)
        self.fine = fine

    def location(self, item):
        if item >= self.fine:
            raise ImproperlyConfigured("the project is broken")
        return super().location(item)


class Bad(Numbers):
    """Section whose `bad` items have a location on another host, and number 3 an invalid priority."""

    def __init__(self, count, bad=()):
        super().__init__(count)
        self.bad = bad

    def location(self, item):
        return "https://elsewhere.example.net/" if item in self.bad else super().location(item)

    def priority(self, item):
        return 7.5 if item == 3 else 0.5


def article_sitemap(**attributes):
    from tests.models import Article  # this module is imported before setup, too

    columns = {"location": Route("article", slug=F("slug")), "lastmod": F("updated")}
    columns |= {"model": Article, "changefreq": "weekly", "priority": 0.8}
    return declare(**columns | attributes)


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def touched(folder):
    """Return the state of the files in a folder. It differs after each write, even of the same bytes.

    The history is not part of it: it also has runs that changed nothing, and the time of each run.
    """
    paths = [path for path in folder.iterdir() if path.is_file() and path.name not in (HISTORY, EXPORTED)]
    states = ((path, path.stat()) for path in paths)
    return {path.name: (path.read_bytes(), at.st_mtime_ns, at.st_ino, at.st_mode) for path, at in states}


def plain(folder, name):
    data = (folder / name).read_bytes()
    assert data.startswith(GZIP_HEADER[:3]) == name.endswith(".gz")
    return gzip.decompress(data) if name.endswith(".gz") else data


def locations(data):
    root = ElementTree.fromstring(data)  # noqa: S314 our own output
    return [str(loc.text) for loc in root.iter(f"{SPACE}loc")]


def paths(folder):
    """Return all URLs that a reader of the index finds, without the base."""
    found = [loc for name in named(folder) for loc in locations(plain(folder, name))]
    assert all(loc.startswith(f"{BASE}/") for loc in found)
    return [loc.removeprefix(BASE) for loc in found]


def numbers(count, start=0):
    return [f"/numbers/{number}/" for number in range(start, start + count)]


def run_folders(folder):
    """Return the files of the state folder except lock, history, manifests and their sections."""
    state, known = folder / STATE, {"lock", HISTORY, EXPORTED}
    for root in (MANIFEST, BACKUP):
        if (state / root).exists():
            known |= {root, *json.loads((state / root).read_bytes())["sections"].values()}
    return sorted(path.name for path in state.iterdir() if path.name not in known)


def local_storage(folder, mode=None):
    options = {"location": str(folder), "base_url": "/never/used/"}
    options |= {} if mode is None else {"file_permissions_mode": mode}
    return {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": options}


def promoting(monkeypatch, before=lambda store, name: None, after=lambda store, name: None):
    """Call these functions before and after each file is published."""
    promote = LocalStore.promote

    def promoted(store, staged, name):
        before(store, name)
        promote(store, staged, name)
        after(store, name)

    monkeypatch.setattr(LocalStore, "promote", promoted)


def fails_with(number):
    """Return a function that fails as a call of the system does, with the path if it is called with one."""

    def fail(*arguments, **options):
        paths = [str(path) for path in arguments[:1] if isinstance(path, Path)]
        raise OSError(number, os.strerror(number), *paths)

    return fail


def failing_at(call, function):
    """Return a function that fails at its n-th call, counted from 1."""
    calls, fail = count(1), fails_with(errno.EIO)
    return lambda *given, **options: (fail if next(calls) == call else function)(*given, **options)
