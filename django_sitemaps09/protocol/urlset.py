"""The formats of pages, written and read back: a urlset, and a text file with the URLs alone.

Elements are in the order of the XSD: `loc`, `lastmod`, `changefreq`, `priority`, other namespaces. Each
entry is on a line of its own. Locations are absolute URIs, or paths, which are joined to `base`. The XML of
an extension cannot break the document around it: it is parsed, and its elements are written again.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from datetime import date, timezone
from decimal import Decimal
from html import unescape
from itertools import groupby, repeat
from typing import Any, BinaryIO, Literal
from xml.etree import ElementTree
from xml.parsers import expat

from django_sitemaps09.protocol import fields
from django_sitemaps09.protocol.compression import decompress
from django_sitemaps09.protocol.documents import DECLARATION, Format, Parts, add_instruction, escape, items
from django_sitemaps09.protocol.entries import (
    SITEMAP_NAMESPACE,
    Alternate,
    Batch,
    Localization,
    TemplateColumn,
)
from django_sitemaps09.protocol.media import Extension, Image, News, Platform, Restriction, Video
from django_sitemaps09.protocol.urls import join
from django_sitemaps09.protocol.values import w3c

# Maximum length of a line in bytes. The rest of a longer line is skipped.
_MAX_LINE = 1_000_000
_ENTRY = b"<url><loc>"
_STARTS = (_ENTRY, b"http")
#: Limits of one extension's XML for one item: characters, elements plus attributes, and levels of elements,
#: of which no sitemap extension has a tenth. Parsing this takes about a millisecond.
MAX_CHARACTERS, MAX_NODES, MAX_LEVELS = 16_384, 400, 50
_XML_NAMESPACE = "http://www.w3.org/XML/1998/namespace"
# Python has more whitespace characters than XML.
_SPACE = " \t\r\n"


def urlset_head(namespaces: Mapping[str, str]) -> bytes:
    """Return the start of a urlset. Several parsers require the sitemap namespace without a prefix."""
    names = sorted(namespaces)
    uris = escape([namespaces[name] for name in names], names)
    attributes = "".join(f' xmlns:{name}="{uri}"' for name, uri in zip(names, uris, strict=True))
    return f'{DECLARATION}<urlset xmlns="{SITEMAP_NAMESPACE}"{attributes}>\n'.encode()


def url_parts(batch: Batch, base: str) -> Parts:
    """Return the `<url>` elements of all items in parts, each element on a separate line."""
    localizations = batch.listed_localizations
    is_linked = any(localization.language for localization in localizations)
    [escaped_base] = escape([base], batch.keys)
    optional_parts = _optional_parts(batch)
    links, other_elements = _links(batch, base, escaped_base), _other_elements(batch, base)
    parts: list[str | Sequence[str]] = []
    for localization in localizations:
        location_parts = _location_parts(localization, escaped_base, batch.keys)
        entry_parts = ["<url><loc>", *location_parts, "</loc>", *optional_parts]
        # A localization without a language gets no links, since no other localization links to it.
        entry_parts += links if localization.language or not is_linked else []
        entry_parts += [*other_elements, "</url>\n"]
        parts += _blank_missing(localization, entry_parts, len(batch.keys))
    return _merge_literals(parts)


def _blank_missing(localization: Localization, parts: Parts, count: int) -> Parts:
    """Return the parts, or one column with an empty string for each item without the localization."""
    if localization.is_complete:
        return parts
    pairs = zip(localization.locations, items(parts, count), strict=True)
    return [["" if location is None else text for location, text in pairs]]


def _location_parts(localization: Localization, base: str, keys: Sequence[Hashable]) -> Parts:
    """Return the URL of each item in parts."""
    locations = localization.locations
    if not isinstance(locations, TemplateColumn):
        texts = escape([text or "" for text in locations] if None in locations else locations, keys)  # type: ignore[arg-type]
        return [[f"{base}{text}" if text[:1] == "/" else text for text in texts] if base else texts]
    literals = escape(locations.literals, repeat(keys[0]) if keys else ())
    parts: list[str | Sequence[str]] = [f"{base if literals[0][:1] == '/' else ''}{literals[0]}"]
    for column, literal in zip(locations.columns, literals[1:], strict=True):
        parts += [escape(column, keys), literal]
    return parts


def _optional_parts(batch: Batch) -> Parts:
    parts: list[str | Sequence[str]] = []
    columns = {"lastmod": batch.lastmods, "changefreq": batch.changefreqs, "priority": batch.priorities}
    for name, texts in columns.items():
        if texts is None or isinstance(texts, str):
            # A value that all items share becomes part of the literals.
            text = escape([texts], batch.keys)[0] if texts else ""
            parts += [f"<{name}>{text}</{name}>"] if text else []
        elif all(texts):
            parts += [f"<{name}>", escape(texts, batch.keys), f"</{name}>"]  # type: ignore[arg-type]
        else:
            values = escape([text or "" for text in texts], batch.keys)
            parts += [[f"<{name}>{text}</{name}>" if text else "" for text in values]]
    return parts


def _merge_literals(parts: Parts) -> Parts:
    """Merge adjacent literals, so that fewer parts are joined for each item."""
    result: list[str | Sequence[str]] = []
    for is_literal, group in groupby(parts, key=lambda part: isinstance(part, str)):
        adjacent: list[Any] = [*group]
        result += ["".join(adjacent)] if is_literal else adjacent
    return result


def _other_elements(batch: Batch, base: str) -> list[Sequence[str]]:
    """Return columns with the elements from other namespaces, except links."""
    keys = batch.keys
    columns: list[Sequence[str]] = []
    for write, values in ((image_elements, batch.images), (video_elements, batch.videos)):
        if values is not None:
            columns.append(list(map(write, values, repeat(base), keys)))  # type: ignore[arg-type]
    if batch.news is not None:
        pairs = zip(batch.news, keys, strict=True)
        columns.append(["" if news is None else news_element(news, key) for news, key in pairs])
    if batch.foreign is not None:
        columns.append(batch.foreign)
    return columns


def _links(batch: Batch, base: str, escaped_base: str) -> list[Sequence[str]]:
    """Return columns with the `xhtml:link` elements of each item: the same for all its languages."""
    keys = batch.keys
    parts: list[str | Sequence[str]] = []
    for localization in batch.localizations:
        if localization.language:
            [language] = escape([localization.language], keys)
            link_parts = [_LINK.format(language), *_location_parts(localization, escaped_base, keys), '"/>']
            parts += _blank_missing(localization, link_parts, len(keys))
    columns: list[Sequence[str]] = [items(_merge_literals(parts), len(keys))] if parts else []
    if batch.alternates is not None:
        columns.append(list(map(_alternates, batch.alternates, repeat(base), keys)))
    return columns


_LINK = '<xhtml:link rel="alternate" hreflang="{}" href="'


def _alternates(links: Sequence[Alternate], base: str, key: Hashable) -> str:
    texts = escape([text for link in links for text in link], repeat(key))
    urls = (join(base, url) for url in texts[1::2])
    return "".join(f'{_LINK.format(code)}{url}"/>' for code, url in zip(texts[::2], urls, strict=True))


def _lines(batch: Batch, base: str) -> Parts:
    """Return a line for each location: URIs, which have no line endings."""
    parts = []
    for localization in batch.listed_localizations:
        locations = localization.locations
        if isinstance(locations, TemplateColumn):
            first = base if locations.literals[0][:1] == "/" else ""
            parts.append([f"{first}{text}\n" for text in locations.texts()])
        else:
            lines = (f"{base}{text}" if text and text[0] == "/" else text for text in locations)
            parts.append([f"{line}\n" if line else "" for line in lines])
    return parts


#: The urlset format of the protocol.
URLSET = Format(urlset_head, url_parts, b"</urlset>\n")
#: A text file with one URL on each line ("Text file" in the protocol).
TEXT = Format(lambda namespaces: b"", _lines, b"")
#: By the value of `Sitemap.format`.
FORMATS = {"xml": URLSET, "text": TEXT}
# A text file cannot contain a stylesheet instruction.
_STYLED_URLSET = URLSET._replace(head=lambda namespaces: add_instruction(URLSET.head(namespaces)))


def page_format(name: str, *, styled: bool) -> Format:
    """Return the format for a value of `Sitemap.format`. `styled` adds a stylesheet to XML."""
    return _STYLED_URLSET if styled and name == "xml" else FORMATS[name]


def image_elements(images: Sequence[Image], base: str, key: Hashable) -> str:
    if not images:
        return ""
    if not all(image.bare for image in images):
        return "".join([_element("image", Image, image, base, key) for image in images])
    separator = "</image:loc></image:image><image:image><image:loc>"
    texts = separator.join(escape([join(base, image.loc) for image in images], repeat(key)))
    return f"<image:image><image:loc>{texts}</image:loc></image:image>"


def video_elements(videos: Sequence[Video], base: str, key: Hashable) -> str:
    """Return the elements of an entry. Datetimes must be aware."""
    return "".join([_element("video", Video, video, base, key) for video in videos])


def news_element(news: News, key: Hashable) -> str:
    """Return the element of an entry. The language must be valid, and the datetime aware."""
    date_text = w3c(news.publication_date, timezone.utc)
    texts = escape([news.publication_name, news.language, date_text, news.title], repeat(key))
    name, language, published, title = texts
    return (
        f"<news:news><news:publication><news:name>{name}</news:name>"
        f"<news:language>{language}</news:language></news:publication>"
        f"<news:publication_date>{published}</news:publication_date>"
        f"<news:title>{title}</news:title></news:news>"
    )


def _element(prefix: str, kind: type, value: Image | Video, base: str, key: Hashable) -> str:
    """Return an image or a video with an element for each field that is set."""
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
            content = " ".join(content.countries if isinstance(content, Restriction) else content.platforms)
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
    if match := fields.NOT_XML.search(text):
        raise ValueError(f"the XML contains {match[0]!r}, a character that is not allowed")
    # Inside an element, a DTD is a syntax error, so entities cannot be declared. The text begins on a new
    # line for the lines and columns in errors.
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
    """Return an element, without the text after it."""
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


def entry_lines(file: BinaryIO, most: int) -> Iterator[bytes]:
    """Yield the lines with an element `url`, or with a URL in a text file, of the first `most` bytes.

    Raise `zlib.error` or `EOFError` if the file is damaged.
    """
    rest = b""
    for piece in decompress(file, most):
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            if line.startswith(_STARTS):
                yield line[:_MAX_LINE]
        rest = rest[:_MAX_LINE]
    if rest.startswith(_STARTS):
        yield rest


def location_of(line: bytes) -> str:
    """Return the URL of a line from `entry_lines()`."""
    if line.startswith(_ENTRY):
        line = line.removeprefix(_ENTRY).partition(b"</loc>")[0]
        return unescape(line.decode(errors="replace"))
    return line.decode(errors="replace")


def lastmod_of(line: bytes) -> str | None:
    """Return the `lastmod` of a line from `entry_lines()`, if it has one."""
    # The element is one of the first. Others cannot contain it: in values, `<` is escaped.
    start = line.find(b"<lastmod>")
    return None if start < 0 else line[start + 9 : line.find(b"<", start + 9)].decode(errors="replace")


def find_line(file: BinaryIO, most: int, location: str) -> str | None:
    """Return the complete line with the entry of a URL, or `None`."""
    [escaped] = escape([location], ())
    start, text = _ENTRY + f"{escaped}</loc>".encode(), location.encode()
    for line in entry_lines(file, most):
        if line == text or (line.startswith(start) and line.endswith(b"</url>")):
            return line.decode(errors="replace")
    return None
