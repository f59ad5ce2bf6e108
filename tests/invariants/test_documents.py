"""Complete documents: everything that a sitemap can declare, in any combination, read in every way."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.db.models import Case, F, Value, When
from django.urls import reverse

from django_sitemaps09 import NewsSitemap, Route
from django_sitemaps09.entries import NAMESPACES
from tests.models import Article
from tests.support.configuration import BASE
from tests.support.documents import (
    COMBINATIONS,
    EVERYTHING,
    NOW,
    SLUGS,
    TEXTS,
    Combination,
    by_contrib,
    canonical,
    entries,
    exported,
    images,
    live,
    localized,
    parsed,
    section,
    text_of,
    texts,
    videos,
)
from tests.support.strict_readers import SitemapJs

pytestmark = [pytest.mark.slow, pytest.mark.sitemaps09]


# Every combination


@pytest.mark.usefixtures("articles")
@pytest.mark.parametrize("declared", COMBINATIONS, ids=str)
class TestEveryCombination:
    def test_is_one_valid_document_live_compressed_and_exported(
        self, declared: Combination, schema: Any, serve: Any, tmp_path: Path
    ) -> None:
        serve(section(declared))
        document = live()
        assert document == live("xml.gz") == exported(section(declared), tmp_path)
        root = parsed(document)
        schema.assertValid(root)
        # No namespaces but those of what is declared.
        assert root.nsmap == declared.namespaces
        assert len(root) == len(SLUGS) * (3 if declared.alternates == "i18n" else 1)
        # One line for each entry makes the difference of two documents readable.
        head, first, *lines, tail = document.splitlines()
        assert (head[:5], first[:7], tail) == (b"<?xml", b"<urlset", b"</urlset>")
        assert all(re.fullmatch(rb"<url><loc>.*</url>", line) for line in lines)
        assert b"\r" not in document

    def test_as_text_is_exactly_its_locations(
        self, declared: Combination, serve: Any, tmp_path: Path
    ) -> None:
        serve(section(declared))
        lines = live("txt").decode().split("\n")
        assert lines == [*texts(live(), "loc"), ""]
        text = exported(section(declared, format="text"), tmp_path, "sitemap-x-1.txt")
        assert text.decode().split("\n") == lines

    def test_has_the_same_entries_on_compat_views(
        self, declared: Combination, schema: Any, serve: Any
    ) -> None:
        """In these views, paths and codes of `i18n` are written as by contrib, which does not quote."""
        found = section(declared)
        # Unquoted values are not valid there, as in contrib's own view.
        found.queryset = Article.objects.exclude(slug__in=["100%", "a[1]"])
        if declared.alternates == "method":
            # Such links are compared with unquoted URLs. A separate test below covers this.
            found.queryset = Article.objects.filter(slug__in=["plain", "a+b;c=d,e"])
        serve(found)
        root = parsed(by_contrib(found))
        schema.assertValid(root)
        # Contrib's template always declares the namespace of links.
        assert root.nsmap == declared.namespaces | {"xhtml": NAMESPACES["xhtml"]}
        assert list(map(canonical, entries(by_contrib(found)))) == list(map(canonical, entries(live())))


@pytest.mark.usefixtures("articles")
def test_what_is_declared_is_what_is_written(serve: Any) -> None:
    """Check each value of one combination of everything."""
    serve(section(Combination(True, "method", True, True, True)))
    second, third = entries(live())[1:3]
    path = "/articles/k%C3%A4se%20&%20brot/"
    assert [text for name, text, _ in second if name in ("loc", "lastmod", "changefreq", "priority")] == [
        f"{BASE}{path}",
        f"{NOW - timedelta(days=2):%Y-%m-%dT%H:%M:%SZ}",
        "weekly",
        "0.200",
    ]
    assert [name for name, _, _ in third][:2] == ["loc", "priority"]
    assert [dict(attributes) for name, _, attributes in second if name == "xhtml:link"] == [
        {"rel": "alternate", "hreflang": "en", "href": f"{BASE}{path}"},
        {"rel": "alternate", "hreflang": "de-AT", "href": f"https://www.example.at{path}"},
        {"rel": "alternate", "hreflang": "x-default", "href": f"{BASE}/any{path}"},
    ]
    assert [text for name, text, _ in second if name == "image:loc"] == [
        "https://cdn.example.net/k%C3%A4se%20&%20brot.jpg?a=1&b=2",
        f"{BASE}/covers/%C3%A4%20b.png",
    ]
    [caption] = [text for name, text, _ in third if name == "image:caption"]
    assert caption == TEXTS[3]
    assert [text for name, text, _ in second if name == "video:title"] == [TEXTS[2], "Second"]
    assert [text for name, text, _ in second if name == "video:publication_date"] == [
        "2026-01-31T07:00:00Z"
    ]
    assert [text for name, text, _ in second if name in ("news:language", "news:title")] == ["de", TEXTS[2]]


CONSTANT: dict[str, Any] = {"lastmod": NOW, "changefreq": "weekly", "priority": Decimal("0.500")}

WAYS: dict[str, dict[str, Any]] = {
    "expressions": {
        "location": Route("word", word=F("slug")),
        "lastmod": F("updated"),
        "changefreq": Case(When(pk__gt=0, then=Value("weekly")), default=Value("never")),
        "priority": F("weight"),
    },
    "constants": {"location": Route("word", word=F("slug")), **CONSTANT},
    "methods": {
        "location": lambda self, item: reverse("word", kwargs={"word": item.slug}),
        "lastmod": lambda self, item: item.updated,
        "changefreq": lambda self, item: "weekly",
        "priority": lambda self, item: item.weight,
    },
    "lists": {
        "queryset": None,
        "items": lambda self: list(Article.objects.order_by("pk")),
        "location": lambda self, item: f"/words/{item.slug}/",
        **CONSTANT,
    },
}


@pytest.mark.django_db
@pytest.mark.parametrize("i18n", [False, True])
@pytest.mark.parametrize("media", [False, True])
def test_the_same_facts_give_the_same_bytes_however_they_are_declared(
    serve: Any, media: bool, i18n: bool
) -> None:
    slugs = [slug for slug in SLUGS if not set(slug) & set("%?[")]
    Article.objects.bulk_create(
        Article(pk=number, slug=slug, updated=NOW, weight=Decimal("0.5"))
        for number, slug in enumerate(slugs, 1)
    )
    found, lines = {}, set()
    for way, declared in WAYS.items():
        linked = {"i18n": True, "alternates": True, "x_default": True} if i18n else {}
        serve(section(Combination(False, "none", media, media, media), **linked, **declared))
        found[way] = live()
        lines.add(live("txt"))
    assert len(set(found.values())) == len(lines) == 1
    assert lines.pop().decode().splitlines() == texts(found["methods"], "loc")
    assert len(texts(found["methods"], "priority")) == len(slugs) * (3 if i18n else 1)


@pytest.mark.usefixtures("articles")
def test_items_may_have_languages_of_their_own(schema: Any, serve: Any, tmp_path: Path) -> None:
    def languages_of(self: Any, item: Article) -> list[str]:
        return ["en", "de", "pt-br"][: item.pk % 3 + 1]

    declared = section(EVERYTHING, get_languages_for_item=languages_of)
    serve(declared)
    document = live()
    schema.assertValid(parsed(document))
    links = [sum(name == "xhtml:link" for name, _, _ in entry) for entry in entries(document)]
    # The languages of each item, and the link for all others, in each of its entries.
    expected = [len(languages_of(None, Article(pk=pk))) for pk in range(1, len(SLUGS) + 1)]
    assert links == [count + 1 for count in expected for _ in range(count)]
    assert live("txt").decode().split("\n") == [*texts(document, "loc"), ""]
    assert exported(declared, tmp_path) == document


@pytest.mark.usefixtures("articles")
def test_a_news_section_can_have_all_other_elements(schema: Any, serve: Any) -> None:
    class Newest(NewsSitemap[Article]):
        model = Article
        date_field = "updated"
        publication_name = "The <Example> & Times"
        i18n = alternates = x_default = True
        location = localized  # type: ignore[assignment]

        def title(self, item: Article) -> str:
            return text_of(item)

    Newest.images, Newest.videos = images, videos  # type: ignore[method-assign]
    serve(Newest)
    schema.assertValid(parsed(live()))
    assert parsed(live()).nsmap == EVERYTHING.namespaces
    assert texts(live(), "news:title") == [TEXTS[1]] * 3
    assert list(map(canonical, entries(by_contrib(Newest)))) == list(map(canonical, entries(live())))


# Readers


@pytest.mark.usefixtures("articles")
def test_sitemap_js_accepts_any_combination(sitemap_js: SitemapJs, serve: Any) -> None:
    documents = []
    for declared in COMBINATIONS:
        serve(section(declared))
        documents.append(live())
    items = sitemap_js.strictly(documents)
    assert [[item["url"] for item in some] for some in items] == [texts(one, "loc") for one in documents]
    full = items[COMBINATIONS.index(EVERYTHING)][0]
    assert len(full["links"]) == 4
    assert (len(full["img"]), len(full["video"])) == (2, 2)
