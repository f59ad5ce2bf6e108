"""Images, videos and news for a page, with the fields of Google's sitemap extensions, and other extensions.

Creating a value object raises `ValueError` for an invalid field, and `TypeError` for a tag that Google no
longer supports. The fields of a class are the one table of its elements: they have the names of Google's
tags, are in the order of the XSD, and their metadata has their checks.
https://developers.google.com/search/docs/crawling-indexing/sitemaps/overview
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import Any, ClassVar, Literal, TypeVar, get_args

from django_sitemaps09.protocol import fields, limits
from django_sitemaps09.protocol.fields import rule, short_repr, typed_repr

CheckedT = TypeVar("CheckedT", bound="_Checked")
Relationship = Literal["allow", "deny"]
PlatformName = Literal["web", "mobile", "tv"]

# The form of an ISO 3166-1 alpha-2 code. The list of codes changes, so it is not checked.
_COUNTRY = re.compile(r"[A-Za-z]{2}")

#: The namespaces of the extensions that this package writes, by prefix.
NAMESPACES: Mapping[str, str] = MappingProxyType(
    {
        "xhtml": "http://www.w3.org/1999/xhtml",
        "image": "http://www.google.com/schemas/sitemap-image/1.1",
        "video": "http://www.google.com/schemas/sitemap-video/1.1",
        "news": "http://www.google.com/schemas/sitemap-news/0.9",
    }
)
_TAKEN = {
    *NAMESPACES.values(),
    "http://www.sitemaps.org/schemas/sitemap/0.9",
    "http://www.w3.org/XML/1998/namespace",
    "http://www.w3.org/2000/xmlns/",
}
# An NCName in ASCII, https://www.w3.org/TR/xml-names/#NT-NCName
_PREFIX = re.compile(r"[A-Za-z_][A-Za-z0-9._-]*")
# RFC 3986: a scheme, followed by the characters and escapes that a URI can contain.
_NAMESPACE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:([A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})+")


def _check_word(name: str, value: object, words: tuple[str, ...]) -> str:
    if value not in words:
        raise ValueError(f"{name} must be one of {', '.join(words)}, not {typed_repr(value)}")
    # Not the value itself, because it may be an enum member.
    return words[words.index(value)]


def _check_platforms(name: str, value: object) -> tuple[str, ...]:
    texts = _nonempty_texts(name, value)
    return tuple(_check_word(f"each value of {name}", text, get_args(PlatformName)) for text in texts)


def _check_countries(name: str, value: object) -> tuple[str, ...]:
    codes = _nonempty_texts(name, value)
    if invalid := [short_repr(code) for code in codes if not _COUNTRY.fullmatch(code)]:
        raise ValueError(f"each value of {name} must be a two-letter ISO 3166 code, not {invalid[0]}")
    return tuple(code.upper() for code in codes)


def _nonempty_texts(name: str, value: object) -> tuple[str, ...]:
    texts = fields.texts(name, value)
    if not texts:
        raise ValueError(f"{name} must have at least one value")
    return texts


def _check_instance(name: str, value: object, kind: type) -> object:
    if not isinstance(value, kind):
        raise ValueError(f"{name} must be a {kind.__name__}, not {typed_repr(value)}")
    return value


_TEXT, _OPTIONAL_TEXT, _MOMENT = rule(fields.text), rule(fields.optional_text), rule(fields.moment)
_LOCATION, _OPTIONAL_LOCATION = rule(fields.location), rule(fields.optional_location)
_FLAG, _RELATIONSHIP = rule(fields.flag), rule(_check_word, words=get_args(Relationship))
_VIEW_COUNT = rule(fields.whole_number, least=0, most=limits.MAX_VIEWS, description="a whole number")
_UPLOADER = rule(fields.optional_text, most=limits.MAX_VIDEO_UPLOADER)


class _Checked:
    """A base class that checks all fields, and rejects tags that Google no longer supports."""

    __slots__ = ()

    dropped_tags: ClassVar[tuple[str, ...]] = ()
    reason: ClassVar[str]

    def __new__(cls: type[CheckedT], *args: object, **arguments: object) -> CheckedT:
        if names := sorted(arguments.keys() & cls.dropped_tags):
            reason = cls.reason.format(", ".join(names))
            raise TypeError(f"{cls.__name__}: {reason}; remove the listed arguments")
        return object.__new__(cls)

    def __post_init__(self) -> None:
        fields.check_fields(self)


@dataclass(frozen=True, slots=True)
class Image:
    """One image of a page.

    `loc` is an absolute URL, a path, or relative to `MEDIA_URL`. Google has ignored the other fields since
    August 2022, but other crawlers may read them. Strings have at most 2,048 characters.
    """

    loc: str = field(metadata=_LOCATION)
    _: KW_ONLY
    caption: str | None = field(default=None, metadata=_OPTIONAL_TEXT)
    geo_location: str | None = field(default=None, metadata=_OPTIONAL_TEXT)
    title: str | None = field(default=None, metadata=_OPTIONAL_TEXT)
    license: str | None = field(default=None, metadata=_OPTIONAL_LOCATION)

    def __post_init__(self) -> None:
        # Sites can have millions of images. For nearly all of them, this fast check is enough.
        loc = self.loc
        is_plain = type(loc) is str and 0 < len(loc) <= limits.MAX_RAW_LOCATION and loc.isprintable()
        if not (is_plain and loc[0] != " " and self.bare):
            fields.check_fields(self)

    @property
    def bare(self) -> bool:
        """Return whether `loc` is the only field that is set."""
        return self.caption is self.geo_location is self.title is self.license is None


@dataclass(frozen=True, slots=True)
class Restriction(_Checked):
    """The ISO 3166 codes of the countries where a video may (`allow`) or must not (`deny`) be shown."""

    relationship: Relationship = field(metadata=_RELATIONSHIP)
    countries: Iterable[str] = field(metadata=rule(_check_countries))


@dataclass(frozen=True, slots=True)
class Platform(_Checked):
    """The platforms on which a video may (`allow`) or must not (`deny`) be shown."""

    relationship: Relationship = field(metadata=_RELATIONSHIP)
    platforms: Iterable[PlatformName] = field(metadata=rule(_check_platforms))


@dataclass(frozen=True, slots=True)
class Video(_Checked):
    """One video of a page, with at least one of `content_loc` and `player_loc`.

    `duration` is a timedelta or a number of seconds, and is stored as seconds. `rating` is from 0.0 to 5.0.
    No location may be the URL of the page itself. Naive datetimes are in Django's `TIME_ZONE`.
    """

    dropped_tags = (
        *("category", "gallery_loc", "price", "tvshow", "allow_embed", "autoplay"),
        *("content_segment_loc", "id"),
    )
    reason = "Google dropped {} in 2022"

    thumbnail_loc: str = field(metadata=_LOCATION)
    title: str = field(metadata=rule(fields.text, most=limits.MAX_VIDEO_TITLE))
    description: str = field(metadata=rule(fields.text, most=limits.MAX_VIDEO_DESCRIPTION))
    _: KW_ONLY
    content_loc: str | None = field(default=None, metadata=_OPTIONAL_LOCATION)
    player_loc: str | None = field(default=None, metadata=_OPTIONAL_LOCATION)
    duration: int | timedelta | None = field(default=None, metadata=rule(fields.seconds))
    expiration_date: date | None = field(default=None, metadata=_MOMENT)
    rating: float | Decimal | None = field(default=None, metadata=rule(fields.rating))
    view_count: int | None = field(default=None, metadata=_VIEW_COUNT)
    publication_date: date | None = field(default=None, metadata=_MOMENT)
    tags: Iterable[str] = field(default=(), metadata=rule(fields.texts, most=limits.MAX_VIDEO_TAGS))
    family_friendly: bool | None = field(default=None, metadata=_FLAG)
    restriction: Restriction | None = field(default=None, metadata=rule(_check_instance, kind=Restriction))
    requires_subscription: bool | None = field(default=None, metadata=_FLAG)
    uploader: str | None = field(default=None, metadata=_UPLOADER)
    uploader_info: str | None = field(default=None, metadata=_OPTIONAL_LOCATION)
    platform: Platform | None = field(default=None, metadata=rule(_check_instance, kind=Platform))
    live: bool | None = field(default=None, metadata=_FLAG)

    def __post_init__(self) -> None:
        fields.check_fields(self)
        if not self.content_loc and not self.player_loc:
            raise ValueError("Video.content_loc or Video.player_loc is required")
        if self.uploader_info and not self.uploader:
            raise ValueError("Video.uploader is required if Video.uploader_info is set")


@dataclass(frozen=True, slots=True)
class News(_Checked):
    """The news article of a page, published in the last two days.

    `language` is the language of the publication, and `publication_date` the date of the article.
    """

    dropped_tags = ("access", "genres", "keywords", "stock_tickers")
    reason = "Google News no longer supports {}"

    publication_name: str = field(metadata=_TEXT)
    language: str = field(metadata=_TEXT)
    publication_date: date = field(metadata=_MOMENT)
    title: str = field(metadata=_TEXT)


@dataclass(frozen=True, slots=True)
class Extension:
    """Elements in a namespace of the project. They are added to the end of each `<url>`.

    `xml` takes an item, and returns well-formed elements that use `prefix`, or an empty string.
    """

    prefix: str = field(metadata=_TEXT)
    namespace: str = field(metadata=_TEXT)
    xml: Callable[[Any], str]

    def __post_init__(self) -> None:
        fields.check_fields(self)
        prefix, namespace = self.prefix, self.namespace
        if not _PREFIX.fullmatch(prefix):
            raise ValueError(f"Extension.prefix must be an XML name in ASCII, not {typed_repr(prefix)}")
        # Prefixes that begin with "xml" in any case are reserved, https://www.w3.org/TR/xml-names/#xmlReserved
        if prefix.lower().startswith("xml") or prefix in NAMESPACES:
            raise ValueError(f"Extension.prefix must not be {prefix}, which is reserved")
        if not _NAMESPACE.fullmatch(namespace):
            raise ValueError(f"Extension.namespace must be an absolute URI, not {typed_repr(namespace)}")
        if namespace in _TAKEN:
            raise ValueError(f"Extension.namespace must not be {namespace}, which is reserved")
        if not callable(self.xml):
            text = typed_repr(self.xml)
            raise ValueError(f"Extension.xml must be a function that takes an item, not {text}")
