"""All checks: an id has one meaning, and no check queries a database or calls the project's code."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.db.models import Case, Exists, F, OuterRef, Subquery, Value, When
from django.urls import path
from django.utils.functional import SimpleLazyObject

from django_sitemaps09 import ModelSitemap, Route, checks
from tests.models import Article, Tag, Visit
from tests.support.checking import HOOKS, INCLUDED, SLUG, checked, declaration, ids, ids_of, takes, unread

pytestmark = pytest.mark.usefixtures("nothing_is_asked")


# Rules for all checks


class Explosive:
    """A value that a check must not read, iterate or show."""

    def __getattr__(self, name: str) -> Any:
        if name == "resolve_expression":
            raise AttributeError(name)
        raise AssertionError(f"a check has asked for {name}")

    def __iter__(self) -> Any:
        raise AssertionError("a check has iterated")

    def __repr__(self) -> str:
        raise AssertionError("a check has shown a value")


class Everything(ModelSitemap[Any]):
    """Section with every attribute, whose values query the database when they are read."""

    queryset = Article.objects.filter(tags__name="a").order_by("-updated")
    location = Route("nowhere", slug=F("slug"), other=Article.objects.values("slug"))
    lastmod = Subquery(Visit.objects.filter(article=OuterRef("pk")).values("pk")[:1])
    changefreq = Case(When(published=True, then=Value("daily")), default=F("slug"))
    priority = Exists(Visit.objects.filter(article=OuterRef("pk")))
    i18n = True
    languages = Explosive()
    alternates = Explosive()
    x_default = Explosive()
    hosts = Tag.objects.all()
    format = Tag.objects.all()
    extensions = Tag.objects.all()
    site_field = Tag.objects.all()
    images = Tag.objects.all()
    videos = Tag.objects.all()
    limit = Explosive()
    protocol = Explosive()
    key = Explosive()

    def __init__(self) -> None:
        raise AssertionError("a check has made an instance")

    def get_latest_lastmod(self) -> Any:
        return takes(self, None)

    def get_domain(self, site: Any = None) -> Any:
        return takes(self, site)

    get_languages_for_item = get_urls = _languages = news = default_location = takes


class Lazy(ModelSitemap[Any]):
    """Section with lazy objects, and lists of lazy objects."""

    queryset = languages = hosts = format = extensions = lazy = SimpleLazyObject(unread)
    lastmod = changefreq = priority = limit = protocol = key = site_field = lazy
    i18n = alternates = x_default = images = viewnames = lazy


class Listed(ModelSitemap[Any]):
    """Section with values from the database in place of strings and switches."""

    queryset = Article.objects.all()
    location = SLUG
    i18n = True
    languages = [Tag.objects.all(), Explosive(), ["en", "English"]]
    alternates = x_default = Tag.objects.all()
    hosts = [Tag.objects.all()]
    extensions = [Tag.objects.all()]


OTHERS = ("items", "get_queryset", "get_absolute_url", "__init__", "__eq__", "__hash__")


def factory() -> Any:
    raise AssertionError("a check has called a factory")


def test_all_checks_together_query_nothing_and_call_nothing() -> None:
    explosive = dict.fromkeys((*HOOKS, *OTHERS), takes)
    passed = {
        "everything": Everything,
        "lazy attributes": Lazy,
        "listed": Listed,
        "hooks": declaration(**explosive),
        "object": object.__new__(declaration(**explosive)),
        "factory": factory,
        "lambda": lambda: factory(),
        "lazy": SimpleLazyObject(factory),
    }
    found = checked(path("", INCLUDED, {"sitemaps": passed}), registered=passed)
    assert found.count("W053") == 2
    assert ids(Lazy) == []
    assert ids(Listed) == ["W043", "W041"] * 3 + ["W047", "W048", "E050", "E054"]
    assert {"E013", "W014", "E021", "E032", "W036", "W037", "W047", "W048", "E050", "E051"} < {*found}
    assert ids_of(checks.check_settings()) == []


SOURCES = {path.name: path.read_text() for path in sorted(Path(checks.__file__).parent.glob("*.py"))}
TESTS = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
CODES = [code for source in SOURCES.values() for code in re.findall(r'"([EW][0-9]{3})"', source)]


def test_an_id_has_one_meaning_since_it_is_created_in_one_place() -> None:
    assert len(CODES) > 40
    assert len({*CODES}) == len(CODES)


def test_an_error_and_a_warning_with_one_number_report_the_same_rule() -> None:
    numbers = Counter(code[1:] for code in CODES)
    both = {number for number, count in numbers.items() if count > 1}
    assert both == {"010", "011", "012", "013", "040", "050", "051", "054", "056"}


@pytest.mark.parametrize("code", sorted(CODES))
def test_each_id_is_tested(code: str) -> None:
    assert re.search(rf'["\.]{code}"', TESTS)


def test_there_is_no_message_without_an_id_and_a_hint() -> None:
    lengths = {"message": 3, "graded": 4}
    for name, source in SOURCES.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
                function = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
                assert function not in {"Error", "Warning", "CheckMessage"}, name
                if function in lengths and not any(isinstance(arg, ast.Starred) for arg in node.args):
                    assert len(node.args) == lengths[function], (name, node.lineno)
