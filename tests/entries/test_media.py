"""Images, videos and news: invalid values are rejected on creation."""

from __future__ import annotations

import enum
import pickle
from dataclasses import FrozenInstanceError, dataclass, replace
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import InMemoryStorage
from django.db.models import F
from django.db.models.fields.files import FieldFile, FileField
from django.utils.safestring import mark_safe
from django.utils.translation import gettext_lazy

from django_sitemaps09.entries import Image, News, Platform, Restriction, Video
from tests.support.media import FULL_VIDEO, IMAGE, LEAST_VIDEO, NEWS, pairs, read, written

# What is refused


def file_of_a_model(name: str | None) -> FieldFile:
    return FieldFile(None, FileField(storage=InMemoryStorage()), name)


@pytest.mark.parametrize(
    ("loc", "reason"),
    [
        ("", "Image.loc must not be empty"),
        ("  ", "Image.loc must not be empty"),
        (None, "Image.loc must be a string with a URL or a path, not None"),
        (b"/a.png", "Image.loc must be a string .*, not b'/a.png'"),
        (7, "Image.loc must be a string .*, not 7"),
        ("/a\n.png", "Image.loc must not contain control characters"),
        ("/a\x85.png", "Image.loc must not contain control characters"),
        ("/a\x00.png", "Image.loc must not contain '.x00', which is not allowed in XML"),
        ("/\ud800", "Image.loc must not contain '.ud800'"),
        (Path("/a.png"), "Image.loc must be a string"),
        (file_of_a_model("a.png"), "Image.loc must be a string .*, not <FieldFile: a.png>; use its .url$"),
        (file_of_a_model(None), "Image.loc must be a string .*, not <FieldFile: None>; use its .url$"),
        ([1] * 1000, r"Image.loc must be a string with a URL or a path, not \[(1, ){6}\.\.\.\] \(list\)$"),
    ],
)
def test_the_location_of_an_image_is_a_string_that_could_be_a_location(loc: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Image(loc)


@pytest.mark.parametrize("name", ["caption", "geo_location", "title", "license"])
@pytest.mark.parametrize(
    "value",
    [7, 0, b"", False, "a\x00", "\ufffe", str.isspace, ["a"]],
    ids=lambda value: ascii(value) if not callable(value) else "method",
)
def test_a_value_that_cannot_be_xml_text_is_refused_with_the_name_of_its_field(
    name: str, value: Any
) -> None:
    with pytest.raises(ValueError, match=f"^Image.{name} must"):
        Image("/a.png", **{name: value})


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"thumbnail_loc": ""}, "Video.thumbnail_loc must not be empty"),
        ({"thumbnail_loc": None}, "Video.thumbnail_loc must be a string"),
        ({"title": ""}, "Video.title must not be empty"),
        ({"title": None}, "Video.title must be text, not None"),
        ({"title": " \n"}, "Video.title must not be empty"),
        ({"title": "a" * 101}, "Video.title must have at most 100 characters, not 101"),
        ({"description": ""}, "Video.description must not be empty"),
        ({"description": "a" * 2049}, "Video.description must have at most 2,048 characters, not 2,049"),
        ({"content_loc": None}, "Video.content_loc or Video.player_loc is required"),
        ({"content_loc": ""}, "Video.content_loc or Video.player_loc is required"),
        ({"content_loc": "/\n"}, "Video.content_loc must not contain control characters"),
        ({"player_loc": 7}, "Video.player_loc must be a string"),
        ({"duration": 0}, "Video.duration must be .* seconds from 1 to 28800, not 0"),
        *(
            ({"duration": value}, "Video.duration must be a timedelta or a whole number of seconds")
            for value in (28_801, timedelta(seconds=0.9), timedelta(hours=9), 60.0, True, "60")
        ),
        ({"expiration_date": "2026-01-01"}, "Video.expiration_date must be a date or a datetime"),
        ({"publication_date": 2026}, "Video.publication_date must be a date or a datetime"),
        (
            {"publication_date": datetime.min.replace(tzinfo=timezone(timedelta(hours=1)))},
            "Video.publication_date must have a year from 1 to 9999 in UTC",
        ),
        ({"rating": -0.1}, "Video.rating must be a number from 0.0 to 5.0, not -0.1"),
        *(
            ({"rating": value}, "Video.rating must be a number")
            for value in (5.1, float("nan"), Decimal("sNaN"), "4", True)
        ),
        ({"rating": Decimal("1e-999")}, "Video.rating must have at most 400 digits"),
        ({"rating": Decimal("0." + 401 * "1")}, "Video.rating must have at most 400 digits"),
        *(
            ({"view_count": value}, "Video.view_count must be a whole number from 0")
            for value in (-1, 2**63, False)
        ),
        ({"tags": ["a"] * 33}, "Video.tags must have at most 32 values"),
        ({"tags": "steak"}, "Video.tags must be a list or a tuple of strings, not 'steak'"),
        ({"tags": None}, "Video.tags must be a list or a tuple of strings, not None"),
        ({"tags": ["a", ""]}, "each value of Video.tags must not be empty"),
        ({"tags": ["a", None]}, "each value of Video.tags must be text"),
        ({"family_friendly": "yes"}, "Video.family_friendly must be True or False, not 'yes'"),
        ({"requires_subscription": 1}, "Video.requires_subscription must be True or False"),
        ({"live": 0}, "Video.live must be True or False"),
        ({"restriction": ("allow", ["DE"])}, "Video.restriction must be a Restriction"),
        ({"platform": Restriction("allow", ["DE"])}, "Video.platform must be a Platform"),
        ({"uploader": "a" * 256}, "Video.uploader must have at most 255 characters"),
        ({"uploader_info": "/a"}, "Video.uploader is required if Video.uploader_info is set"),
        ({"uploader": "", "uploader_info": "/a"}, "Video.uploader is required"),
    ],
)
def test_videos_that_the_documentation_does_not_allow_are_refused_on_creation(
    changes: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ValueError, match=f"^{reason}"):
        Video(**LEAST_VIDEO | changes)


RELATIONSHIP = "relationship must be one of allow, deny"
STRINGS = "must be a list or a tuple of strings"
ISO = "must be a two-letter ISO 3166 code"
DEVICES = "must be one of web, mobile, tv"


@pytest.mark.parametrize(
    ("make", "relationship", "words", "reason"),
    [
        (Restriction, "permit", ["DE"], f"Restriction.{RELATIONSHIP}, not 'permit'"),
        (Restriction, "allow", [], "Restriction.countries must have at least one"),
        (Restriction, "allow", "DE", f"Restriction.countries {STRINGS}, not 'DE'"),
        (Restriction, "allow", ["DEU"], f"each value of Restriction.countries {ISO}"),
        (Restriction, "allow", ["\u017f\u017f"], f"each value of Restriction.countries {ISO}"),
        (Restriction, "allow", ["DE", "D\n"], f"each value of Restriction.countries {ISO}"),
        (Platform, "deny", [], "Platform.platforms must have at least one"),
        (Platform, "deny", ["Web"], f"each value of Platform.platforms {DEVICES}, not 'Web'"),
        (Platform, None, ["web"], f"Platform.{RELATIONSHIP}, not None"),
    ],
)
def test_restrictions_of_a_video_use_googles_words(
    make: Any, relationship: Any, words: Any, reason: str
) -> None:
    with pytest.raises(ValueError, match=f"^{reason}"):
        make(relationship, words)


@pytest.mark.parametrize("name", NEWS)
@pytest.mark.parametrize("value", [None, "", " ", b"a", 7, "\x0b"], ids=ascii)
def test_news_need_each_of_their_fields(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^News.{name} must"):
        News(**NEWS | {name: value})


DROPPED = ["category", "gallery_loc", "price", "tvshow", "allow_embed", "autoplay", "content_segment_loc"]


@pytest.mark.parametrize("name", [*DROPPED, "id"])
def test_a_tag_of_videos_that_google_dropped_is_refused_with_what_to_do(name: str) -> None:
    with pytest.raises(
        TypeError, match=f"^Video: Google dropped {name} in 2022; remove the listed arguments$"
    ):
        Video(**LEAST_VIDEO, **{name: "a"})


@pytest.mark.parametrize("name", ["access", "genres", "keywords", "stock_tickers"])
def test_a_tag_of_news_that_google_dropped_is_refused_with_what_to_do(name: str) -> None:
    with pytest.raises(
        TypeError, match=f"^News: Google News no longer supports {name}; remove the listed arguments$"
    ):
        News(**NEWS, **{name: "a"})


@pytest.mark.parametrize("make", [Image, Video, News, Restriction, Platform])
def test_python_rejects_an_argument_that_was_never_a_tag(make: Any) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        make(colour="red")


# What is kept

VALUES = {
    "bare image": Image("/a.png"),
    "image": Image(**IMAGE),
    "least video": Video(**LEAST_VIDEO),
    "video": Video(**FULL_VIDEO),
    "news": News(**NEWS),
}


@pytest.mark.parametrize("value", VALUES.values(), ids=[*VALUES])
def test_values_are_comparable_hashable_frozen_and_can_be_pickled(value: Any) -> None:
    copies = [replace(value), *(pickle.loads(pickle.dumps(value, protocol)) for protocol in range(2, 6))]  # noqa: S301
    assert {value} == {*copies}
    assert [*map(written, copies)] == [written(value)] * len(copies)
    with pytest.raises((FrozenInstanceError, TypeError)):
        value.title = "another"
    assert not hasattr(value, "__dict__")


class Word(str, enum.Enum):
    DENY = "deny"
    TV = "tv"
    AT = "at"


def test_texts_are_stored_as_plain_strings_regardless_of_their_type() -> None:
    image = Image(mark_safe("/a.png"), caption=gettext_lazy("Yes"), title=Word.TV)
    assert (image.loc, image.caption, image.title) == ("/a.png", "Yes", "tv")
    assert {type(image.loc), type(image.caption), type(image.title)} == {str}
    assert Restriction(Word.DENY, [Word.AT]) == Restriction("deny", ["AT"])
    assert Platform("deny", [Word.TV]).platforms == ("tv",)
    assert type(Platform(Word.DENY, [Word.TV]).relationship) is str


def test_a_subclass_that_redeclares_a_field_keeps_its_check() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Clip(Video):
        duration: timedelta = timedelta(minutes=10)  # type: ignore[assignment]

    assert Clip(**LEAST_VIDEO).duration == 600
    with pytest.raises(ValueError, match=r"Clip\.duration"):
        Clip(**LEAST_VIDEO, duration=timedelta(days=2))


def test_what_is_kept_can_be_written_as_it_is() -> None:
    video = Video(**FULL_VIDEO)
    assert (video.duration, video.rating, video.tags) == (600, Decimal("4.5"), ("steak", "a & b"))
    assert video.restriction is not None
    assert video.restriction.countries == ("AT", "DE")


@pytest.mark.parametrize(
    ("rating", "text"),
    [(0.3, "0.3"), (-0.0, "0.0"), (5e-324, f"0.{323 * '0'}5"), (Decimal("4.50"), "4.50")],
)
def test_a_rating_is_written_as_it_is_printed_without_sign_and_exponent(rating: Any, text: str) -> None:
    [found] = read(written(Video(**LEAST_VIDEO, rating=rating)))
    assert pairs(found)[-1] == ("rating", text)


def test_a_set_is_sorted_since_it_has_no_order() -> None:
    tags = [f"tag {number:02}" for number in range(32)]
    assert Video(**LEAST_VIDEO, tags=set(tags)).tags == tuple(tags)
    assert Restriction("deny", frozenset(["de", "at"])).countries == ("AT", "DE")


def test_tags_are_read_once_and_only_as_far_as_needed() -> None:
    assert Video(**LEAST_VIDEO, tags=iter(["a", "b"])).tags == ("a", "b")
    many = repeat("a", 1_000)
    with pytest.raises(ValueError, match="at most 32"):
        Video(**LEAST_VIDEO, tags=many)
    assert len([*many]) == 1_000 - 33


@pytest.mark.parametrize("value", [F("title"), object(), iter("ab")], ids=["F", "object", "iterator"])
def test_an_object_with_only_a_repr_is_not_a_text(value: Any) -> None:
    with pytest.raises(ValueError, match=r"News\.publication_name must be text"):
        News(value, "en", date(2026, 1, 1), "Title")


def test_the_location_of_an_image_may_have_spaces_of_other_scripts() -> None:
    """They are not printable for Python, but are percent-encoded like any other character."""
    assert Image("/a\u3000b.png").loc == "/a\u3000b.png"
