"""The stylesheet: its instruction in XML, none in text, and documents that are otherwise the same."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from django_sitemaps09.entries import IndexEntry
from django_sitemaps09.protocol import Limits
from django_sitemaps09.writer import (
    FORMATS,
    TEXT,
    URLSET,
    index_document,
    page_format,
    stylesheet,
    urlset_head,
)
from django_sitemaps09.writer.document import read_index
from tests.support.writing import DECLARATION, lastmod_texts, parse, single, uris, write_all

HEAD = DECLARATION + b"\n"
INSTRUCTION = b'<?xml-stylesheet type="text/css" href="sitemap.css"?>\n'


def page(name: str, count: int, limits: Limits | None = None, *, styled: bool) -> tuple[bytes, Any]:
    """Return a page of up to `count` entries, and its result."""
    batch = single(range(1, count + 1), [f"/{number}" for number in range(count)])
    [written] = write_all(page_format(name, styled=styled), [batch], ["https://a.example"], limits)
    return written


@given(st.lists(st.builds(IndexEntry, uris, st.none() | lastmod_texts), max_size=3))
def test_an_index_differs_only_by_the_instruction_after_the_declaration(some: list[IndexEntry]) -> None:
    plain = index_document(some)
    styled = index_document(some, styled=True)
    assert styled == HEAD + INSTRUCTION + plain.removeprefix(HEAD)
    assert read_index(styled) == read_index(plain)


def test_a_page_differs_only_by_the_instruction_after_the_declaration(schema: Any) -> None:
    (plain, _), (styled, result) = page("xml", 3, styled=False), page("xml", 3, styled=True)
    assert styled == HEAD + INSTRUCTION + plain.removeprefix(HEAD)
    assert result.bytes == len(styled) == len(plain) + len(INSTRUCTION)
    schema.assertValid(parse(styled))


def test_the_instruction_counts_for_the_limit_of_bytes() -> None:
    plain, _ = page("xml", 3, styled=False)
    assert page("xml", 3, Limits(9, len(plain)), styled=False)[1].urls == 3
    assert page("xml", 3, Limits(9, len(plain) + len(INSTRUCTION)), styled=True)[1].urls == 3
    document, result = page("xml", 3, Limits(9, len(plain) + len(INSTRUCTION) - 1), styled=True)
    assert (result.urls, result.cut) == (2, 2)
    assert len(document) <= len(plain) + len(INSTRUCTION) - 1


def test_text_has_no_instruction() -> None:
    assert page_format("text", styled=True) is TEXT
    assert page("text", 3, styled=True) == page("text", 3, styled=False)


@pytest.mark.parametrize("name", FORMATS)
def test_without_a_stylesheet_a_format_is_what_it_was(name: str) -> None:
    assert page_format(name, styled=False) is FORMATS[name]


def test_the_compatibility_views_have_heads_without_it() -> None:
    assert URLSET.head({}) == urlset_head({})
    assert b"xml-stylesheet" not in urlset_head({})


def test_the_stylesheet_needs_nothing_from_elsewhere() -> None:
    text = stylesheet().decode("ascii")
    assert "url(" not in text
    assert "@import" not in text
    assert len(text.splitlines()) <= 80
