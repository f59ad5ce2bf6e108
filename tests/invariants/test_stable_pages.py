"""Stable pages: each key is on one page, within limits, whatever happens to the rows; few files change."""

from __future__ import annotations

import gzip
import random
import string
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from django.db import connection
from django.db.models import F, Value
from django.db.models.functions import Concat
from django.utils.encoding import iri_to_uri
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from django_sitemaps09 import ModelSitemap, stores
from django_sitemaps09 import manifest as manifests
from django_sitemaps09.export import export
from django_sitemaps09.manifest import PageRecord, SectionRecord
from tests.support import published as looked_at
from tests.support.configuration import BASE
from tests.support.examples import THOROUGH
from tests.support.factories import ChildFactory

LETTERS = string.ascii_letters + string.digits + "äöé-_"

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


class Kind:
    """Rows with one kind of key: functions that create and delete rows by key, and a section."""

    #: The strategy that draws a key.
    keys: ClassVar[st.SearchStrategy[Any]]

    def __init__(self) -> None:
        #: The existing keys, each with the end of its URL.
        self.rows: dict[Any, str] = {}

    def add(self, keys: Sequence[Any], end: str) -> None:
        fresh = {key: end for key in keys if key not in self.rows}
        self.rows |= fresh
        self.model().objects.bulk_create(self.row(key, end) for key in fresh)

    def remove(self, keys: Sequence[Any]) -> None:
        for key in keys:
            if self.rows.pop(key, None) is not None:
                self.find(key).delete()

    def change(self, keys: Sequence[Any], end: str) -> None:
        """Change a URL that does not depend only on the key."""

    def find(self, key: Any) -> Any:
        return self.model().objects.filter(pk=key)

    def model(self) -> Any:
        raise NotImplementedError

    def row(self, key: Any, end: str) -> Any:
        raise NotImplementedError

    def path(self, key: Any, end: str) -> str:
        raise NotImplementedError

    def location(self, item: Any) -> str:
        raise NotImplementedError

    def urls(self) -> list[str]:
        return sorted(iri_to_uri(f"{BASE}{self.path(*row)}") for row in self.rows.items())

    def section(self, **attributes: Any) -> Any:
        declared = {
            "queryset": self.model().objects.all(),
            "location": lambda sitemap, item: self.location(item),
            **attributes,
        }
        return type("Rows", (ModelSitemap,), declared)()


class Numbers(Kind):
    keys = st.integers(-500, 500)

    def model(self) -> Any:
        from tests.models import Article

        return Article

    def row(self, key: int, end: str) -> Any:
        return self.model()(pk=key, slug=f"{key}{end}")

    def change(self, keys: Sequence[Any], end: str) -> None:
        for key in keys:
            if key in self.rows:
                self.rows[key] = end
                self.find(key).update(slug=f"{key}{end}")

    def path(self, key: int, end: str) -> str:
        return f"/{key}{end}/"

    def location(self, item: Any) -> str:
        return f"/{item.slug}/"


class Random(Kind):
    keys = st.uuids()

    def model(self) -> Any:
        from tests.models import Document

        return Document

    def row(self, key: Any, end: str) -> Any:
        return self.model()(pk=key, number=len(end))

    def change(self, keys: Sequence[Any], end: str) -> None:
        for key in keys:
            if key in self.rows:
                self.rows[key] = end
                self.find(key).update(number=len(end))

    def path(self, key: Any, end: str) -> str:
        return f"/{key}/{'x' * len(end)}/"

    def location(self, item: Any) -> str:
        return f"/{item.pk}/{'x' * item.number}/"


class Pairs(Kind):
    keys = st.tuples(st.sampled_from(["A", "B", "BB", "a", "é"]), st.integers(-5, 40))

    def model(self) -> Any:
        from tests.models import Seat

        return Seat

    def row(self, key: Any, end: str) -> Any:
        return self.model()(row=key[0], number=key[1])

    def path(self, key: Any, end: str) -> str:
        return f"/{key[0]}/{key[1]}/"

    def location(self, item: Any) -> str:
        return f"/{item.row}/{item.number}/"


class Texts(Kind):
    keys = st.text(LETTERS, min_size=1, max_size=8)

    def model(self) -> Any:
        from tests.models import Word

        return Word

    def row(self, key: Any, end: str) -> Any:
        return self.model()(word=key)

    def path(self, key: Any, end: str) -> str:
        return f"/{key}/"

    def location(self, item: Any) -> str:
        return f"/{item.word}/"


class Site:
    """An export to a folder, checked after each run."""

    def __init__(self, folder: Path, kind: Kind, django: Any, urls: int, size: int) -> None:
        self.folder, self.kind, self.django = folder, kind, django
        self.limits = urls, size
        self.used: set[int] = set()
        self.states: dict[str, tuple[int, int, bytes]] = {}

    def run(self, **options: Any) -> Any:
        """Export, check all invariants, and return the names of the files that changed."""
        urls, size = self.limits
        self.django.SITEMAPS09 = {"BASE_URL": BASE, "MAX_URLS": urls, "MAX_BYTES": size, "MAX_SHRINK": 1.0}
        earlier = self.pages()
        names = self.names()
        closed = {url for name in names[:-1] for url in looked_at.urls(self.folder, name)}
        report = export(output=self.folder, sitemaps={"a": self.kind.section()}, engine="serial", **options)
        assert report.failures == [], report.failures
        self.check(earlier)
        # The pages in the previous index still contain every URL that was and is listed.
        found = {url for name in names for url in looked_at.urls(self.folder, name)}
        lost = closed & {*self.kind.urls()} - found
        assert not lost, f"a crawl that spans the run misses {sorted(lost)[:3]} of {len(lost)}"
        states = looked_at.states(self.folder)
        changed = {name for name in states if states[name] != self.states.get(name)}
        before, self.states = self.states, states
        # Unchanged content is not written again.
        for name in changed & before.keys():
            assert states[name][2] != before[name][2], name
        assert changed == set(report.written)
        return changed

    def section(self) -> SectionRecord:
        manifest = manifests.read(stores.state_store(stores.target_store(self.folder)))
        return SectionRecord() if manifest is None else manifest.sections["a"]

    def pages(self) -> tuple[PageRecord, ...]:
        return self.section().pages

    def names(self) -> list[str]:
        return [f"sitemap-a-{page.number}.xml.gz" for page in self.pages()]

    def check(self, earlier: Sequence[PageRecord]) -> None:
        if not self.kind.rows:
            # The last index stays, because an index must list at least one page.
            return
        urls, size = self.limits
        assert looked_at.pages(self.folder) == self.names()
        found: list[str] = []
        for name, page in zip(self.names(), self.pages(), strict=True):
            content = gzip.decompress((self.folder / name).read_bytes())
            held = looked_at.urls(self.folder, name)
            assert 0 < len(held) <= urls
            assert len(content) <= size
            assert (page.urls, page.bytes) == (len(held), len(content))
            found += held
        assert sorted(found) == self.kind.urls()
        # Pages are in key order, and the last one has no upper bound.
        pages = self.section().page_map().pages
        assert [page.after for page in pages] == [None, *(page.until for page in pages[:-1])]
        assert pages[-1].until is None
        numbers = {page.number for page in self.pages()}
        fresh = numbers - {page.number for page in earlier}
        assert fresh.isdisjoint(self.used), "a number is used again"
        assert self.section().highest >= max(numbers)
        self.used |= numbers

    def settle(self) -> None:
        """Run without changes until no pages are merged any more."""
        for _ in range(30):
            if not self.run():
                break
        else:
            raise AssertionError("it never comes to rest")
        if self.kind.rows:
            assert len(self.pages()) <= 2 * self.ideal() + 2

    def ideal(self) -> int:
        """Return the pages of a new division."""
        with looked_at.quick_folder() as folder:
            report = export(output=folder, sitemaps={"a": self.kind.section()}, engine="serial")
            return len(report.sections[0].files)


@pytest.fixture
def folder() -> Iterator[Path]:
    with looked_at.quick_folder() as made:
        yield made


#: One run: new keys, where deletion starts, how many rows are deleted, and changed ends of URLs.
STEPS = st.tuples(st.integers(0, 30), st.integers(0, 1_000), st.integers(0, 25), st.integers(0, 3))


class TestAnySequenceOfChanges:
    @pytest.mark.parametrize("kind", [Numbers, Random, Pairs, Texts])
    @pytest.mark.parametrize(("urls", "size"), [(7, 100_000), (1_000, 1_400)], ids=["urls", "bytes"])
    @settings(
        max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
    )
    @given(data=st.data())
    def test_leaves_pages_that_hold_all_keys_once_and_are_neither_full_nor_empty_nor_too_many(
        self, data: st.DataObject, django_settings_: Any, kind: Any, urls: int, size: int
    ) -> None:
        rows = kind()
        rows.model().objects.all().delete()
        with looked_at.quick_folder() as folder:
            site = Site(folder, rows, django_settings_, urls, size)
            for step in range(data.draw(st.integers(1, 6), label="runs")):
                if site.kind.rows:
                    ordered = sorted(rows.rows)
                    _, where, gone, change = data.draw(STEPS, label=f"step {step}")
                    start = where % len(ordered)
                    rows.remove(ordered[start : start + gone])
                    rows.change(sorted(rows.rows)[start : start + change], "-" + "n" * (step + 1))
                rows.add(data.draw(st.lists(kind.keys, max_size=40, unique=True), label="new"), "")
                site.run()
            site.settle()

    @pytest.fixture
    def django_settings_(self, settings: Any) -> Any:
        return settings


#: The number of consecutive exports.
TURNS = 60 if THOROUGH else 25


class TestKeysThatAreRandom:
    def test_make_no_swarm_of_pages_and_each_run_writes_only_those_that_got_rows(
        self, folder: Path, settings: Any
    ) -> None:
        chance = random.Random(9)  # noqa: S311
        rows = Random()
        site = Site(folder, rows, settings, 50, 1_000_000)
        for turn in range(TURNS):
            before = {page.number: (page.urls, page.digest) for page in site.pages()}
            # First many rows are added, later only a few, so most pages get none.
            fresh = [
                uuid.UUID(int=chance.getrandbits(128), version=4) for _ in range(300 if turn < 4 else 6)
            ]
            rows.add(fresh, "")
            changed = site.run()
            if turn < 4:
                continue
            touched = {int(n.split("-")[2].split(".")[0]) for n in changed if n != "sitemap.xml"}
            got = {
                page.number
                for page in site.pages()
                if {f"{BASE}/{key}//" for key in fresh} & {*self.held(folder, page.number)}
            }
            # A split writes both parts, and each merge writes one page.
            extra = touched - got
            assert len(extra) <= len(touched - before.keys()) + 4, (turn, touched, got)
            assert len(touched) <= 6 + 6 + 4
        assert len(rows.rows) == 4 * 300 + (TURNS - 4) * 6
        site.settle()
        assert len(site.pages()) < 2 * len(rows.rows) / 50 + 2

    @staticmethod
    def held(folder: Path, number: int) -> Sequence[str]:
        return looked_at.urls(folder, f"sitemap-a-{number}.xml.gz")

    def test_make_no_swarm_if_more_rows_are_added_in_each_run_either(
        self, folder: Path, settings: Any
    ) -> None:
        chance = random.Random(10)  # noqa: S311
        rows = Random()
        site = Site(folder, rows, settings, 50, 1_000_000)
        most = 0.0
        for _ in range(TURNS):
            rows.add([uuid.UUID(int=chance.getrandbits(128), version=4) for _ in range(60)], "")
            site.run()
            most = max(most, len(site.pages()) / (len(rows.rows) / 50))
        site.settle()
        # After halving, pages are between half full and full, in any order.
        assert most < 2.3


class TestWhatChanges:
    """Only files whose content has changed are written."""

    @pytest.fixture
    def site(self, folder: Path, settings: Any) -> Site:
        rows = Numbers()
        rows.add(range(10, 1_010, 10), "")
        site = Site(folder, rows, settings, 10, 1_000_000)
        assert len(site.run()) == 11
        return site

    def test_a_page_that_is_merged_with_one_that_is_empty_by_now_is_as_it_was(self, site: Site) -> None:
        site.kind.remove([*range(140, 210, 10), *range(240, 310, 10)])
        assert len(site.run()) == 3
        site.kind.remove([210, 220, 230])
        assert site.run() == {"sitemap.xml"}
        assert [page.number for page in site.pages()] == [1, 2, *range(4, 11)]
        assert site.run() == set()

    def page_of(self, site: Site, key: int) -> str:
        """Return the file that contains a row."""
        url = f"{BASE}{site.kind.path(key, site.kind.rows[key])}"
        (name,) = [name for name in site.names() if url in looked_at.urls(site.folder, name)]
        return name

    @pytest.mark.parametrize("key", [10, 100, 110, 500, 1_000])
    def test_for_one_row_it_is_its_page_and_the_index(self, site: Site, key: int) -> None:
        page = self.page_of(site, key)
        site.kind.change([key], "-another")
        assert site.run() == {page, "sitemap.xml"}
        assert site.run() == set()

    @pytest.mark.parametrize("key", [10, 100, 110, 500, 1_000])
    def test_for_one_that_is_deleted_too(self, site: Site, key: int) -> None:
        page = self.page_of(site, key)
        site.kind.remove([key])
        assert site.run() == {page, "sitemap.xml"}
        assert site.run() == set()

    def test_for_a_page_without_rows_left_it_is_the_index_alone(self, site: Site) -> None:
        page = self.page_of(site, 210)
        site.kind.remove(range(210, 310, 10))
        assert site.run() == {"sitemap.xml"}
        assert page not in site.names()
        # Rows between two pages belong to the later page.
        site.kind.remove([320])
        site.kind.add([250], "")
        behind = self.page_of(site, 310)
        assert site.run() == {behind, "sitemap.xml"}
        assert self.page_of(site, 250) == behind

    def test_for_appended_rows_is_the_last_page_and_the_pages_after_it(self, site: Site) -> None:
        closed = set(site.names()[:-1])
        last = site.names()[-1]
        site.kind.remove([1_000])
        assert site.run() == {last, "sitemap.xml"}
        site.kind.add(range(2_000, 2_250, 10), "")
        changed = site.run()
        assert last in changed
        assert changed.isdisjoint(closed)
        fresh = changed - {last, "sitemap.xml"}
        assert fresh == {f"sitemap-a-{number}.xml.gz" for number in range(11, 11 + len(fresh))}

    def test_a_page_that_overflows_is_halved_and_its_file_stays_for_crawlers_with_an_older_index(
        self, site: Site
    ) -> None:
        page = self.page_of(site, 510)
        before = site.states[page]
        site.kind.add([511], "")
        fresh = ["sitemap-a-11.xml.gz", "sitemap-a-12.xml.gz"]
        assert site.run() == {*fresh, "sitemap.xml"}
        assert sorted(len(looked_at.urls(site.folder, name)) for name in fresh) == [5, 6]
        assert site.states[page] == before
        assert site.run() == set()

    def test_one_that_overflows_by_far_takes_as_many_as_it_needs(self, site: Site) -> None:
        page = self.page_of(site, 510)
        others = set(site.names()) - {page}
        site.kind.add(range(511, 560), "")
        changed = site.run()
        assert changed.isdisjoint({*others, page})
        assert page not in site.names()
        site.settle()

    def test_rebalanced_it_is_all_of_them_under_numbers_that_were_never_used(self, site: Site) -> None:
        old = {name: site.states[name] for name in site.names()}
        assert site.run(rebalance=True) == {f"sitemap-a-{n}.xml.gz" for n in range(11, 21)} | {
            "sitemap.xml"
        }
        # Each previous file is kept for a while.
        assert site.states.items() >= old.items()
        assert site.run() == set()

    def test_a_lower_limit_splits_what_is_over_it_and_nothing_else(self, site: Site) -> None:
        site.kind.remove(range(310, 380, 10))
        site.run()
        small = self.page_of(site, 400)
        site.limits = 8, 1_000_000
        changed = site.run()
        assert small not in changed
        assert small in site.names()
        assert all(page.urls <= 8 for page in site.pages())
        site.settle()

    def test_a_higher_limit_leaves_them_as_they_are(self, site: Site) -> None:
        site.limits = 11, 1_000_000
        assert site.run() == set()

    def test_without_any_row_the_numbers_are_known_still(self, site: Site) -> None:
        site.kind.remove(range(10, 1_010, 10))
        before = looked_at.states(site.folder)
        site.django.SITEMAPS09 = {"BASE_URL": BASE, "MAX_URLS": 10, "MAX_SHRINK": 1.0}
        export(output=site.folder, sitemaps={"a": site.kind.section()}, engine="serial")
        assert looked_at.states(site.folder) == before
        site.kind.add(range(5, 100, 5), "")
        site.run()

    def test_another_key_cuts_all_of_them_anew_and_keeps_the_old_files(
        self, folder: Path, settings: Any
    ) -> None:
        from tests.models import Child, Parent

        settings.SITEMAPS09 = {"BASE_URL": BASE, "MAX_URLS": 10}
        for number in range(1, 36):
            ChildFactory(pk=number, name=f"n{number}")

        def run(model: Any) -> list[str]:
            section = {
                "queryset": model.objects.all(),
                "location": Concat(Value("/"), F("name"), Value("/")),
            }
            made = type("Rows", (ModelSitemap,), section)()
            assert export(output=folder, sitemaps={"a": made}, engine="serial").failures == []
            return looked_at.pages(folder)

        assert run(Parent) == [f"sitemap-a-{n}.xml.gz" for n in (1, 2, 3, 4)]
        old = looked_at.states(folder)
        assert run(Child) == [f"sitemap-a-{n}.xml.gz" for n in (5, 6, 7, 8)]
        kept = {name: state for name, state in old.items() if name != "sitemap.xml"}
        assert looked_at.states(folder).items() >= kept.items()
        assert run(Child) == [f"sitemap-a-{n}.xml.gz" for n in (5, 6, 7, 8)]
        manifest = manifests.read(stores.state_store(stores.target_store(folder)))
        assert manifest is not None
        assert manifest.removed.keys() == kept.keys()

    def test_another_collation_divides_all_pages_again_too(
        self, folder: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from django_sitemaps09.sources import keys

        rows = Texts()
        rows.add([f"{letter}{n}" for letter in "aBcD" for n in range(10)], "")
        site = Site(folder, rows, settings, 10, 1_000_000)
        site.run()
        numbers = [page.number for page in site.pages()]
        known = keys._COLLATIONS
        other = keys.Collation("NOCASE", "%s COLLATE NOCASE")
        monkeypatch.setattr(keys, "_COLLATIONS", {**known, "sqlite": lambda connection, field: other})
        section = site.kind.section()
        export(output=folder, sitemaps={"a": section}, engine="serial")
        assert {page.number for page in site.pages()}.isdisjoint(numbers)


def test_sixty_thousand_appended_rows_do_not_change_closed_pages(folder: Path, settings: Any) -> None:
    from tests.models import Article

    settings.SITEMAPS09 = {"BASE_URL": BASE}

    def write(start: int, count: int) -> None:
        # Raw SQL takes a hundredth of the time.
        with connection.cursor() as cursor:
            cursor.execute(
                f"INSERT INTO {Article._meta.db_table} (id, slug, published, updated)"  # noqa: S608 not user input
                " WITH RECURSIVE n(i) AS (SELECT %s UNION ALL SELECT i + 1 FROM n WHERE i < %s)"
                " SELECT i, 'a' || i, 1, '2026-01-01 00:00:00' FROM n",
                [start, start + count - 1],
            )

    def run() -> dict[str, tuple[int, int, bytes]]:
        section = {
            "queryset": Article.objects.all(),
            "location": Concat(Value("/"), F("slug"), Value("/")),
            "lastmod": F("updated"),
        }
        sitemaps = {"a": type("Rows", (ModelSitemap,), section)()}
        assert export(output=folder, sitemaps=sitemaps, engine="serial").failures == []
        return looked_at.states(folder)

    write(1, 60_000)
    before = run()
    assert len(looked_at.pages(folder)) == 2
    write(60_001, 60_000)
    after = run()
    assert after["sitemap-a-1.xml.gz"] == before["sitemap-a-1.xml.gz"]
    assert after["sitemap-a-2.xml.gz"] != before["sitemap-a-2.xml.gz"]
    pages = looked_at.pages(folder)
    assert pages == ["sitemap-a-1.xml.gz", "sitemap-a-2.xml.gz", "sitemap-a-3.xml.gz"]
    counts = [len(looked_at.urls(folder, name)) for name in pages]
    assert sum(counts) == 120_000
    assert max(counts) <= 50_000
