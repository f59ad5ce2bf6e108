"""Text of an XML document: the declaration, and escaped columns."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from itertools import islice

from django_sitemaps09.entries import NOT_XML, SafeColumn, excerpt, short_repr
from django_sitemaps09.exceptions import TextError

# It begins at byte 0, without a BOM: if a line precedes it, some parsers find no URL.
DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"}
# A parser reads these as a space or another line end, unless they are character references.
_ENTITIES |= {"\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
_SPECIAL = re.compile(r"[&<>\"'\t\n\r]")
# Printable ASCII that needs no escaping: all that most columns contain.
_PLAIN = bytes({*range(0x20, 0x7F)} - {*map(ord, _ENTITIES)})


def escape(column: Sequence[str], keys: Iterable[Hashable]) -> Sequence[str]:
    """Return a column as XML text. For nearly all columns, one check of the joined texts is enough."""
    if isinstance(column, SafeColumn):
        return column
    content = "".join(column)
    if content.isascii() and not content.encode().translate(None, _PLAIN):
        return column
    if NOT_XML.search(content):
        index = next(i for i, text in enumerate(column) if NOT_XML.search(text))
        key = next(islice(keys, index, None), "of an empty batch")
        raise TextError(
            f"Item {excerpt(key)}: {short_repr(column[index])} contains a character that is not allowed in "
            "XML."
        )
    if not _SPECIAL.search(content):
        return column
    return [_SPECIAL.sub(lambda match: _ENTITIES[match[0]], text) for text in column]
