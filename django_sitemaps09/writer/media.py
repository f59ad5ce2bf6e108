"""Write images, videos and news as the XML of one entry, each extension on one line.

Elements are in the order of the XSDs. Locations are final: absolute URIs, or texts that `joined` joins to
`base`. `key` names the item in a `TextError`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from datetime import date, timezone
from itertools import repeat
from operator import attrgetter
from typing import NamedTuple

from django_sitemaps09.entries import Image, News, Video
from django_sitemaps09.protocol import joined, w3c
from django_sitemaps09.writer.text import escaped

_is_bare = attrgetter("bare")


class _Element(NamedTuple):
    """One element with text; `attribute` is XML that begins with a space."""

    name: str
    text: str
    attribute: str = ""


def image_elements(images: Sequence[Image], base: str, key: Hashable) -> str:
    """Return the `image:image` elements of an entry."""
    if not images:
        return ""
    locations = [image.loc for image in images]
    locations = [joined(base, loc) for loc in locations]
    if not all(map(_is_bare, images)):
        parts = map(_image, images, locations, repeat(base))
        return "".join(_group("image:image", _elements("image", some, key)) for some in parts)
    between = "</image:loc></image:image><image:image><image:loc>"
    texts = between.join(escaped(locations, repeat(key)))
    return f"<image:image><image:loc>{texts}</image:loc></image:image>"


def _image(image: Image, location: str, base: str) -> Iterator[_Element]:
    yield _Element("loc", location)
    for name, text in (
        ("caption", image.caption),
        ("geo_location", image.geo_location),
        ("title", image.title),
        ("license", _located(image.license, base)),
    ):
        if text:
            yield _Element(name, text)


def video_elements(videos: Sequence[Video], base: str, key: Hashable) -> str:
    """Return the `video:video` elements of an entry; datetimes must be aware."""
    parts = map(_video, videos, repeat(base), repeat(key))
    return "".join([_group("video:video", _elements("video", some, key)) for some in parts])


def _video(video: Video, base: str, key: Hashable) -> Iterator[_Element]:
    yield _Element("thumbnail_loc", _located(video.thumbnail_loc, base))
    yield _Element("title", video.title)
    yield _Element("description", video.description)
    for name, text in (
        ("content_loc", _located(video.content_loc, base)),
        ("player_loc", _located(video.player_loc, base)),
        ("duration", _number(video.duration)),
        ("expiration_date", _time(video.expiration_date)),
        ("rating", _number(video.rating)),
        ("view_count", _number(video.view_count)),
        ("publication_date", _time(video.publication_date)),
    ):
        if text:
            yield _Element(name, text)
    for tag in video.tags:
        yield _Element("tag", tag)
    if video.family_friendly is not None:
        yield _Element("family_friendly", _answer(video.family_friendly))
    if allowed := video.restriction:
        yield _related("restriction", allowed.relationship, allowed.countries)
    if video.requires_subscription is not None:
        yield _Element("requires_subscription", _answer(video.requires_subscription))
    if video.uploader:
        yield _Element("uploader", video.uploader, _info(video.uploader_info, base, key))
    if shown := video.platform:
        yield _related("platform", shown.relationship, shown.platforms)
    if video.live is not None:
        yield _Element("live", _answer(video.live))


def news_element(news: News, key: Hashable) -> str:
    """Return the `news:news` element of an entry. Its language must be in the XSD, and its time aware."""
    name, language, published, title = _elements(
        "news",
        [
            _Element("name", news.publication_name),
            _Element("language", news.language),
            _Element("publication_date", w3c(news.publication_date, timezone.utc)),
            _Element("title", news.title),
        ],
        key,
    )
    publication = _group("news:publication", [name, language])
    return _group("news:news", [publication, published, title])


def _elements(prefix: str, elements: Iterable[_Element], key: Hashable) -> list[str]:
    """Return the XML of elements. Escaping their texts in one step costs less than one by one."""
    some = list(elements)
    texts = escaped([element.text for element in some], repeat(key))
    return [
        f"<{prefix}:{name}{attribute}>{text}</{prefix}:{name}>"
        for (name, _, attribute), text in zip(some, texts, strict=True)
    ]


def _group(name: str, elements: Iterable[str]) -> str:
    return f"<{name}>{''.join(elements)}</{name}>"


def _located(location: str | None, base: str) -> str:
    return joined(base, location or "")


def _time(value: date | None) -> str:
    return "" if value is None else w3c(value, timezone.utc)


def _number(value: object) -> str:
    """Return the digits of an int or a `Decimal`, without an exponent."""
    return "" if value is None else format(value, "f" if not isinstance(value, int) else "d")


def _answer(flag: bool) -> str:
    return "yes" if flag else "no"


def _related(name: str, relationship: str, words: Iterable[str]) -> _Element:
    """Return an element of words that need no escaping: from a closed set, or of a checked form."""
    return _Element(name, " ".join(words), f' relationship="{relationship}"')


def _info(location: str | None, base: str, key: Hashable) -> str:
    if not location:
        return ""
    [text] = escaped([_located(location, base)], repeat(key))
    return f' info="{text}"'
