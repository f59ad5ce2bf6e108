"""System checks of settings and declarations: nothing here queries, or calls what a user wrote.

What contrib accepts is at most a warning on a class without expressions; where a class declares
some, or where nothing at all could be served, it is an error.
"""

from __future__ import annotations

from django_sitemaps09.checks.declarations import check_declarations
from django_sitemaps09.checks.sections import check_sections
from django_sitemaps09.checks.settings import check_settings

__all__ = ["check_declarations", "check_sections", "check_settings"]
