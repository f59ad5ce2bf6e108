"""Exports that are killed or run out of disk space, with real processes and files, or whose storage fails.

Each process is a fork of one that calls a function of `tests.invariants.killing.runs`.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import shutil
import subprocess
import threading
from hashlib import sha256

import pytest
from django.conf import settings as django_settings
from django.core.files.base import ContentFile
from django.core.files.storage import storages

from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export import export
from tests.invariants.killing import runs
from tests.invariants.killing.runs import EVERGREEN, SCENARIOS, SUBMISSIONS
from tests.models import Article
from tests.support import published
from tests.support.configuration import BASE, KILL_STEP
from tests.support.databases import require
from tests.support.engine_project import Project, end
from tests.support.internals import LocalStore, manifest as manifests, stores
from tests.support.killing import needs_proc
from tests.support.manifests import articles, slugs, write_articles
from tests.support.stores import Overwriting

#: Timeout in seconds, shorter than that of a test.
DEADLINE = 90

pytestmark = [
    pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "fork"), reason="what dies is a fork"),
]  # fmt: skip


class Place(Project):
    """A folder, and a database that several processes share."""

    def start_run(self, function, *arguments):
        return self.call(runs.call, function, *arguments)

    def run(self, function, *arguments):
        return self.result(self.start_run(function, *arguments), DEADLINE)


@pytest.fixture
def sqlite(tmp_path):
    return Place(tmp_path)


@pytest.fixture(scope="module")
def database_of_its_own():
    require("postgresql")
    import psycopg

    known = django_settings.DATABASES["postgresql"]
    address = {key.lower(): known[key] for key in ("HOST", "PORT", "USER", "PASSWORD")}
    name = f"sitemaps09_invariants_{os.getpid()}"
    with psycopg.connect(**address, dbname="postgres", autocommit=True) as server:
        server.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        server.execute(f"CREATE DATABASE {name}")
        try:
            kept = {key: known[key] for key in ("ENGINE", "USER", "PASSWORD", "HOST", "PORT")}
            yield {**kept, "NAME": name}
        finally:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def postgresql(sqlite, database_of_its_own):
    sqlite.database = database_of_its_own
    return sqlite


class TestAnExportThatIsKilledAtEachPoint:
    """Files are complete, no URL is lost, and a run that completes publishes the current rows."""

    # With fewer points, the export was not killed at each step.
    @pytest.mark.parametrize("scenario", SCENARIOS)
    def test_keeps_published_files_and_the_next_run_publishes_current_rows(self, sqlite, scenario):
        assert sqlite.run("everywhere", sqlite.folder, scenario) > 40

    @pytest.mark.services
    @pytest.mark.parametrize("scenario", ["tail", "merge-of-the-tail-and-grow"])
    def test_does_so_on_postgresql(self, postgresql, scenario):
        assert postgresql.run("everywhere", postgresql.folder, scenario) > 40

    @pytest.mark.parametrize("scenario", ["first", "tail", "cascade-and-less"])
    def test_is_rebuilt_if_its_staged_files_are_lost(self, sqlite, scenario):
        assert sqlite.run("everywhere", sqlite.folder, scenario, "losing") > 40

    def test_may_be_followed_by_others_that_are_killed_while_they_recover(self, sqlite):
        assert sqlite.run("everywhere", sqlite.folder, "tail", "again") > 40

    def test_of_a_repair_is_followed_by_one_that_repairs_everything(self, sqlite):
        assert sqlite.run("repairs", sqlite.folder) > 20


@needs_proc
@pytest.mark.parametrize("scenario", SUBMISSIONS)
def test_a_run_that_is_killed_or_whose_disk_fails_at_each_point_loses_no_change_to_submit(sqlite, scenario):
    """An export with `--submit`, a submission, a repair, or the run that recovers from one of them."""
    points, unknown = sqlite.run("nothing_is_lost", sqlite.folder, scenario, KILL_STEP, DEADLINE / 9)
    assert points > 9
    # Removed URLs are unknown only after errors.
    assert scenario in ("repair", "repaired", "not-queued") or unknown.get("kill", 0) == 0


class Reader:
    """A crawler that repeatedly fetches the index and all listed files."""

    def __init__(self, folder, must):
        self.folder, self.must, self.named, self.reads, self.still = folder, must, set(), 0, 0

    def look(self):
        """Read all files in the index. Expect each URL if no file was replaced in the meantime."""
        index = (self.folder / "sitemap.xml").read_bytes()
        names = [url.rpartition("/")[2] for url in published.locations(index, False)]
        found, states = set(), {}
        for name in names:
            with (self.folder / name).open("rb") as file:
                states[name] = self.state(os.fstat(file.fileno()))
                found.update(published.locations(file.read(), name.endswith(".gz")))
        self.named.update(names)
        self.reads += 1
        now = {name: self.state((self.folder / name).stat()) for name in states}
        if (states, index) == (now, (self.folder / "sitemap.xml").read_bytes()):
            # Otherwise, a file was replaced, so that they never existed together.
            self.still += 1
            lost = self.must - found
            assert not lost, f"in no indexed page: {sorted(lost)}"

    @staticmethod
    def state(found):
        return found.st_ino, found.st_mtime_ns


@pytest.mark.parametrize("using", ["sqlite", "postgresql"])
def test_fifty_exports_that_are_killed_at_random_are_never_seen_by_a_crawler(request, using):
    place = request.getfixturevalue(using)
    reader = Reader(place.folder / "public", {f"{BASE}/{row.slug}/" for row in EVERGREEN.values()})
    deadline = threading.Timer(DEADLINE, lambda: end(process))
    with place.start_run("at_random", place.folder, 50, 5) as process:
        deadline.start()
        try:
            while process.poll() is None:
                if (place.folder / "ready").exists():
                    reader.look()
        finally:
            deadline.cancel()
            end(process)
            out, err = process.communicate()
    assert process.returncode == 0, err
    assert json.loads(out)[-1] > 10
    assert reader.reads >= reader.still > 50
    # Files that an index of the last day listed still exist.
    for name in reader.named:
        published.urls(reader.folder, name)


@needs_proc
def test_workers_of_a_coordinator_that_was_killed_change_nothing_while_they_live_or_later(sqlite):
    assert sqlite.run("orphans", sqlite.folder) > 0


@pytest.mark.parametrize("kind", ["tmpfs", "limit"])
def test_a_full_disk_leaves_what_is_published_and_the_next_run_with_room_repairs(sqlite, kind):
    pytest.importorskip("resource")
    with small_disk(sqlite.folder) if kind == "tmpfs" else contextlib.nullcontext(sqlite.folder) as place:
        failed, went = sqlite.run("disk_full", place, kind)
    # Some had enough room, and others had not.
    assert (failed > 5, went > 2) == (True, True)


@contextlib.contextmanager
def small_disk(folder):
    """A file system of 1 MB, if one can be mounted."""
    place = folder / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "sitemaps09", str(place)]
    try:
        done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603
    except FileNotFoundError:
        pytest.skip("there is no `mount`")
    if done.returncode:
        pytest.skip(f"no file system can be mounted: {done.stderr.decode().strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)  # noqa: S603, S607


@pytest.mark.django_db
@pytest.mark.sitemaps09(MAX_URLS=50, ENGINE="serial", KEEP_REMOVED=0)
class TestAPublicationWhoseStagedFilesAreLost:
    """A run was killed while publishing, so what it published is unverified."""

    @pytest.fixture
    def unverified(self, tmp_path, configure, monkeypatch):
        def broken_off(*arguments):
            raise KeyboardInterrupt

        write_articles(*range(1, 401))
        export(output=tmp_path, sitemaps={"a": articles()})
        for _ in range(2):
            # Numbers up to 27 are used. When pages are removed, no file has the last numbers any more.
            export(output=tmp_path, sitemaps={"a": articles()}, rebalance=True)
        assert max(self.numbers(tmp_path)) == 27
        write_articles(401)
        with monkeypatch.context() as patch:
            patch.setattr(LocalStore, "promote", broken_off)
            with pytest.raises(KeyboardInterrupt):
                export(output=tmp_path, sitemaps={"a": articles()})
        configure(KEEP_REMOVED=86_400)
        [run] = (tmp_path / ".sitemaps09").glob("run-*")
        shutil.rmtree(run)
        return tmp_path

    @staticmethod
    def numbers(folder):
        return [int(name.split("-")[2].removesuffix(".xml.gz")) for name in published.pages(folder)]

    def test_uses_no_number_again(self, unverified):
        for name in published.pages(unverified)[-2:]:
            (unverified / name).unlink()
        assert export(output=unverified, sitemaps={"a": articles()}).failures == []
        assert (min(self.numbers(unverified)), len(published.indexed(unverified))) == (28, 401)

    def test_is_guarded_by_how_many_urls_there_were(self, unverified):
        Article.objects.filter(pk__gt=20).delete()
        before = published.states(unverified)
        assert "from 400 to 20" in export(output=unverified, sitemaps={"a": articles()}).sections[0].failure
        assert published.states(unverified) == before


class Refusing(Overwriting):
    """Storage that replaces files atomically, like S3. It refuses the n-th write."""

    left, refused = 0, ""

    def _save(self, name, content):
        Refusing.left -= 1
        if Refusing.left == 0:
            Refusing.refused = name
            raise ConnectionError("the storage refuses")
        return super()._save(name, ContentFile(content.read()))

    def contents(self):
        return {name: self.open(name).read() for name in self.listdir("")[1]}


def urls_of(contents, name):
    return published.locations(contents[name], name.endswith(".gz"))


def named(contents):
    found = urls_of(contents, "sitemap.xml") if "sitemap.xml" in contents else ()
    return [url.rpartition("/")[2] for url in found]


def indexed(contents):
    """Return the URLs of the files in the index, which must be complete."""
    return [url for name in named(contents) for url in urls_of(contents, name)]


@pytest.mark.django_db
@pytest.mark.sitemaps09(MAX_URLS=10, ENGINE="serial")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("kind", ["first", "split", "merge"])
def test_a_refused_write_keeps_published_files_and_the_next_run_is_current(settings, monkeypatch, kind):
    # The cache of the tests is used only by this process.
    monkeypatch.setattr(stores, "_UNSUITABLE", {})
    backend = {"BACKEND": f"{__name__}.Refusing", "OPTIONS": {"location": "/invariants"}}
    settings.STORAGES = {**settings.STORAGES, "sitemaps": backend}
    sitemaps, refused = {"a": articles()}, 0
    for point in range(1, 100):
        storages._storages.clear()
        storage = storages["sitemaps"]
        Article.objects.all().delete()
        Refusing.left = 0
        if kind != "first":
            write_articles(*range(100, 4_100, 100))
            assert export(sitemaps=sitemaps).failures == []
        if kind == "merge":
            Article.objects.exclude(pk__in=[300, 600, 1_300, 1_600, 2_300, 2_600, 3_300]).delete()
            assert export(sitemaps=sitemaps).failures == []
        earlier = storage.contents()
        write_articles(*range(1_101, 1_125), 5_000)
        Refusing.left = point
        try:
            failed = bool(export(sitemaps=sitemaps).failures)
        except ExportError as error:
            assert "the storage refuses" in str(error)  # noqa: PT017 it may also go well
            failed = True
        found, is_over = storage.contents(), Refusing.left > 0
        assert {*indexed(earlier)} <= {*indexed(found)}, point
        Refusing.left = 0
        write_articles(9_000)
        # Files that a crawler has seen in the former index are whole, too.
        for name in named(earlier):
            urls_of(found, name)
        assert export(sitemaps=sitemaps).failures == []
        found, expected = storage.contents(), slugs(*Article.objects.values_list("pk", flat=True))
        assert sorted(indexed(found)) == sorted(f"{BASE}{path}" for path in expected), point
        for name in named(earlier):
            urls_of(found, name)
        assert_is_clean(storage, found)
        if is_over:
            break
        refused += failed
        # An export is complete without its entries in the history.
        assert failed != Refusing.refused.endswith(("/history.json", "/exported.json"))
    assert refused > 8


def assert_is_clean(storage, found):
    names = [name for part in storage.listdir(".sitemaps09") for name in part]
    assert [name for name in names if name.startswith(("run-", "probe-", "journal"))] == []
    for name, record in manifests.read(stores.state_store(stores.target_store(None))).sections.items():
        for page in record.pages:
            content = gzip.decompress(found[f"sitemap-{name}-{page.number}.xml.gz"])
            assert sha256(content).hexdigest() == page.digest
