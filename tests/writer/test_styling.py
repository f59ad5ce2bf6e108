"""The stylesheet: what it contains, and the bytes that its instruction takes from a page."""

from __future__ import annotations

from typing import Any

from django_sitemaps09.protocol import Limits
from django_sitemaps09.writer import page_format, stylesheet
from tests.support.writing import single, write

INSTRUCTION = b'<?xml-stylesheet type="text/css" href="sitemap.css"?>\n'


def page(limits: Limits | None = None, *, styled: bool) -> tuple[bytes, Any]:
    """Return a page of up to three entries, and its result."""
    batch = single([1, 2, 3], ["/0", "/1", "/2"])
    return write([batch], limits, kind=page_format("xml", styled=styled), base="https://a.example")


def test_the_instruction_counts_for_the_limit_of_bytes() -> None:
    plain, _ = page(styled=False)
    assert page(Limits(9, len(plain)), styled=False)[1].urls == 3
    assert page(Limits(9, len(plain) + len(INSTRUCTION)), styled=True)[1].urls == 3
    document, result = page(Limits(9, len(plain) + len(INSTRUCTION) - 1), styled=True)
    assert (result.urls, result.cut) == (2, 2)
    assert len(document) <= len(plain) + len(INSTRUCTION) - 1


def test_the_stylesheet_needs_nothing_from_elsewhere() -> None:
    text = stylesheet().decode("ascii")
    assert "url(" not in text
    assert "@import" not in text
    assert len(text.splitlines()) <= 80
