"""Text from outside: the characters that XML can contain, and the excerpts that messages show."""

from __future__ import annotations

import re
from reprlib import Repr

#: The complement of XML 1.0's Char, https://www.w3.org/TR/xml/#charsets.
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

#: Characters of one value, or of the message of one exception, in a log line, a report or on a terminal.
MAX_SHOWN = 200
#: Characters of a message by this package, in which each value is already shortened.
MAX_MESSAGE = 1_000
# Characters of a value within an exception's message, so that the rest of the message is visible, too.
_MAX_QUOTED = 100

_REPR = Repr()
_REPR.maxstring = _REPR.maxlong = _REPR.maxother = 2 * _MAX_QUOTED

#: Types whose `str()` is their `repr()`, whatever its length.
NOT_TEXTS = (bytes, bytearray, memoryview, list, tuple, set, frozenset, dict)


def excerpt(text: object, most: int = MAX_SHOWN) -> str:
    """Return a text on one line, without escape sequences, cut to `most` characters.

    Characters that are not printable are escaped as in a Python literal. Other objects, such as an
    exception, are converted by `str()`.
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
        # The repr() of all of it could take long.
        value = value[:_MAX_QUOTED]
    try:
        return excerpt(_REPR.repr(value), _MAX_QUOTED)
    except Exception:  # noqa: BLE001 a user's __repr__ can raise anything
        return f"<{type(value).__name__}>"


def reason_of(error: BaseException, most: int = MAX_SHOWN) -> str:
    """Return the class of an exception, with an `excerpt` of its message."""
    message = excerpt(error, most)
    return message if message == type(error).__name__ else f"{type(error).__name__}: {message}"
