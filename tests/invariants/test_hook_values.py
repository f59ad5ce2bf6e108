"""Any value of a hook is either written unchanged, or skipped and reported once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, timedelta, timezone
from functools import partial
from typing import Any
from urllib.parse import unquote
from zoneinfo import ZoneInfo

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError
from hypothesis import event, example, given, strategies as st

from django_sitemaps09 import Alternate, Image, News, Video
from django_sitemaps09.entries import ItemError
from tests.support.configuration import BASE
from tests.support.documents import (
    ELEMENT,
    ITSELF,
    NEWS,
    NOW,
    UTC,
    Given,
    Listed,
    anything,
    compiled,
    entries,
    hook,
    parsed,
    render_item,
    second,
    texts,
)

pytestmark = [pytest.mark.slow, pytest.mark.sitemaps09]
#: Characters that are allowed in XML.
readable = st.text(st.sampled_from("aZ09 &<>\"'äß日😀\t\n\r\x85\u2028"), min_size=1, max_size=8)


def mostly(good: Any, other: Any) -> Any:
    """Draw mostly valid values, because one invalid value is enough to skip all."""
    return st.integers(0, 9).flatmap(lambda number: other if number == 9 else good)


prose = mostly(readable.filter(lambda text: not text.isspace()), anything)
good_urls = st.text("aZ09-._~ &<\"'äß日😀+;=,", max_size=8).map(str.strip)

urls = mostly(
    good_urls.map("/".__add__)
    | good_urls.filter(bool)
    | good_urls.map("https://example.net/".__add__)
    | st.sampled_from(["//cdn.example.net/a", "http://käse.example/ä", "HTTP://EXAMPLE.ORG"]),
    anything
    | anything.map("/".__add__)
    | anything.map("https://example.net/".__add__)
    | anything.map("http://".__add__)
    | st.sampled_from(["", "ftp://a/b", "/" + "ä" * 400, "https://[::1/", "http://a.example:99999/"]),
)

zones = st.sampled_from(
    [UTC, timezone(timedelta(hours=14)), timezone(-timedelta(hours=12)), ZoneInfo("Asia/Tokyo")]
)

moments = (
    st.dates()
    | st.datetimes()
    | st.datetimes(timezones=zones)
    | st.sampled_from([datetime.min, datetime.max, date.min, date.max])
    | st.sampled_from([datetime.min, datetime.max]).flatmap(
        lambda moment: zones.map(lambda zone: moment.replace(tzinfo=zone))
    )
)

recent = st.datetimes(
    min_value=NOW.replace(tzinfo=None) - timedelta(hours=40),
    max_value=datetime(9999, 12, 30),
    timezones=zones,
)

codes = ["en", "de-at", "pt_BR", "zh-hans", "zh_TW", "sr@latin", "es-419", "x-default", "fil", "gsw-CH"]

languages = mostly(
    st.sampled_from(codes),
    st.sampled_from(["zh", "no language", "", "i-klingon"]) | st.text("abzXZ-_@.19", max_size=8) | anything,
)


def errors_of(errors: Sequence[ItemError], field: str) -> int:
    """Return the number of errors for a field, and check that all errors are for the second item."""
    assert {error.key for error in errors} <= {"2"}
    return sum(error.field == field for error in errors)


def same_url(written: str, given_url: str) -> bool:
    """Return whether an absolute URI has the target of a path, a URL or a file name."""
    assert re.fullmatch(r"https?://[a-z0-9.\-:\[\]_]+/[A-Za-z0-9\-._~:/?@!$&'()*+,;=%]*", written)
    if re.match("[A-Za-z]+:", given_url) and not re.match("https?://[^/?#]", given_url, re.IGNORECASE):
        # This is interpreted as a file name, which a test below covers.
        return written.startswith(f"{BASE}/")
    if given_url.startswith("//"):
        given_url = f"https:{given_url}"
    elif given_url.startswith("/"):
        given_url = f"{BASE}{given_url}"
    elif not re.match("https?://", given_url, re.IGNORECASE):
        given_url = f"{BASE}/{given_url}"
    scheme, _, rest = given_url.partition("://")
    host, _, path = rest.partition("/")
    found_scheme, _, found_rest = written.partition("://")
    found_host, _, found_path = found_rest.partition("/")
    assert found_scheme == scheme.lower()
    if not re.fullmatch(r"[A-Za-z0-9.\-]+", host):
        # The tests of the protocol cover the result.
        return True
    # A percent sign is ambiguous.
    return found_host == host.lower() and ("%" in path or unquote(found_path) == path)


def same_moment(written: str, given_moment: date) -> bool:
    """Return whether a text is this day, or this second in UTC. Naive times are in the zone of Zurich."""
    if not isinstance(given_moment, datetime):
        return written == given_moment.isoformat()
    if given_moment.tzinfo is None:
        given_moment = given_moment.replace(tzinfo=ZoneInfo("Europe/Zurich"))
    assert re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z", written)
    found = datetime.fromisoformat(written.replace("Z", "+00:00"))
    return found == given_moment.astimezone(UTC).replace(microsecond=0)


def values(document: bytes, prefix: str) -> dict[str, str]:
    """Return the texts of an extension's elements in the tested entry."""
    return {
        name.partition(":")[2]: text
        for name, text, _ in second(document)
        if name.startswith(f"{prefix}:") and name != f"{prefix}:{prefix}"
    }


def written_or_skipped(document: bytes, errors: list[ItemError], field: str, prefix: str) -> dict[str, str]:
    """Return the elements written for an item; if there are none, check that one error names it."""
    found = values(document, prefix)
    event("written" if found else "skipped")
    assert errors_of(errors, field) == len(errors) == (0 if found else 1)
    return found


class TestAnyValue:
    @given(url=urls, caption=prose, title=prose)
    @example(url="a.png", caption="\r\n", title="\x85")
    def test_of_an_image(self, schema: Any, url: str, caption: str, title: str) -> None:
        document, errors = render_item(images=lambda: [Image(url, caption=caption, title=title)])
        schema.assertValid(parsed(document))
        if found := written_or_skipped(document, errors, "images", "image"):
            assert same_url(found.pop("loc"), url)
            assert found == {name: text for name, text in (("caption", caption), ("title", title)) if text}

    @given(
        thumbnail=urls,
        title=prose,
        description=prose,
        content=urls | st.none(),
        player=urls | st.none(),
        published=moments | st.none(),
        expires=moments | st.none(),
        tags=st.lists(prose, max_size=3),
    )
    def test_of_a_video(
        self,
        schema: Any,
        thumbnail: str,
        title: str,
        description: str,
        content: str | None,
        player: str | None,
        published: date | None,
        expires: date | None,
        tags: list[str],
    ) -> None:
        document, errors = render_item(
            videos=lambda: [
                Video(
                    thumbnail,
                    title,
                    description,
                    content_loc=content,
                    player_loc=player,
                    publication_date=published,
                    expiration_date=expires,
                    tags=tags,
                )
            ]
        )
        schema.assertValid(parsed(document))
        if found := written_or_skipped(document, errors, "videos", "video"):
            assert (found["title"], found["description"]) == (title, description)
            assert same_url(found["thumbnail_loc"], thumbnail)
            assert ("content_loc" in found) == bool(content)
            assert ("player_loc" in found) == bool(player)
            assert not content or same_url(found["content_loc"], content)
            assert not player or player.startswith("//") or same_url(found["player_loc"], player)
            for name, moment in (("publication_date", published), ("expiration_date", expires)):
                assert (name in found) == (moment is not None)
                assert moment is None or same_moment(found[name], moment)
            assert [text for name, text, _ in second(document) if name == "video:tag"] == tags

    @given(name=prose, language=languages, published=mostly(recent, moments), title=prose)
    @example(name="a", language="en", published=NOW, title="t")
    @example(name="a", language="zh", published=NOW, title="t")
    def test_of_news(self, schema: Any, name: str, language: str, published: date, title: str) -> None:
        """News older than two days are omitted without an error."""
        document, errors = render_item(news=lambda: News(name, language, published, title))
        schema.assertValid(parsed(document))
        found = values(document, "news")
        assert errors_of(errors, "news") == len(errors) <= 1
        event("written" if found else "skipped")
        if found:
            assert not errors
            assert (found["name"], found["title"]) == (name, title)
            assert same_moment(found["publication_date"], published)
            assert language.lower().startswith(found["language"][:2])
        elif not errors:
            day = date(published.year, published.month, published.day)
            assert day <= (datetime.now(UTC) - timedelta(days=1)).date()

    @given(code=languages, url=urls)
    @example(code="de_AT", url="/")
    def test_of_an_alternate(self, schema: Any, code: str, url: str) -> None:
        document, errors = render_item(alternates=lambda: [("en", "/second/"), Alternate(code, url)])
        schema.assertValid(parsed(document))
        links = [dict(found) for name, _, found in second(document) if name == "xhtml:link"]
        assert errors_of(errors, "alternates") == len(errors) == (0 if links else 1)
        assert len(links) in (0, 2)
        event("written" if links else "skipped")
        for link in links[1:]:
            assert url.startswith("//") or same_url(link["href"], url)
            if "@" not in code:
                assert link["hreflang"].lower() == code.replace("_", "-").lower()

    @given(location=urls, moment=moments | anything | st.integers() | st.none(), word=anything)
    @example(location="/a/", moment=None, word="never")
    def test_of_the_elements_of_the_protocol(
        self, schema: Any, location: str, moment: Any, word: str
    ) -> None:
        """Only here, the whole item can be skipped: if it has no valid location."""
        document, errors = render_item(
            lambda: location, lastmod=lambda: moment, changefreq=lambda: word, priority=lambda: "0.1"
        )
        schema.assertValid(parsed(document))
        gone = errors_of(errors, "location")
        assert len(entries(document)) == 3 - gone
        fields = [error.field for error in errors]
        assert len(fields) == len(set(fields))
        assert set(fields) <= {"location", "lastmod", "changefreq"}
        if not gone:
            found = {name: text for name, text, _ in second(document)}
            assert location.startswith("//") or same_url(found["loc"], location)
            assert ("lastmod" in found) == ("lastmod" not in fields and moment not in (None, ""))
            assert "lastmod" not in found or same_moment(found["lastmod"], moment)
            assert ("changefreq" in found) == ("changefreq" not in fields and word != "")
            assert found.get("changefreq", word) == word or "changefreq" in fields
            assert found["priority"] == "0.1"


def raising(*before: Any) -> Iterator[Any]:
    yield from before
    raise LookupError("mid-generator")


IMAGE = Image("/a.png")
VIDEO = Video("/t.png", "Title", "Description", content_loc="/v.mp4")
ONE: dict[str, Any] = {"images": IMAGE, "videos": VIDEO, "alternates": ITSELF}

#: The result of a hook, and how many of its values are written and skipped.
ANSWERS: dict[str, tuple[Callable[[Any], Any], int, int]] = {
    "None": (lambda one: None, 0, 0),
    "an empty list": (lambda one: [], 0, 0),
    "an empty tuple": (lambda one: (), 0, 0),
    "an empty generator": (lambda one: iter(()), 0, 0),
    "a tuple": (lambda one: (one,), 1, 0),
    "a generator": (lambda one: (some for some in [one]), 1, 0),
    "a view of a dict": (lambda one: {1: one}.values(), 1, 0),
    "a generator that raises": (lambda one: raising(one), 0, 1),
    "a generator that raises at once": (lambda one: raising(), 0, 1),
    "an error": (lambda one: 1 / 0, 0, 1),
    "a stop": (lambda one: next(iter(())), 0, 1),
    "a number": (lambda one: 5, 0, 1),
    "a text": (lambda one: "/a.png", 0, 1),
    "news": (lambda one: NEWS, 0, 1),
    "no": (lambda one: False, 0, 1),
    "a class": (lambda one: type(one), 0, 1),
    "a list of None": (lambda one: [None], 0, 1),
    "a list of numbers": (lambda one: [5], 0, 1),
    "a list of lists": (lambda one: [[one]], 0, 1),
    "a method": (lambda one: one.__repr__, 0, 1),
}

SEVERAL = [(name, answer) for name in ONE for answer in ANSWERS]


@pytest.mark.parametrize(("name", "answer"), SEVERAL)
def test_any_result_of_a_hook_affects_only_itself(schema: Any, name: str, answer: str) -> None:
    give, count, skipped = ANSWERS[answer]
    document, errors = render_item(**{name: partial(give, ONE[name])})
    schema.assertValid(parsed(document))
    assert len(texts(document, ELEMENT[name])) == count
    assert [(error.key, error.field) for error in errors] == [("2", name)] * skipped


@pytest.mark.parametrize("error", [DatabaseError, ImproperlyConfigured, MemoryError, KeyboardInterrupt])
@pytest.mark.parametrize("name", ["lastmod", "changefreq", "priority", "images"])
def test_an_error_that_affects_several_items_is_raised(name: str, error: type[BaseException]) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(error):
        render_item(**{name: fail})


@pytest.mark.parametrize("answer", ["a list", "a number", "a text", "an image", "no", "an error"])
def test_news_are_one_object_or_none(schema: Any, answer: str) -> None:
    give: dict[str, Callable[[], Any]] = {
        "a list": lambda: [NEWS],
        "a number": lambda: 5,
        "a text": lambda: "news",
        "an image": lambda: IMAGE,
        "no": lambda: False,
        "an error": lambda: News("The Times", "en", NOW, ""),
    }
    document, errors = render_item(news=give[answer])
    schema.assertValid(parsed(document))
    assert texts(document, "news:news") == []
    assert [(error.key, error.field) for error in errors] == [("2", "news")]


@pytest.mark.parametrize("name", ["content_loc", "player_loc"])
def test_an_empty_location_of_a_video_is_missing(name: str) -> None:
    locations = {"content_loc": "/v.mp4", "player_loc": "/p", name: ""}
    document, errors = render_item(videos=lambda: [Video("/t.png", "T", "D", **locations)])
    assert errors == []
    assert len(texts(document, "video:content_loc") + texts(document, "video:player_loc")) == 1
    assert texts(document, f"video:{name}") == []


@pytest.mark.parametrize("name", ["images", "videos"])
def test_one_bad_value_of_several_affects_only_itself(name: str) -> None:
    document, errors = render_item(**{name: lambda: [ONE[name], None, ONE[name]]})
    assert len(texts(document, ELEMENT[name])) == 2
    assert [(error.key, error.field) for error in errors] == [("2", name)]


def test_of_more_images_than_a_page_may_have_the_first_ones_are_written(schema: Any) -> None:
    document, errors = render_item(images=lambda: (Image(f"/{number}.png") for number in range(1_001)))
    schema.assertValid(parsed(document))
    assert texts(document, "image:loc") == [f"{BASE}/{number}.png" for number in range(1_000)]
    assert [(error.key, error.field) for error in errors] == [("2", "images")]


def test_a_video_of_the_page_itself_is_skipped() -> None:
    for url in ("/second/", f"{BASE}/second/", "//www.example.com/second/"):
        document, errors = render_item(
            videos=lambda url=url: [Video("/t.png", "T", "D", content_loc=url), VIDEO]
        )
        assert len(texts(document, "video:video")) == 1
        assert [(error.key, error.field) for error in errors] == [("2", "videos")]


def test_an_item_in_several_languages_is_named_once() -> None:
    document, written = compiled(
        type(
            "Declared",
            (Listed,),
            {
                "one": Given(lambda: "/second/", {"images": lambda: 5}),
                "images": hook("images"),
                "i18n": True,
            },
        )
    )
    assert len(texts(document, "loc")) == 9
    assert [(error.key, error.field) for error in written.errors] == [("2", "images")]
