"""Hostile values take no noticeable part of a request, and do not break lines of a log."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from django.db.models import F

from django_sitemaps09 import ModelSitemap, PathTemplate, Route, sources
from django_sitemaps09.entries import (
    Alternate,
    Extension,
    Image,
    ItemError,
    News,
    Restriction,
    Video,
    excerpt,
    reason_of,
    short_repr,
)
from django_sitemaps09.hooks.expressions import alias
from django_sitemaps09.pages import Page
from django_sitemaps09.sitemaps.declared import read
from django_sitemaps09.sources.columns import Rows
from django_sitemaps09.sources.declaration import Declaration
from tests.models import Word
from tests.support.sources import BASE, LIMITS, listing
from tests.support.writing import write

# Other processes use the same cores, so the best of several attempts counts.
_ATTEMPTS = 40
# Shorter times, in seconds, are not compared on any machine.
_NOTHING = 0.0005

_MARKS = sorted(map(chr, range(0x300, 0x370)), key=unicodedata.combining, reverse=True)
_CJK = "".join(chr(0x4E00 + i) for i in range(252))

#: A string is hostile if it is long, or becomes long when a step normalizes, escapes or quotes it.
TEXTS: dict[str, str] = {
    "host that NFKC makes 18 times as long": "https://" + "\ufdfa" * 1_000 + "/",
    "short host that NFKC makes long": "https://" + "\ufdfa" * 14 + ".example/",
    "labels that NFKC makes long": "https://" + ".".join(["\ufdfa" * 3] * 80) + "/",
    "host of accents in reverse order": "https://a"
    + "".join(sorted(_MARKS * 9, key=unicodedata.combining, reverse=True))
    + "/",
    "short host of accents": "https://a" + "".join(_MARKS[:62]) + "/",
    "label of many characters": "https://" + _CJK + "/",
    "labels of many characters": "https://" + ".".join(_CJK[i : i + 63] for i in range(0, 252, 63)) + "/",
    "short labels of many characters": "https://"
    + ".".join(_CJK[i : i + 12] for i in range(0, 252, 12))
    + "/",
    "labels of one character": "https://" + "ü." * 252 + "/",
    "host of nothing": "https://" + "\u00ad" * 252 + "a/",
    "host of sharp s": "https://" + ".".join(["ß" * 60] * 4) + "/",
    "host of dots": "https://" + "." * 20_000 + "/",
    "host of labels": "https://" + "a." * 20_000 + "/",
    "long host": "https://" + "a" * 1_000_000 + "/",
    "host of brackets": "https://" + "[" * 20_000 + "/",
    "host of an address": "https://[" + "0:" * 10_000 + "]/",
    "host of users": "https://" + "@" * 20_000 + "/",
    "host without a scheme": "//" + "\ufdfa" * 1_000 + "/",
    "port": "https://a.example:" + "9" * 20_000 + "/",
    "percents": "/" + "%" * 20_000,
    "fewer percents": "/" + "%" * 2_000,
    "percents that fit": "/" + "%" * 670,
    "escapes": "/" + "%41" * 680,
    "letters to be quoted": "/" + "ü" * 20_000,
    "fewer letters to be quoted": "/" + "aü" * 1_000,
    "letters to be quoted that fit": "/" + "aü" * 280,
    "emoji": "/" + "\U0001f600" * 2_000,
    "long path": "/" + "a" * 1_000_000,
    "long path to be quoted": "/" + "aü" * 500_000,
    "long path of spaces": "/" + " " * 1_000_000,
    "long path with a fragment": "/" + "a" * 1_000_000 + "#",
    "slashes": "/" * 1_000_000,
    "ampersands": "/" + "&" * 2_000,
    "quotes": "/" + chr(39) * 1_000_000,
    "backslashes": "\\" * 1_000_000,
    "spaces": " " * 1_000_000,
    "control characters": "\x00" * 1_000_000,
    "escape sequences": "\x1b[31m" * 200_000,
    "line ends": "\r\n" * 500_000,
    "surrogates": "\ud800" * 1_000_000,
    "digits": "9" * 1_000_000,
    "fraction": "0." + "0" * 1_000_000 + "1",
    "exponent": "1e-999999999",
    "languages": "de-" * 300_000 + "de",
    "letters": "a" * 1_000_000,
    "letters as a language": "a" * 9 + "-" * 9 + "Latn" * 9,
    "markup": "<" * 1_000_000,
    "elements": "<x:a/>" * 200_000,
    "some elements": "<x:a/>" * 2_700,
    "elements within each other": "<x:a>" * 200_000,
    "some elements within each other": "<x:a>" * 49 + "a" + "</x:a>" * 49,
    "attributes": "<x:a " + " ".join(f'a{i}=""' for i in range(50_000)) + "/>",
    "some attributes": "<x:a " + " ".join(f'a{i}=""' for i in range(1_500)) + "/>",
    "long attribute": '<x:a b="' + "&amp;" * 3_000 + '"/>',
    "references": "<x:a>" + "&#10;" * 3_000 + "</x:a>",
    "references with text": "<x:a>" + "&lt;a" * 3_000 + "</x:a>",
    "comments": "<x:a>" + "<!---->" * 2_000 + "</x:a>",
    "sections of CDATA": "<x:a>" + "<![CDATA[]]>" * 1_300 + "</x:a>",
    "entity": "<!DOCTYPE a [<!ENTITY b 'c'>]><x:a>&b;</x:a>",
}

VALUES: dict[str, object] = {
    **TEXTS,
    "number": 10**4_000,
    "number that has no text": 10**1_000_000,
    "decimal": Decimal("0." + "1" * 5_000),
    "exponent of a decimal": Decimal("1e-999999"),
    "bytes": b"a" * 1_000_000,
    "list": list(range(1_000_000)),
    "infinity": float("inf"),
    "year 10000 in UTC": datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))),
}

_DAY = date(2026, 1, 1)


def _video(**fields: Any) -> Callable[[Any, Any], list[Video]]:
    return lambda self, item: [
        Video(
            **{
                "thumbnail_loc": "/a.png",
                "title": "a",
                "description": "a",
                "content_loc": "/a.mp4",
                **fields,
            }
        )
    ]


def _news(**fields: Any) -> Callable[[Any, Any], News]:
    return lambda self, item: News(
        **{"publication_name": "a", "language": "en", "publication_date": _DAY, "title": "a", **fields}
    )


#: The code of a class for each kind of field that can have the value.
FIELDS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "location": lambda value: {"location": lambda self, item: value},
    "lastmod": lambda value: {"lastmod": lambda self, item: value},
    "changefreq": lambda value: {"changefreq": lambda self, item: value},
    "priority": lambda value: {"priority": lambda self, item: value},
    "alternates": lambda value: {
        "alternates": lambda self, item: [Alternate("de", value), Alternate("en", "/1/")]
    },
    "language of alternates": lambda value: {
        "alternates": lambda self, item: [Alternate(value, "/de/"), Alternate("en", "/1/")]
    },
    "x_default": lambda value: {
        "i18n": True,
        "alternates": True,
        "languages": ["en"],
        "x_default": lambda self, item: value,
    },
    "languages of an item": lambda value: {
        "i18n": True,
        "languages": ["en"],
        "get_languages_for_item": lambda self, item: [value],
    },
    **{
        f"{name} of an image": lambda value, name=name: {  # type: ignore[misc]
            "images": lambda self, item: [Image(**{"loc": "/a.png", name: value})]
        }
        for name in ("loc", "caption", "geo_location", "title", "license")
    },
    **{
        f"{name} of a video": lambda value, name=name: {"videos": _video(**{name: value})}  # type: ignore[misc]
        for name in (
            *("thumbnail_loc", "title", "description", "content_loc", "player_loc", "duration", "rating"),
            *("view_count", "publication_date", "uploader", "tags"),
        )
    },
    "tag of a video": lambda value: {"videos": _video(tags=[value])},
    "uploader_info of a video": lambda value: {"videos": _video(uploader="a", uploader_info=value)},
    "restriction of a video": lambda value: {
        "videos": lambda self, item: _video(restriction=Restriction("allow", [value]))(self, item)
    },
    **{
        f"{name} of news": lambda value, name=name: {"news": _news(**{name: value})}  # type: ignore[misc]
        for name in ("publication_name", "language", "publication_date", "title")
    },
    "extension": lambda value: {
        "extensions": [Extension("x", "https://www.example.com/x", lambda item: value)]
    },
    "location of get_urls()": lambda value: {
        "get_urls": lambda self, **kwargs: [{"location": value, "item": 1}]
    },
    "item of get_urls()": lambda value: {
        "get_urls": lambda self, **kwargs: [{"location": "", "item": value}]
    },
    "lastmod of get_urls()": lambda value: {
        "get_urls": lambda self, **kwargs: [{"location": f"{BASE}/", "item": 1, "lastmod": value}]
    },
}


def yardstick() -> int:
    """About two milliseconds of Python on a quiet machine: what any one value of one entry may cost.

    A clock alone would judge the machine; this is measured beside each value.
    """
    total = 0
    for number in range(40_000):
        total += number * number
    return total


def _seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def cost(work: Callable[[], object]) -> float:
    """Return the CPU time in yardsticks of the best attempt, or of the first one that is fast enough."""
    best = float("inf")
    for _ in range(_ATTEMPTS):
        seconds = _seconds(work)
        best = min(best, seconds / _seconds(yardstick) if seconds > _NOTHING else 0)
        if best < 1 / 2:
            break
    return best


def written(attributes: dict[str, Any]) -> bytes:
    """Render the page of a section with one entry and these attributes."""
    source = sources.source("things", listing([1], **attributes), BASE, LIMITS)
    return write(source.batches(Page(1, None, None)), namespaces=source.declared.namespaces)[0]


@pytest.mark.slow
@pytest.mark.usefixtures("cached_site")
@pytest.mark.parametrize("field", FIELDS)
def test_no_value_takes_longer_than_the_reference(field: str) -> None:
    """Each value is on a separate page, and the whole page is measured."""
    costs = {name: cost(partial(written, FIELDS[field](value))) for name, value in VALUES.items()}
    assert {name: ratio for name, ratio in costs.items() if ratio > 1} == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    "location",
    [
        Route("article", slug=F("word")),
        Route("word", word=F("word")),
        PathTemplate("/{word}/", word=F("word")),
        PathTemplate("https://{word}/", word=F("word")),
    ],
    ids=repr,
)
def test_no_argument_of_a_location_takes_longer_than_the_reference(location: Any) -> None:
    words = type("Words", (ModelSitemap,), {"model": Word, "location": location})
    declared = Declaration(read(words(), BASE, LIMITS))
    rows = {key: Rows([1], None, {alias("location"): [value]}) for key, value in TEXTS.items()}
    costs = {key: cost(partial(declared.batch, found)) for key, found in rows.items()}
    assert {key: ratio for key, ratio in costs.items() if ratio > 1} == {}


def test_an_argument_of_a_route_that_no_location_can_hold_is_skipped_and_named() -> None:
    words = type("Words", (ModelSitemap,), {"model": Word, "location": Route("word", word=F("word"))})
    declared = Declaration(read(words(), BASE, LIMITS))
    found = declared.batch(Rows([1, 2], None, {alias("location"): ["short", "a" * 2_048]}))
    assert [*found.keys] == [1]
    [error] = found.errors
    assert error.key == "2"
    assert error.reason.endswith("has 2,048 characters; at most 2,047 are allowed")


class TestWhatAMessageShows:
    @pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
    def test_is_one_printable_line_of_at_most_200_characters(self, value: object) -> None:
        for text in (excerpt(value), short_repr(value), reason_of(ValueError(value)).partition(": ")[2]):
            assert text.isprintable()
            assert len(text) <= 200

    def test_of_a_short_text_is_all_of_it(self) -> None:
        assert excerpt("a\x1b[31mb\nc\u202ed") == r"a\x1b[31mb\nc\u202ed"
        assert (short_repr("a"), short_repr([1, "a"]), short_repr(None)) == ("'a'", "[1, 'a']", "None")
        assert reason_of(KeyError("a")) == "KeyError: 'a'"

    def test_of_a_value_that_cannot_be_shown_is_its_class(self) -> None:
        class Silent(Exception):
            def __str__(self) -> str:
                raise RuntimeError

            __repr__ = __str__

        assert (excerpt(Silent()), reason_of(Silent())) == ("Silent", "Silent")
        assert short_repr(Silent()).startswith("<Silent")

    def test_in_the_error_of_an_item_is_escaped_and_cut(self) -> None:
        error = ItemError("\x1b]0;\x07" * 100, "location", "\r\n" * 1_000)
        assert str(error).isprintable()
        assert len(str(error)) < 450
