"""System checks of settings and declarations. The checks never query the database or call a project's code.

The only exception is a path converter that matches `sitemap.xml` or `robots.txt`.

A problem in a declaration that `django.contrib.sitemaps` accepts is a warning, unless the class declares
expressions, or the section cannot be served at all.
"""

from __future__ import annotations

from django_sitemaps09.checks.sections import check_declarations, check_sections
from django_sitemaps09.checks.settings import check_deployment, check_settings

__all__ = ["check_declarations", "check_deployment", "check_sections", "check_settings"]
