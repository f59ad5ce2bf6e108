"""Images, videos and news for a page, with the fields of Google's sitemap extensions.

Creating a value object raises `ValueError` for an invalid field, and `TypeError` for a tag that Google no
longer supports. Fields have the names of Google's tags:
https://developers.google.com/search/docs/crawling-indexing/sitemaps/overview
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

from django_sitemaps09.entries import fields
from django_sitemaps09.entries.text import short_repr

if TYPE_CHECKING:
    from typing_extensions import Self

Relationship = Literal["allow", "deny"]
PlatformName = Literal["web", "mobile", "tv"]

#: Maximum lengths, in characters, of text fields of a video, and maximum number of tags (Google's page on
#: video sitemaps).
MAX_VIDEO_TITLE = 100
MAX_VIDEO_DESCRIPTION = 2_048
MAX_VIDEO_UPLOADER = 255
MAX_VIDEO_TAGS = 32

# The form of an ISO 3166-1 alpha-2 code. The list of codes changes, so it is not checked.
_COUNTRY = re.compile(r"[A-Za-z]{2}")


class _SupportedTags:
    """A base class whose constructor rejects tags that Google no longer supports."""

    __slots__ = ()

    dropped_tags: ClassVar[tuple[str, ...]] = ()
    reason: ClassVar[str]

    def __new__(cls, *args: object, **arguments: object) -> Self:
        if names := sorted(arguments.keys() & cls.dropped_tags):
            raise TypeError(
                f"{cls.__name__}: {cls.reason.format(', '.join(names))}; remove the listed arguments"
            )
        return object.__new__(cls)


@dataclass(frozen=True, slots=True)
class Image:
    """One image of a page.

    `loc` is an absolute URL, a path, or relative to `MEDIA_URL`. Google has ignored the other fields since
    August 2022, but other crawlers may read them. Strings have at most 2,048 characters.
    """

    loc: str
    _: KW_ONLY
    caption: str | None = None
    geo_location: str | None = None
    title: str | None = None
    license: str | None = None

    def __post_init__(self) -> None:
        # Sites can have millions of images. For nearly all of them, this fast check is enough.
        if self.bare and fields.is_plain_location(self.loc):
            return
        fields.check_fields(self, _IMAGE, ("loc",))

    @property
    def bare(self) -> bool:
        """Return whether `loc` is the only field that is set."""
        return self.caption is self.geo_location is self.title is self.license is None


@dataclass(frozen=True, slots=True)
class Restriction:
    """The ISO 3166 codes of the countries where a video may (`allow`) or must not (`deny`) be shown."""

    relationship: Relationship
    countries: Iterable[str]

    def __post_init__(self) -> None:
        fields.check_fields(self, _RESTRICTION, _RESTRICTION)


@dataclass(frozen=True, slots=True)
class Platform:
    """The platforms on which a video may (`allow`) or must not (`deny`) be shown."""

    relationship: Relationship
    platforms: Iterable[PlatformName]

    def __post_init__(self) -> None:
        fields.check_fields(self, _PLATFORM, _PLATFORM)


@dataclass(frozen=True, slots=True)
class Video(_SupportedTags):
    """One video of a page, with at least one of `content_loc` and `player_loc`.

    `duration` is a timedelta or a number of seconds, and is stored as seconds. `rating` is from 0.0 to 5.0.
    No location may be the URL of the page itself. Naive datetimes are in Django's `TIME_ZONE`.
    """

    dropped_tags = (
        *("category", "gallery_loc", "price", "tvshow", "allow_embed", "autoplay"),
        *("content_segment_loc", "id"),
    )
    reason = "Google dropped {} in 2022"

    thumbnail_loc: str
    title: str
    description: str
    _: KW_ONLY
    content_loc: str | None = None
    player_loc: str | None = None
    duration: int | timedelta | None = None
    expiration_date: date | None = None
    rating: float | Decimal | None = None
    view_count: int | None = None
    publication_date: date | None = None
    tags: Iterable[str] = ()
    family_friendly: bool | None = None
    restriction: Restriction | None = None
    requires_subscription: bool | None = None
    uploader: str | None = None
    uploader_info: str | None = None
    platform: Platform | None = None
    live: bool | None = None

    def __post_init__(self) -> None:
        fields.check_fields(self, _VIDEO, ("thumbnail_loc", "title", "description", "tags"))
        if not self.content_loc and not self.player_loc:
            raise ValueError("Video.content_loc or Video.player_loc is required")
        if self.uploader_info and not self.uploader:
            raise ValueError("Video.uploader is required if Video.uploader_info is set")


@dataclass(frozen=True, slots=True)
class News(_SupportedTags):
    """The news article of a page, published in the last two days.

    `language` is the language of the publication, and `publication_date` the date of the article.
    """

    dropped_tags = ("access", "genres", "keywords", "stock_tickers")
    reason = "Google News no longer supports {}"

    publication_name: str
    language: str
    publication_date: date
    title: str

    def __post_init__(self) -> None:
        fields.check_fields(self, _NEWS, _NEWS)


def _check_word(name: str, value: object, words: tuple[str, ...]) -> str:
    if value not in words:
        raise ValueError(f"{name} must be one of {', '.join(words)}, not {short_repr(value)}")
    # Not the value itself, because it may be an enum member.
    return words[words.index(value)]


_check_relationship = partial(_check_word, words=get_args(Relationship))


def _check_platforms(name: str, value: object) -> tuple[str, ...]:
    texts = _nonempty_texts(name, value)
    return tuple(_check_word(f"each value of {name}", text, get_args(PlatformName)) for text in texts)


def _check_countries(name: str, value: object) -> tuple[str, ...]:
    codes = _nonempty_texts(name, value)
    for code in codes:
        if not _COUNTRY.fullmatch(code):
            text = short_repr(code)
            raise ValueError(f"each value of {name} must be a two-letter ISO 3166 code, not {text}")
    return tuple(code.upper() for code in codes)


def _nonempty_texts(name: str, value: object) -> tuple[str, ...]:
    texts = fields.texts(name, value)
    if not texts:
        raise ValueError(f"{name} must have at least one value")
    return texts


def _check_instance(name: str, value: object, kind: type) -> object:
    if not isinstance(value, kind):
        raise ValueError(f"{name} must be a {kind.__name__}, not {short_repr(value)}")
    return value


_IMAGE: dict[str, fields.Check] = {
    "loc": fields.location,
    "caption": fields.optional_text,
    "geo_location": fields.optional_text,
    "title": fields.optional_text,
    "license": fields.optional_location,
}
_RESTRICTION: dict[str, fields.Check] = {"relationship": _check_relationship, "countries": _check_countries}
_PLATFORM: dict[str, fields.Check] = {"relationship": _check_relationship, "platforms": _check_platforms}
_VIDEO: dict[str, fields.Check] = {
    "thumbnail_loc": fields.location,
    "title": partial(fields.text, most=MAX_VIDEO_TITLE),
    "description": partial(fields.text, most=MAX_VIDEO_DESCRIPTION),
    "content_loc": fields.optional_location,
    "player_loc": fields.optional_location,
    "duration": fields.seconds,
    "expiration_date": fields.moment,
    "rating": fields.rating,
    "view_count": partial(
        fields.whole_number, least=0, most=fields.MAX_VIEWS, description="a whole number"
    ),
    "publication_date": fields.moment,
    "tags": partial(fields.texts, most=MAX_VIDEO_TAGS),
    "family_friendly": fields.flag,
    "restriction": partial(_check_instance, kind=Restriction),
    "requires_subscription": fields.flag,
    "uploader": partial(fields.optional_text, most=MAX_VIDEO_UPLOADER),
    "uploader_info": fields.optional_location,
    "platform": partial(_check_instance, kind=Platform),
    "live": fields.flag,
}
_NEWS: dict[str, fields.Check] = {
    "publication_name": fields.text,
    "language": fields.text,
    "publication_date": fields.moment,
    "title": fields.text,
}
