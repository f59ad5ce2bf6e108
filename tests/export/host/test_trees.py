"""Each host has the files that it would have alone."""

from __future__ import annotations

import os
import re
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from django.contrib.flatpages.models import FlatPage
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.contrib.sites.models import Site
from django.db import connection
from django.test.utils import CaptureQueriesContext

from django_sitemaps09 import Sitemap
from django_sitemaps09.entries import Alternate, Image
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export import export, export_hosts
from django_sitemaps09.hosts import host_folder
from django_sitemaps09.protocol import parse_base
from django_sitemaps09.stores import target_store
from tests.models import Article
from tests.support.several_hosts import (
    COUNTED,
    FINE,
    FOLDERS,
    KINDS,
    ROWS,
    SECTIONS,
    A,
    B,
    Bad,
    C,
    Numbers,
    Pages,
    pages,
    quiet,
    run,
    slugs,
    thirty,
    tree,
    urls,
)
from tests.support.site_factories import SiteFactory

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


class TestATree:
    @pytest.mark.parametrize("name", KINDS)
    def test_equals_that_of_an_export_of_its_host_alone(self, folder: Path, name: str) -> None:
        thirty()
        Article.objects.filter(pk__gt=25).update(updated=datetime.now(timezone.utc))
        chosen = {name: KINDS[name]}
        if name == "insecure":
            # All URLs of a sitemap must have the same scheme and host, so an https index cannot list these
            # pages.
            hosts: tuple[str, ...] = (C, "http://d.example:8000")
        else:
            hosts = (A, B, "https://bücher.example", "https://[::1]:8000")
        robots = folder / "{host}.txt"
        reports = run(folder / "all", *hosts, sections=chosen, robots=robots)
        for host in hosts:
            own = host_folder(parse_base(host))
            one = export(
                output=folder / "alone" / own,
                base_url=host,
                sitemaps=chosen,
                robots=folder / "alone" / f"{own}.txt",
            )
            assert tree(folder / "all" / own) == tree(folder / "alone" / own)
            assert (folder / f"{own}.txt").read_bytes() == (folder / "alone" / f"{own}.txt").read_bytes()
            report = reports[host]
            assert (report.urls, report.written, report.failures) == (one.urls, one.written, [])
            assert report.index_url == f"{parse_base(host)}/sitemap.xml"
            assert report.sections[0].skipped_items == 0

    def test_equals_that_of_its_host_alone_with_all_sections_together(self, folder: Path) -> None:
        thirty()
        run(folder / "all", A, B, sections={**KINDS, **SECTIONS}, gzip=False)
        for host in (A, B):
            export(output=folder / host[-4:], base_url=host, sitemaps={**KINDS, **SECTIONS}, gzip=False)
            assert tree(folder / "all" / FOLDERS[host]) == tree(folder / host[-4:])

    def test_gives_its_scheme_to_urls_without_one(self, folder: Path) -> None:
        class Schemeless(Numbers):
            i18n = True
            languages = ["en"]

            def x_default(self, item: int) -> str:
                return f"//example.org/{item}/ü/"

            def alternates(self, item: int) -> list[Alternate]:
                return [Alternate("fr", f"//example.fr/{item}/")]

            def images(self, item: int) -> list[Image]:
                return [Image("//cdn.example/x.jpg", license="//cdn.example/licence/")]

        run(folder / "all", A, C, sections={"a": Schemeless}, gzip=False)
        for host, scheme in ((A, b"https"), (C, b"http")):
            page = (folder / "all" / FOLDERS[host] / "sitemap-a-1.xml").read_bytes()
            for url in (
                b"example.org/1/%C3%BC/",
                b"example.fr/1/",
                b"cdn.example/x.jpg",
                b"cdn.example/licence/",
            ):
                assert re.findall(rb"[\">]([a-z]*:?//" + re.escape(url) + rb")[\"<]", page)[:1] == [
                    scheme + b"://" + url
                ]
            export(output=folder / FOLDERS[host], base_url=host, sitemaps={"a": Schemeless}, gzip=False)
            assert tree(folder / "all" / FOLDERS[host]) == tree(folder / FOLDERS[host])

    def test_may_have_urls_on_declared_hosts_by_its_own_scheme(self, folder: Path) -> None:
        class Elsewhere(Numbers):
            hosts = ["shop.example"]

            def location(self, item: int) -> str:
                return f"http://shop.example/{item}/"

        run(folder / "all", A, C, sections={"a": Elsewhere})
        export(output=folder / "alone", base_url=C, sitemaps={"a": Elsewhere})
        assert tree(folder / "all" / FOLDERS[C]) == tree(folder / "alone")

    def test_lists_absolute_urls_on_its_own_host_alone(self, folder: Path) -> None:
        class Absolute(Numbers):
            def location(self, item: int) -> str:
                return f"{A}/{item}/" if item % 2 else f"/{item}/"

        reports = run(folder, A, B, sections={"a": Absolute})
        assert [report.sections[0].skipped_items for report in reports.values()] == [0, 12]
        assert slugs(folder / FOLDERS[A]) == [str(item) for item in Numbers.rows]
        assert slugs(folder / FOLDERS[B]) == [str(item) for item in Numbers.rows if item % 2 == 0]

    def test_skips_what_is_on_another_host_and_names_it_for_each(self, folder: Path) -> None:
        for report in run(folder, sections={"a": Bad}).values():
            assert (report.sections[0].skipped_items, report.urls) == (1, 24)
            assert report.sections[0].errors[0].key == "8"

    def test_has_the_files_url_with_its_folder(self, folder: Path, settings: Any) -> None:
        thirty()
        settings.SITEMAPS09 = {"FILES_URL": "https://files.example/maps/", "ROOT": folder}
        reports = export_hosts([A, B], sitemaps=FINE, robots=folder / "{host}.txt")
        for host in (A, B):
            start = f"https://files.example/maps/{FOLDERS[host]}/"
            index = tree(folder / FOLDERS[host])["sitemap.xml"].decode()
            assert f"<loc>{start}sitemap-a-1.xml.gz</loc>" in index
            assert reports[host].index_url == f"{start}sitemap.xml"
            assert f"{start}sitemap.xml" in (folder / f"{FOLDERS[host]}.txt").read_text()


class TestRows:
    def queries(self, folder: Path, *hosts: str, **options: Any) -> list[str]:
        with CaptureQueriesContext(connection) as found:
            run(folder, *hosts, **options)
        return [query["sql"] for query in found if 'FROM "tests_article"' in query["sql"]]

    @pytest.mark.parametrize("name", ["articles", "hooks", "text"])
    def test_are_read_for_each_host_as_for_one(self, folder: Path, name: str) -> None:
        thirty()
        chosen = {name: KINDS[name]}
        one = self.queries(folder / "one", A, sections=chosen)
        COUNTED.clear()
        assert len(self.queries(folder / "all", A, B, C, sections=chosen)) == 3 * len(one) > 0
        # The first items are also read to estimate the length of entries.
        assert len(COUNTED) == (3 * 2 * ROWS if name == "hooks" else 0)

    def test_of_a_site_are_read_for_each_host(self, folder: Path, two_sites: tuple[Site, Site]) -> None:
        hosts = ("https://a.example", "https://bücher.example")
        chosen = {"pages": Pages, "n": Numbers}
        with CaptureQueriesContext(connection) as found:
            reports = run(folder, *hosts, sections=chosen)
        assert any('FROM "django_site"' in query["sql"] for query in found)
        for number, host in enumerate(hosts, 1):
            base = parse_base(host)
            own = folder / base.domain
            assert urls(own, "sitemap-pages-1.xml.gz") == [
                f"{base}/of-{number}/",
                f"{base}/of-both/",
            ]
            assert reports[host].urls == 27
            export(output=folder / "alone" / base.domain, base_url=host, sitemaps=chosen)
            assert tree(own) == tree(folder / "alone" / base.domain)
        quiet(folder, *hosts, sections=chosen)

    def test_of_no_site_fail_their_section_on_that_host_alone(
        self, folder: Path, two_sites: tuple[Site, Site]
    ) -> None:
        reports = run(folder, A, B, sections={"pages": Pages, "n": Numbers})
        assert reports[A].failures == []
        [failure] = reports[B].failures
        assert "no Site has the domain 'a-longer-name.b.example:8443'" in failure
        assert pages(folder / FOLDERS[A]) == [
            "sitemap-pages-1.xml.gz",
            *(f"sitemap-n-{number}.xml.gz" for number in (1, 2, 3)),
        ]
        assert pages(folder / FOLDERS[B]) == [f"sitemap-n-{number}.xml.gz" for number in (1, 2, 3)]

    @pytest.mark.parametrize("base", [ContribSitemap, Sitemap], ids=["contrib", "ours"])
    def test_of_a_class_that_knows_no_site_fields_are_as_before(self, folder: Path, base: Any) -> None:
        def location(self: Any, item: int) -> str:
            return f"/{item}/"

        odd = type("Odd", (base,), {"site_field": "site", "items": lambda self: [1], "location": location})
        assert [report.failures for report in run(folder, sections={"odd": odd}).values()] == [[], []]

    def test_of_a_class_with_items_of_its_own_are_never_those_of_another_site(
        self, folder: Path, two_sites: tuple[Site, Site]
    ) -> None:
        class Mine(Pages):
            def items(self) -> Any:
                return FlatPage.objects.order_by("pk")

        run(folder, A, "https://bücher.example", sections={"pages": Mine})
        for name, other in (("a.example", "of-2"), ("xn--bcher-kva.example", "of-1")):
            assert other not in slugs(folder / name)

    def test_are_those_of_the_site_that_is_written_like_the_host(
        self, folder: Path, two_sites: tuple[Site, Site]
    ) -> None:
        SiteFactory(domain="A.example")
        run(folder, A, "https://bücher.example", sections={"pages": Pages})
        assert slugs(folder / FOLDERS[A]) == ["of-1", "of-both"]

    def test_of_a_slice_cannot_be_filtered_by_site_and_raise_a_clear_error(
        self, folder: Path, two_sites: tuple[Site, Site]
    ) -> None:
        class Sliced(Pages):
            queryset = FlatPage.objects.order_by("pk")[:2]

        for report in run(
            folder, "https://a.example", "https://bücher.example", sections={"p": Sliced}
        ).values():
            assert "slice" in report.failures[0]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make links of others")
def test_the_folder_of_a_host_can_be_a_link_but_not_that_of_another_user(
    folder: Path, tmp_path: Path
) -> None:
    victim, link = tmp_path / "victim", folder / FOLDERS[A]
    victim.mkdir()
    (victim / "sitemap.xml").write_text("mine")
    folder.mkdir(exist_ok=True)
    link.symlink_to(victim)
    os.chown(link, 1234, 2345, follow_symlinks=False)
    reports = run(folder, A, B, sections={"numbers": Numbers})
    [failure] = reports[A].failures
    assert f"{link} is a symbolic link owned by another user" in failure
    assert (reports[B].published, reports[B].failures) == (True, [])
    assert [entry.name for entry in victim.iterdir()] == ["sitemap.xml"]
    assert (victim / "sitemap.xml").read_text() == "mine"
    os.chown(link, os.geteuid(), -1, follow_symlinks=False)
    reports = run(folder, A, B, sections={"numbers": Numbers})
    assert all(report.published for report in reports.values())
    assert b"<sitemapindex" in (victim / "sitemap.xml").read_bytes()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make links of others")
def test_a_link_that_replaces_the_folder_of_a_host_during_an_export_is_not_followed(
    folder: Path, tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    store = target_store(folder, FOLDERS[A])
    (folder / FOLDERS[A]).symlink_to(victim)
    os.chown(folder / FOLDERS[A], 1234, 2345, follow_symlinks=False)
    for access in (
        lambda: store.write("sitemap.xml", b"a"),
        lambda: store.read("sitemap.xml", 100),
        lambda: store.delete("sitemap.xml"),
        store.names,
    ):
        with pytest.raises(ExportError, match="symbolic link owned by another user"):
            access()
    assert list(victim.iterdir()) == []
