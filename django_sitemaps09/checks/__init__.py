"""System checks of settings and declarations. The checks never query the database or call a project's code.

A problem that `django.contrib.sitemaps` would accept is usually a warning. It is an error only if the class
declares expressions, or if the section cannot be served at all. Other problems are errors.
"""

from __future__ import annotations

from django_sitemaps09.checks.caches import check_caches
from django_sitemaps09.checks.declarations import check_declarations
from django_sitemaps09.checks.sections import check_sections
from django_sitemaps09.checks.settings import check_settings

__all__ = ["check_caches", "check_declarations", "check_sections", "check_settings"]
