"""Two projects with the same cases, with contrib and with this package, whose responses are compared."""

from __future__ import annotations

import re
from collections import namedtuple
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from unittest import mock

from django.apps import apps
from django.conf.urls.i18n import i18n_patterns
from django.contrib import sitemaps as contrib_package
from django.contrib.sitemaps import views as contrib_views
from django.contrib.sites.models import Site
from django.template.backends import django as backend
from django.test import Client, override_settings
from django.urls import include, path
from django.views.decorators.cache import cache_page
from lxml import etree

from django_sitemaps09 import views
from tests.compat import cases
from tests.compat.cases import CASES, COMPAT_BASES, CONTRIB_BASES, LEAVES, NEW_YORK, UTC, ZURICH, Bases
from tests.models import Article
from tests.support.factories import CategoryFactory, FlatPageFactory
from tests.support.internals import lastmod_text
from tests.urls import nothing

HERE = Path(__file__).parent
NAMESPACE = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
CONTRIB_TEMPLATES = Path(contrib_package.__file__).parent / "templates"
ARGUMENT_TEMPLATES, PROJECT_TEMPLATES = HERE / "templates", HERE / "project"
UPDATED = {
    "alpha": datetime(2025, 1, 1, 10, 30, tzinfo=UTC),
    "beta & <b>": datetime(2025, 3, 30, 3, 15, 1, tzinfo=ZURICH),
    "gamma-ü": datetime(2026, 2, 28, 23, 59, 59, tzinfo=NEW_YORK),
    "delta": datetime(2024, 2, 29, tzinfo=UTC), 'omega "x"': None,
}  # fmt: skip


def populate():
    trees, rocks = CategoryFactory(slug="trees"), CategoryFactory(slug="rocks")
    for number, (slug, updated) in enumerate(UPDATED.items()):
        values = {"category": trees if number % 2 else rocks, "code": f"c{number}", "updated": updated}
        values |= {"day": updated and date(2025, 1, 1 + number), "weight": Decimal(number + 1) / 10}
        Article.objects.create(slug=slug, **values)
    for url, members in (("/about/", False), ("/a&b/", False), ("/members/", True)):
        FlatPageFactory(url=url, registration_required=members, sites=[1])


class Edit:
    """A middleware that applies a test's change to responses before they are rendered."""

    edit: Any = None

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        return self.get_response(request)

    def process_template_response(self, request, response):
        return Edit.edit(response) or response


class Project(NamedTuple):
    """What a project imports, and the folders of templates that are found before those of apps."""

    bases: Bases
    views: Any
    templates: tuple[Path, ...]

    @property
    def urlconf(self):
        return routes(self, "")


# This package has templates with the same names, so contrib's own must come first.
CONTRIB = Project(CONTRIB_BASES, contrib_views, (CONTRIB_TEMPLATES,))
COMPAT = Project(COMPAT_BASES, views, ())
UTF_16 = "text/plain; charset=utf-16"
#: The name of the view that contrib's index looks for.
DEFAULT = "django.contrib.sitemaps.views.sitemap"
STATIC = [
    path("home/", nothing, name="home"),
    path("about/", nothing, name="about"),
    path("shop/<slug:category>/<str:slug>/", nothing, name="article"),
    *i18n_patterns(
        path("leaf/<slug:slug>/", nothing, name="localized"),
        path("article/<int:pk>/", nothing, name="localized-article"),
    ),
]


def counted(bases):
    class Counted(cases.section(bases, LEAVES, lastmod=cases.updated)):
        made = 0

        def __init__(self):
            type(self).made += 1

    return Counted


def _routes(project, name):
    """Return the routes of a case, or else those that contrib's documentation shows, and others."""
    bases, views, _ = project
    index, sitemap = views.index, views.sitemap
    if name in CASES:
        some = cases.sections(name, bases)
        return [
            path(f"{name}/index.xml", index, {"sitemaps": some}),
            path(f"{name}/sitemap.xml", sitemap, {"sitemaps": some}),
            path(f"{name}/sitemap-<section>.xml", sitemap, {"sitemaps": some}, name=DEFAULT),
        ]

    some = {**cases.sections("hooks_as_methods", bases), **cases.sections("limits", bases)}

    def of(view, url, sections=some, name=None, **options):
        return path(url, view, {"sitemaps": sections, **options}, name=name)

    escaped, zoned = (cases.sections(name, bases) for name in ("locations_to_escape", "times_with_zones"))
    nested = [of(sitemap, "sitemap-<path:section>.xml", name="page")]
    both, cached = {"counted": counted(bases)}, cache_page(600)
    return [
        # Without a name, as in the first example of contrib's documentation.
        of(index, "sitemap.xml"),
        of(sitemap, "sitemap-<section>.xml", name=DEFAULT),
        of(sitemap, "fixed.xml", section="two"),
        of(sitemap, "fixed-unknown.xml", section="three"),
        of(sitemap, "fixed-empty.xml", section=""),
        of(sitemap, "whole/", section=None),
        path("nested/", include((nested, "inner"), "outer")),
        of(index, "nested.xml", sitemap_url_name="outer:inner:page"),
        of(index, "nested-well.xml", sitemap_url_name="outer:page"),
        of(index, "unnamed.xml", sitemap_url_name="nowhere"),
        of(index, "unnamed-empty.xml", {}, sitemap_url_name="nowhere"),
        of(index, "templates/index.xml", template_name="compat/index.xml"),
        of(sitemap, "templates/sitemap.xml", template_name="compat/urls.txt"),
        of(sitemap, "templates/several.xml", template_name=["compat/none.xml", "sitemap.xml"]),
        of(index, "templates/several-index.xml", template_name=("compat/index.xml", "sitemap_index.xml")),
        of(sitemap, "templates/extending.xml", zoned, template_name="compat/extending.xml"),
        of(sitemap, "templates/no.xml", template_name="no.xml"),
        of(index, "types/index.xml", content_type="text/xml"),
        of(sitemap, "types/sitemap.xml", content_type="text/plain; charset=utf-8"),
        of(sitemap, "types/latin.xml", escaped, template_name="compat/urls.txt", content_type=UTF_16),
        of(index, "counted/index.xml", both, sitemap_url_name="counted"),
        of(sitemap, "counted/sitemap-<section>.xml", both, name="counted"),
        of(cached(index), "cached/index.xml", both, sitemap_url_name="cached"),
        of(cached(sitemap), "cached/sitemap-<section>.xml", both, name="cached"),
    ]


@cache
def routes(project, name=""):
    made = ModuleType(f"tests.compat.urls.{name}")
    made.urlpatterns = [*STATIC, *_routes(project, name)]
    return made


def templates(*folders, **options):
    engine = {"BACKEND": "django.template.backends.django.DjangoTemplates", "DIRS": [*folders]}
    return [{**engine, "APP_DIRS": "loaders" not in options, "OPTIONS": options}]


_installed_libraries = backend.get_installed_libraries
_libraries = cache(lambda names: _installed_libraries())


def libraries():
    """Return the libraries of template tags. Django searches all apps whenever TEMPLATES change."""
    return dict(_libraries(tuple(app.name for app in apps.get_app_configs())))


def fetch(project, url, *, folders=(), method="get", look=False, **extra):
    """Return the response of a project; with `look`, its context is read while the URLs are active."""
    Site.objects.clear_cache()
    name = url.split("/")[1]
    places = (ARGUMENT_TEMPLATES, *folders, *project.templates)
    with ExitStack() as stack:
        urls = routes(project, name if name in CASES else "")
        stack.enter_context(override_settings(ROOT_URLCONF=urls, TEMPLATES=templates(*places)))
        stack.enter_context(mock.patch.object(backend, "get_installed_libraries", libraries))
        response = getattr(Client(), method)(url, **extra)
        if look:
            context(response)
        return response


#: The parts of a response, or of an error, that must be equal.
Answer = namedtuple("Answer", "status headers body context refusal", defaults=[None])


def answer(project, url, **options):
    try:
        response = fetch(project, url, look=True, **options)
    except Exception as problem:  # noqa: BLE001 - whatever contrib raises, we raise too
        return Answer(0, {}, b"", None, (type(problem).__name__, without_advice(problem)))
    return Answer(response.status_code, dict(response.headers), response.content, context(response))


def without_advice(problem):
    """Return the common part of two messages: for a missing location, ours adds what to declare."""
    return re.sub(r"\. \S+ has no `location`: define .*", "", str(problem))


def outcome(call):
    try:
        found = call()
        return list(found) if not isinstance(found, (date, type(None), int, str)) else found
    except Exception as problem:  # noqa: BLE001 - whatever contrib raises, we raise too
        return type(problem), without_advice(problem)


def context(response):
    """Return the context of the template in a comparable form, or the message of a 404."""
    if response.status_code == 404:
        return str(response.context["exception"])
    found, forms = getattr(response, "context_data", None) or {}, {"urlset": list, "sitemaps": pairs}
    return {key: forms.get(key, lambda value: value)(value) for key, value in found.items()}


def pairs(entries):
    """Return location and time of index entries, which can be contrib's, ours, or from a test."""
    fields = [entry if isinstance(entry, Mapping) else vars(entry) for entry in entries]
    return [(found["location"], found.get("last_mod")) for found in fields]


def canonical_answer(project, url, **options):
    """Return a response without deviations 1, 2 and 8: times in our format, and no white space."""
    found = answer(project, url, **options)
    if found.status not in (200, 203) or not found.body:
        return found
    times = map(lastmod_text, lastmods(found)) if project is CONTRIB else None
    return found._replace(body=canonical(found.body, times))


def assert_same(url, **options):
    ours = canonical_answer(COMPAT, url, **options)
    assert ours == canonical_answer(CONTRIB, url, **options), url
    return ours


def lastmods(found):
    if "sitemaps" in found.context:
        return [last_mod for _, last_mod in found.context["sitemaps"] if last_mod]
    values = [
        entry.get("lastmod") if isinstance(entry, Mapping) else getattr(entry, "lastmod", None)
        for entry in found.context.get("urlset", ())
    ]
    return [value for value in values if value]


def document(body):
    root = etree.fromstring(body, etree.XMLParser(remove_blank_text=True, resolve_entities=False))
    for element in root.iter(f"{NAMESPACE}*"):
        element.text = (element.text or "").strip() or None
        element.tail = None
    return root


def canonical(body, times=None):
    """Return the body in canonical form, with `times` instead of its lastmods."""
    root = document(body)
    if times is not None:
        for element, text in zip(root.iter(f"{NAMESPACE}lastmod"), times, strict=True):
            element.text = text
    return etree.tostring(root, method="c14n", exclusive=True)


def texts(body, name):
    return [element.text or "" for element in document(body).iter(f"{NAMESPACE}{name}")]
