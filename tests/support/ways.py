"""The ways by which a section's entries reach a reader: `WAYS`, each with all entries and all errors.

Use them for what must hold of live pages, files, runs of an export and Django's pages alike.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from functools import cache as once, partial
from types import SimpleNamespace
from typing import NamedTuple
from unittest import mock
from xml.etree import ElementTree

from django.contrib import sitemaps as contrib
from django.contrib.sitemaps import views as contrib_views
from django.core.cache import cache
from django.template.backends.django import DjangoTemplates
from django.template.loader import get_template
from django.test import RequestFactory
from django.urls import resolve

from django_sitemaps09 import views
from django_sitemaps09.export import export
from tests.support.configuration import BASE
from tests.support.internals import NAMESPACES, compat, lastmod_text, listing
from tests.support.killing import dies_at
from tests.support.published import SPACE, pages, plain, quick_folder

HOST = BASE.partition("://")[2]
SITE = SimpleNamespace(domain=HOST, name=HOST)

# For the prefixes in the text of elements.
for _prefix, _namespace in NAMESPACES.items():
    ElementTree.register_namespace(_prefix, _namespace)


class Entry(NamedTuple):
    """A whole entry. `others` has the canonical text of all other elements, in their order.

    Languages are as they are written: `pt-BR` on our pages, `pt-br` on Django's.
    """

    path: str
    lastmod: str | None = None
    changefreq: str | None = None
    priority: str | None = None
    others: tuple[str, ...] = ()


FIELDS = [f"{SPACE}{name}" for name in ("loc", "lastmod", "changefreq", "priority")]


def whole(document):
    return [
        Entry(
            str(entry.findtext(FIELDS[0])).removeprefix(BASE),
            *map(entry.findtext, FIELDS[1:]),
            others=tuple(
                ElementTree.canonicalize(ElementTree.tostring(child), strip_text=True)
                for child in entry
                if child.tag not in FIELDS
            ),
        )
        for entry in ElementTree.fromstring(document)  # noqa: S314 our own output
    ]


def entries(document):
    """Return path and lastmod of each entry."""
    return [entry[:2] for entry in whole(document)]


def native_pages(section, read=entries):
    """Return the lastmod of each page in the index, and its entries."""
    # No listing of another section with this name.
    cache.clear()
    listing._kept.clear()
    request, declared, found = RequestFactory().get("/sitemap.xml"), {"s": section}, []
    for path, lastmod in entries(views.sitemap_index(request, sitemaps=declared).content):
        match = resolve(path.removesuffix(".gz"))
        found.append((lastmod, read(match.func(request, **{**match.kwargs, "sitemaps": declared}).content)))
    return found


def published_pages(folder, read=entries):
    if not (folder / "sitemap.xml").exists():
        return []
    lastmods = [lastmod for _, lastmod in entries((folder / "sitemap.xml").read_bytes())]
    documents = (plain((folder / name).read_bytes(), name.endswith(".gz")) for name in pages(folder))
    return list(zip(lastmods, map(read, documents), strict=True))


@contextmanager
def folder_of(section):
    with quick_folder() as folder:
        yield folder, partial(export, sitemaps={"s": section}, output=folder)


def exported_pages(section, *, again=False):
    """Export a section without skipped items. With `again`, a second run must write nothing."""
    with folder_of(section) as (folder, run):
        report = run()
        assert not report.failures, report.failures
        found = published_pages(folder)
        assert not (again and found and run(changed_only=True).written)
        return found


def _of_files(folder, report):
    errors = [str(error) for part in report.sections for error in part.errors]
    return _flat(published_pages(folder, whole)), sorted([*errors, *report.failures])


def exported(section):
    with folder_of(section) as (folder, run):
        return _of_files(folder, run())


def changed_only(section, change=None):
    """Export, which `--changed-only` must not repeat; then call `change`, and export with that option."""
    with folder_of(section) as (folder, run):
        found = _of_files(folder, run())
        assert not found[0] or not run(changed_only=True).written
        if change is None or not found[0]:
            return found
        change()
        run(changed_only=True)
        return _flat(published_pages(folder, whole)), found[1]


def killed(section):
    """Export, but end that like a power cut when one file is published, and export again.

    It is ended by an error in this process, because a fork does not see the rows of a test's transaction.
    """
    with folder_of(section) as (folder, run):
        was_killed, found = dies_at(2, run), _of_files(folder, run())
        assert was_killed or not found[0]
        return found


def _bound(section):
    return section() if isinstance(section, type) else section


def _numbers(section):
    return range(1, _bound(section).paginator.num_pages + 1)


def _django_pages(view, section, **options):
    for number in _numbers(section):
        request = RequestFactory(HTTP_HOST=HOST).get("/", {"p": number}, secure=True)
        yield view(request, sitemaps={"s": section}, **options).render()


def compatible_entries(section, read=whole):
    return [entry for answer in _django_pages(compat.sitemap, section) for entry in read(answer.content)]


@once
def _contrib_template():
    folder = f"{contrib.__path__[0]}/templates"
    options = {"NAME": "contrib", "DIRS": [folder], "APP_DIRS": False, "OPTIONS": {}}
    return DjangoTemplates(options).get_template("sitemap.xml")


def contrib_entries(section):
    """Return the entries of contrib's own view and template, with their lastmods as we write them.

    Contrib writes only the day of a time, and no images, videos, news and extensions.
    """
    found = []
    with mock.patch.object(contrib_views, "get_current_site", return_value=SITE):
        for answer in _django_pages(contrib_views.sitemap, section, template_name=_contrib_template()):
            lastmods = [lastmod_text(url["lastmod"] or None) for url in answer.context_data["urlset"]]
            for entry, lastmod in zip(whole(answer.content), lastmods, strict=True):
                assert (entry.lastmod is None) is (lastmod is None)
                found.append(entry._replace(lastmod=lastmod))
    return found


def url_dict_entries(section):
    """Return the entries of the dicts of `get_urls()`, rendered by our template."""
    pages = (_bound(section).get_urls(number, SITE, "https") for number in _numbers(section))
    urls = [url for page in pages for url in page]
    return whole(get_template("sitemap.xml").render({"urlset": urls}).strip())


def _flat(found):
    return [entry for _, page in found for entry in page]


class _Messages(logging.Handler):
    """Keep what is skipped, as an export reports it."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.texts = []

    def emit(self, record):
        message = record.getMessage()
        self.texts.append(message.partition("kipped ")[2] or message)


def _logged(read):
    """Return the entries of a reader, and what it logs or raises."""

    def way(section):
        logger, handler = logging.getLogger("django_sitemaps09"), _Messages()
        logger.addHandler(handler)
        try:
            return read(section), sorted(handler.texts)
        except Exception as error:  # noqa: BLE001 each is an error of the section
            return [], sorted([*handler.texts, str(error)])
        finally:
            logger.removeHandler(handler)

    return way


#: Each returns the entries of a section in their order, and the texts of its errors, sorted.
WAYS = {
    "native": _logged(lambda section: _flat(native_pages(section, whole))),
    "exported": exported,
    "changed_only": changed_only,
    "killed": killed,
    "compatible": _logged(compatible_entries),
    "contrib": _logged(contrib_entries),
    "get_urls": _logged(url_dict_entries),
}


def native(section):
    return _flat(native_pages(section))


def compatible(section):
    return compatible_entries(section, entries)


def compatible_index(section):
    """Return the lastmod in the index of the compatibility views."""
    return lastmod_text(section().get_latest_lastmod())


def by(*names):
    """A location that is made of texts, dicts, tuples or instances."""

    def parts(item):
        if isinstance(item, str | tuple):
            return [item] if isinstance(item, str) else item[: len(names)]
        return [item[name] if isinstance(item, dict) else getattr(item, name) for name in names]

    return lambda _, item: "/" + "".join(f"{part}/" for part in parts(item))
