"""Follow a page of the documentation: append its blocks to the files of a site."""

from __future__ import annotations

from typing import Any

from tests.docs.pages import Block, blocks


def parts(page: str, file: str) -> list[Block]:
    """Return the blocks of a page that begin with the name of a file, in their order."""
    return [block for block in blocks("python", page) if block.text.startswith(f"# {file}\n")]


def follow(page: str, file: str, namespace: dict[str, Any]) -> None:
    """Run the blocks for a file with the names that the file already has."""
    found = parts(page, file)
    assert found, f"{page} has no block for {file}"
    for block in found:
        # Keep the line numbers of the page for errors.
        text = "\n" * (block.line - 1) + block.text
        exec(compile(text, page, "exec", dont_inherit=True), namespace)  # noqa: S102 our own page
