"""Views of articles and their images."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from articles.models import Article

SVG = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 9">
  <rect width="16" height="9" fill="hsl({hue} 60% 70%)"/>
</svg>
"""


def article(request: HttpRequest, category: str, slug: str) -> HttpResponse:
    articles = Article.objects.filter(published=True).select_related("category")
    article = get_object_or_404(articles, category__slug=category, slug=slug)
    return render(request, "articles/article.html", {"article": article})


def image(request: HttpRequest, number: int) -> HttpResponse:
    return HttpResponse(SVG.format(hue=number % 360), content_type="image/svg+xml")
