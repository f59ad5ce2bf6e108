"""The same request to a project on contrib and to one on this package, and how the answers compare."""

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

from tests.compat.cases import CASES
from tests.compat.urls import case_routes

HERE = Path(__file__).parent
NAMESPACE = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
CONTRIB_TEMPLATES = Path(contrib_package.__file__).parent / "templates"
RENDERED = (200, 203)
ARGUMENT_TEMPLATES = HERE / "templates"
PROJECT_TEMPLATES = HERE / "project"


class Project(NamedTuple):
    """The URLconf of a project, and the folders of templates that are found before those of apps."""

    urlconf: str
    templates: tuple[Path, ...]


# This package has templates of the same names, so contrib's own are put before them.
CONTRIB = Project("tests.compat.urls_contrib", (CONTRIB_TEMPLATES,))
COMPAT = Project("tests.compat.urls_compat", ())


@cache
def urlconf(project: Project, name: str) -> Any:
    """Return the URLconf of the case of that name, or that of the project."""
    if name not in CASES:
        return project.urlconf
    own: Any = import_module(project.urlconf)
    made: Any = ModuleType(f"{project.urlconf}.{name}")
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
    project: Project,
    url: str,
    *,
    folders: Iterable[Path] = (),
    method: str = "get",
    look: bool = False,
    **extra: Any,
) -> Any:
    """Return the response of a project; with `look`, its context is read while the URLs are active."""
    Site.objects.clear_cache()
    with ExitStack() as stack:
        routes = urlconf(project, url.split("/")[1])
        stack.enter_context(override_settings(ROOT_URLCONF=routes))
        places = (ARGUMENT_TEMPLATES, *folders, *project.templates)
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


def answer(project: Project, url: str, **options: Any) -> Answer:
    """Return the answer of a project as it is."""
    try:
        response = fetch(project, url, look=True, **options)
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


def contrib_answer(url: str, **options: Any) -> Answer:
    """Return contrib's answer with its times written as ours are, by the first and second deviation."""
    found = answer(CONTRIB, url, **options)
    if found.status not in RENDERED or not found.body:
        return found
    return found._replace(body=canonical(found.body, [w3c(value) for value in lastmods(found)]))


def compat_answer(url: str, **options: Any) -> Answer:
    """Return the answer of this package in a form that compares with `contrib_answer`."""
    found = answer(COMPAT, url, **options)
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
