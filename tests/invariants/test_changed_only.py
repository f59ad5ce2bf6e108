"""An export with `--changed-only` publishes the same files as a full one, and reads less."""

from __future__ import annotations

import os
import random
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from itertools import combinations

import pytest
from django.conf import settings as configured
from django.db import connections
from django.db.models import CharField, F, Value
from django.db.models.functions import Concat
from django.test.utils import CaptureQueriesContext
from django.urls import set_script_prefix
from django.utils.translation import get_language

from django_sitemaps09 import Route
from django_sitemaps09.export import export
from tests.models import Article, Category
from tests.support.configuration import BASE
from tests.support.databases import ALIASES, MYSQLS, parameter
from tests.support.factories import CategoryFactory
from tests.support.internals import HASHES, LocalStore, manifest, render_page
from tests.support.published import pages as listed_pages, unpacked as published, urls
from tests.support.sections import declare, listing

pytestmark = pytest.mark.slow
#: The time of the first run. Rows are older.
START = datetime(2026, 6, 1, 12, tzinfo=timezone.utc)
OLD = datetime(2026, 1, 1, tzinfo=timezone.utc)
ROWS, PAGE = 100, 10
PAGES = ROWS // PAGE
#: Runs of the test of random changes. For more of them: SITEMAPS09_STEPS=500, -o faulthandler_timeout=0.
TURNS = int(os.environ.get("SITEMAPS09_STEPS", "20"))


def path(*parts):
    return Concat(Value("/"), *parts, Value("/"), output_field=CharField())


class Twins:
    def __init__(self, folder, using, settings, clock):
        self.folder, self.using, self.settings, self.clock = folder, using, settings, clock
        self.articles, self.attributes, self.keys, self.options = Article.objects.using(using), {}, {}, {}
        clock.time = START

    def section(self):
        hooks = {"lastmod": F("updated"), "priority": F("weight")}
        hooks |= {"location": path(F("category__slug"), Value("/"), F("slug"))}
        return declare(**{"queryset": self.articles.all(), **hooks, **self.attributes})()

    def run(self, after=timedelta(hours=1), *, both_whole=False):
        """Run both exports, and return the report of the one that may skip pages."""
        self.clock.time += after
        found, wanted = [], {"BASE_URL": BASE, "MAX_URLS": PAGE, "ENGINE": "serial", **self.keys}
        # Each override of the setting slows down later accesses, so skip it if the value is the same.
        if getattr(configured, "SITEMAPS09", None) != wanted:
            self.settings.SITEMAPS09 = wanted
        for name, changed_only in (("changed", not both_whole), ("whole", False)):
            options = {"sitemaps": {"a": self.section()}, "changed_only": changed_only, **self.options}
            report = export(output=self.folder / name, **options)
            assert report.failures == []
            found.append(report.sections[0])
        assert found[1].skipped == 0
        return found[0]

    @property
    def same(self):
        return published(self.folder / "changed") == published(self.folder / "whole")

    def settled(self):
        self.run()
        report = self.run()
        assert (report.skipped, len(report.files), self.same) == (PAGES, PAGES, True)


@pytest.fixture
def twins(snapshot_using, settings, clock, tmp_path):
    categories = [CategoryFactory(using=snapshot_using, slug=slug) for slug in ("red", "blue")]
    Article.objects.using(snapshot_using).bulk_create(
        Article(pk=10 * number, slug=f"a{number}", category=categories[number % 2],
                updated=OLD + timedelta(days=number % 7, hours=number), weight="0.5")
        for number in range(1, ROWS + 1)
    )  # fmt: skip
    yield Twins(tmp_path, snapshot_using, settings, clock)
    set_script_prefix("/")


def add(twins, pk, updated=OLD):
    category = Category.objects.using(twins.using).earliest("pk")
    twins.articles.create(pk=pk, slug=f"new{pk}", category=category, updated=updated, weight="0.5")


def some(twins, *pks):
    return twins.articles.filter(pk__in=pks)


class Chance:
    def __init__(self, twins, seed):
        self.twins, self.random = twins, random.Random(seed)  # noqa: S311
        self.choice, self.below = self.random.choice, self.random.randrange

    def keys(self, count=1):
        found = [*self.twins.articles.order_by("pk").values_list("pk", flat=True)]
        start = self.below(max(1, len(found) - count))
        return found[start : start + count]

    def rows(self, count=1):
        return some(self.twins, *self.keys(count))

    def slug(self):
        return self.choice(["a", "A", "é", "a ", "a/b", "'", "\\", "&", ""]) + str(self.below(10**6))

    def free(self):
        taken = {*self.twins.articles.values_list("pk", flat=True)}
        return self.choice([key for key in range(1, 2_000) if key not in taken])

    def category(self):
        return self.choice(Category.objects.using(self.twins.using).order_by("pk"))

    def swap(self, *names, pks=None):
        """Swap columns of two rows, so that the sums of the columns do not change."""
        one, other = self.twins.articles.filter(pk__in=pks or self.random.sample(self.keys(60), 2))
        for row, values in ((one, other), (other, one)):
            some(self.twins, row.pk).update(**{name: getattr(values, name) for name in names})

    def rename_category(self):
        chosen = Category.objects.using(self.twins.using).filter(pk=self.category().pk)
        chosen.update(slug=f"c{self.below(10**6)}")

    def insert_behind(self):
        last = self.twins.articles.latest("pk").pk
        for key in range(last + 1, last + 1 + self.below(1, 25)):
            add(self.twins, key)

    def newer(self):
        ago = timedelta(minutes=self.choice([-900, 0, 5, 9, 11, 59]))
        self.rows().update(updated=self.twins.clock.time - ago, slug=self.slug())


def insert(by, *pks, updated=OLD):
    for pk in pks:
        some(by.twins, pk) or add(by.twins, pk, updated)


def one_for_another(by):
    """Change the rows of a page, but not their number and not their newest lastmod."""
    if some(by.twins, 210).delete()[0]:
        insert(by, 211)


def other_relation(by):
    found = [*some(by.twins, *range(310, 410, 10)).order_by("pk")]
    other = [row for row in found if row.category_id != found[0].category_id]
    if other:
        some(by.twins, found[0].pk).update(category_id=other[0].category_id)


def exchange(by, *names):
    """Swap columns of two rows of a page that differ in all of them, so that no sum of the page changes."""
    for one, other in combinations([*some(by.twins, *range(110, 210, 10)).order_by("pk")], 2):
        if all(getattr(one, name) != getattr(other, name) for name in names):
            by.swap(*names, pks=[one.pk, other.pk])
            return


#: Changes of rows, many of which neither the count nor the newest lastmod shows.
STEPS = {
    "nothing": lambda by: None,
    "insert": lambda by: add(by.twins, by.free(), by.choice([None, OLD, by.twins.clock.time])),
    "insert one committed late": lambda by: insert(by, 335, updated=OLD - timedelta(days=99)),
    "insert one of the future": lambda by: insert(by, 336, updated=START + timedelta(days=99)),
    "insert behind": Chance.insert_behind,
    "insert before the first": lambda by: some(by.twins, 1) or add(by.twins, 1),
    "insert many in one page": lambda by: insert(by, *range(341, 350)),
    "delete": lambda by: by.rows().delete(),
    "delete a page": lambda by: some(by.twins, *range(310, 410, 10)).delete(),
    "delete most of three pages": lambda by: some(by.twins, *range(320, 600, 10)).delete(),
    "delete a range": lambda by: by.twins.articles.count() > 40 and by.rows(by.below(5, 30)).delete(),
    "delete the last page": lambda by: some(by.twins, *range(910, 1_010, 10)).delete(),
    "one for another in its page": one_for_another,
    "a column": lambda by: by.rows().update(slug=by.slug()),
    "a column of many": lambda by: by.rows(by.below(2, 40)).update(weight=by.choice([None, "0.1", "0.9"])),
    "a column of all": lambda by: by.twins.articles.update(weight=by.choice(["0.3", "0.4"])),
    "a joined column": Chance.rename_category,
    "a relation": other_relation,
    "slugs swapped in a page": lambda by: exchange(by, "slug"),
    "slugs and relations swapped in a page": lambda by: exchange(by, "slug", "category_id"),
    "lastmods swapped in a page": lambda by: exchange(by, "updated"),
    "slugs and relations swapped": lambda by: by.swap("slug", "category_id"),
    "upper case": lambda by: some(by.twins, 330).update(slug="A33"),
    "a space at the end": lambda by: some(by.twins, 330).update(slug="a33 "),
    "an older lastmod": lambda by: by.rows().update(updated=OLD - timedelta(days=by.below(900))),
    "a newer lastmod": Chance.newer,
    "no lastmod": lambda by: by.rows(by.choice([1, 12])).update(updated=None),
    "a part of a second": lambda by: by.rows().update(
        updated=OLD + timedelta(microseconds=by.below(10**6))
    ),
    "a key within its page": lambda by: some(by.twins, 331) or some(by.twins, 330).update(id=331),
    "a key": lambda by: by.rows().update(id=by.free()),
}


def declared(**attributes):
    return lambda by: by.twins.attributes.update(attributes)


def keys(**given):
    return lambda by: by.twins.keys.update(given)


def rows(filtered):
    return lambda by: by.twins.attributes.update(queryset=filtered(by.twins.articles))


#: Everything except rows that determines the bytes of pages.
DECLARED = {
    "a constant": declared(changefreq="weekly"),
    "another expression": declared(location=path(Value("x/"), F("slug"))),
    "a method": declared(location=lambda sitemap, item: f"/method/{item.slug}/"),
    "languages": declared(i18n=True, alternates=True, limit=9, location=Route("article", slug=F("slug"))),
    "a filter": rows(lambda articles: articles.filter(pk__lt=555)),
    "a filter of nearly as many": rows(lambda articles: articles.exclude(pk=330)),
    "a lower limit of the class": declared(limit=7),
    "lower MAX_URLS": keys(MAX_URLS=6),
    "higher MAX_URLS": keys(MAX_URLS=30),
    "lower MAX_BYTES": keys(MAX_BYTES=900),
    "no gzip": keys(GZIP=False),
    "another codec": keys(GZIP_LEVEL=9),
    "a stylesheet": keys(STYLESHEET=True),
    "rebalance": lambda by: by.twins.options.update(rebalance=True),
    "a method for the rows": lambda by: by.twins.attributes.update(
        queryset=None, get_queryset=lambda sitemap: by.twins.articles.filter(pk__gt=100)
    ),
}
#: What is declared is compared without the database, so that one server stands for both.
CHANGES = [
    pytest.param(alias, name, marks=found.marks, id=f"{name}-{found.id}")
    for alias, found in ((alias, parameter(alias, transaction=alias != "default")) for alias in ALIASES)
    for name in (STEPS if alias in MYSQLS else STEPS | DECLARED)
]


@pytest.mark.parametrize(("snapshot_using", "name"), CHANGES, indirect=["snapshot_using"])
def test_the_files_are_those_of_a_full_run_after_any_change(twins, name):
    twins.settled()
    before = [*twins.articles.order_by("pk").values()]
    (STEPS | DECLARED)[name](Chance(twins, name))
    # A joined column is one of categories.
    is_of_rows = name in STEPS and name not in ("nothing", "a joined column")
    assert (before != [*twins.articles.order_by("pk").values()]) == is_of_rows
    for _ in range(2):
        twins.run()
        assert twins.same


@pytest.mark.timeout(max(120, TURNS * 10))
def test_the_files_are_those_of_a_full_run_after_random_changes(twins):
    seed = int(os.environ.get("SITEMAPS09_SEED") or random.randrange(10**9))  # noqa: S311
    print(f"SITEMAPS09_SEED={seed}")  # noqa: T201
    twins.keys["MAX_SHRINK"] = 1.0
    twins.run()
    by, done, skipped = Chance(twins, seed), [], 0
    for number in range(TURNS):
        done.append(by.random.choices([*STEPS], k=by.choice([1, 1, 2, 3])))
        for name in done[-1]:
            STEPS[name](by)
        skipped += twins.run(timedelta(minutes=by.choice([1, 8, 60, 60]))).skipped
        assert twins.same, f"SITEMAPS09_SEED={seed}, step {number}: {done[-3:]}"
    assert skipped > TURNS


def test_the_files_are_those_of_a_full_run_under_another_prefix(twins):
    twins.attributes["location"] = Route("article", slug=F("slug"))
    twins.settled()
    set_script_prefix("/shop/")
    assert (twins.run().skipped, twins.same) == (0, True)
    assert b"/shop/" in published(twins.folder / "changed")["sitemap-a-1.xml.gz"]


def test_rows_of_the_last_ten_minutes_are_read_again(twins):
    """A long transaction can commit rows that are older than those already read."""
    twins.settled()
    seen = twins.clock.time - timedelta(minutes=1)
    some(twins, 330).update(updated=seen)
    assert twins.run(timedelta()).skipped == PAGES - 1
    # Count and newest lastmod are unchanged, but the change is detected.
    some(twins, 340).update(slug="late", updated=seen - timedelta(minutes=3))
    assert (twins.run(timedelta(minutes=5)).skipped, twins.same) == (PAGES - 1, True)
    assert b"late" in published(twins.folder / "changed")["sitemap-a-4.xml.gz"]
    # Once it is older than that, it is read for the last time.
    twins.run(timedelta(minutes=60))
    assert twins.run(timedelta(minutes=1)).skipped == PAGES


def test_rows_of_the_future_are_read_until_they_are_past(twins):
    twins.settled()
    some(twins, 330).update(updated=twins.clock.time + timedelta(days=2))
    twins.run()
    for _ in range(2):
        some(twins, 340).update(slug=Concat(F("slug"), Value("x")))
        assert (twins.run().skipped, twins.same) == (PAGES - 1, True)
    twins.run(timedelta(days=3))
    assert twins.run().skipped == PAGES


def test_a_row_that_is_committed_late_is_seen_though_its_page_was_exported_when_its_rows_were_young(twins):
    """Its lastmod is not newer than another one on its page."""
    twins.settled()
    young = twins.clock.time + timedelta(hours=1) - timedelta(seconds=60)
    some(twins, 10).update(updated=young)
    twins.run()
    some(twins, 20).update(updated=young - timedelta(seconds=1), slug="late")
    twins.run(timedelta(hours=30))
    found, expected = (published(twins.folder / name) for name in ("changed", "whole"))
    assert found | {"sitemap.xml": b""} == expected | {"sitemap.xml": b""}
    assert b"/late" in b"".join(found.values())


def test_pages_that_are_skipped_are_not_read_and_in_the_report_with_their_numbers(twins):
    first = twins.run()
    twins.settled()
    report = twins.run()
    files = [[(file.name, file.urls, file.digest) for file in run.files] for run in (report, first)]
    assert files[0] == files[1]
    assert (report.urls, report.skipped, report.unchanged, report.written) == (ROWS, PAGES, PAGES, 0)
    counts = []
    for changed_only in (True, False):
        with CaptureQueriesContext(connections[twins.using]) as captured:
            sitemaps = {"a": twins.section()}
            report = export(output=twins.folder / "changed", sitemaps=sitemaps, changed_only=changed_only)
        assert report.sections[0].skipped == (PAGES if changed_only else 0)
        counts.append(sum("tests_article" in query["sql"] for query in captured))
    fewer, more = counts
    # They are for a sample of rows, the type of the key, the fingerprint of a page, and those of the
    # rest. SQLite has no hash function, so it returns the columns of each page.
    assert (more > PAGES, fewer) == (True, more if connections[twins.using].vendor == "sqlite" else 4)


def test_all_pages_are_skipped_after_a_full_run_if_hashes_are_cheap(twins):
    is_cheap = connections[twins.using].vendor == "sqlite"
    twins.run(both_whole=True)
    assert twins.run().skipped == (PAGES if is_cheap else 0)
    some(twins, 340).update(slug="other")
    twins.run(both_whole=True)
    # Pages that a full run did not change keep their fingerprints.
    assert (twins.run().skipped, twins.same) == (PAGES - (not is_cheap), True)


def test_no_page_is_skipped_if_all_rows_changed_and_two_pages_are_compared(twins):
    twins.settled()
    twins.articles.update(slug=Concat(F("slug"), Value("x")))
    with CaptureQueriesContext(connections[twins.using]) as captured:
        report = twins.run()
    hashed = "+(" if connections[twins.using].vendor == "sqlite" else "SUM("
    compared = [query for query in captured if hashed in query["sql"] and "LIMIT" not in query["sql"]]
    assert (report.skipped, report.written, len(compared), twins.same) == (0, PAGES, 2, True)


@pytest.mark.parametrize("harm", [
    lambda file: file.unlink(), lambda file: file.write_bytes(file.read_bytes()[:-9]),
    lambda file: file.write_bytes(file.read_bytes() + b"more"), None,
], ids=["gone", "cut", "longer", "other rows"])  # fmt: skip
def test_a_page_that_changed_or_was_damaged_is_written_and_others_are_skipped(twins, harm):
    twins.settled()
    if harm:
        harm(twins.folder / "changed" / "sitemap-a-4.xml.gz")
    else:
        add(twins, 335, START + timedelta(minutes=90))
        some(twins, 340).delete()
    report = twins.run()
    assert (report.skipped, report.written, twins.same) == (PAGES - 1, 1, True)


def test_no_page_is_skipped_if_another_version_hashed_rows_in_another_way(twins):
    twins.settled()
    state = twins.folder / "changed" / ".sitemaps09"
    found, pages = manifest.read(LocalStore(state)), []
    for page in found.sections["a"].pages:
        hash = page.fingerprint.hash
        other = hash[::-1] if isinstance(hash, str) else HASHES - 1 - hash
        pages.append(replace(page, fingerprint=page.fingerprint._replace(hash=other)))
    document = manifest.section_document(replace(found.sections["a"], pages=tuple(pages)))
    file = manifest.section_file("a", document)
    (state / file).write_bytes(document)
    (state / manifest.ROOT).write_bytes(replace(found, files={"a": file}).root())
    report = twins.run()
    assert (report.skipped, report.unchanged, report.written) == (0, PAGES, 0)
    assert twins.run().skipped == PAGES


@pytest.mark.parametrize(
    "attributes",
    [{"location": lambda sitemap, item: f"/{item.slug}/"}, {"lastmod": lambda sitemap, item: item.updated},
     *({"lastmod": lastmod} for lastmod in (None, OLD, F("slug")))],
    ids=["location", "lastmod", "none", "constant", "text"],
)  # fmt: skip
def test_no_page_is_skipped_if_a_hook_takes_the_item_or_a_time_is_missing(twins, attributes):
    twins.attributes |= attributes
    for _ in range(3):
        assert (twins.run().skipped, twins.same) == (0, True)


@pytest.mark.sitemaps09(MAX_URLS=PAGE, ENGINE="serial")
def test_no_page_is_skipped_of_a_section_without_rows(tmp_path):
    for _ in range(2):
        section = listing(range(25), lastmod=OLD)
        assert export(output=tmp_path, sitemaps={"a": section}, changed_only=True).sections[0].skipped == 0


def test_skipped_items_are_reported_each_time(twins):
    twins.settled()
    some(twins, 10).update(slug="x" * 119)
    parts = (Value("/" + "y" * 200) for _ in range(10))
    twins.attributes["location"] = path(F("category__slug"), *parts, F("slug"))
    for _ in range(3):
        report = twins.run()
        assert report.skipped_items == 1
    assert (report.skipped, len(report.files)) == (PAGES - 1, PAGES)


@contextmanager
def aliases_of_articles():
    """Yield a set that has the aliases that were queried for articles after the block."""
    captured = {alias: CaptureQueriesContext(connections[alias]) for alias in ("default", "replica")}
    found = set()
    with captured["default"], captured["replica"]:
        yield found
    found |= {a for a, queries in captured.items() if any("tests_article" in q["sql"] for q in queries)}


SECTIONS = {}


class InThisProcess:
    """An engine that renders in this process like workers, and records aliases of tasks and queries."""

    recorded = []

    def __init__(self, workers):
        self.workers = workers

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def submit(self, renderer, task):
        with aliases_of_articles() as queried:
            rendered = render_page(renderer, task)
        self.recorded.append((task.using, queried))
        return lambda: rendered


@pytest.mark.parametrize("snapshot_using", [parameter("default")], indirect=True)
def test_rows_of_replicas_are_read_from_one_of_them_in_a_run_also_by_workers(twins, replica, monkeypatch):
    """With a fingerprint from one replica and rows from another, a page could stay outdated forever."""
    twins.attributes["queryset"] = Article.objects.all()
    keys = {"BASE_URL": BASE, "MAX_URLS": PAGE}
    twins.settings.SITEMAPS09 = keys | {"ENGINE": "serial"}
    for _ in range(4):
        with aliases_of_articles() as queried:
            export(output=twins.folder / "changed", sitemaps={"a": twins.section()}, changed_only=True)
        assert len(queried) == 1
    monkeypatch.setitem(SECTIONS, "a", twins.section())
    monkeypatch.setattr("django_sitemaps09.export.engines._unseen_rows", lambda: None)
    names = {"SITEMAPS": f"{__name__}.SECTIONS", "ENGINE": f"{__name__}.InThisProcess"}
    twins.settings.SITEMAPS09 = keys | names
    InThisProcess.recorded.clear()
    assert export(output=twins.folder / "workers", changed_only=True).failures == []
    [(using, _), *_] = InThisProcess.recorded
    assert InThisProcess.recorded == [(using, {using})] * PAGES


LIMIT = 12
CODES = ["en", "de", "pt-br"]
#: Which of 400 items have a URL.
LISTED = {
    "one of ten": lambda number: number % 10 == 3, "one of a hundred": lambda number: number % 100 == 42,
    "none in the middle": lambda number: not 50 <= number < 350,
    "few at the beginning": lambda number: number >= 200 or number % 40 == 0,
    "few at the end": lambda number: number < 205 or number % 40 == 0,
    "only the last": lambda number: number == 399,
    "ever fewer": lambda number: number % (number // 25 + 1) == 0,
    "at random": lambda number: number * 7_919 % 101 < 30, "all but a few": lambda number: number % 50 != 7,
}  # fmt: skip


COLUMNS = {"location": F("slug"), "lastmod": F("updated")}
#: Items without a URL in most languages have one entry, and the others three.
LANGUAGES = {
    "i18n": True, "languages": CODES,
    "get_languages_for_item": lambda self, item: CODES if item.slug[0] == "/" else ["en"],
    "location": lambda self, item: f"/{get_language()}/{item.pk}/",
}  # fmt: skip
#: Hooks, and whether they are exported with `--changed-only`. What a method skips does not depend on the
#: database, and a full export reads what the other one does.
KINDS = {
    "columns, changed only": (COLUMNS, True), "columns": (COLUMNS, False),
    "methods": ({"location": lambda self, item: item.slug}, False), "languages": (LANGUAGES, True),
}  # fmt: skip
PARAMETERS = [pytest.param(alias, kind, marks=parameter(alias).marks, id=f"{parameter(alias).id}-{kind}")
              for alias in ALIASES
              for kind in (KINDS if alias == "default" else ["columns, changed only"])]  # fmt: skip


@pytest.mark.usefixtures("cached_site")
@pytest.mark.sitemaps09(ENGINE="serial", GZIP=False)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("using", "kind"), PARAMETERS, indirect=["using"])
@pytest.mark.parametrize("name", LISTED)
def test_a_second_export_of_a_section_that_skips_many_items_writes_nothing(name, kind, using, folder):
    is_listed, (hooks, changed_only), rows = LISTED[name], KINDS[kind], Article.objects.using(using)
    slugs = (f"/{number}/" if is_listed(number) else f"no#{number}" for number in range(400))
    rows.bulk_create(Article(pk=key, slug=slug) for key, slug in enumerate(slugs, 1))
    section = declare(queryset=rows.all(), limit=LIMIT, **hooks)

    def run():
        return export(sitemaps={"s": section}, output=folder, changed_only=changed_only)

    [first] = run().sections
    # Items without most languages are listed. Others are counted once, however often a page is rendered.
    most, least = (3, 1) if hooks is LANGUAGES else (1, 0)
    counts = [most if is_listed(number) else least for number in range(400)]
    assert (first.failure, first.skipped_items, run().written) == (None, counts.count(0), ())
    found = [url for page in listed_pages(folder) for url in urls(folder, page)]
    assert len(found) == len({*found}) == sum(counts)
    assert len(listed_pages(folder)) <= 2 * -(-sum(counts) // LIMIT) + 2
    # Items that get their URL now, and items that lose it, are listed and removed by one run.
    rows.filter(pk__in=range(100, 140)).update(slug="no#")
    for number in range(300, 320):
        rows.filter(pk=number).update(slug=f"/new-{number}/")
    assert not run().failures
    assert run().written == ()
    assert all(0 < len(urls(folder, page)) <= LIMIT for page in listed_pages(folder))
