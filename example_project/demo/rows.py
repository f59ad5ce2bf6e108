"""Rows that `populate` creates. They are the same in each run: each row is derived from its number."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta, timezone

from articles.models import Article, Category
from legacy.models import Event
from products.models import Product

ADJECTIVES = ["quiet", "northern", "forgotten", "crowded", "windswept", "unlikely", "golden"]
NOUNS = [
    "harbours",
    "lighthouses",
    "railways",
    "bakeries",
    "libraries",
    "markets",
    "gardens",
    "cafés",
]
HOWS = ["by-bicycle", "in-winter", "on-foot", "after-dark", "for-beginners", "without-a-map"]
PLACES = [
    "lisbon",
    "zürich",
    "reykjavík",
    "kyōto",
    "東京",
    "łódź",
    "ålesund",
    "marseille",
    "москва",
]
TITLES = [
    "{adjective} {noun} of {place}",
    "{adjective} {noun} & where to find them in {place}",
    '"{adjective}" {noun}? A look at {place}',
    "{place}: {noun} < 2 hours away",
    "{place}'s {adjective} {noun}",
]
# With `<str:code>` in the URL pattern, a product code can contain anything except a slash.
CODES = [
    "AB-{:06}",
    "Größe-{:06}",
    "R&D {:06}",
    'TV 32" {:06}',
    "O'Neill-{:06}",
    "50% + #{:06}?",
    "茶-{:06}",
]
COLOURS = [("red", "rot"), ("blue", "blau"), ("green", "grün"), ("white & black", "weiß & schwarz")]
THINGS = [
    ("teapot", "Teekanne"),
    ("lamp", "Lampe"),
    ("chair", "Stuhl"),
    ('32" screen', '32"-Bildschirm'),
]
FLATPAGES = ["Terms", "Privacy", "Shipping", "Imprint"]

CATEGORIES = 200
EVENTS = 120
START = datetime(2023, 1, 1, tzinfo=timezone.utc)
MINUTES = 3 * 365 * 24 * 60


def moment(number: int) -> datetime:
    """Return a time within three years after START; consecutive numbers are not in chronological order."""
    return START + timedelta(minutes=number * 7_919 % MINUTES)


def categories() -> Iterator[Category]:
    for number in range(CATEGORIES):
        noun = ("coasts", "cities", "trains", "food", "books", "music", "walks", "history")[number % 8]
        yield Category(slug=f"{noun}-{number:03}", name=f"{noun.title()} & more {number}")


def articles(count: int, category_ids: list[int]) -> Iterator[Article]:
    """Yield articles; one in fifty is not published, so that the listed ids have gaps."""
    for number in range(count):
        adjective = ADJECTIVES[number % len(ADJECTIVES)]
        noun = NOUNS[number // 7 % len(NOUNS)]
        place = PLACES[number // 3 % len(PLACES)]
        title = TITLES[number % len(TITLES)]
        yield Article(
            category_id=category_ids[number * 31 % len(category_ids)],
            slug=f"{adjective}-{noun}-{place}-{HOWS[number // 5 % len(HOWS)]}-{number:07}",
            title=title.format(adjective=adjective.title(), noun=noun, place=place.title()),
            published=number % 50 != 25,
            updated=moment(number),
            image_url=f"/images/{number}.svg",
        )


def products(count: int) -> Iterator[Product]:
    for number in range(count):
        colour_en, colour_de = COLOURS[number % len(COLOURS)]
        thing_en, thing_de = THINGS[number // 3 % len(THINGS)]
        yield Product(
            code=CODES[number % len(CODES)].format(number),
            name_en=f"{thing_en.title()}, {colour_en}",
            name_de=f"{thing_de}, {colour_de}",
            updated=moment(number),
        )


def events() -> Iterator[Event]:
    """Yield events. A quarter of them are archived."""
    for number in range(EVENTS):
        yield Event(
            title=f'Open day {number} at the {NOUNS[number % len(NOUNS)]} & "gardens" <free>',
            changed=date(2025, 1, 1) + timedelta(days=number),
            archived=number % 4 == 0,
        )
