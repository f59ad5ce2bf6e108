"""Text files contain only URLs, one on each line."""

from __future__ import annotations

import pytest
from hypothesis import example, given, strategies as st

from django_sitemaps09.entries import Batch, Localization, TemplateColumn
from django_sitemaps09.protocol import Limits
from django_sitemaps09.writer import TEXT, WriteResult, elements
from tests.support.writing import LINKS, bases, batches_of, entries, single, write

# Text files

lines = st.text(st.characters(exclude_characters="\n", exclude_categories=("Cs",)), min_size=1, max_size=20)


@given(batches_of(lines, lines, lines), bases)
@example(single([1], ["/?a=1&b=<'\">"]), "")
@example(
    Batch(
        [1, 2],
        [Localization("de", ["a", None]), Localization("", TemplateColumn(["/%", "%s"], [["&", "{}"]]))],
    ),
    "b:",
)
def test_a_text_file_is_the_locations_of_the_listed_localizations_a_line_each_and_nothing_else(
    batch: Batch, base: str
) -> None:
    document, written = write([batch], kind=TEXT, base=base, namespaces=LINKS)
    found = [entry.loc for entry in entries(batch, base)]
    assert document == "".join(f"{location}\n" for location in found).encode()
    assert (written.urls, written.bytes) == (len(found), len(document))
    assert "".join(elements(TEXT, batch, base)).encode() == document


@pytest.mark.parametrize(
    "some",
    [[], [single([], [])], [single([], [], lastmods="2026-01-01")]],
    ids=["no batch", "an empty batch", "a constant"],
)
def test_a_text_file_without_entries_is_empty(some: list[Batch]) -> None:
    document, written = write(some, Limits(1, 0), kind=TEXT, base="https://example.com", namespaces=LINKS)
    assert document == b""
    assert written == WriteResult(0, 0, None, None, (), 0)
