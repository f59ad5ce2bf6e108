"""System checks of settings and declarations. The checks never query the database or call a project's code.

A problem in a declaration that `django.contrib.sitemaps` accepts is a warning, unless the class declares
expressions, or the section cannot be served at all.
"""

from __future__ import annotations

from django_sitemaps09.checks.sections import check_declarations, check_sections
from django_sitemaps09.checks.settings import check_caches, check_settings
from django_sitemaps09.checks.urlconf import check_urls

__all__ = ["check_caches", "check_declarations", "check_sections", "check_settings", "check_urls"]
