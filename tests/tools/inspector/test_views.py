"""The pages of the inspector: who may see them, their figures and problems, and foreign markup."""

from __future__ import annotations

import gzip
import re
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from html.parser import HTMLParser
from urllib.parse import quote
from xml.etree import ElementTree

import pytest
from django.contrib import sitemaps as contrib
from django.core.cache import caches
from django.core.cache.backends.locmem import LocMemCache
from django.core.exceptions import ImproperlyConfigured, PermissionDenied
from django.db import connection
from django.db.models import F
from django.http import HttpResponse
from django.template.defaultfilters import filesizeformat
from django.template.loader import render_to_string
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext
from hypothesis import given, strategies as st

from django_sitemaps09 import Route, Sitemap
from django_sitemaps09.export import export, export_hosts
from django_sitemaps09.tools.audit import AuditReport, Finding
from django_sitemaps09.tools.inspector import PERMISSION, overview, views
from tests.models import Article, Word
from tests.support.articles import Articles
from tests.support.configuration import BASE
from tests.support.exports import Bad, Failing
from tests.support.factories import ArticleFactory
from tests.support.inspector import client_of, export_full_sections, site, superuser
from tests.support.internals import (
    STATE,
    Journal,
    LocalStore,
    PageFile,
    caching,
    manifest,
    parse_base,
    write_journal,
)
from tests.support.sections import Numbers, declare, listing

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09(ENGINE="serial")]


@pytest.fixture(params=["admin", "plain"])
def staff(request):
    """A client that may use the inspector in the admin or without it, and the path of the inspector."""
    with site(admin=request.param == "admin"):
        if request.param == "admin":
            yield superuser(), "/admin/sitemaps/"
        else:
            yield client_of("ann", "shop.view_product", is_staff=True), "/sitemaps/"


PATHS = ["", "url/", "url/?url=/about/", "inspector.css"]
HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>&lt;"
_VOID = {"meta", "link", "input", "br", "img"}


class TestAccess:
    @pytest.mark.parametrize("path", PATHS)
    def test_to_the_admin_is_for_superusers_who_are_staff(self, path):
        url, closed = f"/admin/sitemaps/{path}", "private, no-store"
        with site(admin=True):
            visitor = Client().get(url)
            assert (visitor.status_code, visitor["Cache-Control"]) == (302, closed)
            assert visitor["Location"].startswith("/admin/login/?next=/admin/sitemaps/")
            for name, attributes in (("a", {}), ("b", {"is_staff": True}), ("c", {"is_superuser": True})):
                response = client_of(name, **attributes).get(url)
                assert (response.status_code, b"articles" in response.content) == (403, False)
            client = superuser()
            response = client.get(url)
            assert (response.status_code, response["Cache-Control"]) == (200, closed)
            assert (client.head(url).status_code, client.post(url).status_code) == (200, 405)

    @pytest.mark.parametrize("path", PATHS)
    def test_without_the_admin_needs_the_permission_of_the_urlconf(self, path):
        url = f"/sitemaps/{path}"
        with site(admin=False):
            visitor = Client().get(url)
            assert (visitor.status_code, visitor["Location"][:24]) == (302, "/log-in/?next=/sitemaps/")
            allowed = [
                client_of("ann", is_staff=True), client_of("bob", "shop.view_product"),
                client_of("cleo", "shop.view_product", is_staff=True),
            ]  # fmt: skip
            assert [client.get(url).status_code for client in allowed] == [403, 403, 200]

    def test_is_by_the_login_of_the_admin_even_if_all_views_require_a_login(self, settings):
        with site(admin=True):
            login = "django.contrib.auth.middleware.LoginRequiredMiddleware"
            with override_settings(MIDDLEWARE=[*settings.MIDDLEWARE, login]):
                location = Client().get("/admin/sitemaps/")["Location"]
            assert location == "/admin/login/?next=/admin/sitemaps/"
            # An admin that is not included is not used.
            with override_settings(ROOT_URLCONF="tests.support.inspector"):
                assert Client().get("/sitemaps/")["Location"].startswith("/log-in/")
                assert b"sitemaps09-standalone" in superuser().get("/sitemaps/").content

    @pytest.mark.parametrize("has_permissions", [None, False, True])
    def test_is_for_active_users_of_a_model_with_permissions(self, rf, has_permissions):
        """The second user has no permissions, and the third one is inactive."""
        attributes = {"is_authenticated": True}
        if has_permissions is not None:
            attributes |= {"is_staff": True, "is_active": not has_permissions}
        if has_permissions:
            attributes["has_perm"] = lambda self, perm, obj=None: perm == PERMISSION
        request = rf.get("/")
        request.user = type("Staff", (), attributes)()
        with pytest.raises(PermissionDenied):
            views.for_staff(lambda request: HttpResponse())(request)

    def test_to_a_project_without_users_is_a_helpful_error(self, rf):
        with pytest.raises(ImproperlyConfigured, match="AuthenticationMiddleware"):
            views.for_staff(lambda request: HttpResponse())(rf.get("/"))


class Page(HTMLParser):
    """Reader of a page: its elements with their attributes, and its text."""

    def __init__(self, content):
        super().__init__(convert_charrefs=True)
        self.elements, self.open, self.text = [], [], ""
        self.feed(content)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in _VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data

    def attributes(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def page(client, path, status=200):
    """Return a page, whose structure must be valid, without scripts and styles inside."""
    response = client.get(path)
    assert response.status_code == status
    read = Page(response.text)
    assert (read.open, read.attributes("style"), read.attributes("img")) == ([], [], [])
    # Only the scripts of the admin, which are files.
    assert all((found["src"] or "").startswith("/static/admin/") for found in read.attributes("script"))
    names = {name for _, found in read.elements for name in found}
    assert [name for name in names if name.startswith("on") or name == "style"] == []
    ids = [found["id"] for _, found in read.elements if "id" in found]
    assert len({*ids}) == len(ids)
    labels = [name for _, found in read.elements for name in (found.get("aria-labelledby") or "").split()]
    assert {*labels, *(found.get("for") for found in read.attributes("label"))} <= {*ids}
    assert all(found.get("scope") in ("col", "row") for found in read.attributes("th"))
    return read


@pytest.fixture
def articles():
    for number in range(1, 26):
        ArticleFactory(pk=number, slug=f"s{number}", dated=True)


@pytest.fixture
def exported(folder, register, configure, articles):
    configure(ROOT=folder)
    register(articles=Articles, numbers=Bad(9, [2]))
    export()


@pytest.mark.usefixtures("exported")
class TestThePages:
    def test_have_the_expected_structure(self, staff, register):
        client, root = staff
        with CaptureQueriesContext(connection) as queries:
            read = page(client, root)
        # There are no queries on rows.
        assert not any("tests_" in query["sql"] for query in queries)
        assert len(queries) <= 6
        shown = ("tests.support.articles.Articles", "Freshness", "25 URLs (+25)", "No audit is recorded.")
        assert [text for text in shown if text not in read.text] == []
        [form] = [found for found in read.attributes("form") if found.get("role") == "search"]
        assert (form["method"], form["action"]) == ("get", f"{root}url/")
        [sheet] = [found for found in read.attributes("link") if found["href"] == f"{root}inspector.css"]
        response = client.get(sheet["href"])
        assert response["Content-Type"] == "text/css; charset=utf-8"
        assert not any(text in response.content for text in (b"@import", b"url("))
        # Each label is used once, and a full page has no color.
        content = client.get(root).text
        labels = re.findall(r"<dt>(.*?)</dt>|<th [^>]*scope=\"col\"[^>]*>(.*?)</th>", content)
        assert [first or second for first, second in labels].count("Last change") == 1
        assert ("<meter" in content, " high=" in content) == (True, False)
        # Problems are named at the top, with links.
        register(another=Numbers(1))
        content = client.get(root).text
        assert content.index("Problems</h2>") < content.index("Export</h2>")
        text = r'href="#(sitemaps09-[a-z]+)">Sections &#x27;articles&#x27;, [^<]*: not declared'
        [target] = re.findall(text, content)
        assert f'id="{target}"' in content

    def test_answer_for_a_url(self, staff):
        client, root = staff
        Article.objects.filter(pk=5).update(published=False)
        entry = f"<url><loc>{BASE}/articles/s3/</loc>"
        for path, text in (
            *(("", "Enter a path"), ("?url=%20", "Enter a path"), ("?url=/articles/s5/", "until the next")),
            *(("?url=/articles/s3/", "In the sitemap"), ("?url=/articles/s3/", entry)),
        ):
            assert text in page(client, f"{root}url/{path}").text
        read = page(client, f"{root}url/?url=/articles/s3/")
        assert re.search(r"Exported\s*Now\s*lastmod\s*(\d\S+)\s*\1\s*changefreq", read.text)
        links = [found["href"] for found in read.attributes("a")]
        assert "https://www.example.com/sitemap-articles-1.xml.gz" in links

    @pytest.mark.parametrize(
        "text", [HOSTILE, f"/{HOSTILE}", f"https://{HOSTILE}/", "javascript:alert(1)", "\x00\ud7ff", "%00"]
    )
    def test_escape_the_url_that_is_looked_up(self, staff, text):
        client, root = staff
        read = page(client, f"{root}url/?url={quote(text)}")
        [field] = [found for found in read.attributes("input") if found.get("name") == "url"]
        assert field["value"] == text
        assert not any((found["href"] or "").startswith("javascript:") for found in read.attributes("a"))

    def test_truncate_a_url_that_is_too_long(self, staff):
        client, root = staff
        response = client.get(f"{root}url/", {"url": f"/{'a' * 100_000}"})
        assert b"Not a URL that a sitemap can contain" in response.content
        assert len(response.content) < 30_000


class TestHostileContent:
    """Everything that a project or its data can choose is escaped."""

    def test_of_sections_is_text(self, staff, folder, register, configure):
        def broken():
            raise RuntimeError(HOSTILE)

        named = declare(Articles)
        named.__qualname__ = HOSTILE
        hooks = {"location": lambda self, item: item, "lastmod": lambda self, item: HOSTILE}
        hostile = listing(["/fine/", HOSTILE], contrib.Sitemap, **hooks)
        Word.objects.create(word="a'b&c")
        words = declare(model=Word, location=Route("word", word=F("word")))
        configure(ROOT=folder)
        register(words=words, named=named, hostile=hostile, broken=broken, numbers=Numbers(3))
        export()
        client, root = staff
        # The name of a class, a skipped item with its lastmod, and the error of a section.
        assert page(client, root).text.count("<script>alert(1)</script>") >= 3
        answer = page(client, f"{root}url/?url=/words/a'b%26c/").text
        assert "In the sitemap" in answer
        assert "<loc>https://www.example.com/words/a&apos;b&amp;c/</loc>" in answer
        assert HOSTILE in page(client, f"{root}url/?url=/unknown/").text

    @pytest.mark.usefixtures("exported")
    def test_of_section_names_and_audits_is_text(self, staff, register, monkeypatch):
        client, root = staff
        finding = Finding(HOSTILE, "error", 1_234, (HOSTILE, HOSTILE))
        time = datetime(2026, 11, 23, 4, tzinfo=timezone.utc)
        report = AuditReport(time, 1.0, HOSTILE, 25, 4, 0, (finding,))
        reports = [report, replace(report, findings=())]
        monkeypatch.setattr(overview, "last_report", lambda base_url: reports.pop(0))
        text = page(client, root).text
        assert (text.count(HOSTILE), "25 URLs in 4 documents" in text, "1,234" in text) == (4, True, True)
        assert "The audit found no problems." in page(client, root).text
        register(**{HOSTILE: Numbers(3)})
        for path in ("", "url/?url=/a/"):
            text = page(client, f"{root}{path}", status=500).text
            assert ("has an invalid name" in text, "<script>alert(1)</script>" in text) == (True, True)


def test_sections_without_problems_are_folded_and_filtered(folder, configure, register):
    configure(ROOT=folder)
    parts = export_full_sections(30, register)
    with site(admin=True):
        client = superuser()

        def shown(**query):
            return client.get("/admin/sitemaps/", query).text

        content = shown()
        assert content.index("Last audit</h2>") < content.index("Sections</h2>")
        # Pages are filled on purpose: only one over its limit has a red bar.
        assert content.count(' high="99"') == 0
        for number in range(3, 10):
            del parts[f"part-{number}"]
        parts["part-2"].limit = 18
        register(**parts)
        content = shown()
        names = ", ".join(f"&#x27;part-{number}&#x27;" for number in range(3, 8))
        assert f"Sections {names} and 2 more: not declared any more" in content
        assert content.count(' high="99"') == 1
        unfolded, _, folded = content.partition("<summary>Show 22 more</summary>")
        found = [f'id="sitemaps09-section-part-{number}"' in unfolded for number in (1, 2, 3)]
        assert (found, 'id="sitemaps09-section-part-1"' in folded) == ([False, True, True], True)
        content = shown(section="PART-1")
        assert ("11 of 30 sections" in content, "Show 22 more" in content) == (True, False)
        hostile = shown(section='"><script>')
        texts = ('value="&quot;&gt;&lt;script&gt;"', "0 of 30 sections", "unknown")
        assert [text for text in texts if text not in hostile] == []


def seen(base_url=BASE):
    return overview.overview(parse_base(base_url))


def live(name):
    [found] = [section for section in seen().status.sections if section.section == name]
    return found.live


@pytest.fixture
def exporting(folder, configure):
    configure(ROOT=folder, MAX_URLS=20)


@pytest.mark.usefixtures("exporting", "articles")
class TestASection:
    def test_has_the_figures_of_the_manifest(self, register, folder):
        register(articles=Articles, numbers=Numbers(3))
        export()
        state, files = seen(), [path.read_bytes() for path in folder.glob("sitemap-articles-*")]
        cells, _ = overview.sections_table(state).rows
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
        shown = overview.sections_table(seen()).rows[0][8].text
        assert (len(live("articles").pages), shown) == (count, str(count))
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
            return [(*row[3].lines, row[3].meter) for row in overview.sections_table(seen()).rows]

        assert meters() == [("100% of the limit", 100), ("20% of the limit", 20)]
        configure(MAX_URLS=1)
        assert meters() == [("200% of the limit", 100), ("400% of the limit", 100)]


@pytest.mark.usefixtures("exporting")
class TestTheExport:
    def test_that_failed_at_first_is_shown_by_its_own_host_alone(self, register):
        register(numbers=Failing(9, 0))
        assert export_hosts(["https://b.example"])["https://b.example"].failures
        register(numbers=Numbers(3))
        export(base_url="https://a.example")
        runs = [seen(f"https://{host}.example").runs for host in "abc"]
        assert [[bool(run.failures) for run in each] for each in runs] == [[False], [True], []]

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


@pytest.mark.usefixtures("exporting")
def test_problems_are_said_in_words_with_the_part_that_shows_them(register, folder):
    register(bad=Numbers(3), gone=Numbers(3))
    assert (seen().runs, seen().status.export.run, seen().status.export.error) == ([], None, None)
    for _ in range(2):
        assert [*overview.problems(seen())] == []
        export()
    register(bad=Bad(10, [3]), gone=Numbers(3))
    export()
    register(bad=Failing(10, 3))
    export()
    found = dict(overview.problems(seen()))
    assert "Section 'gone': not declared any more" in found["sections"]
    assert found["runs"].startswith("The last recorded export had failures: Section 'bad': ")
    assert found["skipped"] == "Items and elements that the last exports have skipped: 2."
    state = LocalStore(folder / STATE)
    write_journal(state, Journal("run-1", (), (state.folder / manifest.ROOT).read_text(), (), (), ()))
    assert "was killed while publishing" in next(overview.problems(seen()))[1]
    (state.folder / manifest.ROOT).write_text("{")
    assert next(overview.problems(seen()))[1].startswith("The export cannot be read: ")
    assert ([each.record for each in seen().status.sections], len(seen().runs)) == ([None], 3)


TODAY = date(2026, 11, 23)


def of_age(newest):
    return PageFile("sitemap-a-1.xml.gz", 1, None, None, 10, 100, 50, lastmod=newest)


@pytest.mark.parametrize(("label", "times"), [
    ("within 1 day", ["2026-11-23", "2026-11-22T00:00:00Z", "2031-01-01"]),
    ("within 7 days", ["2026-11-21T23:59:59+01:00", "2026-11-16"]),
    *(("within 30 days", ["2026-11-15"]), ("within 90 days", ["2026-10-01"])),
    *(("within 1 year", ["2026-01"]), ("older", ["2024"]), ("no lastmod", [None, "<script>", ""])),
])  # fmt: skip
def test_a_page_has_the_age_of_its_newest_lastmod(label, times):
    assert [overview.freshness([of_age(newest)], TODAY) for newest in times] == [{label: 1}] * len(times)


@given(st.lists(st.integers(0, 3_000)))
def test_every_page_is_counted_once(days):
    pages = [of_age((TODAY - timedelta(days=number)).isoformat()) for number in days]
    assert overview.freshness(pages, TODAY).total() == len(days)


@given(st.dictionaries(st.sampled_from(overview.LABELS), st.integers(1, 10**7), min_size=1), st.booleans())
def test_bars_and_numbers_are_inside_the_plot(counts, separates):
    with override_settings(USE_THOUSAND_SEPARATOR=separates):
        context = {"plot": overview.plot(counts)}
        drawn = render_to_string("django_sitemaps09/inspector/plot.html", context).strip()
    document = ElementTree.fromstring(drawn)  # noqa: S314
    _, _, full_width, full_height = map(int, document.attrib["viewBox"].split())
    texts, widths = document.findall("text"), {}
    labels, numbers = texts[::2], texts[1::2]
    assert [label.text for label in labels] == list(overview.LABELS)
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
            assert bar["class"] == ("unknown" if name == overview.LABELS[-1] else "")
    assert sorted(widths, key=counts.__getitem__) == sorted(widths, key=lambda n: (widths[n], counts[n]))
    assert (document.attrib["role"], document[0].text) == ("img", "Freshness of the exported pages")
    assert document[1].text.startswith(f"{sum(counts.values()):,} pages")
