"""The how-tos for django CMS, flatpages, Oscar and translated models: a module of this folder for each."""

from __future__ import annotations

import re
from importlib import import_module

import pytest
from django.conf import settings

from tests.neighbours.published import compare, live, queries

neighbour = import_module(f"tests.neighbours.{settings.NAME.replace('-', '_')}")
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _site():
    """Create the rows of the site, without a site of Django's migrations."""
    if "django.contrib.sites" in settings.INSTALLED_APPS:
        from django.contrib.sites.models import Site

        Site.objects.all().delete()
        Site.objects.clear_cache()
    neighbour.create()


def compared(folder):
    """Compare each host with what the package says itself, and return the URLs without numbers of rows."""
    expected = {host: sorted(neighbour.expected(host)) for host in neighbour.HOSTS}
    return {re.sub(r"_\d+/", "/", url) for url in compare(folder, expected, neighbour.LIVE)}


def test_each_host_lists_its_pages_before_and_after_changes(tmp_path):
    assert compared(tmp_path) == neighbour.BEFORE
    neighbour.change()
    assert compared(tmp_path) == neighbour.AFTER


def test_the_number_of_queries_does_not_depend_on_the_number_of_rows():
    host = neighbour.HOSTS[0]
    live(host)
    few, count = {path: queries(host, path) for path in neighbour.QUERIES}, neighbour.grow()
    assert (len(live(host)), {path: queries(host, path) for path in neighbour.QUERIES}) == (count, few)
    assert [path for path, most in neighbour.QUERIES.items() if few[path] > most] == []


if hasattr(neighbour, "check_other_sitemap"):

    def test_what_else_the_page_promises_is_true(tmp_path):
        neighbour.check_other_sitemap(tmp_path)
