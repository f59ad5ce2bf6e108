"""The reference describes everything in the package, and nothing else."""

from __future__ import annotations

import ast
import re
from dataclasses import fields
from datetime import datetime, timezone
from importlib import import_module
from inspect import get_annotations, getmembers, isclass

import pytest
from django.contrib import sitemaps as contrib
from django.core.management import load_command_class
from django.core.management.base import BaseCommand

import django_sitemaps09
from django_sitemaps09 import (
    ModelSitemap,
    NewsSitemap,
    Sitemap,
    StaticViewSitemap,
    conf,
    exceptions,
    robots,
    signals,
    urls,
)
from django_sitemaps09.audit import RULES, AuditReport, Finding
from django_sitemaps09.export import DamagedFile, Report, SectionReport, Verification
from django_sitemaps09.export.engines import Engine
from django_sitemaps09.notify import EndpointReport, Submission
from django_sitemaps09.suggestions import Suggestion
from tests.docs.pages import PAGES, README, ROOT, take

PAGE = {page.removeprefix("docs/reference/").removesuffix(".md"): text for page, text in PAGES.items()}
ROBOTS = take("docs/howto/robots.md", "robots.txt", language="text").text


def rows(text):
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [re.split(r"(?<!\\)\|", line.strip("|")) for line in lines]
    return [[cell.strip() for cell in row] for row in cells if row[0].strip(" -:") != ""]


def names(text):
    return {name for row in rows(text) for name in re.findall(r"`([^`]+)`", row[0])}


def section(page, heading):
    pattern = rf"^##+ {re.escape(heading)}$(.*?)(?=^#|\Z)"
    [found] = re.findall(pattern, PAGE[page], re.MULTILINE | re.DOTALL)
    return found


def fields_of(*classes):
    return {field.name for each in classes for field in fields(each)}


INHERITED = {"__init__", "__subclasshook__", "__module__", "__doc__", "__annotations__", "__dict__"}
ENGINE = {name for name in vars(Engine) if not name.startswith("_") or name in ("__enter__", "__exit__")}
AUDIT = AuditReport(datetime.now(timezone.utc), 0.0, "", 0, 0, 0, ())
EXCEPTIONS = [each for _, each in getmembers(exceptions, isclass) if each.__module__ == exceptions.__name__]
SIGNALS = {name for name, value in vars(signals).items() if isinstance(value, signals.Signal)}
URLS = {pattern.name for pattern in urls.urlpatterns}
AUDITING, SUGGESTING = "`manage.py audit_sitemaps`", "`manage.py suggest_sitemaps [section ...]`"


@pytest.mark.parametrize(
    ("page", "heading", "expected"),
    [
        ("commands", "Verification", fields_of(Verification) | {"failures"}),
        ("commands", "`manage.py submit_sitemaps`", fields_of(Submission, EndpointReport) | {"failures"}),
        ("commands", AUDITING, {*AUDIT.as_dict()}),
        ("public", "`django_sitemaps09.exceptions`", {each.__name__ for each in EXCEPTIONS}),
        ("public", "`django_sitemaps09.signals`", SIGNALS),
        ("public", "The interface of an engine", (ENGINE | {*Engine.__annotations__}) - INHERITED),
        *(
            ("public", f"`django_sitemaps09{name}`", {*import_module(f"django_sitemaps09{name}").__all__})
            for name in ("", ".views", ".export", ".notify", ".suggestions", ".tasks", ".audit")
        ),
    ],
)
def test_a_table_has_exactly_the_names_that_exist(page, heading, expected):
    assert {name for name in names(section(page, heading)) if name[0] != "-"} == expected


@pytest.mark.parametrize(
    ("page", "heading", "form", "expected"),
    [
        ("commands", "Report", "`{}`", fields_of(Report, SectionReport) | {"urls", "bytes", "size"}),
        ("commands", "Verification", "`{}`", {*DamagedFile._fields}),
        ("commands", SUGGESTING, "| `{}` |", fields_of(Suggestion)),
        ("commands", AUDITING, "`{}`", fields_of(Finding)),
        ("public", "`django_sitemaps09.urls`", f"`{urls.app_name}:{{}}`", URLS),
    ],
)
def test_a_section_names_all_that_exists(page, heading, form, expected):
    assert {name for name in expected if form.format(name) not in section(page, heading)} == set()


def test_every_public_name_and_signal_is_described():
    text = "".join(PAGES[page] for page in PAGES if page.startswith("docs/"))
    assert [name for name in django_sitemaps09.__all__ if name not in text] == []
    assert all(f"## `{signals.__name__}.{name}`" in PAGE["signals"] for name in SIGNALS)


def test_every_setting_and_no_other_one_has_a_heading_with_its_type_and_default():
    headings = re.findall(r"^### `([A-Z0-9_]+): (.+)`$", PAGE["settings"], re.MULTILINE)
    assert sorted(name for name, _ in headings) == sorted(conf.KEYS)
    assert [name for name, rest in headings if not re.fullmatch(".+ = .+", rest)] == []


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
        for path in (ROOT / "django_sitemaps09" / "checks").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and re.fullmatch(r"[EW]\d{3}", str(node.value))
    }
    table = rows(PAGE["checks"])
    assert len(codes) > 50
    listed = [name for row in table for name in re.findall(r"`(sitemaps09\.[^`]+)`", row[0])]
    assert sorted(listed) == sorted(codes)
    assert [row for row in table if len(row) != 3 or not all(row)] == []


#: What contrib's class has for every sitemap, and what this package adds to each class.
HOOKS = {
    name
    for kind in (contrib.Sitemap, Sitemap, ModelSitemap, NewsSitemap, StaticViewSitemap)
    for name in {*vars(kind), *get_annotations(kind)}
    if not name.startswith("_")
}
#: Names that no declaration sets, but views read.
READ_BY_VIEWS = {"get_domain", "get_latest_lastmod", "get_protocol", "get_urls", "paginator"}


def test_every_hook_of_a_class_is_described():
    hooks = (HOOKS - READ_BY_VIEWS) | {"images", "videos", "lastmod", "changefreq", "priority"}
    assert {"site_field", "key", "limit"} <= hooks
    assert [name for name in hooks if not re.search(rf"`(?:def )?{name}\b", PAGE["sitemaps"])] == []


def test_every_extra_is_described():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    declared = project.partition("[project.optional-dependencies]\n")[2].partition("\n[")[0]
    assert names(PAGE["extras"]) == set(re.findall(r"^([a-z0-9-]+) = \[", declared, re.MULTILINE))


def test_every_deviation_from_contrib_has_a_test():
    numbers = re.findall(r"^(\d+)\. ", PAGE["deviations"], re.MULTILINE)
    assert numbers == [str(number) for number in range(1, len(numbers) + 1)] != []
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    assert set(numbers) <= set(re.findall(r"Deviation (\d+)\b", tests))


def test_the_block_of_robots_txt_shown_is_the_block_written():
    assert robots.update(None, ["https://www.example.com/sitemap.xml"]).decode() == ROBOTS


def test_the_commands_of_the_set_up_are_two_lines():
    first, second = (line for line in README.splitlines() if line.startswith("python3 -m venv"))
    assert first.endswith("manage.py demo")
    assert second.endswith('-m pytest -n auto -m "not slow"')
