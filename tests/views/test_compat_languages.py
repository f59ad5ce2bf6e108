"""Languages in the compatibility views: each page lists the same as contrib's."""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Sequence
from typing import Any
from unittest import mock

import pytest
from django.contrib import sitemaps as contrib
from django.contrib.sitemaps import views as contrib_views
from django.contrib.sites.models import Site
from django.db import connection
from django.db.models import QuerySet
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext
from hypothesis import given, strategies as st
from lxml import etree

from django_sitemaps09 import Sitemap, views
from django_sitemaps09.sitemaps.items import TranslatedItems
from tests.compat import projects
from tests.models import Article
from tests.support.databases import parameter, require
from tests.support.languages import PREFIXED, SEVERAL, TEN, articles_in, by_route, named, page_of
from tests.support.sources import alternates, in_language, listing, through_get_urls

# The compatibility views.


def on_both(items: Callable[[], Any], **attributes: Any) -> tuple[Any, Any]:
    """Return the same sitemap as a subclass of contrib's class and of ours."""
    attributes.setdefault("location", in_language)
    found = {"i18n": True, "items": lambda self: items(), **attributes}
    return tuple(type("Section", (base,), found)() for base in (contrib.Sitemap, Sitemap))  # type: ignore[return-value]


def test_the_languages_of_an_item_can_be_a_generator() -> None:
    codes = lambda self, item: (code for code in ["en", "de"])  # noqa: E731
    theirs, ours = on_both(lambda: ["a", "b"], get_languages_for_item=codes, alternates=True)
    assert answer(ours, 1) == answer(theirs, 1)
    assert ours.get_urls(site=Site(domain="x.example")) == theirs.get_urls(site=Site(domain="x.example"))


def answer(sitemap: Any, number: int) -> Any:
    """Return a paginator's page, or the error that it raises."""
    try:
        paginator = sitemap.paginator
        return paginator.count, paginator.num_pages, [*paginator.page(number).object_list]
    except Exception as error:  # noqa: BLE001 whatever contrib raises, we raise too
        return type(error), str(error)


UNION = Article.objects.filter(pk__lt=4).union(Article.objects.filter(pk__gt=2))

ROWS: dict[str, Callable[[], Any]] = {
    "ordered": lambda: Article.objects.order_by("-pk"),
    "reversed": lambda: Article.objects.order_by("pk").reverse(),
    "unordered": lambda: Article.objects.all(),
    "sliced": lambda: Article.objects.order_by("pk")[1:6],
    "none": lambda: Article.objects.none(),
    "values": lambda: Article.objects.order_by("pk").values("slug"),
    "distinct": lambda: Article.objects.order_by("pk").distinct(),
    "union": lambda: UNION.order_by("slug"),
    "raw": lambda: Article.objects.raw("SELECT * FROM tests_article ORDER BY id"),
    "prefetched": lambda: Article.objects.order_by("pk").prefetch_related("tags"),
    "a generator": lambda: iter("abcdefg"),
    "a dict": lambda: dict.fromkeys("abcdefg"),
}


def evaluated() -> QuerySet[Article]:
    rows = Article.objects.order_by("pk")
    len(rows)
    return rows


ROWS["evaluated"] = evaluated


@pytest.fixture
def seven(db: None) -> None:
    articles_in("default", 7)


class TestPaginatorsOfContrib:
    @given(
        items=st.lists(st.integers(0, 4), max_size=9),
        languages=st.lists(st.sampled_from(["en", "de", "fr"]), max_size=4),
        of=st.none() | st.lists(st.lists(st.sampled_from("xyz"), max_size=3), min_size=5, max_size=5),
        limit=st.integers(1, 12),
        number=st.integers(-1, 12),
    )
    def test_see_what_contribs_list_holds(
        self, items: list[int], languages: list[str], of: list[list[str]] | None, limit: int, number: int
    ) -> None:
        attributes: dict[str, Any] = {"languages": languages, "limit": limit}
        if of is not None:
            attributes["get_languages_for_item"] = lambda self, item: of[item]
        theirs, ours = on_both(lambda: items, **attributes)
        assert answer(ours, number) == answer(theirs, number)

    @given(st.integers(0, 9), st.integers(0, 4), st.integers(0, 40), st.integers(0, 40))
    def test_can_take_any_part_of_it(self, items: int, languages: int, start: int, length: int) -> None:
        theirs, ours = on_both(lambda: range(items), languages=TEN[:languages])
        assert ours._items()[start : start + length] == theirs._items()[start : start + length]
        assert [*ours._items()] == theirs._items()

    @pytest.mark.parametrize(
        "use",
        [
            lambda items: items[0],
            lambda items: items[-1],
            lambda items: items[::2],
            lambda items: items[3:1],
            lambda items: [*reversed(items)],
            lambda items: items + [("c", "en")],  # noqa: RUF005 as in a project
            lambda items: items == [*items],
        ],
        ids=["first", "last", "step", "empty", "reversed", "sum", "equal"],
    )
    def test_of_a_project_can_use_its_items_as_the_list_that_they_were(self, use: Any) -> None:
        """`_items()` and `paginator` may be overridden, and may call `super()`."""
        theirs, ours = on_both(lambda: ["a", "b"])
        assert use(ours._items()) == use(theirs._items())

    @pytest.mark.parametrize("limit", [1, 2, 3, 5, 7, 30])
    @pytest.mark.parametrize("each", [False, True], ids=["all", "each"])
    @pytest.mark.parametrize("name", ROWS)
    @pytest.mark.django_db
    @pytest.mark.usefixtures("seven")
    @pytest.mark.filterwarnings("ignore:Pagination may yield")
    def test_see_the_rows_that_contrib_sees(self, name: str, limit: int, each: bool) -> None:
        attributes: dict[str, Any] = {"limit": limit, "location": "/"}
        if each:
            attributes["get_languages_for_item"] = lambda self, item: SEVERAL[len(str(item)) % 7]
        theirs, ours = on_both(ROWS[name], **attributes)
        # Up to the first page after the last one.
        for number in range(1, 21 // limit + 3):
            found, expected = answer(ours, number), answer(theirs, number)
            if name == "raw" and len(expected) == 3:
                assert [(row.pk, code) for row, code in found[2]] == [
                    (row.pk, code) for row, code in expected[2]
                ]
            else:
                assert found == expected

    @pytest.mark.django_db
    @pytest.mark.usefixtures("seven")
    def test_count_a_slice_of_an_ordered_union(self) -> None:
        theirs, ours = on_both(lambda: UNION.order_by("slug")[:5])
        assert theirs.paginator.count == 15
        assert ours.paginator.count == 15

    @pytest.mark.parametrize("using", [parameter("postgresql")])
    def test_have_each_entry_on_one_page_if_rows_tie(self, using: str) -> None:
        require(using)
        Article.objects.using(using).bulk_create(
            Article(slug=f"s{n}", weight=n % 3 / 10) for n in range(3_000)
        )
        _, ours = on_both(lambda: Article.objects.using(using).order_by("weight"), limit=500)
        numbers = range(1, ours.paginator.num_pages + 1)
        found = [(row.pk, code) for n in numbers for row, code in ours.paginator.page(n).object_list]
        assert len({*found}) == len(found) == 9_000

    @pytest.mark.django_db
    @pytest.mark.usefixtures("seven")
    def test_count_the_rows_and_read_no_row_more_than_a_page_touches(self) -> None:
        """With three languages for each item, a page of four entries ends within an item.

        Contrib reads all rows for each page.
        """
        _, ours = on_both(lambda: Article.objects.order_by("pk"), limit=4)
        with CaptureQueriesContext(connection) as asked:
            found = ours.paginator.page(2).object_list
        assert [code for _, code in found] == ["de", "pt-br", "en", "de"]
        counting, reading = (query["sql"] for query in asked)
        assert "COUNT(" in counting
        assert reading.endswith("LIMIT 2 OFFSET 1")

    @pytest.mark.django_db
    @pytest.mark.usefixtures("seven")
    def test_count_the_languages_of_each_item_and_keep_none(self) -> None:
        alive: weakref.WeakSet[Article] = weakref.WeakSet()
        most = 0

        def languages(self: Any, item: Article) -> Sequence[str]:
            nonlocal most
            alive.add(item)
            most = max(most, len(alive))
            return ["en", "de"]

        _, ours = on_both(lambda: Article.objects.order_by("pk"), get_languages_for_item=languages)
        with mock.patch("django_sitemaps09.sitemaps.items.AT_A_TIME", 2):
            assert isinstance(ours.paginator.object_list, TranslatedItems)
            assert ours.paginator.count == 14
        assert most <= 4

    def test_honour_the_languages_that_an_instance_was_given(self) -> None:
        theirs, ours = on_both(lambda: ["a", "b"])
        for sitemap in (theirs, ours):
            sitemap.get_languages_for_item = lambda item: ["de"] if item == "a" else []
        assert answer(ours, 1) == answer(theirs, 1)


def entries(content: bytes) -> list[Any]:
    """Return the content of each entry of a document, in order."""
    root = etree.fromstring(content)
    return [
        [(part.tag, (part.text or "").strip(), sorted(part.attrib.items())) for part in url] for url in root
    ]


@pytest.fixture
def answers(settings: Any, db: None) -> Any:
    """Return the bodies of contrib's view and of ours for the same page, each with its own templates."""

    def answers(items: Callable[[], Any], number: int = 1, **attributes: Any) -> tuple[bytes, bytes]:
        found = []
        request = RequestFactory().get("/", {"p": number})
        for sitemap, view in zip(
            on_both(items, **attributes), (contrib_views.sitemap, views.sitemap), strict=True
        ):
            theirs = view is contrib_views.sitemap
            settings.TEMPLATES = projects.templates(*([projects.CONTRIB_TEMPLATES] if theirs else []))
            found.append(view(request, {"things": sitemap}).render().content)
        return tuple(found)  # type: ignore[return-value]

    Site.objects.clear_cache()
    settings.ROOT_URLCONF = PREFIXED
    return answers


EN = ("en", "http://example.com/en/a/")


class TestViewsOfContrib:
    @pytest.mark.parametrize("number", [1, 2, 3])
    @pytest.mark.parametrize(
        "attributes",
        [
            {},
            {"alternates": True},
            {"alternates": True, "x_default": True},
            {"x_default": True},
            {"languages": ["de", "ca-valencia"], "alternates": True},
            {"alternates": True, "x_default": True, "languages": ["de"], "priority": 0.5},
            {
                "alternates": True,
                "get_languages_for_item": lambda self, item: SEVERAL[item.pk % 7] or ["en"],
            },
        ],
        ids=named,
    )
    @pytest.mark.usefixtures("seven")
    def test_answer_with_contribs_document(self, answers: Any, attributes: Any, number: int) -> None:
        theirs, ours = answers(
            lambda: Article.objects.order_by("pk"), number, limit=2, location=by_route, **attributes
        )
        assert entries(ours) == entries(theirs)
        assert len(entries(ours)) == 2

    @pytest.mark.parametrize(
        ("attributes", "expected"),
        [
            ({"alternates": lambda self, item: [("fr", "relative")]}, [EN]),
            ({"alternates": lambda self, item: [["fr", "/fr"]]}, [EN, ("fr", "http://example.com/fr")]),
            # A language that is linked twice.
            ({"alternates": lambda self, item: [("en", "/other/")]}, [EN]),
            ({"x_default": lambda self, item: "/a/"}, []),
            (
                {"alternates": True, "x_default": lambda self, item: "/start/"},
                [EN, ("x-default", "http://example.com/start/")],
            ),
            ({"alternates": True, "x_default": lambda self, item: "a b"}, [EN]),
            ({"alternates": True, "x_default": lambda self, item: 1 / 0}, [EN]),
        ],
        ids=["bad", "a list", "twice", "without alternates", "x-default", "bad x-default", "an error"],
    )
    def test_write_valid_links_as_the_native_views_do(
        self, answers: Any, attributes: dict[str, Any], expected: list[tuple[str, str]]
    ) -> None:
        _, ours = answers(lambda: "a", languages=["en"], **attributes)
        assert ours.count(b"<url>") == 1
        assert re.findall('hreflang="(.*?)" href="(.*?)"', ours.decode()) == expected

    def test_add_the_links_of_a_method(self, answers: Any) -> None:
        _, ours = answers(
            lambda: "a",
            languages=["en"],
            alternates=lambda self, item: [("fr", "/é"), ("it", "https://it.example")],
        )
        assert re.findall('hreflang="(.*?)" href="(.*?)"', ours.decode()) == [
            ("en", "http://example.com/en/a/"),
            ("fr", "http://example.com/%C3%A9"),
            ("it", "https://it.example/"),
        ]

    @pytest.mark.usefixtures("cached_site")
    @pytest.mark.parametrize("links", [[("en", "/other/")], [("en", "/a/"), ("en", "/other/")]])
    def test_skip_incomplete_links_of_opaque_sitemaps(self, links: Any) -> None:
        """As the native views do."""
        section = through_get_urls(listing("a", alternates=lambda self, item: links))
        assert alternates(page_of(section).text) == [[]]
