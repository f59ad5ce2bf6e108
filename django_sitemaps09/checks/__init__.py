"""System checks of settings and declarations, which never query, nor call a project's code.

On a class without expressions, anything that contrib accepts is at most a warning. It is an error where a
class declares expressions, or where nothing at all could be served.
"""

from __future__ import annotations

from django_sitemaps09.checks.declarations import check_declarations
from django_sitemaps09.checks.sections import check_sections
from django_sitemaps09.checks.settings import check_settings

__all__ = ["check_declarations", "check_sections", "check_settings"]
