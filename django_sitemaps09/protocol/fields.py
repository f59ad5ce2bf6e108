"""Checks for values of entries, and excerpts of values for messages.

Each check of a field returns the value to store or raises `ValueError`. Its `name` is that of the field for
the message, such as `Video.title`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import Field, fields
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from functools import cache, partial
from html import unescape
from itertools import islice
from numbers import Number
from reprlib import Repr
from typing import Any

from django_sitemaps09.protocol.limits import MAX_DURATION, MAX_RAW_LOCATION, MAX_TEXT, MAX_WORDS

#: Any character that XML 1.0 does not allow, https://www.w3.org/TR/xml/#charsets.
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
# The default `repr()` of an object, with its address in memory.
_ADDRESS = re.compile(r"<[^<>]* at 0x[0-9A-Fa-f]+>")
# A reference of XML or HTML. Without the semicolon, as in the query `?a=1&copy=2`, it is text.
_REFERENCE = re.compile(r"&(#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
#: Types whose `str()` returns the `repr()`, which can be very long.
NOT_TEXTS = (bytes, bytearray, memoryview, list, tuple, set, frozenset, dict)

#: Maximum length, in characters, of a value, or of an exception's message, in logs, reports and output.
MAX_SHOWN = 200
#: Maximum length, in characters, of a message of this package. Values inside it are already shortened.
MAX_MESSAGE = 1_000
# Maximum length, in characters, of a value inside a message, so that the rest of the message is visible.
_MAX_QUOTED = 100
_REPR = Repr()
_REPR.maxstring = _REPR.maxlong = _REPR.maxother = 2 * _MAX_QUOTED

# Maximum number of digits in a rating. A decimal such as 1e-9999 would be written as a very long number.
_RATING_DIGITS = 400


def plain_text(value: Any) -> Any:
    """Return the text of a string that is marked as safe for HTML, and any other value unchanged.

    Such a string is escaped already, and documents escape all text. So its references, such as `&amp;`, are
    resolved, and markup inside it becomes text.
    """
    if type(value) is str or not hasattr(type(value), "__html__"):
        return value
    # A lazy string can be marked as safe, too.
    text = value if isinstance(value, str) else str(value)
    is_safe = hasattr(type(text), "__html__")
    return _REFERENCE.sub(lambda match: unescape(match[0]), str.__str__(text)) if is_safe else text


def has_text(value: object) -> bool:
    """Return whether the `str()` of a value, which is not called, is text and not its `repr()`."""
    method: Any = type(value).__str__
    return method is not object.__str__ and not isinstance(value, NOT_TEXTS)


def check_text(value: Any) -> Any:
    """Return a number or a date unchanged, and another object as its `plain_text()`.

    Raise `ValueError` for an object whose `str()` is only its `repr()`.
    """
    # Testing a string for an abstract class would take most of the time.
    if type(value) is not str and isinstance(value, (date, Number)):
        return value
    text = value if isinstance(value, str) else str(value) if has_text(value) else None
    if text is None or _ADDRESS.search(text[:MAX_MESSAGE]):
        raise ValueError(f"{typed_repr(value)} is neither text nor a number nor a date")
    return plain_text(text)


def excerpt(text: object, most: int = MAX_SHOWN) -> str:
    """Return the `str()` of a value on one line, shortened, and with unprintable characters escaped."""
    if type(text) in NOT_TEXTS:
        return short_repr(text)
    try:
        content = str(text)
    except Exception:  # noqa: BLE001 a user's __str__ can raise anything
        content = type(text).__name__
    short_text = content[: most + 1]
    if not short_text.isprintable():
        short_text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in short_text)
    return short_text if len(short_text) <= most else f"{short_text[: most - 3]}..."


def key_excerpt(key: object) -> str:
    """Return the key of an item, shortened like `excerpt()`: `('B', 2026-05-01)` for a composite key.

    The `repr()` of dates is so long that different keys would look alike, and count as one.
    """
    if type(key) is not tuple:
        return excerpt(key)
    return excerpt(f"({', '.join(repr(part) if isinstance(part, str) else str(part) for part in key)})")


def pluralize(count: int, noun: str) -> str:
    """Return "1 page" or "1,234 pages"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def first_names(names: Sequence[str], most: int = 5) -> str:
    """Return names for a sentence, such as "a, b, c, d, e and 295 more"."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def short_repr(value: object) -> str:
    """Return a short Python literal, or the first members of a collection, for an error message."""
    if isinstance(value, (str, bytes, bytearray)):
        # The repr() of a long string is slow.
        value = value[:_MAX_QUOTED]
    try:
        return excerpt(_REPR.repr(value), _MAX_QUOTED)
    except Exception:  # noqa: BLE001 a user's __repr__ can raise anything
        return f"<{type(value).__name__}>"


def typed_repr(
    value: object, represent: Callable[[Any], str] = short_repr, *, expected: type | None = None
) -> str:
    """Return a value with its type for an error message, such as `7 (int)`, unless the type is expected."""
    text, kind = represent(value), type(value).__name__
    is_clear = value is None or type(value) is expected or text.startswith(("<", f"{kind}("))
    return text if is_clear else f"{text} ({kind})"


def reason_of(error: BaseException, most: int = MAX_SHOWN) -> str:
    """Return the class and an `excerpt` of the message of an exception."""
    message = excerpt(error, most)
    return message if message == type(error).__name__ else f"{type(error).__name__}: {message}"


def rule(check: Callable[..., Any], **arguments: Any) -> Mapping[str, Any]:
    """Return the `metadata` of a dataclass field with this check."""
    is_location = check in (location, optional_location)
    return {"check": partial(check, **arguments) if arguments else check, "is_location": is_location}


@cache
def fields_of(kind: type) -> tuple[Field[Any], ...]:
    """Return the fields of our class, since a subclass in a project can redeclare one without its check."""
    return fields(next(base for base in kind.__mro__ if base.__module__.startswith(f"{__package__}.")))


def check_fields(value: object) -> None:
    """Replace the fields of a frozen value object as their checks say. A default of `None` is kept."""
    kind: type = type(value)
    for field in fields_of(kind):
        name, check = field.name, field.metadata.get("check")
        field_value = getattr(value, name)
        if check and (field_value is not None or field.default is not None):
            object.__setattr__(value, name, check(f"{kind.__name__}.{name}", field_value))


def optional_text(name: str, value: object, most: int = MAX_TEXT) -> str:
    """Return a string, or the `str()` of an object that has text, such as a lazy translation."""
    if isinstance(value, str):
        # Not str(value): for an enum member, it returns the name of the member.
        text = value if type(value) is str else str.__str__(plain_text(value))
    elif not has_text(value) or isinstance(value, Number) or callable(value):
        raise ValueError(f"{name} must be text, not {typed_repr(value)}")
    else:
        text = plain_text(str(value))
    if len(text) > most:
        raise ValueError(f"{name} must have at most {most:,} characters, not {len(text):,}")
    # XML can contain all printable characters, so only other strings are searched for invalid ones.
    if not text.isprintable() and (match := NOT_XML.search(text)):
        raise ValueError(f"{name} must not contain {match[0]!r}, which is not allowed in XML")
    return text


def _nonempty(name: str, content: str) -> str:
    if not content or content.isspace():
        raise ValueError(f"{name} must not be empty")
    return content


def text(name: str, value: object, most: int = MAX_TEXT) -> str:
    return _nonempty(name, optional_text(name, value, most))


def optional_location(name: str, value: object) -> str:
    """Return a URL or a path, which is validated later with the allowed hosts."""
    if not isinstance(value, str):
        # Look up `url` on the class, because the property raises an error for an empty file field.
        hint = "; use its .url" if hasattr(type(value), "url") else ""
        raise ValueError(f"{name} must be a string with a URL or a path, not {typed_repr(value)}{hint}")
    content = optional_text(name, value, MAX_RAW_LOCATION)
    if not content.isprintable() and _CONTROL.search(content):
        raise ValueError(f"{name} must not contain control characters: {short_repr(content)}")
    return content


def location(name: str, value: object) -> str:
    return _nonempty(name, optional_location(name, value))


def moment(name: str, value: object) -> date:
    if not isinstance(value, date):
        raise ValueError(f"{name} must be a date or a datetime, not {typed_repr(value)}")
    if isinstance(value, datetime) and value.tzinfo is not None:
        try:
            value.astimezone(timezone.utc)
        except OverflowError as error:
            raise ValueError(
                f"{name} must have a year from 1 to 9999 in UTC: {short_repr(value)}"
            ) from error
    return value


def seconds(name: str, value: object) -> int:
    """Return whole seconds. Fractions of a second are dropped."""
    if isinstance(value, timedelta):
        value = value // timedelta(seconds=1)
    return whole_number(name, value, 1, MAX_DURATION, "a timedelta or a whole number of seconds")


def whole_number(name: str, value: object, least: int, most: int, description: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ValueError(f"{name} must be {description} from {least} to {most}, not {typed_repr(value)}")
    return int(value)


def rating(name: str, value: object) -> Decimal:
    """Return a number from 0.0 to 5.0 as a `Decimal` with the digits of its `repr()`."""
    message = f"{name} must be a number from 0.0 to 5.0, not {typed_repr(value)}"
    if not isinstance(value, (int, float, Decimal)) or isinstance(value, bool):
        raise ValueError(message)
    # Before the conversion, because converting a very long int is slow.
    if isinstance(value, int) and not 0 <= value <= 5:
        raise ValueError(message)
    # Use the repr() of a float, since Decimal(0.3) has 54 digits.
    number = Decimal(float.__repr__(value) if isinstance(value, float) else value)
    if not number.is_finite() or not 0 <= number <= 5:
        raise ValueError(message)
    digits = number.as_tuple()
    if len(digits.digits) > _RATING_DIGITS or abs(int(digits.exponent)) > _RATING_DIGITS:
        raise ValueError(f"{name} must have at most {_RATING_DIGITS} digits")
    # Not abs(), since it rounds to the digits of the decimal context.
    return number.copy_abs()


def flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be True or False, not {typed_repr(value)}")
    return value


def texts(name: str, value: object, most: int = MAX_WORDS) -> tuple[str, ...]:
    """Return strings as a tuple. Sort those of a set."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise ValueError(f"{name} must be a list or a tuple of strings, not {typed_repr(value)}")
    items = tuple(text(f"each value of {name}", item) for item in islice(value, most + 1))
    if len(items) > most:
        raise ValueError(f"{name} must have at most {most} values")
    return tuple(sorted(items)) if isinstance(value, (set, frozenset)) else items
