"""The blocks, commands, links and lines of the documentation."""

from __future__ import annotations

import ast
import re
import shlex
from collections import Counter
from importlib import import_module
from urllib.parse import urlsplit

import pytest
from django.core.management import get_commands, load_command_class
from lxml import etree

from tests.docs.pages import BLOCKS, PAGES, ROOT, TAKEN, without_code

#: The pages whose blocks of Python are run in environments of their own: see `howtos` in tox.ini.
_NAMES = ("django-cms", "flatpages", "oscar", "translated-models", "wagtail")
NEIGHBOURS = {f"docs/howto/{page}.md" for page in _NAMES}
_IN_A_CLONE = "`.ci/run` runs this line in a new clone"
_MINUTES = "it takes minutes, installs packages or needs servers"
#: Page, heading and language of the blocks that no test runs, with their number and the reason.
NOT_RUN = {
    ("README.md", "See it run", "sh"): (1, _IN_A_CLONE),
    ("README.md", "Develop", "sh"): (1, _IN_A_CLONE),
    ("README.md", "Quick start", "sh"): (1, "it installs; `.ci/packaging.py` installs the wheel"),
    ("docs/howto/audit.md", "Validate a sitemap", "sh"): (1, "it installs the package"),
    ("docs/howto/schedule.md", "From a systemd timer", "ini"): (2, "a container has no systemd"),
    ("docs/explanation/requests.md", "Log lines", "text"): (1, "`tests/views` compares their form"),
    ("docs/benchmarks.md", "Exports and pages", "sh"): (1, _MINUTES),
    ("docs/benchmarks.md", "Querysets", "sh"): (1, _MINUTES),
    ("docs/benchmarks.md", "Exporting again", "sh"): (1, _MINUTES),
    ("docs/benchmarks.md", "Audits", "sh"): (1, _MINUTES),
    ("docs/benchmarks.md", "Live requests", "sh"): (1, _MINUTES),
    ("docs/contributing.md", "Contributing", "sh"): (1, "`.ci/run` runs the same line"),
    ("docs/contributing.md", "Tests", "sh"): (1, "a test does not run the tests"),
    ("docs/contributing.md", "Documentation", "sh"): (2, "`.ci/run` builds the documentation"),
}

#: Commands of others; the tutorial and the example project run them.
OTHERS = {"demo", "startapp", "runserver", "shell", "makemigrations", "db_worker", "prune_db_task_results"}
PLACEHOLDERS = {"N": "2", "NAME": "products", "AGE": "26h", "PATH": "robots.txt"}


def commands(text):
    lines = text.replace("\\\n", " ").splitlines()
    return [line for line in lines if not line.startswith("#") and "manage.py" in line]


IN_BLOCKS = [(str(b), line) for b in BLOCKS if b.language in ("sh", "text") for line in commands(b.text)]
IN_TEXTS = [
    (page, line)
    for page, text in PAGES.items()
    for line in re.findall(r"`([^`\n]*manage\.py [^`\n]+)`", text.replace("\\\n", " "))
]


@pytest.mark.parametrize(("page", "line"), dict.fromkeys([*IN_BLOCKS, *IN_TEXTS]))
def test_every_command_is_parsed(page, line):
    match = re.search(r"\bmanage\.py +(\w+.*)", line)
    assert match, f"{page}: {line}"
    if match[1].split()[0] not in OTHERS:
        name, *arguments = shlex.split(match[1].replace("[section ...]", "section"))
        parser = load_command_class(get_commands()[name], name).create_parser("manage.py", name)
        parser.parse_args([PLACEHOLDERS.get(word, word) for word in arguments])


def test_every_block_is_run_or_listed_with_a_reason():
    for path in (ROOT / "tests" / "docs").rglob("test_*.py"):
        import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    neighbours = {block for block in BLOCKS if block.language == "python" and block.page in NEIGHBOURS}
    assert {block.page for block in neighbours} == NEIGHBOURS
    assert not neighbours & TAKEN
    parsed = {block for block in BLOCKS if block.language in ("sh", "text") and commands(block.text)}
    parsed = {block for block in parsed if block[:3] not in NOT_RUN}
    left = Counter(block[:3] for block in BLOCKS if block not in TAKEN | neighbours | parsed)
    assert left == {place: number for place, (number, _) in NOT_RUN.items()}
    assert "xml" not in {language for *_, language in left}


@pytest.mark.parametrize("page", PAGES)
def test_every_fence_is_closed_and_names_a_language(page):
    opening = re.findall(r"^ *```(.*)$", PAGES[page], re.MULTILINE)
    assert len(opening) % 2 == 0
    assert all(opening[::2])
    assert not any(opening[1::2])


def test_every_snippet_of_python_compiles_and_every_document_shown_is_valid(schema):
    for block in BLOCKS:
        if block.language == "python":
            ast.parse(block.text, str(block))
        elif block.language == "xml":
            schema.assertValid(etree.fromstring(block.text.encode()))


def links(page):
    # Code is not a link, but the text of a link can be code.
    text = re.sub(r"`[^`\n]*`", "code", without_code(PAGES[page]))
    return ["".join(found) for found in re.findall(r"\[[^\]]*\]\(([^)\s]+)\)|<(https?://[^>\s]+)>", text)]


def anchors(page):
    found = set()
    for heading in re.findall(r"^#+ (.+)$", without_code(PAGES[page]), re.MULTILINE):
        plain = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-")
        number = 0
        while (anchor := f"{plain}-{number}" if number else plain) in found:
            number += 1
        found.add(anchor)
    return found


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_a_file_and_a_heading_or_to_a_host(page):
    """Only `sphinx -b linkcheck` fetches those to hosts."""
    for link in links(page):
        parts = urlsplit(link)
        if parts.scheme:
            assert parts.scheme in ("http", "https"), link
            assert parts.hostname, link
            continue
        target = ((ROOT / page).parent / parts.path).resolve() if parts.path else ROOT / page
        assert target.exists(), link
        if parts.fragment:
            assert parts.fragment in anchors(target.relative_to(ROOT).as_posix()), link


def test_every_picture_is_small_and_shown_with_a_description():
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


def test_every_page_is_in_the_contents_and_the_short_readme_leads_to_it():
    pages = {page.removeprefix("docs/").removesuffix(".md") for page in PAGES if page.startswith("docs/")}
    contents = re.findall(r"^([a-z0-9/-]+)$", PAGES["docs/index.md"], re.MULTILINE)
    assert sorted(contents) == sorted(pages - {"index"})
    linked = {urlsplit(link).path.removeprefix("docs/").removesuffix(".md") for link in links("README.md")}
    assert pages - linked <= {"index", "changelog"}
    assert len(PAGES["README.md"].splitlines()) <= 250


@pytest.mark.parametrize("page", PAGES)
def test_lines_of_text_are_at_most_100_columns_wide(page):
    lines = without_code(PAGES[page]).splitlines()
    assert [line for line in lines if len(line) > 100 and not line.startswith("|")] == []
