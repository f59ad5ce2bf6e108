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
from django_sitemaps09.entries import Extension, Image, Localization, News, Video, shown
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
    found = getattr(sitemap, "extensions", ())
    listed = found if isinstance(found, (list, tuple)) else ()
    own = [some for some in listed if isinstance(some, Extension)]
    if len({some.prefix for some in own}) < len(own) or len({some.namespace for some in own}) < len(own):
        raise ImproperlyConfigured(
            f"{type(sitemap).__qualname__}.extensions must have unique prefixes and unique namespaces."
        )
    return own


#: Values for several items, by the name of the hook or by the extension of the project.
Answers: TypeAlias = "Mapping[str | Extension, Sequence[Any]]"


def results_in(urls: Sequence[Any], part: Callable[[Any, str], Any]) -> dict[str | Extension, list[Any]]:
    """Return what hooks of ours have added to the entries of `get_urls()`, except for links."""
    found: dict[str | Extension, list[Any]] = {}
    for name in EXTENDING:
        given = [part(url, name) for url in urls]
        ours = [one if isinstance(one, (HookResults, News)) else None for one in given]
        if any(one is not None for one in ours):
            found[name] = ours
    foreign = [part(url, "extensions") for url in urls]
    pairs = [dict(some) if isinstance(some, HookResults) else {} for some in foreign]
    for extension in dict.fromkeys(extension for some in pairs for extension in some):
        found[extension] = [some.get(extension, "") for some in pairs]
    return found


def columns(
    told: Answers,
    versions: Sequence[Localization],
    hosts: AllowedHosts,
    items: Items,
) -> dict[str, Any]:
    """Return the values for each item as the columns of a batch; invalid ones are skipped and named."""
    found: dict[str, Any] = {}
    if "alternates" in told:
        found["alternates"] = alternates(told["alternates"], versions, hosts, items)
    if "images" in told:
        found["images"] = _several("images", told["images"], lambda _, one: _image(one, hosts), items)
    if "videos" in told:
        pages = [version.texts() for version in versions if version.listed]
        found["videos"] = _several(
            "videos",
            told["videos"],
            lambda i, one: _video(one, hosts, {url for page in pages for url in hosts.joined_to(page[i])}),
            items,
        )
    if "news" in told:
        recent = items.each(_news, told["news"], "news")
        found["news"] = [None if one is FAILED else one for one in recent]
    written = [
        _foreign(extension, texts, items)
        for extension, texts in told.items()
        if isinstance(extension, Extension)
    ]
    if written:
        found["foreign"] = list(map("".join, zip(*written, strict=True)))
        found["extensions"] = [one for one in told if isinstance(one, Extension)]
    return found


def _several(
    name: str,
    told: Sequence[Any],
    convert: Callable[[int, Any], Any],
    items: Items,
) -> list[list[Any]]:
    """Return a list of values for each item, where an invalid value does not affect the others."""
    found: list[list[Any]] = []
    for i, some in enumerate(told):
        if some is FAILED or not some:
            found.append([])
            continue
        if len(some) > protocol.MAX_IMAGES:
            reason = f"there are {len(some):,}; only the first {protocol.MAX_IMAGES:,} are written"
            items.skip(i, name, reason)
            some = some[: protocol.MAX_IMAGES]
        found.append(items.each_of(i, lambda one: convert(i, one), some, name))  # noqa: B023
    return found


def _of_type(value: object, wanted: type) -> None:
    if not isinstance(value, wanted):
        raise TypeError(f"{shown(value)} is not of type {wanted.__name__}")


def _image(image: Image, hosts: AllowedHosts) -> Image:
    _of_type(image, Image)
    location = hosts.media(image.loc)
    if image.license:
        return replace(image, loc=location, license=hosts.elsewhere(image.license))
    return image if location == image.loc else replace(image, loc=location)


def _video(video: Video, hosts: AllowedHosts, pages: AbstractSet[str]) -> Video:
    _of_type(video, Video)
    content, player = video.content_loc or None, video.player_loc or None
    made = replace(
        video,
        thumbnail_loc=hosts.media(video.thumbnail_loc),
        content_loc=None if content is None else hosts.media(content),
        player_loc=None if player is None else hosts.elsewhere(player),
        uploader_info=hosts.elsewhere(video.uploader_info) if video.uploader_info else None,
        expiration_date=_aware(video.expiration_date),
        publication_date=_aware(video.publication_date),
    )
    for name in ("content_loc", "player_loc"):
        found = getattr(made, name)
        if not pages.isdisjoint(hosts.joined_to(found)):
            raise ValueError(f"{name} is the URL of the page itself")
    return made


def _news(news: News | None) -> News | None:
    """Return news of the last two days; older ones are ordinary pages (Google, "News sitemaps")."""
    if news is None:
        return None
    _of_type(news, News)
    published = _aware(news.publication_date)
    if published is None or not is_recent(published):
        return None
    return replace(news, language=protocol.news_language(news.language), publication_date=published)


def is_recent(published: date) -> bool:
    """Return whether something was published in the last two days; a date counts as its midnight."""
    if not isinstance(published, datetime):
        published = datetime(published.year, published.month, published.day, tzinfo=conf.zone)
    now = datetime.now(timezone.utc)
    return now - timedelta(days=protocol.NEWS_DAYS) <= published


def _aware(value: date | None) -> date | None:
    if isinstance(value, datetime) and value.tzinfo is None:
        return value.replace(tzinfo=conf.zone)
    return value


def _foreign(extension: Extension, told: Sequence[Any], items: Items) -> list[str]:
    """Return the XML of a project's extension for each item."""
    texts = items.each(lambda text: writer.extension_text(extension, text or ""), told, extension.prefix)
    return ["" if text is FAILED else text for text in texts]
