"""Page of a product, in the language of its URL."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from products.models import Product


def product(request: HttpRequest, code: str) -> HttpResponse:
    product = get_object_or_404(Product, code=code)
    return render(request, "products/product.html", {"product": product})
