"""Contrib's road: `index` and `sitemap` as in `django.contrib.sitemaps.views`."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from copy import copy
from itertools import chain
from pathlib import Path
from typing import Any

import django.contrib.sitemaps
from django.contrib.sitemaps.views import SitemapIndexItem, x_robots_tag
from django.contrib.sites.shortcuts import get_current_site
from django.core.paginator import EmptyPage, PageNotAnInteger
from django.http import Http404, HttpRequest
from django.template import Context, Node, NodeList, TemplateDoesNotExist, TemplateSyntaxError
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe

from django_sitemaps09 import sections, writer
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import IndexEntry
from django_sitemaps09.sections import Section
from django_sitemaps09.sources.urls import Host
from django_sitemaps09.views import urlset
from django_sitemaps09.views.listed import as_text, part, w3c_text
from django_sitemaps09.views.responses import last_modified, public
from django_sitemaps09.views.urlset import urlset_document

logger = logging.getLogger(__name__)

__all__ = ["SitemapIndexItem", "index", "sitemap", "x_robots_tag"]

# Templates of these names in contrib's own folder are not the project's: what they write, ours does.
_CONTRIB = Path(django.contrib.sitemaps.__file__).parent / "templates"


class UrlsetNode(Node):
    """All that the stock template `sitemap.xml` holds: the writer's document over `urlset`."""

    def render(self, context: Context) -> SafeString:
        # Without a look at it, not even for whether it is empty.
        return mark_safe(urlset_document(context.get("urlset")))  # noqa: S308 escaped by the writer


class IndexNode(Node):
    """The same for `sitemap_index.xml` and `sitemaps`."""

    def render(self, context: Context) -> SafeString:
        return mark_safe(index_document(context.get("sitemaps") or ()))  # noqa: S308


_NODES = {"sitemap.xml": UrlsetNode, "sitemap_index.xml": IndexNode}


class SitemapResponse(TemplateResponse):
    """A `TemplateResponse` for which contrib's stock templates are the same as ours.

    What is written is what `context_data` holds when the response is rendered, so middleware may
    read and change it; a template of the project is rendered as it is.
    """

    def is_stock(self) -> bool:
        """Whether all that the template does is to write the urlset."""
        try:
            found = self.resolve_template(self.template_name)
        except (TemplateDoesNotExist, TemplateSyntaxError):
            # Said when it is rendered.
            return False
        nodes = getattr(getattr(found, "template", None), "nodelist", ())
        return any(isinstance(node, UrlsetNode) for node in nodes)

    def resolve_template(self, template: Any) -> Any:
        """The template that Django finds; in place of contrib's, its twin by the writer."""
        found: Any = super().resolve_template(template)
        origin = Path(str(getattr(getattr(found, "origin", None), "name", "")))
        if origin.parent != _CONTRIB or origin.name not in _NODES:
            return found
        twin = copy(found)
        twin.template = copy(found.template)
        twin.template.nodelist = NodeList([_NODES[origin.name]()])
        return twin


@public
def index(
    request: HttpRequest,
    sitemaps: Mapping[Any, Section] | None = None,
    template_name: str = "sitemap_index.xml",
    content_type: str = "application/xml",
    sitemap_url_name: str = "django.contrib.sitemaps.views.sitemap",
) -> TemplateResponse:
    """The index of all sections, every page of each as `?p=`."""
    scheme, site = _host(request)
    found: list[SitemapIndexItem] = []
    lastmods: list[Any] = []
    for name, section in sections.mapping(sitemaps).items():
        sitemap = sections.bound(section, site.domain)
        path = reverse(sitemap_url_name, kwargs={"section": name})
        protocol = scheme if sitemap.protocol is None else sitemap.protocol
        location = f"{protocol}://{site.domain}{path}"
        lastmod = sitemap.get_latest_lastmod()
        lastmods.append(lastmod)
        found.append(SitemapIndexItem(location, lastmod))
        found += [
            SitemapIndexItem(f"{location}?p={number}", lastmod)
            for number in range(2, sitemap.paginator.num_pages + 1)
        ]
    return SitemapResponse(
        request,
        template_name,
        {"sitemaps": found},
        content_type=content_type,
        headers=last_modified(lastmods),
    )


@public
def sitemap(
    request: HttpRequest,
    sitemaps: Mapping[Any, Section] | None = None,
    section: Any = None,
    template_name: str = "sitemap.xml",
    content_type: str = "application/xml",
) -> TemplateResponse:
    """The page `?p=` of one section, or of all of them in one document."""
    scheme, site = _host(request)
    known = sections.mapping(sitemaps)
    if section is not None and section not in known:
        raise Http404(f"No sitemap available for section: {section!r}")
    page = request.GET.get("p", 1)
    response = SitemapResponse(request, template_name, content_type=content_type)
    stock = response.is_stock()
    found, parts = [], []
    for declared in known.values() if section is None else [known[section]]:
        try:
            found.append(sections.bound(declared, site.domain))
            entries = urlset.section(found[-1], page, site, scheme) if stock else None
            parts.append(entries or list(found[-1].get_urls(page=page, site=site, protocol=scheme)))
        except EmptyPage as error:
            raise Http404(f"Page {page} empty") from error
        except PageNotAnInteger as error:
            raise Http404(f"No page '{page}'") from error
    # Written now: what is active around a view, a language or a transaction, is gone when it is rendered.
    urls = urlset.written(parts) if stock else list(chain.from_iterable(parts))
    response.context_data = {"urlset": urls}
    lastmods = [getattr(sitemap, "latest_lastmod", None) for sitemap in found]
    for name, value in (last_modified(lastmods) or {}).items():
        response.headers[name] = value
    return response


def _host(request: HttpRequest) -> tuple[str | None, Any]:
    """The scheme and the site that sitemaps are asked for."""
    if conf.base_url is None:
        return request.scheme, get_current_site(request)
    return conf.base_url.scheme, Host(conf.base_url.domain, conf.base_url.domain)


def index_document(found: Iterable[Any]) -> str:
    """The items of contrib's index as a document."""
    entries = [
        IndexEntry(as_text(part(item, "location")) or "", w3c_text(part(item, "last_mod")))
        for item in found
    ]
    return writer.index_document(entries).decode()
