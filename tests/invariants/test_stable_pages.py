"""Stable pages: each key is on one page, within limits, whatever happens to the rows; few files change."""

from __future__ import annotations

import gzip
import random
import string
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.db.models import F, Value
from django.db.models.functions import Concat
from django.utils.encoding import iri_to_uri
from hypothesis import HealthCheck, given, settings, strategies as st

from django_sitemaps09 import ModelSitemap, stores
from django_sitemaps09.export import export
from django_sitemaps09.state import manifest as manifests
from django_sitemaps09.state.manifest import PageFile, SectionRecord
from tests.models import Article, Child, Document, Parent, Seat, Word
from tests.support import published as looked_at
from tests.support.configuration import BASE
from tests.support.examples import EXAMPLES
from tests.support.factories import ChildFactory

LETTERS = string.ascii_letters + string.digits + "äöé-_"

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


class Kind(NamedTuple):
    """A kind of key, and how rows are created and listed. The `end` of a URL may change."""

    model: Any
    #: The strategy that draws a key.
    keys: st.SearchStrategy[Any]
    #: The columns besides the key that a row has for its end.
    columns: Callable[[Any, str], dict[str, Any]]
    path: Callable[[Any, str], str]
    location: Callable[[Any], str]


NUMBERS = Kind(
    Article,
    st.integers(-500, 500),
    lambda key, end: {"slug": f"{key}{end}"},
    lambda key, end: f"/{key}{end}/",
    lambda item: f"/{item.slug}/",
)
RANDOM = Kind(
    Document,
    st.uuids(),
    lambda key, end: {"number": len(end)},
    lambda key, end: f"/{key}/{'x' * len(end)}/",
    lambda item: f"/{item.pk}/{'x' * item.number}/",
)
PAIRS = Kind(
    Seat,
    st.tuples(st.sampled_from(["A", "B", "BB", "a", "é"]), st.integers(-5, 40)),
    lambda key, end: {},
    lambda key, end: f"/{key[0]}/{key[1]}/",
    lambda item: f"/{item.row}/{item.number}/",
)
TEXTS = Kind(
    Word,
    st.text(LETTERS, min_size=1, max_size=8),
    lambda key, end: {},
    lambda key, end: f"/{key}/",
    lambda item: f"/{item.word}/",
)


class Rows:
    """The rows of a kind, which are created, changed and deleted by key."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        #: The existing keys, each with the end of its URL.
        self.rows: dict[Any, str] = {}

    def add(self, keys: Sequence[Any], end: str) -> None:
        fresh = {key: end for key in keys if key not in self.rows}
        self.rows |= fresh
        model, columns = self.kind.model, self.kind.columns
        model.objects.bulk_create(model(pk=key, **columns(key, end)) for key in fresh)

    def remove(self, keys: Sequence[Any]) -> None:
        for key in keys:
            if self.rows.pop(key, None) is not None:
                self.kind.model.objects.filter(pk=key).delete()

    def change(self, keys: Sequence[Any], end: str) -> None:
        """Change the URLs that do not depend only on the key."""
        for key in keys:
            if key in self.rows and (columns := self.kind.columns(key, end)):
                self.rows[key] = end
                self.kind.model.objects.filter(pk=key).update(**columns)

    def path(self, key: Any) -> str:
        return self.kind.path(key, self.rows[key])

    def urls(self) -> list[str]:
        return sorted(iri_to_uri(f"{BASE}{self.path(key)}") for key in self.rows)

    def section(self) -> Any:
        declared = {
            "queryset": self.kind.model.objects.all(),
            "location": lambda sitemap, item: self.kind.location(item),
        }
        return type("Rows", (ModelSitemap,), declared)()


class Site:
    """An export to a folder, checked after each run."""

    def __init__(self, folder: Path, rows: Rows, django: Any, urls: int, size: int) -> None:
        self.folder, self.rows, self.django = folder, rows, django
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
        report = export(output=self.folder, sitemaps={"a": self.rows.section()}, engine="serial", **options)
        assert report.failures == [], report.failures
        self.check(earlier)
        # The pages in the previous index still contain every URL that was and is listed.
        found = {url for name in names for url in looked_at.urls(self.folder, name)}
        lost = closed & {*self.rows.urls()} - found
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

    def pages(self) -> tuple[PageFile, ...]:
        return self.section().pages

    def names(self) -> list[str]:
        return [page.name for page in self.pages()]

    def check(self, earlier: Sequence[PageFile]) -> None:
        if not self.rows.rows:
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
        assert sorted(found) == self.rows.urls()
        # Pages are in key order, and the last one has no upper bound.
        pages = self.pages()
        assert [page.after for page in pages] == [None, *(page.until for page in pages[:-1])]
        assert pages[-1].until is None
        numbers = {page.number for page in self.pages()}
        fresh = numbers - {page.number for page in earlier}
        assert fresh.isdisjoint(self.used), "a number is used again"
        assert self.section().highest >= max(numbers)
        self.used |= numbers

    def assert_rests(self) -> None:
        """Check that a run without changes writes nothing, and that there are not too many pages."""
        assert not self.run()
        if self.rows.rows:
            assert len(self.pages()) <= 2 * self.ideal() + 2

    def ideal(self) -> int:
        """Return the pages of a new division."""
        with looked_at.quick_folder() as folder:
            report = export(output=folder, sitemaps={"a": self.rows.section()}, engine="serial")
            return len(report.sections[0].files)


@pytest.fixture
def folder() -> Iterator[Path]:
    with looked_at.quick_folder() as made:
        yield made


#: One run: new keys, where deletion starts, how many rows are deleted, and changed ends of URLs.
STEPS = st.tuples(st.integers(0, 30), st.integers(0, 1_000), st.integers(0, 25), st.integers(0, 3))


class TestAnySequenceOfChanges:
    @pytest.mark.parametrize(
        "kind", [NUMBERS, RANDOM, PAIRS, TEXTS], ids=["numbers", "random", "pairs", "texts"]
    )
    @pytest.mark.parametrize(("urls", "size"), [(7, 100_000), (1_000, 1_400)], ids=["urls", "bytes"])
    @settings(
        max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
    )
    @given(data=st.data())
    def test_leaves_every_key_on_one_page_within_the_limits(
        self, data: st.DataObject, django_settings_: Any, kind: Any, urls: int, size: int
    ) -> None:
        rows = Rows(kind)
        kind.model.objects.all().delete()
        with looked_at.quick_folder() as folder:
            site = Site(folder, rows, django_settings_, urls, size)
            for step in range(data.draw(st.integers(1, 6), label="runs")):
                if site.rows.rows:
                    ordered = sorted(rows.rows)
                    _, where, gone, change = data.draw(STEPS, label=f"step {step}")
                    start = where % len(ordered)
                    rows.remove(ordered[start : start + gone])
                    rows.change(sorted(rows.rows)[start : start + change], "-" + "n" * (step + 1))
                rows.add(data.draw(st.lists(kind.keys, max_size=40, unique=True), label="new"), "")
                site.run()
                site.assert_rests()

    @pytest.fixture
    def django_settings_(self, settings: Any) -> Any:
        return settings


#: The number of consecutive exports, which the time grows with the square of.
TURNS = max(25, EXAMPLES)


class TestRandomKeys:
    def test_do_not_multiply_pages_and_only_pages_with_new_rows_are_written(
        self, folder: Path, settings: Any
    ) -> None:
        chance = random.Random(9)  # noqa: S311
        rows = Rows(RANDOM)
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
        site.assert_rests()
        assert len(site.pages()) < 2 * len(rows.rows) / 50 + 2

    @staticmethod
    def held(folder: Path, number: int) -> Sequence[str]:
        return looked_at.urls(folder, f"sitemap-a-{number}.xml.gz")

    def test_do_not_multiply_pages_if_every_page_gets_rows(self, folder: Path, settings: Any) -> None:
        chance = random.Random(10)  # noqa: S311
        rows = Rows(RANDOM)
        site = Site(folder, rows, settings, 50, 1_000_000)
        most = 0.0
        for _ in range(TURNS):
            rows.add([uuid.UUID(int=chance.getrandbits(128), version=4) for _ in range(60)], "")
            site.run()
            most = max(most, len(site.pages()) / (len(rows.rows) / 50))
        site.assert_rests()
        # After halving, pages are between half full and full, in any order.
        assert most < 2.3


class TestWhatChanges:
    """Only files whose content has changed are written."""

    @pytest.fixture
    def site(self, folder: Path, settings: Any) -> Site:
        rows = Rows(NUMBERS)
        rows.add(range(10, 1_010, 10), "")
        site = Site(folder, rows, settings, 10, 1_000_000)
        assert len(site.run()) == 11
        return site

    def test_a_page_merged_with_an_empty_one_is_not_rewritten(self, site: Site) -> None:
        site.rows.remove(range(140, 210, 10))
        assert len(site.run()) == 2
        site.rows.remove(range(210, 310, 10))
        assert site.run() == {"sitemap.xml"}
        assert [page.number for page in site.pages()] == [1, 2, *range(4, 11)]
        assert site.run() == set()

    def page_of(self, site: Site, key: int) -> str:
        """Return the file that contains a row."""
        url = f"{BASE}{site.rows.path(key)}"
        (name,) = [name for name in site.names() if url in looked_at.urls(site.folder, name)]
        return name

    @pytest.mark.parametrize("key", [10, 100, 110, 500, 1_000])
    @pytest.mark.parametrize("is_deleted", [False, True], ids=["changed", "deleted"])
    def test_a_row_that_changes_rewrites_its_page_and_the_index(
        self, site: Site, key: int, is_deleted: bool
    ) -> None:
        page = self.page_of(site, key)
        if is_deleted:
            site.rows.remove([key])
        else:
            site.rows.change([key], "-another")
        assert site.run() == {page, "sitemap.xml"}
        assert site.run() == set()

    def test_an_empty_page_only_rewrites_the_index(self, site: Site) -> None:
        page = self.page_of(site, 210)
        site.rows.remove(range(210, 310, 10))
        assert site.run() == {"sitemap.xml"}
        assert page not in site.names()
        # Rows between two pages belong to the later page.
        site.rows.remove([320])
        site.rows.add([250], "")
        behind = self.page_of(site, 310)
        assert site.run() == {behind, "sitemap.xml"}
        assert self.page_of(site, 250) == behind

    def test_appended_rows_only_change_the_last_page_and_add_new_ones(self, site: Site) -> None:
        closed = set(site.names()[:-1])
        last = site.names()[-1]
        site.rows.remove([1_000])
        assert site.run() == {last, "sitemap.xml"}
        site.rows.add(range(2_000, 2_250, 10), "")
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
        site.rows.add([511], "")
        fresh = ["sitemap-a-11.xml.gz", "sitemap-a-12.xml.gz"]
        assert site.run() == {*fresh, "sitemap.xml"}
        assert sorted(len(looked_at.urls(site.folder, name)) for name in fresh) == [5, 6]
        assert site.states[page] == before
        assert site.run() == set()

    def test_a_page_far_over_the_limit_becomes_several_pages(self, site: Site) -> None:
        page = self.page_of(site, 510)
        others = set(site.names()) - {page}
        site.rows.add(range(511, 560), "")
        changed = site.run()
        assert changed.isdisjoint({*others, page})
        assert page not in site.names()
        site.assert_rests()

    def test_rebalancing_writes_all_pages_under_new_numbers(self, site: Site) -> None:
        old = {name: site.states[name] for name in site.names()}
        assert site.run(rebalance=True) == {f"sitemap-a-{n}.xml.gz" for n in range(11, 21)} | {
            "sitemap.xml"
        }
        # Each previous file is kept for a while.
        assert site.states.items() >= old.items()
        assert site.run() == set()

    def test_a_lower_limit_only_splits_pages_above_it(self, site: Site) -> None:
        # What remains does not fit together with a half of the next page.
        site.rows.remove(range(310, 350, 10))
        site.run()
        small = self.page_of(site, 400)
        site.limits = 8, 1_000_000
        changed = site.run()
        assert small not in changed
        assert small in site.names()
        assert all(page.urls <= 8 for page in site.pages())
        site.assert_rests()

    def test_a_higher_limit_changes_no_page(self, site: Site) -> None:
        site.limits = 11, 1_000_000
        assert site.run() == set()

    def test_another_key_divides_all_pages_and_keeps_the_old_files(
        self, folder: Path, settings: Any
    ) -> None:
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

    def test_another_collation_divides_all_pages(
        self, folder: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from django_sitemaps09.sources import keys

        rows = Rows(TEXTS)
        rows.add([f"{letter}{n}" for letter in "aBcD" for n in range(10)], "")
        site = Site(folder, rows, settings, 10, 1_000_000)
        site.run()
        numbers = [page.number for page in site.pages()]
        other = keys.StoredColumn("NOCASE", "%s COLLATE NOCASE")
        monkeypatch.setitem(keys._STORED, "sqlite", lambda connection, field: other)
        section = site.rows.section()
        export(output=folder, sitemaps={"a": section}, engine="serial")
        assert {page.number for page in site.pages()}.isdisjoint(numbers)
