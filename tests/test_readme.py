"""Laws of the README: what it shows works, and what there is stands in it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from django.core.management import load_command_class
from django.core.management.base import BaseCommand
from lxml import etree

import django_sitemaps09
from django_sitemaps09 import conf, robots
from tests.oracles import Schemas
from tests.readme import README, Block, blocks

ROOT = Path(__file__).parent.parent


def options() -> list[str]:
    parser = load_command_class("django_sitemaps09", "export_sitemaps").create_parser("", "")
    ours = [action for action in parser._actions if action.help and action.dest != "help"]
    common = BaseCommand().create_parser("", "")
    shared = {option for action in common._actions for option in action.option_strings}
    return [option for action in ours for option in action.option_strings if option not in shared]


@pytest.mark.parametrize("key", conf.KEYS)
def test_every_setting_has_its_heading(key: str) -> None:
    assert re.search(rf"^### `{key}: .+ = .+`$", README, re.MULTILINE)


def test_no_heading_names_a_setting_that_there_is_not() -> None:
    assert set(re.findall(r"^### `([A-Z_]+): ", README, re.MULTILINE)) == set(conf.KEYS)


def test_every_option_of_the_command_is_described() -> None:
    assert len(options()) > 5
    assert [option for option in options() if f"`{option}" not in README] == []


@pytest.mark.parametrize("name", django_sitemaps09.__all__)
def test_every_public_name_is_described(name: str) -> None:
    assert name in README


@pytest.mark.parametrize("snippet", blocks("python"))
def test_every_snippet_of_python_compiles(snippet: Block) -> None:
    ast.parse(snippet.text)


@pytest.mark.parametrize("document", blocks("xml"))
def test_every_document_shown_is_valid(schema: Schemas, document: Block) -> None:
    schema.assertValid(etree.fromstring(document.text.encode()))


def test_the_block_shown_is_the_block_written() -> None:
    written = robots.update(None, ["https://www.example.com/sitemap.xml"]).decode()
    assert f"```\n{written}```" in README


def test_the_commands_of_the_set_up_are_two_lines() -> None:
    first, second = (line for line in README.splitlines() if line.startswith("python3 -m venv"))
    assert first.endswith("manage.py demo")
    assert second.endswith("-m pytest -n auto")


def test_every_deviation_from_contrib_has_a_test() -> None:
    numbers = re.findall(r"^(\d+)\. ", README.partition("### Deviations")[2], re.MULTILINE)
    assert numbers == [str(number) for number in range(1, len(numbers) + 1)]
    assert numbers
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").glob("test_*.py"))
    tested = set(re.findall(r"Deviation (\d+)\b", tests))
    assert set(numbers) <= tested
