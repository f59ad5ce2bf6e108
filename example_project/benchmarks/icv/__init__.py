"""The articles as django-icv-sitemaps wants them."""
