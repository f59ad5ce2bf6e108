"""Blocks, commands, links and lines of the documentation, and that the reference describes everything."""

from __future__ import annotations

import ast
import re
import shlex
from collections import Counter
from dataclasses import fields
from datetime import datetime, timezone
from importlib import import_module
from inspect import get_annotations, getmembers, isclass
from urllib.parse import urlsplit

import pytest
from django.contrib import sitemaps as contrib
from django.core.management import get_commands, load_command_class
from django.core.management.base import BaseCommand
from lxml import etree

from django_sitemaps09 import (
    ModelSitemap,
    NewsSitemap,
    Sitemap,
    StaticViewSitemap,
    exceptions,
    signals,
    urls,
)
from django_sitemaps09.conf import KEYS
from django_sitemaps09.export import DamagedFile, Published, Report, SectionReport, Verification
from django_sitemaps09.export.engines import Engine
from django_sitemaps09.export.notify import EndpointReport, Submission
from django_sitemaps09.protocol import robots
from django_sitemaps09.tools.audit import RULES, AuditReport, Finding
from django_sitemaps09.tools.suggestions import Suggestion
from tests.docs.pages import BLOCKS, PAGES, README, ROOT, TAKEN, take, without_code

PUBLIC = ("", ".views", ".export", ".export.notify", ".tasks", ".tools.audit", ".tools.suggestions")
#: The pages whose blocks of Python are run in environments of their own: see `howtos` in tox.ini.
NEIGHBOURS = {"docs/howto/cms.md", "docs/howto/shops.md"}
_IN_A_CLONE = "`.ci/run` runs this line in a new clone"
_MINUTES = "it takes minutes, installs packages or needs servers"
#: Page, heading and language of the blocks that no test runs, with their number and the reason.
NOT_RUN = {
    ("README.md", "See it run", "sh"): (1, _IN_A_CLONE),
    ("README.md", "Develop", "sh"): (1, _IN_A_CLONE),
    ("README.md", "Quick start", "sh"): (1, "it installs; `.ci/packaging.py` installs the wheel"),
    ("docs/howto/check.md", "Validate a sitemap", "sh"): (1, "it installs the package"),
    ("docs/howto/schedule.md", "From a systemd timer", "ini"): (2, "a container has no systemd"),
    ("docs/howto/cache.md", "Log lines", "text"): (1, "`tests/views` compares their form"),
    ("docs/benchmarks.md", "Exports and pages", "sh"): (1, _MINUTES),
    ("docs/benchmarks.md", "Querysets", "sh"): (1, _MINUTES),
    ("docs/benchmarks.md", "Exporting again", "sh"): (1, _MINUTES),
    ("docs/benchmarks.md", "Audits", "sh"): (1, _MINUTES),
    ("docs/benchmarks.md", "Live requests", "sh"): (1, _MINUTES),
    ("docs/contributing.md", "Contributing", "sh"): (1, "`.ci/run` runs the same line"),
    ("docs/contributing.md", "Tests", "sh"): (1, "a test does not run the tests"),
    ("docs/contributing.md", "Services", "sh"): (1, "a test does not start servers"),
}

#: Commands of others; the tutorial, the example project and the tests of a page run them.
OTHERS = {"demo", "startapp", "runserver", "shell", "makemigrations", "db_worker", "prune_db_task_results"}
OTHERS |= {"export_tenants", "tenant_command"}
PLACEHOLDERS = {"N": "2", "NAME": "products", "AGE": "26h", "PATH": "robots.txt"}


def commands(text):
    lines = text.replace("\\\n", " ").splitlines()
    return [line for line in lines if not line.startswith("#") and "manage.py" in line]


IN_BLOCKS = [(str(b), line) for b in BLOCKS if b.language in ("sh", "text") for line in commands(b.text)]
IN_TEXTS = [
    (page, line) for page, text in PAGES.items()
    for line in re.findall(r"`([^`\n]*manage\.py [^`\n]+)`", text.replace("\\\n", " "))
]  # fmt: skip


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
        plain, number = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-"), 0
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


def test_the_short_readme_leads_to_the_index_and_that_to_every_page():
    pages = {page.removeprefix("docs/") for page in PAGES if page.startswith("docs/")}
    assert pages - {urlsplit(link).path for link in links("docs/index.md")} == {"index.md"}
    assert "docs/index.md" in links("README.md")
    assert len(PAGES["README.md"].splitlines()) <= 250


@pytest.mark.parametrize("page", PAGES)
def test_lines_of_text_are_at_most_100_columns_wide(page):
    lines = without_code(PAGES[page]).splitlines()
    assert [line for line in lines if len(line) > 100 and not line.startswith("|")] == []


PAGE = {page.removeprefix("docs/reference/").removesuffix(".md"): text for page, text in PAGES.items()}
ROBOTS = take("docs/howto/robots.md", "robots.txt", language="text").text


def rows(text):
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [re.split(r"(?<!\\)\|", line.strip("|")) for line in lines]
    return [[cell.strip() for cell in row] for row in cells if row[0].strip(" -:") != ""]


def names(text):
    return {name for row in rows(text) for name in re.findall(r"`([^`]+)`", row[0])}


def section(page, heading):
    """Return the text below a heading, or the rows below a bold cell."""
    name = re.escape(heading)
    pattern = rf"^(?:##+ {name}$(.*?)(?=^#|\Z)|\| \*\*{name}\*\* [^\n]*(.*?)(?=^\| \*|^$))"
    [found] = re.findall(pattern, PAGE[page], re.MULTILINE | re.DOTALL)
    return "".join(found)


def fields_of(*classes):
    return {field.name for each in classes for field in fields(each)}


INHERITED = {"__init__", "__subclasshook__", "__module__", "__doc__", "__annotations__", "__dict__"}
ENGINE = {name for name in vars(Engine) if not name.startswith("_") or name in ("__enter__", "__exit__")}
AUDIT = AuditReport(datetime.now(timezone.utc), 0.0, "", 0, 0, 0, ())
EXCEPTIONS = [each for _, each in getmembers(exceptions, isclass) if each.__module__ == exceptions.__name__]
SIGNALS = {name for name, value in vars(signals).items() if isinstance(value, signals.Signal)}
URLS = {pattern.name for pattern in urls.urlpatterns}
AUDITING, SUGGESTING = "`manage.py audit_sitemaps`", "`manage.py suggest_sitemaps [section ...]`"


TOOLS = (".tools.audit", ".tools.suggestions")


@pytest.mark.parametrize(("page", "heading", "expected"), [
    ("commands", "Verification", fields_of(Verification) | {"failures"}),
    ("commands", "`manage.py submit_sitemaps`", fields_of(Submission, EndpointReport) | {"failures"}),
    ("commands", AUDITING, {*AUDIT.as_dict()}),
    ("docs/howto/notify", "Run your own code", fields_of(Published)),
    ("public", "`django_sitemaps09.exceptions`", {each.__name__ for each in EXCEPTIONS}),
    ("public", "`django_sitemaps09.signals`", SIGNALS),
    ("public", "The interface of an engine", (ENGINE | {*Engine.__annotations__}) - INHERITED),
    *(
        ("public", f"`django_sitemaps09{name}`", {*import_module(f"django_sitemaps09{name}").__all__})
        for name in PUBLIC
    ),
])  # fmt: skip
def test_a_table_has_exactly_the_names_that_exist(page, heading, expected):
    assert {name for name in names(section(page, heading)) if name[0] != "-"} == expected


@pytest.mark.parametrize(("page", "heading", "form", "expected"), [
    ("commands", "Report", "`{}`", fields_of(Report, SectionReport) | {"urls", "bytes", "size"}),
    ("commands", "Verification", "`{}`", {*DamagedFile._fields}),
    ("commands", SUGGESTING, "| `{}` |", fields_of(Suggestion)),
    ("commands", AUDITING, "`{}`", fields_of(Finding)),
    ("public", "`django_sitemaps09.urls`", f"`{urls.app_name}:{{}}`", URLS),
])  # fmt: skip
def test_a_section_names_all_that_exists(page, heading, form, expected):
    assert {name for name in expected if form.format(name) not in section(page, heading)} == set()


def test_every_setting_and_no_other_one_has_a_row_with_its_type_and_default():
    settings = re.findall(r"^\| `([A-Z0-9_]+): ([^`]+)` \|", PAGE["settings"], re.MULTILINE)
    assert sorted(name for name, _ in settings) == sorted(KEYS)
    assert [name for name, rest in settings if not re.fullmatch(".+ = .+", rest)] == []


def options(name, command):
    actions = command.create_parser("", name)._actions
    return {option for action in actions for option in action.option_strings}


@pytest.mark.parametrize("name", ["export", "submit", "audit", "sitemaps_status", "suggest"])
def test_every_option_of_a_command_is_described(name):
    name = name if "_" in name else f"{name}_sitemaps"
    own = options(name, load_command_class("django_sitemaps09", name)) - options("", BaseCommand())
    # The first column of the tables from its heading to that of the next command.
    pattern = rf"^## `manage\.py {name}\b(.*?)(?=^## `manage\.py|\Z)"
    [described] = re.findall(pattern, PAGE["commands"], re.MULTILINE | re.DOTALL)
    assert own
    assert {each.split()[0] for each in names(described) if each.startswith("--")} == own


def test_every_rule_of_an_audit_is_described_as_in_the_code():
    table = [(row[0].strip("`"), *row[1:]) for row in rows(PAGE["audit-rules"]) if row[0].startswith("`")]
    fixes = {rule.id: f"{rule.fix} {rule.project}".strip() for rule in RULES.values()}
    assert table == [(each.id, each.severity, each.meaning, fixes[each.id]) for each in RULES.values()]


def test_every_check_is_in_the_table_with_its_meaning_and_what_to_do_and_no_other_one():
    codes = {
        f"sitemaps09.{node.value}"
        for path in (ROOT / "django_sitemaps09" / "tools" / "checks").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and re.fullmatch(r"[EW]\d{3}", str(node.value))
    }
    table = rows(PAGE["checks"])
    assert len(codes) > 50
    listed = [name for row in table for name in re.findall(r"`(sitemaps09\.[^`]+)`", row[0])]
    assert (sorted(listed), [row for row in table if len(row) != 3 or not all(row)]) == (sorted(codes), [])


#: What contrib's class has for every sitemap, and what this package adds to each class.
HOOKS = {name for kind in (contrib.Sitemap, Sitemap, ModelSitemap, NewsSitemap, StaticViewSitemap)
         for name in {*vars(kind), *get_annotations(kind)} if not name.startswith("_")}  # fmt: skip
#: Names that no declaration sets, but views read.
READ_BY_VIEWS = {"get_domain", "get_latest_lastmod", "get_protocol", "get_urls", "paginator"}


def test_every_hook_of_a_class_is_described():
    hooks = (HOOKS - READ_BY_VIEWS) | {"images", "videos", "lastmod", "changefreq", "priority"}
    assert {"site_field", "key", "limit"} <= hooks
    assert [name for name in hooks if not re.search(rf"`(?:def )?{name}\b", PAGE["sitemaps"])] == []


def test_every_extra_is_described():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    declared = project.partition("[project.optional-dependencies]\n")[2].partition("\n[")[0]
    extras = set(re.findall(r"^([a-z0-9-]+) = \[", declared, re.MULTILINE))
    assert names(section("docs/index", "Extras")) == extras


def test_every_deviation_from_contrib_has_a_test():
    numbers = re.findall(r"^\| (\d+) \|", PAGE["deviations"], re.MULTILINE)
    assert numbers == [str(number) for number in range(1, len(numbers) + 1)] != []
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    assert set(numbers) <= set(re.findall(r"Deviation (\d+)\b", tests))


def test_the_block_of_robots_txt_shown_is_the_block_written():
    assert robots.update(None, ["https://www.example.com/sitemap.xml"]).decode() == ROBOTS


def test_the_commands_of_the_set_up_are_two_lines():
    first, second = (line for line in README.splitlines() if line.startswith("python3 -m venv"))
    assert first.endswith("manage.py demo")
    assert second.endswith('-m pytest -n auto -m "not slow"')
