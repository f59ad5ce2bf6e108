"""The compatibility views: `index` and `sitemap` as in `django.contrib.sitemaps.views`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from copy import copy
from datetime import date
from functools import wraps
from itertools import chain
from pathlib import Path
from typing import Any

import django.contrib.sitemaps
from django.contrib.sitemaps.views import (  # type: ignore[attr-defined]
    SitemapIndexItem,
    _get_latest_lastmod,
    x_robots_tag,
)
from django.core.paginator import EmptyPage, PageNotAnInteger
from django.http import Http404, HttpRequest
from django.template import Context, Node, NodeList, TemplateDoesNotExist, TemplateSyntaxError
from django.template.response import TemplateResponse
from django.urls import get_script_prefix, get_urlconf, reverse, set_script_prefix, set_urlconf
from django.utils import timezone, translation
from django.utils.http import http_date
from django.utils.safestring import SafeString, mark_safe

from django_sitemaps09 import sections, writer
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import IndexEntry
from django_sitemaps09.hosts import HostSite, current_site
from django_sitemaps09.sections import Section
from django_sitemaps09.views import compat_pages
from django_sitemaps09.views.compat_pages import SectionPage, as_datetime, as_text, value_of, w3c_text
from django_sitemaps09.views.responses import public, warn_no_section

# Three of these names are from `django.contrib.sitemaps.views`. Projects import them for custom views.
__all__ = ["SitemapIndexItem", "_get_latest_lastmod", "index", "sitemap", "x_robots_tag"]

# The folder with the stock templates of Django. The writer replaces only these, not templates of projects.
_CONTRIB = Path(django.contrib.sitemaps.__file__).parent / "templates"


class Urlset(list[Any]):
    """The entry dicts in the template context of `django.contrib.sitemaps`, built on first access.

    The document of the stock template is written in advance. If nothing accesses the dicts, that document
    is the response. Dicts are built with the declarations and the state from the time of writing. Items are
    then read again, because keeping the items of a page would take 50% more time.
    """

    document: str | None = None
    make: Callable[[], list[dict[str, Any]]] | None = None

    def evaluate(self) -> None:
        """Create the dicts at the first call. Discard the document, since callers can change the list."""
        if self.make is not None:
            # If a hook fails, keep `make`: otherwise, the list would seem to be empty afterwards.
            dicts = self.make()
            self.make = None
            super().extend(dicts)
        self.document = None

    def __radd__(self, other: list[Any]) -> list[Any]:
        return [*other, *self]


def _evaluating(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of `list` that evaluates the urlset first."""

    @wraps(method)
    def evaluate_first(self: Urlset, *args: Any, **kwargs: Any) -> Any:
        self.evaluate()
        return method(self, *args, **kwargs)

    return evaluate_first


# The other methods create or describe a list, but neither read nor change its entries.
_OTHERS = ("class_getitem", "doc", "getattribute", "hash", "init", "new", "sizeof")
for _name in {*vars(list), "__reduce_ex__"} - {f"__{name}__" for name in _OTHERS}:
    setattr(Urlset, _name, _evaluating(getattr(list, _name)))


class UrlsetNode(Node):
    """Template node that replaces a stock `sitemap.xml`: it writes `urlset` with our writer."""

    def render(self, context: Context) -> SafeString:
        urls = context.get("urlset")
        document = urls.document if isinstance(urls, Urlset) else None
        if document is None:
            # Any key of an entry dict except `location` can be missing.
            batch = compat_pages.dicts_batch([] if urls is None else list(urls))
            document = compat_pages.urlset_document([batch])
        return mark_safe(document)  # noqa: S308 escaped by the writer


class IndexNode(Node):
    """Template node that replaces a stock `sitemap_index.xml`: it writes `sitemaps` with our writer."""

    def render(self, context: Context) -> SafeString:
        items = context.get("sitemaps")
        entries = [
            IndexEntry(as_text(value_of(item, "location")) or "", w3c_text(value_of(item, "last_mod")))
            for item in (() if items is None else items)
        ]
        return mark_safe(writer.index_document(entries).decode())  # noqa: S308


_NODES = {"sitemap.xml": UrlsetNode, "sitemap_index.xml": IndexNode}


class SitemapResponse(TemplateResponse):
    """A `TemplateResponse` that renders Django's stock sitemap templates with our writer.

    Templates of a project are rendered unchanged. As with Django's views, middleware can change
    `context_data` before the response is rendered.
    """

    def is_stock(self) -> bool:
        """Return whether the template is Django's stock `sitemap.xml`."""
        try:
            template = self.resolve_template(self.template_name)
        except (TemplateDoesNotExist, TemplateSyntaxError):
            # The same error is raised again when the response is rendered.
            return False
        nodes = getattr(getattr(template, "template", None), "nodelist", ())
        return any(isinstance(node, UrlsetNode) for node in nodes)

    def resolve_template(self, template: Any) -> Any:
        """Return the template that Django selects. A stock template becomes a copy that uses our writer."""
        resolved_template: Any = super().resolve_template(template)
        origin = Path(str(getattr(getattr(resolved_template, "origin", None), "name", "")))
        if origin.parent != _CONTRIB or origin.name not in _NODES:
            return resolved_template
        template_copy = copy(resolved_template)
        template_copy.template = copy(resolved_template.template)
        template_copy.template.nodelist = NodeList([_NODES[origin.name]()])
        return template_copy


@public
def index(
    request: HttpRequest,
    sitemaps: Mapping[Any, Section] | None = None,
    template_name: str = "sitemap_index.xml",
    content_type: str = "application/xml",
    sitemap_url_name: str = "django.contrib.sitemaps.views.sitemap",
) -> TemplateResponse:
    """Return the index of all pages of all sections. The URLs of later pages end in `?p=` and a number."""
    scheme, site = _host(request)
    items: list[SitemapIndexItem] = []
    lastmods: list[Any] = []
    for name, section in sections.mapping(sitemaps).items():
        sitemap = sections.bind(section, site.domain)
        path = reverse(sitemap_url_name, kwargs={"section": name})
        protocol = scheme if sitemap.protocol is None else sitemap.protocol
        location = f"{protocol}://{site.domain}{path}"
        lastmod = sitemap.get_latest_lastmod()
        lastmods.append(lastmod)
        items.append(SitemapIndexItem(location, lastmod))
        items += [
            SitemapIndexItem(f"{location}?p={number}", lastmod)
            for number in range(2, sitemap.paginator.num_pages + 1)
        ]
    # Registered sections would not be in an index that was passed other sections.
    if not items and sitemaps is None:
        warn_no_section()
    context, headers = {"sitemaps": items}, _last_modified(lastmods)
    return SitemapResponse(request, template_name, context, content_type=content_type, headers=headers)


@public
def sitemap(
    request: HttpRequest,
    sitemaps: Mapping[Any, Section] | None = None,
    section: Any = None,
    template_name: str = "sitemap.xml",
    content_type: str = "application/xml",
) -> TemplateResponse:
    """Return the page with the number `?p=` of one section, or of all sections in one document."""
    scheme, site = _host(request)
    declarations = sections.mapping(sitemaps)
    if section is not None and section not in declarations:
        raise Http404(f"No sitemap available for section: {section!r}")
    page = request.GET.get("p", 1)
    response = SitemapResponse(request, template_name, content_type=content_type)
    stock = response.is_stock()
    bound_sitemaps, parts = [], []
    for declaration in declarations.values() if section is None else [declarations[section]]:
        try:
            bound = sections.bind(declaration, site.domain)
            bound_sitemaps.append(bound)
            parts.append(compat_pages.section_page(bound, page, site, scheme, is_lazy=stock))
        except EmptyPage as error:
            raise Http404(f"Page {page} empty") from error
        except PageNotAnInteger as error:
            raise Http404(f"No page '{page}'") from error
    # Write the document while the language and the transaction around the view are still active.
    urls = _lazy_urlset(parts) if stock else [url for part in parts for url in part.make_dicts()]
    response.context_data = {"urlset": urls}
    lastmods = [getattr(sitemap, "latest_lastmod", None) for sitemap in bound_sitemaps]
    for name, value in _last_modified(lastmods).items():
        response.headers[name] = value
    return response


def _host(request: HttpRequest) -> tuple[str | None, Any]:
    """Return the scheme and the site for sitemaps. With `BASE_URL`, this needs no database query."""
    if conf.base_url is None:
        return request.scheme, current_site(request)
    return conf.base_url.scheme, HostSite(conf.base_url.domain)


def _lazy_urlset(parts: Sequence[SectionPage]) -> Urlset:
    """Write the document of several sections now, and return it as a `Urlset` for the template."""
    urlset = Urlset()
    urlset.document = compat_pages.urlset_document(chain.from_iterable(part.batches for part in parts))
    urlset.make = _with_current_state(lambda: [url for part in parts for url in part.make_dicts()])
    return urlset


def _with_current_state(make: Callable[[], list[Any]]) -> Callable[[], list[Any]]:
    """Return a function that calls `make` with the language, time zone and URLconf that are active now."""
    language, zone = translation.get_language(), timezone.get_current_timezone()
    urlconf, prefix = get_urlconf(), get_script_prefix()
    # Copy all context variables of the view, such as the tenant or the decimal context.
    context = copy_context()

    def make_with_state() -> list[Any]:
        # In another thread, Django does not read this state from the context.
        set_urlconf(urlconf)
        set_script_prefix(prefix)
        with translation.override(language), timezone.override(zone):
            return make()

    return lambda: context.copy().run(make_with_state)


def _last_modified(lastmods: list[Any]) -> dict[str, str]:
    """Return the header `Last-Modified` with the newest lastmod; an empty dict if a lastmod is missing."""
    if not lastmods or not all(isinstance(lastmod, date) for lastmod in lastmods):
        return {}
    return {"Last-Modified": http_date(max(map(as_datetime, lastmods)).timestamp())}
