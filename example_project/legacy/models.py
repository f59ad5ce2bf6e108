"""Events: the models of an app that was written for django.contrib.sitemaps."""

from __future__ import annotations

from django.db import models
from django.urls import reverse


class Event(models.Model):
    title = models.CharField(max_length=200, unique=True)
    changed = models.DateField()
    archived = models.BooleanField(default=False)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return reverse("event", kwargs={"pk": self.pk})
