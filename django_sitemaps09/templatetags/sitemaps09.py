"""The template tags of the default templates: `{% sitemap_urlset %}` and `{% sitemap_index %}`."""

from __future__ import annotations

from django import template

from django_sitemaps09.views.compat import IndexNode, UrlsetNode

register = template.Library()
register.tag("sitemap_urlset", lambda parser, token: UrlsetNode())
register.tag("sitemap_index", lambda parser, token: IndexNode())
