"""Models of the tests: one for each kind of key, and relations that are difficult for querysets."""

from __future__ import annotations

import uuid
from typing import Any, ClassVar

from django.db import connections, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.signals import pre_migrate
from django.dispatch import receiver


class Category(models.Model):
    slug = models.SlugField(unique=True)


class Tag(models.Model):
    name = models.CharField(max_length=20)


class Article(models.Model):
    """An integer key, and everything that a declaration can name."""

    slug = models.CharField(max_length=120)
    category = models.ForeignKey(Category, null=True, on_delete=models.CASCADE)
    tags = models.ManyToManyField(Tag)
    published = models.BooleanField(default=True)
    updated = models.DateTimeField(null=True)
    day = models.DateField(null=True)
    weight = models.DecimalField(max_digits=4, decimal_places=3, null=True)
    code = models.CharField(max_length=20, unique=True, null=True)

    def get_absolute_url(self) -> str:
        return f"/articles/{self.slug}/"


class Comment(models.Model):
    article = models.ForeignKey(Article, on_delete=models.CASCADE, related_name="comments")


class Document(models.Model):
    """A random key."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    number = models.IntegerField()


class Word(models.Model):
    """A text key, with the default collation of the database."""

    word = models.CharField(max_length=50, primary_key=True)


class Seat(models.Model):
    """A key of two columns."""

    pk = models.CompositePrimaryKey("row", "number")
    row = models.CharField(max_length=5)
    number = models.IntegerField()


class Reading(models.Model):
    """Columns that cannot be a key, and one that can be a key besides the primary key."""

    ratio = models.FloatField(unique=True)
    blob = models.BinaryField(max_length=20)
    amount = models.DecimalField(max_digits=20, decimal_places=5, unique=True)
    label = models.CharField(max_length=20, unique=True, null=True)
    serial = models.CharField(max_length=20, unique=True)


class Parent(models.Model):
    name = models.CharField(max_length=20)


class Child(Parent):
    """A relation as primary key."""


class Discussed(Article):
    """A proxy model whose ordering repeats rows with several comments."""

    class Meta:
        proxy = True
        ordering = ["comments"]


class Recent(Article):
    """A proxy model with its own ordering."""

    class Meta:
        proxy = True
        ordering = ["-slug"]


class Visit(models.Model):
    """Related rows for aggregates."""

    article = models.ForeignKey(Article, on_delete=models.CASCADE, related_name="visits")
    at = models.DateTimeField(null=True)


class Event(models.Model):
    """Keys besides the primary key."""

    at = models.DateTimeField(unique=True)
    price = models.DecimalField(max_digits=15, decimal_places=4, unique=True)
    # Ordering by the name of this relation would use the ordering of the related model.
    article = models.OneToOneField(Recent, on_delete=models.CASCADE)


class Ticket(models.Model):
    """A key of two columns, one of them a relation."""

    pk = models.CompositePrimaryKey("category", "number")
    category = models.ForeignKey(Category, on_delete=models.CASCADE)
    number = models.IntegerField()


class CaseBlindField(models.CharField):  # type: ignore[type-arg]
    """Text that the database compares case-insensitively."""

    collations: ClassVar = {"sqlite": "NOCASE", "mysql": "utf8mb4_general_ci", "postgresql": "case_blind"}

    def __init__(self, **kwargs: Any) -> None:
        # Django uses this name on PostgreSQL to decide whether LIKE can use an index.
        super().__init__(**{**kwargs, "db_collation": self.collations["postgresql"]})

    def db_parameters(self, connection: BaseDatabaseWrapper) -> dict[str, Any]:
        return {**super().db_parameters(connection), "collation": self.collations[connection.vendor]}


@receiver(pre_migrate)
def case_blind_collation(using: str, **kwargs: object) -> None:
    """Create a case-insensitive collation in PostgreSQL, which has none by default."""
    if connections[using].vendor == "postgresql":
        with connections[using].cursor() as cursor:
            cursor.execute(
                "CREATE COLLATION IF NOT EXISTS case_blind "
                "(provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
            )


class Name(models.Model):
    """A text key that ignores case."""

    name = CaseBlindField(max_length=50, primary_key=True)


class Scale(models.Model):
    """A primary key without an exact text form."""

    ratio = models.FloatField(primary_key=True)


class Dispatch(models.Model):
    """A news article of one of several sites."""

    # These tables are created before those of apps with migrations.
    site = models.ForeignKey("sites.Site", on_delete=models.CASCADE, db_constraint=False)
    at = models.DateTimeField()

    def get_absolute_url(self) -> str:
        return f"/dispatches/{self.pk}/"


class Invoice(models.Model):
    """A key that the database generates."""

    number = models.IntegerField()
    serial = models.GeneratedField(
        expression=models.F("number") * 3, output_field=models.IntegerField(), db_persist=True, unique=True
    )


class Coupon(models.Model):
    """A generated key, which can be NULL although its field cannot."""

    number = models.IntegerField()
    code = models.IntegerField(null=True)
    serial = models.GeneratedField(
        expression=models.F("code") * 3, output_field=models.IntegerField(), db_persist=True, unique=True
    )


class Redemption(models.Model):
    coupon = models.ForeignKey(Coupon, on_delete=models.CASCADE, related_name="redemptions")
