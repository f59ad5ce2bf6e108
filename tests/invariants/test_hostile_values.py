"""Hostile values take no noticeable part of a request, and do not break lines of a log."""

from __future__ import annotations

import time
import unicodedata
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from functools import partial

import pytest
from django.db.models import F

from django_sitemaps09 import Alternate, Extension, Image, News, PathTemplate, Restriction, Route, Video
from django_sitemaps09.protocol.fields import excerpt, reason_of, short_repr
from django_sitemaps09.rows.conversion import Conversion, Rows
from tests.models import Word
from tests.support.internals import ItemError, Page, alias, read
from tests.support.sections import declare, listing
from tests.support.sources import BASE, LIMITS, compiled
from tests.support.writing import write

_MARKS = sorted(map(chr, range(0x300, 0x370)), key=unicodedata.combining, reverse=True)
_REVERSED = "".join(sorted(_MARKS * 9, key=unicodedata.combining, reverse=True))
_CJK = "".join(chr(0x4E00 + i) for i in range(252))
_LABELS, _SHORT = (".".join(_CJK[i : i + size] for i in range(0, 252, size)) for size in (63, 12))

#: A string is hostile if it is long, or becomes long when a step normalizes, escapes or quotes it: hosts,
#: paths, anything, and XML.
TEXTS = [
    *(f"https://{1_000 * chr(0xFDFA)}/", f"https://{14 * chr(0xFDFA)}.example/"),
    *(f"https://{'.'.join([3 * chr(0xFDFA)] * 80)}/", f"https://a{_REVERSED}/"),
    *(f"https://a{''.join(_MARKS[:62])}/", f"https://{_CJK}/", f"https://{_LABELS}/"),
    *(f"https://{_SHORT}/", f"https://{'ü.' * 252}/", f"https://{252 * chr(0xAD)}a/"),
    *(f"https://{'.'.join(['ß' * 60] * 4)}/", f"https://{'.' * 20_000}/", f"https://{'a.' * 20_000}/"),
    *(f"https://{'a' * 1_000_000}/", f"https://{'[' * 20_000}/", f"https://[{'0:' * 10_000}]/"),
    *(f"https://{'@' * 20_000}/", f"//{1_000 * chr(0xFDFA)}/", f"https://a.example:{'9' * 20_000}/"),
    *("/" + "%" * 20_000, "/" + "%" * 2_000, "/" + "%" * 670, "/" + "%41" * 680, "/" + "ü" * 20_000),
    *("/" + "aü" * 1_000, "/" + "aü" * 280, "/" + "\U0001f600" * 2_000, "/" + "a" * 1_000_000),
    *("/" + "aü" * 500_000, "/" + " " * 1_000_000, f"/{'a' * 1_000_000}#", "/" * 1_000_000),
    *("/" + "&" * 2_000, "/" + chr(39) * 1_000_000, "\\" * 1_000_000, " " * 1_000_000, "\x00" * 1_000_000),
    *("\x1b[31m" * 200_000, "\r\n" * 500_000, "\ud800" * 1_000_000, "9" * 1_000_000),
    *(f"0.{'0' * 1_000_000}1", "1e-999999999", "de-" * 300_000 + "de", "a" * 1_000_000),
    *("a" * 9 + "-" * 9 + "Latn" * 9, "<" * 1_000_000, "<x:a/>" * 200_000, "<x:a/>" * 2_700),
    *("<x:a>" * 200_000, "<x:a>" * 49 + "a" + "</x:a>" * 49),
    "<x:a " + " ".join(f'a{i}=""' for i in range(50_000)) + "/>",
    *("<x:a " + " ".join(f'a{i}=""' for i in range(1_500)) + "/>", f'<x:a b="{"&amp;" * 3_000}"/>'),
    *(f"<x:a>{'&#10;' * 3_000}</x:a>", f"<x:a>{'&lt;a' * 3_000}</x:a>", f"<x:a>{'<!---->' * 2_000}</x:a>"),
    *(f"<x:a>{'<![CDATA[]]>' * 1_300}</x:a>", "<!DOCTYPE a [<!ENTITY b 'c'>]><x:a>&b;</x:a>"),
]
VALUES = [
    *TEXTS,
    *(10**4_000, 10**1_000_000, Decimal("0." + "1" * 5_000), Decimal("1e-999999"), b"a" * 1_000_000),
    *(list(range(1_000_000)), float("inf"), datetime.max.replace(tzinfo=timezone(timedelta(hours=-1)))),
]
MADE = {
    "images": (Image, {"loc": "/a.png"}),
    "videos": (Video, {"thumbnail_loc": "/a", "title": "a", "description": "a", "content_loc": "/b"}),
    "news": (
        News,
        {"publication_name": "a", "language": "en", "publication_date": date(2026, 1, 1), "title": "a"},
    ),
}


def field(hook, name, change=lambda value: value, **others):
    make, least = MADE[hook]

    def result(self, item, value):
        made = make(**least | others | {name: change(value)})
        return made if hook == "news" else [made]

    return lambda value: {hook: lambda self, item: result(self, item, value)}


def hook(name, change=lambda value: value, **others):
    return lambda value: {name: lambda self, item: change(value), **others}


def entry_of_get_urls(**keys):
    made = {"location": f"{BASE}/", "item": 1}
    return lambda value: {"get_urls": lambda self, **_: [made | {k: v(value) for k, v in keys.items()}]}


def same(value):
    return value


IMAGES = ("loc", "caption", "geo_location", "title", "license")
VIDEOS = (
    *("thumbnail_loc", "title", "description", "content_loc", "player_loc", "duration", "rating"),
    *("view_count", "publication_date", "uploader", "tags"),
)
I18N = {"i18n": True, "languages": ["en"]}
#: The attributes of a class for each kind of field that can have the value.
FIELDS = {
    **{name: hook(name) for name in ("location", "lastmod", "changefreq", "priority")},
    "alternates": hook("alternates", lambda value: [Alternate("de", value), Alternate("en", "/1/")]),
    "their language": hook("alternates", lambda value: [Alternate(value, "/de/"), Alternate("en", "/1/")]),
    "x_default": hook("x_default", alternates=True, **I18N),
    "languages of an item": hook("get_languages_for_item", lambda value: [value], **I18N),
    **{f"{name} of an image": field("images", name) for name in IMAGES},
    **{f"{name} of a video": field("videos", name) for name in VIDEOS},
    "tag of a video": field("videos", "tags", lambda value: [value]),
    "uploader_info of a video": field("videos", "uploader_info", uploader="a"),
    "restriction of a video": field("videos", "restriction", lambda value: Restriction("allow", [value])),
    **{f"{name} of news": field("news", name) for name in MADE["news"][1]},
    "extension": lambda value: {"extensions": [Extension("x", "https://e.org/x", lambda item: value)]},
    "location of get_urls()": entry_of_get_urls(location=same),
    "item of get_urls()": entry_of_get_urls(item=same, location=lambda value: ""),
    "lastmod of get_urls()": entry_of_get_urls(lastmod=same),
}


def yardstick():
    """About two milliseconds of Python on a quiet machine: what any one value of one entry may cost.

    A clock alone would judge the machine; this is measured beside each value.
    """
    total = 0
    for number in range(40_000):
        total += number * number
    return total


def seconds(work):
    started = time.process_time()
    work()
    return time.process_time() - started


def cost(work):
    """Return the CPU time in yardsticks of the best attempt, or of the first one that is fast enough.

    Other processes use the same cores, and very short times are not compared on any machine.
    """
    best = float("inf")
    for _ in range(40):
        taken = seconds(work)
        best = min(best, taken / seconds(yardstick) if taken > 0.0005 else 0)
        if best < 1 / 2:
            break
    return best


def written(attributes):
    source = compiled(listing([1], **attributes))
    return write(source.batches(Page(1, None, None)), namespaces=source.declared.namespaces)[0]


def too_long(works):
    costs = ((excerpt(value)[:60], cost(work)) for value, work in works)
    return {shown: ratio for shown, ratio in costs if ratio > 1}


@pytest.mark.slow
@pytest.mark.usefixtures("cached_site")
@pytest.mark.parametrize("name", FIELDS)
def test_no_value_takes_longer_than_the_reference(name):
    """Each value is on a separate page, and the whole page is measured."""
    assert too_long((value, partial(written, FIELDS[name](value))) for value in VALUES) == {}


def columns_of(location):
    declared = Conversion(read(declare(model=Word, location=location)(), BASE, LIMITS))
    name = alias("location")
    return lambda *texts: declared.batch(Rows([*range(1, len(texts) + 1)], None, {name: [*texts]}))


@pytest.mark.slow
@pytest.mark.parametrize(
    "location",
    [*(Route("article", slug=F("word")), Route("word", word=F("word"))),
     *(PathTemplate(text, word=F("word")) for text in ("/{word}/", "https://{word}/"))],
    ids=repr,
)  # fmt: skip
def test_no_argument_of_a_location_takes_longer_than_the_reference(location):
    batch = columns_of(location)
    assert too_long((value, partial(batch, value)) for value in TEXTS) == {}


def test_an_argument_of_a_route_that_no_location_can_hold_is_skipped_and_named():
    found = columns_of(Route("word", word=F("word")))("short", "a" * 2_048)
    [error] = found.errors
    assert ([*found.keys], error.key) == ([1], "2")
    assert error.reason.endswith("has 2,048 characters; at most 2,047 are allowed")


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_what_a_message_shows_is_one_printable_line_of_at_most_200_characters(value):
    for text in (excerpt(value), short_repr(value), reason_of(ValueError(value)).partition(": ")[2]):
        assert text.isprintable()
        assert len(text) <= 200


def test_what_a_message_shows_of_a_short_text_is_all_of_it_and_of_an_item_is_cut():
    assert excerpt("a\x1b[31mb\nc\u202ed") == r"a\x1b[31mb\nc\u202ed"
    assert (short_repr("a"), short_repr([1, "a"]), short_repr(None)) == ("'a'", "[1, 'a']", "None")
    assert reason_of(KeyError("a")) == "KeyError: 'a'"
    error = ItemError("\x1b]0;\x07" * 100, "location", "\r\n" * 1_000)
    assert str(error).isprintable()
    assert len(str(error)) < 450


def test_what_a_message_shows_of_a_value_without_a_text_is_its_class():
    class Silent(Exception):
        def __str__(self):
            raise RuntimeError

        __repr__ = __str__

    assert (excerpt(Silent()), reason_of(Silent())) == ("Silent", "Silent")
    assert short_repr(Silent()).startswith("<Silent")
