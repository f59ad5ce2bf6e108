"""`manage.py suggest_sitemaps`: its output, its errors, and its options."""

from __future__ import annotations

from inspect import getsourcelines
from typing import Any

import pytest
from django.core.management import CommandError
from django.db.models import F

from django_sitemaps09 import ModelSitemap, Route, StaticViewSitemap
from tests.models import Article
from tests.suggestions.blog.rows import KNOWS_CLASSES
from tests.support import commands
from tests.support.factories import ArticleFactory


class ArticleSitemap(ModelSitemap[Article]):
    model = Article

    def lastmod(self, item: Article) -> Any:
        return item.updated

    def priority(self, item: Article) -> float:
        return 0.9 if item.published else 0.1


class DatedSitemap(ModelSitemap[Article]):
    model = Article
    location = Route("article", slug=F("slug"))
    lastmod = ArticleSitemap.lastmod
    priority = ArticleSitemap.priority


class PageSitemap(StaticViewSitemap):
    viewnames = ["about"]


class Plain(ModelSitemap[Article]):
    model = Article
    location = Route("article", slug=F("slug"))


LINE = getsourcelines(ArticleSitemap.priority)[1] + 1
SECTIONS = {"articles": ArticleSitemap, "dated": DatedSitemap, "pages": PageSitemap, "plain": Plain}

pytestmark = [
    pytest.mark.sitemaps09(SITEMAPS=f"{__name__}.SECTIONS"),
    pytest.mark.django_db,
]


@pytest.fixture(autouse=True)
def articles() -> list[Article]:
    return ArticleFactory.create_batch(3, dated=True)


def said(*arguments: str) -> str:
    return commands.said("suggest_sitemaps", *arguments)[0]


def test_each_section_has_its_suggestion_or_the_reason_why_it_has_none() -> None:
    priority = (
        f"priority stays a method: {'ArticleSitemap.' * KNOWS_CLASSES}priority, line {LINE}: "
        "depends on the value of `item.published`.\n"
    )
    assert said() == (
        "articles: declare location and lastmod. Same bytes for 3 compared items:\n"
        "\n"
        "from django.db.models import F\n"
        "from django_sitemaps09 import PathTemplate\n"
        "\n"
        "\n"
        "class ArticleSitemap(ModelSitemap[Article]):\n"
        "    model = Article\n"
        '    location = PathTemplate("/articles/{slug}/", slug=F("slug"))\n'
        '    lastmod = F("updated")\n'
        "\n"
        "    def priority(self, item: Article) -> float:\n"
        "        return 0.9 if item.published else 0.1\n"
        "\n"
        f"articles: {priority}"
        f"dated: {priority}"
        'dated: No gain by itself: lastmod = F("updated"), because model instances are still created for '
        "priority().\n"
        "pages: items() does not return a queryset of model instances.\n"
        "plain: All hooks are constants or expressions.\n"
    )


def test_the_time_per_url_is_shown_if_it_was_measured() -> None:
    ArticleFactory.create_batch(120, dated=True)
    first = said("articles").splitlines()[0]
    head, _, speed = first.partition(", and ")
    assert head == "articles: declare location and lastmod. Same bytes for 123 compared items"
    before, arrow, after, *words = speed.split()
    assert (arrow, words) == ("->", ["microseconds", "per", "URL:"])
    assert float(before) > 0 < float(after)


def test_only_the_named_sections_are_shown() -> None:
    assert said("plain", "plain") == "plain: All hooks are constants or expressions.\n"


def test_the_sample_has_a_size_or_is_everything() -> None:
    ArticleFactory.create_batch(60)
    assert "Same bytes for 63 compared items" in said("articles", "--all")
    few = int(said("articles", "--sample", "20").split("Same bytes for ")[1].split()[0])
    # Rows with NULL are added to the sample.
    assert 20 <= few <= 40


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["artcles"], "There is no section 'artcles'. Did you mean 'articles'?"),
        (["--sample", "0"], "--sample must be at least 1."),
        (["--sample", "5", "--all"], "not allowed with argument"),
    ],
)
def test_errors_name_the_problem(arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message.replace("?", r"\?")):
        said(*arguments)
