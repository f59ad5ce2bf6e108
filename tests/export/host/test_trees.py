"""Each host has the files that it would have alone."""

from __future__ import annotations

import os
import re
from datetime import datetime, timezone

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
from tests.support.published import unpacked as tree
from tests.support.several_hosts import (
    COUNTED,
    FINE,
    FOLDERS,
    KINDS,
    ROWS,
    SECTIONS,
    A,
    B,
    C,
    Numbers,
    Pages,
    pages,
    quiet,
    run,
    slugs,
    thirty,
    urls,
)

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


class TestATree:
    @pytest.mark.parametrize("name", [*KINDS, "all"])
    def test_equals_that_of_an_export_of_its_host_alone(self, folder, settings, name):
        thirty()
        Article.objects.filter(pk__gt=25).update(updated=datetime.now(timezone.utc))
        # Later entries are longer than the first ones, which determine how many rows fit.
        for article in Article.objects.filter(pk__in=range(16, 26)):
            Article.objects.filter(pk=article.pk).update(slug=f"{'x' * 70}{article.pk}")
        settings.SITEMAPS09 = {**settings.SITEMAPS09, "MAX_BYTES": 2_000}
        chosen = {**KINDS, **SECTIONS} if name == "all" else {name: KINDS[name]}
        hosts = [A, B, f"https://{'l' * 50}.example", "https://bücher.example", "https://[::1]:8000"]
        if "insecure" in chosen:
            # All URLs of a sitemap must have the same scheme and host, so an https index cannot list these
            # pages.
            hosts = [C, "http://d.example:8000"]
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
            assert {section.skipped_items for section in report.sections} == {0}
        quiet(folder / "all", *hosts, sections=chosen)

    def test_gives_its_scheme_to_urls_without_one(self, folder):
        class Schemeless(Numbers):
            i18n = True
            languages = ["en"]

            def x_default(self, item):
                return f"//example.org/{item}/ü/"

            def alternates(self, item):
                return [Alternate("fr", f"//example.fr/{item}/")]

            def images(self, item):
                return [Image("//cdn.example/x.jpg", license="//cdn.example/licence/")]

        run(folder, A, C, sections={"a": Schemeless}, gzip=False)
        for host, scheme in ((A, "https"), (C, "http")):
            page = (folder / FOLDERS[host] / "sitemap-a-1.xml").read_text()
            for url in (
                "example.org/1/%C3%BC/",
                "example.fr/1/",
                "cdn.example/x.jpg",
                "cdn.example/licence/",
            ):
                assert {*re.findall(rf"[\">]([a-z]*)://{url}[\"<]", page)} == {scheme}

    def test_lists_absolute_urls_on_its_own_host_alone(self, folder):
        class Absolute(Numbers):
            def location(self, item):
                return f"{A}/{item}/" if item % 2 else f"/{item}/"

        reports = run(folder, A, B, sections={"a": Absolute})
        assert [report.sections[0].skipped_items for report in reports.values()] == [0, 12]
        assert reports[B].sections[0].errors[0].key == "2"
        assert slugs(folder / FOLDERS[A]) == [str(item) for item in Numbers.rows]
        assert slugs(folder / FOLDERS[B]) == [str(item) for item in Numbers.rows if item % 2 == 0]

    def test_has_the_files_url_with_its_folder(self, folder, settings):
        thirty()
        settings.SITEMAPS09 = {"FILES_URL": "https://files.example/maps/", "ROOT": folder}
        reports = export_hosts([A, B], sitemaps=FINE, robots=folder / "{host}.txt")
        for host in (A, B):
            start = f"https://files.example/maps/{FOLDERS[host]}/"
            index = tree(folder / FOLDERS[host])["sitemap.xml"].decode()
            assert f"<loc>{start}sitemap-a-1.xml.gz</loc>" in index
            assert reports[host].index_url == f"{start}sitemap.xml"
            assert f"{start}sitemap.xml" in (folder / f"{FOLDERS[host]}.txt").read_text()

    @pytest.mark.parametrize("name", ["articles", "hooks", "text"])
    def test_takes_the_queries_of_an_export_of_its_host_alone(self, folder, name):
        def queries(*hosts):
            with CaptureQueriesContext(connection) as found:
                run(folder / str(len(hosts)), *hosts, sections={name: KINDS[name]})
            return sum('FROM "tests_article"' in query["sql"] for query in found)

        thirty()
        one = queries(A)
        COUNTED.clear()
        assert queries(A, B, C) == 3 * one > 0
        # The first items are also read to estimate the length of entries.
        assert len(COUNTED) == (3 * 2 * ROWS if name == "hooks" else 0)


class TestRowsOfSites:
    def test_are_those_of_the_site_of_each_host(self, folder, two_sites):
        hosts = ("https://a.example", "https://bücher.example")
        # However the domain is written.
        Site.objects.filter(pk=1).update(domain="A.example")
        chosen = {"pages": Pages, "n": Numbers}
        reports = run(folder, *hosts, sections=chosen)
        for number, host in enumerate(hosts, 1):
            base = parse_base(host)
            own = folder / base.domain
            assert urls(own, "sitemap-pages-1.xml.gz") == [f"{base}/of-{number}/", f"{base}/of-both/"]
            assert reports[host].urls == 27
        quiet(folder, *hosts, sections=chosen)

    def test_fail_their_section_on_a_host_without_a_site_alone(self, folder, two_sites):
        reports = run(folder, A, B, sections={"pages": Pages, "n": Numbers})
        assert reports[A].failures == []
        [failure] = reports[B].failures
        assert "no Site has the domain 'a-longer-name.b.example:8443'" in failure
        numbers = [f"sitemap-n-{number}.xml.gz" for number in (1, 2, 3)]
        assert pages(folder / FOLDERS[A]) == ["sitemap-pages-1.xml.gz", *numbers]
        assert pages(folder / FOLDERS[B]) == numbers

    @pytest.mark.parametrize("base", [ContribSitemap, Sitemap], ids=["contrib", "ours"])
    def test_are_not_chosen_for_a_class_that_knows_no_site_fields(self, folder, base):
        def location(self, item):
            return f"/{item}/"

        odd = type("Odd", (base,), {"site_field": "site", "items": lambda self: [1], "location": location})
        assert [report.failures for report in run(folder, sections={"odd": odd}).values()] == [[], []]

    def test_are_never_those_of_another_site_if_a_class_has_items_of_its_own(self, folder, two_sites):
        class Mine(Pages):
            def items(self):
                return FlatPage.objects.order_by("pk")

        run(folder, A, "https://bücher.example", sections={"pages": Mine})
        for name, other in (("a.example", "of-2"), ("xn--bcher-kva.example", "of-1")):
            assert other not in slugs(folder / name)

    def test_cannot_be_those_of_a_slice(self, folder, two_sites):
        class Sliced(Pages):
            queryset = FlatPage.objects.order_by("pk")[:2]

        for report in run(folder, A, "https://bücher.example", sections={"p": Sliced}).values():
            assert "slice" in report.failures[0]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make links of others")
def test_the_folder_of_a_host_can_be_a_link_but_not_that_of_another_user(folder, tmp_path):
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
def test_a_link_that_replaces_the_folder_of_a_host_during_an_export_is_not_followed(folder, tmp_path):
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
