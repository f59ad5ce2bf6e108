"""Tests that the compatibility views and the classes behave as `django.contrib.sitemaps` does."""
