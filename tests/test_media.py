"""Laws of images, videos and news: what cannot stand is refused where it is made, the rest is valid XML."""

from __future__ import annotations

import enum
import pickle
from dataclasses import FrozenInstanceError, fields, replace
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
from hypothesis import example, given
from hypothesis import strategies as st
from lxml import etree

from django_sitemaps09.entries import NAMESPACES, Image, News, Platform, Restriction, Video
from django_sitemaps09.exceptions import TextError
from django_sitemaps09.protocol import SITEMAP_NAMESPACE, XHTML_NAMESPACE
from django_sitemaps09.writer import image_elements, news_element, video_elements

BASE = "https://www.example.com"
UTC = timezone.utc
MOMENT = datetime(2026, 1, 31, 12, 30, 5, 999_999, tzinfo=timezone(timedelta(hours=2)))

LEAST_VIDEO: dict[str, Any] = {
    "thumbnail_loc": "/thumbnail.png",
    "title": "Title",
    "description": "Description",
    "content_loc": "/video.mp4",
}
FULL_VIDEO: dict[str, Any] = {
    **LEAST_VIDEO,
    "player_loc": "https://player.example.org/?v=1&w=2",
    "duration": timedelta(minutes=10, milliseconds=700),
    "expiration_date": MOMENT,
    "rating": 4.5,
    "view_count": 12_345,
    "publication_date": date(2026, 1, 31),
    "tags": ["steak", "a & b"],
    "family_friendly": True,
    "restriction": Restriction("allow", ["at", "DE"]),
    "requires_subscription": False,
    "uploader": "Grill & Co",
    "uploader_info": "/users/1?a=b&c=d",
    "platform": Platform("deny", ["web", "tv"]),
    "live": False,
}
NEWS: dict[str, Any] = {
    "publication_name": "The Example Times",
    "language": "en",
    "publication_date": MOMENT,
    "title": "Companies A, B in merger talks",
}
IMAGE: dict[str, Any] = {
    "loc": "/image.jpg",
    "caption": "A & B",
    "geo_location": "Limerick, Ireland",
    "title": "<Title>",
    "license": "/license?a=1&b=2",
}


def document(elements: str) -> bytes:
    prefixes = "".join(f' xmlns:{prefix}="{name}"' for prefix, name in NAMESPACES.items())
    url = f"<url><loc>{BASE}/page</loc>{elements}</url>"
    return f'<urlset xmlns="{SITEMAP_NAMESPACE}"{prefixes}>{url}</urlset>'.encode()


def read(elements: str) -> Any:
    """The elements behind `loc`."""
    assert not set("\n\r\t") & set(elements)
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    root = etree.fromstring(document(elements), parser)
    assert len(root) == 1
    return root[0][1:]


def pairs(element: Any) -> list[tuple[str, str]]:
    """Names and texts of all elements below one, in their order."""
    return [(etree.QName(child).localname, child.text or "") for child in element.iterdescendants()]


def written(value: Image | Video | News) -> str:
    if isinstance(value, Image):
        return image_elements([value], BASE, 1)
    if isinstance(value, Video):
        return video_elements([value], BASE, 1)
    return news_element(value, 1)


# What is refused


def file_of_a_model(name: str | None) -> FieldFile:
    return FieldFile(None, FileField(storage=InMemoryStorage()), name)


@pytest.mark.parametrize(
    ("loc", "reason"),
    [
        ("", "Image.loc must not be empty"),
        ("  ", "Image.loc must not be empty"),
        (None, "Image.loc must be a text with a URL or a path, not None"),
        (b"/a.png", "Image.loc must be a text .*, not b'/a.png'"),
        (7, "Image.loc must be a text .*, not 7"),
        ("/a\n.png", "Image.loc must not hold control characters"),
        ("/a\x85.png", "Image.loc must not hold control characters"),
        ("/a\x00.png", "Image.loc must not hold '.x00', a character that XML cannot hold"),
        ("/\ud800", "Image.loc must not hold '.ud800'"),
        (Path("/a.png"), "Image.loc must be a text"),
        (file_of_a_model("a.png"), "Image.loc must be a text .*, not <FieldFile: a.png>: give its .url$"),
        (file_of_a_model(None), "Image.loc must be a text .*, not <FieldFile: None>: give its .url$"),
        ([1] * 1000, r"Image.loc must be a text with a URL or a path, not \[(1, ){6}\.\.\.\]$"),
    ],
)
def test_the_location_of_an_image_is_a_text_that_could_be_one(loc: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Image(loc)


@pytest.mark.parametrize("name", ["caption", "geo_location", "title", "license"])
@pytest.mark.parametrize(
    "value",
    [7, 0, b"", False, "a\x00", "\ufffe", str.isspace, ["a"]],
    ids=lambda value: ascii(value) if not callable(value) else "method",
)
def test_what_has_no_text_for_xml_is_refused_by_the_name_of_its_field(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^Image.{name} must"):
        Image("/a.png", **{name: value})


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"thumbnail_loc": ""}, "Video.thumbnail_loc must not be empty"),
        ({"thumbnail_loc": None}, "Video.thumbnail_loc must be a text"),
        ({"title": ""}, "Video.title must not be empty"),
        ({"title": None}, "Video.title must be a text, not None"),
        ({"title": " \n"}, "Video.title must not be empty"),
        ({"title": "a" * 101}, "Video.title must have at most 100 characters, it has 101"),
        ({"description": ""}, "Video.description must not be empty"),
        ({"description": "a" * 2049}, "Video.description must have at most 2,048 characters, it has 2,049"),
        ({"content_loc": None}, "Video.content_loc or Video.player_loc must be given"),
        ({"content_loc": ""}, "Video.content_loc or Video.player_loc must be given"),
        ({"content_loc": "/\n"}, "Video.content_loc must not hold control characters"),
        ({"player_loc": 7}, "Video.player_loc must be a text"),
        ({"duration": 0}, "Video.duration must be seconds .* from 1 to 28800, not 0"),
        ({"duration": 28_801}, "Video.duration must be seconds"),
        ({"duration": timedelta(seconds=0.9)}, "Video.duration must be seconds"),
        ({"duration": timedelta(hours=9)}, "Video.duration must be seconds"),
        ({"duration": 60.0}, "Video.duration must be seconds as an int, or a timedelta"),
        ({"duration": True}, "Video.duration must be seconds"),
        ({"duration": "60"}, "Video.duration must be seconds"),
        ({"expiration_date": "2026-01-01"}, "Video.expiration_date must be a date or a datetime"),
        ({"publication_date": 2026}, "Video.publication_date must be a date or a datetime"),
        (
            {"publication_date": datetime.min.replace(tzinfo=timezone(timedelta(hours=1)))},
            "Video.publication_date has no year from 1 to 9999 in UTC",
        ),
        ({"rating": -0.1}, "Video.rating must be a number from 0.0 to 5.0, not -0.1"),
        ({"rating": 5.1}, "Video.rating must be a number"),
        ({"rating": float("nan")}, "Video.rating must be a number"),
        ({"rating": Decimal("sNaN")}, "Video.rating must be a number"),
        ({"rating": "4"}, "Video.rating must be a number"),
        ({"rating": True}, "Video.rating must be a number"),
        ({"rating": Decimal("1e-999")}, "Video.rating must not have more than 400 digits"),
        ({"rating": Decimal("0." + 401 * "1")}, "Video.rating must not have more than 400 digits"),
        ({"view_count": -1}, "Video.view_count must be an int from 0"),
        ({"view_count": 2**63}, "Video.view_count must be an int from 0"),
        ({"view_count": False}, "Video.view_count must be an int from 0"),
        ({"tags": ["a"] * 33}, "Video.tags must be at most 32"),
        ({"tags": "steak"}, "Video.tags must be a list or a tuple of texts, not 'steak'"),
        ({"tags": None}, "Video.tags must be a list or a tuple of texts, not None"),
        ({"tags": ["a", ""]}, "each of Video.tags must not be empty"),
        ({"tags": ["a", None]}, "each of Video.tags must be a text"),
        ({"family_friendly": "yes"}, "Video.family_friendly must be True or False, not 'yes'"),
        ({"requires_subscription": 1}, "Video.requires_subscription must be True or False"),
        ({"live": 0}, "Video.live must be True or False"),
        ({"restriction": ("allow", ["DE"])}, "Video.restriction must be a Restriction"),
        ({"platform": Restriction("allow", ["DE"])}, "Video.platform must be a Platform"),
        ({"uploader": "a" * 256}, "Video.uploader must have at most 255 characters"),
        ({"uploader_info": "/a"}, "Video.uploader must be given where Video.uploader_info is"),
        ({"uploader": "", "uploader_info": "/a"}, "Video.uploader must be given"),
    ],
)
def test_what_the_documentation_of_videos_does_not_admit_is_refused_where_it_is_made(
    changes: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ValueError, match=f"^{reason}"):
        Video(**LEAST_VIDEO | changes)


@pytest.mark.parametrize(
    ("make", "relationship", "words", "reason"),
    [
        (
            Restriction,
            "permit",
            ["DE"],
            "Restriction.relationship must be one of allow, deny, not 'permit'",
        ),
        (Restriction, "allow", [], "Restriction.countries must have at least one"),
        (Restriction, "allow", "DE", "Restriction.countries must be a list or a tuple of texts, not 'DE'"),
        (Restriction, "allow", ["DEU"], "each of Restriction.countries must be an ISO 3166 code"),
        (Restriction, "allow", ["\u017f\u017f"], "each of Restriction.countries must be an ISO 3166 code"),
        (Restriction, "allow", ["DE", "D\n"], "each of Restriction.countries must be an ISO 3166 code"),
        (Platform, "deny", [], "Platform.platforms must have at least one"),
        (Platform, "deny", ["Web"], "each of Platform.platforms must be one of web, mobile, tv, not 'Web'"),
        (Platform, None, ["web"], "Platform.relationship must be one of allow, deny, not None"),
    ],
)
def test_who_may_see_a_video_is_told_in_googles_words(
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
    with pytest.raises(TypeError, match=f"^Video: Google dropped {name} in 2022: leave it out$"):
        Video(**LEAST_VIDEO, **{name: "a"})


@pytest.mark.parametrize("name", ["access", "genres", "keywords", "stock_tickers"])
def test_a_tag_of_news_that_google_dropped_is_refused_with_what_to_do(name: str) -> None:
    with pytest.raises(TypeError, match=f"^News: Google dropped {name}, .*: leave it out$"):
        News(**NEWS, **{name: "a"})


@pytest.mark.parametrize("make", [Image, Video, News, Restriction, Platform])
def test_a_name_that_never_was_a_tag_is_pythons_to_refuse(make: Any) -> None:
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
def test_values_are_equal_hashable_frozen_and_the_same_behind_a_pickle(value: Any) -> None:
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


def test_texts_are_kept_as_plain_strings_whatever_they_came_as() -> None:
    image = Image(mark_safe("/a.png"), caption=gettext_lazy("Yes"), title=Word.TV)
    assert (image.loc, image.caption, image.title) == ("/a.png", "Yes", "tv")
    assert {type(image.loc), type(image.caption), type(image.title)} == {str}
    assert Restriction(Word.DENY, [Word.AT]) == Restriction("deny", ["AT"])
    assert Platform("deny", [Word.TV]).platforms == ("tv",)
    assert type(Platform(Word.DENY, [Word.TV]).relationship) is str


def test_a_safe_string_is_text_like_any_other() -> None:
    [image] = read(written(Image("/a.png", caption=mark_safe("<b>&amp;</b>"))))
    assert pairs(image)[1] == ("caption", "<b>&amp;</b>")


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


def test_a_set_has_no_order_and_so_it_is_sorted() -> None:
    tags = [f"tag {number:02}" for number in range(32)]
    assert Video(**LEAST_VIDEO, tags=set(tags)).tags == tuple(tags)
    assert Restriction("deny", frozenset(["de", "at"])).countries == ("AT", "DE")


def test_tags_are_read_once_and_no_further_than_it_takes_to_know() -> None:
    assert Video(**LEAST_VIDEO, tags=iter(["a", "b"])).tags == ("a", "b")
    many = repeat("a", 1_000)
    with pytest.raises(ValueError, match="at most 32"):
        Video(**LEAST_VIDEO, tags=many)
    assert len([*many]) == 1_000 - 33


# What is written


def test_our_prefixes_stand_for_the_namespaces_of_the_protocol() -> None:
    assert NAMESPACES["xhtml"] == XHTML_NAMESPACE
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


awkward = st.sampled_from(
    [
        "&",
        "<",
        ">",
        '"',
        "'",
        "\t",
        "\n",
        "\r\n",
        "\r",
        "]]>",
        "&#0;",
        "\x85",
        "\u2028",
        "\x00",
        "\ud800",
        "\uffff",
    ]
)
anything = st.lists(awkward | st.characters(exclude_categories=()), max_size=6).map("".join)
uris = st.text("abc-._~:/?@!$&'()*+,;=0", max_size=30)
locations = uris.map("/".__add__) | uris.map("https://example.com/".__add__)
zones = st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=45)), timezone(timedelta(hours=-12))])
moments = st.dates() | st.datetimes(timezones=zones)
maybe = st.none


def located(location: str | None) -> str | None:
    return BASE + location if location and location[0] == "/" else location


def text_of(moment: date | None) -> str | None:
    if not isinstance(moment, datetime):
        return moment and moment.isoformat()
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ").zfill(20)


@given(
    loc=locations,
    texts=st.fixed_dictionaries({}, optional=dict.fromkeys(["caption", "geo_location", "title"], anything)),
    terms=maybe() | locations,
)
@example(loc="/", texts={"caption": "a\r\nb\rc\td"}, terms=None)
def test_any_image_is_refused_or_is_valid_and_read_again_as_it_was(
    schema: Any, loc: str, texts: dict[str, str], terms: str | None
) -> None:
    try:
        image = Image(loc, **texts, license=terms)
    except ValueError:
        assert any(not c.isprintable() for c in "".join(texts.values()))
        return
    elements = image_elements([image, Image(loc)], BASE, 1)
    schema.assertValid(etree.fromstring(document(elements)))
    given_texts = {"loc": located(loc), **texts, "license": located(terms)}
    expected = [(name, given_texts[name]) for name in IMAGE if given_texts.get(name)]
    assert [pairs(found) for found in read(elements)] == [expected, [("loc", located(loc))]]


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


@given(
    st.fixed_dictionaries(
        {
            "publication_name": anything,
            "language": st.just("en"),
            "publication_date": moments,
            "title": anything,
        }
    )
)
def test_any_news_are_refused_or_are_valid_and_read_again_as_they_were(
    schema: Any, values: dict[str, Any]
) -> None:
    try:
        news = News(**values)
    except ValueError:
        return
    elements = news_element(news, 1)
    schema.assertValid(etree.fromstring(document(elements)))
    texts = dict(pairs(read(elements)[0]))
    assert (texts["name"], texts["title"]) == (values["publication_name"], values["title"])
    assert texts["publication_date"] == text_of(values["publication_date"])


@pytest.mark.parametrize("value", [F("title"), object(), iter("ab")], ids=["F", "object", "iterator"])
def test_what_says_only_how_it_is_written_in_code_is_no_text(value: Any) -> None:
    with pytest.raises(ValueError, match=r"News\.publication_name must be a text"):
        News(value, "en", date(2026, 1, 1), "Title")
