"""Methods with conditions that a column can express, and their neighbours that it cannot."""

# ruff: noqa: F401 the tables use the imports
from __future__ import annotations

from typing import Any

from django.urls import reverse

from tests.suggestions.corpus import Form


class Conditions(Form):
    of_the_model = """
    self.path or "/none/"
        => Can be empty: Case(When(Q(path=""), then=Value("/none/")), default=F("path"),
        output_field=CharField())
    self.code or "/none/"
        => Can be empty: Case(When(Q(code="") | Q(code__isnull=True), then=Value("/none/")),
        default=F("code"), output_field=CharField())
    self.code or self.path or f"/posts/{self.slug}/"
        => Can be empty: Case(When(Q(code="") | Q(code__isnull=True), then=Case(When(Q(path=""),
        then=Concat(Value("/posts/"), F("slug"), Value("/"), output_field=CharField())), default=F("path"),
        output_field=CharField())), default=F("code"), output_field=CharField())
    reverse("rank", args=[self.code or "none"])
        => Route("rank", Case(When(Q(code="") | Q(code__isnull=True), then=Value("none")),
        default=F("code"), output_field=CharField()))
    section = self.section
    return reverse("section-entry", args=[section.slug if section else "none", self.slug])
        => Route("section-entry", Case(When(Q(section__isnull=True), then=Value("none")),
        default=F("section__slug"), output_field=CharField()), F("slug"))
    reverse("number", args=[self.rank or 0])
        => Route("number", Case(When(Q(rank=0) | Q(rank__isnull=True), then=Value(0)), default=F("rank"),
        output_field=IntegerField()))
    f"/{'none' if self.code is None else self.code}/{self.slug}/"
        => PathTemplate("/{value_0}/{slug}/", value_0=Case(When(Q(code__isnull=True), then=Value("none")),
        default=F("code"), output_field=CharField()), slug=F("slug"))
    f"/{self.code if self.code is not None else 'none'}/"
        => PathTemplate("/{value_0}/", value_0=Case(When(Q(code__isnull=True), then=Value("none")),
        default=F("code"), output_field=CharField()))
    f"/{self.code if self.rank is not None else 'none'}/"
        => Refused: writes what can be NULL in `f'/{(self.code if self.rank is not None else 'none')}/'`
    f"/{self.code if self.code is None else 'none'}/"
        => Refused: writes what can be NULL in `f'/{(self.code if self.code is None else 'none')}/'`
    "/hidden/" if not self.public else f"/{self.pk}/"
        => Case(When(Q(public=False), then=Value("/hidden/")), default=Concat(Value("/"), Cast(F("pk"),
        CharField()), Value("/"), output_field=CharField()), output_field=CharField())
    f"/{self.section.slug}/" if not self.section is None else "/none/"
        => Case(When(Q(section__isnull=True), then=Value("/none/")), default=Concat(Value("/"),
        F("section__slug"), Value("/"), output_field=CharField()), output_field=CharField())
    f"/{self.section.slug}/" if self.section_id else "/none/"
        => Case(When(Q(section_id=0) | Q(section_id__isnull=True), then=Value("/none/")),
        default=Concat(Value("/"), F("section__slug"), Value("/"), output_field=CharField()),
        output_field=CharField())
    "/none/" if self.section_id is None else f"/{self.section.slug}/"
        => Case(When(Q(section_id__isnull=True), then=Value("/none/")), default=Concat(Value("/"),
        F("section__slug"), Value("/"), output_field=CharField()), output_field=CharField())
    parent = "none" if self.section is None else (self.section.slug or "empty")
    return f"/{parent}/{self.slug}/"
        => PathTemplate("/{value_0}/{slug}/", value_0=Case(When(Q(section__isnull=True),
        then=Value("none")), default=Case(When(Q(section__slug=""), then=Value("empty")),
        default=F("section__slug"), output_field=CharField()), output_field=CharField()), slug=F("slug"))
    f"/{self.section.parent.slug}/" if self.section else "/none/"
        => Refused: reads an attribute of what can be NULL: `self.section.parent.slug`
    section = self.section
    slug = "none" if section is None else (section.parent.slug if section.parent else "root")
    return f"/{slug}/"
        => PathTemplate("/{value_0}/", value_0=Case(When(Q(section__isnull=True), then=Value("none")),
        default=Case(When(Q(section__parent__isnull=True), then=Value("root")),
        default=F("section__parent__slug"), output_field=CharField()), output_field=CharField()))
    "/note/" if self.kind == "note" else f"/{self.slug}/"
        => Case(When(Q(kind="note"), then=Value("/note/")), default=Concat(Value("/"), F("slug"),
        Value("/"), output_field=CharField()), output_field=CharField())
    f"/{self.slug}/" if self.kind != "note" else "/note/"
        => Case(When(Q(kind="note"), then=Value("/note/")), default=Concat(Value("/"), F("slug"),
        Value("/"), output_field=CharField()), output_field=CharField())
    "/none/" if self.path == "" else self.path
        => Can be empty: Case(When(Q(path=""), then=Value("/none/")), default=F("path"),
        output_field=CharField())
    "/none/" if self.code == "None" else f"/{self.slug}/"
        => Case(When(Q(code="None"), then=Value("/none/")), default=Concat(Value("/"), F("slug"),
        Value("/"), output_field=CharField()), output_field=CharField())
    f"/{self.slug}/" if self.code != "50%" else "/none/"
        => Case(When(Q(code="50%"), then=Value("/none/")), default=Concat(Value("/"), F("slug"), Value("/"),
        output_field=CharField()), output_field=CharField())
    "/a/" if self.author.name == "draft" else f"/{self.slug}/"
        => Case(When(Q(author__name="draft"), then=Value("/a/")), default=Concat(Value("/"), F("slug"),
        Value("/"), output_field=CharField()), output_field=CharField())
    "/none/" if self.code == None else self.code
        => Refused: compares, maybe not as the database does, `self.code == None`
    "/zero/" if self.number == 0 else f"/{self.slug}/"
        => Case(When(Q(number=0), then=Value("/zero/")), default=Concat(Value("/"), F("slug"), Value("/"),
        output_field=CharField()), output_field=CharField())
    "/zero/" if self.rank == 0 else f"/{self.slug}/"
        => Case(When(Q(rank=0), then=Value("/zero/")), default=Concat(Value("/"), F("slug"), Value("/"),
        output_field=CharField()), output_field=CharField())
    "/big/" if self.rank > 5 else f"/{self.slug}/"
        => Refused: compares, maybe not as the database does, `self.rank > 5`
    "/small/" if self.number <= -50 else f"/{self.slug}/"
        => Refused: compares, maybe not as the database does, `self.number <= -50`
    "/big/" if self.author_id == 999999999999999999999 else f"/{self.slug}/"
        => Refused: has `999999999999999999999`
    "/zero/" if self.number == "0" else f"/{self.slug}/"
        => Refused: compares, maybe not as the database does, `self.number == '0'`
    "/public/" if self.public == True else f"/{self.slug}/" => Refused: has `True`
    "/some/" if 0 < self.number < 500 else f"/{self.slug}/"
        => Refused: compares, maybe not as the database does, `0 < self.number < 500`
    "/some/" if self.slug > "m" else f"/{self.slug}/"
        => Refused: compares, maybe not as the database does, `self.slug > 'm'`
    "/same/" if self.slug == self.title else f"/{self.slug}/"
        => Refused: compares, maybe not as the database does, `self.slug == self.title`
    "/some/" if self.public and self.path else f"/{self.slug}/" => Refused: has `self.public and self.path`
    "/old/" if self.day.year < 2026 else f"/{self.slug}/"
        => Refused: compares, maybe not as the database does, `self.day.year < 2026`
    f"/{self.slug}/" if self.updated else "/new/"
        => Case(When(Q(updated__isnull=True), then=Value("/new/")), default=Concat(Value("/"), F("slug"),
        Value("/"), output_field=CharField()), output_field=CharField())
    f"/{self.slug}/" if self.created else "/new/" => Refused: asks for the truth of `self.created`
    f"/{self.slug}/" if self.weight else "/light/"
        => Case(When(Q(weight=0) | Q(weight__isnull=True), then=Value("/light/")),
        default=Concat(Value("/"), F("slug"), Value("/"), output_field=CharField()),
        output_field=CharField())
    f"/{self.slug}/" if self.author else "/anonymous/" => Refused: asks for the truth of `self.author`
    reverse("entry" if self.public else "blog:entry", args=[self.slug])
        => Refused: needs a constant name, and plain arguments, for `reverse('entry' if self.public else
        'blog:entry', args=[self.slug])`
    reverse("entry", args=[self.slug]) if self.public else "/hidden/"
        => Refused: needs a Route in Case(), which is not possible, for `reverse('entry', args=[self.slug])
        if self.public else '/hidden/'`
    self.path or reverse("entry", args=[self.slug])
        => Refused: needs a Route in Case(), which is not possible, for `self.path or reverse('entry',
        args=[self.slug])`
    f"/{self.rank or 'none'}/" => Refused: chooses between integer and text in `self.rank or 'none'`
    f"/{self.uid if self.public else 'hidden'}/"
        => Refused: chooses between text and uuid in `self.uid if self.public else 'hidden'`
    f"/{self.uid}/" if self.public else "/hidden/" => Refused: writes uuid in `f'/{self.uid}/'`
    f"/{self.number}/{self.slug}/" if self.public else f"/{self.pk}/"
        => Case(When(Q(public=False), then=Concat(Value("/"), Cast(F("pk"), CharField()), Value("/"),
        output_field=CharField())), default=Concat(Value("/"), Cast(F("number"), CharField()), Value("/"),
        F("slug"), Value("/"), output_field=CharField()), output_field=CharField())
    f"/{self.day.year}/" if self.public else "/hidden/"
        => Case(When(Q(public=False), then=Value("/hidden/")), default=Concat(Value("/"),
        Cast(ExtractYear("day"), CharField()), Value("/"), output_field=CharField()),
        output_field=CharField())
    self.path if self.public else None
        => Can be empty: Case(When(Q(public=False), then=Value(None)), default=F("path"),
        output_field=CharField())
    "/a/" if self.public else ("/b/" if self.number else f"/{self.slug}/")
        => Case(When(Q(public=False), then=Case(When(Q(number=0), then=Concat(Value("/"), F("slug"),
        Value("/"), output_field=CharField())), default=Value("/b/"), output_field=CharField())),
        default=Value("/a/"), output_field=CharField())
    f"/100%/{self.slug}/%s/" if self.public else "/50%/{}/"
        => Case(When(Q(public=False), then=Value("/50%/{}/")), default=Concat(Value("/100%/"), F("slug"),
        Value("/%s/"), output_field=CharField()), output_field=CharField())
    """


class ConditionalPriorities(Form):
    hook = "priority"
    of_the_sitemap = """
    0.9 if item.public else 0.1
        => Case(When(Q(public=False), then=Value(0.1)), default=Value(0.9), output_field=FloatField())
    item.weight or 0.5
        => Case(When(Q(weight=0) | Q(weight__isnull=True), then=Value(0.5)), default=F("weight"),
        output_field=FloatField())
    1.0 if item.kind == "post" else 0.5
        => Case(When(Q(kind="post"), then=Value(1.0)), default=Value(0.5), output_field=FloatField())
    1 if item.public else 0
        => Case(When(Q(public=False), then=Value(0)), default=Value(1), output_field=IntegerField())
    1 if item.public else 0.5 => Refused: chooses between float and integer in `1 if item.public else 0.5`
    0.9 if item.updated is None else None
        => Case(When(Q(updated__isnull=True), then=Value(0.9)), default=Value(None),
        output_field=FloatField())
    """


class ConditionalLastmods(Form):
    hook = "lastmod"
    of_the_sitemap = """
    item.day if item.public else None
        => Case(When(Q(public=False), then=Value(None)), default=F("day"), output_field=DateField())
    item.updated if item.kind == "post" else item.created
        => Case(When(Q(kind="post"), then=F("updated")), default=F("created"), output_field=DateTimeField())
    item.section.changed if item.section else item.created
        => Case(When(Q(section__isnull=True), then=F("created")), default=F("section__changed"),
        output_field=DateTimeField())
    """
