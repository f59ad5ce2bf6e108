"""Commands in the documentation: `manage.py` accepts them with their options."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import pytest
from django.core.management import get_commands, load_command_class

from tests.docs.pages import PAGES
from tests.docs.places import RUN

_COMMAND = re.compile(r"\bmanage\.py +(\w+.*)")


def commands() -> Iterator[tuple[str, str]]:
    """Yield the page and the arguments of each command, in blocks and in the text."""
    for page, text in PAGES.items():
        joined = text.replace("\\\n", " ")
        for code in re.findall(r"`([^`\n]*manage\.py [^`\n]+)`", joined):
            yield page, code
        for block in re.findall(r"^```(?:sh|text)\n(.*?)^```", joined, re.MULTILINE | re.DOTALL):
            for line in block.splitlines():
                if not line.startswith("#") and "manage.py" in line:
                    yield page, line


COMMANDS = [*dict.fromkeys(commands())]


def test_commands_of_every_listed_place_are_found() -> None:
    pages = {place.page for place in RUN["test_commands"]}
    assert pages <= {page for page, _ in COMMANDS}


@pytest.mark.parametrize(("page", "line"), COMMANDS)
def test_every_command_is_parsed(page: str, line: str) -> None:
    match = _COMMAND.search(line)
    assert match, f"{page}: {line}"
    others = (
        "demo",
        "startapp",
        "runserver",
        "shell",
        "makemigrations",
        "db_worker",
        "prune_db_task_results",
    )
    if match[1].split()[0] in others:
        # Other projects' commands; the tutorial and the example project run them.
        return
    name, *arguments = shlex.split(match[1].replace("[section ...]", "section"))
    app = get_commands()[name]
    parser = load_command_class(str(app), name).create_parser("manage.py", name)
    placeholders = {"N": "2", "NAME": "products", "AGE": "26h", "PATH": "robots.txt"}
    parser.parse_args([placeholders.get(word, word) for word in arguments])
