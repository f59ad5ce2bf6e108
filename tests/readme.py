"""The README as a project meets it: its fenced blocks by heading, and a `shop` in which they run."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, the heading that it stands under, and the line that it begins on."""

    language: str
    heading: str
    line: int
    text: str


def _blocks() -> Iterator[Block]:
    heading = ""
    inside: tuple[str, int] | None = None
    lines: list[str] = []
    for number, line in enumerate(README.splitlines(keepends=True), 1):
        if line.startswith("```"):
            if inside is None:
                inside, lines = (line[3:].strip(), number + 1), []
            else:
                yield Block(inside[0], heading, inside[1], "".join(lines))
                inside = None
        elif inside is not None:
            lines.append(line)
        elif found := re.match(r"#+ (.+)", line):
            heading = found[1]


BLOCKS = tuple(_blocks())


def blocks(language: str, heading: str | None = None) -> list[Block]:
    """Those of a language in the order of the README, of all headings or of one."""
    return [one for one in BLOCKS if one.language == language and heading in (None, one.heading)]


@dataclass(slots=True)
class Snippet:
    """A block of Python, to be run as it stands; `ran` says whether it was."""

    block: Block
    modules: list[str] = field(default_factory=list)
    ran: bool = False

    def run(self, module: str, given: Mapping[str, object] | None = None) -> Any:
        """The module of that name with the snippet as its text; `given` are names that it supposes."""
        made = ModuleType(module)
        made.__dict__.update(given or {})
        sys.modules[module] = made
        self.modules.append(module)
        # With the lines of the README, so that an error names one of them.
        text = "\n" * (self.block.line - 1) + self.block.text
        exec(compile(text, "README.md", "exec", dont_inherit=True), made.__dict__)  # noqa: S102 our own
        self.ran = True
        return made

    def write(self, file: Path) -> None:
        """The same as a file, for whom imports it."""
        file.write_text(self.block.text, encoding="utf-8")
        self.ran = True

    def forget(self) -> None:
        """Nobody imports what was run any more."""
        for module in self.modules:
            sys.modules.pop(module, None)
