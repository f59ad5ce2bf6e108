"""The reference describes everything in the package, and nothing else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
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
)
from django_sitemaps09.audit import RULES, AuditReport, Finding
from django_sitemaps09.export import DamagedFile, Report, SectionReport, Verification
from django_sitemaps09.export.engines import Engine
from django_sitemaps09.notify import EndpointReport, Submission
from django_sitemaps09.suggestions import Suggestion
from tests.docs.pages import PAGES, README, ROOT

SETTINGS = PAGES["docs/reference/settings.md"]
COMMANDS = PAGES["docs/reference/commands.md"]
AUDIT_RULES = PAGES["docs/reference/audit-rules.md"]
CHECKS = PAGES["docs/reference/checks.md"]
PUBLIC = PAGES["docs/reference/public.md"]
DEVIATIONS = PAGES["docs/reference/deviations.md"]
EXTRAS = PAGES["docs/reference/extras.md"]
PACKAGE = ROOT / "django_sitemaps09"


def options(command: str) -> list[str]:
    parser = load_command_class("django_sitemaps09", command).create_parser("", "")
    common = BaseCommand().create_parser("", "")
    shared = {option for action in common._actions for option in action.option_strings}
    own = [option for action in parser._actions for option in action.option_strings]
    return [option for option in own if option not in shared]


def rows(text: str) -> list[list[str]]:
    """Return the cells of all tables of a text, without their heads."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [re.split(r"(?<!\\)\|", line.strip("|")) for line in lines]
    return [[cell.strip() for cell in row] for row in cells if row[0].strip(" -:") != ""]


def names(text: str) -> set[str]:
    """Return the names in the first column of the tables of a text."""
    return {name for row in rows(text) for name in re.findall(r"`([^`]+)`", row[0])}


def section(text: str, heading: str) -> str:
    """Return the text below a heading, up to the next heading."""
    [found] = re.findall(rf"^##+ {re.escape(heading)}$(.*?)(?=^#|\Z)", text, re.MULTILINE | re.DOTALL)
    return str(found)


# Settings and commands


@pytest.mark.parametrize("key", conf.KEYS)
def test_every_setting_has_its_heading(key: str) -> None:
    assert re.search(rf"^### `{key}: .+ = .+`$", SETTINGS, re.MULTILINE)


def test_no_heading_names_an_unknown_setting() -> None:
    assert set(re.findall(r"^### `([A-Z_]+): ", SETTINGS, re.MULTILINE)) == set(conf.KEYS)


@pytest.mark.parametrize(
    "command",
    ["export_sitemaps", "submit_sitemaps", "sitemaps_status", "suggest_sitemaps", "audit_sitemaps"],
)
def test_every_option_of_a_command_is_described(command: str) -> None:
    # The first column of the tables from its heading to that of the next command.
    [described] = re.findall(
        rf"^## `manage\.py {command}\b(.*?)(?=^## `manage\.py|\Z)", COMMANDS, re.MULTILINE | re.DOTALL
    )
    assert options(command)
    listed = {name.split()[0] for name in names(described) if name.startswith("--")}
    assert listed == {*options(command)}


def test_every_key_of_a_report_is_described() -> None:
    described = section(COMMANDS, "Report")
    keys = {field.name for kind in (Report, SectionReport) for field in fields(kind)}
    assert [key for key in sorted({*keys, "urls", "bytes", "size"}) if f"`{key}`" not in described] == []


def test_every_attribute_of_a_suggestion_is_described() -> None:
    described = section(COMMANDS, "`manage.py suggest_sitemaps [section ...]`")
    assert [field.name for field in fields(Suggestion) if f"| `{field.name}` |" not in described] == []


def test_every_key_of_a_verification_is_described() -> None:
    keys = {field.name for field in fields(Verification)} | {"failures"}
    assert names(section(COMMANDS, "Verification")) == keys
    assert all(f"`{name}`" in section(COMMANDS, "Verification") for name in DamagedFile._fields)


def test_every_key_of_a_submission_is_described() -> None:
    keys = {field.name for kind in (Submission, EndpointReport) for field in fields(kind)} | {"failures"}
    described = section(COMMANDS, "`manage.py submit_sitemaps`")
    assert {name for name in names(described) if not name.startswith("--")} == keys


def test_every_key_of_an_audit_is_described() -> None:
    described = section(COMMANDS, "`manage.py audit_sitemaps`")
    report = AuditReport(datetime.now(timezone.utc), 0.0, "", 0, 0, 0, ())
    keys = {name for name in names(described) if not name.startswith("-")}
    assert keys == {*report.as_dict()}
    assert [field.name for field in fields(Finding) if f"`{field.name}`" not in described] == []


def test_every_rule_of_an_audit_is_described_as_in_the_code() -> None:
    listed = [row for row in rows(AUDIT_RULES) if row[0].startswith("`")]
    table = [(id.strip("`"), severity, meaning, fix) for id, severity, meaning, fix in listed]
    assert table == [
        (rule.id, rule.severity, rule.meaning, f"{rule.fix} {rule.project}".strip())
        for rule in RULES.values()
    ]


def test_the_block_shown_is_the_block_written() -> None:
    written = robots.update(None, ["https://www.example.com/sitemap.xml"]).decode()
    assert f"```text\n{written}```" in PAGES["docs/howto/robots.md"]


# Checks


def codes() -> set[str]:
    """Return the ids of all checks in the code."""
    found = {
        node.value
        for path in (PACKAGE / "checks").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if re.fullmatch(r"[EW]\d{3}", node.value)
    }
    return {f"sitemaps09.{code}" for code in found}


def test_every_check_is_in_the_table_and_no_other_one() -> None:
    assert len(codes()) > 50
    listed = [name for row in rows(CHECKS) for name in re.findall(r"`(sitemaps09\.[^`]+)`", row[0])]
    assert len(listed) == len(set(listed))
    assert set(listed) == codes()


def test_every_row_of_the_checks_says_what_it_means_and_what_to_do() -> None:
    for row in rows(CHECKS):
        assert len(row) == 3
        assert all(row)


# Names


@pytest.mark.parametrize("name", django_sitemaps09.__all__)
def test_every_public_name_is_described(name: str) -> None:
    assert any(name in PAGES[page] for page in PAGES if page.startswith("docs/"))


@pytest.mark.parametrize("module", ["", ".views", ".export", ".notify", ".suggestions", ".tasks", ".audit"])
def test_the_public_names_are_those_that_modules_list(module: str) -> None:
    path = f"django_sitemaps09{module}"
    assert names(section(PUBLIC, f"`{path}`")) == set(import_module(path).__all__)


def defined(module: object, values: Iterable[tuple[str, object]]) -> set[str]:
    return {name for name, value in values if getattr(value, "__module__", None) == module}


def test_the_public_exceptions_are_those_that_are_defined() -> None:
    path = exceptions.__name__
    assert names(section(PUBLIC, f"`{path}`")) == defined(path, getmembers(exceptions, isclass))


def test_the_public_signals_are_those_that_are_defined() -> None:
    sent = {name for name, value in vars(signals).items() if isinstance(value, signals.Signal)}
    assert names(section(PUBLIC, f"`{signals.__name__}`")) == sent
    assert all(f"## `{signals.__name__}.{name}`" in PAGES["docs/reference/signals.md"] for name in sent)


def test_the_documented_interface_of_an_engine_is_complete() -> None:
    inherited = {"__init__", "__subclasshook__", "__module__", "__doc__", "__annotations__", "__dict__"}
    own = {name for name in vars(Engine) if not name.startswith("_") or name in ("__enter__", "__exit__")}
    own |= {*Engine.__annotations__}
    assert names(section(PUBLIC, "The interface of an engine")) == own - inherited


def test_the_names_of_urls_are_described() -> None:
    from django_sitemaps09 import urls

    described = section(PUBLIC, "`django_sitemaps09.urls`")
    for pattern in urls.urlpatterns:
        assert f"`{urls.app_name}:{pattern.name}`" in described


# Extras and deviations


def test_every_extra_is_described() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    declared = section_of_toml(project, "project.optional-dependencies")
    assert names(EXTRAS) == set(re.findall(r"^([a-z0-9-]+) = \[", declared, re.MULTILINE))


def section_of_toml(text: str, name: str) -> str:
    return text.partition(f"[{name}]\n")[2].partition("\n[")[0]


def test_every_deviation_from_contrib_has_a_test() -> None:
    numbers = re.findall(r"^(\d+)\. ", DEVIATIONS, re.MULTILINE)
    assert numbers == [str(number) for number in range(1, len(numbers) + 1)]
    assert numbers
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    tested = set(re.findall(r"Deviation (\d+)\b", tests))
    assert set(numbers) <= tested


def test_the_commands_of_the_set_up_are_two_lines() -> None:
    first, second = (line for line in README.splitlines() if line.startswith("python3 -m venv"))
    assert first.endswith("manage.py demo")
    assert second.endswith('-m pytest -n auto -m "not slow"')


# Hooks

#: What contrib's class has for every sitemap, and what this package adds to each class.
HOOKS = {
    name
    for kind in (contrib.Sitemap, Sitemap, ModelSitemap, NewsSitemap, StaticViewSitemap)
    for name in {*vars(kind), *get_annotations(kind)}
    if not name.startswith("_")
}
#: Names that no declaration sets, but views read.
READ_BY_VIEWS = {"get_domain", "get_latest_lastmod", "get_protocol", "get_urls", "paginator"}


def test_every_hook_of_a_class_is_described() -> None:
    page = PAGES["docs/reference/sitemaps.md"]
    hooks = (HOOKS - READ_BY_VIEWS) | {"images", "videos", "lastmod", "changefreq", "priority"}
    assert {"site_field", "key", "limit"} <= hooks
    assert [name for name in sorted(hooks) if not re.search(rf"`(?:def )?{name}\b", page)] == []
