"""Two comments and one seat for each article."""

from __future__ import annotations

from django.db import models

from articles.models import Article


class Comment(models.Model):
    article = models.ForeignKey(Article, on_delete=models.CASCADE, related_name="comments")
    shown = models.BooleanField(default=True)

    def __str__(self) -> str:
        return f"Comment {self.pk}"


class Seat(models.Model):
    pk = models.CompositePrimaryKey("block", "number")
    block = models.IntegerField()
    number = models.IntegerField()
    updated = models.DateTimeField()

    def __str__(self) -> str:
        return f"Seat {self.block}-{self.number}"
