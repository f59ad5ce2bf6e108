"""The overview of the inspector: its figures come from the manifest, the history and cached listings."""

from __future__ import annotations

import gzip
from datetime import date, timedelta
from xml.etree import ElementTree

import pytest
from django.core.cache import caches
from django.core.cache.backends.locmem import LocMemCache
from django.db import connection
from django.template.defaultfilters import filesizeformat
from django.template.loader import render_to_string
from django.test import override_settings
from django.test.utils import CaptureQueriesContext
from hypothesis import given, strategies as st

from django_sitemaps09 import Sitemap
from django_sitemaps09.export import export, export_hosts
from django_sitemaps09.inspector.overview import LABELS, freshness, overview, problems
from django_sitemaps09.inspector.tables import plot, sections_table
from django_sitemaps09.protocol import parse_base
from django_sitemaps09.state import manifest
from django_sitemaps09.state.journal import Journal, write_journal
from django_sitemaps09.state.manifest import PageFile
from django_sitemaps09.stores import STATE, LocalStore
from django_sitemaps09.views import caching
from tests.models import Article
from tests.support.articles import Articles
from tests.support.configuration import BASE
from tests.support.exports import Bad, Failing
from tests.support.factories import ArticleFactory
from tests.support.inspector import site, superuser
from tests.support.sections import Numbers, declare

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09(ENGINE="serial")]


def seen(base_url=BASE):
    return overview(parse_base(base_url))


def live(name):
    """Return the listing of a section that the overview shows."""
    [found] = [section for section in seen().status.sections if section.section == name]
    return found.live


@pytest.fixture(autouse=True)
def exporting(folder, configure):
    configure(ROOT=folder, MAX_URLS=20)


@pytest.fixture
def articles():
    for number in range(1, 26):
        ArticleFactory(pk=number, slug=f"s{number}", dated=True)


@pytest.mark.usefixtures("articles")
class TestASection:
    def test_has_the_figures_of_the_manifest(self, register, folder):
        register(articles=Articles, numbers=Numbers(3))
        export()
        state = seen()
        files = [path.read_bytes() for path in folder.glob("sitemap-articles-*")]
        cells, _ = sections_table(state).rows
        assert cells[0].lines == ["tests.support.articles.Articles"]
        largest, total = max(len(gzip.decompress(file)) for file in files), sum(map(len, files))
        sizes = [filesizeformat(largest), filesizeformat(total)]
        assert [cell.text for cell in cells[1:6]] == ["25", "3", "10", *sizes]
        # The limit of the section is 10 URLs.
        assert (cells[3].meter, cells[7].time is None) == (100, False)
        assert (cells[6].time or cells[6].text) == Article.objects.latest("updated").updated
        assert (state.freshness["articles"].total(), state.freshness["numbers"]) == (3, {"no lastmod": 1})

    def test_has_its_listing_also_while_the_cache_fails(self, register, client, monkeypatch):
        calls = []

        def failing(key, *_):
            calls.append(key)
            raise OSError("the cache is away")

        register(articles=Articles)
        assert live("articles") is None
        count = client.get("/sitemap.xml").content.count(b"<sitemap>")
        assert (len(live("articles").pages), sections_table(seen()).rows[0][8].text) == (count, str(count))
        monkeypatch.setattr(caching.default, "paused_until", 0.0)
        monkeypatch.setattr(caching.default, "fallback", LocMemCache("of one test", {}))
        caching.default.fallback.clear()
        for name in ("get", "get_many"):
            monkeypatch.setattr(caches["default"], name, failing)
        client.get("/sitemap.xml")
        seen()
        calls.clear()
        # This process has built the map again, and asks the cache no more for now.
        assert (live("articles") is None, calls) == (False, [])

    @pytest.mark.parametrize("is_exported", [False, True])
    def test_runs_no_query_on_rows(self, register, is_exported):
        """Not even of a section whose `items()` is a list of all rows, or whose rows an export counts."""
        lazy = declare(Sitemap, items=lambda self: list(Article.objects.all()))
        positions = declare(Articles, items=lambda self: Article.objects.order_by("-pk")[:7])
        register(articles=Articles, all=lazy, positions=positions, numbers=Bad(9, [1]))
        if is_exported:
            export()
        with CaptureQueriesContext(connection) as queries:
            assert len(seen().status.sections) == 4
        assert [query["sql"] for query in queries] == []

    def test_has_the_limit_that_it_declares(self, register, configure):
        register(few=declare(Numbers, limit=2)(4), many=Numbers(4))
        export()
        assert [section.limit for section in seen().status.sections] == [2, 20]

        def meters():
            return [(*row[3].lines, row[3].meter) for row in sections_table(seen()).rows]

        assert meters() == [("100% of the limit", 100), ("20% of the limit", 20)]
        configure(MAX_URLS=1)
        assert meters() == [("200% of the limit", 100), ("400% of the limit", 100)]


class TestTheExport:
    def test_can_be_missing_or_unreadable(self, register, folder):
        register(numbers=Numbers(3))
        state = seen()
        assert (state.status.export.run, state.status.export.error, state.runs) == (None, None, [])
        export()
        (folder / STATE / "manifest.json").write_bytes(b"{")
        state = seen()
        assert "cannot be read" in str(state.status.export.error)
        assert (state.status.sections[0].record, len(state.runs)) == (None, 1)

    def test_that_failed_at_first_is_shown_by_its_own_host_alone(self, register):
        register(numbers=Failing(9, 0))
        assert export_hosts(["https://b.example"])["https://b.example"].failures
        register(numbers=Numbers(3))
        export(base_url="https://a.example")
        runs = {
            host: [bool(run.failures) for run in seen(f"https://{host}.example").runs] for host in "abc"
        }
        assert runs == {"a": [False], "b": [True], "c": []}

    def test_counts_the_files_that_are_kept(self, register):
        numbers = declare(Numbers, limit=10)(40)
        register(numbers=numbers)
        export()
        numbers.numbers = range(30)
        export()
        with site(admin=True):
            assert b"<dd>1, kept for crawlers" in superuser().get("/admin/sitemaps/").content

    def test_has_the_skipped_items_of_the_last_run_that_rendered_all_pages(self, register):
        def skipped(section):
            register(numbers=section)
            export()
            return {(str(error.key), error.field) for _, error in seen().skipped}

        skipped(Bad(9, [1, 2]))
        assert skipped(Bad(9, [2])) == {("3", "location"), ("4", "priority")}
        assert {key for key, _ in skipped(Failing(9, 0))} >= {"3", "4"}
        assert skipped(Numbers(9)) == set()


def test_problems_are_said_in_words_with_the_part_that_shows_them(register, folder):
    register(bad=Numbers(3), gone=Numbers(3))
    for _ in range(2):
        assert [*problems(seen())] == []
        export()
    register(bad=Bad(10, [3]), gone=Numbers(3))
    export()
    register(bad=Failing(10, 3))
    export()
    found = dict(problems(seen()))
    assert "Section 'gone': not declared any more" in found["sections"]
    assert found["runs"].startswith("The last recorded export had failures: Section 'bad': ")
    assert found["skipped"] == "Items and elements that the last exports have skipped: 2."
    state = LocalStore(folder / STATE)
    root = (state.folder / manifest.ROOT).read_text()
    write_journal(state, Journal("run-1", (), root, (), (), ()))
    assert "was killed while publishing" in next(problems(seen()))[1]
    (state.folder / manifest.ROOT).write_text("{")
    assert next(problems(seen()))[1].startswith("The export cannot be read: ")


TODAY = date(2026, 11, 23)


def page(newest):
    return PageFile("sitemap-a-1.xml.gz", 1, None, None, 10, 100, 50, lastmod=newest)


@pytest.mark.parametrize(
    ("label", "times"),
    [
        ("within 1 day", ["2026-11-23", "2026-11-22T00:00:00Z", "2031-01-01"]),
        ("within 7 days", ["2026-11-21T23:59:59+01:00", "2026-11-16"]),
        *(
            ("within 30 days", ["2026-11-15"]),
            ("within 90 days", ["2026-10-01"]),
            ("within 1 year", ["2026-01"]),
        ),
        *(("older", ["2024"]), ("no lastmod", [None, "<script>", ""])),
    ],
)
def test_a_page_has_the_age_of_its_newest_lastmod(label, times):
    assert [freshness([page(newest)], TODAY) for newest in times] == [{label: 1}] * len(times)


@given(st.lists(st.integers(0, 3_000)))
def test_every_page_is_counted_once(days):
    pages = [page((TODAY - timedelta(days=number)).isoformat()) for number in days]
    assert freshness(pages, TODAY).total() == len(days)


@given(st.dictionaries(st.sampled_from(LABELS), st.integers(1, 10**7), min_size=1), st.booleans())
def test_bars_and_numbers_are_inside_the_plot(counts, separates):
    with override_settings(USE_THOUSAND_SEPARATOR=separates):
        drawn = render_to_string("django_sitemaps09/inspector/plot.html", {"plot": plot(counts)}).strip()
    document = ElementTree.fromstring(drawn)  # noqa: S314
    _, _, full_width, full_height = map(int, document.attrib["viewBox"].split())
    texts, widths = document.findall("text"), {}
    labels, numbers = texts[::2], texts[1::2]
    assert [label.text for label in labels] == list(LABELS)
    bars = {int(bar.attrib["y"]): bar.attrib for bar in document.findall("rect")}
    assert len(bars) == len(counts)
    for label, number in zip(labels, numbers, strict=True):
        name, text, baseline = label.text, number.text, int(label.attrib["y"])
        assert (text, number.attrib["y"]) == (f"{counts.get(name, 0):,}", label.attrib["y"])
        # A digit is at most 8 units wide.
        assert int(number.attrib["x"]) <= full_width - min(50, 5 * len(text))
        if name in counts:
            bar = bars[baseline - 13]
            widths[name] = int(bar["width"])
            assert 0 < int(bar["x"]) + widths[name] < int(number.attrib["x"])
            assert baseline < int(bar["y"]) + int(bar["height"]) <= full_height
            assert bar["class"] == ("unknown" if name == LABELS[-1] else "")
    assert sorted(widths, key=counts.__getitem__) == sorted(widths, key=lambda n: (widths[n], counts[n]))
    assert document[1].text.startswith(f"{sum(counts.values()):,} pages")
