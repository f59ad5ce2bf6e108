"""Entries of a blog: one proxy model for each way to write `get_absolute_url()`."""

from __future__ import annotations

import uuid
from functools import lru_cache
from typing import Any

from django.db import models
from django.urls import NoReverseMatch, reverse
from django.utils.functional import cached_property
from django.utils.translation import get_language


class Team(models.Model):
    slug = models.SlugField()


class Author(models.Model):
    name = models.CharField(max_length=20)
    team = models.ForeignKey(Team, on_delete=models.CASCADE)
    changed = models.DateTimeField(null=True)

    def url_of(self, entry: Entry) -> str:
        return reverse("author-entry", args=(self.name, entry.pk))


class Section(models.Model):
    slug = models.SlugField()
    parent = models.ForeignKey("self", null=True, on_delete=models.CASCADE)
    changed = models.DateTimeField()


class Label(models.Model):
    name = models.SlugField()


class Entry(models.Model):
    """An entry, with all kinds of fields."""

    slug = models.SlugField()
    title = models.CharField(max_length=50)
    kind = models.CharField(max_length=10, choices=[("post", "Post"), ("note", "Note")])
    author = models.ForeignKey(Author, on_delete=models.CASCADE)
    section = models.ForeignKey(Section, null=True, on_delete=models.CASCADE)
    labels = models.ManyToManyField(Label)
    uid = models.UUIDField(default=uuid.uuid4)
    number = models.IntegerField()
    public = models.BooleanField(default=True)
    day = models.DateField()
    created = models.DateTimeField()
    updated = models.DateTimeField(null=True)
    weight = models.FloatField(null=True)
    path = models.CharField(max_length=50, blank=True)
    slug_en = models.SlugField()
    slug_de = models.SlugField()
    rank = models.IntegerField(null=True)
    freq = models.CharField(max_length=10, null=True)
    code = models.CharField(max_length=50, null=True)

    viewname = "entry"

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return reverse("entry", kwargs={"slug": self.slug})


class Proxy(models.base.ModelBase):
    """Makes each subclass of `Entry` a proxy."""

    def __new__(cls, name: str, bases: Any, attributes: Any, **kwargs: Any) -> Any:
        attributes["Meta"] = type("Meta", (), {"proxy": True, "app_label": "blog"})
        return super().__new__(cls, name, bases, attributes, **kwargs)


# Methods that can be declared.


class Args(Entry, metaclass=Proxy):
    def get_absolute_url(self) -> str:
        return reverse("entry", args=[self.slug])


class OtherModel(Entry, metaclass=Proxy):
    def get_absolute_url(self) -> str:
        return self.author.url_of(self)


class OfCachedProperty(Entry, metaclass=Proxy):
    @cached_property
    def url(self) -> str:
        return reverse("entry", kwargs={"slug": self.slug})

    def get_absolute_url(self) -> str:
        return self.url


class OfSuper(Args):
    class Meta:
        proxy = True

    def get_absolute_url(self) -> str:
        return super().get_absolute_url()


class Inherited(Args):
    class Meta:
        proxy = True


def url_of(entry: Any, name: str) -> str:
    return reverse(name, kwargs={"slug": entry.slug})


class OfFunction(Entry, metaclass=Proxy):
    def get_absolute_url(self) -> str:
        return url_of(self, name=self.viewname)


class OfGetattr(Entry, metaclass=Proxy):
    slug_field = "slug"

    def get_absolute_url(self) -> str:
        return reverse("entry", args=[getattr(self, self.slug_field)])


class ConstantArgument(Entry, metaclass=Proxy):
    def get_absolute_url(self) -> str:
        return reverse("kind-entry", kwargs={"kind": "blog", "slug": self.slug})


class Kept(Entry, metaclass=Proxy):
    def get_absolute_url(self) -> str:
        if not hasattr(self, "_url"):
            self._url = reverse("entry", kwargs={"slug": self.slug})
        return self._url


class MaybeSection(Entry, metaclass=Proxy):
    def get_absolute_url(self) -> str:
        section = self.section.slug if self.section else None
        return reverse("section-entry", kwargs={"section": section, "slug": self.slug})


class SectionKey(Entry, metaclass=Proxy):
    def get_absolute_url(self) -> str:
        section = self.section.slug if self.section_id and self.section else None
        return reverse("section-entry", kwargs={"section": section, "slug": self.slug})


class SectionRequired(Entry, metaclass=Proxy):
    def get_absolute_url(self) -> str:
        slug = self.section.slug  # type: ignore[union-attr] # as projects do
        return reverse("section-entry", kwargs={"section": slug, "slug": self.slug})


class OfClass(Entry, metaclass=Proxy):
    def get_absolute_url(self) -> str:
        name = "entry" if isinstance(self, Entry) and self.__class__ is OfClass else "other"
        return reverse(name, kwargs={"slug": self.slug})


# Methods that cannot be declared.


class Branch(Entry, metaclass=Proxy):
    def get_absolute_url(self) -> str:
        if self.kind == "post":  # here
            return reverse("entry", kwargs={"slug": self.slug})
        return reverse("kind-entry", kwargs={"kind": "note", "slug": self.slug})


class Match(Entry, metaclass=Proxy):
    def get_absolute_url(self) -> str:
        match self.kind:
            case "post":  # here
                return reverse("entry", kwargs={"slug": self.slug})
        return reverse("blog:entry", kwargs={"slug": self.slug})


class Number(Entry, metaclass=Proxy):
    def get_absolute_url(self) -> str:
        return reverse("number", kwargs={"pk": int(self.number)})  # here


class Queries(Entry, metaclass=Proxy):
    def get_absolute_url(self) -> str:
        if Team.objects.count() > 100:  # here
            return "/"
        return reverse("entry", kwargs={"slug": self.slug})


class Saves(Entry, metaclass=Proxy):
    def get_absolute_url(self) -> str:
        self.save()  # here
        return reverse("entry", kwargs={"slug": self.slug})


class SavesBySuper(Entry, metaclass=Proxy):
    def save(self, *args: Any, **kwargs: Any) -> None:
        super().save(*args, **kwargs)  # here

    def get_absolute_url(self) -> str:
        self.save()
        return reverse("entry", kwargs={"slug": self.slug})


class Changes(Entry, metaclass=Proxy):
    def get_absolute_url(self) -> str:
        self.number = 4  # here
        return reverse("entry", kwargs={"slug": self.slug})


class ChangesClass(Entry, metaclass=Proxy):
    def get_absolute_url(self) -> str:
        self.__class__ = Entry  # here
        return reverse("entry", kwargs={"slug": self.slug})


class Creates(Entry, metaclass=Proxy):
    def get_absolute_url(self) -> str:
        Label.objects.create(name="seen")  # here
        return reverse("entry", kwargs={"slug": self.slug})


class Language(Entry, metaclass=Proxy):
    def get_absolute_url(self) -> str:
        slug = getattr(self, "slug_de" if get_language() == "de" else "slug_en")  # here
        return reverse("entry", kwargs={"slug": slug})


class Handled(Entry, metaclass=Proxy):
    def get_absolute_url(self) -> str:
        try:
            return reverse("entry", kwargs={"slug": self.slug[0]})  # here
        except Exception:  # noqa: BLE001 as projects do
            return reverse("entry", kwargs={"slug": self.slug})


class Loop(Entry, metaclass=Proxy):
    def get_absolute_url(self) -> str:
        section: Any = self.section
        while section.parent is not None:  # here
            section = section.parent
        return reverse("section-entry", kwargs={"section": section.slug, "slug": self.slug})


class Cached(Entry, metaclass=Proxy):
    @lru_cache(maxsize=10)  # noqa: B019 as projects do
    def url(self) -> str:
        return reverse("entry", kwargs={"slug": self.slug})

    def get_absolute_url(self) -> str:
        return self.url()  # here


class Type(Entry, metaclass=Proxy):
    def get_absolute_url(self) -> str:
        slug = self.slug if isinstance(self.slug, str) else "none"  # here
        return reverse("entry", kwargs={"slug": slug})


class Fails(Entry, metaclass=Proxy):
    def get_absolute_url(self) -> str:
        raise NoReverseMatch("there is no page")  # here
