"""Sections for the pages of Wagtail: by columns, or by the methods of each page."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import reduce
from inspect import getattr_static
from operator import or_
from typing import Any, NamedTuple

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db.models import Case, Exists, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce, Concat, Length, Substr
from django.http import HttpRequest
from django.http.request import split_domain_port
from django.urls import reverse
from django.utils import translation
from wagtail import coreutils
from wagtail.contrib.sitemaps import Sitemap
from wagtail.coreutils import WAGTAIL_APPEND_SLASH, get_content_languages
from wagtail.models import Page, Site, get_page_models

from django_sitemaps09.conf import conf
from django_sitemaps09.declare.hosts import RequestedHost
from django_sitemaps09.declare.models import ModelSitemap

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
        """Return the sitemap for the Wagtail sites that serve a host, or for the default site."""
        self._check_page_classes()
        own_sites, sitemap = _own_sites(domain), copy(self)
        sites = own_sites or _default_sites(domain)
        is_elsewhere = len(sites) > 1 or (not own_sites and isinstance(domain, RequestedHost))
        roots, others = _roots(sites, has_urls=is_elsewhere)
        sitemap.queryset = _listed_pages(roots, others).not_type(*self.exclude)
        if is_elsewhere:
            sitemap.hosts = [*self.hosts, *(site.root_url for site in sites)]
        roots_by_language: dict[str, list[_Root]] = {}
        for root in roots:
            code = root.page.locale.language_code if _is_translated() else conf.language
            roots_by_language.setdefault(code, []).append(root)
        if len(roots_by_language) == 1:
            sitemap.location = _location(roots)
            return sitemap
        rows, groups = sitemap.get_queryset(), roots_by_language.items()
        languages = [When(root.is_above, then=Value(root.page.locale.language_code)) for root in roots]
        sitemap.i18n = sitemap.alternates = True
        sitemap.item_language = Case(*languages)
        sitemap.location = {code: _translated_location(group, rows) for code, group in groups}
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

    _sites: Sequence[Any] = ()

    def for_host(self, domain: str) -> WagtailSpecificPageSitemap:
        """Return the sitemap for the Wagtail sites that serve a host."""
        sites = _own_sites(domain) or _default_sites(domain)
        sitemap = type(self)(_request(domain, sites[0].port))
        sitemap._sites = sites  # noqa: SLF001 of the same class
        return sitemap

    def items(self) -> QuerySet[Any]:
        pages = _listed_pages(*_roots(self._sites or [self.get_wagtail_site()], has_urls=False))
        rows: Any = pages.type(*self.models) if self.models else pages
        # Wagtail orders pages by their path.
        return rows.defer_streamfields().specific()  # type: ignore[no-any-return]


class _Root(NamedTuple):
    """Root page of a site in one locale, and the scheme and host of its pages, or an empty string."""

    page: Any
    url: str = ""

    @property
    def is_above(self) -> Q:
        return Q(path__startswith=self.page.path)


def _request(domain: str, port: object) -> HttpRequest:
    """Return a request for a host, by which Wagtail finds its site."""
    request = HttpRequest()
    request.META = {"HTTP_HOST": domain, "SERVER_NAME": domain, "SERVER_PORT": str(port)}
    return request


def _own_sites(domain: str) -> list[Any]:
    """Return the sites of a host: one, two if HTTPS and HTTP have different sites, or none."""
    name, port = split_domain_port(domain)
    # Other ports of the host can belong to other sites, so the port of the scheme must be exact.
    sites = Site.objects.filter(hostname=name, port__in=[port] if port else [443, 80])
    return list(sites.select_related("root_page").order_by("-port"))


def _default_sites(domain: str) -> list[Any]:
    """Return the site that Wagtail finds for a host without a site of its own."""
    site = Site.find_for_request(_request(domain, split_domain_port(domain)[1] or 80))
    if site is None:
        raise ImproperlyConfigured(
            f"No Wagtail site has the host name {domain}, and none is the default. Add the site, or serve "
            "and export the host of a site."
        )
    return [site]


def _roots(sites: Sequence[Any], *, has_urls: bool) -> tuple[list[_Root], list[str]]:
    """Return the root pages of a host's sites, the deepest first, and the paths of those of other sites.

    A site has a root page in each locale. A translation that is the root page of another site belongs to
    that site. Wagtail serves no page below a translation that is a draft, or whose locale is not a content
    language. If `has_urls` is true, locations are URLs on the hosts of the sites.
    """
    is_root = Q(has_site=True)
    if _is_translated():
        keys = Site.objects.values("root_page__translation_key")
        languages = get_content_languages()
        is_root |= Q(live=True, locale__language_code__in=languages, translation_key__in=keys)
    pages = Page.objects.annotate(has_site=Exists(Site.objects.filter(root_page=OuterRef("pk"))))
    own_roots: list[_Root] = []
    others: list[str] = []
    for page in pages.filter(is_root).select_related("locale").order_by("-depth", "path"):
        for site in sites:
            is_translation = page.translation_key == site.root_page.translation_key and not page.has_site
            if page.pk == site.root_page_id or (_is_translated() and is_translation):
                own_roots.append(_Root(page, site.root_url if has_urls else ""))
                break
        else:
            others.append(page.path)
    return own_roots, others


def _is_translated() -> bool:
    return bool(getattr(settings, "WAGTAIL_I18N_ENABLED", False))


def _listed_pages(roots: Sequence[_Root], others: Sequence[str]) -> Any:
    """Return the live, public pages below the root pages, without those below the root of another site."""
    is_listed = Q()
    for root in roots:
        # The path of a page begins with the path of its parent.
        nested = [path for path in others if path.startswith(root.page.path)]
        is_listed |= root.is_above & ~Q(*(Q(path__startswith=path) for path in nested), _connector=Q.OR)
    return Page.objects.filter(is_listed).live().public()


def _location(roots: Sequence[_Root], default: Any = None) -> Any:
    """Return the expression for the location of a page below one of the root pages, or `default`."""
    if len(roots) == 1 and default is None:
        return _location_below(roots[0])
    return Case(*(When(root.is_above, then=_location_below(root)) for root in roots), default=default)


def _location_below(root: _Root) -> Any:
    """Return the expression for the location of a page below a root page, as in `Page.get_url_parts()`."""
    with translation.override(_url_language(root.page)):
        prefix = root.url + reverse("wagtail_serve", args=("",))
    start = len(root.page.url_path) + 1
    if WAGTAIL_APPEND_SLASH:
        return Concat(Value(prefix), Substr("url_path", start))
    path = Substr("url_path", start, Length("url_path") - start)
    home = When(url_path=root.page.url_path, then=Value(prefix.rstrip("/") or "/"))
    return Case(home, default=Concat(Value(prefix), path))


def _url_language(root: Any) -> str:
    """Return the language whose prefix the URLs below a root page have."""
    if not _is_translated():
        return conf.language
    code: str = root.locale.language_code
    try:
        # Wagtail prefers the active language if it is a variant of the locale.
        is_variant = coreutils.get_supported_content_language_variant(conf.language) == code
    except LookupError:
        is_variant = False
    return conf.language if is_variant else code


def _translated_location(roots: Sequence[_Root], rows: QuerySet[Any]) -> Any:
    """Return the expression for the location of a page, or of its translation, below root pages."""
    is_below = reduce(or_, (root.is_above for root in roots))
    translations = rows.filter(is_below, translation_key=OuterRef("translation_key"))
    urls = translations.annotate(url=_location(roots)).order_by("path").values("url")[:1]
    return _location(roots, Subquery(urls))
