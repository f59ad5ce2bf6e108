"""The native views. The index and the pages have the same URLs as the exported files."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from types import NoneType

from django.core.exceptions import ImproperlyConfigured
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.urls import NoReverseMatch, register_converter, reverse
from django.utils.functional import LazyObject, Promise

from django_sitemaps09.conf import KEY, conf
from django_sitemaps09.declare.hosts import current_base
from django_sitemaps09.protocol import documents, filenames, robots
from django_sitemaps09.protocol.fields import typed_repr
from django_sitemaps09.protocol.filenames import FEED, INDEX, STYLESHEET, Suffix, content_type, page_name
from django_sitemaps09.protocol.pages import Page
from django_sitemaps09.protocol.urls import Base
from django_sitemaps09.views import exported, indexes, live_pages, responses
from django_sitemaps09.views.responses import Sitemaps, native


@native
def sitemap_index(
    request: HttpRequest, sitemaps: Sitemaps = None, number: str | None = None
) -> HttpResponseBase:
    """Return an index of the pages of all sections.

    `number` is the N of `sitemap-N.xml`, which exists only if the pages do not fit into one index. A
    section that fails is logged, and listed with its last known pages. If there are none, the status is 503
    if the database failed; otherwise, the section is skipped. Caches keep no such index. If no page
    remains, raise the first error: an empty index would mean that all URLs were removed.
    """
    name = INDEX if number is None else filenames.index_name(int(number), cascade=True)
    return exported.respond(request, name, sitemaps) or indexes.respond(request, name, sitemaps)


@native
def page(request: HttpRequest, section: str, page: str, sitemaps: Sitemaps = None) -> HttpResponseBase:
    """Return one page as XML."""
    return _page_response(request, section, page, "xml", sitemaps)


@native
def page_gz(request: HttpRequest, section: str, page: str, sitemaps: Sitemaps = None) -> HttpResponseBase:
    """Return one page as a gzip file. Some clients fail on the type XML or a Content-Encoding header."""
    return _page_response(request, section, page, "xml.gz", sitemaps)


@native
def page_txt(request: HttpRequest, section: str, page: str, sitemaps: Sitemaps = None) -> HttpResponseBase:
    """Return one page as text, with one URL on each line. This works for sections of any format."""
    return _page_response(request, section, page, "txt", sitemaps)


@native
def page_range(
    request: HttpRequest,
    section: str,
    bounds: str,
    signature: str,
    suffix: Suffix,
    sitemaps: Sitemaps = None,
) -> HttpResponseBase:
    """Return the page of a range address: the rows of a range of keys, which no export has named."""
    range_ = filenames.parse_bounds(bounds)
    if range_ is None:
        raise Http404("The bounds are invalid")
    return live_pages.respond(request, section, Page(0, *range_), suffix, sitemaps, signature)


@native
def robots_txt(
    request: HttpRequest,
    sitemaps: Sitemaps = None,
    rules: str | None = "",
    sitemap_url_name: str = "django_sitemaps09:index",
) -> HttpResponse:
    """Return a robots.txt with `rules` and the URL of each index. Without rules, everything is allowed.

    An index that `rules` list in a line of their own is not repeated. Live indexes after the first are
    listed only after a view has served one of the indexes.
    """
    if problem := rules_problem(rules):
        raise ImproperlyConfigured(f"{problem} {RULES_HINT}")
    base, path = current_base(request), reverse(sitemap_url_name)
    paths, namespace = [path], sitemap_url_name.rpartition(":")[0]
    for number in _further_indexes(request, base, path, sitemaps):
        # The compatibility views have no numbered indexes.
        with suppress(NoReverseMatch):
            paths.append(reverse(f"{namespace}:numbered-index", kwargs={"number": number}))
    urls = [f"{base}{path}" for path in paths]
    export = exported.current_export(base) if conf.feed_in_robots else None
    if export is not None and (folder := export.url([base.domain, request.get_host()])):
        urls += [f"{folder}{name}" for name in export.root.feeds]
    text = str(rules or "").rstrip()
    lines = "\n".join(robots.missing_lines(text.encode(), urls))
    content = "\n\n".join(filter(None, (text, lines)))
    return HttpResponse(f"{content}\n", content_type="text/plain; charset=utf-8")


def rules_problem(rules: object) -> str | None:
    """Return why `rules` is not text for robots.txt, or `None`. A lazy object is not evaluated."""
    if issubclass(type(rules), (str, Promise, LazyObject, NoneType)):
        return None
    return f"The argument `rules` of the view robots_txt must be a string, not {typed_repr(rules)}."


RULES_HINT = "Pass the lines as one string, such as 'User-agent: *\\nDisallow: /private/'."


def _further_indexes(request: HttpRequest, base: Base, path: str, sitemaps: Sitemaps) -> Sequence[int]:
    """Return the numbers of the indexes that robots.txt lists after `sitemap.xml`."""
    if conf.cascade:
        return ()
    if names := exported.index_names(request, base, path, sitemaps):
        return sorted({filenames.index_number(name) or 1 for name in names} - {1})
    return range(2, indexes.read_count(base, path) + 1)


@native
def stylesheet(request: HttpRequest, sitemaps: Sitemaps = None) -> HttpResponseBase:
    """Return the stylesheet, even if `STYLESHEET` is off: cached documents may refer to it."""
    if response := exported.respond(request, STYLESHEET, sitemaps):
        return response
    content = documents.stylesheet()
    response = HttpResponse(content, content_type=content_type(STYLESHEET))
    return responses.conditional(request, response, responses.content_etag(content))


@native
def feed(request: HttpRequest, sitemaps: Sitemaps = None) -> HttpResponseBase:
    """Return the feed that the last export has written, even if other documents are live."""
    if response := exported.respond(request, FEED, sitemaps):
        return response
    raise Http404("No export has written a feed")


def _page_response(
    request: HttpRequest, section: str, number: str, suffix: Suffix, sitemaps: Sitemaps
) -> HttpResponseBase:
    page = Page(int(number), None, None)
    response = exported.respond(request, page_name(section, page.number, suffix), sitemaps)
    return response or live_pages.respond(request, section, page, suffix, sitemaps)


#: The name of the path converter.
CONVERTER = "sitemaps09_indexnow_key"


class KeyConverter:
    """Matches only configured keys, so that other text files of the project keep their URLs."""

    regex = KEY.pattern

    def to_python(self, value: str) -> str:
        # A system check reports an invalid setting. It must not break the URLs of other files.
        with suppress(ImproperlyConfigured):
            if value in conf.indexnow_keys:
                return value
        raise ValueError(value)

    def to_url(self, value: str) -> str:
        return value


register_converter(KeyConverter, CONVERTER)


@native
def indexnow_key(request: HttpRequest, key: str, sitemaps: Sitemaps = None) -> HttpResponse:
    """Return the key file of IndexNow, which proves that a submission is from the host of the key."""
    host = request.get_host().lower()
    if key not in map(conf.indexnow_key_for, (host, host.partition(":")[0])):
        raise Http404("This is not the key of this host.")
    return HttpResponse(key, content_type="text/plain; charset=utf-8")
