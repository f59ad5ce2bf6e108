"""The pages of the documentation, and their fenced blocks by page and heading."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]

#: The text of each page, by its path in the repository.
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md")))
}
README = PAGES["README.md"]
_FENCE = re.compile(r" *```")


class Place(NamedTuple):
    """The blocks of one language below one heading of a page."""

    page: str
    heading: str
    language: str


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its place, and the line of the page that it begins on."""

    place: Place
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.place.page}:{self.line}"


def _blocks(page: str, text: str) -> Iterator[Block]:
    heading = ""
    inside: tuple[str, int] | None = None
    lines: list[str] = []
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        if _FENCE.match(line):
            if inside is None:
                inside, lines = (line.strip()[3:].strip(), number + 1), []
            else:
                yield Block(Place(page, heading, inside[0]), inside[1], "".join(lines))
                inside = None
        elif inside is not None:
            lines.append(line)
        elif match := re.match(r"#+ (.+)", line):
            heading = match[1]


#: All blocks but those that Sphinx executes, such as `{toctree}`.
BLOCKS = tuple(
    block
    for page, text in PAGES.items()
    for block in _blocks(page, text)
    if not block.place.language.startswith("{")
)


def blocks(language: str, page: str | None = None, heading: str | None = None) -> list[Block]:
    """Return the blocks of a language in their order, of all pages and headings or of one."""
    return [
        block
        for block in BLOCKS
        if block.place.language == language
        and page in (None, block.place.page)
        and heading in (None, block.place.heading)
    ]


def headings(text: str) -> list[str]:
    """Return the headings of a page, without those in fenced blocks."""
    bare = re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"^#+ (.+)$", bare, re.MULTILINE)


@dataclass(slots=True)
class Snippet:
    """A block of Python; `ran` is true after it was run."""

    block: Block
    modules: list[str] = field(default_factory=list)
    ran: bool = False

    def run(self, module: str, given: Mapping[str, object] | None = None) -> Any:
        """Run the snippet as a module with this name, and return it. `given` has names that it needs."""
        made = ModuleType(module)
        made.__dict__.update(given or {})
        sys.modules[module] = made
        self.modules.append(module)
        # Keep the line numbers of the page for errors.
        text = "\n" * (self.block.line - 1) + self.block.text
        exec(compile(text, self.block.place.page, "exec", dont_inherit=True), made.__dict__)  # noqa: S102 our own
        self.ran = True
        return made

    def write(self, file: Path) -> None:
        """Write the snippet to a file that is imported."""
        file.write_text(self.block.text, encoding="utf-8")
        self.ran = True

    def forget(self) -> None:
        """Remove the modules that were run."""
        for module in self.modules:
            sys.modules.pop(module, None)
