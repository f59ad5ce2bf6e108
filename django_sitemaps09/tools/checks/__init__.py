"""System checks of settings and declarations. No check calls a project's code.

Only two checks query databases: `check_keys()` runs with `check --database default`, and `check_site()` if
`--deploy` is given, too.

A problem in a declaration that `django.contrib.sitemaps` accepts is a warning, unless the class declares
expressions, or the section cannot be served at all.
"""

from __future__ import annotations

from django_sitemaps09.tools.checks.configuration import (
    check_deployment as check_deployment,
    check_settings as check_settings,
    check_site as check_site,
    check_urls as check_urls,
)
from django_sitemaps09.tools.checks.registered_sections import (
    check_declarations as check_declarations,
    check_keys as check_keys,
    check_sections as check_sections,
)
