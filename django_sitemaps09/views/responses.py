"""Hosts, headers, ETags and log lines of responses, for the compatibility views and the native views."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import lru_cache, wraps
from hashlib import blake2b
from time import perf_counter
from typing import Any, TypeAlias, TypeVar, cast

from django.contrib.auth.decorators import login_not_required
from django.contrib.sitemaps.views import x_robots_tag
from django.core.cache import cache
from django.db import DatabaseError, InterfaceError, connections, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import reverse
from django.utils.cache import get_conditional_response, patch_cache_control
from django.views.decorators.http import require_safe

from django_sitemaps09.conf import conf
from django_sitemaps09.declare.sections import HOW_TO_DECLARE, Section
from django_sitemaps09.orm.internals import skip_cache_update
from django_sitemaps09.protocol.fields import reason_of
from django_sitemaps09.protocol.filenames import page_label
from django_sitemaps09.protocol.pages import Page
from django_sitemaps09.views.caching import BusyError

logger = logging.getLogger(__name__)
_steps = logging.getLogger("django_sitemaps09.views")

#: The sections that a URLconf passes to a view, by name. `None`: the sections of the project.
Sitemaps: TypeAlias = "Mapping[str, Section] | None"
ViewT = TypeVar("ViewT", bound=Callable[..., HttpResponseBase])


class GzipFile(HttpResponseBase):
    """A response that `GZipMiddleware` does not compress again, because some clients would fail.

    The middleware skips responses that seem to have the header Content-Encoding, which is not sent.
    """

    def has_header(self, header: str) -> bool:
        return header.lower() == "content-encoding" or super().has_header(header)


class GzipFileResponse(GzipFile, HttpResponse):
    """A gzip file in memory."""


class HeadResponse(HttpResponse):
    """The response to HEAD for content that is not rendered, so that its length is not known.

    Otherwise, `CommonMiddleware` would send the length of the empty content.
    """

    def has_header(self, header: str) -> bool:
        return header.lower() == "content-length" or super().has_header(header)


class Stopwatch:
    """Measures a step of a request from its creation on, and logs result, time and size at level DEBUG."""

    __slots__ = ("_started", "_subject")

    def __init__(self, subject: str) -> None:
        self._subject, self._started = subject, perf_counter()

    def log(self, result: str, size: int | None = None, unit: str = "byte") -> None:
        of_size = "" if size is None else f", {size} {unit}{'' if size == 1 else 's'}"
        seconds = perf_counter() - self._started
        _steps.debug("%s: %s in %.4f seconds%s", self._subject, result, seconds, of_size)

    def log_status(self, response: HttpResponseBase, etag_from: str) -> None:
        """Log the status of a response, with the source of the ETag if that decided the status."""
        status = response.status_code
        self.log(f"status {status}" + (f" by {etag_from}" if status != 200 else ""))


def page_subject(section: str, page: Page) -> str:
    """Return the subject of log lines about a page."""
    return f"Section {section!r}, page {page_label(page)}"


@lru_cache
def warn_no_section() -> None:
    """Log that an index has no sections, once per process."""
    logger.warning("A sitemap index is empty, because there is no section. %s", HOW_TO_DECLARE)


def public(view: ViewT) -> ViewT:
    """Exempt a view from `LoginRequiredMiddleware`, and add `X-Robots-Tag` as Django's views do."""
    return login_not_required(x_robots_tag(view))


#: Errors that are answered with 503, since the same request can soon succeed: also until `migrate` has run.
UNAVAILABLE = (BusyError, DatabaseError, InterfaceError)
# Seconds after which a client may repeat a request.
_RETRY_SECONDS = 30


def native(view: ViewT) -> ViewT:
    """Decorate a view with `public`, accept only GET and HEAD, and respond with 503 to `UNAVAILABLE`.

    `ATOMIC_REQUESTS` of the default database does not apply: after a lost connection, a read can only be
    retried outside of transactions.
    """

    @wraps(view)
    def respond(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return view(request, *args, **kwargs)
        except UNAVAILABLE as error:
            logger.error("%.200r is answered with 503: %s", request.path, reason_of(error))
            return HttpResponse(status=503, headers={"Retry-After": str(_RETRY_SECONDS)})

    return cast("ViewT", public(require_safe(transaction.non_atomic_requests(respond))))


def index_path(request: HttpRequest) -> str:
    """Return the path of the native index, in the namespace of the request."""
    match, namespace = request.resolver_match, "django_sitemaps09"
    if match is not None and namespace in match.app_names:
        namespace = match.namespace
    return reverse(f"{namespace}:index")


@contextmanager
def savepoints() -> Iterator[None]:
    """Open savepoints, so a failed query in the block does not break the request's transaction."""
    with ExitStack() as stack:
        for connection in connections.all(initialized_only=True):
            if connection.in_atomic_block and connection.settings_dict["ATOMIC_REQUESTS"]:
                stack.enter_context(transaction.atomic(using=connection.alias))
        yield


def tenant() -> str:
    """Return what the default cache adds to keys: its `KEY_FUNCTION` can add the tenant."""
    try:
        return str(cache.make_key(""))
    except Exception:  # noqa: BLE001 for example, the default cache cannot be created
        return ""


def content_etag(content: bytes) -> str:
    return f'W/"{blake2b(content, digest_size=16).hexdigest()}"'


def conditional(request: HttpRequest, response: HttpResponseBase, etag: str | None) -> HttpResponseBase:
    """Add the headers. Return the response, or one with status 304 or 412 if a precondition fails.

    Without an ETag, the content is incomplete or outdated, so no cache may keep it. There is no
    `Last-Modified`: the newest lastmod does not change when a row is deleted, and the clocks of servers can
    differ (RFC 9110, sections 8.8 and 13).
    """
    if etag is None:
        patch_cache_control(response, no_store=True)
        return response
    set_cache_control(response)
    response["ETag"] = etag
    answer: HttpResponseBase = get_conditional_response(request, etag, None, response)  # type: ignore[arg-type, assignment]
    if answer is not response:
        skip_cache_update(request)
    return answer


def set_cache_control(response: HttpResponseBase) -> None:
    if conf.cache_control:
        patch_cache_control(response, **conf.cache_control)
