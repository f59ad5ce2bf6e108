"""Factories of the test project's models: a test sets the values that matter; the rest is generated.

Each factory also accepts `using=ALIAS` to create a row in another database.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from typing import Any

import factory
from factory.django import DjangoModelFactory

from tests import models

#: The newest generated time. Each row is an hour older than the previous one.
NEWEST = datetime(2026, 1, 31, 12, tzinfo=timezone.utc)


def hours_before(number: int) -> datetime:
    return NEWEST - timedelta(hours=number)


class RowFactory(DjangoModelFactory):  # type: ignore[type-arg]
    """Factory whose rows, and related rows, can be in any database."""

    class Meta:
        abstract = True
        skip_postgeneration_save = True

    using: Any = None

    @classmethod
    def _build(cls, model_class: Any, *args: Any, using: str | None = None, **fields: Any) -> Any:
        return super()._build(model_class, *args, **fields)

    @classmethod
    def _create(cls, model_class: Any, *args: Any, using: str | None = None, **fields: Any) -> Any:
        return model_class._default_manager.using(using).create(*args, **fields)


def related(made_by: type[RowFactory]) -> Any:
    """Return a related row, in the database of the row itself."""
    return factory.SubFactory(made_by, using=factory.SelfAttribute("..using"))


class CategoryFactory(RowFactory):
    class Meta:
        model = models.Category

    slug = factory.Sequence("category-{}".format)


class TagFactory(RowFactory):
    class Meta:
        model = models.Tag

    name = factory.Sequence("tag-{}".format)


class ArticleFactory(RowFactory):
    """An article without a category and times; with `dated=True`, it has a time."""

    class Meta:
        model = models.Article

    class Params:
        dated = factory.Trait(updated=factory.Sequence(hours_before))

    slug = factory.Sequence("article-{}".format)

    @factory.post_generation
    def tags(self: Any, create: bool, tags: Any, **kwargs: Any) -> None:
        if create and tags:
            self.tags.add(*tags)


class RecentFactory(ArticleFactory):
    class Meta:
        model = models.Recent


class CommentFactory(RowFactory):
    class Meta:
        model = models.Comment

    article = related(ArticleFactory)


def add_related(using: str, rows: Iterable[tuple[models.Article, Any, int, Iterable[datetime]]]) -> None:
    """Create the tags, this many comments and the visits of each article: one query a table."""
    found, through = [*rows], models.Article.tags.through
    for model, made in (
        (through, (through(article=row, tag=tag) for row, tags, _, _ in found for tag in tags)),
        (models.Comment, (models.Comment(article=row) for row, _, count, _ in found for _ in range(count))),
        (models.Visit, (models.Visit(article=row, at=at) for row, _, _, times in found for at in times)),
    ):
        model._default_manager.using(using).bulk_create(made)  # type: ignore[attr-defined]


class WordFactory(RowFactory):
    class Meta:
        model = models.Word

    word = factory.Sequence("word-{}".format)


class SeatFactory(RowFactory):
    class Meta:
        model = models.Seat

    row = "a"
    number = factory.Sequence(int)


class ChildFactory(RowFactory):
    class Meta:
        model = models.Child

    name = factory.Sequence("child-{}".format)


class InvoiceFactory(RowFactory):
    class Meta:
        model = models.Invoice

    number = factory.Sequence(int)
