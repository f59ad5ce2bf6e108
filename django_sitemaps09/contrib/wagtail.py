"""Sections for the pages of Wagtail: by columns, or by the methods of each page."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from inspect import getattr_static
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db.models import Case, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce, Concat, Length, Substr
from django.http import HttpRequest
from django.http.request import split_domain_port
from django.urls import reverse
from django.utils import translation
from wagtail.contrib.sitemaps import Sitemap
from wagtail.coreutils import (
    WAGTAIL_APPEND_SLASH,
    get_content_languages,
    get_supported_content_language_variant,
)
from wagtail.models import Page, Site, get_page_models

from django_sitemaps09.conf import conf
from django_sitemaps09.sitemaps import ModelSitemap

# Methods that Wagtail's own sitemap calls for each page.
_METHODS = ("get_sitemap_urls", "get_full_url", "get_url_parts")


class WagtailPageSitemap(ModelSitemap[Any]):
    """The live, public pages of the host's Wagtail site, read as columns.

    With `WAGTAIL_I18N_ENABLED`, pages in all locales of the site are listed. Each links to its
    translations.

    Columns cannot call methods of a page. So if a page class overrides a method that determines its URLs,
    `ImproperlyConfigured` is raised. Exclude such classes, and list them in a `WagtailSpecificPageSitemap`.
    """

    model = Page
    lastmod = Coalesce("last_published_at", "latest_revision_created_at")
    #: Page classes that are not listed. Their subclasses are not listed either.
    exclude: Sequence[type[Any]] = ()

    def for_host(self, domain: str) -> WagtailPageSitemap:
        """Return the sitemap for the Wagtail site that serves a host."""
        self._check_page_classes()
        site, sitemap = _find_site(_request(domain)), copy(self)
        roots = _root_pages(site)
        sitemap.queryset = _listed_pages(roots).not_type(*self.exclude)
        rows = sitemap.get_queryset()
        if len(roots) == 1:
            sitemap.location = _location(roots[0])
            return sitemap
        sitemap.i18n = sitemap.alternates = True
        sitemap.item_language = Case(
            *(When(path__startswith=root.path, then=Value(root.locale.language_code)) for root in roots)
        )
        sitemap.location = {root.locale.language_code: _translated_location(root, rows) for root in roots}
        return sitemap

    def get_queryset(self) -> QuerySet[Any]:
        """Return the pages of the host's site. An override can filter pages, also as targets of links."""
        if self.queryset is None:
            raise ImproperlyConfigured(
                f"{type(self).__qualname__} lists the pages of one Wagtail site: call for_host() first."
            )
        return super().get_queryset()

    def _check_page_classes(self) -> None:
        for model in get_page_models():
            overridden = [n for n in _METHODS if getattr_static(model, n) is not getattr_static(Page, n)]
            if overridden and not issubclass(model, tuple(self.exclude)):
                raise ImproperlyConfigured(
                    f"{model.__module__}.{model.__qualname__} overrides {overridden[0]}(), which "
                    f"{type(self).__qualname__} does not call. Add the class to `exclude`, and list its "
                    "pages by a WagtailSpecificPageSitemap."
                )


class WagtailSpecificPageSitemap(Sitemap):  # type: ignore[misc]
    """The pages of the host's Wagtail site, with the entries from `get_sitemap_urls()` of each page.

    This is Wagtail's own sitemap for each host and all locales, without links between translations.
    """

    #: Page classes that are listed, with their subclasses. Default: all.
    models: Sequence[type[Any]] = ()

    def for_host(self, domain: str) -> WagtailSpecificPageSitemap:
        """Return the sitemap for the Wagtail site that serves a host."""
        return type(self)(_request(domain))

    def items(self) -> QuerySet[Any]:
        pages = _listed_pages(_root_pages(self.get_wagtail_site()))
        rows: Any = pages.type(*self.models) if self.models else pages
        return rows.order_by("path").defer_streamfields().specific()  # type: ignore[no-any-return]


def _request(domain: str) -> HttpRequest:
    """Return a request for a host, by which Wagtail finds its site."""
    request = HttpRequest()
    name, port = split_domain_port(domain)
    if not port:
        # Other ports of the host can belong to other sites, so the port of the scheme must be exact.
        port = "443" if Site.objects.filter(hostname=name, port=443).exists() else "80"
    request.META = {"HTTP_HOST": domain, "SERVER_NAME": domain, "SERVER_PORT": port}
    return request


def _find_site(request: HttpRequest) -> Any:
    site = Site.find_for_request(request)
    if site is None:
        raise ImproperlyConfigured(
            f"No Wagtail site has the host name {request.META['HTTP_HOST']}, and none is the default. Add "
            "the site, or serve and export the host of a site."
        )
    return site


def _root_pages(site: Any) -> list[Any]:
    """Return the root pages of a site in all locales, the deepest first.

    A translation that is the root page of another site belongs to that site. Wagtail serves no page below a
    translation that is a draft, or whose locale is not a content language.
    """
    if not _is_translated():
        return [site.root_page]
    pages = site.root_page.get_translations(inclusive=True).select_related("locale")
    is_served = Q(live=True, sites_rooted_here=None, locale__language_code__in=get_content_languages())
    # Several sites can have the same root page, which the join would repeat.
    own_pages = pages.filter(Q(pk=site.root_page_id) | is_served).distinct()
    return list(own_pages.order_by("-depth", "path"))


def _is_translated() -> bool:
    return bool(getattr(settings, "WAGTAIL_I18N_ENABLED", False))


def _listed_pages(roots: Sequence[Any]) -> Any:
    """Return the live, public pages below the root pages."""
    below_roots = Q()
    for root in roots:
        below_roots |= Q(path__startswith=root.path)
    return Page.objects.filter(below_roots).live().public()


def _location(root: Any) -> Any:
    """Return the expression for the path of a page below a root page, as in `Page.get_url_parts()`."""
    with translation.override(_url_language(root)):
        prefix = reverse("wagtail_serve", args=("",))
    start = len(root.url_path) + 1
    if WAGTAIL_APPEND_SLASH:
        return Concat(Value(prefix), Substr("url_path", start))
    path = Substr("url_path", start, Length("url_path") - start)
    home = When(url_path=root.url_path, then=Value(prefix.rstrip("/") or "/"))
    return Case(home, default=Concat(Value(prefix), path))


def _url_language(root: Any) -> str:
    """Return the language whose prefix the URLs below a root page have."""
    if not _is_translated():
        return conf.language
    code: str = root.locale.language_code
    try:
        # Wagtail prefers the active language if it is a variant of the locale.
        is_variant = get_supported_content_language_variant(conf.language) == code
    except LookupError:
        is_variant = False
    return conf.language if is_variant else code


def _translated_location(root: Any, rows: QuerySet[Any]) -> Case:
    """Return the expression for the path of a page or of its translation below a root page."""
    location = _location(root)
    translations = rows.filter(path__startswith=root.path, translation_key=OuterRef("translation_key"))
    urls = translations.annotate(url=location).order_by("path").values("url")[:1]
    return Case(When(path__startswith=root.path, then=location), default=Subquery(urls))
