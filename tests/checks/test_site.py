"""The domain that Django gives the first `Site`: a warning of an export and of `check --deploy`."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.contrib.sites.models import Site
from django.core.checks import registry, run_checks
from django.core.management import call_command
from django.db import connection

from django_sitemaps09 import checks
from tests.support.checking import WITHOUT_SITES, ids_of

pytestmark = pytest.mark.django_db
WARNING = "The domain of the current Site is still 'example.com', so sitemaps have URLs on that host."
HINT = "Set its domain to that of your site, or set SITEMAPS09['BASE_URL']."


@pytest.fixture(autouse=True)
def _settings(settings: Any) -> Iterator[None]:
    settings.SITEMAPS09 = {"SITEMAPS": "tests.support.commands.FINE"}
    Site.objects.update_or_create(pk=settings.SITE_ID, defaults={"domain": "example.com"})
    Site.objects.clear_cache()
    yield
    Site.objects.clear_cache()


def warnings(folder: Path, **options: Any) -> str:
    """Return what an export prints besides its report."""
    err = StringIO()
    call_command("export_sitemaps", output=str(folder), stdout=StringIO(), stderr=err, **options)
    return err.getvalue()


def test_the_initial_domain_is_a_warning(folder: Path) -> None:
    assert warnings(folder) == f"{WARNING} {HINT}\n"
    assert checks.check_site() == checks.check_site(databases=["other"]) == []
    (message,) = checks.check_site(databases=["default"])
    assert ids_of([message]) == ["W073"]
    assert (message.msg, message.hint) == (WARNING, HINT)


def test_a_domain_or_a_base_url_of_the_project_is_silent(folder: Path, settings: Any) -> None:
    assert warnings(folder / "a", base_url=["https://example.com"]) == ""
    Site.objects.update(domain="www.example.com")
    assert warnings(folder / "b") == ""
    assert checks.check_site(databases=["default"]) == []
    Site.objects.update(domain="example.com")
    settings.SITEMAPS09 |= {"BASE_URL": "https://example.com"}
    assert warnings(folder / "c") == ""
    assert checks.check_site(databases=["default"]) == []


def test_a_site_that_cannot_be_read_is_silent(settings: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE django_site RENAME TO renamed")
    assert checks.check_site(databases=["default"]) == []
    settings.SITE_ID = None
    assert checks.check_site(databases=["default"]) == []
    settings.INSTALLED_APPS = WITHOUT_SITES
    assert checks.check_site(databases=["default"]) == []


def test_only_a_check_of_a_deployment_and_a_database_queries_it() -> None:
    assert checks.check_site in registry.registry.get_checks(include_deployment_checks=True)
    assert checks.check_site not in registry.registry.get_checks()
    assert checks.check_site.tags == (registry.Tags.database,)  # type: ignore[attr-defined]
    # Without the checks of models, which query some servers.
    ours = [apps.get_app_config("django_sitemaps09")]

    def ids(**options: Any) -> list[str | None]:
        return [each.id for each in run_checks(ours, include_deployment_checks=True, **options)]

    assert "sitemaps09.W073" in ids(databases=["default"])
    assert "sitemaps09.W073" not in ids()
