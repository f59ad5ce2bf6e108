"""Exports, submissions and repairs that are killed, or whose disk fails, at each operation.

After each of them, one run with `--submit` completes. Then all changed URLs have been submitted.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, get_args
from unittest import mock

from tests.invariants.killing.faults import Disk, Fault
from tests.invariants.killing.publication import assert_files_are_whole
from tests.support import published
from tests.support.configuration import BASE
from tests.support.killing import die_at, forked, was_killed
from tests.support.search_engines import KEY, Engine, running_engine

#: Rows by key: the section and the day of the last change.
Rows = Mapping[int, tuple[str, int]]

_FIRST = datetime(2026, 1, 1, tzinfo=timezone.utc)


def _rows(*keys: int, section: str = "a", day: int = 0) -> dict[int, tuple[str, int]]:
    return dict.fromkeys(keys, (section, day))


def _without(rows: Rows, *gone: int) -> dict[int, tuple[str, int]]:
    return {key: row for key, row in rows.items() if key not in gone}


#: Three pages of a section and one of another. The second page is split, and a section is added. Then a
#: page is merged away, and other rows change.
OLD: Rows = _rows(*range(100, 3_100, 100)) | _rows(10_001, 10_002, section="b")
NEW: Rows = _without(OLD, 500, 2_500) | _rows(150, *range(1_301, 1_312), 5_000) | _rows(700, 2_700, day=1)
NEW = NEW | _rows(10_003, section="b") | _rows(20_001, 20_002, section="c")
LATER: Rows = _without(NEW, 900, 10_001) | _rows(6_000) | _rows(1_100, day=2)
LAST: Rows = _without(LATER, 1_000) | _rows(7_000) | _rows(20_002, day=3, section="c")


class Changes(NamedTuple):
    """URLs that were added or changed, and those that were removed."""

    kept: frozenset[str]
    removed: frozenset[str]


def _url(key: int, rows: Rows) -> str:
    return f"{BASE}/{rows[key][0]}{key}/"


def changes(*transitions: tuple[Rows, Rows]) -> Changes:
    """Return the URLs that change in these transitions."""
    kept: set[str] = set()
    removed: set[str] = set()
    for old, new in transitions:
        kept |= {_url(key, new) for key, row in new.items() if old.get(key) != row}
        removed |= {_url(key, old) for key in old.keys() - new.keys()}
    return Changes(frozenset(kept - removed), frozenset(removed))


class Site:
    """A site whose rows are exported to a folder, and submitted to an engine."""

    def __init__(self, place: Path, engine: Engine, *, is_apart: bool) -> None:
        self.area, self.saved, self.engine, self.is_apart = (
            place / "area",
            place / "saved",
            engine,
            is_apart,
        )

    @property
    def public(self) -> Path:
        return self.area / "public"

    @property
    def state(self) -> Path:
        return self.area / "state" if self.is_apart else self.public / ".sitemaps09"

    def configure(self) -> None:
        from django.conf import settings
        from django.core.files.storage import storages

        keys = {"BASE_URL": BASE, "MAX_URLS": 10, "INDEXNOW_KEY": KEY, "INDEXNOW_URLS": [self.engine.url]}
        if self.is_apart:
            backend = "django.core.files.storage.FileSystemStorage"
            apart = {"BACKEND": backend, "OPTIONS": {"location": str(self.area / "state")}}
            settings.STORAGES = {**settings.STORAGES, "apart": apart}
            # The storages are built from the settings only once.
            storages.__dict__.pop("backends", None)
            storages._backends = None  # type: ignore[attr-defined]
            keys["STATE"] = "apart"
        settings.SITEMAPS09 = keys

    @property
    def sections(self) -> dict[str, Any]:
        from django.db.models import F, Value
        from django.db.models.functions import Concat

        from django_sitemaps09 import ModelSitemap
        from tests.models import Article

        def section(name: str) -> Any:
            declared = {
                "queryset": Article.objects.filter(slug__startswith=name),
                "location": Concat(Value("/"), F("slug"), Value("/")),
                "lastmod": F("updated"),
            }
            return type("Rows", (ModelSitemap,), declared)()

        used = Article.objects.filter(slug__startswith="c").exists()
        return {name: section(name) for name in ("abc" if used else "ab")}

    def export(self, rows: Rows | None = None, **options: Any) -> Any:
        from django_sitemaps09.export import export

        if rows is not None:
            fill(rows)
        return export(
            output=self.public, sitemaps=self.sections, engine="serial", **{"submit": True, **options}
        )

    def repair(self) -> Any:
        from django_sitemaps09.export import verify

        return verify(output=self.public, sitemaps=self.sections, engine="serial", repair=True)

    def submit(self) -> Any:
        from django_sitemaps09.notify import submit

        return submit(output=self.public)

    def save(self) -> None:
        """Keep the files as they are now, for `restore`."""
        shutil.rmtree(self.saved, ignore_errors=True)
        shutil.copytree(self.area, self.saved)

    def restore(self, rows: Rows) -> None:
        shutil.rmtree(self.area, ignore_errors=True)
        shutil.copytree(self.saved, self.area)
        self.engine.requests.clear()
        fill(rows)


def fill(rows: Rows) -> None:
    """Replace all rows."""
    from django.db import connection, transaction

    from tests.models import Article

    with transaction.atomic():
        with connection.cursor() as cursor:
            # Not by the model, since other tables that refer to this one do not exist.
            cursor.execute("DELETE FROM tests_article")
        Article.objects.bulk_create(
            Article(pk=key, slug=f"{section}{key}", updated=_FIRST + timedelta(days=day))
            for key, (section, day) in rows.items()
        )


class Scenario(NamedTuple):
    """What happens before the run that fails, that run, and the states of the rows.

    The first state has been submitted, the last one is that of the run that completes. The run that fails
    sees the one before, whose changes need not be submitted if it `is_silent`. The rows `unknown` were
    removed from pages that were damaged, or by a run that could not queue them.
    """

    before: Callable[[Site], object]
    failing: Callable[[Site], object]
    states: tuple[Rows, ...]
    is_apart: bool = False
    is_silent: bool = False
    unknown: tuple[int, ...] = ()

    def expected(self) -> Changes:
        transitions = [*zip(self.states, self.states[1:], strict=False)]
        if self.is_silent:
            del transitions[-2]
        kept, removed = changes(*transitions)
        return Changes(kept, removed - {_url(key, OLD) for key in self.unknown})


def _rejected(site: Site) -> None:
    """Leave two messages pending."""
    site.export(OLD)
    site.engine.answer(403)
    site.export(NEW)
    site.export(LATER)
    site.engine.answer(200)


def _damaged(site: Site) -> None:
    """Damage two pages and the index."""
    site.export(OLD)
    (site.public / "sitemap-a-1.xml.gz").unlink()
    for name in ("sitemap-a-3.xml.gz", "sitemap.xml"):
        content = (site.public / name).read_bytes()
        (site.public / name).write_bytes(content[: len(content) // 2])


def _repaired(site: Site) -> None:
    _damaged(site)
    fill(NEW)
    site.repair()


def _killed_after_publishing(site: Site) -> None:
    """Publish, but end before the messages are pending."""
    from django_sitemaps09.notify.ledger import Ledger
    from django_sitemaps09.stores import LocalStore

    site.export(OLD)
    fill(NEW)

    def end_if_prepared(ledger: Ledger, run: str | None) -> None:
        if any(ledger._prepared()):
            os._exit(0)

    def work() -> None:
        with mock.patch.object(Ledger, "activate", end_if_prepared):
            site.export()

    was_killed(forked(work))
    assert any(Ledger(LocalStore(site.state, own=""))._prepared())


def _not_queued(site: Site) -> None:
    from django_sitemaps09.notify.ledger import Ledger

    site.export(OLD)
    with mock.patch.object(Ledger, "_write", side_effect=OSError(28, "No space left on device")):
        site.export(NEW)


SCENARIOS = {
    "export": Scenario(lambda site: site.export(OLD), Site.export, (OLD, NEW, LATER)),
    "apart": Scenario(lambda site: site.export(OLD), Site.export, (OLD, NEW, LATER), is_apart=True),
    "submit": Scenario(_rejected, Site.submit, (OLD, NEW, LATER, LATER)),
    "repair": Scenario(_damaged, Site.repair, (OLD, NEW, LATER), unknown=(500, 900, 2_500)),
    "recovery": Scenario(_killed_after_publishing, Site.export, (OLD, NEW, LATER, LAST)),
    "silent-recovery": Scenario(
        _killed_after_publishing,
        lambda site: site.export(submit=False),
        (OLD, NEW, LATER, LAST),
        is_silent=True,
    ),
    "not-queued": Scenario(_not_queued, Site.export, (OLD, NEW, LATER, LAST), unknown=(500, 2_500)),
    "repaired": Scenario(_repaired, Site.export, (OLD, NEW, LATER, LAST), unknown=(500, 2_500)),
}


def nothing_is_lost(name: str, place: str, step: str, seconds: str) -> dict[str, Any]:
    """Kill or disturb the run of a scenario at each `step`-th of its operations.

    Return the number of points, what was lost at which of them, and after how many of them removed URLs
    were unknown, by what has happened. After some seconds, skip the rest.
    """
    from django_sitemaps09.notify import engines

    deadline = time.monotonic() + float(seconds)
    _create_tables()
    # A host can be submitted again at once.
    engines.PAUSE = -1.0
    scenario, points, lost = SCENARIOS[name], 0, []
    unknown: Counter[str] = Counter()
    with running_engine() as engine:
        site = Site(Path(place), engine, is_apart=scenario.is_apart)
        site.configure()
        site.area.mkdir()
        scenario.before(site)
        site.save()
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


def _create_tables() -> None:
    from django.db import connection

    from tests.models import Article, Category, Tag

    with connection.schema_editor() as editor:
        for model in (Tag, Category, Article):
            if model._meta.db_table not in connection.introspection.table_names():
                editor.create_model(model)


def _points(site: Site, scenario: Scenario, step: int) -> list[tuple[int, str]]:
    """Return what is to happen at which operation, so that any part of the list is about the whole run."""
    counted = site.area.with_name("counted")

    def work() -> None:
        disk = Disk(sys.maxsize, site.area, "once")
        disk.install()
        scenario.failing(site)
        counted.write_text(str(sys.maxsize - disk.left))

    site.restore(scenario.states[-2])
    was_killed(forked(work))
    points = [*product(range(1, int(counted.read_text()) + 1, step), ["kill", *get_args(Fault)])]
    random.Random(1).shuffle(points)  # noqa: S311
    return points


def _fail(site: Site, scenario: Scenario, how: Any, point: int) -> str:
    """Let a run fail at a point. Return the operation, or an empty string if nothing has failed.

    Fewer operations can be killed, or fail on a full disk, than there are.
    """
    told = site.area.with_name("told")
    told.write_text("")

    def work() -> None:
        if how == "kill":
            die_at(point, site.area)
        else:
            disk = Disk(point, site.area, how)
            disk.install()
        with suppress(Exception):
            scenario.failing(site)
        if how != "kill":
            told.write_text(disk.failed)

    died = was_killed(forked(work))
    return "killed" if died else told.read_text()


def _complete(site: Site, scenario: Scenario, *, is_killed: bool) -> tuple[str, bool]:
    """Complete a run, and return what was lost or repeated, and whether removed URLs are unknown."""
    rows = scenario.states[-1]
    report = site.export(rows)
    expected, received = scenario.expected(), set(site.engine.submitted)
    problems = [*report.failures]
    is_unknown = any("removed URLs are unknown" in warning for warning in report.warnings)
    problems += [f"not submitted: {url}" for url in sorted(expected.kept - received)]
    if not is_unknown:
        problems += [f"not submitted: {url}" for url in sorted(expected.removed - received)]
    if is_killed and not (is_unknown or scenario.unknown or scenario.is_silent):
        unchanged = received - expected.kept - expected.removed
        problems += [f"submitted without a change: {url}" for url in sorted(unchanged)]
    repeated = [url for url, count in Counter(site.engine.submitted).items() if count > 2]
    problems += [f"submitted more than twice: {url}" for url in repeated if is_killed]
    urls = [_url(key, rows) for key in rows]
    listed = [url for page in published.pages(site.public) for url in published.urls(site.public, page)]
    if sorted(urls) != sorted(listed):
        problems.append("the published files differ from the rows")
    left = [path.name for path in site.state.rglob("*") if path.name.startswith(_LEFTOVERS)]
    left += [path.name for path in site.public.rglob("*") if path.name.startswith(_LEFTOVERS)]
    if left:
        problems.append(f"left over: {left}")
    if site.submit().failures:
        problems.append(f"{site.submit().failures}")
    assert_files_are_whole(site.public, published.named(site.public))
    return "; ".join(problems), is_unknown


_LEFTOVERS = ("journal", "run-", "tmp-", "prepared-", "pending-", "damaged-")
