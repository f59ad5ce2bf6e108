"""The entries of a section from each reader: live, exported and on the compatibility views."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

from django.db.models import F
from django.test import RequestFactory

from django_sitemaps09 import ModelSitemap, Route, views
from django_sitemaps09.export import export
from django_sitemaps09.hooks.values import lastmod_text
from django_sitemaps09.views import compat
from tests.support.published import SPACE, pages, plain, quick_folder
from tests.support.shelves import BASE

#: The path of each entry and its lastmod.
Entries = list[tuple[str, str | None]]


def entries(document: bytes) -> Entries:
    root = ElementTree.fromstring(document)  # noqa: S314 our own output
    return [
        (str(entry.findtext(f"{SPACE}loc")).removeprefix(str(BASE)), entry.findtext(f"{SPACE}lastmod"))
        for entry in root
    ]


def native(section: Any) -> Entries:
    request, declared = RequestFactory().get("/sitemap.xml"), {"s": section}
    found: Entries = []
    for path, _ in entries(views.sitemap_index(request, sitemaps=declared).content):
        number = path.rpartition("-")[2].partition(".")[0]
        found += entries(views.page(request, section="s", page=number, sitemaps=declared).content)
    return found


def exported(section: Any) -> Entries:
    with quick_folder() as folder:
        report = export(sitemaps={"s": section}, output=folder)
        assert not report.failures
        documents = [plain((folder / name).read_bytes(), compressed=False) for name in pages(folder)]
    return [entry for document in documents for entry in entries(document)]


def compatible(section: Any) -> Entries:
    """The pages of the compatibility views."""
    found: Entries = []
    for number in range(1, (section() if isinstance(section, type) else section).paginator.num_pages + 1):
        response = compat.sitemap(RequestFactory().get("/", {"p": number}), sitemaps={"s": section})
        found += entries(response.render().content)
    return found


def compatible_index(section: Any) -> str | None:
    """The lastmod in the index of the compatibility views."""
    return lastmod_text(section().get_latest_lastmod())


WAYS: dict[str, Callable[[Any], Entries]] = {
    "native": native,
    "exported": exported,
    "compatible": compatible,
}


def declare(queryset: Any, **hooks: Any) -> type[ModelSitemap[Any]]:
    hooks = {"location": Route("article", slug=F("slug")), "limit": 2, "queryset": queryset, **hooks}
    return type("Declared", (ModelSitemap,), hooks)


def by(*names: str) -> Callable[[Any, Any], str]:
    """A location that is made of dicts, of tuples or of instances."""

    def location(_: object, item: Any) -> str:
        if isinstance(item, dict):
            parts = [item[name] for name in names]
        elif isinstance(item, tuple):
            parts = [*item][: len(names)]
        else:
            parts = [getattr(item, name) for name in names]
        return "/" + "".join(f"{part}/" for part in parts)

    return location


def listed(section: Any) -> Counter[str]:
    """What the declared location gives for each row of `list(queryset)`."""
    sitemap = section()
    return Counter(
        sitemap.location(item) if callable(sitemap.location) else f"/articles/{item.slug}/"
        for item in section.queryset.all()
    )
