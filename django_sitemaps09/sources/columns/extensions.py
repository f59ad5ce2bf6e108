"""Extensions of entries: links, images, videos, news, and a project's own."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from typing import Any, TypeAlias

from django_sitemaps09 import protocol, writer
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import (
    NAMESPACES,
    Alternate,
    Batch,
    Extension,
    Image,
    ItemError,
    Localization,
    News,
    Video,
    excerpt,
    shown,
)
from django_sitemaps09.sitemaps import EXTENDING, HOOKS, Sitemap, Told, own_extensions
from django_sitemaps09.sources.columns import values
from django_sitemaps09.sources.columns.formats import format_name
from django_sitemaps09.sources.columns.hosts import AllowedHosts
from django_sitemaps09.sources.profiling import step

_PREFIXES = {"alternates": "xhtml", "images": "image", "videos": "video", "news": "news"}


def hooks(sitemap: object) -> dict[str, Callable[[Any], Any]]:
    """Return the methods of a sitemap that extend its entries.

    Attributes that are not methods are not ours. A sitemap whose files have only URLs has no such methods.
    """
    if format_name(sitemap) == "text" or not isinstance(sitemap, Sitemap):
        return {}
    found = {name: getattr(sitemap, name, None) for name in HOOKS}
    return {name: hook for name, hook in found.items() if callable(hook)}


def own(sitemap: object) -> list[Extension]:
    """Return the extensions of the project, if they are written."""
    return [] if format_name(sitemap) == "text" else own_extensions(sitemap)


def namespaces(sitemap: object, *, linked: bool) -> dict[str, str]:
    """Return the namespaces of all that the entries of a sitemap can have, by prefix."""
    prefixes = [_PREFIXES[name] for name in hooks(sitemap)] + ["xhtml"] * linked
    found = {prefix: NAMESPACES[prefix] for prefix in prefixes}
    return found | {extension.prefix: extension.namespace for extension in own(sitemap)}


def used(batch: Batch) -> dict[str, str]:
    """Return the namespaces of what the entries of a batch have, by prefix."""
    columns = {name: getattr(batch, name) for name in HOOKS}
    found = [_PREFIXES[name] for name, column in columns.items() if column is not None and any(column)]
    if any(version.language for version in batch.versions):
        found.append("xhtml")
    foreign = {some.prefix: some.namespace for some in batch.extensions if any(batch.foreign or ())}
    return {prefix: NAMESPACES[prefix] for prefix in found} | foreign


#: Values for several items, by the name of the hook or by the extension of the project.
Answers: TypeAlias = "Mapping[str | Extension, Sequence[Any]]"


def told(
    sitemap: object, items: Sequence[Any], keys: Sequence[Hashable], errors: list[ItemError]
) -> dict[str | Extension, list[Any]]:
    """Return what the hooks give for each item."""
    found: dict[str | Extension, list[Any]] = {}
    for name, hook in hooks(sitemap).items():
        with step(name):  # type: ignore[arg-type]
            whole = _whole_news if name == "news" else _whole_list
            # Generators are consumed here, where their errors are the item's.
            found[name] = values.each(lambda item: whole(hook(item)), items, keys, name, errors)  # noqa: B023
    for extension in own(sitemap):
        with step("extensions"):
            found[extension] = values.each(extension.xml, items, keys, extension.prefix, errors)
    return found


def told_in(urls: Sequence[Any], part: Callable[[Any, str], Any]) -> dict[str | Extension, list[Any]]:
    """Return what hooks of ours have added to the entries of `get_urls()`, except for links."""
    found: dict[str | Extension, list[Any]] = {}
    for name in EXTENDING:
        given = [part(url, name) for url in urls]
        ours = [one if isinstance(one, (Told, News)) else None for one in given]
        if any(one is not None for one in ours):
            found[name] = ours
    foreign = [part(url, "extensions") for url in urls]
    pairs = [dict(some) if isinstance(some, Told) else {} for some in foreign]
    for extension in dict.fromkeys(extension for some in pairs for extension in some):
        found[extension] = [some.get(extension, "") for some in pairs]
    return found


def _whole_news(value: Any) -> Any:
    return value


def _whole_list(value: Any) -> list[Any]:
    if value and isinstance(value, (str, bytes)):
        raise TypeError(f"{shown(value)} is a text, and no list")
    return [] if value is None or value == "" else list(value)


def columns(
    told: Answers,
    versions: Sequence[Localization],
    hosts: AllowedHosts,
    keys: Sequence[Hashable],
    errors: list[ItemError],
) -> dict[str, Any]:
    """Return the values for each item as the columns of a batch; invalid ones are skipped and named."""
    found: dict[str, Any] = {}
    if "alternates" in told:
        found["alternates"] = _alternates(told["alternates"], versions, hosts, keys, errors)
    if "images" in told:
        found["images"] = _several(
            "images", told["images"], lambda _, one: _image(one, hosts), keys, errors
        )
    if "videos" in told:
        pages = [version.texts() for version in versions if version.listed]
        found["videos"] = _several(
            "videos",
            told["videos"],
            lambda i, one: _video(one, hosts, {url for page in pages for url in hosts.joined_to(page[i])}),
            keys,
            errors,
        )
    if "news" in told:
        recent = values.each(_news, told["news"], keys, "news", errors)
        found["news"] = [None if one is values.FAILED else one for one in recent]
    written = [
        _foreign(extension, texts, keys, errors)
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
    keys: Sequence[Hashable],
    errors: list[ItemError],
) -> list[list[Any]]:
    """Return a list of values for each item, where an invalid value does not affect the others."""
    found: list[list[Any]] = []
    for i, some in enumerate(told):
        if some is values.FAILED or not some:
            found.append([])
            continue
        if len(some) > protocol.MAX_IMAGES:
            reason = f"are {len(some):,}; the first {protocol.MAX_IMAGES:,} are listed"
            errors.append(ItemError(excerpt(keys[i]), name, reason))
            some = some[: protocol.MAX_IMAGES]
        made = values.each(lambda one: convert(i, one), some, [keys[i]] * len(some), name, errors)  # noqa: B023
        found.append([one for one in made if one is not values.FAILED])
    return found


def _of_type(value: object, wanted: type) -> None:
    if not isinstance(value, wanted):
        raise TypeError(f"{shown(value)} is no {wanted.__name__}")


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


def _foreign(
    extension: Extension, told: Sequence[Any], keys: Sequence[Hashable], errors: list[ItemError]
) -> list[str]:
    """Return the XML of a project's extension for each item."""
    found = values.each(
        lambda text: writer.extension_text(extension, text or ""), told, keys, extension.prefix, errors
    )
    return ["" if text is values.FAILED else text for text in found]


def _alternates(
    told: Sequence[Any],
    versions: Sequence[Localization],
    hosts: AllowedHosts,
    keys: Sequence[Hashable],
    errors: list[ItemError],
) -> list[list[Alternate]]:
    """Return the links that a project names, which form one set with those of an item's own languages.

    Crawlers ignore a set that names a language twice, or that does not name the item itself.
    """
    linked = [(version.language, version.texts()) for version in versions if version.language]
    listed = [version.texts() for version in versions if version.listed]

    def on(place: int, url: str | None) -> str:
        return [*hosts.joined_to(url), *[""] * len(hosts.bases)][place]

    def check(place: int, position: int, links: Sequence[Alternate]) -> None:
        """Check the links as they are on one of the hosts."""
        own = [(code, on(place, found[position])) for code, found in linked if found[position]]
        pages = () if own else {on(place, found[position]) for found in listed if found[position]}
        protocol.check_links([(link.language, on(place, link.location)) for link in links], own, pages)

    def checked(position: int) -> list[Alternate]:
        links = [alternate(link, hosts) for link in told[position] or ()]
        *others, last = range(len(hosts.bases))
        for place in others:
            with suppress(ValueError):
                check(place, position, links)
                return links
        check(last, position, links)
        return links

    positions = [values.FAILED if some is values.FAILED else i for i, some in enumerate(told)]
    found = values.each(checked, positions, keys, "alternates", errors)
    return [[] if links is values.FAILED else links for links in found]


def alternate(link: Any, hosts: AllowedHosts) -> Alternate:
    """Return a link that a project names, either an `Alternate` or a pair like one."""
    language, location = link
    return Alternate(protocol.hreflang(language), hosts.elsewhere(location))
