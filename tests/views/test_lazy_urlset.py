"""The urlset of the compatibility views is the same list as contrib's, but created on access."""

from __future__ import annotations

import copy
import gc
import operator
import pickle
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock
from xml.etree import ElementTree

import pytest
from django.contrib import sitemaps as contrib
from django.contrib.sitemaps import views as contrib_views
from django.contrib.sites.models import Site
from django.db import connection
from django.db.models import F, QuerySet
from django.http import HttpRequest
from django.template import TemplateDoesNotExist
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext
from django.urls import clear_script_prefix, get_urlconf, reverse, set_script_prefix, set_urlconf
from django.utils import timezone as zones, translation

from django_sitemaps09 import Route, Sitemap, sitemaps, sources, views
from django_sitemaps09.protocol import CHANGEFREQS, Base, Limits
from django_sitemaps09.views import compat_pages
from tests.compat import projects
from tests.models import Article
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


def made() -> Any:
    """Return a urlset that has not been read, and contrib's list."""
    theirs = contrib_views.sitemap(request(), {"s": Things}).context_data["urlset"]
    return views.sitemap(request(), {"s": Things}).context_data["urlset"], theirs


READS: dict[str, Callable[[Any], Any]] = {
    "list": list,
    "tuple": tuple,
    "sorted": lambda urls: sorted(urls, key=lambda url: str(url["location"])),
    "unpacked": lambda urls: [*urls],
    "an argument": lambda urls: (lambda *args: args)(*urls),
    "len": len,
    "true": bool,
    "first": lambda urls: urls[0],
    "slice": lambda urls: urls[1:],
    "equal": lambda urls: urls == [],
    "other is equal": lambda urls: [] == urls,  # noqa: SIM300 the order of the operands matters
    "in": lambda urls: made()[1][0] in urls,
    "repr": repr,
    "added": lambda urls: [*urls, 1],
    "plus": lambda urls: urls + [1],  # noqa: RUF005
    "plus behind": lambda urls: [1] + urls,  # noqa: RUF005
    "extended": lambda urls: (lambda found: found.extend(urls) or found)([0]),
    "assigned": lambda urls: (lambda found: found.__setitem__(slice(None), urls) or found)([0]),
    "copied": copy.copy,
    "reversed": lambda urls: list(reversed(urls)),
    "times": lambda urls: urls * 2,
    "popped": lambda urls: (urls.pop(), list(urls)),
    "appended": lambda urls: (urls.append(1), list(urls)),
    "cleared": lambda urls: (urls.clear(), list(urls)),
    "iterated": lambda urls: next(iter(urls)),
    "not equal": lambda urls: urls != [],
    "less": lambda urls: urls < [],
    "at most": lambda urls: urls <= [],
    "greater": lambda urls: urls > [],
    "at least": lambda urls: urls >= [],
    "last": lambda urls: (urls.__delitem__(0), list(urls)),
    "replaced": lambda urls: (urls.__setitem__(0, 1), list(urls)),
    "extended in place": lambda urls: (urls.extend([1]), list(urls)),
    "plus in place": lambda urls: list(operator.iadd(urls, [1])),
    "times in place": lambda urls: list(operator.imul(urls, 2)),
    "times behind": lambda urls: 2 * urls,
    "a copy": lambda urls: urls.copy(),
    "counted": lambda urls: urls.count(made()[1][0]),
    "found": lambda urls: urls.index(made()[1][1]),
    "inserted": lambda urls: (urls.insert(1, 1), list(urls)),
    "removed": lambda urls: (urls.remove(made()[1][1]), list(urls)),
    "reversed in place": lambda urls: (urls.reverse(), list(urls)),
    "sorted in place": lambda urls: (urls.sort(key=lambda url: str(url["item"]), reverse=True), list(urls)),
    "pickled": lambda urls: pickle.loads(pickle.dumps(urls)),  # noqa: S301
}


@pytest.mark.parametrize("read", READS)
def test_who_reads_it_finds_what_contrib_has(read: str) -> None:
    ours, theirs = made()
    assert READS[read](ours) == READS[read](theirs)


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


def test_an_access_that_fails_does_not_leave_an_empty_list() -> None:
    broken: list[str] = []

    class Breaking(Once):
        def location(self, item: str) -> str:
            if broken:
                raise LookupError("a hook is broken")
            return super().location(item)

    urls = views.sitemap(request(), {"s": Breaking}).context_data["urlset"]
    broken.append("by a deployment")
    for _ in range(2):
        with pytest.raises(LookupError):
            len(urls)
    broken.clear()
    assert [url["item"] for url in urls] == ["a", "b"]


def test_a_page_lists_its_items_once_and_again_for_a_look_after_the_rendering(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Deviation 10: the list is created on that access."""
    monkeypatch.setattr(Counting, "asked", 0)
    response = views.sitemap(request(), {"s": Counting}).render()
    assert Counting.asked == 1
    assert list(response.context_data["urlset"]) == made()[1]
    assert Counting.asked == 2


@pytest.mark.parametrize("looked", [True, False])
def test_bytes_and_headers_are_the_same_whether_the_urlset_is_read_or_not(looked: bool) -> None:
    response = views.sitemap(request(), {"s": Things, "t": Things})
    if looked:
        assert len(response.context_data["urlset"]) == 6
    assert response.headers["Last-Modified"] == "Mon, 05 Jan 2026 15:00:00 GMT"
    assert response.render().content.count(b"/b&amp;/</loc>") == 2


def test_what_is_active_around_the_view_is_active_for_its_items() -> None:
    class Localized(Things):
        def location(self, item: str) -> str:
            return f"/{translation.get_language()}/"

    with translation.override("de"):
        response = views.sitemap(request(), {"s": Localized})
    assert response.render().content.count(b"/de/</loc>") == 3


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


def surrounded(view: Any) -> Any:
    with surroundings():
        return view.sitemap(request(), {"s": Surrounded}).context_data["urlset"]


SURROUNDED = "http://example.com/prefix/about/de/Asia/Tokyo/tests.urls/first/"


def test_what_is_active_around_the_view_is_active_for_a_later_look() -> None:
    before = translation.get_language(), zones.get_current_timezone_name(), get_urlconf()
    urls = surrounded(views)
    assert [url["location"] for url in urls] == [SURROUNDED]
    assert list(urls) == surrounded(contrib_views)
    assert (translation.get_language(), zones.get_current_timezone_name(), get_urlconf()) == before
    assert TENANT.get() == "none"


def test_what_was_active_is_active_in_another_thread() -> None:
    urls = surrounded(views)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: [url["location"] for url in urls]).result() == [SURROUNDED]


def test_no_language_is_one_too() -> None:
    with translation.override(None):
        urls = views.sitemap(request(), {"s": Surrounded}).context_data["urlset"]
    assert [url["location"] for url in urls] == ["http://example.com/about/None/Europe/Zurich/None/none/"]


class Reset(Things):
    """Section with attributes that a project sets for one request."""

    changefreq = "daily"
    limit = 2
    prefix = "/live"

    def location(self, item: str) -> str:
        return f"{self.prefix}{super().location(item)}"


class ResetWithoutSubclasses(Reset):
    def __init_subclass__(cls, **kwargs: Any) -> None:
        raise AssertionError("reading `urlset` must not register a class")


@pytest.mark.parametrize(
    ("section", "items"),
    [
        (Reset, lambda self: ["x", "y"]),
        (Reset(), lambda: ["x", "y"]),
        (ResetWithoutSubclasses, lambda self: ["x", "y"]),
    ],
    ids=["class", "instance", "class that notices subclasses"],
)
def test_an_attribute_that_is_reset_after_the_view_is_what_it_was(section: Any, items: Any) -> None:
    found = []
    for view in (views, contrib_views):
        with ExitStack() as stack:
            for name, value in {
                "prefix": "/preview",
                "limit": 1,
                "priority": 0.7,
                "protocol": "https",
                "items": items,
            }.items():
                stack.enter_context(mock.patch.object(section, name, value, create=True))
            response = view.sitemap(request(), {"s": section})
        found.append(list(response.context_data["urlset"]))
        assert response.render().content.count(b"https://example.com/preview/x/") == 1
    ours, theirs = found
    assert ours == theirs
    assert [(url["location"], url["priority"]) for url in ours] == [
        ("https://example.com/preview/x/", "0.7")
    ]


def test_an_attribute_that_is_reset_is_what_it_was_if_lastmods_cannot_be_compared() -> None:
    class Mixed(Reset):
        def lastmod(self, item: str) -> Any:
            return self.newest if item == "a" else "yesterday"

        newest: Any = None

    with mock.patch.object(Mixed, "newest", DAY):
        urls = views.sitemap(request(), {"s": Mixed}).context_data["urlset"]
    assert [url["lastmod"] for url in urls] == [DAY, None]


class Uncopied(Things):
    """Section that cannot be copied."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("cannot be copied")


class Once(Things):
    """Section that lists its items only once."""

    listed = False

    def items(self) -> list[str]:
        found, self.listed = [] if self.listed else ["a", "b"], True
        return found


class Keeping(Things):
    """Section that keeps its items on its class."""

    kept: ClassVar[list[str]] = []

    def items(self) -> list[str]:
        type(self).kept = ["a", "b"]
        return self.kept

    def location(self, item: str) -> str:
        assert item in self.kept
        return f"/{item}/{len(self.kept)}/"


class Registering(Things):
    """Records its subclasses; reading `urlset` must not create any."""

    subclasses: ClassVar[list[str]] = []

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        Registering.subclasses.append(cls.__name__)


@pytest.mark.parametrize("section", [Uncopied, Once, Keeping, Registering])
def test_a_look_lists_what_contrib_lists_and_changes_no_document(section: Any) -> None:
    written = views.sitemap(request(), {"s": section}).render().content
    looked = views.sitemap(request(), {"s": section})
    theirs = contrib_views.sitemap(request(), {"s": section})
    assert list(looked.context_data["urlset"]) == list(theirs.context_data["urlset"]) != []
    assert looked.render().content == written
    assert Registering.subclasses == []


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
    assert type(response.context_data["urlset"]) is list
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
    """Its items are not listed again if the list is read."""
    monkeypatch.setattr(Counting, "asked", 0)
    own = type("Own", (Counting,), overrides)
    response = views.sitemap(request(), {"s": own}).render()
    assert Counting.asked == 1
    assert response.context_data is not None
    assert len(response.context_data["urlset"]) > 0
    assert Counting.asked == 1


class Item:
    """Item that counts the living instances."""

    alive: ClassVar[int] = 0
    most: ClassVar[int] = 0

    def __init__(self) -> None:
        Item.alive += 1
        Item.most = max(Item.most, Item.alive)

    def __del__(self) -> None:
        Item.alive -= 1


class Lazily:
    """Items for a paginator, created one by one."""

    def __len__(self) -> int:
        return 500

    def __getitem__(self, part: slice) -> Iterator[Item]:
        return (Item() for _ in range(500)[part])


class Counted(Sitemap[Item]):
    def items(self) -> Any:
        return Lazily()

    def location(self, item: Item) -> str:
        return "/x/"


def test_items_live_as_long_as_their_chunk_and_leave_no_cycle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compat_pages, "AT_A_TIME", 50)
    Item.most = 0
    gc.collect()
    gc.disable()
    try:
        response = views.sitemap(request(), {"s": Counted}).render()
        assert Item.alive <= 1
    finally:
        gc.enable()
    assert response.content.count(b"<url>") == 500
    assert 50 <= Item.most <= 102


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


@pytest.mark.usefixtures("articles")
class TestRows:
    def test_are_queried_with_their_prefetches_and_a_count(self) -> None:
        Site.objects.get_current()
        with CaptureQueriesContext(connection) as queries:
            response = views.sitemap(request(), {"s": Prefetched}).render()
        assert len(queries) == 3
        assert response.content.count(b"<url>") == 7
        assert b"/c/a6/t6/" in response.content

    @pytest.mark.parametrize("section", [Prefetched, Routed, Joined, Repeated])
    def test_give_the_same_page_whether_the_urlset_is_read_or_not(self, section: type[Sitemap]) -> None:
        looked = views.sitemap(request(), {"s": section})
        assert looked.context_data is not None
        assert len(looked.context_data["urlset"]) == 7
        assert views.sitemap(request(), {"s": section}).render().content == looked.render().content

    def test_are_counted_without_the_joins_of_columns(self) -> None:
        with CaptureQueriesContext(connection) as queries:
            assert Joined().paginator.count == 7
        assert "JOIN" not in queries[0]["sql"]

    def test_are_counted_as_often_as_they_come(self) -> None:
        Article.objects.get(slug="a0").tags.add(TagFactory(name="more"))
        assert Repeated().paginator.count == len(list(Repeated()._items())) == 8

    def test_that_are_evaluated_already_are_not_evaluated_again(self) -> None:
        rows = Article.objects.order_by("slug")
        list(rows)
        Site.objects.get_current()
        section = type("Evaluated", (Prefetched,), {"items": lambda self: rows, "location": "/x/"})
        with CaptureQueriesContext(connection) as queries:
            assert views.sitemap(request(), {"s": section}).render().content.count(b"<url>") == 7
        assert len(queries) == 0

    def test_are_let_go_when_the_response_is(self) -> None:
        """A prefetch of Django creates a reference cycle, but this package creates none."""
        seen: list[Any] = []

        class Watched(Joined):
            def location(self, item: Article) -> str:  # type: ignore[override]
                seen.append(weakref.ref(item))
                return "/x/"

        gc.disable()
        try:
            views.sitemap(request(), {"s": Watched}).render()
            assert [ref() for ref in seen] == [None] * 7
        finally:
            gc.enable()

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
