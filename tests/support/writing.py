"""Documents that are written from batches, and texts that XML cannot hold."""

from __future__ import annotations

from hypothesis import strategies as st
from lxml import etree

from django_sitemaps09.entries import NAMESPACES, Batch, Localization
from django_sitemaps09.writer import URLSET, write_document

#: The namespaces that a document with links declares.
LINKS = {"xhtml": NAMESPACES["xhtml"]}
NOT_XML = tuple(map(chr, (0x0, 0xB, 0x1F, 0xD800, 0xDFFF, 0xFFFE, 0xFFFF)))


def parse(document):
    """Return the root, parsed as strictly as untrusted files."""
    return etree.fromstring(
        document, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    )


def write(batches, limits=None, *, kind=URLSET, base="", namespaces=None):
    """Return a document and its result."""
    chunks = []
    written = write_document(kind, batches, chunks.append, base, limits, namespaces)
    return b"".join(chunks), written


def single(keys, locations, **columns):
    """Build items with one location each, without languages."""
    return Batch(keys, [Localization("", locations)], **columns)


#: Characters that break XML or are changed by parsers, drawn more often than others.
awkward = st.sampled_from(
    [
        *("&", "<", ">", '"', "'", "\t", "\n", "\r", "\r\n", "]]>", "<!--", "&amp;", "&#0;", "<![CDATA["),
        *("%", "#", "?", "/", "@", "\x85", "\u2028", "\ufeff", "\U0001fffe", "e\u0301", "😀", *NOT_XML),
    ]
)
anything = st.lists(awkward | st.characters(exclude_categories=()), max_size=6).map("".join)
