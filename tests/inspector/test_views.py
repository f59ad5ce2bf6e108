"""The pages of the inspector: valid structure, and nothing from a project that is not escaped."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timezone
from html.parser import HTMLParser
from urllib.parse import quote

import pytest
from django.contrib import sitemaps as contrib
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from django_sitemaps09 import ModelSitemap, Route
from django_sitemaps09.audit import AuditReport, Finding
from django_sitemaps09.export import export
from django_sitemaps09.inspector import overview
from tests.models import Article, Word
from tests.support.articles import Articles
from tests.support.exports import Bad
from tests.support.factories import ArticleFactory
from tests.support.inspector import client_of, superuser
from tests.support.sections import Numbers

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09(ENGINE="serial")]

HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>&lt;"
_VOID = {"meta", "link", "input", "br", "img", "path", "rect", "use", "symbol"}


class Page(HTMLParser):
    """Reader of a page: its elements with their attributes, and its ids."""

    def __init__(self, content):
        super().__init__(convert_charrefs=True)
        self.elements = []
        self.open = []
        self.text = ""
        self.feed(content)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        if tag not in _VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data

    def attributes(self, tag):
        return (attributes for name, attributes in self.elements if name == tag)


def page(client, path, status=200):
    response = client.get(path)
    assert response.status_code == status
    read = Page(response.content.decode())
    assert read.open == []
    # Only the scripts of the admin, which are files.
    assert all((found["src"] or "").startswith("/static/admin/") for found in read.attributes("script"))
    assert not [*read.attributes("style"), *read.attributes("img")]
    assert not [
        name for _, found in read.elements for name in found if name.startswith("on") or name == "style"
    ]
    ids = [found["id"] for _, found in read.elements if "id" in found]
    assert len({*ids}) == len(ids)
    names = [name for _, found in read.elements for name in (found.get("aria-labelledby") or "").split()]
    assert {*names} <= {*ids}
    assert all(found.get("for") in ids for found in read.attributes("label"))
    assert all(found.get("scope") in ("col", "row") for found in read.attributes("th"))
    return read


class Words(ModelSitemap[Word]):
    model = Word
    location = Route("word", word=F("word"))


class Hostile(contrib.Sitemap):
    """Section of contrib whose values are hostile."""

    def items(self):
        return ["/fine/", HOSTILE]

    def location(self, item):
        return item

    def lastmod(self, item):
        return HOSTILE


@pytest.fixture
def exported(folder, register, configure):
    configure(ROOT=folder)
    for number in range(1, 26):
        ArticleFactory(pk=number, slug=f"s{number}", dated=True)
    register(articles=Articles, numbers=Bad(9, [2]))
    export()


@pytest.fixture(params=["admin", "plain"])
def staff(request):
    """A client that may use the inspector, and the path of the inspector."""
    request.getfixturevalue(f"{request.param}_site")
    if request.param == "admin":
        return superuser(), "/admin/sitemaps/"
    return client_of("ann", "shop.view_product", is_staff=True), "/sitemaps/"


@pytest.mark.usefixtures("exported")
class TestThePages:
    def test_have_the_expected_structure(self, staff):
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
        response = client.get(str(sheet["href"]))
        assert response["Content-Type"] == "text/css; charset=utf-8"
        assert b"@import" not in response.content
        assert b"url(" not in response.content

    def test_name_problems_at_the_top_with_links(self, staff, register):
        client, root = staff
        register(another=Numbers(1))
        content = client.get(root).content.decode()
        start = content.index("Problems</h2>")
        assert start < content.index("Export</h2>")
        text = r'href="#(sitemaps09-[a-z]+)">Sections &#x27;articles&#x27;, [^<]*: not declared'
        [target] = re.findall(text, content)
        assert f'id="{target}"' in content

    def test_use_each_label_once_and_no_colour_for_a_full_page(self, staff):
        client, root = staff
        content = client.get(root).content.decode()
        labels = re.findall(r"<dt>(.*?)</dt>|<th [^>]*scope=\"col\"[^>]*>(.*?)</th>", content)
        assert [first or second for first, second in labels].count("Last change") == 1
        assert "<meter" in content
        assert " high=" not in content

    def test_answer_for_a_url(self, staff):
        client, root = staff
        Article.objects.filter(pk=5).update(published=False)
        assert "Enter a path" in page(client, f"{root}url/").text
        assert "Enter a path" in page(client, f"{root}url/?url=%20").text
        read = page(client, f"{root}url/?url=/articles/s3/")
        assert "In the sitemap" in read.text
        assert "<url><loc>https://www.example.com/articles/s3/</loc>" in read.text
        content = client.get(f"{root}url/?url=/articles/s3/").content.decode()
        assert re.search(r">\s*Exported\s*<", content)
        links = [found["href"] for found in read.attributes("a")]
        assert "https://www.example.com/sitemap-articles-1.xml.gz" in links
        assert "until the next export" in page(client, f"{root}url/?url=/articles/s5/").text

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

    @pytest.fixture
    def hostile(self, folder, register, configure):
        class Named(Articles):
            pass

        def broken():
            raise RuntimeError(HOSTILE)

        Named.__qualname__ = HOSTILE
        Word.objects.create(word="a'b&c")
        configure(ROOT=folder)
        register(words=Words, named=Named, hostile=Hostile, broken=broken, numbers=Numbers(3))
        export()

    @pytest.mark.usefixtures("hostile")
    def test_is_text(self, staff, register):
        client, root = staff
        read = page(client, root)
        # The name of a class, a skipped item with its lastmod, and the error of a section.
        assert read.text.count("<script>alert(1)</script>") >= 3
        answer = page(client, f"{root}url/?url=/words/a'b%26c/")
        assert "In the sitemap" in answer.text
        assert "<loc>https://www.example.com/words/a&apos;b&amp;c/</loc>" in answer.text
        assert HOSTILE in page(client, f"{root}url/?url=/unknown/").text

    @pytest.mark.usefixtures("exported")
    def test_of_section_names_is_text(self, staff, register):
        client, root = staff
        register(**{HOSTILE: Numbers(3)})
        for path in ("", "url/?url=/a/"):
            read = page(client, f"{root}{path}", status=500)
            assert "has an invalid name" in read.text
            assert "<script>alert(1)</script>" in read.text

    @pytest.mark.usefixtures("exported")
    def test_of_an_audit_is_text(self, staff, monkeypatch):
        client, root = staff
        finding = Finding(HOSTILE, "error", 1_234, (HOSTILE, HOSTILE))
        report = AuditReport(
            datetime(2026, 11, 23, 4, tzinfo=timezone.utc), 1.0, HOSTILE, 25, 4, 0, (finding,)
        )
        reports = [report, replace(report, findings=())]
        monkeypatch.setattr(overview, "last_report", lambda base_url: reports.pop(0))
        read = page(client, root)
        assert read.text.count(HOSTILE) == 4
        assert "25 URLs in 4 documents" in read.text
        assert "1,234" in read.text
        assert "The audit found no problems." in page(client, root).text
