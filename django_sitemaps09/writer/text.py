"""Text that an XML document can hold: columns of it, and what stands before everything else."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from itertools import islice

from django_sitemaps09.entries import NOT_XML, Plain
from django_sitemaps09.exceptions import TextError

# Byte 0 is the declaration's: a line before it makes some parsers find no URL. No BOM either.
DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"}
# A parser reads these as a space or another line end, unless they are written as numbers.
_ENTITIES |= {"\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
_SPECIAL = re.compile(r"[&<>\"'\t\n\r]")
# Printable ASCII that XML takes as it is: all that most columns hold.
_PLAIN = bytes({*range(0x20, 0x7F)} - {*map(ord, _ENTITIES)})


def escaped(column: Sequence[str], keys: Iterable[Hashable]) -> Sequence[str]:
    """A column as XML text. One look at the joined column spares nearly all columns the rest."""
    if isinstance(column, Plain):
        return column
    joined = "".join(column)
    if joined.isascii() and not joined.encode().translate(None, _PLAIN):
        return column
    if NOT_XML.search(joined):
        at = next(i for i, text in enumerate(column) if NOT_XML.search(text))
        key = next(islice(keys, at, None), "of an empty batch")
        raise TextError(f"Item {key}: {column[at]!r} holds a character that XML cannot hold.")
    if not _SPECIAL.search(joined):
        return column
    return [_SPECIAL.sub(lambda match: _ENTITIES[match[0]], text) for text in column]
