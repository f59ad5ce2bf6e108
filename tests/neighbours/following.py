"""Follow a page of the documentation: append its blocks to the files of a site."""

from __future__ import annotations

from tests.docs.pages import blocks, run


def parts(page, file):
    """Return the blocks of a page that begin with the name of a file, in their order."""
    return [block for block in blocks("python", page) if block.text.startswith(f"# {file}\n")]


def unnamed(page):
    """Return the only block of Python that is for no file of the site."""
    [block] = [block for block in blocks("python", page) if not block.text.startswith("# ")]
    return block


def follow(page, file, namespace):
    """Run the blocks for a file with the names that the file already has."""
    found = parts(page, file)
    assert found, f"{page} has no block for {file}"
    for block in found:
        run(block, namespace)
