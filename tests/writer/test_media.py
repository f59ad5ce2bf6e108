"""Images, videos and news as XML: in the order of the schemas, valid, and parsed back unchanged."""

from __future__ import annotations

from dataclasses import fields
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, strategies as st
from lxml import etree

from django_sitemaps09.entries import NAMESPACES, Image, News, Platform, Restriction, Video
from django_sitemaps09.exceptions import TextError
from django_sitemaps09.writer.media import image_elements, news_element, video_elements
from tests.support.configuration import BASE
from tests.support.media import FULL_VIDEO, IMAGE, LEAST_VIDEO, NEWS, document, pairs, read, written
from tests.support.writing import anything

UTC = timezone.utc


# What is written


def test_our_prefixes_stand_for_the_namespaces_of_the_protocol() -> None:
    assert NAMESPACES["xhtml"] == "http://www.w3.org/1999/xhtml"
    assert [*NAMESPACES] == ["xhtml", "image", "video", "news"]
    with pytest.raises(TypeError):
        NAMESPACES["image"] = "a"


def test_an_image_with_every_field_has_them_in_the_order_of_the_schema(schema: Any) -> None:
    elements = image_elements([Image(**IMAGE), Image("https://cdn.example.org/b.jpg")], BASE, 1)
    schema.assertValid(etree.fromstring(document(elements)))
    first, second = read(elements)
    assert first.tag == f"{{{NAMESPACES['image']}}}image"
    assert pairs(first) == [
        ("loc", f"{BASE}/image.jpg"),
        ("caption", "A & B"),
        ("geo_location", "Limerick, Ireland"),
        ("title", "<Title>"),
        ("license", f"{BASE}/license?a=1&b=2"),
    ]
    assert pairs(second) == [("loc", "https://cdn.example.org/b.jpg")]


def test_a_video_with_every_field_has_them_in_the_order_of_the_schema(schema: Any) -> None:
    assert {field.name for field in fields(Video)} == set(FULL_VIDEO)
    elements = video_elements([Video(**FULL_VIDEO), Video(**LEAST_VIDEO)], BASE, 1)
    schema.assertValid(etree.fromstring(document(elements)))
    first, second = read(elements)
    assert first.tag == f"{{{NAMESPACES['video']}}}video"
    assert pairs(first) == [
        ("thumbnail_loc", f"{BASE}/thumbnail.png"),
        ("title", "Title"),
        ("description", "Description"),
        ("content_loc", f"{BASE}/video.mp4"),
        ("player_loc", "https://player.example.org/?v=1&w=2"),
        ("duration", "600"),
        ("expiration_date", "2026-01-31T10:30:05Z"),
        ("rating", "4.5"),
        ("view_count", "12345"),
        ("publication_date", "2026-01-31"),
        *(("tag", "steak"), ("tag", "a & b")),
        ("family_friendly", "yes"),
        ("restriction", "AT DE"),
        ("requires_subscription", "no"),
        ("uploader", "Grill & Co"),
        ("platform", "web tv"),
        ("live", "no"),
    ]
    attributes = {etree.QName(child).localname: dict(child.attrib) for child in first if child.attrib}
    assert attributes == {
        "restriction": {"relationship": "allow"},
        "uploader": {"info": f"{BASE}/users/1?a=b&c=d"},
        "platform": {"relationship": "deny"},
    }
    assert [name for name, _ in pairs(second)] == [*LEAST_VIDEO]


def test_news_have_all_their_fields_in_the_order_of_the_schema(schema: Any) -> None:
    elements = news_element(News(**NEWS), 1)
    schema.assertValid(etree.fromstring(document(elements)))
    [news] = read(elements)
    assert news.tag == f"{{{NAMESPACES['news']}}}news"
    assert pairs(news) == [
        ("publication", ""),
        ("name", "The Example Times"),
        ("language", "en"),
        ("publication_date", "2026-01-31T10:30:05Z"),
        ("title", "Companies A, B in merger talks"),
    ]


def test_a_known_entry_has_these_very_bytes() -> None:
    images = [Image("/a.png?a=1&b=2"), Image("https://e.org/b.png")]
    assert image_elements(images, BASE, 1) == (
        "<image:image><image:loc>https://www.example.com/a.png?a=1&amp;b=2</image:loc></image:image>"
        "<image:image><image:loc>https://e.org/b.png</image:loc></image:image>"
    )
    restriction = Restriction("deny", ["de"])
    video = Video("/a.png", "A\tB", "A\nB", player_loc="/p", restriction=restriction, tags=["a"])
    assert video_elements([video], "", 1) == (
        "<video:video><video:thumbnail_loc>/a.png</video:thumbnail_loc><video:title>A&#9;B</video:title>"
        "<video:description>A&#10;B</video:description><video:player_loc>/p</video:player_loc>"
        '<video:tag>a</video:tag><video:restriction relationship="deny">DE</video:restriction>'
        "</video:video>"
    )


def test_without_images_and_videos_there_is_nothing_to_write() -> None:
    assert image_elements([], BASE, 1) == video_elements([], BASE, 1) == ""


@pytest.mark.parametrize("field", ["caption", "geo_location", "title", "license"])
def test_an_empty_field_is_as_one_that_is_not_given(field: str) -> None:
    assert written(Image("/a.png", **{field: ""})) == written(Image("/a.png"))
    empty: dict[str, Any] = {"player_loc": "", "uploader": "", "uploader_info": "", "tags": ()}
    assert written(Video(**LEAST_VIDEO | empty)) == written(Video(**LEAST_VIDEO))


def test_a_false_answer_a_zero_and_a_zero_rating_are_written() -> None:
    video = Video(**LEAST_VIDEO, live=False, view_count=0, rating=0)
    [found] = read(written(video))
    assert pairs(found)[-3:] == [("rating", "0"), ("view_count", "0"), ("live", "no")]


def test_a_base_that_xml_cannot_hold_is_refused_with_the_key_of_the_item() -> None:
    for value in (Image("/a.png"), Image(**IMAGE), Video(**LEAST_VIDEO)):
        make: Any = image_elements if isinstance(value, Image) else video_elements
        with pytest.raises(TextError, match="the key"):
            make([value], "\x00", "the key")


uris = st.text("abc-._~:/?@!$&'()*+,;=0", max_size=30)
locations = uris.map("/".__add__) | uris.map("https://example.com/".__add__)
zones = st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=45)), timezone(timedelta(hours=-12))])
moments = st.dates() | st.datetimes(timezones=zones)


def located(location: str | None) -> str | None:
    return BASE + location if location and location[0] == "/" else location


def text_of(moment: date | None) -> str | None:
    if not isinstance(moment, datetime):
        return moment and moment.isoformat()
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ").zfill(20)


@given(
    st.fixed_dictionaries(
        {"thumbnail_loc": locations, "title": anything, "description": anything},
        optional={
            "content_loc": locations,
            "player_loc": locations,
            "duration": st.integers(-1, 30_000) | st.timedeltas(timedelta(0), timedelta(hours=9)),
            "expiration_date": moments,
            "rating": st.floats(0, 5) | st.integers(-1, 6) | st.decimals(0, 5),
            "view_count": st.integers(0),
            "publication_date": moments,
            "tags": st.lists(anything, max_size=3),
            "family_friendly": st.booleans(),
            "restriction": st.builds(
                Restriction,
                st.sampled_from(["allow", "deny"]),
                st.lists(st.from_regex("[A-Za-z]{2}", fullmatch=True), min_size=1),
            ),
            "requires_subscription": st.booleans(),
            "uploader": anything,
            "uploader_info": locations,
            "platform": st.builds(
                Platform,
                st.sampled_from(["allow", "deny"]),
                st.lists(st.sampled_from(["web", "mobile", "tv"]), min_size=1),
            ),
            "live": st.booleans(),
        },
    )
)
def test_any_video_is_refused_or_is_valid_and_read_again_as_it_was(
    schema: Any, values: dict[str, Any]
) -> None:
    try:
        video = Video(**values)
    except ValueError:
        return
    elements = video_elements([video], BASE, 1)
    schema.assertValid(etree.fromstring(document(elements)))
    [found] = read(elements)
    texts = dict(pairs(found))
    for name in ("title", "description", "uploader"):
        assert texts.get(name, "") == values.get(name, "")
    for name in ("thumbnail_loc", "content_loc", "player_loc"):
        assert texts.get(name) == located(values.get(name))
    for name in ("expiration_date", "publication_date"):
        assert texts.get(name) == text_of(values.get(name))
    assert [text for name, text in pairs(found) if name == "tag"] == values.get("tags", [])
    if "rating" in values:
        assert Decimal(texts["rating"]) == Decimal(str(values["rating"]))
        assert set(texts["rating"]) <= set("0123456789.")
    for name in ("family_friendly", "requires_subscription", "live"):
        assert {"yes": True, "no": False, None: None}[texts.get(name)] == values.get(name)
