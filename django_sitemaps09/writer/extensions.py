"""Rewrite the XML of a project's extension, so it cannot break the document around it.

The XML of the project is never copied. It is parsed, and its elements are written again.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from xml.parsers import expat

from django_sitemaps09.entries import NOT_XML, Extension
from django_sitemaps09.protocol import SITEMAP_NAMESPACE
from django_sitemaps09.writer.text import escape

#: Maximum number of levels of nested elements: more than ten times as many as in any sitemap extension.
MAX_LEVELS = 50
#: Limits of one extension's XML for one item: characters, and elements plus attributes. Parsing XML of
#: this size takes about a millisecond.
MAX_CHARACTERS = 16_384
MAX_NODES = 400

_XML_NAMESPACE = "http://www.w3.org/XML/1998/namespace"
_XML_ATTRIBUTES = {"lang", "space"}
# The whitespace characters of XML. Python has more such characters.
_SPACE = " \t\r\n"


def extension_text(extension: Extension, text: str) -> str:
    """Rewrite the elements in a string of XML with the prefix of the extension.

    Comments are dropped, and CDATA becomes text. Raise `ValueError` for XML that is not well-formed or too
    large, other namespaces, text outside of elements, a DTD, and processing instructions.
    """
    if not isinstance(text, str):
        raise ValueError(f"the XML must be a string, not {type(text).__name__}")
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"the XML has {len(text):,} characters; at most {MAX_CHARACTERS:,} are allowed")
    if match := NOT_XML.search(text):
        raise ValueError(f"the XML contains {match[0]!r}, a character that is not allowed")
    return _Rewriter(extension).text(text)


class _Rewriter:
    """The event handlers of one parser, and the pieces of XML that they produce."""

    def __init__(self, extension: Extension) -> None:
        self._extension = extension
        self._pieces: list[str] = []
        # Names of the open elements. The outermost element is our wrapper, and is not written.
        self._open: list[str] = []
        self._empty = False
        self._nodes = 0

    def text(self, text: str) -> str:
        extension = self._extension
        # A space separates namespace and name, since no name contains a space.
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.ordered_attributes = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.ProcessingInstructionHandler = self._instruction
        # Inside an element, a DTD is a syntax error, so entities cannot be declared. The text begins on
        # a new line, so the lines and columns in errors are correct.
        [namespace] = _escape_texts([extension.namespace])
        start_tag = f'<url xmlns="{SITEMAP_NAMESPACE}" xmlns:{extension.prefix}="{namespace}">\n'
        try:
            parser.Parse(f"{start_tag}{text}</url>", True)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code).replace(
                "not well-formed (invalid token)", "invalid token"
            )
            place = f"line {error.lineno - 1}, column {error.offset + 1}"
            raise ValueError(f"the XML is not well-formed: {reason} at {place}") from error
        return "".join(self._pieces)

    def _start(self, name: str, attributes: Sequence[str]) -> None:
        if not self._open:
            self._open.append(name)
            return
        self._nodes += 1 + len(attributes) // 2
        if self._nodes > MAX_NODES:
            raise ValueError(f"the XML has more than {MAX_NODES} elements and attributes")
        if len(self._open) > MAX_LEVELS:
            raise ValueError(f"the XML has more than {MAX_LEVELS} levels of nested elements")
        namespace, _, local = name.rpartition(" ")
        if namespace != self._extension.namespace:
            raise ValueError(f"the element {_describe_name(name)} is not in the namespace of the extension")
        tag = f"{self._extension.prefix}:{local}"
        names = map(self._attribute, attributes[::2])
        values = _escape_texts(attributes[1::2])
        pairs = [f' {name}="{value}"' for name, value in zip(names, values, strict=True)]
        self._pieces.append(f"<{tag}{''.join(pairs)}>")
        self._open.append(tag)
        self._empty = True

    def _attribute(self, name: str) -> str:
        namespace, _, local = name.rpartition(" ")
        if not namespace:
            return local
        if namespace == self._extension.namespace:
            return f"{self._extension.prefix}:{local}"
        if namespace == _XML_NAMESPACE and local in _XML_ATTRIBUTES:
            return f"xml:{local}"
        raise ValueError(f"the attribute {_describe_name(name)} is not in the namespace of the extension")

    def _end(self, _name: str) -> None:
        tag = self._open.pop()
        if not self._open:
            return
        if self._empty:
            self._pieces[-1] = f"{self._pieces[-1][:-1]}/>"
        else:
            self._pieces.append(f"</{tag}>")
        self._empty = False

    def _characters(self, text: str) -> None:
        if len(self._open) > 1:
            self._pieces += _escape_texts([text])
            self._empty = False
        elif text.strip(_SPACE):
            raise ValueError(f"the XML has text outside of elements: {text.strip(_SPACE)[:50]!r}")

    def _instruction(self, target: str, _data: str) -> None:
        raise ValueError(f"the XML has a processing instruction: {target[:50]}")


def _escape_texts(texts: Sequence[str]) -> Sequence[str]:
    return escape(texts, repeat("of an extension"))


def _describe_name(name: str) -> str:
    namespace, _, local = name.rpartition(" ")
    return f"{local} of {namespace}" if namespace else f"{local} without a namespace"
