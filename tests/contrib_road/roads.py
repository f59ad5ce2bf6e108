"""The same request on both roads, and what their answers are compared by."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from datetime import datetime, timezone
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from django.contrib import sitemaps as contrib_package
from django.contrib.sites.models import Site
from django.http import HttpResponse
from django.test import Client, override_settings
from django.utils import timezone as zones
from lxml import etree

from tests.contrib_road.cases import CASES
from tests.contrib_road.urls import case_routes

HERE = Path(__file__).parent
NAMESPACE = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
STOCK = Path(contrib_package.__file__).parent / "templates"
RENDERED = (200, 203)
BY_ARGUMENT = HERE / "templates"
PROJECT = HERE / "project"


class Road(NamedTuple):
    """A project's routes, and where its templates are looked for before the apps'."""

    urlconf: str
    templates: tuple[Path, ...]


# Our app brings templates of the same names, so contrib's own are put before them.
CONTRIB = Road("tests.contrib_road.urls_contrib", (STOCK,))
OURS = Road("tests.contrib_road.urls_ours", ())


@cache
def urlconf(road: Road, name: str) -> Any:
    """The URLconf that has the case of that name, or else the road's own."""
    if name not in CASES:
        return road.urlconf
    own: Any = import_module(road.urlconf)
    made: Any = ModuleType(f"{road.urlconf}.{name}")
    made.urlpatterns = case_routes(name, own.BASES, own.views)
    return made


def templates(*folders: Path, **options: Any) -> list[dict[str, Any]]:
    return [
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "DIRS": list(folders),
            "APP_DIRS": "loaders" not in options,
            "OPTIONS": options,
        }
    ]


def fetch(
    road: Road,
    url: str,
    *,
    folders: Iterable[Path] = (),
    method: str = "get",
    look: bool = False,
    **extra: Any,
) -> Any:
    """The road's answer to a request; with a look at its context, made while the road's URLs are there."""
    Site.objects.clear_cache()
    with ExitStack() as stack:
        routes = urlconf(road, url.split("/")[1])
        stack.enter_context(override_settings(ROOT_URLCONF=routes))
        places = (BY_ARGUMENT, *folders, *road.templates)
        stack.enter_context(override_settings(TEMPLATES=templates(*places)))
        response = getattr(Client(), method)(url, **extra)
        if look:
            context(response)
        return response


class Answer(NamedTuple):
    """What must be alike: an answer, or the refusal in its place."""

    status: int
    headers: dict[str, str]
    body: bytes
    context: Any
    refusal: tuple[str, str] | None = None


def answer(road: Road, url: str, **options: Any) -> Answer:
    """The road's answer as it is."""
    try:
        response = fetch(road, url, look=True, **options)
    except Exception as problem:  # noqa: BLE001 - whatever contrib raises, we raise too
        return Answer(0, {}, b"", None, (type(problem).__name__, without_advice(problem)))
    return Answer(response.status_code, dict(response.headers), response.content, context(response))


def without_advice(problem: Exception) -> str:
    """What ours and contrib's say alike: ours adds what to declare where a location is missing."""
    return re.sub(r"\. \S+ has no `location`: define .*", "", str(problem))


def context(response: HttpResponse) -> Any:
    """What the template was given, in a form that compares; of a 404 what it says."""
    if response.status_code == 404:
        return str(response.context["exception"])
    found: Mapping[str, Any] = getattr(response, "context_data", None) or {}
    return {
        key: {"urlset": list, "sitemaps": pairs}.get(key, lambda value: value)(value)
        for key, value in found.items()
    }


def pairs(entries: Iterable[Any]) -> list[tuple[Any, Any]]:
    """Location and time of an index's entries, be they contrib's, ours, or what a test puts there."""
    return [
        (entry["location"], entry["last_mod"])
        if isinstance(entry, Mapping)
        else (entry.location, getattr(entry, "last_mod", None))
        for entry in entries
    ]


def expected(url: str, **options: Any) -> Answer:
    """Contrib's answer, its times written as ours are: the first and second deviation."""
    given = answer(CONTRIB, url, **options)
    if given.status not in RENDERED or not given.body:
        return given
    return given._replace(body=canonical(given.body, [w3c(value) for value in lastmods(given)]))


def given(url: str, **options: Any) -> Answer:
    """Our answer, comparable with `expected`."""
    found = answer(OURS, url, **options)
    if found.status not in RENDERED or not found.body:
        return found
    return found._replace(body=canonical(found.body))


def lastmods(found: Answer) -> list[Any]:
    """The values that the stock templates write, in their order."""
    if "sitemaps" in found.context:
        return [last_mod for _, last_mod in found.context["sitemaps"] if last_mod]
    values = [
        entry.get("lastmod") if isinstance(entry, Mapping) else getattr(entry, "lastmod", None)
        for entry in found.context.get("urlset", ())
    ]
    return [value for value in values if value]


def w3c(value: Any) -> str:
    """A date as it is; a time in UTC and whole seconds, a naive one taken in `TIME_ZONE`."""
    if not isinstance(value, datetime):
        return str(value)
    if value.tzinfo is None:
        value = value.replace(tzinfo=zones.get_default_timezone())
    return f"{value.astimezone(timezone.utc):%Y-%m-%dT%H:%M:%SZ}"


def document(body: bytes) -> etree._Element:
    """The parsed body, without the white space between and around texts."""
    root = etree.fromstring(body, etree.XMLParser(remove_blank_text=True, resolve_entities=False))
    for element in root.iter(f"{NAMESPACE}*"):
        element.text = (element.text or "").strip() or None
        element.tail = None
    return root


def canonical(body: bytes, times: Iterable[str] | None = None) -> bytes:
    """The body in canonical form, with `times` in place of its lastmods."""
    root = document(body)
    if times is not None:
        for element, text in zip(root.iter(f"{NAMESPACE}lastmod"), times, strict=True):
            element.text = text
    return etree.tostring(root, method="c14n", exclusive=True)


def texts(body: bytes, name: str) -> list[str]:
    """The text of every element of that name."""
    return [element.text or "" for element in document(body).iter(f"{NAMESPACE}{name}")]
