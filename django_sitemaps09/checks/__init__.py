"""System checks of settings and declarations. The checks never query the database or call a project's code.

If `django.contrib.sitemaps` accepts a declaration, a problem is an error only if the class declares
expressions, or if the section cannot be served at all. Otherwise, the problem is a warning.
"""

from __future__ import annotations

from django_sitemaps09.checks.caches import check_caches
from django_sitemaps09.checks.declarations import check_declarations
from django_sitemaps09.checks.sections import check_sections
from django_sitemaps09.checks.settings import check_settings

__all__ = ["check_caches", "check_declarations", "check_sections", "check_settings"]
