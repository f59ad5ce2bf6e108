"""XML that a project brings itself, written anew so that it cannot break the document around it.

Nothing of the given text is copied: it is parsed, and its elements are composed from what was read.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from xml.parsers import expat

from django_sitemaps09.entries import NOT_XML, Extension
from django_sitemaps09.protocol import SITEMAP_NAMESPACE
from django_sitemaps09.writer.text import escaped

#: Elements within elements; no extension of a sitemap has a tenth of it.
MAX_LEVELS = 50

_XML_NAMESPACE = "http://www.w3.org/XML/1998/namespace"
_XML_ATTRIBUTES = {"lang", "space"}
# White space as XML has it, which is less than what Python takes for it.
_SPACE = " \t\r\n"


def extension_text(extension: Extension, text: str) -> str:
    """The elements of a text on one line, all of them with the extension's prefix.

    `ValueError` for what is not well-formed, belongs to another namespace, or is text outside of
    elements. Comments are dropped; CDATA becomes text; neither a DTD nor a PI can stand here.
    """
    if not isinstance(text, str):
        raise ValueError(f"is no text but {type(text).__name__}")
    if wrong := NOT_XML.search(text):
        raise ValueError(f"holds {wrong[0]!r}, a character that XML cannot hold")
    return _Rewriting(extension).text(text)


class _Rewriting:
    """The events of one parser, and the pieces of XML that they come to."""

    def __init__(self, extension: Extension) -> None:
        self._extension = extension
        self._pieces: list[str] = []
        # Names of the elements that are open; the one around all is not ours to write.
        self._open: list[str] = []
        self._empty = False

    def text(self, text: str) -> str:
        extension = self._extension
        # A space parts namespace and name: no name has one.
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.ordered_attributes = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.ProcessingInstructionHandler = self._instruction
        # Within an element there cannot be a DTD, so that no entity can be declared either. The text
        # begins a line, for places that can be told.
        [namespace] = _escaped([extension.namespace])
        around = f'<url xmlns="{SITEMAP_NAMESPACE}" xmlns:{extension.prefix}="{namespace}">\n'
        try:
            parser.Parse(f"{around}{text}</url>", True)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code).replace(
                "not well-formed (invalid token)", "invalid token"
            )
            place = f"line {error.lineno - 1}, column {error.offset + 1}"
            raise ValueError(f"is not well-formed: {reason} at {place}") from error
        return "".join(self._pieces)

    def _start(self, name: str, attributes: Sequence[str]) -> None:
        if not self._open:
            self._open.append(name)
            return
        if len(self._open) > MAX_LEVELS:
            raise ValueError(f"has more than {MAX_LEVELS} elements within each other")
        namespace, _, local = name.rpartition(" ")
        if namespace != self._extension.namespace:
            raise ValueError(f"has an element {_called(name)}, which is not of its namespace")
        ours = f"{self._extension.prefix}:{local}"
        names = map(self._attribute, attributes[::2])
        values = _escaped(attributes[1::2])
        pairs = [f' {name}="{value}"' for name, value in zip(names, values, strict=True)]
        self._pieces.append(f"<{ours}{''.join(pairs)}>")
        self._open.append(ours)
        self._empty = True

    def _attribute(self, name: str) -> str:
        namespace, _, local = name.rpartition(" ")
        if not namespace:
            return local
        if namespace == self._extension.namespace:
            return f"{self._extension.prefix}:{local}"
        if namespace == _XML_NAMESPACE and local in _XML_ATTRIBUTES:
            return f"xml:{local}"
        raise ValueError(f"has an attribute {_called(name)}, which is not of its namespace")

    def _end(self, _name: str) -> None:
        ours = self._open.pop()
        if not self._open:
            return
        if self._empty:
            self._pieces[-1] = f"{self._pieces[-1][:-1]}/>"
        else:
            self._pieces.append(f"</{ours}>")
        self._empty = False

    def _characters(self, text: str) -> None:
        if len(self._open) > 1:
            self._pieces += _escaped([text])
            self._empty = False
        elif text.strip(_SPACE):
            raise ValueError(f"has text outside of elements: {text.strip(_SPACE)[:50]!r}")

    def _instruction(self, target: str, _data: str) -> None:
        raise ValueError(f"has a processing instruction: {target[:50]}")


def _escaped(texts: Sequence[str]) -> Sequence[str]:
    return escaped(texts, repeat("of an extension"))


def _called(name: str) -> str:
    namespace, _, local = name.rpartition(" ")
    return f"{local} of {namespace}" if namespace else f"{local} without a namespace"
