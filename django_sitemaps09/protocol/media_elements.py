"""Write the elements of other namespaces in an entry: images, videos, news, and a project's extensions.

Locations are absolute URIs, or paths, which are joined to `base`. `key` identifies the item in a
`TextError`. The XML of an extension is never copied, so it cannot break the document around it: it is
parsed, and its elements are written again.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from datetime import date, timezone
from decimal import Decimal
from itertools import repeat
from typing import Literal
from xml.etree import ElementTree
from xml.parsers import expat

from django_sitemaps09.protocol import fields
from django_sitemaps09.protocol.documents import escape
from django_sitemaps09.protocol.fields import NOT_XML
from django_sitemaps09.protocol.limits import SITEMAP_NAMESPACE
from django_sitemaps09.protocol.media import Extension, Image, News, Platform, Restriction, Video
from django_sitemaps09.protocol.urls import join
from django_sitemaps09.protocol.values import w3c

#: Maximum number of levels of nested elements: more than ten times as many as in any sitemap extension.
MAX_LEVELS = 50
#: Limits of one extension's XML for one item: characters, and elements plus attributes. Parsing XML of
#: this size takes about a millisecond.
MAX_CHARACTERS = 16_384
MAX_NODES = 400

_XML_NAMESPACE = "http://www.w3.org/XML/1998/namespace"
# The whitespace characters of XML. Python has more such characters.
_SPACE = " \t\r\n"


def image_elements(images: Sequence[Image], base: str, key: Hashable) -> str:
    """Return the `image:image` elements of an entry."""
    if not images:
        return ""
    if not all(image.bare for image in images):
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
    for field in fields.fields_of(kind):
        name, content = field.name, getattr(value, field.name)
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
        texts.append(join(base, content) if field.metadata["is_location"] else _text(content))
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
    # Inside an element, a DTD is a syntax error, so entities cannot be declared. The text begins on a new
    # line, so the lines and columns in errors are correct.
    [namespace] = _escape_texts([extension.namespace])
    start_tag = f'<url xmlns="{SITEMAP_NAMESPACE}" xmlns:{extension.prefix}="{namespace}">\n'
    parser = ElementTree.XMLParser(target=ElementTree.TreeBuilder(insert_pis=True))  # noqa: S314
    try:
        parser.feed(f"{start_tag}{text}</url>")
        wrapper = parser.close()
    except ElementTree.ParseError as error:
        reason = expat.ErrorString(error.code).replace("not well-formed (invalid token)", "invalid token")
        line, column = error.position
        place = f"line {line - 1}, column {column + 1}"
        raise ValueError(f"the XML is not well-formed: {reason} at {place}") from error
    # The wrapper itself is not counted.
    if sum(1 + len(element.attrib) for element in wrapper.iter()) - 1 > MAX_NODES:
        raise ValueError(f"the XML has more than {MAX_NODES} elements and attributes")
    for between in (wrapper.text, *(element.tail for element in wrapper)):
        if outside := (between or "").strip(_SPACE):
            raise ValueError(f"the XML has text outside of elements: {outside[:50]!r}")
    return "".join([_rewritten(element, extension, 1) for element in wrapper])


def _rewritten(element: ElementTree.Element, extension: Extension, level: int) -> str:
    """Return an element with the prefix of the extension, without the text after it."""
    if level > MAX_LEVELS:
        raise ValueError(f"the XML has more than {MAX_LEVELS} levels of nested elements")
    if element.tag is ElementTree.PI:  # type: ignore[comparison-overlap]
        raise ValueError(f"the XML has a processing instruction: {(element.text or '').split()[0][:50]}")
    tag = _prefixed("element", element.tag, extension)
    names = [_prefixed("attribute", name, extension) for name in element.attrib]
    values = _escape_texts([*element.attrib.values()])
    attributes = "".join([f' {name}="{value}"' for name, value in zip(names, values, strict=True)])
    content, *tails = _escape_texts([element.text or "", *[child.tail or "" for child in element]])
    for child, tail in zip(element, tails, strict=True):
        content += _rewritten(child, extension, level + 1) + tail
    return f"<{tag}{attributes}>{content}</{tag}>" if content else f"<{tag}{attributes}/>"


def _prefixed(kind: Literal["element", "attribute"], name: str, extension: Extension) -> str:
    namespace, _, local = name.removeprefix("{").rpartition("}")
    if namespace == extension.namespace:
        return f"{extension.prefix}:{local}"
    if kind == "attribute" and not namespace:
        return local
    if kind == "attribute" and namespace == _XML_NAMESPACE and local in ("lang", "space"):
        return f"xml:{local}"
    description = f"{local} of {namespace}" if namespace else f"{local} without a namespace"
    raise ValueError(f"the {kind} {description} is not in the namespace of the extension")


def _escape_texts(texts: Sequence[str]) -> Sequence[str]:
    return escape(texts, repeat("of an extension"))
