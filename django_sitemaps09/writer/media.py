"""Write the images, videos and news of an entry as XML.

Elements are in the order of the XSDs. Locations are absolute URIs, or strings that `join()` joins to
`base`. `key` identifies the item in a `TextError`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from datetime import date, timezone
from itertools import repeat
from operator import attrgetter
from typing import NamedTuple

from django_sitemaps09.entries import Image, News, Video
from django_sitemaps09.protocol import join, w3c
from django_sitemaps09.writer.text import escape

_is_bare = attrgetter("bare")


class _Element(NamedTuple):
    """An element that contains text. `attribute` is empty or XML that begins with a space."""

    name: str
    text: str
    attribute: str = ""


def image_elements(images: Sequence[Image], base: str, key: Hashable) -> str:
    """Return the `image:image` elements of an entry."""
    if not images:
        return ""
    locations = [join(base, image.loc) for image in images]
    if not all(map(_is_bare, images)):
        parts = map(_image, images, locations, repeat(base))
        return "".join(_group("image:image", _elements("image", elements, key)) for elements in parts)
    separator = "</image:loc></image:image><image:image><image:loc>"
    texts = separator.join(escape(locations, repeat(key)))
    return f"<image:image><image:loc>{texts}</image:loc></image:image>"


def _image(image: Image, location: str, base: str) -> Iterator[_Element]:
    yield _Element("loc", location)
    for name, text in (
        ("caption", image.caption),
        ("geo_location", image.geo_location),
        ("title", image.title),
        ("license", _join_location(image.license, base)),
    ):
        if text:
            yield _Element(name, text)


def video_elements(videos: Sequence[Video], base: str, key: Hashable) -> str:
    """Return the `video:video` elements of an entry. Datetimes must be aware."""
    parts = map(_video, videos, repeat(base), repeat(key))
    return "".join([_group("video:video", _elements("video", elements, key)) for elements in parts])


def _video(video: Video, base: str, key: Hashable) -> Iterator[_Element]:
    yield _Element("thumbnail_loc", _join_location(video.thumbnail_loc, base))
    yield _Element("title", video.title)
    yield _Element("description", video.description)
    for name, text in (
        ("content_loc", _join_location(video.content_loc, base)),
        ("player_loc", _join_location(video.player_loc, base)),
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
        yield _Element("family_friendly", _yes_or_no(video.family_friendly))
    if restriction := video.restriction:
        yield _relationship_element("restriction", restriction.relationship, restriction.countries)
    if video.requires_subscription is not None:
        yield _Element("requires_subscription", _yes_or_no(video.requires_subscription))
    if video.uploader:
        yield _Element("uploader", video.uploader, _info(video.uploader_info, base, key))
    if platform := video.platform:
        yield _relationship_element("platform", platform.relationship, platform.platforms)
    if video.live is not None:
        yield _Element("live", _yes_or_no(video.live))


def news_element(news: News, key: Hashable) -> str:
    """Return the `news:news` element of an entry. The language must be valid, and the datetime aware."""
    name, language, publication_date, title = _elements(
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
    return _group("news:news", [publication, publication_date, title])


def _elements(prefix: str, elements: Iterable[_Element], key: Hashable) -> list[str]:
    """Return the XML of elements. Escaping all strings together is faster than one by one."""
    element_list = list(elements)
    texts = escape([element.text for element in element_list], repeat(key))
    return [
        f"<{prefix}:{name}{attribute}>{text}</{prefix}:{name}>"
        for (name, _, attribute), text in zip(element_list, texts, strict=True)
    ]


def _group(name: str, elements: Iterable[str]) -> str:
    return f"<{name}>{''.join(elements)}</{name}>"


def _join_location(location: str | None, base: str) -> str:
    return join(base, location or "")


def _time(value: date | None) -> str:
    return "" if value is None else w3c(value, timezone.utc)


def _number(value: object) -> str:
    """Return the digits of an int or a `Decimal`, without an exponent."""
    return "" if value is None else format(value, "f" if not isinstance(value, int) else "d")


def _yes_or_no(flag: bool) -> str:
    return "yes" if flag else "no"


def _relationship_element(name: str, relationship: str, words: Iterable[str]) -> _Element:
    """Return a `restriction` or `platform` element. The words are already checked and need no escaping."""
    return _Element(name, " ".join(words), f' relationship="{relationship}"')


def _info(location: str | None, base: str, key: Hashable) -> str:
    if not location:
        return ""
    [text] = escape([_join_location(location, base)], repeat(key))
    return f' info="{text}"'
