"""The app configuration."""

from __future__ import annotations

from django.apps import AppConfig
from django.core.checks import Tags, register


class Sitemaps09Config(AppConfig):
    """App configuration. There are no models, and sections are discovered only when they are needed."""

    name = "django_sitemaps09"
    verbose_name = "Sitemaps"

    def ready(self) -> None:
        # Imported here, because the checks import modules that need the app registry.
        from django_sitemaps09.tools.checks import configuration, registration

        register(configuration.check_settings)
        register(registration.check_sections)
        register(configuration.check_urls)
        register(configuration.check_deployment, deploy=True)
        register(configuration.check_site, Tags.database, deploy=True)
        register(registration.check_keys, Tags.database)
