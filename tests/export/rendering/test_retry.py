"""Reads of an export when connections are lost, at each statement or for a second.

Exports run in a separate process that connects to the database through a forwarder.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import DatabaseError, connections, transaction
from django.db.models import F

from django_sitemaps09 import ModelSitemap, Route, Sitemap
from tests.export.rendering.forwarder import DEADLINE, Forwarder
from tests.support.configuration import BASE
from tests.support.databases import require
from tests.support.processes import environment, started
from tests.support.published import quick_folder

pytestmark = pytest.mark.slow
OLD = datetime(2026, 1, 1, tzinfo=timezone.utc)
ROWS, PAGE = 60, 20
SETTINGS = """
import json, os
from tests.settings import *
DATABASES = {"default": json.loads(os.environ["SITEMAPS09_TESTS_DATABASE"])}
SITEMAPS09 = {"BASE_URL": "%s", "SITEMAPS": "tests.export.rendering.test_retry.SECTIONS", "MAX_URLS": %d}
LOGGING = {"version": 1, "disable_existing_loggers": False}
"""


class Articles(ModelSitemap[Any]):
    """A section that is read as columns, by key ranges."""

    location = Route("article", slug=F("slug"))
    lastmod = F("updated")

    def get_queryset(self) -> Any:
        from tests.models import Article

        return Article.objects.all()


class Words(ModelSitemap[Any]):
    """A section that is read as instances, by ranges of a key with a collation."""

    def get_queryset(self) -> Any:
        from tests.models import Word

        return Word.objects.all()

    def location(self, item: Any) -> str:
        return f"/words/{item.pk}/"


class Listed(Sitemap[Any]):
    """A section that is read by position, through a server-side cursor."""

    def items(self) -> Any:
        from tests.models import Article

        return Article.objects.order_by("-slug", "pk")[:30]

    def location(self, item: Any) -> str:
        return f"/listed/{item.slug}/"


SECTIONS = {"articles": Articles, "words": Words, "listed": Listed}


def serve() -> None:
    """Run an export for each line of standard input, and write the result as a line."""
    import django

    django.setup()
    from django_sitemaps09.export import export

    for line in sys.stdin:
        # Workers are forked only if no connection is open.
        connections.close_all()
        wanted = json.loads(line)
        surroundings = transaction.atomic() if wanted.pop("atomic") else nullcontext()
        try:
            with surroundings:
                failures = export(**wanted).failures
        except DatabaseError:
            # This error is from the transaction, which cannot be committed.
            pass
        print(json.dumps(failures), flush=True)  # noqa: T201


class Exports:
    """A process that exports through a forwarder."""

    def __init__(self, folder: Path, database: dict[str, Any]) -> None:
        (folder / "retry_settings.py").write_text(SETTINGS % (BASE, PAGE))
        environ = environment(folder, "retry_settings", SITEMAPS09_TESTS_DATABASE=json.dumps(database))
        self.errors = (folder / "errors.txt").open("w+")
        pipes = {"stdin": subprocess.PIPE, "stderr": self.errors}
        self.process = started("-m", "tests.export.rendering.test_retry", environ=environ, **pipes)

    def close(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=DEADLINE)
        self.errors.close()

    def run(self, output: Path, workers: int, *, changed_only: bool, atomic: bool) -> Sequence[str]:
        """Run an export, and return its failures. It is killed after a timeout."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        wanted = {"output": str(output), "workers": workers, "changed_only": changed_only, "atomic": atomic}
        timer = threading.Timer(2 * DEADLINE, self.process.kill)
        timer.start()
        try:
            self.process.stdin.write(json.dumps(wanted) + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        finally:
            timer.cancel()
        self.errors.seek(0)
        assert answer, self.errors.read()
        failures: Sequence[str] = json.loads(answer)
        return failures


def published(folder: Path) -> dict[str, bytes]:
    """Return the uncompressed content of each page, and the locations in the index."""
    found = {path.name: gzip.decompress(path.read_bytes()) for path in folder.glob("*.gz")}
    index = (folder / "sitemap.xml").read_bytes()
    return found | {"sitemap.xml": b"".join(sorted(re.findall(rb"<loc>.*?</loc>", index)))}


def parameter(alias: str) -> Any:
    mark = pytest.mark.django_db(transaction=True, databases=[alias])
    return pytest.param(alias, marks=[mark] if alias in django_settings.DATABASES else [])


class Lab:
    """Rows on a server, a forwarder in front of it, and exports through the forwarder."""

    def __init__(self, alias: str, folder: Path) -> None:
        from tests.models import Article, Word

        self.folder, self.alias = folder, alias
        Article.objects.using(alias).bulk_create(
            Article(pk=10 * n, slug=f"a{n:03}", updated=OLD + timedelta(hours=n))
            for n in range(1, ROWS + 1)
        )
        Word.objects.using(alias).bulk_create(Word(word=f"w{n:03}") for n in range(ROWS))
        known = connections[alias].settings_dict
        self.admin = connections[alias].copy()
        self.admin.inc_thread_sharing()
        self.lock = threading.Lock()
        server = known["HOST"], int(known["PORT"])
        self.forwarder = Forwarder(connections[alias].vendor, server, self.end)
        database = {key: known[key] for key in ("ENGINE", "NAME", "USER", "PASSWORD")}
        self.exports = Exports(
            folder, database | {"HOST": "127.0.0.1", "PORT": str(self.forwarder.port), "CONN_MAX_AGE": 600}
        )
        self.count = 0

    def close(self) -> None:
        self.exports.close()
        self.forwarder.close()
        self.admin.close()

    def end(self, port: int) -> None:
        """End the session of a client's port, and wait until it is gone."""
        find, kill = {
            "postgresql": (
                "SELECT pid FROM pg_stat_activity WHERE client_port = %s",
                "SELECT pg_terminate_backend(%s)",
            ),
            "mysql": (
                "SELECT id FROM information_schema.processlist WHERE host LIKE CONCAT('%%:', %s)",
                "KILL %s",
            ),
        }[self.admin.vendor]
        with self.lock, self.admin.cursor() as cursor:
            cursor.execute(find, [port])
            (pid,) = cursor.fetchone()
            cursor.execute(kill, [pid])
            deadline = time.monotonic() + DEADLINE
            while time.monotonic() < deadline:
                cursor.execute(find, [port])
                if cursor.fetchone() is None:
                    return
                time.sleep(0.005)

    def change(self) -> None:
        """Change one page of each section, and no other pages."""
        from tests.models import Article, Word

        Article.objects.using(self.alias).filter(pk=10).update(updated=OLD - timedelta(days=1))
        Word.objects.using(self.alias).create(word="zzz")

    def run(self, workers: int, start: Path | None = None, *, atomic: bool = False) -> tuple[Any, Path]:
        """Export to a new folder, or with `changed_only` to a copy of `start`."""
        self.count += 1
        output = self.folder / f"public-{self.count}"
        if start is not None:
            shutil.copytree(start, output)
        changed_only = start is not None
        return self.exports.run(output, workers, changed_only=changed_only, atomic=atomic), output


@pytest.fixture(params=[parameter("postgresql"), parameter("mariadb")])
def lab(request: pytest.FixtureRequest) -> Iterator[Lab]:
    require(request.param)
    with quick_folder() as folder:
        made = Lab(request.param, folder)
        try:
            yield made
        finally:
            made.close()


@pytest.mark.parametrize(
    ("workers", "changed_only"),
    [(1, False), (1, True), (2, True)],
    ids=["serial-full", "serial-changed-only", "workers-changed-only"],
)
def test_a_session_that_ends_before_any_statement_changes_nothing(
    lab: Lab, workers: int, changed_only: bool
) -> None:
    start = None
    if changed_only:
        failures, start = lab.run(1)
        assert failures == []
        assert lab.exports.run(start, 1, changed_only=False, atomic=False) == []
        lab.change()
    # Values that are queried once per process, such as the version of the server, are not queried again.
    assert lab.run(workers, start)[0] == []
    lab.forwarder.arm()
    failures, folder = lab.run(workers, start)
    assert failures == []
    wanted, count = published(folder), lab.forwarder.statements
    assert count > 10
    failed, ended = {}, 0
    for fatal in range(1, count + 1):
        lab.forwarder.arm(fatal)
        failures, folder = lab.run(workers, start)
        ended += lab.forwarder.ended
        if failures or published(folder) != wanted:
            failed[fatal] = failures
        shutil.rmtree(folder)
    assert failed == {}
    # How many pages each worker takes, and whether it opens a session for them, is random.
    assert ended == count if workers == 1 else ended > count / 2


@pytest.mark.parametrize("workers", [1, 2], ids=["serial", "workers"])
def test_a_server_that_is_gone_for_a_second_fails_no_section(lab: Lab, workers: int) -> None:
    failures, folder = lab.run(workers)
    assert failures == []
    wanted = published(folder)
    for fatal in (3, 20):
        lab.forwarder.arm(fatal, outage=1.0)
        failures, folder = lab.run(workers)
        assert lab.forwarder.ended == 1
        assert (failures, published(folder)) == ([], wanted)


def test_a_server_that_stays_away_fails_its_sections_and_nothing_is_published(lab: Lab) -> None:
    lab.forwarder.arm(10, outage=DEADLINE)
    failures, folder = lab.run(1)
    assert len(failures) == len(SECTIONS)
    assert all("Error: " in failure for failure in failures)
    assert [path.name for path in folder.iterdir()] == [".sitemaps09"]


def test_a_transaction_of_the_caller_is_not_retried(lab: Lab) -> None:
    lab.forwarder.arm(8)
    failures, folder = lab.run(1, atomic=True)
    assert lab.forwarder.ended == 1
    # The connection is lost for all sections.
    assert len(failures) == len(SECTIONS)
    assert all("runs in a transaction of its caller" in failure for failure in failures)
    assert not [path for path in folder.iterdir() if path.is_file()]


if __name__ == "__main__":
    serve()
