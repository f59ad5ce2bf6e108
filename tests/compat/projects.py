"""Compare the responses of a project with contrib and of a project with this package."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from datetime import date, datetime, timezone
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from unittest import mock

from django.apps import apps
from django.contrib import sitemaps as contrib_package
from django.contrib.sites.models import Site
from django.http import HttpResponse
from django.template.backends import django as backend
from django.test import Client, override_settings
from django.utils import timezone as zones
from lxml import etree

from tests.compat.cases.parts import CASES
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


# This package has templates with the same names, so contrib's own must come first.
CONTRIB = Project("tests.compat.urls_contrib", (CONTRIB_TEMPLATES,))
COMPAT = Project("tests.compat.urls_compat", ())


@cache
def urlconf(project: Project, name: str) -> Any:
    """Return the URLconf of the case with this name, or of the project."""
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


_installed_libraries = backend.get_installed_libraries


@cache
def _libraries(names: tuple[str, ...]) -> dict[str, str]:
    return _installed_libraries()


def libraries() -> dict[str, str]:
    """Return the libraries of template tags. Django searches all apps whenever TEMPLATES change."""
    return dict(_libraries(tuple(app.name for app in apps.get_app_configs())))


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
        stack.enter_context(mock.patch.object(backend, "get_installed_libraries", libraries))
        response = getattr(Client(), method)(url, **extra)
        if look:
            context(response)
        return response


class Answer(NamedTuple):
    """The parts of a response, or of an error, that must be equal."""

    status: int
    headers: dict[str, str]
    body: bytes
    context: Any
    refusal: tuple[str, str] | None = None


def answer(project: Project, url: str, **options: Any) -> Answer:
    """Return the response of a project without changes."""
    try:
        response = fetch(project, url, look=True, **options)
    except Exception as problem:  # noqa: BLE001 - whatever contrib raises, we raise too
        return Answer(0, {}, b"", None, (type(problem).__name__, without_advice(problem)))
    return Answer(response.status_code, dict(response.headers), response.content, context(response))


def without_advice(problem: Exception) -> str:
    """Return the common part of two messages: for a missing location, ours adds what to declare."""
    return re.sub(r"\. \S+ has no `location`: define .*", "", str(problem))


def outcome(call: Callable[[], Any]) -> Any:
    """Return the result or the error of a call."""
    try:
        found = call()
        return list(found) if not isinstance(found, (date, type(None), int, str)) else found
    except Exception as problem:  # noqa: BLE001 - whatever contrib raises, we raise too
        return type(problem), without_advice(problem)


def context(response: HttpResponse) -> Any:
    """Return the context of the template in a comparable form, or the message of a 404."""
    if response.status_code == 404:
        return str(response.context["exception"])
    found: Mapping[str, Any] = getattr(response, "context_data", None) or {}
    return {
        key: {"urlset": list, "sitemaps": pairs}.get(key, lambda value: value)(value)
        for key, value in found.items()
    }


def pairs(entries: Iterable[Any]) -> list[tuple[Any, Any]]:
    """Return location and time of index entries, which can be contrib's, ours, or from a test."""
    return [
        (entry["location"], entry["last_mod"])
        if isinstance(entry, Mapping)
        else (entry.location, getattr(entry, "last_mod", None))
        for entry in entries
    ]


def contrib_answer(url: str, **options: Any) -> Answer:
    """Return contrib's response with times in our format: deviations 1 and 2."""
    found = answer(CONTRIB, url, **options)
    if found.status not in RENDERED or not found.body:
        return found
    return found._replace(body=canonical(found.body, [w3c(value) for value in lastmods(found)]))


def compat_answer(url: str, **options: Any) -> Answer:
    """Return the response of this package in a form that can be compared with `contrib_answer()`."""
    found = answer(COMPAT, url, **options)
    if found.status not in RENDERED or not found.body:
        return found
    return found._replace(body=canonical(found.body))


def lastmods(found: Answer) -> list[Any]:
    """Return the values that the stock templates write, in order."""
    if "sitemaps" in found.context:
        return [last_mod for _, last_mod in found.context["sitemaps"] if last_mod]
    values = [
        entry.get("lastmod") if isinstance(entry, Mapping) else getattr(entry, "lastmod", None)
        for entry in found.context.get("urlset", ())
    ]
    return [value for value in values if value]


def w3c(value: Any) -> str:
    """Return a date unchanged, and a time in UTC and whole seconds. A naive time is in `TIME_ZONE`."""
    if not isinstance(value, datetime):
        return str(value)
    if value.tzinfo is None:
        value = value.replace(tzinfo=zones.get_default_timezone())
    return f"{value.astimezone(timezone.utc):%Y-%m-%dT%H:%M:%SZ}"


def document(body: bytes) -> etree._Element:
    """Return the parsed body, without white space around texts."""
    root = etree.fromstring(body, etree.XMLParser(remove_blank_text=True, resolve_entities=False))
    for element in root.iter(f"{NAMESPACE}*"):
        element.text = (element.text or "").strip() or None
        element.tail = None
    return root


def canonical(body: bytes, times: Iterable[str] | None = None) -> bytes:
    """Return the body in canonical form, with `times` instead of its lastmods."""
    root = document(body)
    if times is not None:
        for element, text in zip(root.iter(f"{NAMESPACE}lastmod"), times, strict=True):
            element.text = text
    return etree.tostring(root, method="c14n", exclusive=True)


def texts(body: bytes, name: str) -> list[str]:
    """Return the text of every element with this name."""
    return [element.text or "" for element in document(body).iter(f"{NAMESPACE}{name}")]
