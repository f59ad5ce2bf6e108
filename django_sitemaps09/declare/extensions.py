"""Content of entries besides the protocol's elements: links, media, news, and a project's extensions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set as AbstractSet
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, time, timedelta, timezone
from functools import partial
from itertools import chain
from typing import Any, TypeAlias

from django.conf.urls.i18n import is_language_prefix_patterns_used
from django.core.exceptions import ImproperlyConfigured
from django.urls import get_urlconf

from django_sitemaps09.conf import conf
from django_sitemaps09.declare.calls import FAILED, Function, Items
from django_sitemaps09.declare.expressions import EXTENDING, HOOKS, Hook, is_missing
from django_sitemaps09.declare.hosts import AllowedHosts
from django_sitemaps09.protocol import values
from django_sitemaps09.protocol.entries import Alternate, Batch, Column, Localization, TemplateColumn
from django_sitemaps09.protocol.fields import short_repr, typed_repr
from django_sitemaps09.protocol.limits import MAX_IMAGES, NEWS_DAYS
from django_sitemaps09.protocol.media import NAMESPACES, Extension, Image, News, Video
from django_sitemaps09.protocol.urlset import extension_text
from django_sitemaps09.protocol.values import check_links, news_language

_PREFIXES = {"alternates": "xhtml", "images": "image", "videos": "video", "news": "news"}


class HookResults(list[Any]):
    """Result of a hook of this package, not of a project that stores it under the same key."""


#: The results of each hook and each extension, in columns with one result for each item.
ResultColumns: TypeAlias = "dict[str | Extension, list[Any]]"


def own_extensions(sitemap: object) -> list[Extension]:
    """Return a sitemap's extensions. Raise `ImproperlyConfigured` for a repeated prefix or namespace."""
    value = getattr(sitemap, "extensions", ())
    candidates = value if isinstance(value, (list, tuple)) else ()
    extensions = [extension for extension in candidates if isinstance(extension, Extension)]
    if repeated_name(extensions):
        raise ImproperlyConfigured(
            f"{type(sitemap).__qualname__}.extensions must have unique prefixes and unique namespaces."
        )
    return extensions


def repeated_name(extensions: Sequence[Extension]) -> str | None:
    """Return the prefix or the namespace that two extensions have, or `None`."""
    pairs = [(f"prefix {each.prefix!r}", f"namespace {each.namespace!r}") for each in extensions]
    names = list(chain.from_iterable(pairs))
    return next((name for name in names if names.count(name) > 1), None)


def used_namespaces(batch: Batch) -> dict[str, str]:
    """Return the namespaces of the content that a batch has, by prefix."""
    names = [name for name in HOOKS if any(getattr(batch, name) or ())]
    is_linked = any(localization.language for localization in batch.localizations)
    return namespaces(names, batch.extensions if any(batch.foreign or ()) else (), is_linked=is_linked)


def namespaces(
    hooks: Iterable[Hook], extensions: Sequence[Extension], *, is_linked: bool
) -> dict[str, str]:
    """Return the namespaces of all content that hooks and extensions can add, by prefix."""
    prefixes = [_PREFIXES[name] for name in hooks] + ["xhtml"] * is_linked
    uris = {prefix: NAMESPACES[prefix] for prefix in prefixes}
    return uris | {extension.prefix: extension.namespace for extension in extensions}


def results_in(column: Callable[[str], Sequence[Any]]) -> ResultColumns:
    """Return what hooks of this package added to columns of `get_urls()`, except for links."""
    results: ResultColumns = {}
    for name in EXTENDING:
        hook_values = [value if isinstance(value, (HookResults, News)) else None for value in column(name)]
        if any(value is not None for value in hook_values):
            results[name] = hook_values
    dicts = [dict(value) if isinstance(value, HookResults) else {} for value in column("extensions")]
    for extension in dict.fromkeys(extension for texts in dicts for extension in texts):
        results[extension] = [texts.get(extension, "") for texts in dicts]
    return results


def content_results(
    hooks: Mapping[Hook, Function], extensions: Sequence[Extension], rows: Sequence[Any], items: Items
) -> ResultColumns:
    columns: ResultColumns = {}
    for name, hook in hooks.items():
        # Generators are consumed here, so that an error in a generator is reported for its item.
        function = hook if name == "news" else lambda item: _as_list(hook(item))  # noqa: B023
        columns[name] = items.call(function, rows, name)
    for extension in extensions:
        columns[extension] = items.call(extension.xml, rows, "extensions", extension.prefix)
    return columns


def _as_list(value: Any) -> list[Any]:
    if is_missing(value):
        return []
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise TypeError(f"{typed_repr(value)} is not a list")
    return list(value)


def create_batch(
    items: Items,
    localizations: Sequence[Localization],
    texts: Mapping[str, Column],
    results: ResultColumns,
    hosts: AllowedHosts,
) -> Batch:
    """Return items as a batch. Invalid values in the results of hooks are skipped and reported."""
    columns: dict[str, Any] = {}
    if "alternates" in results:
        columns["alternates"] = alternates(results["alternates"], localizations, hosts, items)
    if "images" in results:
        columns["images"] = _convert_lists("images", results, lambda _, i: resolve_image(i, hosts), items)
    if "videos" in results:
        pages = [localization.texts() for localization in localizations if localization.is_listed]

        def video(i: int, value: Any) -> Video:
            urls = {hosts.absolute_url(url) for page in pages if (url := page[i])}
            return resolve_video(value, hosts, urls)

        columns["videos"] = _convert_lists("videos", results, video, items)
    if "news" in results:
        columns["news"] = items.each(_recent_news, results["news"], "news", failed=None)
    if extensions := [name for name in results if isinstance(name, Extension)]:
        xml_columns = [
            items.each(partial(_foreign_xml, name), results[name], name.prefix, failed="")
            for name in extensions
        ]
        columns["foreign"] = list(map("".join, zip(*xml_columns, strict=True)))
        columns["extensions"] = extensions
    optional = (texts["lastmod"], texts["changefreq"], texts["priority"])
    return Batch(items.keys, localizations, *optional, errors=items.errors, **columns)


def _foreign_xml(extension: Extension, text: str | None) -> str:
    return extension_text(extension, text or "")


def _convert_lists(
    name: str, results: ResultColumns, convert: Callable[[int, Any], Any], items: Items
) -> list[list[Any]]:
    lists: list[list[Any]] = []
    for i, listed in enumerate(results[name]):
        if listed is FAILED or not listed:
            lists.append([])
            continue
        if len(listed) > (most := MAX_IMAGES):
            items.skip(i, name, f"there are {len(listed):,}; only the first {most:,} are written")
        lists.append(items.each_of(i, partial(convert, i), listed[:most], name))
    return lists


def _check_type(value: object, kind: type) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{typed_repr(value)} is not of type {kind.__name__}")


def resolve_image(image: Image, hosts: AllowedHosts) -> Image:
    """Return an image with its locations on these hosts. Raise an error if it is invalid."""
    _check_type(image, Image)
    location = hosts.media(image.loc)
    if image.license:
        return replace(image, loc=location, license=hosts.uri(image.license))
    return image if location == image.loc else replace(image, loc=location)


def resolve_video(video: Video, hosts: AllowedHosts, pages: AbstractSet[str] = frozenset()) -> Video:
    """Return a video, which is not one of the pages, as `resolve_image()` does."""
    _check_type(video, Video)
    result = replace(
        video,
        thumbnail_loc=hosts.media(video.thumbnail_loc),
        content_loc=hosts.media(video.content_loc) if video.content_loc else None,
        player_loc=hosts.uri(video.player_loc) if video.player_loc else None,
        uploader_info=hosts.uri(video.uploader_info) if video.uploader_info else None,
        expiration_date=_make_aware(video.expiration_date),
        publication_date=_make_aware(video.publication_date),
    )
    for name in ("content_loc", "player_loc"):
        location = getattr(result, name)
        if location and hosts.absolute_url(location) in pages:
            raise ValueError(f"{name} is the URL of the page itself")
    return result


def _recent_news(news: News | None) -> News | None:
    """Return news with valid values; `None` if it is older than two days (Google, "News sitemaps")."""
    if news is None:
        return None
    _check_type(news, News)
    published = moment = _make_aware(news.publication_date)
    if not isinstance(moment, datetime):
        # A date means midnight.
        moment = datetime.combine(published, time(), conf.zone)
    if moment < datetime.now(timezone.utc) - timedelta(days=NEWS_DAYS):
        return None
    return replace(news, language=news_language(news.language), publication_date=published)


def _make_aware(value: Any) -> Any:
    if isinstance(value, datetime) and value.tzinfo is None:
        return value.replace(tzinfo=conf.zone)
    return value


def hreflang(code: str) -> str:
    """Return the hreflang of a language; an empty string if it has none."""
    with suppress(ValueError):
        return values.hreflang(code)
    return ""


def spelling(code: Any, languages: Sequence[str]) -> Any:
    """Return a code in the spelling of one of the languages, or unchanged if it is not one of them."""
    if code in languages or not (language := hreflang(code)):
        return code
    return next((other for other in languages if hreflang(other) == language), code)


def language_problem(code: Any, languages: Sequence[str]) -> str | None:
    """Return why an item with this `item_language` is not listed, or `None` if it is listed."""
    if spelling(code, languages) in languages:
        return None
    return f"{short_repr(code)} is not one of the languages {', '.join(languages)}"


def default_has_no_prefix() -> bool:
    """Return whether URLs have the prefix of a language, but not of the default one."""
    return is_language_prefix_patterns_used(get_urlconf() or conf.urlconf) == (True, False)


def x_default(localization: Localization, code: str) -> Localization:
    """Return the `x-default` of `django.contrib.sitemaps`: a location without the prefix of its language.

    `code` is the code of the default language. Without a prefix for it, locations do not change.
    """
    locations, prefix = localization.locations, f"/{code}/"
    if default_has_no_prefix():
        unprefixed = locations
    elif isinstance(locations, TemplateColumn) and prefix in locations.literals[0]:
        first, *others = locations.literals
        unprefixed = TemplateColumn([first.replace(prefix, "/", 1), *others], locations.columns)
    else:
        unprefixed = [text and text.replace(prefix, "/", 1) for text in localization.texts()]
    return Localization("x-default", unprefixed, is_listed=False)


def x_default_by_method(
    localization: Localization | None, results: Sequence[Any], hosts: AllowedHosts, items: Items
) -> Localization:
    """Return the `x-default` localization for the results of a method `x_default`: URLs or booleans."""
    default_urls = [None] * len(items.keys) if localization is None else localization.texts()
    choices = [default_urls[i] if value is True else value or None for i, value in enumerate(results)]
    locations = items.each(lambda url: url and hosts.uri(url), choices, "x_default", failed=None)
    return Localization("x-default", locations, is_listed=False)


def alternates(
    link_lists: Sequence[Any], localizations: Sequence[Localization], hosts: AllowedHosts, items: Items
) -> list[list[Alternate]]:
    """Return the links from a project's `alternates` for each item.

    They are skipped if crawlers would not accept them with the links between the item's localizations.
    """
    columns = [(localization, localization.texts()) for localization in localizations]

    def resolve_links(position: int) -> list[Alternate]:
        links = [alternate(link, hosts) for link in link_lists[position] or ()]
        located = [(localization, texts[position]) for localization, texts in columns]
        urls = [(localization, hosts.absolute_url(url)) for localization, url in located if url]
        own_links = [(localization.language, url) for localization, url in urls if localization.language]
        pages = () if own_links else {url for localization, url in urls if localization.is_listed}
        checked = [(link.language, hosts.absolute_url(link.location)) for link in links]
        check_links(checked, own_links, pages)
        return links

    positions = [FAILED if item_links is FAILED else i for i, item_links in enumerate(link_lists)]
    return items.each(resolve_links, positions, "alternates", failed=[])


def alternate(link: Any, hosts: AllowedHosts) -> Alternate:
    """Return a project's link, an `Alternate` or a similar pair, as a valid `Alternate`."""
    if isinstance(link, str):
        raise TypeError(f"{link!r} is not an Alternate, such as Alternate('de', '/de/')")
    language, location = link
    return Alternate(values.hreflang(language), hosts.uri(location))
