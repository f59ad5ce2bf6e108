"""Helpers for compatibility and native views: access, the host, and `Last-Modified`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import date, datetime, time, timezone
from typing import Any, TypeVar

from django.apps import apps
from django.contrib.auth.decorators import login_not_required
from django.contrib.sitemaps.views import x_robots_tag
from django.contrib.sites.shortcuts import get_current_site
from django.core.exceptions import DisallowedHost, ImproperlyConfigured, ObjectDoesNotExist
from django.db import connections, transaction
from django.http import HttpRequest, HttpResponseBase
from django.utils.http import http_date
from django.views.decorators.http import require_safe

from django_sitemaps09.conf import conf
from django_sitemaps09.entries import short_repr
from django_sitemaps09.protocol import Base, parse_base

ViewT = TypeVar("ViewT", bound=Callable[..., HttpResponseBase])


def public(view: ViewT) -> ViewT:
    """Decorate a view to be open under `LoginRequiredMiddleware`, and not to be indexed itself."""
    return login_not_required(x_robots_tag(view))


def native(view: ViewT) -> ViewT:
    """Decorate a view to be public, and to accept only GET and HEAD."""
    return public(require_safe(view))


@contextmanager
def savepoints() -> Iterator[None]:
    """Keep a query that fails inside from breaking later queries, if a request is a transaction."""
    with ExitStack() as stack:
        for connection in connections.all(initialized_only=True):
            if connection.in_atomic_block and connection.settings_dict["ATOMIC_REQUESTS"]:
                stack.enter_context(transaction.atomic(using=connection.alias))
        yield


def current_base(request: HttpRequest) -> Base:
    """Return `BASE_URL`, else the request's scheme with the domain of the current site or the request.

    The request's host is used without `BASE_URL` and without the sites framework. Django accepts it only if
    it is in `ALLOWED_HOSTS`.
    """
    if conf.base_url is not None:
        return conf.base_url
    domain = current_site(request).domain
    try:
        return parse_base(f"{request.scheme}://{domain}")
    except ValueError as error:
        if not apps.is_installed("django.contrib.sites"):
            # Django validates only the characters of the host, and accepts any number as a port.
            raise DisallowedHost(f"Invalid HTTP_HOST header: {short_repr(domain)}: {error}.") from error
        raise ImproperlyConfigured(f"The domain of the current site is invalid: {error}.") from error


def current_site(request: HttpRequest) -> Any:
    """Return the site of a request, even if its domain is stored in Unicode: a request has it in IDNA."""
    try:
        return get_current_site(request)
    except ObjectDoesNotExist:
        name, colon, port = request.get_host().partition(":")
        domain = name
        with suppress(UnicodeError):
            domain = name.encode().decode("idna")
        # In the order of get_current_site(): with the port, then without.
        sites = apps.get_model("sites", "Site").objects
        for site_domain in dict.fromkeys((f"{domain}{colon}{port}", domain)):
            site = sites.filter(domain__iexact=site_domain).first()
            if site is not None:
                return site
        raise


def as_datetime(lastmod: date) -> datetime:
    """Return a lastmod as an aware datetime: a date is midnight in UTC, a naive one is in `TIME_ZONE`."""
    if not isinstance(lastmod, datetime):
        return datetime.combine(lastmod, time.min, timezone.utc)
    return lastmod if lastmod.tzinfo else lastmod.replace(tzinfo=conf.zone)


def last_modified(lastmods: list[Any]) -> dict[str, str] | None:
    """Return the header for a response with these lastmods: the newest one, or `None` if one is missing."""
    if not lastmods or not all(isinstance(lastmod, date) for lastmod in lastmods):
        return None
    return {"Last-Modified": http_date(max(map(as_datetime, lastmods)).timestamp())}
