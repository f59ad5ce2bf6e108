"""Links in the documentation have targets, both in the repository and in the HTML."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import pytest

from tests.docs.pages import PAGES, ROOT, headings

#: A link to a page or a heading, and one in angle brackets.
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)|<(https?://[^>\s]+)>")
_CODE = re.compile(r"^ *```.*?^ *```|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def links(page: str) -> list[str]:
    # Code is not a link, but the text of a link can be code.
    text = _CODE.sub("code", PAGES[page])
    return [target or address for target, address in _LINK.findall(text)]


def anchors(page: str) -> set[str]:
    """Return the anchors of a page's headings, as sites for source code and MyST make them."""
    found: set[str] = set()
    for heading in headings(PAGES[page]):
        plain = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-")
        number = 0
        while (anchor := f"{plain}-{number}" if number else plain) in found:
            number += 1
        found.add(anchor)
    return found


@pytest.mark.parametrize("page", PAGES)
def test_relative_links_lead_to_a_file_and_a_heading(page: str) -> None:
    for link in links(page):
        parts = urlsplit(link)
        if parts.scheme:
            continue
        target = ((ROOT / page).parent / parts.path).resolve() if parts.path else ROOT / page
        assert target.exists(), link
        if parts.fragment:
            assert parts.fragment in anchors(target.relative_to(ROOT).as_posix()), link


@pytest.mark.parametrize("page", PAGES)
def test_absolute_links_use_http(page: str) -> None:
    """Only `sphinx -b linkcheck` fetches them."""
    for link in links(page):
        parts = urlsplit(link)
        if parts.scheme:
            assert parts.scheme in ("http", "https"), link
            assert parts.hostname, link


def test_every_picture_is_small_and_shown_with_a_description() -> None:
    pictures = sorted((ROOT / "docs" / "images").iterdir())
    assert {picture.suffix for picture in pictures} == {".png"}
    assert max(picture.stat().st_size for picture in pictures) < 200_000
    shown = {
        ((ROOT / page).parent / target).resolve(): words
        for page in PAGES
        for words, target in re.findall(r"!\[([^\]]*)\]\(([^)\s]+)\)", PAGES[page])
    }
    assert sorted(shown) == pictures
    # Sphinx removes line breaks from descriptions.
    assert all(len(words) > 40 and "\n" not in words for words in shown.values())


def test_every_page_is_in_the_contents() -> None:
    contents = re.findall(r"^([a-z0-9/-]+)$", PAGES["docs/index.md"], re.MULTILINE)
    pages = {page.removeprefix("docs/").removesuffix(".md") for page in PAGES if page.startswith("docs/")}
    assert sorted(contents) == sorted(pages - {"index"})


def test_the_readme_is_short_and_leads_to_every_page() -> None:
    assert len(PAGES["README.md"].splitlines()) <= 250
    linked = {urlsplit(link).path for link in links("README.md")}
    pages = {page for page in PAGES if page.startswith("docs/")}
    assert pages - linked <= {"docs/index.md", "docs/changelog.md"}


@pytest.mark.parametrize("page", PAGES)
def test_lines_of_text_are_at_most_100_columns_wide(page: str) -> None:
    bare = re.sub(r"^ *```.*?^ *```", "", PAGES[page], flags=re.MULTILINE | re.DOTALL)
    assert [line for line in bare.splitlines() if len(line) > 100 and not line.startswith("|")] == []
