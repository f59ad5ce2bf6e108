"""`manage.py suggest_sitemaps`: its output, its errors, and its options."""

from __future__ import annotations

import json
from inspect import getsourcelines

import pytest
from django.core.management import CommandError
from django.db.models import F

from django_sitemaps09 import Route, Sitemap, StaticViewSitemap
from tests.models import Article
from tests.support import commands
from tests.support.factories import ArticleFactory
from tests.support.sections import declare


class ArticleSitemap(Sitemap):
    def items(self):
        return Article.objects.order_by("-pk")

    def lastmod(self, item):
        return item.updated

    def priority(self, item):
        return round(item.pk / 10)

    def images(self, item):
        raise AssertionError("methods of other hooks are not called")


Plain = declare(model=Article, location=Route("article", slug=F("slug")))
Declared = declare(Plain, lastmod=F("updated"), priority=ArticleSitemap.priority)
LINE = getsourcelines(ArticleSitemap.priority)[1] + 1
Pages = declare(StaticViewSitemap, viewnames=["about"])
SECTIONS = {"articles": ArticleSitemap, "pages": Pages, "plain": Plain}
OLD, NEW, OTHER = (f"{__name__}.{name}" for name in ("ArticleSitemap", "Declared", "Plain"))

pytestmark = [pytest.mark.sitemaps09(SITEMAPS=f"{__name__}.SECTIONS"), pytest.mark.django_db]


articles = pytest.fixture(lambda: ArticleFactory.create_batch(3, dated=True), autouse=True)


def said(*arguments):
    return commands.said("suggest_sitemaps", *arguments)[0]


def test_each_section_has_its_suggestion_or_the_reason_why_it_has_none():
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
        "articles: Model instances are still created for priority() and images().\n"
        "pages: items() does not return a plain queryset of model instances. Only that can have columns.\n"
        "plain: All hooks are constants or expressions.\n"
    )
    assert said("plain", "plain") == "plain: All hooks are constants or expressions.\n"
    assert "declare location and lastmod, equal on the first 2 rows:" in said("articles", "--rows", "2")
    assert "declare location and lastmod, equal on 3 rows:" in said("articles", "--rows", "3")


def test_two_classes_are_compared_on_all_rows(articles):
    assert said("--compare", OLD, NEW) == "The classes are equal on 3 rows.\n"
    assert said("--compare", OLD, NEW, "--rows", "1") == "The classes are equal on the first 1 row.\n"
    out, _, error = commands.failed("suggest_sitemaps", "--compare", OLD, OTHER)
    assert (str(error), error.returncode) == ("The classes differ.", 1)
    row, _, other = out.splitlines()[0].partition(", but would be ")
    assert row.startswith(f"row {articles[0].pk} is <url><loc>")
    assert ("<priority>" in row, "<priority>" in other) == (True, False)
    Article.objects.all().delete()
    assert said("--compare", OLD, NEW) == "The classes are not compared, because there are no rows.\n"


def test_the_output_can_be_json():
    plain, articles = json.loads(said("plain", "articles", "--format", "json"))
    comparison = {"rows": 3, "is_complete": True, "differences": []}
    assert (plain["section"], plain["code"]) == ("plain", None)
    assert (articles["section"], articles["hooks"]) == ("articles", ["location", "lastmod"])
    assert articles["comparison"] == comparison
    assert json.loads(said("--compare", OLD, NEW, "--format", "json")) == comparison


@pytest.mark.parametrize(("arguments", "message"), [
    (["artcles"], r"There is no section 'artcles'. Did you mean 'articles'\?"),
    (["--rows", "0"], "--rows must be at least 1."),
    (["--compare", "shop.Old", NEW], "No module named 'shop'"),
    (["--compare", OLD, "django_sitemaps09.GenericSitemap"], "__init__.. missing 1 required posit"),
    (["articles", "--compare", OLD, NEW], "--compare takes two classes and no sections."),
    (["--all"], "unrecognized arguments: --all"),
])  # fmt: skip
def test_an_error_names_the_problem(arguments, message):
    with pytest.raises(CommandError, match=message):
        said(*arguments)
