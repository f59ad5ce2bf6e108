"""Live text pages contain only URLs, one on each line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.core.exceptions import ImproperlyConfigured
from hypothesis import HealthCheck, given, settings, strategies as st

from django_sitemaps09.export import export
from django_sitemaps09.protocol import Base, Limits
from django_sitemaps09.sources import source
from tests.models import Article
from tests.support import published as looked_at
from tests.support.articles import Articles
from tests.support.configuration import BASE, Configure, Register
from tests.support.native_views import last_parts
from tests.support.text import Paths, TextArticles, get, indexed, of, text_of, urls, write

pytestmark = [pytest.mark.django_db, pytest.mark.slow, pytest.mark.sitemaps09(ENGINE="serial")]


def named_live(end: str | None = None) -> list[str]:
    """Return the names of the pages in the live index, with another suffix if one is given."""
    names = last_parts(get("sitemap.xml").content)
    return names if end is None else [re.sub(r"\.(xml|xml\.gz|txt)$", end, name) for name in names]


class TestALivePageOfText:
    @pytest.mark.parametrize("sitemap", [Articles, TextArticles])
    def test_has_the_urls_of_any_section_a_line_each(self, register: Register, sitemap: type) -> None:
        write(0, 15)
        register(articles=sitemap)
        # A row whose route has no URL is left out.
        for slug in ("s3", "no slug", ""):
            Article.objects.filter(pk=Article.objects.order_by("pk")[3].pk).update(slug=slug)
            response = get("sitemap-articles-1.txt")
            expected = text_of(*(f"s{n}" for n in range(15) if n != 3 or slug == "s3"))
            assert (response.status_code, response.content) == (200, expected)
            assert b"".join(get(name).content for name in named_live(".txt")) == expected
        assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
        assert response.headers["X-Robots-Tag"] == get("sitemap-articles-1.xml").headers["X-Robots-Tag"]
        assert not {"Content-Encoding", "Content-Disposition"} & {*response.headers}

    def test_is_empty_if_all_its_items_are_skipped(self, register: Register) -> None:
        register(bad=of("https://elsewhere.example/"))
        assert named_live(".txt") == ["sitemap-bad-1.txt"]
        response = get("sitemap-bad-1.txt")
        assert (response.status_code, response.content) == (200, b"")

    def test_has_those_of_what_others_wrote_for_contrib(self, register: Register) -> None:
        hooks = {"items": lambda self: ["/a", "/b", "/c"], "location": lambda self, item: item}
        register(words=type("Foreign", (ContribSitemap,), {"limit": 2, **hooks}))
        found = [get(f"sitemap-words-{number}.txt").content.decode() for number in (1, 2)]
        assert found == [f"{BASE}/a\n{BASE}/b\n", f"{BASE}/c\n"]

    @pytest.mark.parametrize("compressed", [True, False])
    def test_is_named_by_the_index_if_it_is_the_format_of_the_section(
        self, register: Register, configure: Configure, compressed: bool
    ) -> None:
        configure(GZIP=compressed)
        write(0, 15)
        register(articles=Articles, text=TextArticles)
        xml = ".xml.gz" if compressed else ".xml"
        first, second, *text = named_live()
        assert first.startswith("sitemap-articles.to.")
        assert all(name.endswith(xml) for name in (first, second))
        assert [name.rsplit(".", 2)[0] for name in text] == [
            name.removesuffix(xml).rpartition(".")[0].replace("articles", "text")
            for name in (first, second)
        ]
        assert all(name.endswith(".txt") for name in text)


class TestLinesOfText:
    @settings(
        max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
    )
    @given(st.lists(st.text(max_size=8).map("/{}".format), max_size=12, unique=True))
    def test_are_the_locations_of_xml_whatever_these_are(self, found: list[str]) -> None:
        with looked_at.quick_folder() as folder:
            sitemaps: dict[str, Any] = {"a": of(*found), "b": of(*found, format="xml"), "c": of("/")}
            export(output=folder, sitemaps=sitemaps)
            both = [
                urls(folder, name) if (folder / name).exists() else ()
                for name in ("sitemap-a-1.txt", "sitemap-b-1.xml.gz")
            ]
            assert both[0] == both[1]


class TestFormatOfAClassForContrib:
    """There, an attribute `format` can have any meaning."""

    @pytest.mark.parametrize(
        "found", ["%Y-%m", "txt", "TEXT", "", None, 7, ["text"], lambda self, item: "text", property(str)]
    )
    @pytest.mark.parametrize("base", [Paths, ContribSitemap])
    def test_means_something_else_and_is_ignored(
        self, folder: Path, register: Register, base: type, found: Any
    ) -> None:
        hooks = {"items": lambda self: ["/a"], "location": lambda self, item: item}
        register(words=type("Other", (base,), {**hooks, "format": found}))
        export(output=folder)
        assert looked_at.pages(folder) == ["sitemap-words-1.xml.gz"]
        assert f"{BASE}/sitemap-words-1.xml.gz".encode() in get("sitemap.xml").content

    @pytest.mark.parametrize("found", ["txt", "TEXT", "xml.gz", ""])
    def test_is_an_error_if_the_class_has_expressions(self, folder: Path, found: str) -> None:
        write(0, 1)
        sitemap = type("Wrong", (Articles,), {"format": found})
        with pytest.raises(ImproperlyConfigured, match=r"^Wrong\.format must be 'xml' or 'text', not "):
            source("articles", sitemap, Base("https", "www.example.com"), Limits(50_000, 10_000_000))
        report = export(output=folder, sitemaps={"articles": sitemap, "words": of("/a")})
        assert "must be 'xml' or 'text'" in str(report.sections[0].failure)
        assert indexed(folder) == {f"{BASE}/a"}
