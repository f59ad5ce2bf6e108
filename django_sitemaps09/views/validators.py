"""ETags of documents, and responses to conditional requests (RFC 9110, sections 8.8 and 13).

There is no `Last-Modified`: the newest lastmod does not change when a row is deleted, and the clocks of
servers can differ.
"""

from __future__ import annotations

from hashlib import blake2b

from django.http import HttpRequest, HttpResponseBase
from django.utils.cache import get_conditional_response, patch_cache_control

from django_sitemaps09.conf import conf
from django_sitemaps09.orm.internals import skip_cache_update


def of_content(content: bytes) -> str:
    """Return the ETag of a document."""
    return f'W/"{blake2b(content, digest_size=16).hexdigest()}"'


def respond(request: HttpRequest, response: HttpResponseBase, etag: str | None) -> HttpResponseBase:
    """Add the headers. Return the response, or one with status 304 or 412 if a precondition fails.

    Without an ETag, the content is incomplete or outdated, so no cache may keep it.
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
    """Let caches keep a response for as long as `CACHE_CONTROL` allows."""
    if conf.cache_control:
        patch_cache_control(response, **conf.cache_control)
