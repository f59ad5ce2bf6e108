"""Products with photos and films, and articles of several sites."""

from __future__ import annotations

from django.contrib.sites.models import Site
from django.db import models
from django.urls import reverse


class Category(models.Model):
    slug = models.SlugField(unique=True)


class Product(models.Model):
    category = models.ForeignKey(Category, on_delete=models.CASCADE)
    slug = models.SlugField()
    published = models.BooleanField(default=True)
    updated_at = models.DateTimeField()
    price = models.DecimalField(max_digits=8, decimal_places=2, default=0)
    reviewed_at = models.DateTimeField(null=True, editable=False)

    def get_absolute_url(self) -> str:
        return reverse("product-detail", kwargs={"category": self.category.slug, "slug": self.slug})


class Review(models.Model):
    product = models.ForeignKey(Product, on_delete=models.CASCADE, related_name="reviews")
    created_at = models.DateTimeField()


class Photo(models.Model):
    product = models.ForeignKey(Product, on_delete=models.CASCADE, related_name="photos")
    file = models.FileField()


class Film(models.Model):
    product = models.ForeignKey(Product, on_delete=models.CASCADE, related_name="films")
    title = models.CharField(max_length=50)
    summary = models.TextField()
    still = models.FileField()
    file = models.FileField()
    length = models.IntegerField()


class Article(models.Model):
    slug = models.SlugField()
    title = models.CharField(max_length=100)
    public = models.BooleanField(default=True)
    published_at = models.DateTimeField()
    sites = models.ManyToManyField(Site, db_constraint=False)

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return reverse("article", kwargs={"slug": self.slug})
