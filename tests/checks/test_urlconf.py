"""Checks of sections that are passed in a URLconf: they are found, and not called."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any
from unittest import mock

import pytest
from django.conf import settings
from django.conf.urls.i18n import i18n_patterns
from django.db.models import F
from django.test import RequestFactory, override_settings
from django.urls import include, path, re_path
from django.utils.functional import SimpleLazyObject
from django.views.decorators.cache import cache_page, never_cache

from django_sitemaps09 import Route, checks, sections, views
from tests.models import Tag
from tests.support.checking import ARTICLE, INCLUDED, SLUG, checked, declaration, ids, ids_of, takes, unread

pytestmark = pytest.mark.usefixtures("nothing_is_asked")
ALIKE = {"shop": declaration(), "Shop": declaration()}


# Sections in a URLconf

INVALID_SECTION = declaration(location=SLUG, changefreq="sometimes")
INVALID_PASSED = {"sitemaps": {"bad": INVALID_SECTION}}
NAMES = {"sitemaps": {"a b": declaration(location=SLUG)}}


def plain_view(request: Any, **kwargs: Any) -> Any:
    """A view of another package."""


def wraps_itself(request: Any, **kwargs: Any) -> Any:
    """A decorated view that wraps itself."""


wraps_itself.__wrapped__ = wraps_itself  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "patterns",
    [
        [path("", INCLUDED, INVALID_PASSED)],
        [path("", INCLUDED, INVALID_PASSED), path("b/", INCLUDED, INVALID_PASSED)],
        [path("a/", include([path("b/", INCLUDED)]), INVALID_PASSED)],
        [path("a/", include([path("b/", INCLUDED, INVALID_PASSED)]), {"sitemaps": {}})],
        [*i18n_patterns(path("", INCLUDED, INVALID_PASSED))],
        [path("sitemap.xml", views.sitemap, INVALID_PASSED)],
        [path("sitemap.xml", cache_page(60)(views.index), INVALID_PASSED)],
        [re_path("a", never_cache(cache_page(60)(views.page)), INVALID_PASSED)],
        [path("robots.txt", views.robots_txt, INVALID_PASSED)],
    ],
)
def test_what_is_passed_in_a_urlconf_is_checked_once(patterns: list[Any]) -> None:
    assert checked(*patterns) == ["E011"]
    assert checked(*patterns, registered={"bad": INVALID_SECTION}) == ["E011"]


@pytest.mark.parametrize(
    "patterns",
    [
        [],
        [path("", INCLUDED)],
        [path("", INCLUDED, {"sitemaps": None})],
        [path("", INCLUDED, {"sitemaps": SimpleLazyObject(unread)})],
        [path("", plain_view, INVALID_PASSED)],
        [path("", wraps_itself, INVALID_PASSED)],
        [path("", include([path("b/", INCLUDED, {"sitemaps": {}})]), INVALID_PASSED)],
        [path("", INCLUDED, {"sitemaps": {"made": unread}})],
    ],
)
def test_sections_for_other_views_or_created_at_each_access_are_not_checked(patterns: list[Any]) -> None:
    assert checked(*patterns) == []


@pytest.mark.parametrize(
    "sitemaps", [INVALID_SECTION, [INVALID_SECTION], (), set(), "tests.SITEMAPS", takes]
)
def test_sitemaps_that_are_not_a_mapping_are_an_error(sitemaps: object) -> None:
    assert checked(path("", INCLUDED, {"sitemaps": sitemaps})) == ["E093"]


class Delegating:
    """A proxy that, like `werkzeug.local.LocalProxy`, looks up attributes elsewhere."""

    def __getattr__(self, name: str) -> Any:
        return getattr({}, name)


@pytest.mark.parametrize("sitemaps", [Delegating(), mock.MagicMock(spec=dict)])
def test_a_proxy_of_a_mapping_is_accepted(sitemaps: Any) -> None:
    assert checked(path("", INCLUDED, {"sitemaps": sitemaps})) == []
    assert sections.mapping(sitemaps) is sitemaps


class Stored(Mapping[str, Any]):
    """A mapping with a section for each row. Reading it fails without tables."""

    def __iter__(self) -> Iterator[str]:
        return iter([tag.name for tag in Tag.objects.all()])

    def __getitem__(self, name: str) -> Any:
        return INVALID_SECTION

    def __len__(self) -> int:
        return Tag.objects.count()


class StoredDict(dict[str, Any]):
    """A dict that is filled when it is first read."""

    def fill(self) -> StoredDict:
        self.update(Stored())
        return self

    def items(self) -> Any:
        return super(StoredDict, self.fill()).items()

    def values(self) -> Any:
        return super(StoredDict, self.fill()).values()


class Unreadable(Mapping[str, Any]):
    """A mapping that cannot be read yet."""

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("not before the first request")

    def __len__(self) -> int:
        return len(self.items())

    __getitem__ = takes


STORED, STORED_DICT, UNREADABLE = Stored(), StoredDict(), Unreadable()
LAZY: Any = SimpleLazyObject(lambda: {tag.name: INVALID_SECTION for tag in Tag.objects.all()})


@pytest.mark.parametrize("name", ["STORED", "STORED_DICT", "UNREADABLE", "LAZY"])
def test_a_mapping_that_is_not_a_plain_dict_is_not_read(name: str) -> None:
    given = {"sitemaps": globals()[name]}
    assert checked(path("sitemap.xml", views.index, given), path("s", views.sitemap, given)) == []
    assert checked(path("", INCLUDED, given)) == []
    with override_settings(SITEMAPS09={"SITEMAPS": f"{__name__}.{name}"}):
        assert checked(path("", INCLUDED), path("sitemap.xml", views.index)) == []
    # The views read it.
    with pytest.raises((AssertionError, RuntimeError)):
        views.sitemap_index(RequestFactory().get("/"), **given)


class Unusual(dict[str, Any]):
    """A project's subclass of dict that is read like any dict."""

    def __missing__(self, name: str) -> Any:
        raise AssertionError("a check has asked for a section")

    __len__ = __getitem__ = __contains__ = takes  # type: ignore[assignment]


@pytest.mark.parametrize(
    "kind",
    [dict, OrderedDict, Unusual, lambda given: defaultdict(takes, given), type("Own", (OrderedDict,), {})],
)
def test_a_dict_of_another_class_is_read_unless_that_changes_how(kind: Any) -> None:
    given = kind({"a b": INVALID_SECTION})
    assert checked(path("sitemap.xml", views.index, {"sitemaps": given})) == ["E011"]
    assert checked(path("", INCLUDED, {"sitemaps": given})) == ["W006", "E011"]


def test_names_that_are_passed_to_our_urls_can_be_in_urls() -> None:
    assert checked(path("", INCLUDED, NAMES)) == ["W006"]
    assert checked(path("", INCLUDED, {"sitemaps": ALIKE})) == ["W006"]
    assert checked(path("sitemap-<section>.xml", views.sitemap, NAMES)) == []


@pytest.mark.parametrize(
    "urlconf", ["tests.nowhere", "tests.checks.test_urlconf", (path("", include(ModuleType("empty"))),)]
)
def test_an_invalid_urlconf_is_left_to_djangos_checks(urlconf: Any) -> None:
    with override_settings(ROOT_URLCONF=urlconf):
        assert ids_of(checks.check_sections()) == []
        assert ids(declaration(location=Route("nowhere", slug=F("slug")))) == []


def test_a_urlconf_may_include_itself() -> None:
    module = ModuleType("recursive")
    module.app_name = "recursive"  # type: ignore[attr-defined]
    module.urlpatterns = [ARTICLE]  # type: ignore[attr-defined]
    module.urlpatterns += [  # type: ignore[attr-defined]
        path("again/", include(module)),
        path("", INCLUDED, INVALID_PASSED),
    ]
    with override_settings(ROOT_URLCONF=module):
        assert ids_of(checks.check_sections()) == ["E011"]


def test_without_a_urlconf_there_are_no_views() -> None:
    with override_settings():
        del settings.ROOT_URLCONF
        assert ids_of(checks.check_sections()) == []


SPACES = [
    path("a/", include(([ARTICLE], "shop"))),
    path("b/", include(([ARTICLE], "blog"), namespace="news")),
    path("<slug:tenant>/", include(([ARTICLE], "tenant"))),
]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("shop:article", []),
        ("news:article", []),
        # By the app name, which reverse() accepts.
        ("blog:article", []),
        # The prefix takes arguments, too.
        ("tenant:article", []),
        ("shop:nothing", ["E021"]),
        ("nothing:article", ["E021"]),
        ("shop:news:article", ["E021"]),
    ],
)
def test_a_route_may_lead_into_a_namespace(name: str, expected: list[str]) -> None:
    declared = declaration(location=Route(name, slug=F("slug")))
    assert checked(*SPACES, registered={"a": declared}) == expected
