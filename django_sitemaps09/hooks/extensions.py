"""Extensions of entries: links, images, videos, news, and a project's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from typing import Any, Literal, TypeAlias, get_args

from django.core.exceptions import ImproperlyConfigured

from django_sitemaps09 import protocol, writer
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import Extension, Image, Localization, News, Video, short_repr
from django_sitemaps09.hooks.hosts import AllowedHosts
from django_sitemaps09.hooks.links import alternates
from django_sitemaps09.hooks.values import FAILED, Items


class HookResults(list[Any]):
    """The result of one of our own hooks. The type marks it, since other dicts can have the same keys."""


#: Methods that return further content of an item, besides the elements of the protocol.
Hook = Literal["alternates", "images", "videos", "news"]
HOOKS: tuple[Hook, ...] = get_args(Hook)
#: The hooks that contrib has no switch for.
EXTENDING: tuple[Hook, ...] = HOOKS[1:]


def own_extensions(sitemap: object) -> list[Extension]:
    """Return the project's extensions. Raise `ImproperlyConfigured` if two share prefix or namespace."""
    value = getattr(sitemap, "extensions", ())
    candidates = value if isinstance(value, (list, tuple)) else ()
    extensions = [extension for extension in candidates if isinstance(extension, Extension)]
    if len({extension.prefix for extension in extensions}) < len(extensions) or len(
        {extension.namespace for extension in extensions}
    ) < len(extensions):
        raise ImproperlyConfigured(
            f"{type(sitemap).__qualname__}.extensions must have unique prefixes and unique namespaces."
        )
    return extensions


#: Values for several items, by the name of the hook or by the extension of the project.
HookValues: TypeAlias = "Mapping[str | Extension, Sequence[Any]]"


def results_in(urls: Sequence[Any], part: Callable[[Any, str], Any]) -> dict[str | Extension, list[Any]]:
    """Return what hooks of ours have added to the entries of `get_urls()`, except for links."""
    results: dict[str | Extension, list[Any]] = {}
    for name in EXTENDING:
        values = [part(url, name) for url in urls]
        hook_values = [value if isinstance(value, (HookResults, News)) else None for value in values]
        if any(value is not None for value in hook_values):
            results[name] = hook_values
    foreign = [part(url, "extensions") for url in urls]
    pairs = [dict(pair) if isinstance(pair, HookResults) else {} for pair in foreign]
    for extension in dict.fromkeys(extension for pair in pairs for extension in pair):
        results[extension] = [pair.get(extension, "") for pair in pairs]
    return results


def columns(
    results: HookValues,
    versions: Sequence[Localization],
    hosts: AllowedHosts,
    items: Items,
) -> dict[str, Any]:
    """Return the values for each item as the columns of a batch; invalid ones are skipped and named."""
    batch_columns: dict[str, Any] = {}
    if "alternates" in results:
        batch_columns["alternates"] = alternates(results["alternates"], versions, hosts, items)
    if "images" in results:
        batch_columns["images"] = _convert_lists(
            "images", results["images"], lambda _, value: _resolve_image(value, hosts), items
        )
    if "videos" in results:
        pages = [version.texts() for version in versions if version.is_listed]
        batch_columns["videos"] = _convert_lists(
            "videos",
            results["videos"],
            lambda i, value: _resolve_video(
                value, hosts, {url for page in pages for url in hosts.absolute_urls(page[i])}
            ),
            items,
        )
    if "news" in results:
        articles = items.each(_recent_news, results["news"], "news")
        batch_columns["news"] = [None if value is FAILED else value for value in articles]
    xml_columns = [
        _foreign_xml(extension, texts, items)
        for extension, texts in results.items()
        if isinstance(extension, Extension)
    ]
    if xml_columns:
        batch_columns["foreign"] = list(map("".join, zip(*xml_columns, strict=True)))
        batch_columns["extensions"] = [value for value in results if isinstance(value, Extension)]
    return batch_columns


def _convert_lists(
    name: str,
    lists: Sequence[Any],
    convert: Callable[[int, Any], Any],
    items: Items,
) -> list[list[Any]]:
    """Return a list of values for each item, where an invalid value does not affect the others."""
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
    content, player = video.content_loc or None, video.player_loc or None
    result = replace(
        video,
        thumbnail_loc=hosts.media(video.thumbnail_loc),
        content_loc=None if content is None else hosts.media(content),
        player_loc=None if player is None else hosts.external_location(player),
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
    """Return news of the last two days; older ones are ordinary pages (Google, "News sitemaps")."""
    if news is None:
        return None
    _check_type(news, News)
    publication_date = _make_aware(news.publication_date)
    if publication_date is None or not is_recent(publication_date):
        return None
    return replace(news, language=protocol.news_language(news.language), publication_date=publication_date)


def is_recent(publication_date: date) -> bool:
    """Return whether something was published in the last two days; a date counts as its midnight."""
    if not isinstance(publication_date, datetime):
        publication_date = datetime(
            publication_date.year, publication_date.month, publication_date.day, tzinfo=conf.zone
        )
    now = datetime.now(timezone.utc)
    return now - timedelta(days=protocol.NEWS_DAYS) <= publication_date


def _make_aware(value: date | None) -> date | None:
    if isinstance(value, datetime) and value.tzinfo is None:
        return value.replace(tzinfo=conf.zone)
    return value


def _foreign_xml(extension: Extension, values: Sequence[Any], items: Items) -> list[str]:
    """Return the XML of a project's extension for each item."""
    texts = items.each(lambda text: writer.extension_text(extension, text or ""), values, extension.prefix)
    return ["" if text is FAILED else text for text in texts]
