"""`manage.py suggest_sitemaps`: its output, its errors, and its options."""

from __future__ import annotations

import json
from inspect import getsourcelines
from typing import Any

import pytest
from django.core.management import CommandError
from django.db.models import F

from django_sitemaps09 import ModelSitemap, Route, StaticViewSitemap
from tests.models import Article
from tests.support import commands
from tests.support.factories import ArticleFactory


class ArticleSitemap(ModelSitemap[Article]):
    model = Article

    def lastmod(self, item: Article) -> Any:
        return item.updated

    def priority(self, item: Article) -> float:
        return round(item.pk / 10)


class Plain(ModelSitemap[Article]):
    model = Article
    location = Route("article", slug=F("slug"))


class Declared(Plain):
    lastmod = F("updated")
    priority = ArticleSitemap.priority


class PageSitemap(StaticViewSitemap):
    viewnames = ["about"]


LINE = getsourcelines(ArticleSitemap.priority)[1] + 1
SECTIONS = {"articles": ArticleSitemap, "pages": PageSitemap, "plain": Plain}
OLD, NEW, OTHER = (f"{__name__}.{name}" for name in ("ArticleSitemap", "Declared", "Plain"))

pytestmark = [pytest.mark.sitemaps09(SITEMAPS=f"{__name__}.SECTIONS"), pytest.mark.django_db]


@pytest.fixture(autouse=True)
def articles() -> list[Article]:
    return ArticleFactory.create_batch(3, dated=True)


def said(*arguments: str) -> str:
    return commands.said("suggest_sitemaps", *arguments)[0]


def test_each_section_has_its_suggestion_or_the_reason_why_it_has_none() -> None:
    assert said() == (
        "articles: declare location and lastmod, equal on 3 rows:\n"
        "\n"
        "from django.db.models import F\n"
        "from django_sitemaps09 import PathTemplate\n"
        "\n"
        'location = PathTemplate("/articles/{slug}/", slug=F("slug"))\n'
        'lastmod = F("updated")\n'
        "\n"
        f"articles: priority stays a method: ArticleSitemap.priority, line {LINE}: calls `round()`.\n"
        "articles: Model instances are still created for priority().\n"
        "pages: items() does not return a plain queryset of model instances. Only that can have columns.\n"
        "plain: All hooks are constants or expressions.\n"
    )


def test_only_the_named_sections_are_shown() -> None:
    assert said("plain", "plain") == "plain: All hooks are constants or expressions.\n"


def test_fewer_rows_can_be_compared() -> None:
    assert "declare location and lastmod, equal on the first 2 rows:" in said("articles", "--rows", "2")
    assert "declare location and lastmod, equal on 3 rows:" in said("articles", "--rows", "3")


def test_two_classes_are_compared_on_all_rows(articles: list[Article]) -> None:
    assert said("--compare", OLD, NEW) == "The classes are equal on 3 rows.\n"
    assert said("--compare", OLD, NEW, "--rows", "1") == "The classes are equal on the first 1 row.\n"
    Article.objects.all().delete()
    assert said("--compare", OLD, NEW) == "The classes are not compared, because there are no rows.\n"


def test_classes_that_differ_are_an_error(articles: list[Article]) -> None:
    out, _, error = commands.failed("suggest_sitemaps", "--compare", OLD, OTHER)
    assert (str(error), error.returncode) == ("The classes differ.", 1)
    *_, error = commands.failed("suggest_sitemaps", "--compare", OLD, "django_sitemaps09.GenericSitemap")
    assert "__init__() missing 1 required positional argument" in str(error)
    first = out.splitlines()[0]
    assert first.startswith(f"row {articles[0].pk} is <url><loc>")
    assert "<priority>" in first
    assert "<priority>" not in first.partition(", but would be ")[2]


def test_the_output_can_be_json() -> None:
    plain, articles = json.loads(said("plain", "articles", "--format", "json"))
    assert plain["code"] is None
    assert articles["section"] == "articles"
    assert articles["hooks"] == ["location", "lastmod"]
    assert articles["comparison"] == {"rows": 3, "is_complete": True, "differences": []}
    comparison = json.loads(said("--compare", OLD, NEW, "--format", "json"))
    assert comparison == {"rows": 3, "is_complete": True, "differences": []}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["artcles"], "There is no section 'artcles'. Did you mean 'articles'?"),
        (["--rows", "0"], "--rows must be at least 1."),
        (["--compare", "shop.Old", NEW], "No module named 'shop'"),
        (["articles", "--compare", OLD, NEW], "--compare takes two classes and no sections."),
        (["--all"], "unrecognized arguments: --all"),
    ],
)
def test_errors_name_the_problem(arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message.replace("?", r"\?")):
        said(*arguments)
