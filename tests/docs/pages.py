"""The pages of the documentation, and their fenced blocks by page, heading and language.

Neighbours follow a page: they append its blocks to the files of a site.
"""

from __future__ import annotations

import re
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
#: A heading, or a fenced block.
_PARTS = re.compile(r"^(#+) (.+)$|^ *```(.*)\n((?:.*\n)*?) *```$", re.MULTILINE)


class Block(NamedTuple):
    """A fenced block, the line of the page that it begins on, and the last heading of the second level."""

    page: str
    heading: str
    language: str
    line: int
    text: str
    chapter: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def _blocks(page: str, text: str) -> list[Block]:
    found, heading, chapter = [], "", ""
    for part in _PARTS.finditer(text):
        heading, chapter = part[2] or heading, part[2] if part[1] == "##" else chapter
        # Sphinx executes blocks such as `{toctree}`.
        if part[1] is None and not part[3].startswith("{"):
            line = text.count("\n", 0, part.start(4)) + 1
            found.append(Block(page, heading, part[3], line, part[4], chapter))
    return found


BLOCKS = [block for page, text in PAGES.items() for block in _blocks(page, text)]
#: Blocks that test modules run, or compare with what they show. `take()` adds them.
TAKEN: set[Block] = set()


def blocks(language: str, page: str, heading: str | None = None) -> list[Block]:
    found = [block for block in BLOCKS if (block.language, block.page) == (language, page)]
    return [block for block in found if heading in (None, block.heading)]


def take(page: str, heading: str, number: int = 0, language: str = "python") -> Block:
    """Return a block that the calling module runs or compares. Call it when the module is imported."""
    block = blocks(language, page, heading)[number]
    TAKEN.add(block)
    return block


def run(block: Block, namespace: dict[str, Any] | None = None, **given: object) -> Any:
    """Run a block of Python with these names, or in this namespace, and return it as a module."""
    module = ModuleType("block")
    module.__dict__.update(given)
    # Keep the line numbers of the page for errors.
    code = compile("\n" * (block.line - 1) + block.text, block.page, "exec", dont_inherit=True)
    exec(code, module.__dict__ if namespace is None else namespace)  # noqa: S102 our own page
    return module


def without_code(text: str) -> str:
    return re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL)


def parts(page, chapter, file):
    """Return the blocks for a file, which are in the chapter or above the first one."""
    found = [block for block in blocks("python", page) if block.chapter in ("", chapter)]
    return [block for block in found if block.text.startswith(f"# {file}\n")]


def unnamed(page, chapter):
    found = [block for block in blocks("python", page) if block.chapter == chapter]
    [block] = [block for block in found if not block.text.startswith("# ")]
    return block


def follow(page, chapter, file, namespace):
    """Run the blocks for a file with the names that the file already has."""
    found = parts(page, chapter, file)
    assert found, f"{page} has no block for {file}"
    for block in found:
        run(block, namespace)
