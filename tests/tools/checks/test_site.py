"""The domain that Django gives the first `Site`: a warning of an export and of `check --deploy`."""

from __future__ import annotations

from itertools import count

import pytest
from django.apps import apps
from django.contrib.sites.models import Site
from django.core.checks import registry, run_checks
from django.db import connection

from django_sitemaps09 import GenericSitemap
from django_sitemaps09.export import export
from tests.models import Article
from tests.support.checking import WITHOUT_SITES, ids_of
from tests.support.commands import said
from tests.support.internals import conf_checks

pytestmark = pytest.mark.django_db
WARNING = "The domain of the current Site is still 'example.com', so sitemaps have URLs on that host."
HINT = "Set its domain to that of your site, or set SITEMAPS09['BASE_URL']."


@pytest.fixture(autouse=True)
def _settings(settings):
    settings.SITEMAPS09 = {"SITEMAPS": "tests.support.commands.FINE"}
    Site.objects.update_or_create(pk=settings.SITE_ID, defaults={"domain": "example.com"})
    Site.objects.clear_cache()
    yield
    Site.objects.clear_cache()


def test_only_the_initial_domain_without_a_base_url_is_a_warning(folder, settings):
    numbers = count()

    def warnings(**options):
        return said("export_sitemaps", output=str(folder / str(next(numbers))), **options)[1]

    def messages():
        return conf_checks.check_site(databases=["default"])

    assert conf_checks.check_site() == conf_checks.check_site(databases=["other"]) == []
    (message,) = messages()
    assert ids_of([message]) == ["W073"]
    assert (message.msg, message.hint, warnings()) == (WARNING, HINT, f"{WARNING} {HINT}\n")
    assert warnings(base_url=["https://example.com"]) == ""
    Site.objects.update(domain="www.example.com")
    assert (warnings(), messages()) == ("", [])
    Site.objects.update(domain="example.com")
    settings.SITEMAPS09 |= {"BASE_URL": "https://example.com"}
    assert (warnings(), messages()) == ("", [])
    # A site that cannot be read is silent, too.
    del settings.SITEMAPS09["BASE_URL"]
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE django_site RENAME TO renamed")
    assert messages() == []
    settings.SITE_ID = None
    assert messages() == []
    settings.INSTALLED_APPS = WITHOUT_SITES
    assert messages() == []


def test_django_runs_all_checks_and_those_of_deployments_and_databases_where_they_are_asked_for():
    def run(**options):
        found = registry.registry.get_checks(**options)
        return {check.__name__ for check in found if check.__module__.startswith("django_sitemaps09.")}

    always = {"check_settings", "check_sections", "check_urls", "check_keys"}
    assert run() == always
    assert run(include_deployment_checks=True) == always | {"check_deployment", "check_site"}
    tagged = registry.registry.get_checks(include_deployment_checks=True)
    assert {check.__name__ for check in tagged if "database" in check.tags} >= {"check_keys", "check_site"}
    # Without the checks of models, which query some servers.
    ours = [apps.get_app_config("django_sitemaps09")]
    for databases, is_queried in ((["default"], True), (None, False)):
        found = run_checks(ours, include_deployment_checks=True, databases=databases)
        assert ("sitemaps09.W073" in [each.id for each in found]) == is_queried


@pytest.mark.sitemaps09(ENGINE="serial")
@pytest.mark.urls("tests.urls")
@pytest.mark.django_db
def test_an_export_names_a_date_field_that_a_check_would_report(tmp_path):
    Article.objects.create(slug="a")
    rows, given = Article.objects.all(), {"output": tmp_path / "public", "base_url": "https://a.b"}
    wrong, missing = (GenericSitemap({"queryset": rows, "date_field": name}) for name in (7, "modifed"))
    [failure] = export(sitemaps={"s": wrong}, **given).failures
    assert "`date_field` of GenericSitemap must be the name of a field, not 7 (int)" in failure
    [section] = export(sitemaps={"s": missing}, **given).sections
    assert "'Article' object has no attribute 'modifed'" in str(section.errors[0])
