"""Exports, submissions and repairs that are killed or whose disk fails, and what holds after each."""

from __future__ import annotations

import contextlib
import errno
import faulthandler
import io
import logging
import multiprocessing
import os
import random
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from hashlib import sha256
from itertools import count, pairwise, product
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock
from xml.etree import ElementTree

import pytest
from django.conf import settings
from django.core.files.storage import storages
from django.db import connection, transaction
from django.db.models import F, Value
from django.db.models.functions import Concat

from django_sitemaps09 import export as api
from django_sitemaps09.exceptions import ExportError, ExportRunningError
from django_sitemaps09.export.notify import client as engines, submit
from tests import models
from tests.models import Article, Category, Child, Parent, Tag
from tests.support import published
from tests.support.configuration import BASE, KILL_STEP, limit_indexes
from tests.support.internals import Ledger, LocalStore, manifest as manifests
from tests.support.killing import die_at, forked, is_killed_at, members, was_killed, woken
from tests.support.processes import forkable, until
from tests.support.search_engines import KEY, running_engine
from tests.support.sections import declare

#: URLs on a page.
PAGE = 10


class Row(NamedTuple):
    slug: str
    section: str = "a"


class Run(NamedTuple):
    """One export: its rows, options, settings, sections, and the model and attributes of these."""

    rows: Mapping[int, Row]
    options: Mapping[str, Any] = {}
    keys: Mapping[str, Any] = {}
    sections: tuple[str, ...] = ("a",)
    model: str = "Parent"
    attributes: Mapping[str, Any] = {}

    def urls(self, keys=None):
        rows = [self.rows[key] for key in (self.rows if keys is None else keys)]
        return {f"{BASE}/{row.slug}/" for row in rows if row.section in self.sections}


def many(*keys, section="a", longer=0):
    return {key: Row(f"{section}{key}{'x' * longer}", section) for key in keys}


def without(rows, *gone):
    return {key: row for key, row in rows.items() if key not in gone}


# Keys have gaps, so that rows can be inserted between them.
THIRTY = many(*range(100, 3_100, 100))
SIXTY = many(*range(100, 6_100, 100))
# Only a few rows of each page, so that several pages fit on one.
THIN = without(SIXTY, *(key for key in SIXTY if key // 100 % 10 not in (3, 6)))
BOTH = THIRTY | many(*range(10_100, 13_100, 100), section="b")
TWO = ("a", "b")
# The second page keeps three rows and the last one two, so they are merged.
TAPERED = without(THIRTY, *range(1_400, 2_900, 100))
FEW = many(*range(1_301, 1_304))
FEED = "sitemap-changes.atom"
WITH_FEED = {"FEED": 8}
SMALL, CASCADE, TEXT = {"MAX_BYTES": 1_500}, {"CASCADE": True}, {"format": "text"}
#: Rows that `at_random` never changes.
EVERGREEN = many(*range(500, 6_001, 500))

#: The last run of each is killed.
SCENARIOS = {
    "first": [Run(many(*range(1, 36)))],
    "split": [Run(THIRTY), Run(THIRTY | many(*range(1_301, 1_340)) | many(*range(101, 104)))],
    "split-by-bytes":
        [Run(THIRTY, keys=SMALL), Run(THIRTY | many(*range(1_301, 1_304), longer=200), keys=SMALL)],
    "merge": [Run(SIXTY), Run(THIN)],
    "merge-and-grow": [Run(SIXTY), Run(THIN | many(*range(301, 320)) | many(*range(2_301, 2_312)))],
    "merge-and-overflow": [Run(SIXTY), Run(THIN | many(301))],
    "merge-of-the-tail-and-grow": [Run(THIRTY), Run(TAPERED | many(*range(1_101, 1_115)))],
    "deleted": [Run(SIXTY), Run(without(SIXTY, *range(1_100, 2_100, 100), 100, *range(5_100, 6_100, 100)))],
    "tail": [Run(THIRTY), Run(THIRTY | many(*range(2_801, 2_830)) | FEW)],
    "rebalance": [Run(THIN), Run(without(SIXTY, 500), {"rebalance": True})],
    "identity": [Run(THIRTY), Run(without(THIRTY, 500) | many(250), model="Child")],
    "lower-limit": [Run(THIRTY), Run(THIRTY | many(150), keys={"MAX_URLS": 5})],
    "removed": [Run(BOTH, sections=TWO), Run(BOTH | many(150), {"remove": ["b"]})],
    "gzip-off": [Run(THIRTY), Run(THIRTY | FEW, {"gzip": False})],
    "stylesheet": [Run(THIRTY), Run(THIRTY | FEW, keys={"STYLESHEET": True})],
    "feed": [Run(THIRTY, keys=WITH_FEED), Run(THIRTY | many(150, 1_450), keys=WITH_FEED),
             Run(without(THIRTY, 500) | many(150) | FEW, keys=WITH_FEED)],
    "xml-to-text": [Run(THIRTY), Run(THIRTY | FEW, attributes=TEXT)],
    "text-to-xml": [Run(THIRTY, attributes=TEXT), Run(THIRTY | FEW, {"gzip": False})],
    "two": [Run(BOTH, sections=TWO), Run(BOTH | FEW | many(11_350, 14_000, section="b"), sections=TWO)],
    "cascade-and-less": [
        Run(BOTH, keys=CASCADE, sections=TWO),
        Run(without(BOTH, *range(12_100, 13_100, 100)) | many(150), keys=CASCADE, sections=TWO),
    ],
    "cascade": [Run(BOTH, keys=CASCADE, sections=TWO),
                Run(BOTH | FEW | many(11_350, section="b"), keys=CASCADE, sections=TWO)],
}  # fmt: skip


def create_tables():
    multiprocessing.set_start_method("fork", force=True)
    tables = connection.introspection.table_names()
    with connection.schema_editor() as editor:
        for model in (Parent, Child, Category, Tag, Article):
            if model._meta.db_table not in tables:
                editor.create_model(model)


def fill(rows):
    with transaction.atomic(), connection.cursor() as cursor:
        for model in (Child, Parent):
            model.objects.all()._raw_delete("default")
        if rows:
            Parent.objects.bulk_create(Parent(pk=key, name=row.slug) for key, row in rows.items())
            children = ", ".join(f"({key})" for key in rows)
            cursor.execute(f"INSERT INTO tests_child (parent_ptr_id) VALUES {children}")  # noqa: S608


def section(letter, model="Parent", **attributes):
    def made():
        rows = getattr(models, model).objects.filter(name__startswith=letter)
        return declare(queryset=rows, location=Concat(Value("/"), F("name"), Value("/")), **attributes)()

    return made


#: Workers import these by `SECTIONS_PATH`.
SECTIONS = {"a": section("a"), "b": section("b")}
SECTIONS_PATH = f"{__name__}.SECTIONS"


def use_settings(run, **more):
    settings.SITEMAPS09 = {"BASE_URL": BASE, "MAX_URLS": PAGE, **run.keys, **more}


def export(run, folder):
    use_settings(run)
    sitemaps = {name: section(name, run.model, **run.attributes) for name in run.sections}
    with pytest.MonkeyPatch.context() as patch:
        if run.keys.get("CASCADE"):
            # Only a few pages fit into an index.
            limit_indexes(patch, 4)
        return api.export(output=folder, sitemaps=sitemaps, engine="serial", **run.options)


def cleanly(run, folder):
    try:
        report = export(run, folder)
    except ExportError as error:
        # The killed run had already removed it.
        if "because it is not published" not in str(error):
            raise
        report = export(run._replace(options={}), folder)
    assert (report.failures, report.published) == ([], True), report.failures


def urls(folder, name):
    if not name.endswith(".txt"):
        return published.urls(folder, name)
    text = (folder / name).read_text()
    assert text.endswith("\n")
    return tuple(text.splitlines())


def assert_files_are_whole(folder, named):
    for name in named:
        urls(folder, name)


def assert_urls_are_kept(folder, must):
    lost = must - {url for name in published.pages(folder) for url in urls(folder, name)}
    assert not lost, f"in no indexed page: {sorted(lost)[:5]} of {len(lost)}"


def assert_is_current(folder, run):
    """Check that the published URLs are those of the rows, and that the manifest lists every file."""
    found = [url for name in published.pages(folder) for url in urls(folder, name)]
    assert len(found) == len(set(found)), "twice"
    assert set(found) == run.urls(), sorted(set(found) ^ run.urls())[:5]
    state = (folder / ".sitemaps09").iterdir()
    assert [entry.name for entry in state if entry.name.startswith(("journal", "run-", "tmp-"))] == []
    manifest, files = manifests.read(LocalStore(folder / ".sitemaps09", own="")), set()
    documents = published.unpacked(folder)
    for name, record in manifest.sections.items():
        for page in record.pages:
            file = f"sitemap-{name}-{page.number}.{record.suffix}"
            assert (page.name, page.digest) == (file, sha256(documents[file]).hexdigest())
            assert page.number <= record.highest
            files.add(file)
            after, until = (key and int(key[0]) for key in (page.after, page.until))
            there = {key for key in run.rows if after is None or key > after}
            keys = {key for key in there if until is None or key <= until}
            assert set(urls(folder, file)) == run._replace(sections=(name,)).urls(keys), file
        assert not record.pages or record.pages[-1].until is None
    assert files == set(published.pages(folder))
    style = {"sitemap.css"} if run.keys.get("STYLESHEET") else set()
    for name in {published.INDEX, *files} if style else ():
        assert b'href="sitemap.css"' in documents[name], name
    ours = {name for name in os.listdir(folder) if name.startswith("sitemap")}  # noqa: PTH208
    style |= {FEED} if run.keys.get("FEED") else set()
    known = files | style | set(manifest.indexes) | manifest.removed.keys()
    assert ours == known, "files that nobody knows of"


def feed_of(*runs):
    """Return the URLs of a feed after these runs. Only their rows are added and removed."""
    found, before = [], runs[0].urls()
    for run in runs[1:]:
        now = run.urls()
        found = [*sorted(now - before), *(url for url in found if url in now)][: run.keys["FEED"]]
        before = now
    return found


def assert_feed_is_one_of(folder, *histories):
    """Check that the feed is whole, and that of one of these sequences of runs."""
    root = ElementTree.fromstring((folder / FEED).read_bytes())  # noqa: S314 our own
    found = [link.get("href") for link in root.iterfind("{*}entry/{*}link")]
    assert found in [feed_of(*runs) for runs in histories], found


def call(name, place, *arguments):
    """Call a function of this module with a folder: see `test_killed_exports`."""
    faulthandler.enable()
    # Each killed export is logged; that is expected here.
    logging.disable(logging.ERROR)
    create_tables()
    return globals()[name](Path(place), *arguments)


def replace(folder, copy):
    shutil.rmtree(folder, ignore_errors=True)
    if copy.exists():
        shutil.copytree(copy, folder)


def contents(folder):
    return {name: content for name, (_, _, content) in published.states(folder).items()}


def begun(name, folder):
    """Complete all runs of a scenario but the last, and keep a copy of the folder.

    Return the URLs that must stay, the last run, and a run of other rows.
    """
    *earlier, last = SCENARIOS[name]
    for run in earlier:
        fill(run.rows)
        cleanly(run, folder)
        replace(folder.with_name("before"), folder)
    kept = {key: row for key, row in last.rows.items() if key % 700}
    once = earlier[-1].urls() if earlier else set()
    return once, last, last._replace(rows=kept | many(110, 1_310, 1_320, 7_000, 9_999))


def everywhere(place, name, how=""):
    """Kill the last run of a scenario at each of its points. Then the data change, and a run is not killed.

    With `losing`, what the killed run had staged is lost. With `again`, the next run is killed too, while
    it recovers, at points of its own. The number of points is returned.
    """
    folder, before, broken = (place / part for part in ("public", "before", "broken"))
    once, last, later = begun(name, folder)
    named_before = published.named(folder)
    chance = random.Random(4)  # noqa: S311
    for point in count(3, 6) if how == "again" else count(1, KILL_STEP):
        replace(folder, before)
        fill(last.rows)
        sys.stderr.write(f"Scenario {name!r} is killed at point {point}.\n")
        died = is_killed_at(point, folder, lambda: cleanly(last, folder))
        named = {*named_before, *published.named(folder)}
        assert_files_are_whole(folder, named)
        assert_urls_are_kept(folder, once & last.urls())
        earlier = SCENARIOS[name][:-1]
        if last.keys.get("FEED"):
            assert_feed_is_one_of(folder, earlier, [*earlier, last])
        if how == "losing":
            for staged in (folder / ".sitemaps09").glob("run-*"):
                shutil.rmtree(staged)
        fill(later.rows)
        replace(broken, folder)
        for second in sorted(chance.sample(range(1, 60), 3)) if died and how == "again" else [0]:
            if second:
                sys.stderr.write(f"Then it is killed at point {second}.\n")
                replace(folder, broken)
                is_killed_at(second, folder, lambda: cleanly(later, folder))
                assert_files_are_whole(folder, {*named, *published.named(folder)})
                assert_urls_are_kept(folder, once & last.urls() & later.urls())
            cleanly(later, folder)
            assert_files_are_whole(folder, {*named, *published.named(folder)})
            assert_is_current(folder, later)
            if last.keys.get("FEED"):
                assert_feed_is_one_of(folder, [*earlier, later], [*earlier, last, later])
        if not died:
            break
    return point - 1


def at_random(place, kills, seed):
    """Kill exports from another process, with different rows each time, while a reader may watch."""
    chance, folder = random.Random(int(seed)), place / "public"  # noqa: S311
    rows = {**many(*range(100, 6_000, 90)), **EVERGREEN}
    run = Run(rows)
    fill(rows)
    cleanly(run, folder)
    (place / "ready").touch()
    named, must, dead, seconds = set(published.named(folder)), run.urls(), 0, 0.05
    for _ in range(int(kills)):
        # Add and delete rows, usually in one range. The lasting rows stay.
        gone, where = chance.sample(sorted(rows), len(rows) // 12), chance.randrange(6_000)
        fresh = many(*(chance.randrange(where, where + 300) for _ in range(chance.randrange(25))))
        rows = {key: row for key, row in rows.items() if key not in gone} | fresh | EVERGREEN
        run = Run(rows, {"rebalance": chance.random() < 0.05})
        must &= run.urls()
        fill(rows)
        began, number = time.monotonic(), forked(lambda run=run: cleanly(run, folder))
        time.sleep(chance.uniform(0, 1.1) * seconds)
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)
        if was_killed(number):
            dead += 1
        else:
            seconds = time.monotonic() - began
        named |= published.named(folder)
        assert_files_are_whole(folder, named)
        assert_urls_are_kept(folder, must)
        if chance.random() < 0.25:
            began = time.monotonic()
            cleanly(run, folder)
            seconds = (seconds + time.monotonic() - began) / 2
            assert_is_current(folder, run)
            must = run.urls()
    cleanly(run, folder)
    assert_is_current(folder, run)
    assert_files_are_whole(folder, named)
    return dead


def orphans(place):
    """Kill the coordinator of workers while one worker is stopped."""
    folder, met, first, last = place / "public", 0, Run(BOTH, sections=TWO), SCENARIOS["two"][-1]

    def with_workers():
        forkable()
        use_settings(last, SITEMAPS=SECTIONS_PATH)
        return api.export(output=folder, engine="processes", workers=2)

    for point in count(1):
        shutil.rmtree(folder, ignore_errors=True)
        fill(first.rows)
        cleanly(first, folder)
        fill(last.rows)
        number = forked(lambda point=point: die_at(point, folder, in_workers=True) or with_workers())
        try:
            died, before = was_killed(number), published.states(folder)
            if members(number):
                # Forked workers still hold the lock. Spawned workers do not prevent another export.
                met += 1
                with contextlib.suppress(ExportRunningError):
                    assert with_workers().failures == []
                    assert_is_current(folder, last)
                    before = published.states(folder)
                assert published.states(folder) == before
            until(lambda number=number: not woken(number), "workers outlive their coordinator")
        finally:
            # Even after a failure, no worker stays stopped forever.
            woken(number)
        assert published.states(folder) == before
        assert_urls_are_kept(folder, first.urls())
        assert with_workers().failures == []
        assert_is_current(folder, last)
        if not died:
            break
    return met


def disk_full(place, kind):
    """Export with less room than that takes, from none to enough of it; then there is room.

    `kind` is `tmpfs` if `place` is one of 1 MB, or `limit`: no file grows over a size. Return how many runs
    failed, and how many did not.
    """
    folder, filler = place / "public", place / "filler"
    noise = random.Random(1)  # noqa: S311
    names = {key: Row("a" + noise.randbytes(90).hex()) for key in range(100, 6_100, 100)}
    run = Run(names, keys={"MAX_URLS": 40})
    more = {key + 1: Row("a" + noise.randbytes(90).hex()) for key in range(100, 6_100, 100)}
    full, statuses = run._replace(rows=names | more), []
    for room in range(0, 100_000, 4_096) if kind == "tmpfs" else range(0, 16_384, 256):
        shutil.rmtree(folder, ignore_errors=True)
        fill(run.rows)
        cleanly(run, folder)
        named, before = published.named(folder), published.states(folder)
        fill(full.rows)

        def work(room=room):
            if kind != "tmpfs":
                import resource

                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
            try:
                report = export(full, folder)
            except (OSError, ExportError):
                os._exit(1)
            os._exit(1 if report.failures else 0)

        if kind == "tmpfs":
            free = os.statvfs(place)
            filler.write_bytes(bytes(max(0, free.f_bavail * free.f_frsize - room)))
        statuses.append(os.waitstatus_to_exitcode(os.waitpid(forked(work), 0)[1]))
        assert room > 0 or published.states(folder) == before
        assert_files_are_whole(folder, {*named, *published.named(folder)})
        assert_urls_are_kept(folder, run.urls())
        filler.unlink(missing_ok=True)
        cleanly(full, folder)
        assert_files_are_whole(folder, {*named, *published.named(folder)})
        assert_is_current(folder, full)
    assert {*statuses} == {0, 1}
    return statuses.count(1), statuses.count(0)


def repairs(place):
    """Kill a repair of damaged pages and a damaged index at each of its points, then repair again.

    The number of points is returned.
    """
    folder, broken, run = place / "public", place / "broken", Run(THIRTY)
    fill(run.rows)
    cleanly(run, folder)
    whole = contents(folder)
    replace(broken, folder)
    for name in ("sitemap-a-1.xml.gz", "sitemap-a-3.xml.gz", "sitemap.xml"):
        content = (broken / name).read_bytes()
        (broken / name).write_bytes(content[: len(content) // 2])

    def repaired():
        use_settings(run)
        result = api.verify(output=folder, sitemaps={"a": section("a")}, engine="serial", repair=True)
        assert result.failures == []
        return result.damaged

    for point in count(1, KILL_STEP):
        replace(folder, broken)
        sys.stderr.write(f"The repair is killed at point {point}.\n")
        died = is_killed_at(point, folder, repaired)
        repaired()
        assert (repaired(), contents(folder)) == ([], whole)
        cleanly(run, folder)
        assert_is_current(folder, run)
        if not died:
            break
    return point - 1


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
        sync, opened, disk = os.fsync, io.open, self

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

        os.fsync, io.open = synced, opens

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


#: Three pages of a section and one of another. The second page is split, and a section is added. Then a
#: page is merged away, and other rows change.
OLD = _rows(*range(100, 3_100, 100)) | _rows(10_001, 10_002, section="b")
NEW = without(OLD, 500, 2_500) | _rows(150, *range(1_301, 1_312), 5_000) | _rows(700, 2_700, day=1)
NEW |= _rows(10_003, section="b") | _rows(20_001, 20_002, section="c")
LATER = without(NEW, 900, 10_001) | _rows(6_000) | _rows(1_100, day=2)
LAST = without(LATER, 1_000) | _rows(7_000) | _rows(20_002, day=3, section="c")


def _url(key, rows):
    return f"{BASE}/{rows[key][0]}{key}/"


def changes(transitions):
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
        settings.SITEMAPS09 = keys | ({"STATE": "apart"} if is_apart else {})
        backend = "django.core.files.storage.FileSystemStorage"
        apart = {"BACKEND": backend, "OPTIONS": {"location": str(self.area / "state")}}
        settings.STORAGES = {**settings.STORAGES, "apart": apart}
        # The storages are built from the settings only once.
        storages.__dict__.pop("backends", None)
        storages._backends = None

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
            fill_articles(rows)
        return api.export(output=self.public, sitemaps=self.sections, engine="serial", submit=submit)

    def repair(self):
        return api.verify(output=self.public, sitemaps=self.sections, engine="serial", repair=True)

    def submit(self):
        return submit(output=self.public)

    def restore(self, rows):
        shutil.rmtree(self.area, ignore_errors=True)
        shutil.copytree(self.saved, self.area)
        self.engine.requests.clear()
        fill_articles(rows)


def fill_articles(rows):
    first = datetime(2026, 1, 1, tzinfo=timezone.utc)
    with transaction.atomic():
        # Other tables that refer to this one do not exist.
        Article.objects.all()._raw_delete("default")
        Article.objects.bulk_create(
            Article(pk=key, slug=f"{section}{key}", updated=first + timedelta(days=day))
            for key, (section, day) in rows.items()
        )


def _exported(site):
    site.export(OLD)


def _rejected(site):
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
    fill_articles(NEW)
    site.repair()


def _killed_after_publishing(site):
    site.export(OLD)
    fill_articles(NEW)

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
SUBMISSIONS = {
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

    Return the number of points, and after how many of them removed URLs were unknown, by what has
    happened. After some seconds, skip the rest.
    """
    deadline = time.monotonic() + float(seconds)
    # A host can be submitted again at once.
    engines.PAUSE = -1.0
    scenario, points, unknown = SUBMISSIONS[name], 0, Counter()
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
            sys.stderr.write(f"{name!r} fails: {how} {point} {where}\n")
            unknown[how] += _is_completed_without(site, scenario, is_killed=how == "kill")
    return points, unknown


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


def _is_completed_without(site, scenario, *, is_killed):
    """Complete a run, check what was lost or repeated, and return whether removed URLs are unknown."""
    rows = scenario.states[-1]
    report = site.export(rows)
    assert report.failures == []
    (kept, removed), received = scenario.expected(), Counter(site.engine.submitted)
    is_unknown = any("removed URLs are unknown" in warning for warning in report.warnings)
    missing = (kept if is_unknown else kept | removed) - received.keys()
    assert not missing, f"not submitted: {missing}"
    if is_killed and not (is_unknown or scenario.unknown or scenario.is_silent):
        unchanged = received.keys() - kept - removed
        assert not unchanged, f"submitted without a change: {unchanged}"
    assert not is_killed or max(received.values(), default=0) <= 2, f"submitted more than twice: {received}"
    listed = [url for page in published.pages(site.public) for url in published.urls(site.public, page)]
    assert sorted(_url(key, rows) for key in rows) == sorted(listed)
    paths = [*site.state.rglob("*"), *site.public.rglob("*")]
    assert [path for path in paths if path.name.startswith(_LEFTOVERS)] == []
    assert site.submit().failures == []
    assert_files_are_whole(site.public, published.named(site.public))
    return is_unknown
