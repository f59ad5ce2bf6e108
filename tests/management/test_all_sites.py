"""The option `--all-sites` of three commands: the host of each `Site`, instead of a list of hosts."""

from __future__ import annotations

import json
import re

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
PAGE = "sitemap-pages-1.xml.gz"


@pytest.fixture(autouse=True)
def _target(several_hosts, configure, register, folder):
    configure(SITEMAPS=None, ROOT=folder, INDEXNOW_KEY=KEY)
    register(**SITES)


def said(command, *arguments):
    return commands.said(command, "--all-sites", *arguments)[0]


def error(command, *arguments):
    return str(commands.failed(command, "--all-sites", *arguments)[2])


def test_all_sites_are_exported_with_their_rows_then_verified_shown_and_submitted(folder, two_sites):
    tables = re.findall(r"^(?:section|all) |^Published (.*)$", said("export_sitemaps"), re.MULTILINE)
    places = [f"https://{name}/sitemap.xml to {folder / name}" for name in FOLDERS]
    assert tables == ["", "", places[0], "", "", places[1]]
    assert sorted(path.name for path in folder.iterdir()) == FOLDERS
    for number, name in enumerate(FOLDERS, 1):
        urls = (f"https://{name}/of-{number}/", f"https://{name}/of-both/")
        assert published.urls(folder / name, PAGE) == urls
    for command in ("sitemaps_status", "submit_sitemaps"):
        assert [*json.loads(said(command, "--format", "json"))["hosts"]] == [A, B]
    assert said("sitemaps_status").count("last exported by the run of") == 2
    assert said("sitemaps_status", "--max-age", "1d")
    (folder / FOLDERS[1] / PAGE).unlink()
    assert f"{PAGE} in" in error("export_sitemaps", "--verify")
    said("export_sitemaps", "--verify", "--repair")
    said("export_sitemaps", "--verify")


def test_all_sites_that_are_not_exported_yet_are_too_old_and_have_nothing_to_submit(folder, two_sites):
    export_hosts([A])
    expected = f"https://{FOLDERS[1]}: no export: run export_sitemaps."
    assert error("sitemaps_status", "--max-age", "1d") == expected
    assert said("submit_sitemaps") == "".join(f"{folder / name}: nothing is pending\n" for name in FOLDERS)


def test_all_sites_have_a_folder_and_json_by_host_even_if_there_is_one(folder, two_sites):
    Site.objects.filter(pk=2).delete()
    assert [*json.loads(said("export_sitemaps", "--format", "json"))["hosts"]] == [A]
    assert [path.name for path in folder.iterdir()] == FOLDERS[:1]


@pytest.mark.parametrize("command", ["export_sitemaps", "submit_sitemaps", "sitemaps_status"])
def test_all_sites_are_refused_if_they_cannot_be_listed(command, folder, two_sites, settings, monkeypatch):
    assert "--base-url: not allowed with argument --all-sites" in error(command, "--base-url", A)
    Site.objects.filter(pk=2).update(domain="b.example/shop")
    assert error(command).startswith("The domain of a Site is invalid: 'https://b.example/shop' ")
    Site.objects.all().delete()
    assert error(command) == "There is no Site. Add one in the admin, or pass --base-url."
    with monkeypatch.context() as patch:
        # Django caches the columns of a model with the name of its table.
        patch.setattr(Site._meta, "db_table", "missing")
        assert error(command) == "a table is missing, run manage.py migrate: no such table: missing"
    settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "django.contrib.sites"]
    assert error(command).startswith("--all-sites needs 'django.contrib.sites' in INSTALLED_APPS.")
    assert not folder.exists()
