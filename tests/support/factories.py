"""How a test makes rows: it sets the values that matter; the rest is generated.

Each factory of the test project's models also accepts `using=ALIAS` to create a row in another database.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import factory
from factory.django import DjangoModelFactory

from tests import models

#: The newest generated time. Each row is an hour older than the previous one.
NEWEST = datetime(2026, 1, 31, 12, tzinfo=timezone.utc)


def write_articles(*slugs):
    """Create an article with each slug, a day newer than the one before."""
    first = datetime(2026, 1, 1, 10, 30, 15, tzinfo=timezone.utc)
    for day, slug in enumerate(slugs, models.Article.objects.count()):
        ArticleFactory(slug=slug, updated=first + timedelta(days=day))


def hours_before(number):
    return NEWEST - timedelta(hours=number)


class RowFactory(DjangoModelFactory):
    """Factory whose rows can be in any database."""

    class Meta:
        abstract = True
        skip_postgeneration_save = True

    using = None

    @classmethod
    def _build(cls, model_class, *args, using=None, **fields):
        return super()._build(model_class, *args, **fields)

    @classmethod
    def _create(cls, model_class, *args, using=None, **fields):
        return model_class._default_manager.using(using).create(*args, **fields)


made = {"FACTORY_CLASS": RowFactory}
CategoryFactory = factory.make_factory(models.Category, slug=factory.Sequence("category-{}".format), **made)
TagFactory = factory.make_factory(models.Tag, name=factory.Sequence("tag-{}".format), **made)


class ArticleFactory(RowFactory):
    """An article without a category and times; with `dated=True`, it has a time."""

    class Meta:
        model = models.Article

    class Params:
        dated = factory.Trait(updated=factory.Sequence(hours_before))

    slug = factory.Sequence("article-{}".format)

    @factory.post_generation
    def tags(self, create, tags, **kwargs):
        if create and tags:
            self.tags.add(*tags)


def add_related(using, rows):
    """Create the tags, this many comments and the visits of each article: one query a table."""
    found, through = [*rows], models.Article.tags.through
    for model, made in (
        (through, (through(article=row, tag=tag) for row, tags, _, _ in found for tag in tags)),
        (models.Comment, (models.Comment(article=row) for row, _, count, _ in found for _ in range(count))),
        (models.Visit, (models.Visit(article=row, at=at) for row, _, _, times in found for at in times)),
    ):
        model._default_manager.using(using).bulk_create(made)


class SiteFactory(DjangoModelFactory):
    class Meta:
        model = "sites.Site"

    domain = factory.Sequence("site-{}.example".format)
    name = factory.SelfAttribute("domain")


class FlatPageFactory(DjangoModelFactory):
    """A flat page; `sites=[...]` names the sites that it is on."""

    class Meta:
        model = "flatpages.FlatPage"
        skip_postgeneration_save = True

    url = factory.Sequence("/page-{}/".format)
    title = factory.SelfAttribute("url")

    @factory.post_generation
    def sites(self, create, sites, **kwargs):
        if create and sites:
            self.sites.add(*sites)
