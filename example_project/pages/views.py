"""Pages without a model."""

from __future__ import annotations

from django.contrib.flatpages.models import FlatPage
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from articles.models import Article
from legacy.models import Event
from products.models import Product


def home(request: HttpRequest) -> HttpResponse:
    articles = Article.objects.filter(published=True).select_related("category")
    context = {
        "articles": articles.order_by("-updated")[:10],
        "products": Product.objects.order_by("-updated")[:10],
        "flatpages": FlatPage.objects.all(),
        "events": Event.objects.filter(archived=False)[:10],
    }
    return render(request, "pages/home.html", context)


def about(request: HttpRequest) -> HttpResponse:
    return render(request, "pages/about.html")


def contact(request: HttpRequest) -> HttpResponse:
    return render(request, "pages/contact.html")
