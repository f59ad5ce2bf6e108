"""Pages of the compatibility views: their items are read as in contrib, with few queries."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, ClassVar
from xml.etree import ElementTree

import pytest
from django.contrib import sitemaps as contrib
from django.contrib.sitemaps import views as contrib_views
from django.contrib.sites.models import Site
from django.db import connection
from django.db.models import Count, F, Max, QuerySet
from django.http import HttpRequest
from django.template import TemplateDoesNotExist
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext
from django.urls import clear_script_prefix, get_urlconf, reverse, set_script_prefix, set_urlconf
from django.utils import timezone as zones, translation
from django.utils.functional import lazystr

from django_sitemaps09 import ModelSitemap, PathTemplate, Route, Sitemap, sitemaps, sources, views
from django_sitemaps09.protocol import CHANGEFREQS, Base, Limits
from tests.compat import projects
from tests.models import Article, Ticket
from tests.support.batches import locations
from tests.support.factories import ArticleFactory, CategoryFactory, TagFactory
from tests.support.sources import page_map

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.urls")]

DAY = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)


class Things(Sitemap[str]):
    def items(self) -> list[str]:
        return ["a", "b&", "c"]

    def location(self, item: str) -> str:
        return f"/{item}/"

    def lastmod(self, item: str) -> datetime:
        return DAY + timedelta(hours=ord(item[0]))


def request() -> HttpRequest:
    return RequestFactory().get("/")


class Setting(Things):
    """Section whose hooks communicate through attributes of the sitemap."""

    at = 0

    def location(self, item: str) -> str:
        self.at = ord(item[0]) - ord("a")
        self.priority = self.at / 10  # type: ignore[assignment]
        return f"/{item}/"

    @property
    def changefreq(self) -> str:  # type: ignore[override]
        return CHANGEFREQS[self.at]


def test_what_hooks_set_for_an_item_is_its_own() -> None:
    def found(view: Any) -> list[Any]:
        root = ElementTree.fromstring(view.sitemap(request(), {"s": Setting}).render().content)  # noqa: S314 ours
        return [[(part.tag, part.text) for part in url] for url in root]

    assert found(views) == found(contrib_views)
    assert len({str(url) for url in found(views)}) == 3


TENANT: ContextVar[str] = ContextVar("tenant", default="none")


class Surrounded(Things):
    """Section whose URLs depend on everything that can be active around a view."""

    def items(self) -> list[str]:
        return ["a"]

    def location(self, item: str) -> str:
        zone = zones.get_current_timezone_name()
        return f"{reverse('about')}{translation.get_language()}/{zone}/{get_urlconf()}/{TENANT.get()}/"


@contextmanager
def surroundings() -> Iterator[None]:
    token = TENANT.set("first")
    set_script_prefix("/prefix/")
    set_urlconf("tests.urls")
    try:
        with translation.override("de"), zones.override("Asia/Tokyo"):
            yield
    finally:
        TENANT.reset(token)
        set_urlconf(None)
        clear_script_prefix()


def test_what_is_active_around_the_view_is_active_for_its_items() -> None:
    with surroundings():
        urls = views.sitemap(request(), {"s": Surrounded}).context_data["urlset"]
        assert urls == contrib_views.sitemap(request(), {"s": Surrounded}).context_data["urlset"]
    assert [url["location"] for url in urls] == [
        "http://example.com/prefix/about/de/Asia/Tokyo/tests.urls/first/"
    ]
    with translation.override(None):
        [url] = views.sitemap(request(), {"s": Surrounded}).context_data["urlset"]
    assert url["location"] == "http://example.com/about/None/Europe/Zurich/None/none/"


class Anything:
    """An item that has every attribute."""

    def __getattr__(self, name: str) -> str:
        return "/wrong/"


@pytest.mark.usefixtures("articles")
def test_an_item_or_a_row_with_every_attribute_changes_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    attributes = {"items": lambda self: [Anything()], "location": lambda self, item: "/right/"}
    section = type("Any", (Sitemap,), {**attributes, "lastmod": DAY, "priority": lazystr("0.5")})
    content = views.sitemap(request(), {"s": section}).render().content
    assert b"/right/</loc><lastmod>2026-01-01T12:00:00Z</lastmod><priority>0.5</priority>" in content
    assert b"wrong" not in content
    monkeypatch.setattr(Article, "__getattr__", Anything.__getattr__, raising=False)
    Article.objects.update(slug="/right/")
    section = type("Any", (Routed,), {"location": F("slug")})
    content = views.sitemap(request(), {"s": section}).render().content
    assert content.count(b"/right/</loc>") == 7


def test_an_error_of_an_item_is_raised_by_the_view() -> None:
    class Broken(Things):
        def location(self, item: str) -> str:
            raise LookupError(item)

    with pytest.raises(LookupError):
        views.sitemap(request(), {"s": Broken})


def test_hooks_are_called_item_by_item_in_the_order_of_contrib() -> None:
    calls: dict[type, list[str]] = {}

    def noting(name: str) -> Any:
        def hook(self: Any, item: str) -> Any:
            calls.setdefault(type(self), []).append(f"{name} {item}")
            return {"location": "/x/", "lastmod": DAY}.get(name)

        return hook

    hooks = {name: noting(name) for name in ("changefreq", "lastmod", "location", "priority")}
    ours = type("Ours", (Things,), hooks)
    theirs = type("Theirs", (contrib.Sitemap,), {**hooks, "items": Things.items})
    assert (
        views.sitemap(request(), {"s": ours}).render().content
        == views.sitemap(request(), {"s": theirs}).render().content
    )
    assert calls[ours] == calls[theirs]
    assert len(calls[ours]) == 12


class Counting(Things):
    asked: ClassVar[int] = 0

    def items(self) -> list[str]:
        Counting.asked += 1
        return super().items()


@pytest.mark.parametrize(
    "template", ["<nothing/>", "{% for url in urlset %}{{ url.location }}{% endfor %}"]
)
def test_a_template_of_the_project_gets_contribs_own_list(
    template: str, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitemap.xml").write_text(template)
    settings.TEMPLATES = projects.templates(tmp_path)
    monkeypatch.setattr(Counting, "asked", 0)
    response = views.sitemap(request(), {"s": Counting})
    urls = response.context_data["urlset"]
    assert type(urls) is list
    assert urls == contrib_views.sitemap(request(), {"s": Things}).context_data["urlset"]
    assert response.headers["Last-Modified"] == "Mon, 05 Jan 2026 15:00:00 GMT"
    response.render()
    assert Counting.asked == 1


def test_a_template_that_is_not_there_is_missed_at_the_rendering() -> None:
    response = views.sitemap(request(), {"s": Things}, template_name="nowhere.xml")
    with pytest.raises(TemplateDoesNotExist):
        response.render()


@pytest.mark.parametrize(
    "overrides",
    [
        {"get_urls": lambda self, **kwargs: [{"location": f"http://x/{len(self.items())}/"}]},
        {"_location": lambda self, item, force=None: "/x/"},
        {"i18n": True},
    ],
    ids=["get_urls", "internals", "i18n"],
)
def test_a_class_that_overrides_internals_gets_its_own_list(
    overrides: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Counting, "asked", 0)
    own = type("Own", (Counting,), overrides)
    response = views.sitemap(request(), {"s": own}).render()
    assert Counting.asked == 1
    assert response.context_data is not None
    assert len(response.context_data["urlset"]) > 0
    assert Counting.asked == 1


@pytest.fixture
def articles() -> None:
    category = CategoryFactory(slug="c")
    for number in range(7):
        article = ArticleFactory(slug=f"a{number}", category=category, updated=DAY)
        article.tags.add(TagFactory(name=f"t{number}"))


class Prefetched(Sitemap[Article]):
    def items(self) -> Any:
        return Article.objects.order_by("-slug").prefetch_related("tags").select_related("category")

    def location(self, item: Article) -> str:
        return f"/{item.category.slug}/{item.slug}/{item.tags.all()[0].name}/"  # type: ignore[union-attr]


class Routed(Sitemap[Article]):
    location = Route("article", slug=F("slug"))
    lastmod = F("updated")

    def items(self) -> Any:
        return Article.objects.order_by("-slug").filter(category__slug="c")


class Joined(Routed):
    """Section that joins the category only for a column."""

    location = Route("word", word=F("category__slug"))

    def items(self) -> Any:
        return Article.objects.order_by("-slug")


class Repeated(Joined):
    location = Route("word", word=F("tags__name"))


def union() -> QuerySet[Article]:
    some = Article.objects.filter(slug__lt="a3")
    return some.union(Article.objects.filter(slug__gte="a3")).order_by("-slug")


@pytest.mark.usefixtures("articles")
class TestRows:
    @pytest.mark.parametrize("i18n", [False, True])
    @pytest.mark.parametrize("shape", ["plain", "slice", "union"])
    def test_are_queried_once_for_all_their_columns(self, shape: str, i18n: bool) -> None:
        rows = Article.objects.order_by("-slug")
        shapes = {"plain": rows, "slice": rows[:6], "union": union()}
        attributes = {"items": lambda self: shapes[shape], "i18n": i18n, "languages": ["de", "en"]}
        section = type("Shaped", (Routed,), attributes)
        Site.objects.get_current()
        with CaptureQueriesContext(connection) as queries:
            content = views.sitemap(request(), {"s": section}).render().content
        assert content.count(b"/articles/a5/</loc>") == content.count(b"<lastmod>") / len(shapes[shape]) > 0
        # A count, the rows, and the columns of a union, which Django cannot annotate.
        assert len(queries) == 2 + (shape == "union")

    def test_that_are_deleted_meanwhile_are_not_listed(self) -> None:
        class Losing(Routed):
            def items(self) -> Any:
                rows = union()
                len(rows)
                Article.objects.filter(slug="a3").delete()
                return rows

        content = views.sitemap(request(), {"s": Losing}).render().content
        assert (content.count(b"<loc>"), content.count(b"/a3/")) == (6, 0)

    def test_are_counted_without_the_joins_of_columns(self) -> None:
        with CaptureQueriesContext(connection) as queries:
            assert Joined().paginator.count == 7
        assert "JOIN" not in queries[0]["sql"]

    def test_are_counted_as_often_as_they_come(self) -> None:
        Article.objects.get(slug="a0").tags.add(TagFactory(name="more"))
        assert Repeated().paginator.count == len(list(Repeated()._items())) == 8

    @pytest.mark.parametrize(("is_evaluated", "count"), [(False, 3), (True, 0)])
    def test_are_queried_with_their_prefetches_and_a_count_unless_they_are_evaluated(
        self, is_evaluated: bool, count: int, django_assert_num_queries: Any
    ) -> None:
        rows = Prefetched().items()
        if is_evaluated:
            list(rows)
        Site.objects.get_current()
        section = type("Section", (Prefetched,), {"items": lambda self: rows})
        with django_assert_num_queries(count):
            content = views.sitemap(request(), {"s": section}).render().content
        assert (content.count(b"<url>"), b"/c/a6/t6/" in content) == (7, True)

    def test_are_not_kept_while_the_newest_time_is_searched(self, monkeypatch: Any) -> None:
        """For an index, contrib keeps all of them in memory at once."""
        monkeypatch.setattr(sitemaps.base, "AT_A_TIME", 2)
        alive: list[int] = []
        seen: list[Any] = []

        class Watched(Joined):
            def lastmod(self, item: Article) -> Any:  # type: ignore[override]
                seen.append(weakref.ref(item))
                alive.append(sum(ref() is not None for ref in seen))
                return item.updated

        Article.objects.update(updated=DAY)
        assert Watched().get_latest_lastmod() == DAY
        assert len(alive) == 7
        assert max(alive) <= 3

    def test_of_a_queryset_that_fetches_in_its_own_way_are_fetched_so(self) -> None:
        class Attaching(QuerySet[Article]):
            def _fetch_all(self) -> None:
                super()._fetch_all()  # type: ignore[misc]
                for row in self._result_cache:  # type: ignore[attr-defined]
                    row.extra = "attached"

        class Attached(Sitemap[Article]):
            def items(self) -> Any:
                return Attaching(Article).order_by("pk")

            def location(self, item: Article) -> str:
                return f"/{item.extra}/"  # type: ignore[attr-defined]

        assert views.sitemap(request(), {"s": Attached}).render().content.count(b"/attached/") == 7
        source = sources.source("s", Attached, Base("http", "x"), Limits(50_000, 10**7))
        (page,) = page_map(source, Limits(50_000, 10**7))
        found = locations(source.batches(page), "http://x")
        assert found == ["http://x/attached/"] * 7


def counted(rows: QuerySet[Any]) -> QuerySet[Any]:
    return rows.annotate(articles=Count("category__article"))


NEWEST = Max("category__article__updated")
#: Rows with a composite key, and an aggregate over a relation.
TICKETS: dict[str, tuple[Callable[[QuerySet[Any]], Any], dict[str, Any]]] = {
    "declared": (lambda rows: rows, {"lastmod": NEWEST}),
    "in the queryset": (counted, {}),
    "in both": (counted, {"lastmod": NEWEST}),
    "in a filter": (lambda rows: counted(rows).filter(articles__gt=1), {}),
    "in a union": (lambda rows: counted(rows).union(counted(rows.filter(number=1))), {}),
    "as values": (lambda rows: counted(rows.values("category_id", "number")), {}),
}


@pytest.mark.sitemaps09
@pytest.mark.parametrize("name", TICKETS)
def test_rows_with_a_composite_key_are_all_listed_beside_an_aggregate(using: str, name: str) -> None:
    for number in range(3):
        category = CategoryFactory(slug=f"c{number}", using=using)
        for place in range(4):
            Ticket.objects.using(using).create(category=category, number=place)
            ArticleFactory(slug=f"a{number}{place}", category=category, using=using)
    make, hooks = TICKETS[name]
    location = PathTemplate("/{a}/{b}/", a=F("category_id"), b=F("number"))
    hooks = {**hooks, "queryset": make(Ticket.objects.using(using)), "location": location, "limit": 5}
    section = type("Tickets", (ModelSitemap,), hooks)
    found: set[bytes] = set()
    for page in (1, 2, 3):
        content = views.sitemap(RequestFactory().get("/", {"p": page}), {"s": section}).render().content
        found |= {line for line in content.splitlines() if b"<loc>" in line}
    assert len(found) == section().paginator.count == 12
