"""The formats of pages, written and read back: a urlset, and a text file with the URLs alone.

Elements are in the order of the XSD: `loc`, `lastmod`, `changefreq`, `priority`, other namespaces. Each
entry is on a line of its own.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from html import unescape
from itertools import groupby, repeat
from typing import Any, BinaryIO

from django_sitemaps09.protocol.batches import Alternate, Batch, Localization, TemplateColumn
from django_sitemaps09.protocol.compression import decompress
from django_sitemaps09.protocol.documents import DECLARATION, Format, Parts, add_instruction, escape, items
from django_sitemaps09.protocol.limits import SITEMAP_NAMESPACE
from django_sitemaps09.protocol.media_elements import image_elements, news_element, video_elements
from django_sitemaps09.protocol.urls import join

# Maximum length of a line in bytes. The rest of a longer line is skipped.
_MAX_LINE = 1_000_000
_ENTRY, _END = b"<url><loc>", b"</url>"
_STARTS = (_ENTRY, b"http")


def urlset_head(namespaces: Mapping[str, str]) -> bytes:
    """Return the start of a urlset. Several parsers require the sitemap namespace without a prefix."""
    names = sorted(namespaces)
    uris = escape([namespaces[name] for name in names], names)
    attributes = "".join(f' xmlns:{name}="{uri}"' for name, uri in zip(names, uris, strict=True))
    return f'{DECLARATION}<urlset xmlns="{SITEMAP_NAMESPACE}"{attributes}>\n'.encode()


def url_parts(batch: Batch, base: str) -> Parts:
    """Return the `<url>` elements of all items in parts, each element on a separate line."""
    optional_parts = _optional_parts(batch)
    links, other_elements = _links(batch, base), _other_elements(batch, base)
    is_linked = any(localization.language for localization in batch.listed_localizations)
    [base] = escape([base], batch.keys)
    parts: list[str | Sequence[str]] = []
    for localization in batch.listed_localizations:
        location_parts = _location_parts(localization, base, batch.keys)
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
    """Return the URL of each item in parts. Paths are joined to the base."""
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
    """Merge adjacent literals, so fewer parts must be joined for each item."""
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


def _links(batch: Batch, base: str) -> list[Sequence[str]]:
    """Return the `xhtml:link` elements of each item: the same complete set for all its languages."""
    keys = batch.keys
    columns: list[Sequence[str]] = []
    parts: list[str | Sequence[str]] = []
    [escaped_base] = escape([base], keys)
    for localization in batch.localizations:
        if localization.language:
            [language] = escape([localization.language], keys)
            link_parts = [_LINK.format(language), *_location_parts(localization, escaped_base, keys), '"/>']
            parts += _blank_missing(localization, link_parts, len(keys))
    if parts:
        columns.append(items(_merge_literals(parts), len(keys)))
    if batch.alternates is not None:
        columns.append(list(map(_alternates, batch.alternates, repeat(base), keys)))
    return columns


_LINK = '<xhtml:link rel="alternate" hreflang="{}" href="'


def _alternates(links: Sequence[Alternate], base: str, key: Hashable) -> str:
    texts = escape([text for link in links for text in link], repeat(key))
    urls = (join(base, url) for url in texts[1::2])
    return "".join(f'{_LINK.format(code)}{url}"/>' for code, url in zip(texts[::2], urls, strict=True))


def _lines(batch: Batch, base: str) -> Parts:
    """Return a line for each location. Locations are URIs and never contain line endings."""
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
#: The format of pages for each value of `Sitemap.format`.
FORMATS = {"xml": URLSET, "text": TEXT}
# A text file cannot contain a stylesheet instruction.
_STYLED_URLSET = URLSET._replace(head=lambda namespaces: add_instruction(URLSET.head(namespaces)))


def page_format(name: str, *, styled: bool) -> Format:
    """Return the format of pages for a value of `Sitemap.format`. `styled` adds a stylesheet to XML."""
    return _STYLED_URLSET if styled and name == "xml" else FORMATS[name]


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


def find_line(file: BinaryIO, most: int, location: str) -> str | None:
    """Return the complete line with the entry of a URL, or `None`."""
    [escaped] = escape([location], ())
    start, text = _ENTRY + f"{escaped}</loc>".encode(), location.encode()
    for line in entry_lines(file, most):
        if line == text or (line.startswith(start) and line.endswith(_END)):
            return line.decode(errors="replace")
    return None
