"""Use these to write a document from batches, to parse it strictly, and to validate it with the schemas.

Our own schemas are in `tests/schemas/`. If `shared/schemas/` beside the checkout contains others, a
document must be valid in both. `anything` draws texts that XML cannot hold, or that parsers change.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from hypothesis import strategies as st
from lxml import etree

from tests.support.internals import NAMESPACES, URLSET, Batch, Localization, write_document

OWN = Path(__file__).parents[1] / "schemas" / "all.xsd"
#: Third-party schemas, which are not part of the project.
SHARED = Path(__file__).parents[3] / "shared" / "schemas" / "all.xsd"
#: The namespaces that a document with links declares.
LINKS = {"xhtml": NAMESPACES["xhtml"]}
NOT_XML = tuple(map(chr, (0x0, 0xB, 0x1F, 0xD800, 0xDFFF, 0xFFFE, 0xFFFF)))


def parse(document):
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    return etree.fromstring(document, parser)


def write(batches, limits=None, *, kind=URLSET, base="", namespaces=None):
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


class Schemas:
    """Schemas that must agree on a document."""

    def __init__(self, *files):
        self.each = [etree.XMLSchema(etree.parse(file)) for file in files]

    def assertValid(self, document):
        for schema in self.each:
            schema.assertValid(document)

    def validate(self, document):
        """Return whether the document is valid; fail if the schemas disagree."""
        answers = {schema.validate(document) for schema in self.each}
        assert len(answers) == 1, [str(schema.error_log) for schema in self.each]
        return answers.pop()


@cache
def schemas():
    return Schemas(*(file for file in (OWN, SHARED) if file.exists()))


@pytest.fixture(scope="session")
def schema():
    return schemas()
