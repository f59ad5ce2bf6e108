"""Stable pages: each key is on one page, within limits, whatever happens to the rows; few files change."""

from __future__ import annotations

import gzip
import random
import string
import uuid
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from django.db import connection
from django.db.models import F, Value
from django.db.models.functions import Concat
from django.utils.encoding import iri_to_uri
from hypothesis import HealthCheck, given, settings as limits_of, strategies as st

from django_sitemaps09.export import export
from tests.models import Article, Child, Document, Parent, Seat, Word
from tests.support import published as looked_at
from tests.support.configuration import BASE, EXAMPLES
from tests.support.internals import SectionRecord, keys, manifest as manifests, stores
from tests.support.sections import declare

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

LETTERS = string.ascii_letters + string.digits + "äöé-_"
INDEX = "sitemap.xml"


class Kind(NamedTuple):
    """A kind of key: how a key is drawn, the columns of a row, whose `end` may change, and its location."""

    model: Any
    keys: st.SearchStrategy
    columns: Callable
    location: Callable


NUMBERS = Kind(
    Article, st.integers(-500, 500), lambda key, end: {"slug": f"{key}{end}"},
    lambda _, item: f"/{item.slug}/",
)  # fmt: skip
RANDOM = Kind(
    Document, st.uuids(), lambda key, end: {"number": len(end)},
    lambda _, item: f"/{item.pk}/{'x' * item.number}/",
)  # fmt: skip
PAIRS = Kind(
    Seat, st.tuples(st.sampled_from(["A", "B", "BB", "a", "é"]), st.integers(-5, 40)), lambda key, end: {},
    lambda _, item: f"/{item.row}/{item.number}/",
)  # fmt: skip
TEXTS = Kind(
    Word, st.text(LETTERS, min_size=1, max_size=8), lambda key, end: {}, lambda _, item: f"/{item.word}/"
)


class Site:
    def __init__(self, folder, settings, kind, urls, size=1_000_000):
        self.folder, self.settings, self.kind, self.limits = folder, settings, kind, (urls, size)
        #: The existing keys, each with the end of its URL.
        self.rows = {}
        self.used, self.states, self.objects = set(), {}, kind.model.objects
        self.section = declare(queryset=self.objects.all(), location=kind.location)

    def add(self, keys, end=""):
        fresh = {key: end for key in keys if key not in self.rows}
        self.rows |= fresh
        self.objects.bulk_create(map(self.row, fresh))

    def row(self, key):
        return self.kind.model(pk=key, **self.kind.columns(key, self.rows[key]))

    def remove(self, keys):
        for key in keys:
            if self.rows.pop(key, None) is not None:
                self.objects.filter(pk=key).delete()

    def change(self, keys, end):
        """Change the URLs that do not depend only on the key."""
        for key in keys:
            if key in self.rows and (columns := self.kind.columns(key, end)):
                self.rows[key] = end
                self.objects.filter(pk=key).update(**columns)

    def url(self, key):
        return iri_to_uri(f"{BASE}{self.kind.location(None, self.row(key))}")

    def export(self, folder, **options):
        urls, size = self.limits
        limits = {"MAX_URLS": urls, "MAX_BYTES": size, "MAX_SHRINK": 1.0}
        self.settings.SITEMAPS09 = {"BASE_URL": BASE, "ENGINE": "serial", **limits}
        report = export(output=folder, sitemaps={"a": self.section}, **options)
        assert report.failures == [], report.failures
        return report

    def run(self, **options):
        """Export, check all invariants, and return the names of the files that changed."""
        earlier, names = self.pages(), self.names()
        closed = {url for name in names[:-1] for url in self.held(name)}
        report = self.export(self.folder, **options)
        if self.rows:
            # The last index stays, because an index must list at least one page.
            self.check({page.number for page in earlier})
        # The pages in the previous index still contain every URL that was and is listed.
        lost = closed & {*map(self.url, self.rows)} - {url for name in names for url in self.held(name)}
        assert not lost, f"a crawl that spans the run misses {sorted(lost)[:3]} of {len(lost)}"
        states, before = looked_at.states(self.folder), self.states
        changed, self.states = {name for name in states if states[name] != before.get(name)}, states
        # Unchanged content is not written again.
        assert all(states[name][2] != before[name][2] for name in changed & before.keys())
        assert changed == set(report.written)
        return changed

    def record(self):
        manifest = manifests.read(stores.state_store(stores.target_store(self.folder)))
        return SectionRecord() if manifest is None else manifest.sections["a"]

    def pages(self):
        return self.record().pages

    def names(self):
        return [page.name for page in self.pages()]

    def held(self, name):
        return looked_at.urls(self.folder, name)

    def page_of(self, key):
        (name,) = [name for name in self.names() if self.url(key) in self.held(name)]
        return name

    def check(self, earlier):
        pages, (urls, size) = self.pages(), self.limits
        assert looked_at.pages(self.folder) == self.names()
        for page in pages:
            content = gzip.decompress((self.folder / page.name).read_bytes())
            assert 0 < len(self.held(page.name)) <= urls
            assert len(content) <= size
            assert (page.urls, page.bytes) == (len(self.held(page.name)), len(content))
        urls = [url for name in self.names() for url in self.held(name)]
        assert sorted(urls) == sorted(map(self.url, self.rows))
        # Pages are in key order, and the last one has no upper bound.
        assert [page.after for page in pages] == [None, *(page.until for page in pages[:-1])]
        assert pages[-1].until is None
        numbers = {page.number for page in pages}
        assert (numbers - earlier).isdisjoint(self.used), "a number is used again"
        assert self.record().highest >= max(numbers)
        self.used |= numbers

    def assert_rests(self):
        """Check that a run without changes writes nothing, and that there are not too many pages."""
        assert self.run() == set()
        if self.rows:
            with looked_at.quick_folder() as folder:
                ideal = len(self.export(folder).sections[0].files)
            assert len(self.pages()) <= 2 * ideal + 2


#: One run: where deletion starts, how many rows are deleted, and changed ends of URLs.
STEPS = st.tuples(st.integers(0, 1_000), st.integers(0, 25), st.integers(0, 3))


@pytest.mark.parametrize("kind", [NUMBERS, RANDOM, PAIRS, TEXTS], ids=["ints", "random", "pairs", "texts"])
@pytest.mark.parametrize(("urls", "size"), [(7, 100_000), (1_000, 1_400)], ids=["urls", "bytes"])
@limits_of(
    max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(data=st.data())
def test_any_changes_leave_every_key_on_one_page_within_the_limits(data, settings, kind, urls, size):
    kind.model.objects.all().delete()
    with looked_at.quick_folder() as folder:
        site = Site(folder, settings, kind, urls, size)
        for step in range(data.draw(st.integers(1, 6), label="runs")):
            if site.rows:
                ordered = sorted(site.rows)
                where, gone, change = data.draw(STEPS, label=f"step {step}")
                start = where % len(ordered)
                site.remove(ordered[start : start + gone])
                site.change(sorted(site.rows)[start : start + change], "-" + "n" * (step + 1))
            site.add(data.draw(st.lists(kind.keys, max_size=40, unique=True), label="new"))
            site.run()
            site.assert_rests()


#: The number of consecutive exports, which the time grows with the square of.
TURNS = max(25, EXAMPLES)


def random_keys(chance, count):
    return [uuid.UUID(int=chance.getrandbits(128), version=4) for _ in range(count)]


def test_random_keys_do_not_multiply_pages_and_only_pages_with_new_rows_are_written(folder, settings):
    chance = random.Random(9)  # noqa: S311
    site = Site(folder, settings, RANDOM, 50)
    for turn in range(TURNS):
        before = {page.number for page in site.pages()}
        # First many rows are added, later only a few, so most pages get none.
        fresh = random_keys(chance, 300 if turn < 4 else 6)
        site.add(fresh)
        changed = site.run()
        if turn < 4:
            continue
        touched = {int(name.split("-")[2].split(".")[0]) for name in changed - {INDEX}}
        urls = {*map(site.url, fresh)}
        got = {page.number for page in site.pages() if urls & {*site.held(page.name)}}
        # A split writes both parts, and each merge writes one page.
        assert len(touched - got) <= len(touched - before) + 4, (turn, touched, got)
        assert len(touched) <= 6 + 6 + 4
    assert len(site.rows) == 4 * 300 + (TURNS - 4) * 6
    site.assert_rests()
    assert len(site.pages()) < 2 * len(site.rows) / 50 + 2


def test_random_keys_do_not_multiply_pages_if_every_page_gets_rows(folder, settings):
    chance = random.Random(10)  # noqa: S311
    site, most = Site(folder, settings, RANDOM, 50), 0.0
    for _ in range(TURNS):
        site.add(random_keys(chance, 60))
        site.run()
        most = max(most, len(site.pages()) / (len(site.rows) / 50))
    site.assert_rests()
    # After halving, pages are between half full and full, in any order.
    assert most < 2.3


def numbered(*numbers):
    return {f"sitemap-a-{number}.xml.gz" for number in numbers}


@pytest.fixture
def site(folder, settings):
    made = Site(folder, settings, NUMBERS, 10)
    made.add(range(10, 1_010, 10))
    assert made.run() == {INDEX, *numbered(*range(1, 11))}
    return made


def test_a_page_merged_with_an_empty_one_is_not_rewritten(site):
    site.remove(range(140, 210, 10))
    assert site.run() == {INDEX, *numbered(2)}
    site.remove(range(210, 310, 10))
    assert (site.run(), [page.number for page in site.pages()]) == ({INDEX}, [1, 2, *range(4, 11)])
    # Rows between two pages belong to the later page.
    site.remove([320])
    site.add([250])
    behind = site.page_of(310)
    assert (site.run(), site.page_of(250)) == ({behind, INDEX}, behind)
    site.assert_rests()


@pytest.mark.parametrize("key", [10, 100, 110, 500, 1_000])
@pytest.mark.parametrize("is_deleted", [False, True], ids=["changed", "deleted"])
def test_a_row_that_changes_rewrites_its_page_and_the_index(site, key, is_deleted):
    page = site.page_of(key)
    if is_deleted:
        site.remove([key])
    else:
        site.change([key], "-another")
    assert (site.run(), site.run()) == ({page, INDEX}, set())


def test_appended_rows_only_change_the_last_page_and_add_new_ones(site):
    *closed, last = site.names()
    site.remove([1_000])
    assert site.run() == {last, INDEX}
    site.add(range(2_000, 2_250, 10))
    changed = site.run()
    assert last in changed
    assert changed.isdisjoint(closed)
    fresh = changed - {last, INDEX}
    assert fresh == numbered(*range(11, 11 + len(fresh)))


def test_a_page_that_overflows_is_halved_and_its_file_stays_for_crawlers_with_an_older_index(site):
    page = site.page_of(510)
    before = site.states[page]
    site.add([511])
    assert site.run() == {INDEX, *numbered(11, 12)}
    assert sorted(len(site.held(name)) for name in numbered(11, 12)) == [5, 6]
    assert (site.states[page], site.run()) == (before, set())
    # A page far over the limit becomes several pages.
    page, names = site.page_of(210), {*site.names()}
    site.add(range(211, 260))
    assert site.run().isdisjoint(names)
    assert ({*site.names()} >= names - {page}, page in site.names()) == (True, False)
    site.assert_rests()


def test_limits_and_rebalancing_write_pages_only_where_they_must(site):
    site.limits = 11, 1_000_000
    assert site.run() == set()
    site.limits = 10, 1_000_000
    old = {name: site.states[name] for name in site.names()}
    assert site.run(rebalance=True) == {INDEX, *numbered(*range(11, 21))}
    # Each previous file is kept for a while.
    assert (site.states.items() >= old.items(), site.run()) == (True, set())
    # A lower limit only splits pages above it. What remains here does not fit with half of the next page.
    site.remove(range(310, 350, 10))
    site.run()
    small, site.limits = site.page_of(400), (8, 1_000_000)
    assert (small in site.run(), small in site.names()) == (False, True)
    site.assert_rests()


def test_another_key_divides_all_pages_and_keeps_the_old_files(folder, settings):
    settings.SITEMAPS09 = {"BASE_URL": BASE, "MAX_URLS": 10, "ENGINE": "serial"}
    for number in range(1, 36):
        Child.objects.create(pk=number, name=f"n{number}")

    def run(model):
        section = declare(queryset=model.objects.all(), location=Concat(Value("/"), F("name"), Value("/")))
        assert export(output=folder, sitemaps={"a": section}).failures == []
        return looked_at.pages(folder)

    assert run(Parent) == [f"sitemap-a-{n}.xml.gz" for n in (1, 2, 3, 4)]
    kept = {name: state for name, state in looked_at.states(folder).items() if name != INDEX}
    for _ in range(2):
        assert run(Child) == [f"sitemap-a-{n}.xml.gz" for n in (5, 6, 7, 8)]
        assert looked_at.states(folder).items() >= kept.items()
    assert manifests.read(stores.state_store(stores.target_store(folder))).removed.keys() == kept.keys()


def test_another_collation_divides_all_pages(folder, settings, monkeypatch):
    site = Site(folder, settings, TEXTS, 10)
    site.add([f"{letter}{n}" for letter in "aBcD" for n in range(10)])
    site.run()
    numbers = [page.number for page in site.pages()]
    other = keys.StoredColumn("NOCASE", "%s COLLATE NOCASE")
    monkeypatch.setitem(keys._STORED, "sqlite", lambda connection, field: other)
    site.export(folder)
    assert {page.number for page in site.pages()}.isdisjoint(numbers)


def test_rows_deleted_while_their_page_is_divided_move_no_row_of_the_next_page(site):
    """The bound of the first part is looked for among fewer rows than were counted."""
    site.add(range(101, 110))
    gone = [*range(101, 110), 110, 120]

    def execute(run, statement, *arguments):
        # The rows have been counted, and the key at the bound is queried.
        if "OFFSET" in statement:
            site.remove(gone)
            gone.clear()
        return run(statement, *arguments)

    with connection.execute_wrapper(execute):
        site.run()
    assert not gone
    site.assert_rests()
