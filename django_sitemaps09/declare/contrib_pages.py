"""What the views and templates of `django.contrib.sitemaps` get from our classes: items, and entry dicts.

The dicts have the results of our hooks. What fails is skipped with a warning: a hook may be an unrelated
method of the project, so it must not break the compatibility views.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from datetime import date, datetime
from functools import partial
from itertools import accumulate, chain, islice
from types import NoneType
from typing import Any, TypeAlias

from django.conf import settings
from django.core.paginator import Paginator
from django.db.models import Model, QuerySet
from django.utils import translation
from django.utils.functional import cached_property

from django_sitemaps09.conf import conf
from django_sitemaps09.declare import expressions, extensions
from django_sitemaps09.declare.annotations import column, load_columns
from django_sitemaps09.declare.calls import FAILED, MAX_LOGGED, Items, log_skipped
from django_sitemaps09.declare.extensions import HookResults
from django_sitemaps09.declare.hosts import AllowedHosts, meant_url
from django_sitemaps09.orm.facts import Facts
from django_sitemaps09.orm.internals import template_value
from django_sitemaps09.orm.reading import AT_A_TIME, chunks, count_rows, iterate_unordered
from django_sitemaps09.protocol.entries import ItemError
from django_sitemaps09.protocol.fields import MAX_MESSAGE, check_text, excerpt, short_repr
from django_sitemaps09.protocol.media import News
from django_sitemaps09.protocol.urls import Base, uri
from django_sitemaps09.protocol.values import check_links

logger = logging.getLogger(__name__)

Entries: TypeAlias = list[dict[str, Any]]

# Paths of media are on the host of their sitemap, and a document can have sitemaps with different hosts.
_MEDIA: dict[str, Any] = {"images": extensions.resolve_image, "videos": extensions.resolve_video}
#: Attribute of a row with its location, where those of a page are composed at once.
URL_ATTRIBUTE = "_sitemaps09_url"
# Types whose values are the same in a template, unless they are false.
_PLAIN = frozenset({str, float, date, datetime, NoneType})


class TranslatedItems(Sequence[Any]):
    """A sequence of `(item, language)` pairs as in `django.contrib.sitemaps`, for a paginator.

    If all items have the same languages, `codes`, the database counts the rows of most querysets, and only
    those of a page are read. Otherwise, counting and slicing determine the languages of all items.
    """

    def __init__(self, sitemap: Any, items: Any, codes: list[str] | None) -> None:
        self._sitemap = sitemap
        self._codes = codes if codes and Facts(items).can_reorder else None
        # Without languages, no item is listed, so none is read.
        self._items: Any = [] if codes == [] else items if hasattr(items, "query") else list(items)

    def __iter__(self) -> Iterator[tuple[Any, str]]:
        return self._pairs(self._items)

    def _pairs(self, items: Any) -> Iterator[tuple[Any, str]]:
        for chunk in chunks(items, AT_A_TIME):
            places, _ = load_columns(expressions.declared_expressions(self._sitemap), chunk)
            for item in (chunk[place] for place in places):
                for code in self._codes or self._item_languages(item):
                    yield item, code

    def _item_languages(self, item: Any) -> Sequence[str]:
        # Contrib only iterates over the languages, so they can be a generator.
        codes = list(self._sitemap.get_languages_for_item(item))
        return in_item_language(self._sitemap, item, codes)

    def _language_problem(self, item: Any) -> str | None:
        if not expressions.is_expression(self._sitemap.item_language):
            return None
        code = column(self._sitemap.item_language, expressions.ITEM_LANGUAGE, item)
        return extensions.language_problem(code, self._sitemap._languages())  # noqa: SLF001 contrib's hook

    def __len__(self) -> int:
        if self._codes is not None:
            return len(self._codes) * count_rows(self._items)
        count, unlisted, errors = 0, 0, []
        with closing(iterate_unordered(self._items, AT_A_TIME)) as batches:
            for item in chain.from_iterable(batches):
                codes = self._item_languages(item)
                count += len(codes)
                if not codes and (reason := self._language_problem(item)):
                    unlisted += 1
                    if unlisted <= MAX_LOGGED:
                        errors.append(ItemError(excerpt(item), "item_language", reason))
        log_skipped(logger, errors, unlisted)
        return count

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            return list(self)[index]
        start, stop = index.start or 0, index.stop
        if index.step not in (None, 1) or start < 0 or (stop is not None and stop < start):
            return list(self)[index]
        if self._codes is None:
            return list(islice(self, start, stop))
        codes_per_item = len(self._codes)
        part = self._items[start // codes_per_item : None if stop is None else -(-stop // codes_per_item)]
        first = start // codes_per_item * codes_per_item
        return list(islice(self._pairs(part), start - first, None if stop is None else stop - first))


class ColumnPaginator(Paginator):  # type: ignore[type-arg]
    """Django's paginator with declared values on the rows of its pages. It counts `counted_items`."""

    def __init__(self, sitemap: Any, items: QuerySet[Any], counted_items: QuerySet[Any]) -> None:
        super().__init__(items, sitemap.limit)
        self._sitemap, self.counted_items = sitemap, counted_items

    @cached_property
    def count(self) -> int:
        return count_rows(self.counted_items)

    def page(self, number: Any) -> Any:
        page, declared = super().page(number), expressions.declared_expressions(self._sitemap)
        if not declared or self._sitemap.i18n:
            return page
        rows, location = list(page.object_list), self._sitemap.location
        places, columns = load_columns(declared, rows)
        page.object_list = rows = [rows[place] for place in places]
        is_template = isinstance(location, expressions.LocationTemplate)
        if is_template and all(isinstance(row, Model) for row in rows):
            names = expressions.location_in(location, None)[1]
            urls = location.compiled().compose([columns[name] for name in names])
            for row, url in zip(rows, urls.texts() if urls else (), strict=False):
                setattr(row, URL_ATTRIBUTE, url)
        return page


def in_item_language(sitemap: Any, item: Any, codes: Sequence[str]) -> Sequence[str]:
    """Return only the language of an item, if an expression declares it."""
    # On classes written for `django.contrib.sitemaps`, the attribute can mean anything.
    if not expressions.is_expression(sitemap.item_language):
        return codes
    own = extensions.spelling(column(sitemap.item_language, expressions.ITEM_LANGUAGE, item), codes)
    return [code for code in codes if code == own]


def filter_on_host(urls: Entries, base: str, hosts: AllowedHosts, errors: list[ItemError]) -> Entries:
    """Return the entries, with the links, whose URLs are on the host that Django puts before a location.

    If two slashes begin a location, its host can be any of `hosts`.
    """
    entries = []

    def checked(entry: dict[str, Any]) -> dict[str, Any]:
        url = meant_url(entry["location"], base)
        if url is not entry["location"]:
            return {**entry, "location": hosts.location(url)}
        # Unlike `{base}.evil.com/` and `{base}@evil.com/`.
        if url.startswith(base) and url[len(base) :][:1] in ("", "/", "?"):
            return entry
        location = short_repr(url.removeprefix(base))
        raise ValueError(f"{location} does not begin with a slash, so its URL is not on {base}")

    for url in urls:
        try:
            entries.append(entry := checked(url))
        except ValueError as error:
            Items([url["item"]], errors).skip(0, "location", str(error))
            continue
        if links := url.get("alternates"):
            entry["alternates"] = []
            for link in links:
                with suppress(ValueError):
                    entry["alternates"].append(checked(link))
    return entries


def hosts_of(sitemap: Any, scheme: str, domain: str) -> AllowedHosts:
    """Return the host that Django puts before a location, with the sitemap's `hosts`."""
    # Django writes a domain as it is. The scheme can be any, too.
    base = Base(scheme, uri(f"https://{domain}/").removeprefix("https://").removesuffix("/"))
    others: tuple[Base, ...] = ()
    with suppress(Exception):
        # A project can use the attribute for something else.
        others = AllowedHosts.parse(sitemap.hosts, base).others
    return AllowedHosts(base, others, joins_paths=True, is_limited=False)


def add_hook_results(sitemap: Any, urls: Entries, hosts: AllowedHosts, errors: list[ItemError]) -> Entries:
    """Add `images`, `videos`, `news`, `extensions` and further `alternates` to entry dicts."""
    is_linked = sitemap.i18n and sitemap.alternates
    if is_linked and sitemap.x_default and extensions.default_has_no_prefix():
        _correct_x_default(urls)
    hooks = {name: hook for name in expressions.HOOKS if callable(hook := getattr(sitemap, name, None))}
    own_extensions = extensions.own_extensions(sitemap)
    x_default = sitemap.x_default if callable(sitemap.x_default) and is_linked else None
    if not (hooks or own_extensions or x_default):
        return urls
    # With `i18n`, items are pairs of item and language, unless the project overrides `_items()`.
    pairs = [url["item"] for url in urls]
    owners = [pair[0] if isinstance(pair, tuple) and len(pair) == 2 else pair for pair in pairs]
    entries = Items(owners, errors)
    # Entries of one item in several languages are adjacent, and share the results of hooks.
    are_first = [not i or item is not owners[i - 1] for i, item in enumerate(owners)]
    places = [count - 1 for count in accumulate(are_first)]
    rows = [item for item, is_first in zip(owners, are_first, strict=True) if is_first]
    # Pages are written in the language of the site, regardless of the language of the request.
    with translation.override(conf.language):
        items = entries._replace(keys=rows)
        results = extensions.content_results(hooks, own_extensions, rows, items)
        choices = items.call(x_default, rows, "x_default", failed=None) if x_default else ()
        for position, (url, place) in enumerate(zip(urls, places, strict=True)):
            for name in expressions.EXTENDING:
                if name in results:
                    url[name] = _as_result(results[name][place])
                    if name in _MEDIA and url[name]:
                        resolve = partial(_MEDIA[name], hosts=hosts)
                        url[name] = HookResults(entries.each_of(position, resolve, url[name], name))
            texts = [(extension, results[extension][place]) for extension in own_extensions]
            url["extensions"] = HookResults(pair for pair in texts if pair[1] is not FAILED)
            if x_default and choices[place] is not True:
                url["alternates"] = [link for link in url["alternates"] if link["lang_code"] != "x-default"]
                default_urls = [choices[place]] if choices[place] else []
                locations = entries.each_of(position, hosts.uri, default_urls, "x_default")
                url["alternates"] += [{"lang_code": "x-default", "location": each} for each in locations]
            links = results["alternates"][place] if "alternates" in results else ()
            if links and links is not FAILED:
                more = entries.each_of(position, partial(_links, url, hosts), [links], "alternates")
                url["alternates"] = [*url["alternates"], *chain.from_iterable(more)]
    return urls


def _correct_x_default(urls: Entries) -> None:
    """Make the x-default the URL in the default language. Django removes what looks like its prefix."""
    for url in urls:
        link_by_language = {link["lang_code"]: link for link in url["alternates"]}
        default, x_default = map(link_by_language.get, (settings.LANGUAGE_CODE, "x-default"))
        if default and x_default:
            x_default["location"] = default["location"]


def _as_result(value: Any) -> Any:
    if value is FAILED or value is None:
        return None
    return value if isinstance(value, News) else HookResults(value if isinstance(value, list) else [value])


def _links(url: dict[str, Any], hosts: AllowedHosts, pairs: Sequence[Any]) -> list[dict[str, str]]:
    """Return the result of a method `alternates` as dicts, as in Django's `alternates`."""
    links = [extensions.alternate(pair, hosts) for pair in pairs]
    others = [
        (extensions.hreflang(link["lang_code"]) or link["lang_code"], link["location"])
        for link in url["alternates"]
    ]
    # The links from Django already include the page.
    check_links(links, others, () if others else [hosts.uri(url["location"])])
    return [{"lang_code": link.language, "location": link.location} for link in links]


def entry_value(value: Any) -> Any:
    """Return a value of an entry dict as Django's template uses it; `None` if it writes nothing for it."""
    return _written(template_value(value))


def _written(value: Any) -> Any:
    return check_text(value) if value else None


def entry_values(values: Sequence[Any], field: str, items: Items, *, failed: Any = None) -> Sequence[Any]:
    """Return a column of `entry_value()`. For an invalid value, report it and return `failed`.

    If `items.raises_errors` is true, an error of a method that is called is raised.
    """
    # A string can also be the `repr()` of an object, with its address at the end of a short text.
    starts = (value[:MAX_MESSAGE] for value in values if type(value) is str)
    if {*map(type, values)} <= _PLAIN and not any(" at 0x" in start for start in starts):
        return [value or None for value in values]
    called = items.each(template_value, values, field)
    return items._replace(raises_errors=False).each(_written, called, field, failed=failed)
