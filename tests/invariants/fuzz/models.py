"""Models with the same columns and relations for each kind of key."""

from __future__ import annotations

from django.db import models


class Group(models.Model):
    name = models.CharField(max_length=10)
    at = models.DateTimeField()


class Tag(models.Model):
    name = models.CharField(max_length=5)
    rank = models.IntegerField(null=True)
    at = models.DateTimeField(null=True)


class Anchor(models.Model):
    """The target of a key that is a relation."""


class Thing(models.Model):
    """A row. `number` and `serial` are unique, so that they can be keys besides the primary key."""

    slug = models.CharField(max_length=20)
    number = models.IntegerField(unique=True)
    serial = models.GeneratedField(
        expression=models.F("number") * 2 + 1, output_field=models.IntegerField(), db_persist=True,
        unique=True,
    )  # fmt: skip
    group = models.ForeignKey(Group, null=True, on_delete=models.CASCADE, related_name="+")
    flag = models.BooleanField()
    weight = models.IntegerField(null=True)
    at = models.DateTimeField(null=True)
    day = models.DateField(null=True)

    class Meta:
        abstract = True


class Related(Thing):
    """A row with three multi-valued relations: `notes`, `children` and `tags`."""

    parent = models.ForeignKey("self", null=True, on_delete=models.CASCADE, related_name="children")
    tags = models.ManyToManyField(Tag, related_name="+")

    class Meta:
        abstract = True


class Note(models.Model):
    word = models.CharField(max_length=5)
    score = models.IntegerField(null=True)
    at = models.DateTimeField(null=True)

    class Meta:
        abstract = True


class Whole(Related):
    pass


class WholeByNotes(Whole):
    class Meta:
        proxy = True
        ordering = ["-notes__at"]


class WholeByGroup(Whole):
    class Meta:
        proxy = True
        ordering = ["group__name"]


class Random(Related):
    id = models.UUIDField(primary_key=True)


class Texted(Related):
    code = models.CharField(max_length=20, primary_key=True)


class Daily(Related):
    on = models.DateField(primary_key=True)


class Priced(Related):
    price = models.DecimalField(max_digits=12, decimal_places=3, primary_key=True)


class Anchored(Related):
    anchor = models.OneToOneField(Anchor, primary_key=True, on_delete=models.CASCADE)


def _notes_of(model):
    thing = models.ForeignKey(model, on_delete=models.CASCADE, related_name="notes")
    return type(f"{model.__name__}Note", (Note,), {"__module__": __name__, "thing": thing})


WholeNote = _notes_of(Whole)
for _model in (Random, Texted, Daily, Priced, Anchored):
    _notes_of(_model)


class Paired(Thing):
    """A row with a composite key, which cannot be the target of a relation."""

    pk = models.CompositePrimaryKey("row", "seat")
    row = models.CharField(max_length=5)
    seat = models.IntegerField()
