"""The option `--all-sites` of three commands: the host of each `Site`, instead of a list of hosts."""

from __future__ import annotations

import json

import pytest
from django.contrib.sites.models import Site

from django_sitemaps09.export import export_hosts
from tests.support import commands, published
from tests.support.search_engines import KEY
from tests.support.several_hosts import SITES, several_hosts, two_sites

__all__ = ["several_hosts", "two_sites"]

pytestmark = pytest.mark.django_db

A, B = "https://a.example", "https://bücher.example"
FOLDERS = ["a.example", "xn--bcher-kva.example"]


@pytest.fixture(autouse=True)
def _target(several_hosts, configure, register, folder):
    configure(SITEMAPS=None, ROOT=folder, INDEXNOW_KEY=KEY)
    register(**SITES)


def said(command, *arguments):
    return commands.said(command, "--all-sites", *arguments)[0]


def error(command, *arguments):
    return str(commands.failed(command, "--all-sites", *arguments)[2])


@pytest.mark.usefixtures("two_sites")
class TestAllSites:
    def test_are_exported_with_their_rows_each_to_its_folder(self, folder):
        assert f"Published {A}/sitemap.xml to {folder / FOLDERS[0]}" in said("export_sitemaps")
        assert sorted(path.name for path in folder.iterdir()) == FOLDERS
        [first, second] = ([*published.urls(folder / name, "sitemap-pages-1.xml.gz")] for name in FOLDERS)
        assert first == [f"{A}/of-1/", f"{A}/of-both/"]
        assert second == [f"https://{FOLDERS[1]}/of-2/", f"https://{FOLDERS[1]}/of-both/"]

    def test_have_a_folder_and_json_by_host_even_if_there_is_one(self, folder):
        Site.objects.filter(pk=2).delete()
        document = json.loads(said("export_sitemaps", "--format", "json"))
        assert [*document["hosts"]] == [A]
        assert [path.name for path in folder.iterdir()] == FOLDERS[:1]

    def test_are_verified_shown_and_submitted(self, folder):
        said("export_sitemaps")
        assert [*json.loads(said("sitemaps_status", "--format", "json"))["hosts"]] == [A, B]
        assert [*json.loads(said("submit_sitemaps", "--format", "json"))["hosts"]] == [A, B]
        assert said("sitemaps_status").count("last exported by the run of") == 2
        assert said("sitemaps_status", "--max-age", "1d")
        (folder / FOLDERS[1] / "sitemap-pages-1.xml.gz").unlink()
        assert "sitemap-pages-1.xml.gz in" in error("export_sitemaps", "--verify")
        said("export_sitemaps", "--verify", "--repair")
        said("export_sitemaps", "--verify")

    def test_that_are_not_exported_yet_are_too_old_and_have_nothing_to_submit(self, folder):
        export_hosts([A])
        assert (
            error("sitemaps_status", "--max-age", "1d")
            == f"https://{FOLDERS[1]}: no export: run export_sitemaps."
        )
        assert said("submit_sitemaps").splitlines() == [
            f"{folder / name}: nothing is pending" for name in FOLDERS
        ]

    @pytest.mark.parametrize("command", ["export_sitemaps", "submit_sitemaps", "sitemaps_status"])
    def test_cannot_be_combined_with_a_base_url(self, command, folder):
        assert "--base-url: not allowed with argument --all-sites" in error(command, "--base-url", A)
        assert not folder.exists()


@pytest.mark.parametrize("command", ["export_sitemaps", "submit_sitemaps", "sitemaps_status"])
class TestSitesThatCannotBeListed:
    def test_need_the_app(self, settings, command):
        settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "django.contrib.sites"]
        assert error(command).startswith("--all-sites needs 'django.contrib.sites' in INSTALLED_APPS.")

    def test_must_exist(self, command):
        Site.objects.all().delete()
        assert error(command) == "There is no Site. Add one in the admin, or pass --base-url."

    def test_need_a_valid_domain(self, two_sites, command):
        Site.objects.filter(pk=2).update(domain="b.example/shop")
        assert error(command).startswith("The domain of a Site is invalid: 'https://b.example/shop' ")

    def test_need_their_table(self, command, monkeypatch):
        # Django caches the columns of a model with the name of its table.
        list(Site.objects.all())
        monkeypatch.setattr(Site._meta, "db_table", "missing")
        assert error(command) == "a table is missing, run manage.py migrate: no such table: missing"
