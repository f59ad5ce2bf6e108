"""The compatibility views: `index` and `sitemap` as in `django.contrib.sitemaps.views`."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from copy import copy
from datetime import date, datetime, time, timezone
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
from django.template import Engine, Template
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.http import http_date

from django_sitemaps09.conf import conf
from django_sitemaps09.declare import sections
from django_sitemaps09.declare.hosts import HostSite, contrib_site
from django_sitemaps09.declare.sections import Section
from django_sitemaps09.rows.get_urls import site_of
from django_sitemaps09.views.responses import public, warn_no_section

# Three of these names are from `django.contrib.sitemaps.views`. Projects import them for custom views.
__all__ = ["SitemapIndexItem", "_get_latest_lastmod", "index", "sitemap", "x_robots_tag"]

# The folder with the stock templates of Django, which ours replace.
_CONTRIBS = Path(django.contrib.sitemaps.__file__).parent / "templates"
_OURS = Path(__file__).parents[1] / "templates"
# An engine with our tags, also if our app comes after that of Django, or is not installed.
_ENGINE = Engine(libraries={"sitemaps09": "django_sitemaps09.templatetags.sitemaps09"})


class SitemapResponse(TemplateResponse):
    """A `TemplateResponse` with our templates instead of Django's stock templates."""

    def resolve_template(self, template_name: Any) -> Any:
        resolved_template: Any = super().resolve_template(template_name)
        origin = getattr(resolved_template, "origin", None)
        path = Path(str(getattr(origin, "name", "")))
        if path.parent != _CONTRIBS:
            return resolved_template
        text, own_template = (_OURS / path.name).read_text(encoding="utf-8"), copy(resolved_template)
        own_template.template = Template(text, origin, resolved_template.template.name, _ENGINE)
        return own_template


@public
def index(
    request: HttpRequest,
    sitemaps: Mapping[Any, Section] | None = None,
    template_name: str = "sitemap_index.xml",
    content_type: str = "application/xml",
    sitemap_url_name: str = "django.contrib.sitemaps.views.sitemap",
) -> TemplateResponse:
    """Return the index of all pages. The URLs of later pages of a section end in `?p=` and a number."""
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
    page, urls, lastmods = request.GET.get("p", 1), [], []
    for declaration in declarations.values() if section is None else [declarations[section]]:
        try:
            bound = sections.bind(declaration, site.domain)
            own_site = site if conf.base_url is None else site_of(bound, conf.base_url)
            urls += bound.get_urls(page=page, site=own_site, protocol=scheme)
            lastmods.append(getattr(bound, "latest_lastmod", None))
        except EmptyPage as error:
            raise Http404(f"Page {page} empty") from error
        except PageNotAnInteger as error:
            raise Http404(f"No page '{page}'") from error
    context, headers = {"urlset": urls}, _last_modified(lastmods)
    return SitemapResponse(request, template_name, context, content_type=content_type, headers=headers)


def _host(request: HttpRequest) -> tuple[str | None, Any]:
    """Return the scheme and the site. With `BASE_URL`, this needs no query."""
    if conf.base_url is None:
        return request.scheme, contrib_site(request)
    return conf.base_url.scheme, HostSite(conf.base_url.domain)


def _last_modified(lastmods: list[Any]) -> dict[str, str]:
    """Return the header `Last-Modified` with the newest lastmod; an empty dict if a lastmod is missing."""
    # The lastmod `datetime.min` is out of range in UTC.
    with suppress(OverflowError, ValueError):
        if lastmods and all(isinstance(lastmod, date) for lastmod in lastmods):
            return {"Last-Modified": http_date(max(map(_as_datetime, lastmods)).timestamp())}
    return {}


def _as_datetime(lastmod: date) -> datetime:
    """Return an aware datetime: for a date, midnight in UTC. A naive datetime is in `TIME_ZONE`."""
    if not isinstance(lastmod, datetime):
        return datetime.combine(lastmod, time.min, timezone.utc)
    return lastmod if lastmod.tzinfo else lastmod.replace(tzinfo=conf.zone)
