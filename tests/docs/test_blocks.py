"""Every fenced block of the documentation is run by a test, or listed with the reason why not."""

from __future__ import annotations

import ast
import re
from collections import Counter
from importlib import import_module

import pytest
from lxml import etree

from tests.docs.features.project import FOUND
from tests.docs.pages import BLOCKS, PAGES, ROOT, Block, blocks
from tests.docs.places import NOT_RUN, RUN
from tests.support.schemas import Schemas


def test_every_block_is_run_or_listed_with_a_reason() -> None:
    found = Counter(block.place for block in BLOCKS)
    for path in (ROOT / "tests" / "docs" / "features").glob("test_*.py"):
        import_module(f"tests.docs.features.{path.stem}")
    snippets = Counter(place for place, _ in FOUND)
    listed = [*RUN.values(), snippets, {place: count for place, (count, _) in NOT_RUN.items()}]
    assert sum(len(places) for places in listed) == len({place for places in listed for place in places})
    assert {place: count for places in listed for place, count in places.items()} == found


@pytest.mark.parametrize("module", RUN)
def test_the_modules_of_the_list_are_there(module: str) -> None:
    path = ROOT / "tests" / "docs" / module
    assert path.is_dir() or path.with_suffix(".py").exists()


@pytest.mark.parametrize("page", PAGES)
def test_every_fence_is_closed_and_names_a_language(page: str) -> None:
    opening = re.findall(r"^ *```(.*)$", PAGES[page], re.MULTILINE)
    assert len(opening) % 2 == 0
    assert all(opening[::2])
    assert not any(opening[1::2])


@pytest.mark.parametrize("snippet", blocks("python"), ids=str)
def test_every_snippet_of_python_compiles(snippet: Block) -> None:
    ast.parse(snippet.text)


@pytest.mark.parametrize("document", blocks("xml"), ids=str)
def test_every_document_shown_is_valid(schema: Schemas, document: Block) -> None:
    schema.assertValid(etree.fromstring(document.text.encode()))


def test_every_xml_document_is_under_a_heading_that_a_test_compares() -> None:
    compared = {place for places in RUN.values() for place in places if place.language == "xml"}
    assert {block.place for block in blocks("xml")} == compared
