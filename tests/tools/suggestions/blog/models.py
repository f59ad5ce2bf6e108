"""Entries of a blog, with all kinds of fields."""

from __future__ import annotations

import uuid

from django.db import models
from django.urls import reverse


class Team(models.Model):
    slug = models.SlugField()


class Author(models.Model):
    name = models.CharField(max_length=20)
    team = models.ForeignKey(Team, on_delete=models.CASCADE)
    changed = models.DateTimeField(null=True)


class Section(models.Model):
    slug = models.SlugField()
    parent = models.ForeignKey("self", null=True, on_delete=models.CASCADE)
    changed = models.DateTimeField()


class Label(models.Model):
    name = models.SlugField()


class Entry(models.Model):
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
    rank = models.IntegerField(null=True)
    freq = models.CharField(max_length=10, null=True)
    code = models.CharField(max_length=50, null=True)

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return reverse("entry", kwargs={"slug": self.slug})
