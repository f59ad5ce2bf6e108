"""Sitemap of the products, with a URL for each language; the URLs link to each other."""

from __future__ import annotations

from django.db.models import F

from django_sitemaps09 import ModelSitemap, Route, register
from products.models import Product


@register("products")
class ProductSitemap(ModelSitemap[Product]):
    model = Product
    location = Route("product", code=F("code"))
    lastmod = F("updated")
    i18n = True
    alternates = True
    x_default = True
