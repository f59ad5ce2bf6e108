"""The articles, declared for django-icv-sitemaps."""
