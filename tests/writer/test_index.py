"""Indexes: a reader finds every entry that was written."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, example, given, strategies as st

from django_sitemaps09.entries import IndexEntry
from django_sitemaps09.exceptions import TextError
from django_sitemaps09.protocol import SITEMAP_NAMESPACE
from django_sitemaps09.writer import index_document
from tests.support.writing import DECLARATION, anything, is_xml, parse, tag, writable

# The index


@given(st.lists(st.builds(IndexEntry, writable, st.none() | writable.filter(bool)), max_size=4))
@example([IndexEntry("a\r\n\t&<>\"'", "\r")])
def test_an_index_is_read_again_as_it_was(some: list[IndexEntry]) -> None:
    document = index_document(some)
    root = parse(document)
    assert document.startswith(DECLARATION)
    assert root.tag == tag("sitemapindex")
    assert root.nsmap == {None: SITEMAP_NAMESPACE}
    assert all(child.tag == tag("sitemap") for child in root)
    assert [[(part.tag, part.text or "") for part in child] for child in root] == [
        [(tag("loc"), entry.location), *([(tag("lastmod"), entry.lastmod)] if entry.lastmod else [])]
        for entry in some
    ]


@given(location=anything, lastmod=anything)
def test_an_index_refuses_what_xml_cannot_hold_and_names_the_file(location: str, lastmod: str) -> None:
    assume(not is_xml(location + lastmod))
    with pytest.raises(TextError) as raised:
        index_document([IndexEntry("fine", None), IndexEntry(f"file-{location}", lastmod)])
    assert "file-" in str(raised.value)


def test_an_index_is_valid_by_the_schema(schema: Any) -> None:
    url = "https://example.com/?a=1&b='c'"
    lastmods = (None, "2026-01-31", "2026-01-31T10:30:00Z")
    schema.assertValid(parse(index_document([IndexEntry(url, lastmod) for lastmod in lastmods])))
