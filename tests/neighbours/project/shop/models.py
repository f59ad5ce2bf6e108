"""A model whose slug is in a row for each language."""

from django.db import models
from django.urls import reverse
from parler.models import TranslatableModel, TranslatedFields


class Product(TranslatableModel):
    translations = TranslatedFields(slug=models.SlugField())
    updated_at = models.DateTimeField(auto_now=True)

    def get_absolute_url(self):
        return reverse("product", kwargs={"slug": self.slug})
