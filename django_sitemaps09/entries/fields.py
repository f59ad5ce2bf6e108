"""What the fields of the value objects hold: each check gives the value to keep, or says what is wrong.

`name` is that of the field, as in `Video.title`; every `ValueError` names it first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from itertools import islice
from numbers import Number
from typing import Any, TypeAlias

from django_sitemaps09.entries.text import NOT_XML

Check: TypeAlias = Callable[[str, Any], Any]

#: Seconds of a video, https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps
MAX_DURATION = 28_800
#: Views: what the largest integer column of a database holds.
MAX_VIEWS = 2**63 - 1
# No rating needs as many digits; a decimal as short as 1e-9999 would otherwise fill pages.
_RATING_DIGITS = 400
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SHOWN = 100
_NO_TEXTS = (bytes, bytearray, memoryview, Number, list, tuple, set, frozenset, dict)


def checked(value: object, checks: Mapping[str, Check], required: Iterable[str]) -> None:
    """Each field of a frozen value object gets what its check makes of it; `None` is no value."""
    for field, check in checks.items():
        given = getattr(value, field)
        if given is not None or field in required:
            object.__setattr__(value, field, check(f"{type(value).__name__}.{field}", given))


def shown(value: object) -> str:
    """A value as messages have it, not longer than their reader likes."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def optional_text(name: str, value: object, most: int | None = None) -> str:
    """The text of a string or, as with lazy translations, of an object that is one when asked.

    What is most likely a mistake has no text: numbers, bytes, collections, functions and methods.
    """
    if isinstance(value, str):
        # Not str(value): that of an enum's member is its name.
        text = value if type(value) is str else str.__str__(value)
    elif (
        value is None
        or isinstance(value, _NO_TEXTS)
        or callable(value)
        # An expression, a queryset, a generator: what it says is how it is written in code.
        or type(value).__str__ is object.__str__
    ):
        raise ValueError(f"{name} must be a text, not {shown(value)}")
    else:
        text = str(value)
    if most is not None and len(text) > most:
        raise ValueError(f"{name} must have at most {most:,} characters, it has {len(text):,}")
    # Nearly all texts are printable, and what is printable XML can hold.
    if not text.isprintable() and (wrong := NOT_XML.search(text)):
        raise ValueError(f"{name} must not hold {wrong[0]!r}, a character that XML cannot hold")
    return text


def text(name: str, value: object, most: int | None = None) -> str:
    found = optional_text(name, value, most)
    if not found or found.isspace():
        raise ValueError(f"{name} must not be empty")
    return found


def optional_location(name: str, value: object) -> str:
    """A URL or a path, which is judged where the page's own location is known; a string only."""
    if not isinstance(value, str):
        # Of the class: a file that is not there has no URL and says so by an error.
        hint = ": give its .url" if hasattr(type(value), "url") else ""
        raise ValueError(f"{name} must be a text with a URL or a path, not {shown(value)}{hint}")
    found = optional_text(name, value)
    if not found.isprintable() and _CONTROL.search(found):
        raise ValueError(f"{name} must not hold control characters, as {shown(found)} does")
    return found


def location(name: str, value: object) -> str:
    found = optional_location(name, value)
    if not found or found.isspace():
        raise ValueError(f"{name} must not be empty")
    return found


def moment(name: str, value: object) -> date:
    """A date or a datetime; an aware one has to be one of the years 1 to 9999 in UTC as well."""
    if not isinstance(value, date):
        raise ValueError(f"{name} must be a date or a datetime, not {shown(value)}")
    if isinstance(value, datetime) and value.tzinfo is not None:
        try:
            value.astimezone(timezone.utc)
        except OverflowError as error:
            raise ValueError(f"{name} has no year from 1 to 9999 in UTC: {shown(value)}") from error
    return value


def seconds(name: str, value: object) -> int:
    """Whole seconds; those of a timedelta without their fraction."""
    if isinstance(value, timedelta):
        value = value // timedelta(seconds=1)
    return whole_number(name, value, 1, MAX_DURATION, "seconds as an int, or a timedelta,")


def views(name: str, value: object) -> int:
    return whole_number(name, value, 0, MAX_VIEWS, "an int")


def whole_number(name: str, value: object, least: int, most: int, what: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ValueError(f"{name} must be {what} from {least} to {most}, not {shown(value)}")
    return int(value)


def rating(name: str, value: object) -> Decimal:
    """From 0.0 to 5.0, with the digits that a float is printed with."""
    wrong = f"{name} must be a number from 0.0 to 5.0, not {shown(value)}"
    if not isinstance(value, (int, float, Decimal)) or isinstance(value, bool):
        raise ValueError(wrong)
    # Decimal(0.3) has 54 digits.
    number = Decimal(float.__repr__(value) if isinstance(value, float) else value)
    if not number.is_finite() or not 0 <= number <= 5:
        raise ValueError(wrong)
    digits = number.as_tuple()
    if len(digits.digits) > _RATING_DIGITS or abs(int(digits.exponent)) > _RATING_DIGITS:
        raise ValueError(f"{name} must not have more than {_RATING_DIGITS} digits")
    # Not abs(), which rounds to the digits of the decimal context.
    return number.copy_abs()


def flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be True or False, not {shown(value)}")
    return value


def texts(name: str, value: object, most: int | None = None) -> tuple[str, ...]:
    """Texts in their order; those of a set, which has none, are sorted."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise ValueError(f"{name} must be a list or a tuple of texts, not {shown(value)}")
    some = value if most is None else islice(value, most + 1)
    found = tuple(text(f"each of {name}", each) for each in some)
    if most is not None and len(found) > most:
        raise ValueError(f"{name} must be at most {most}")
    return tuple(sorted(found)) if isinstance(value, (set, frozenset)) else found
