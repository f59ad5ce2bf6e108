"""The entries of a section from each reader: live, exported and on the compatibility views."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

from django.core.cache import cache
from django.db.models import F
from django.test import RequestFactory
from django.urls import resolve

from django_sitemaps09 import ModelSitemap, Route, views
from django_sitemaps09.export import export
from django_sitemaps09.hooks.values import lastmod_text
from django_sitemaps09.views import compat
from django_sitemaps09.views.live import listing
from tests.support.published import SPACE, pages, plain, quick_folder
from tests.support.shelves import BASE

#: The path of each entry and its lastmod.
Entries = list[tuple[str, str | None]]
#: The entries of each page, with the lastmod of the page in the index.
Pages = list[tuple[str | None, Entries]]


def entries(document: bytes) -> Entries:
    root = ElementTree.fromstring(document)  # noqa: S314 our own output
    return [
        (str(entry.findtext(f"{SPACE}loc")).removeprefix(str(BASE)), entry.findtext(f"{SPACE}lastmod"))
        for entry in root
    ]


def native_pages(section: Any) -> Pages:
    # No listing of another section with this name.
    cache.clear()
    listing._kept.clear()
    request, declared = RequestFactory().get("/sitemap.xml"), {"s": section}
    found = []
    for path, lastmod in entries(views.sitemap_index(request, sitemaps=declared).content):
        match = resolve(path.removesuffix(".gz"))
        document = match.func(request, **{**match.kwargs, "sitemaps": declared}).content
        found.append((lastmod, entries(document)))
    return found


def exported_pages(section: Any, *, again: bool = False) -> Pages:
    """Export a section without skipped items. With `again`, a second run must write nothing."""
    declared: Any = {"s": section}
    with quick_folder() as folder:
        report = export(sitemaps=declared, output=folder)
        assert not report.failures, report.failures
        if not (folder / "sitemap.xml").exists():
            return []
        lastmods = [lastmod for _, lastmod in entries((folder / "sitemap.xml").read_bytes())]
        documents = [plain((folder / name).read_bytes(), compressed=False) for name in pages(folder)]
        assert not (again and export(sitemaps=declared, output=folder, changed_only=True).written)
    return list(zip(lastmods, map(entries, documents), strict=True))


def native(section: Any) -> Entries:
    return [entry for _, page in native_pages(section) for entry in page]


def exported(section: Any) -> Entries:
    return [entry for _, page in exported_pages(section) for entry in page]


def compatible(section: Any) -> Entries:
    """The pages of the compatibility views."""
    found: Entries = []
    for number in _numbers(section):
        response = compat.sitemap(RequestFactory().get("/", {"p": number}), sitemaps={"s": section})
        found += entries(response.render().content)
    return found


def url_dicts(section: Any) -> Entries:
    """The entries of `get_urls()`."""
    site: Any = SimpleNamespace(domain=BASE.domain, name=BASE.domain)
    sitemap = section() if isinstance(section, type) else section
    return [
        (url["location"].removeprefix(str(BASE)), lastmod_text(url["lastmod"]))
        for number in _numbers(section)
        for url in sitemap.get_urls(page=number, site=site, protocol=BASE.scheme)
    ]


def _numbers(section: Any) -> range:
    return range(1, (section() if isinstance(section, type) else section).paginator.num_pages + 1)


def compatible_index(section: Any) -> str | None:
    """The lastmod in the index of the compatibility views."""
    return lastmod_text(section().get_latest_lastmod())


WAYS: dict[str, Callable[[Any], Entries]] = {
    "native": native,
    "exported": exported,
    "compatible": compatible,
}


def assert_entries(section: Any, expected: Iterable[tuple[str, str | None]]) -> None:
    """Check that each reader lists exactly these entries, each as often as it is given."""
    for way, read in WAYS.items():
        _assert_same(way, Counter(read(section)), Counter(expected))


def assert_paths(section: Any, expected: Iterable[str] | Mapping[str, int]) -> None:
    """Check that each reader lists exactly these paths, each as often as it is given."""
    for way, read in WAYS.items():
        _assert_same(way, Counter(path for path, _ in read(section)), Counter(expected))


def _assert_same(way: str, found: Counter[Any], expected: Counter[Any]) -> None:
    assert found == expected, f"{way}: too many {found - expected}, missing {expected - found}"


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
