"""System checks of settings and declarations. No check calls a project's code.

Only two checks query databases: `check_keys()` runs with `check --database default`, and `check_site()` if
`--deploy` is given, too.

A problem in a declaration that `django.contrib.sitemaps` accepts is a warning, unless the class declares
expressions, or the section cannot be served at all.
"""

from __future__ import annotations

from django_sitemaps09.tools.checks.configuration import (
    check_deployment,
    check_settings,
    check_site,
    check_urls,
)
from django_sitemaps09.tools.checks.registered_sections import (
    check_declarations,
    check_keys,
    check_sections,
)

__all__ = [
    "check_declarations",
    "check_deployment",
    "check_keys",
    "check_sections",
    "check_settings",
    "check_site",
    "check_urls",
]
