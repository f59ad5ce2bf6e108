"""The native index over HTTP: names, sections, and a section that fails."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from django.core.cache import cache
from django.core.exceptions import ImproperlyConfigured
from django.db import ProgrammingError, connection
from django.urls import clear_script_prefix, include, path, resolve, reverse, set_script_prefix

from django_sitemaps09 import views
from django_sitemaps09.export import export
from django_sitemaps09.views.live import listing, renewal
from tests.models import Article
from tests.support.clock import set_seconds
from tests.support.configuration import BASE, Configure, Register, UseUrls
from tests.support.native_views import Articles, found, get, listed, write_articles
from tests.support.published import SPACE
from tests.support.sections import Numbers

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09]


class TestTheNames:
    def test_lead_to_the_files_of_an_export(self) -> None:
        kwargs = {"section": "a-b_C", "page": 12}
        names = [reverse(f"django_sitemaps09:{view}", kwargs=kwargs) for view in ("page", "page-gz")]
        assert names == ["/sitemap-a-b_C-12.xml", "/sitemap-a-b_C-12.xml.gz"]

    @pytest.mark.parametrize("name", ["a", "a-1", "1", "-", "_", "a-1-1", "A", "xml"])
    @pytest.mark.parametrize("view", ["page", "page-gz"])
    def test_have_the_number_after_the_last_hyphen(self, name: str, view: str) -> None:
        match = resolve(reverse(f"django_sitemaps09:{view}", kwargs={"section": name, "page": 34}))
        assert (match.view_name, match.app_names) == (f"django_sitemaps09:{view}", ["django_sitemaps09"])
        assert (match.kwargs["section"], match.kwargs["page"]) == (name, "34")

    def test_of_all_sections_have_their_own_pages(self, register: Register, configure: Configure) -> None:
        configure(MAX_URLS=2)
        register(**{"a": Numbers(1), "a-1": Numbers(3), "a-1-1": Numbers(4)})
        names = ["a-1", "a-1-1", "a-1-2", "a-1-1-1", "a-1-1-2"]
        assert found() == [f"/sitemap-{name}.xml.gz" for name in names]
        assert [len(found(page)) for page in found()] == [1, 2, 1, 2, 2]


@pytest.mark.parametrize("view", [views.sitemap_index, views.index])
def test_an_index_without_sections_is_logged_once_with_what_to_do(
    register: Register, caplog: pytest.LogCaptureFixture, settings: Any, view: Any
) -> None:
    settings.ROOT_URLCONF = (path("sitemap.xml", view),)
    register()
    assert [found(), found()] == [[], []]
    [record] = [record for record in caplog.records if record.name == "django_sitemaps09.views.responses"]
    assert record.levelname == "WARNING"
    assert record.getMessage() == (
        'A sitemap index is empty, because there is no section. Write @register("...") above sitemap '
        "classes in an app's sitemaps.py, or set SITEMAPS09['SITEMAPS'] to the dotted path of a dict of "
        "sitemaps."
    )


def test_an_empty_index_of_passed_sections_gives_no_advice_to_register_others(
    caplog: pytest.LogCaptureFixture, settings: Any
) -> None:
    settings.ROOT_URLCONF = (path("sitemap.xml", views.index, {"sitemaps": {}}),)
    assert found() == []
    assert "@register" not in caplog.text


class TestTheSections:
    def test_are_called_for_each_request_if_they_can_be(self, register: Register) -> None:
        counts = iter([1, 2, 3])
        register(one=lambda: Numbers(next(counts)))
        assert [len(found("/sitemap-one-1.xml")) for _ in range(3)] == [1, 2, 3]

    @pytest.mark.parametrize("name", ["a.b", "index", "ä", "a/b", ""])
    def test_with_a_name_that_no_url_can_have_are_refused(self, register: Register, name: str) -> None:
        register(**{name: Numbers(1), "fine": Numbers(1)})
        for url in ("/sitemap.xml", "/sitemap-fine-1.xml"):
            with pytest.raises(ImproperlyConfigured, match="The section"):
                get(url)


def test_two_sites_in_one_project_have_their_own_pages(route: UseUrls, register: Register) -> None:
    register(registered=Numbers(1))
    inner = [path("maps/", include("django_sitemaps09.urls"), {"sitemaps": {"deep": Numbers(4)}})]
    route(
        path("", include("django_sitemaps09.urls")),
        path("a/", include("django_sitemaps09.urls", namespace="a"), {"sitemaps": {"one": Numbers(2)}}),
        path("b/", include("django_sitemaps09.urls", namespace="b"), {"sitemaps": {"one": Numbers(3)}}),
        path("shop/", include((inner, "shop"))),
    )
    for prefix, name, count in (
        ("", "registered", 1),
        ("/a", "one", 2),
        ("/b", "one", 3),
        ("/shop/maps", "deep", 4),
    ):
        page = f"{prefix}/sitemap-{name}-1.xml"
        assert found(f"{prefix}/sitemap.xml") == [f"{page}.gz"]
        assert len(found(page)) == len(found(f"{page}.gz")) == count
    for url in ("/sitemap-one-1.xml", "/a/sitemap-registered-1.xml", "/b/sitemap-two-1.xml"):
        assert get(url).status_code == 404


class TestTheIndex:
    def test_has_the_newest_lastmod_of_each_page(self, register: Register, configure: Configure) -> None:
        configure(MAX_URLS=1)
        write_articles("a", "b", "c", "d", "e")
        Article.objects.filter(slug="d").update(updated=None)
        Article.objects.filter(slug="e").update(updated=datetime.now(timezone.utc) + timedelta(days=1))
        register(articles=Articles)
        root = ElementTree.fromstring(get("/sitemap.xml").content)  # noqa: S314
        found = [entry.findtext(f"{SPACE}lastmod") for entry in root]
        assert found == [*(f"2026-01-0{day}T10:30:15Z" for day in (1, 2, 3)), None, None]

    def test_names_a_section_as_soon_as_it_has_urls(self, register: Register) -> None:
        """Page 1 of a section with key ranges has all keys, so it exists even without rows."""
        register(empty=Articles, none=Numbers(0), one=Numbers(1))
        assert found() == ["/sitemap-one-1.xml.gz"]
        assert found("/sitemap-empty-1.xml") == found("/sitemap-empty-1.xml.gz") == []
        for name in ("empty-2.xml", "none-1.xml", "none-1.xml.gz"):
            assert get(f"/sitemap-{name}").status_code == 404
        write_articles("a")
        assert found() == ["/sitemap-empty-1.xml.gz", "/sitemap-one-1.xml.gz"]

    def test_names_plain_pages_if_gzip_is_off(self, register: Register, configure: Configure) -> None:
        configure(GZIP=False)
        register(one=Numbers(2))
        assert found() == ["/sitemap-one-1.xml"]
        assert len(listed()) == len(found("/sitemap-one-1.xml.gz")) == 2

    def test_has_the_script_prefix_in_its_links(self, register: Register) -> None:
        register(one=Numbers(1))
        set_script_prefix("/app/")
        try:
            assert found() == ["/app/sitemap-one-1.xml.gz"]
            assert f"Sitemap: {BASE}/app/sitemap.xml".encode() in get("/robots.txt").content
        finally:
            clear_script_prefix()


class Broken(Numbers):
    """A section that cannot be read."""

    def items(self) -> Sequence[int]:
        raise RuntimeError("\x1b[31mno items\nat all")


class Environment:
    """A setting whose only value is that of `int()`."""

    def __int__(self) -> int:
        return 3


@pytest.mark.parametrize(
    "limit", ["3", " 3 ", b"3", bytearray(b"3"), 3.0, Decimal(3), Fraction(3), Environment()], ids=range(8)
)
def test_a_limit_is_what_contribs_paginator_takes(register: Register, tmp_path: Path, limit: Any) -> None:
    """A setting from an environment variable is a string, and `1e4` is a float."""
    declared = type("Declared", (Numbers,), {"limit": limit})(7)
    assert declared.paginator.num_pages == 3
    register(numbers=declared)
    pages = [f"/sitemap-numbers-{number}.xml.gz" for number in (1, 2, 3)]
    assert found() == pages
    assert [len(found(page)) for page in pages] == [3, 3, 1]
    report = export(output=tmp_path, sitemaps={"numbers": declared})
    assert (report.failures, len(report.sections[0].files)) == ([], 3)


class TestASectionThatFails:
    def test_is_logged_and_affects_no_other_one(
        self, register: Register, caplog: pytest.LogCaptureFixture
    ) -> None:
        register(one=Numbers(1), broken=Broken(1), two=Numbers(1))
        assert found() == ["/sitemap-one-1.xml.gz", "/sitemap-two-1.xml.gz"]
        (logged,) = [
            record for record in caplog.records if record.name.startswith("django_sitemaps09.views")
        ]
        assert logged.getMessage() == (
            r"Section 'broken' is missing from the index: RuntimeError: \x1b[31mno items\nat all"
        )
        assert (logged.name, logged.exc_info is None) == ("django_sitemaps09.views.live.indexes", False)
        # Without anything else to name, the index fails.
        register(broken=Broken(1), empty=Numbers(0))
        with pytest.raises(RuntimeError, match="no items"):
            get("/sitemap.xml")

    @pytest.mark.parametrize(
        ("message", "reason"),
        [
            ('relation "gone" does not exist', "a table is missing, run manage.py migrate: relation"),
            ('missing FROM-clause entry for table "gone"\nLINE 1: SELECT', "missing FROM-clause entry"),
        ],
    )
    def test_for_want_of_a_table_is_a_503_for_the_index(
        self, register: Register, caplog: pytest.LogCaptureFixture, message: str, reason: str
    ) -> None:
        """An index without the section would say that its pages are gone.

        PostgreSQL has one code for a missing table, and for a mistake in a query.
        """

        class DriverError(Exception):
            sqlstate = "42P01"

        class Gone(Numbers):
            def items(self) -> Sequence[int]:
                raise ProgrammingError(message) from DriverError()

        register(one=Numbers(1), gone=Gone(1))
        assert get("/sitemap.xml").status_code == 503
        assert f"ProgrammingError: {reason}" in caplog.text

    @pytest.mark.parametrize("limit", ["sixty", 60.5, None, 0, float("inf"), True])
    def test_by_its_limit_affects_no_other_section(self, register: Register, limit: Any) -> None:
        """With contrib's class, such a limit fails only requests for that section."""
        register(wrong=type("Wrong", (Numbers,), {"limit": limit})(1), right=Numbers(1))
        assert found() == ["/sitemap-right-1.xml.gz"]

    @pytest.mark.django_db(transaction=True)
    @pytest.mark.parametrize("atomic", [False, True])
    def test_by_its_queries_is_listed_with_its_last_pages(
        self, register: Register, settings: Any, monkeypatch: pytest.MonkeyPatch, atomic: bool
    ) -> None:
        """On PostgreSQL, a failed query makes all later queries in the transaction fail."""

        class Wrong(Articles):
            queryset = Article.objects.extra(where=["no_such_column = 1"])

        monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", atomic)
        write_articles("a")
        register(wrong=Wrong, right=Articles, also_wrong=Wrong)
        unknown = get("/sitemap.xml")
        assert (unknown.status_code, unknown.headers["Retry-After"]) == (503, "30")
        register(wrong=Articles, right=Articles, also_wrong=Articles)
        complete = get("/sitemap.xml")
        register(wrong=Wrong, right=Articles, also_wrong=Wrong)
        set_seconds(monkeypatch, listing, renewal)(renewal.AGE)
        failing = get("/sitemap.xml")
        assert failing.content == complete.content
        assert "no-store" not in complete.headers.get("Cache-Control", "")
        assert failing.headers["Cache-Control"] == "no-store"
        assert "ETag" not in failing.headers

    def test_is_missing_if_the_cache_does_not_know_its_pages(self, register: Register) -> None:
        register(one=Numbers(1), other=Numbers(1))
        get("/sitemap.xml")
        register(one=Numbers(1), other=Broken(1))
        assert len(found()) == 2
        cache.clear()
        # This process knows them, too.
        assert len(found()) == 2
        listing._kept.clear()
        response = get("/sitemap.xml")
        assert response.content.count(b"<loc>") == 1
        assert response.headers["Cache-Control"] == "no-store"
        assert "ETag" not in response.headers
