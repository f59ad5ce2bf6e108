"""Content of entries besides the protocol's elements: links, media, news, and a project's extensions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import date, datetime, time, timedelta, timezone
from typing import Any, Literal, get_args

from django.core.exceptions import ImproperlyConfigured

from django_sitemaps09 import protocol, writer
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import Extension, Image, Localization, News, Video, short_repr
from django_sitemaps09.hooks.hosts import AllowedHosts
from django_sitemaps09.hooks.links import alternates
from django_sitemaps09.hooks.values import FAILED, Items


class HookResults(list[Any]):
    """Result of a hook of this package.

    The type distinguishes such a result from a value that the project stores under the same key in the
    dicts of `get_urls()`.
    """


#: Methods that return content of an item besides the elements of the protocol.
Hook = Literal["alternates", "images", "videos", "news"]
HOOKS: tuple[Hook, ...] = get_args(Hook)
#: Hooks except `alternates`, since `django.contrib.sitemaps` has a switch with this name.
EXTENDING: tuple[Hook, ...] = HOOKS[1:]


def own_extensions(sitemap: object) -> list[Extension]:
    """Return the extensions of a sitemap.

    Raise `ImproperlyConfigured` if two of them have the same prefix or the same namespace.
    """
    value = getattr(sitemap, "extensions", ())
    candidates = value if isinstance(value, (list, tuple)) else ()
    extensions = [extension for extension in candidates if isinstance(extension, Extension)]
    prefixes = {extension.prefix for extension in extensions}
    namespaces = {extension.namespace for extension in extensions}
    if min(len(prefixes), len(namespaces)) < len(extensions):
        raise ImproperlyConfigured(
            f"{type(sitemap).__qualname__}.extensions must have unique prefixes and unique namespaces."
        )
    return extensions


def results_in(column: Callable[[str], Sequence[Any]]) -> dict[str | Extension, list[Any]]:
    """Return the results that hooks of this package added to entries of `get_urls()`, except for links.

    `column` returns the values of all entries for a key.
    """
    results: dict[str | Extension, list[Any]] = {}
    for name in EXTENDING:
        hook_values = [value if isinstance(value, (HookResults, News)) else None for value in column(name)]
        if any(value is not None for value in hook_values):
            results[name] = hook_values
    dicts = [dict(value) if isinstance(value, HookResults) else {} for value in column("extensions")]
    for extension in dict.fromkeys(extension for texts in dicts for extension in texts):
        results[extension] = [texts.get(extension, "") for texts in dicts]
    return results


def columns(
    results: Mapping[str | Extension, Sequence[Any]],
    localizations: Sequence[Localization],
    hosts: AllowedHosts,
    items: Items,
) -> dict[str, Any]:
    """Return the results of hooks as columns of a batch. Invalid values are skipped and reported."""
    batch_columns: dict[str, Any] = {}
    if "alternates" in results:
        batch_columns["alternates"] = alternates(results["alternates"], localizations, hosts, items)
    if "images" in results:
        batch_columns["images"] = _convert_lists(
            "images", results["images"], lambda _, value: _resolve_image(value, hosts), items
        )
    if "videos" in results:
        pages = [localization.texts() for localization in localizations if localization.is_listed]
        batch_columns["videos"] = _convert_lists(
            "videos",
            results["videos"],
            lambda i, value: _resolve_video(
                value, hosts, {url for page in pages for url in hosts.absolute_urls(page[i])}
            ),
            items,
        )
    if "news" in results:
        batch_columns["news"] = items.each(_recent_news, results["news"], "news", failed=None)
    xml_columns = [
        _foreign_xml(extension, values, items)
        for extension, values in results.items()
        if isinstance(extension, Extension)
    ]
    if xml_columns:
        batch_columns["foreign"] = list(map("".join, zip(*xml_columns, strict=True)))
        batch_columns["extensions"] = [name for name in results if isinstance(name, Extension)]
    return batch_columns


def _convert_lists(
    name: str, lists: Sequence[Any], convert: Callable[[int, Any], Any], items: Items
) -> list[list[Any]]:
    results: list[list[Any]] = []
    for i, values in enumerate(lists):
        if values is FAILED or not values:
            results.append([])
            continue
        if len(values) > protocol.MAX_IMAGES:
            reason = f"there are {len(values):,}; only the first {protocol.MAX_IMAGES:,} are written"
            items.skip(i, name, reason)
            values = values[: protocol.MAX_IMAGES]
        results.append(items.each_of(i, lambda value: convert(i, value), values, name))  # noqa: B023
    return results


def _check_type(value: object, kind: type) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{short_repr(value)} is not of type {kind.__name__}")


def _resolve_image(image: Image, hosts: AllowedHosts) -> Image:
    _check_type(image, Image)
    location = hosts.media(image.loc)
    if image.license:
        return replace(image, loc=location, license=hosts.external_location(image.license))
    return image if location == image.loc else replace(image, loc=location)


def _resolve_video(video: Video, hosts: AllowedHosts, pages: AbstractSet[str]) -> Video:
    _check_type(video, Video)
    result = replace(
        video,
        thumbnail_loc=hosts.media(video.thumbnail_loc),
        content_loc=hosts.media(video.content_loc) if video.content_loc else None,
        player_loc=hosts.external_location(video.player_loc) if video.player_loc else None,
        uploader_info=hosts.external_location(video.uploader_info) if video.uploader_info else None,
        expiration_date=_make_aware(video.expiration_date),
        publication_date=_make_aware(video.publication_date),
    )
    for name in ("content_loc", "player_loc"):
        location = getattr(result, name)
        if not pages.isdisjoint(hosts.absolute_urls(location)):
            raise ValueError(f"{name} is the URL of the page itself")
    return result


def _recent_news(news: News | None) -> News | None:
    """Return news of the last two days with valid values; `None` for older news.

    A page with an older article is listed without news (Google, "News sitemaps"). A date without a time
    means midnight.
    """
    if news is None:
        return None
    _check_type(news, News)
    published = moment = _make_aware(news.publication_date)
    if published is None:
        return None
    if not isinstance(moment, datetime):
        moment = datetime.combine(published, time(), conf.zone)
    if moment < datetime.now(timezone.utc) - timedelta(days=protocol.NEWS_DAYS):
        return None
    return replace(news, language=protocol.news_language(news.language), publication_date=published)


def _make_aware(value: date | None) -> date | None:
    if isinstance(value, datetime) and value.tzinfo is None:
        return value.replace(tzinfo=conf.zone)
    return value


def _foreign_xml(extension: Extension, values: Sequence[Any], items: Items) -> list[str]:
    return items.each(
        lambda text: writer.extension_text(extension, text or ""), values, extension.prefix, failed=""
    )
