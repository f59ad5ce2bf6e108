"""The project that the documentation describes, and its documents."""

from __future__ import annotations

import copy
import gzip
import re
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.core import checks
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path
from lxml import etree

from django_sitemaps09 import ModelSitemap, register
from django_sitemaps09.export import export
from tests.docs.pages import PAGES, Place, blocks
from tests.shop.models import Product
from tests.support.schemas import schemas

BASE = "https://www.example.com"
SPACES = {
    "s": "http://www.sitemaps.org/schemas/sitemap/0.9",
    "xhtml": "http://www.w3.org/1999/xhtml",
    "image": "http://www.google.com/schemas/sitemap-image/1.1",
    "video": "http://www.google.com/schemas/sitemap-video/1.1",
    "news": "http://www.google.com/schemas/sitemap-news/0.9",
    "shop": "https://www.example.com/schemas/shop/1.0",
}
MOMENT = datetime(2026, 11, 19, 8, 15, tzinfo=timezone.utc)


#: Snippets that tests have run, by place and number. `snippet_of` adds them.
FOUND: set[tuple[Place, int]] = set()


def snippet_of(at: tuple[str, str], number: int = 0) -> Callable[..., Any]:
    """Pass a Python snippet to a test, and fail the test if it does not run the snippet."""
    FOUND.add((Place(*at, "python"), number))
    name = f"{at[1]} {number + 1}".replace(" ", "-")
    return pytest.mark.parametrize("snippet", [blocks("python", *at)[number]], indirect=True, ids=[name])


def documents(at: tuple[str, str]) -> list[bytes]:
    """Return the XML shown below a heading."""
    found = blocks("xml", *at)
    return [block.text.encode() for block in found]


def nothing(request: HttpRequest, **kwargs: object) -> HttpResponse:
    """View of all locations."""
    return HttpResponse()


PRODUCT = path("<slug:category>/<slug:slug>/", nothing, name="product-detail")
OTHERS = [
    path("articles/<slug:slug>/", nothing, name="article"),
    path("", nothing, name="home"),
    path("about/", nothing, name="about"),
]


class Shown(NamedTuple):
    """A document, and the URLs in it."""

    content: bytes
    root: Any
    urls: list[str]

    def elements(self, query: str) -> list[Any]:
        return list(self.root.iterfind(query, SPACES))

    def texts(self, query: str) -> list[str]:
        return [str(element.text) for element in self.elements(query)]


def shown(content: bytes) -> Shown:
    """Validate and parse a document."""
    root = etree.fromstring(content)
    known = copy.deepcopy(root)
    # The protocol allows elements of other namespaces if their schemas are available. The shop has no
    # schema.
    etree.strip_elements(known, f"{{{SPACES['shop']}}}*")
    schemas().assertValid(known)
    return Shown(content, root, [str(loc.text) for loc in root.iterfind("*/s:loc", SPACES)])


def live(address: str, **headers: Any) -> bytes:
    response = Client().get(address, **headers)
    assert response.status_code == 200
    return b"".join(response) if response.streaming else response.content


def both(folder: Path, name: str, sitemap: Any = None) -> Shown:
    """Return page 1 of a section, and check that the live and the exported page are the same."""
    if sitemap is not None:
        register(name, sitemap)
    served = live(f"/sitemap-{name}-1.xml")
    assert gzip.decompress(live(f"/sitemap-{name}-1.xml.gz")) == served
    report = export(output=folder)
    assert (report.failures, report.warnings) == ([], [])
    assert [section.errors for section in report.sections] == [()] * len(report.sections)
    assert gzip.decompress((folder / f"sitemap-{name}-1.xml.gz").read_bytes()) == served
    # The page map of the export differs from that of the rows, but the documents do not.
    assert live(f"/sitemap-{name}-1.xml") == served
    return shown(served)


def checked() -> list[str]:
    """Return the messages of `manage.py check` for a project with one database."""
    return [str(message) for message in checks.run_checks(databases=["default"])]


def declared(body: str, **names: object) -> Any:
    """Return a section of products with this line in its class."""
    text = f"class Declared(ModelSitemap):\n    model = Product\n    {body}\n"
    space = {"ModelSitemap": ModelSitemap, "Product": Product, **names}
    exec(text, space)  # noqa: S102 our own
    return space["Declared"]


def inline(page: str, start: str) -> str:
    """Return the only inline code of a page that begins with `start`."""
    [found] = {code for code in re.findall(r"`([^`\n]+)`", PAGES[page]) if str(code).startswith(start)}
    return str(found)
