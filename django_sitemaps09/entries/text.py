"""The characters that XML cannot contain, and excerpts of values and errors for messages."""

from __future__ import annotations

import re
from datetime import date
from numbers import Number
from reprlib import Repr
from typing import Any

#: Any character that XML 1.0 does not allow, https://www.w3.org/TR/xml/#charsets.
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

#: Maximum length, in characters, of a value, or of an exception's message, in logs, reports and output.
MAX_SHOWN = 200
#: Maximum length, in characters, of a message of this package. Values inside it are already shortened.
MAX_MESSAGE = 1_000
# Maximum length, in characters, of a value inside a message, so that the rest of the message is visible.
_MAX_QUOTED = 100

_REPR = Repr()
_REPR.maxstring = _REPR.maxlong = _REPR.maxother = 2 * _MAX_QUOTED

# The default `repr()` of an object, with its address in memory.
_ADDRESS = re.compile(r"<[^<>]* at 0x[0-9A-Fa-f]+>")

#: Types whose `str()` returns the `repr()`, which can be very long.
NOT_TEXTS = (bytes, bytearray, memoryview, list, tuple, set, frozenset, dict)


def check_text(value: Any) -> Any:
    """Return a string, a number or a date unchanged, and another object as a string.

    Raise `ValueError` for an object whose `str()` is only its `repr()`.
    """
    # Testing a string for an abstract class would take most of the time.
    if type(value) is not str and isinstance(value, (date, Number)):
        return value
    method: Any = type(value).__str__
    is_text = method is not object.__str__ and not isinstance(value, NOT_TEXTS)
    text = value if isinstance(value, str) or not is_text else str(value)
    if not is_text or _ADDRESS.search(text[:MAX_MESSAGE]):
        raise ValueError(f"{short_repr(value)} is neither text nor a number nor a date")
    return text


def excerpt(text: object, most: int = MAX_SHOWN) -> str:
    """Return the `str()` of a value on one line, shortened to `most` characters.

    Unprintable characters, such as terminal control characters, are escaped as in Python.
    """
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


def short_repr(value: object) -> str:
    """Return a value for an error message: a short Python literal, or the first members of a collection."""
    if isinstance(value, (str, bytes, bytearray)):
        # The repr() of a long string is slow.
        value = value[:_MAX_QUOTED]
    try:
        return excerpt(_REPR.repr(value), _MAX_QUOTED)
    except Exception:  # noqa: BLE001 a user's __repr__ can raise anything
        return f"<{type(value).__name__}>"


def reason_of(error: BaseException, most: int = MAX_SHOWN) -> str:
    """Return the class name of an exception, and an `excerpt` of its message."""
    message = excerpt(error, most)
    return message if message == type(error).__name__ else f"{type(error).__name__}: {message}"
