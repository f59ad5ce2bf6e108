"""Exports, submissions and repairs that are killed, or whose disk fails, at each operation.

After each of them, one run with `--submit` completes. Then all changed URLs have been submitted.
"""

from __future__ import annotations

import errno
import io
import os
import random
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from itertools import pairwise, product
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from django.conf import settings
from django.core.files.storage import storages
from django.db import transaction
from django.db.models import F, Value
from django.db.models.functions import Concat

from django_sitemaps09.export import export, verify
from django_sitemaps09.export.publishing import changes as spooled
from django_sitemaps09.notify import engines, submit
from django_sitemaps09.notify.ledger import Ledger
from django_sitemaps09.stores import LocalStore
from tests.invariants.killing.runs import assert_files_are_whole
from tests.models import Article
from tests.support import published
from tests.support.configuration import BASE
from tests.support.killing import die_at, forked, was_killed
from tests.support.search_engines import KEY, running_engine
from tests.support.sections import declare

#: `once`: a single operation fails. `full`: from that operation on, nothing can be written. `dead`: from
#: that operation on, nothing works.
FAULTS = ("once", "full", "dead")
_EVENTS = {
    **dict.fromkeys(("os.rename", "os.mkdir"), "write"),
    **dict.fromkeys(("os.remove", "os.rmdir"), "remove"),
    **dict.fromkeys(("os.scandir", "os.listdir"), "read"),
}
_LEFTOVERS = ("journal", "run-", "tmp-", "prepared-", "pending-", "damaged-")


class Disk:
    """The disk of one folder, whose `point`-th operation fails with ENOSPC or EIO.

    Operations are: creating, opening, reading, writing, syncing, moving, removing and listing.
    """

    def __init__(self, point, folder, fault):
        self.left, self.folder, self.fault, self.failed = point, str(folder), fault, ""

    def install(self):
        sys.addaudithook(self._hook)
        sync, opened, disk, folder = os.fsync, io.open, self, Path(self.folder)

        def path_of(descriptor):
            return os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115

        def synced(descriptor):
            disk.operate("write", path_of(descriptor))
            sync(descriptor)

        class Raw(io.FileIO):
            """File whose content is read and written by operations of the disk."""

            def __init__(self, file, mode):
                super().__init__(file, mode)
                self.path = path_of(self.fileno())

            def readinto(self, buffer):
                disk.operate("read", self.path)
                return super().readinto(buffer)

            def readall(self):
                disk.operate("read", self.path)
                return super().readall()

            def write(self, data):
                disk.operate("write", self.path)
                return super().write(data)

        def opens(file, mode="r", *arguments, **options):
            if mode not in ("rb", "xb", "wb"):
                return opened(file, mode, *arguments, **options)
            raw = Raw(file, mode)
            return io.BufferedReader(raw) if mode == "rb" else io.BufferedWriter(raw)

        def temporary(mode, encoding):
            path = folder / f"spool-{os.getpid()}"
            raw = Raw(path, "x+")
            path.unlink()
            return io.TextIOWrapper(io.BufferedRandom(raw), encoding=encoding)

        os.fsync, io.open, spooled.TemporaryFile = synced, opens, temporary

    def operate(self, kind, path):
        # Names below an open folder are relative to it.
        if not path or (path.startswith("/") and not path.startswith(self.folder)):
            return
        self.left -= 1
        broken = {"once": self.left == 0, "dead": True, "full": kind == "write"}[self.fault]
        if self.left <= 0 and broken:
            self.failed = self.failed or f"{kind} {path.removeprefix(self.folder)}"
            number = errno.ENOSPC if kind == "write" and self.fault != "dead" else errno.EIO
            raise OSError(number, os.strerror(number), path)

    def _hook(self, event, arguments):
        if event == "open":
            path, _, flags = arguments
            kind = "write" if flags & os.O_CREAT else "read"
        elif event in _EVENTS:
            path, kind = arguments[0], _EVENTS[event]
        else:
            return
        if isinstance(path, (str, os.PathLike)):
            self.operate(kind, str(path))


# Rows by key: the section and the day of the last change.


def _rows(*keys, section="a", day=0):
    return dict.fromkeys(keys, (section, day))


def _without(rows, *gone):
    return {key: row for key, row in rows.items() if key not in gone}


#: Three pages of a section and one of another. The second page is split, and a section is added. Then a
#: page is merged away, and other rows change.
OLD = _rows(*range(100, 3_100, 100)) | _rows(10_001, 10_002, section="b")
NEW = _without(OLD, 500, 2_500) | _rows(150, *range(1_301, 1_312), 5_000) | _rows(700, 2_700, day=1)
NEW |= _rows(10_003, section="b") | _rows(20_001, 20_002, section="c")
LATER = _without(NEW, 900, 10_001) | _rows(6_000) | _rows(1_100, day=2)
LAST = _without(LATER, 1_000) | _rows(7_000) | _rows(20_002, day=3, section="c")


def _url(key, rows):
    return f"{BASE}/{rows[key][0]}{key}/"


def changes(transitions):
    """Return the URLs that are added or changed in these transitions, and those that are removed."""
    kept, removed = set(), set()
    for old, new in transitions:
        kept |= {_url(key, new) for key, row in new.items() if old.get(key) != row}
        removed |= {_url(key, old) for key in old.keys() - new.keys()}
    return kept - removed, removed


class Site:
    """A site whose rows are exported to a folder, and submitted to an engine."""

    def __init__(self, place, engine, is_apart):
        self.area, self.saved, self.engine = place / "area", place / "saved", engine
        self.public = self.area / "public"
        self.state = self.area / "state" if is_apart else self.public / ".sitemaps09"
        self.area.mkdir()
        keys = {"BASE_URL": BASE, "MAX_URLS": 10, "INDEXNOW_KEY": KEY, "INDEXNOW_URLS": [engine.url]}
        self.configure(keys | ({"STATE": "apart"} if is_apart else {}))

    def configure(self, keys):
        backend = "django.core.files.storage.FileSystemStorage"
        apart = {"BACKEND": backend, "OPTIONS": {"location": str(self.area / "state")}}
        settings.STORAGES = {**settings.STORAGES, "apart": apart}
        # The storages are built from the settings only once.
        storages.__dict__.pop("backends", None)
        storages._backends = None
        settings.SITEMAPS09 = keys

    @property
    def sections(self):
        def section(name):
            rows = Article.objects.filter(slug__startswith=name)
            location = Concat(Value("/"), F("slug"), Value("/"))
            return declare(queryset=rows, location=location, lastmod=F("updated"))()

        used = Article.objects.filter(slug__startswith="c").exists()
        return {name: section(name) for name in ("abc" if used else "ab")}

    def export(self, rows=None, submit=True):
        if rows is not None:
            fill(rows)
        return export(output=self.public, sitemaps=self.sections, engine="serial", submit=submit)

    def repair(self):
        return verify(output=self.public, sitemaps=self.sections, engine="serial", repair=True)

    def submit(self):
        return submit(output=self.public)

    def restore(self, rows):
        shutil.rmtree(self.area, ignore_errors=True)
        shutil.copytree(self.saved, self.area)
        self.engine.requests.clear()
        fill(rows)


def fill(rows):
    first = datetime(2026, 1, 1, tzinfo=timezone.utc)
    with transaction.atomic():
        # Other tables that refer to this one do not exist.
        Article.objects.all()._raw_delete("default")
        Article.objects.bulk_create(
            Article(pk=key, slug=f"{section}{key}", updated=first + timedelta(days=day))
            for key, (section, day) in rows.items()
        )


# What happens before the run that fails


def _exported(site):
    site.export(OLD)


def _rejected(site):
    """Leave two messages pending."""
    site.export(OLD)
    site.engine.answer(403)
    site.export(NEW)
    site.export(LATER)
    site.engine.answer(200)


def _damaged(site):
    site.export(OLD)
    (site.public / "sitemap-a-1.xml.gz").unlink()
    for name in ("sitemap-a-3.xml.gz", "sitemap.xml"):
        content = (site.public / name).read_bytes()
        (site.public / name).write_bytes(content[: len(content) // 2])


def _repaired(site):
    _damaged(site)
    fill(NEW)
    site.repair()


def _killed_after_publishing(site):
    """Publish, but end before the messages are pending."""
    site.export(OLD)
    fill(NEW)

    def end_if_prepared(ledger, run):
        if any(ledger._prepared()):
            os._exit(0)

    def work():
        with mock.patch.object(Ledger, "activate", end_if_prepared):
            site.export()

    was_killed(forked(work))
    assert any(Ledger(LocalStore(site.state, own=""))._prepared())


def _not_queued(site):
    site.export(OLD)
    with mock.patch.object(Ledger, "_write", side_effect=OSError(28, "No space left on device")):
        site.export(NEW)


class Scenario(NamedTuple):
    """What happens before the run that fails, that run, and the states of the rows.

    The first state has been submitted, the last one is that of the run that completes. The run that fails
    sees the one before, whose changes need not be submitted if it `is_silent`. The rows `unknown` were
    removed from pages that were damaged, or by a run that could not queue them.
    """

    before: Callable
    failing: Callable
    states: tuple
    is_apart: bool = False
    is_silent: bool = False
    unknown: tuple = ()

    def expected(self):
        transitions = [*pairwise(self.states)]
        if self.is_silent:
            del transitions[-2]
        kept, removed = changes(transitions)
        return kept, removed - {_url(key, OLD) for key in self.unknown}


THREE, FOUR = (OLD, NEW, LATER), (OLD, NEW, LATER, LAST)
SCENARIOS = {
    "export": Scenario(_exported, Site.export, THREE),
    "apart": Scenario(_exported, Site.export, THREE, is_apart=True),
    "submit": Scenario(_rejected, Site.submit, (*THREE, LATER)),
    "repair": Scenario(_damaged, Site.repair, THREE, unknown=(500, 900, 2_500)),
    "recovery": Scenario(_killed_after_publishing, Site.export, FOUR),
    "silent-recovery": Scenario(
        _killed_after_publishing, lambda site: site.export(submit=False), FOUR, is_silent=True
    ),
    "not-queued": Scenario(_not_queued, Site.export, FOUR, unknown=(500, 2_500)),
    "repaired": Scenario(_repaired, Site.export, FOUR, unknown=(500, 2_500)),
}


def nothing_is_lost(place, name, step, seconds):
    """Kill or disturb the run of a scenario at each `step`-th of its operations.

    Return the number of points, what was lost at which of them, and after how many of them removed URLs
    were unknown, by what has happened. After some seconds, skip the rest.
    """
    deadline = time.monotonic() + float(seconds)
    # A host can be submitted again at once.
    engines.PAUSE = -1.0
    scenario, points, lost, unknown = SCENARIOS[name], 0, [], Counter()
    with running_engine() as engine:
        site = Site(place, engine, scenario.is_apart)
        scenario.before(site)
        shutil.copytree(site.area, site.saved)
        for point, how in _points(site, scenario, int(step)):
            if time.monotonic() > deadline:
                break
            site.restore(scenario.states[-2])
            where = _fail(site, scenario, how, point)
            if not where:
                continue
            points += 1
            try:
                problem, is_unknown = _complete(site, scenario, is_killed=how == "kill")
            except Exception as error:  # noqa: BLE001 count it, and go on
                problem, is_unknown = repr(error), False
            if problem:
                lost.append(f"{how} {point} {where}: {problem}")
            unknown[how] += is_unknown
    return {"points": points, "lost": lost, "unknown": unknown}


def _points(site, scenario, step):
    """Return what is to happen at which operation, so that any part of the list is about the whole run."""
    counted = site.area.with_name("counted")

    def work():
        disk = Disk(sys.maxsize, site.area, "once")
        disk.install()
        scenario.failing(site)
        counted.write_text(str(sys.maxsize - disk.left))

    site.restore(scenario.states[-2])
    was_killed(forked(work))
    points = [*product(range(1, int(counted.read_text()) + 1, step), ["kill", *FAULTS])]
    random.Random(1).shuffle(points)  # noqa: S311
    return points


def _fail(site, scenario, how, point):
    """Let a run fail at a point. Return the operation, or an empty string if nothing has failed.

    Fewer operations can be killed, or fail on a full disk, than there are.
    """
    told = site.area.with_name("told")
    told.write_text("")

    def work():
        disk = Disk(point, site.area, how)
        if how == "kill":
            die_at(point, site.area)
        else:
            disk.install()
        with suppress(Exception):
            scenario.failing(site)
        told.write_text(disk.failed)

    return "killed" if was_killed(forked(work)) else told.read_text()


def _complete(site, scenario, *, is_killed):
    """Complete a run, and return what was lost or repeated, and whether removed URLs are unknown."""
    rows = scenario.states[-1]
    report = site.export(rows)
    (kept, removed), received = scenario.expected(), Counter(site.engine.submitted)
    is_unknown = any("removed URLs are unknown" in warning for warning in report.warnings)
    problems = [*report.failures]
    missing = (kept if is_unknown else kept | removed) - received.keys()
    problems += [f"not submitted: {url}" for url in sorted(missing)]
    if is_killed and not (is_unknown or scenario.unknown or scenario.is_silent):
        unchanged = sorted(received.keys() - kept - removed)
        problems += [f"submitted without a change: {url}" for url in unchanged]
    problems += [f"submitted more than twice: {url}" for url in received if is_killed and received[url] > 2]
    listed = [url for page in published.pages(site.public) for url in published.urls(site.public, page)]
    if sorted(_url(key, rows) for key in rows) != sorted(listed):
        problems.append("the published files differ from the rows")
    paths = [*site.state.rglob("*"), *site.public.rglob("*")]
    problems += [f"left over: {path.name}" for path in paths if path.name.startswith(_LEFTOVERS)]
    if site.submit().failures:
        problems.append(f"{site.submit().failures}")
    assert_files_are_whole(site.public, published.named(site.public))
    return "; ".join(problems), is_unknown
