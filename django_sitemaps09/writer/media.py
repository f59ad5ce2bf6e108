"""Write the elements of other namespaces in an entry: images, videos, news, and a project's extensions.

Locations are absolute URIs, or strings that `join()` joins to `base`. `key` identifies the item in a
`TextError`. The XML of an extension is never copied, so it cannot break the document around it: it is
parsed, and its elements are written again.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from datetime import date, timezone
from decimal import Decimal
from itertools import repeat
from operator import attrgetter
from xml.parsers import expat

from django_sitemaps09.entries import (
    NOT_XML,
    Extension,
    Image,
    News,
    Platform,
    Restriction,
    Video,
    field_rules,
)
from django_sitemaps09.protocol import SITEMAP_NAMESPACE, join, w3c
from django_sitemaps09.writer.document import escape

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

_is_bare = attrgetter("bare")


def image_elements(images: Sequence[Image], base: str, key: Hashable) -> str:
    """Return the `image:image` elements of an entry."""
    if not images:
        return ""
    if not all(map(_is_bare, images)):
        return "".join([_element("image", Image, image, base, key) for image in images])
    separator = "</image:loc></image:image><image:image><image:loc>"
    texts = separator.join(escape([join(base, image.loc) for image in images], repeat(key)))
    return f"<image:image><image:loc>{texts}</image:loc></image:image>"


def video_elements(videos: Sequence[Video], base: str, key: Hashable) -> str:
    """Return the `video:video` elements of an entry. Datetimes must be aware."""
    return "".join([_element("video", Video, video, base, key) for video in videos])


def news_element(news: News, key: Hashable) -> str:
    """Return the `news:news` element of an entry. The language must be valid, and the datetime aware."""
    date_text = w3c(news.publication_date, timezone.utc)
    texts = escape([news.publication_name, news.language, date_text, news.title], repeat(key))
    name, language, publication_date, title = texts
    return (
        f"<news:news><news:publication><news:name>{name}</news:name>"
        f"<news:language>{language}</news:language></news:publication>"
        f"<news:publication_date>{publication_date}</news:publication_date>"
        f"<news:title>{title}</news:title></news:news>"
    )


def _element(prefix: str, kind: type, value: Image | Video, base: str, key: Hashable) -> str:
    """Return an image or a video with an element for each field of its class that is set."""
    names: list[str] = []
    texts: list[str] = []
    attributes: dict[str, str] = {}
    for name, _, _, is_location in field_rules(kind):
        content = getattr(value, name)
        if content is None or content == "":
            continue
        if isinstance(content, tuple):
            names += ["tag"] * len(content)
            texts += content
            continue
        if isinstance(content, (Restriction, Platform)):
            # The words are already checked and need no escaping.
            attributes[name] = f' relationship="{content.relationship}"'
            words = content.countries if isinstance(content, Restriction) else content.platforms
            content = " ".join(words)
        names.append(name)
        texts.append(join(base, content) if is_location else _text(content))
    # Escaping all strings together is faster than one by one.
    texts = [*escape(texts, repeat(key))]
    if "uploader_info" in names:
        place = names.index("uploader_info")
        attributes["uploader"] = f' info="{texts.pop(place)}"'
        del names[place]
    children = [
        f"<{prefix}:{name}{attributes.get(name, '')}>{text}</{prefix}:{name}>"
        for name, text in zip(names, texts, strict=True)
    ]
    return f"<{prefix}:{prefix}>{''.join(children)}</{prefix}:{prefix}>"


def _text(value: str | date | int | Decimal) -> str:
    """Return a value of a field as text. Numbers have no exponent."""
    if isinstance(value, str):
        return value
    if isinstance(value, date):
        return w3c(value, timezone.utc)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return format(value, "d" if isinstance(value, int) else "f")


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
        tag = self._prefixed("element", name)
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
        if namespace == _XML_NAMESPACE and local in _XML_ATTRIBUTES:
            return f"xml:{local}"
        return self._prefixed("attribute", name)

    def _prefixed(self, kind: str, name: str) -> str:
        namespace, _, local = name.rpartition(" ")
        if namespace != self._extension.namespace:
            description = f"{local} of {namespace}" if namespace else f"{local} without a namespace"
            raise ValueError(f"the {kind} {description} is not in the namespace of the extension")
        return f"{self._extension.prefix}:{local}"

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
