"""The configuration of the app for `INSTALLED_APPS`."""

from __future__ import annotations

from django.apps import AppConfig
from django.core.checks import register


class Sitemaps09Config(AppConfig):
    """An app without models. Sections are discovered when they are first needed, not at start-up."""

    name = "django_sitemaps09"
    verbose_name = "Sitemaps"

    def ready(self) -> None:
        # Imported here, since the checks import modules that need the app registry.
        from django_sitemaps09 import checks

        register(checks.check_settings)
        register(checks.check_sections)
