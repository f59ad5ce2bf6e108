"""The XML declaration, and escaping for columns of strings."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from itertools import islice

from django_sitemaps09.entries import NOT_XML, SafeColumn, excerpt, short_repr
from django_sitemaps09.exceptions import TextError

# The XML declaration must be at the first byte: after an empty line, some parsers find no URLs.
DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"}
# Written as character references, because parsers normalize them to a space or a line feed otherwise.
_ENTITIES |= {"\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
_SPECIAL = re.compile(r"[&<>\"'\t\n\r]")
# Printable ASCII that needs no escaping. Most columns contain nothing else.
_PLAIN = bytes({*range(0x20, 0x7F)} - {*map(ord, _ENTITIES)})


def escape(column: Sequence[str], keys: Iterable[Hashable]) -> Sequence[str]:
    """Escape a column for XML. For nearly all columns, one check of the joined strings is enough."""
    if isinstance(column, SafeColumn):
        return column
    content = "".join(column)
    if content.isascii() and not content.encode().translate(None, _PLAIN):
        return column
    if NOT_XML.search(content):
        index = next(i for i, text in enumerate(column) if NOT_XML.search(text))
        [subject] = [f"Item {excerpt(key)}:" for key in islice(keys, index, index + 1)] or ["The value"]
        raise TextError(
            f"{subject} {short_repr(column[index])} contains a character that is not allowed in XML."
        )
    if not _SPECIAL.search(content):
        return column
    return [_SPECIAL.sub(lambda match: _ENTITIES[match[0]], text) for text in column]
