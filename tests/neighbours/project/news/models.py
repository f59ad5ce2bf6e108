"""A model whose slug has a column for each language."""

from django.db import models
from django.urls import reverse


class Article(models.Model):
    slug = models.SlugField()
    public = models.BooleanField(default=True)
    updated_at = models.DateTimeField(auto_now=True)

    def get_absolute_url(self):
        return reverse("article", kwargs={"slug": self.slug})
