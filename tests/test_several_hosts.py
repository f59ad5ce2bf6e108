"""Laws of several hosts: each has the tree that it would have alone, and rows are read once for all.

A section with a `site_field` has the rows of its host's site, exported and live.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.flatpages.models import FlatPage
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.contrib.sites.models import Site
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models import F
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import include, path
from django.utils.translation import get_language

from django_sitemaps09 import ModelSitemap, Route, Sitemap, sections, stores
from django_sitemaps09.entries import Alternate, Image
from django_sitemaps09.exceptions import ExportError, ExportRunningError
from django_sitemaps09.export import Published, Report, export, export_hosts
from django_sitemaps09.manifest import ROOT as MANIFEST
from django_sitemaps09.protocol import parse_base
from django_sitemaps09.sitemaps import NewsSitemap
from django_sitemaps09.stores import STATE, host_folder, is_folder
from django_sitemaps09.views import compat
from tests.models import Article
from tests.support import engine_project, killing
from tests.support import published as looked_at
from tests.support.stores import Overwriting, saved, storage

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

A, B, C = "https://a.example", "https://a-longer-name.b.example:8443", "http://c.example"
#: The folders of these.
FOLDERS = {A: "a.example", B: "a-longer-name.b.example_8443", C: "c.example"}
OLD = datetime(2026, 1, 1, tzinfo=timezone.utc)
ROWS, PAGE = 30, 10


class Articles(ModelSitemap[Article]):
    """Pages that are ranges of a key, of columns alone."""

    model = Article
    location = Route("article", slug=F("slug"))
    lastmod = F("updated")
    limit = PAGE


class Asked(Articles):
    """The same by hooks that take the item, which note what they were asked."""

    asked: Sequence[int] = ()

    def location(self, item: Article) -> str:  # type: ignore[override]
        COUNTED.append(item.pk)
        return f"/asked/{item.slug}/"

    def images(self, item: Article) -> list[Image]:
        return [Image(f"pictures/{item.pk}.jpg"), Image("/here.jpg"), Image("https://cdn.example/x.jpg")]


COUNTED: list[int] = []


class Numbers(Sitemap[int]):
    """Pages by position."""

    limit = PAGE
    changefreq = "daily"
    rows = range(25)

    def items(self) -> Sequence[int]:
        return self.rows

    def location(self, item: int) -> str:
        return f"/numbers/{item}/"


class Translated(Numbers):
    i18n = True
    alternates = True
    x_default = True
    languages = ["en", "de"]

    def location(self, item: int) -> str:
        return f"/{get_language()}/ü/{item}/"


class Insecure(Numbers):
    protocol = "http"


class Text(Articles):
    format = "text"


class News(NewsSitemap[Article]):
    model = Article
    location = Route("article", slug=F("slug"))
    date_field = "updated"
    publication_name = "The Times"

    def title(self, item: Article) -> str:
        return item.slug


class Own(ContribSitemap):  # type: ignore[type-arg]
    """Read through its own `get_urls()`."""

    def items(self) -> list[int]:
        return [1, 2]

    def location(self, item: int) -> str:
        return f"/own/{item}/"


class Pages(ModelSitemap[FlatPage]):
    """The rows of one site."""

    model = FlatPage
    site_field = "sites"

    def location(self, item: FlatPage) -> str:
        return item.url


SHARED: Mapping[str, Any] = {
    "articles": Articles,
    "asked": Asked,
    "numbers": Numbers,
    "translated": Translated,
    "insecure": Insecure,
    "text": Text,
    "news": News,
}
#: What the setting names.
SECTIONS: Mapping[str, Any] = {"a": Articles, "n": Numbers, "text": Text, "own": Own, "asked": Asked}
FINE: Mapping[str, Any] = {"a": Articles}
#: For the views, where a request tells the site.
SITES: Mapping[str, Any] = {"pages": Pages}
urlpatterns = [
    path("", include("django_sitemaps09.urls")),
    path("articles/<slug:slug>/", lambda request, slug: HttpResponse(), name="article"),
    path("contrib.xml", compat.index, {"sitemaps": SITES}),
    path(
        "contrib-<section>.xml",
        compat.sitemap,
        {"sitemaps": SITES},
        name="django.contrib.sitemaps.views.sitemap",
    ),
]


@pytest.fixture
def folder() -> Iterator[Path]:
    with looked_at.quick_folder() as made:
        yield made


@pytest.fixture(autouse=True)
def _configured(settings: Any) -> Iterator[None]:
    settings.SITEMAPS09 = {"SITEMAPS": f"{__name__}.SECTIONS", "ENGINE": "serial"}
    settings.MEDIA_URL = "media/"
    COUNTED.clear()
    Site.objects.clear_cache()
    yield
    Site.objects.clear_cache()


def fill(*keys: int) -> None:
    Article.objects.bulk_create(
        Article(pk=key, slug=f"s{key}", updated=OLD + timedelta(hours=key)) for key in keys
    )


def thirty() -> None:
    fill(*range(1, ROWS + 1))


def change(key: int, slug: str) -> None:
    Article.objects.filter(pk=key).update(slug=slug, updated=OLD + timedelta(days=99))


def run(folder: Path, *urls: str, sections: Mapping[str, Any] = FINE, **options: Any) -> dict[str, Report]:
    return export_hosts(urls or (A, B), output=folder, sitemaps=sections, **options)


def tree(folder: Path) -> dict[str, bytes]:
    """What a web server has of a folder, as it is before it is compressed."""
    found = {}
    for file in folder.iterdir():
        if file.is_file():
            content = file.read_bytes()
            found[file.name] = gzip.decompress(content) if file.suffix == ".gz" else content
    return found


def slugs(folder: Path) -> list[str]:
    """Of all pages that the index names, each of which has to be there."""
    return [url.rstrip("/").rpartition("/")[2] for name in pages(folder) for url in urls(folder, name)]


def pages(folder: Path) -> list[str]:
    return looked_at.pages(folder)


def urls(folder: Path, name: str) -> list[str]:
    return list(looked_at.urls(folder, name))


def lines(folder: Path) -> list[bytes]:
    """Of all pages that the index names, in its order, whatever they are called."""
    found = tree(folder)
    names = re.findall(rb"<loc>[^<]*/([^<]*)</loc>", found["sitemap.xml"])
    return [line for name in names for line in found[name.decode()].splitlines()]


def written(reports: Mapping[str, Report]) -> list[Sequence[str]]:
    for report in reports.values():
        assert report.failures == []
    return [report.written for report in reports.values()]


def whole(folder: Path, *hosts: str) -> None:
    """Each tree has all rows, once, in the order of their keys; the trees have the same pages."""
    expected = list(Article.objects.order_by("pk").values_list("slug", flat=True))
    for host in hosts:
        assert slugs(folder / FOLDERS[host]) == expected, host
    assert len({tuple(pages(folder / FOLDERS[host])) for host in hosts}) == 1


def quiet(folder: Path, *hosts: str, **options: Any) -> None:
    """The next run writes nothing."""
    before = looked_at.states(folder, hidden=True)
    assert written(run(folder, *hosts, **options)) == [()] * (len(hosts) or 2)
    assert looked_at.states(folder, hidden=True) == before


@pytest.fixture
def two_sites() -> tuple[Site, Site]:
    """A row of each, and one of both."""
    Site.objects.all().delete()
    Site.objects.clear_cache()
    first = Site.objects.create(pk=1, domain="a.example", name="A")
    second = Site.objects.create(pk=2, domain="bücher.example", name="B")
    for site in (first, second):
        FlatPage.objects.create(url=f"/of-{site.pk}/", title="x").sites.add(site)
    FlatPage.objects.create(url="/of-both/", title="x").sites.add(first, second)
    return first, second


class TestATree:
    @pytest.mark.parametrize("name", SHARED)
    def test_is_the_one_that_its_host_has_alone(self, folder: Path, name: str) -> None:
        thirty()
        Article.objects.filter(pk__gt=25).update(updated=datetime.now(timezone.utc))
        chosen = {name: SHARED[name]}
        if name == "insecure":
            # All URLs of a sitemap are on one host, so that the index of a secure one cannot name these.
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
            assert report.sections[0].left_out == 0

    def test_is_the_one_that_its_host_has_alone_of_all_sections_together(self, folder: Path) -> None:
        thirty()
        run(folder / "all", A, B, sections={**SHARED, **SECTIONS}, gzip=False)
        for host in (A, B):
            export(output=folder / host[-4:], base_url=host, sitemaps={**SHARED, **SECTIONS}, gzip=False)
            assert tree(folder / "all" / FOLDERS[host]) == tree(folder / host[-4:])

    def test_has_what_has_no_scheme_by_its_own(self, folder: Path) -> None:
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

    def test_leaves_out_of_all_what_is_on_one_of_them_and_names_it(self, folder: Path) -> None:
        """It would be on another host than its sitemap everywhere else."""

        class Absolute(Numbers):
            def location(self, item: int) -> str:
                return f"{A}/{item}/" if item % 2 else f"/{item}/"

        reports = run(folder, A, B, sections={"a": Absolute})
        assert {report.sections[0].left_out for report in reports.values()} == {len(Numbers.rows) // 2}
        assert len({*map(len, (slugs(folder / FOLDERS[host]) for host in (A, B)))}) == 1

    def test_leaves_out_what_is_on_another_host_and_names_it_for_each(self, folder: Path) -> None:
        class Bad(Numbers):
            def location(self, item: int) -> str:
                return "https://elsewhere.example/" if item == 7 else f"/{item}/"

        for report in run(folder, sections={"a": Bad}).values():
            assert (report.sections[0].left_out, report.urls) == (1, 24)
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

    @pytest.mark.parametrize("changed_only", [False, True])
    @pytest.mark.parametrize("name", ["articles", "asked", "text"])
    def test_are_read_once_for_all_hosts(self, folder: Path, name: str, changed_only: bool) -> None:
        thirty()
        chosen = {name: SHARED[name]}
        for _ in range(3):
            one = self.queries(folder / "one", A, sections=chosen, changed_only=changed_only)
            all_ = self.queries(folder / "all", A, B, C, sections=chosen, changed_only=changed_only)
            assert len(one) == len(all_) > 0

    def test_are_asked_once_each(self, folder: Path) -> None:
        thirty()
        for hosts in ((A,), (A, B), (A, B, C)):
            COUNTED.clear()
            run(folder / str(len(hosts)), *hosts, sections={"asked": Asked})
            # The first ones are also read for their length.
            assert sorted(COUNTED) == sorted([*range(1, ROWS + 1), *COUNTED[:ROWS]])
            assert len(COUNTED) == 2 * ROWS

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
        assert "there is no Site with the domain 'a-longer-name.b.example:8443'" in failure
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
        Site.objects.create(domain="A.example", name="an old one")
        run(folder, A, "https://bücher.example", sections={"pages": Pages})
        assert slugs(folder / FOLDERS[A]) == ["of-1", "of-both"]

    def test_of_a_slice_cannot_be_of_a_site_and_say_so(
        self, folder: Path, two_sites: tuple[Site, Site]
    ) -> None:
        class Sliced(Pages):
            queryset = FlatPage.objects.order_by("pk")[:2]

        for report in run(
            folder, "https://a.example", "https://bücher.example", sections={"p": Sliced}
        ).values():
            assert "slice" in report.failures[0]


class TestASecondRun:
    def test_writes_nothing_in_any_tree(self, folder: Path) -> None:
        thirty()
        run(folder, sections={**SHARED, **SECTIONS})
        quiet(folder, sections={**SHARED, **SECTIONS})

    @pytest.mark.parametrize("changed_only", [False, True])
    def test_in_another_order_writes_nothing_either(self, folder: Path, changed_only: bool) -> None:
        thirty()
        for hosts in ((A, B), (A, B), (B, A)):
            reports = run(folder, *hosts, changed_only=changed_only)
        assert written(reports) == [(), ()]

    def test_of_what_changed_reads_nothing_for_another_order(self, folder: Path) -> None:
        thirty()
        for hosts in ((A, B), (A, B), (B, A)):
            reports = run(folder, *hosts, changed_only=True)
        assert [report.sections[0].skipped for report in reports.values()] == [3, 3]

    @pytest.mark.parametrize("changed_only", [False, True])
    def test_writes_one_file_in_each_tree_for_one_row(self, folder: Path, changed_only: bool) -> None:
        thirty()
        for _ in range(2):
            run(folder, changed_only=changed_only)
        change(15, "other")
        reports = run(folder, changed_only=changed_only)
        assert written(reports) == [("sitemap-a-2.xml.gz", "sitemap.xml")] * 2
        assert [report.sections[0].skipped for report in reports.values()] == [2 * changed_only] * 2
        whole(folder, A, B)
        quiet(folder, changed_only=changed_only)

    def test_of_what_changed_renders_a_page_that_one_tree_has_lost(self, folder: Path) -> None:
        thirty()
        for _ in range(2):
            run(folder, changed_only=True)
        (folder / FOLDERS[B] / "sitemap-a-2.xml.gz").unlink()
        reports = run(folder, changed_only=True)
        assert written(reports) == [(), ("sitemap-a-2.xml.gz",)]
        whole(folder, A, B)

    @pytest.mark.parametrize("how", ["older", "unpublished"])
    def test_of_what_changed_brings_it_to_a_tree_that_has_not_got_it(self, folder: Path, how: str) -> None:
        thirty()
        for _ in range(2):
            run(folder, changed_only=True)
        behind = folder / FOLDERS[B]
        shutil.copytree(behind, folder / "kept")
        change(15, "other")
        if how == "unpublished":
            # What cannot be published there, after the first tree was.
            (behind / "sitemap.xml").unlink()
            (behind / "sitemap.xml").mkdir()
            with pytest.raises(ExportError, match="is a folder"):
                run(folder, changed_only=True)
            (behind / "sitemap.xml").rmdir()
        else:
            run(folder, changed_only=True)
            shutil.rmtree(behind)
            shutil.copytree(folder / "kept", behind)
        for _ in range(2):
            written(run(folder, changed_only=True))
        whole(folder, A, B)

    def test_splits_and_adds_pages_alike(self, folder: Path) -> None:
        fill(*range(100, 3_100, 100))
        run(folder)
        fill(*range(1_501, 1_508), *range(3_101, 3_125))
        reports = run(folder)
        assert [report.sections[0].split for report in reports.values()] == [2, 2]
        whole(folder, A, B)
        quiet(folder)
        Article.objects.exclude(pk__in=(100, 1_200, 2_900, 3_120)).delete()
        for _ in range(8):
            run(folder, force=["a"])
        whole(folder, A, B)
        quiet(folder)

    @pytest.mark.parametrize("option", ["rebalance", "dry_run", "gzip"])
    def test_has_the_options_of_one_host(self, folder: Path, option: str) -> None:
        thirty()
        run(folder)
        change(15, "other")
        before = looked_at.states(folder)
        given: dict[str, Any] = {option: option != "gzip"}
        reports = run(folder, **given)
        if option == "dry_run":
            assert looked_at.states(folder) == before
            assert [report.published for report in reports.values()] == [False, False]
        else:
            whole(folder, A, B)
        run(folder)
        whole(folder, A, B)


class TestPages:
    @pytest.mark.parametrize("chosen", ["articles", "asked", "numbers", "translated", "text"])
    def test_are_cut_at_the_same_key_and_none_is_over_the_limit(
        self, folder: Path, settings: Any, chosen: str
    ) -> None:
        thirty()
        # What comes later is longer than what tells how many rows fit.
        Article.objects.filter(pk__gt=15).update(slug="x" * 70)
        most = 1_800
        settings.SITEMAPS09 = {"MAX_BYTES": most}
        hosts = (A, f"https://{'l' * 50}.example", "https://b.example:8443")
        # The order does not matter.
        for place, order in enumerate((hosts, hosts[::-1])):
            run(folder / str(place), *order, sections={chosen: SHARED[chosen]})
        assert tree(folder / "0" / "a.example") == tree(folder / "1" / "a.example")
        trees = {host: tree(folder / "0" / host_folder(parse_base(host))) for host in hosts}
        assert len({tuple(sorted(found)) for found in trees.values()}) == 1
        biggest = 0
        for name in trees[A]:
            paths = {
                tuple(found[name].decode().replace(str(parse_base(host)), "").splitlines())
                for host, found in trees.items()
            }
            if name != "sitemap.xml":
                assert len(paths) == 1, name
                biggest = max([biggest, *(len(found[name]) for found in trees.values())])
        assert len(trees[A]) > 3
        assert biggest <= most
        assert biggest > most * 0.6

    def test_that_outgrow_the_bytes_of_one_host_alone_are_split_in_all(
        self, folder: Path, settings: Any
    ) -> None:
        thirty()
        settings.SITEMAPS09 = {"MAX_BYTES": 1_600}
        hosts = (A, f"https://{'l' * 40}.example")
        run(folder, *hosts)
        Article.objects.filter(pk__in=(1, 2)).update(slug="y" * 110)
        reports = run(folder, *hosts)
        assert [report.sections[0].split for report in reports.values()] == [1, 1]
        trees = [tree(folder / host_folder(parse_base(host))) for host in hosts]
        assert trees[0].keys() == trees[1].keys()
        assert max(len(content) for name, content in trees[1].items() if "-a-" in name) <= 1_600
        assert len(slugs(folder / "a.example")) == ROWS

    @pytest.mark.parametrize(
        "order",
        [
            1,
            -1,
        ],
        ids=["shortest first", "longest first"],
    )
    def test_that_are_split_by_the_bytes_of_one_host_stay_so(
        self, folder: Path, settings: Any, order: int
    ) -> None:
        thirty()
        settings.SITEMAPS09 = {"MAX_BYTES": 1_600}
        hosts = (A, f"https://{'l' * 40}.example")[::order]
        run(folder, *hosts)
        Article.objects.filter(pk__in=(1, 2)).update(slug="y" * 110)
        run(folder, *hosts)
        quiet(folder, *hosts)


class TestATreeThatIsNotLikeTheOthers:
    HARMS = ("missing", "older", "damaged", "manifest", "section", "alone", "file", "fewer", "added")

    @pytest.mark.parametrize("harm", HARMS)
    @pytest.mark.parametrize("host", [A, B])
    def test_is_cut_anew_with_all_others_and_the_next_run_is_quiet(
        self, folder: Path, harm: str, host: str
    ) -> None:
        thirty()
        run(folder)
        own = folder / FOLDERS[host]
        hosts: tuple[str, ...] = (A, B)
        shutil.copytree(own, folder / "kept")
        fill(*range(31, 45))
        run(folder)
        had = {name for one in hosts for name in tree(folder / FOLDERS[one])}
        before = {one: pages(folder / FOLDERS[one]) for one in hosts}
        if harm in ("missing", "older"):
            shutil.rmtree(own)
        if harm == "older":
            shutil.copytree(folder / "kept", own)
        if harm == "damaged":
            (own / "sitemap-a-2.xml.gz").write_bytes(b"\x1f\x8b half of it")
        if harm == "manifest":
            (own / STATE / MANIFEST).write_bytes(b"{")
        if harm == "section":
            for file in (own / STATE).glob("section-*.jsonl"):
                file.write_bytes(file.read_bytes()[:-30])
        if harm == "file":
            (own / "sitemap-a-3.xml.gz").unlink()
        if harm == "alone":
            fill(*range(45, 70))
            export(output=own, base_url=host, sitemaps=FINE)
            had |= set(tree(own))
        if harm == "fewer":
            run(folder, host, C)
            had |= set(tree(folder / FOLDERS[C]))
        if harm == "added":
            hosts = (A, B, C)
        named_before = {one: set(pages(folder / FOLDERS[one])) for one in hosts}
        written(run(folder, *hosts))
        if harm == "damaged":
            # A file of the same size is believed; of another one it is known.
            assert looked_at.pages(own)
        whole(folder, *hosts)
        now = set(pages(own))
        anew = now != set(before[host])
        assert anew is (harm not in ("damaged", "file"))
        if anew:
            assert not now & had, "a number came back"
        for one in hosts:
            # What is named no more stays for a while.
            assert named_before[one] <= set(tree(folder / FOLDERS[one]))
        quiet(folder, *hosts)

    @pytest.mark.parametrize("name", ["asked", "numbers", "translated", "text", "news", "own"])
    def test_has_what_it_would_have_alone_whatever_the_section_is(self, folder: Path, name: str) -> None:
        class Few(News):
            limit = PAGE

        now = datetime.now(timezone.utc)
        Article.objects.bulk_create(Article(pk=key, slug=f"s{key}", updated=now) for key in range(1, 46))
        chosen = {name: {**SHARED, **SECTIONS, "news": Few}[name]}
        run(folder, sections=chosen)
        shutil.rmtree(folder / FOLDERS[A])
        written(run(folder, sections=chosen))
        for host in (A, B):
            alone = folder / "alone" / FOLDERS[host]
            export(output=alone, base_url=host, sitemaps=chosen)
            assert lines(folder / FOLDERS[host]) == lines(alone)
        quiet(folder, sections=chosen)

    def test_never_has_a_number_again_that_it_had(self, folder: Path) -> None:
        thirty()
        run(folder)
        shutil.copytree(folder / FOLDERS[A], folder / "kept")
        fill(*range(31, 41))
        run(folder)
        Article.objects.filter(pk__gt=30).delete()
        run(folder)
        # The first tree is one that never had a fourth page, with the same pages as the second one.
        shutil.rmtree(folder / FOLDERS[A])
        shutil.copytree(folder / "kept", folder / FOLDERS[A])
        assert "sitemap-a-4.xml.gz" in tree(folder / FOLDERS[B])
        assert "sitemap-a-4.xml.gz" not in pages(folder / FOLDERS[B])
        fill(*range(31, 41))
        run(folder)
        assert "sitemap-a-4.xml.gz" not in pages(folder / FOLDERS[B])

    @pytest.mark.parametrize("seed", range(3))
    def test_has_all_rows_after_any_history(self, folder: Path, seed: int) -> None:
        chance = random.Random(seed)  # noqa: S311
        hosts = [A, B, C]
        copies: dict[str, Path] = {}
        free = list(range(1, 300))
        chance.shuffle(free)
        fill(*(free.pop() for _ in range(40)))

        def alone() -> None:
            host = chance.choice(hosts)
            export(output=folder / FOLDERS[host], base_url=host, sitemaps=FINE)

        def lose() -> None:
            shutil.rmtree(folder / FOLDERS[chance.choice(hosts)], ignore_errors=True)

        def keep() -> None:
            host = chance.choice(hosts)
            if (folder / FOLDERS[host]).exists():
                copies[host] = folder / f"kept-{len(copies)}-{chance.random()}"
                shutil.copytree(folder / FOLDERS[host], copies[host])

        def restore() -> None:
            if copies:
                host = chance.choice(sorted(copies))
                shutil.rmtree(folder / FOLDERS[host], ignore_errors=True)
                shutil.copytree(copies[host], folder / FOLDERS[host])

        def harm() -> None:
            host = chance.choice(hosts)
            found = sorted((folder / FOLDERS[host]).glob("**/*.json*"))
            if found:
                chance.choice(found).write_bytes(b"?")

        def add() -> None:
            fill(*(free.pop() for _ in range(min(chance.randrange(1, 15), len(free)))))

        def delete() -> None:
            known = list(Article.objects.values_list("pk", flat=True))
            Article.objects.filter(pk__in=chance.sample(known, min(12, len(known) - 1))).delete()

        def edit() -> None:
            known = list(Article.objects.values_list("pk", flat=True))
            change(chance.choice(known), f"e{chance.randrange(10**6)}")

        steps = [alone, lose, keep, restore, harm, add, add, add, delete, edit]
        for _ in range(14):
            for _ in range(chance.randrange(1, 4)):
                chance.choice(steps)()
            some = chance.sample(hosts, chance.randrange(2, 4))
            written(run(folder, *some, rebalance=chance.random() < 0.1))
            whole(folder, *some)
        for _ in range(6):
            if not any(written(run(folder, *hosts))):
                break
        whole(folder, *hosts)
        quiet(folder, *hosts)


class TestAGuard:
    class Many(Articles):
        limit = 300

    def test_of_one_tree_holds_a_section_back_on_all_and_no_other_section(self, folder: Path) -> None:
        """Else the hosts would have other pages of it from then on."""
        fill(*range(1, 301))
        run(folder, sections={"a": self.Many})
        shutil.rmtree(folder / FOLDERS[A])
        Article.objects.filter(pk__gt=50).delete()
        before = tree(folder / FOLDERS[B])
        reports = run(folder, sections={"a": self.Many, "n": Numbers})
        for report in reports.values():
            [failure] = report.failures
            assert "it would shrink from 300 to 50 URLs" in failure
        found = tree(folder / FOLDERS[B])
        assert found["sitemap-a-1.xml.gz"] == before["sitemap-a-1.xml.gz"]
        assert b"sitemap-n-1.xml.gz" in found["sitemap.xml"]
        assert len(slugs(folder / FOLDERS[A])) == len(Numbers.rows)
        reports = run(folder, sections={"a": self.Many, "n": Numbers}, force=["a"])
        assert written(reports)
        assert len(slugs(folder / FOLDERS[B])) == 50 + len(Numbers.rows)
        quiet(folder, sections={"a": self.Many, "n": Numbers})

    def test_of_one_tree_lets_the_others_be_quiet(self, folder: Path) -> None:
        fill(*range(1, 301))
        run(folder, sections={"a": self.Many})
        shutil.rmtree(folder / FOLDERS[A])
        Article.objects.filter(pk__gt=50).delete()
        run(folder, sections={"a": self.Many})
        for _ in range(2):
            reports = run(folder, sections={"a": self.Many})
            assert reports[B].failures
            assert reports[A].written == ()

    def test_of_a_tree_is_told_of_by_runs_of_what_changed_too(self, folder: Path, settings: Any) -> None:
        settings.SITEMAPS09 = {"MAX_SHRINK": 0.3}
        fill(*range(1, 301))
        chosen = {"a": self.Many}
        run(folder, sections=chosen)
        Article.objects.filter(pk__gt=250).delete()
        run(folder, sections=chosen)
        # Only the second tree remembers that there were 300.
        shutil.rmtree(folder / FOLDERS[A])
        for _ in range(2):
            run(folder, sections=chosen, changed_only=True)
        Article.objects.filter(pk__gt=190).delete()
        for _ in range(3):
            reports = run(folder, sections=chosen, changed_only=True)
            assert len(slugs(folder / FOLDERS[B])) == 250
            for report in reports.values():
                assert "it would shrink from 300 to 190 URLs" in str(report.failures)

    def test_of_strict_runs_is_one_of_all_sections(self, folder: Path) -> None:
        class Bad(Numbers):
            def location(self, item: int) -> str:
                return "https://elsewhere.example/" if item == 7 else f"/{item}/"

        thirty()
        run(folder)
        before = looked_at.states(folder)
        change(15, "other")
        for report in run(folder, sections={"a": Articles, "bad": Bad}, strict=True).values():
            assert not report.published
            assert "strict" in report.failures[0]
        assert looked_at.states(folder) == before

    def test_of_a_section_that_fails_costs_no_other_one(self, folder: Path) -> None:
        class Broken(Numbers):
            def items(self) -> Sequence[int]:
                raise OSError("the disk is gone")

        class BrokenOnOne(Own):
            def get_urls(self, page: Any = 1, site: Any = None, protocol: Any = None) -> Any:
                if site.domain == "a.example":
                    raise OSError("not here")
                return super().get_urls(page, site, protocol)

        thirty()
        reports = run(folder, sections={"broken": Broken, "one": BrokenOnOne, "a": Articles})
        assert [len(report.failures) for report in reports.values()] == [2, 1]
        assert pages(folder / FOLDERS[A]) == [f"sitemap-a-{number}.xml.gz" for number in (1, 2, 3)]
        assert pages(folder / FOLDERS[B])[0] == "sitemap-one-1.xml.gz"

    def test_removes_a_section_from_those_that_have_it(self, folder: Path) -> None:
        thirty()
        run(folder, sections={"a": Articles, "n": Numbers})
        export(output=folder / FOLDERS[A], base_url=A, sitemaps=FINE, remove=["n"])
        assert run(folder)[B].failures
        assert written(run(folder, remove=["n"]))
        whole(folder, A, B)


class TestTwoAtOnce:
    @pytest.mark.parametrize("host", [A, B])
    def test_are_refused_before_anything_is_touched(self, folder: Path, host: str) -> None:
        thirty()
        run(folder)
        change(15, "other")
        before = looked_at.states(folder, hidden=True)
        with stores.only_one(stores.target(folder, FOLDERS[host])):
            with pytest.raises(ExportRunningError):
                run(folder)
            with pytest.raises(CommandError) as refused:
                command(folder, "--base-url", A, "--base-url", B)
            with pytest.raises(ExportRunningError):
                export(output=folder / FOLDERS[host], base_url=host, sitemaps=FINE)
        assert refused.value.returncode == 75
        assert looked_at.states(folder, hidden=True) == before
        run(folder)
        whole(folder, A, B)

    def test_of_other_hosts_do_not_wait_for_each_other(self, folder: Path) -> None:
        thirty()
        with stores.only_one(stores.target(folder, FOLDERS[C])), stores.only_one(stores.target(folder)):
            run(folder)
        whole(folder, A, B)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> engine_project.Project:
    made = engine_project.Project(tmp_path_factory.mktemp("several-hosts"))
    made.run("ALL", "prepare")
    return made


class TestAnEngine:
    HOSTS = ("--base-url", A, "--base-url", B)

    def exported(self, status: int, out: str, err: str) -> dict[str, Any]:
        assert status == 0, err
        return dict(json.loads(out)["hosts"])

    def test_of_two_processes_gives_the_same_digests(
        self, folder: Path, project: engine_project.Project
    ) -> None:
        command = ("django", "export_sitemaps", *self.HOSTS, "--format", "json", "--workers", "2")
        found = {}
        for engine in ("serial", "processes"):
            workers = command if engine == "processes" else command[:-2]
            given = ("--engine", engine, "--output", str(folder / engine))
            found[engine] = self.exported(*project.said("ALL", *workers, *given, MAX_BYTES=9_000))
        for host in (A, B):
            assert tree(folder / "serial" / FOLDERS[host]) == tree(folder / "processes" / FOLDERS[host])
            assert len(tree(folder / "serial" / FOLDERS[host])) > 10
            assert found["processes"][host]["workers_memory"]
        assert found["serial"].keys() == {A, B}


class TestAStorage:
    @pytest.fixture(autouse=True)
    def _shared(self, shared_cache: None) -> None:
        """A lease needs one."""

    @pytest.mark.parametrize("state", [None, "local", "memory"])
    def test_has_a_folder_for_each_host_and_one_state_for_each(
        self, folder: Path, settings: Any, declare: Callable[..., None], state: str | None
    ) -> None:
        thirty()
        declare(
            sitemaps=storage(Overwriting),
            memory=storage(Overwriting),
            local={
                "BACKEND": "django.core.files.storage.FileSystemStorage",
                "OPTIONS": {"location": str(folder / "state")},
            },
        )
        settings.SITEMAPS09 = {"STORAGE": "sitemaps", **({"STATE": state} if state else {})}
        export_hosts([A, B], sitemaps={**FINE, "own": Own})
        run(folder / "files", sections={**FINE, "own": Own})
        self.same(folder / "files", saved("sitemaps"))
        before = saved("sitemaps")
        kept = {
            None: before,
            "memory": saved("memory"),
            "local": {
                str(file.relative_to(folder / "state")): file.read_bytes()
                for file in (folder / "state").rglob("*")
                if file.is_file()
            },
        }[state]
        roots = {name: json.loads(found) for name, found in kept.items() if name.endswith(MANIFEST)}
        assert sorted(found["base"] for found in roots.values()) == sorted([A, B])
        assert all(name.startswith((FOLDERS[A], FOLDERS[B])) for name in kept)
        assert written(export_hosts([A, B], sitemaps={**FINE, "own": Own})) == [(), ()]
        assert saved("sitemaps") == before
        change(15, "other")
        assert (
            written(export_hosts([A, B], sitemaps={**FINE, "own": Own}))
            == [("sitemap-a-2.xml.gz", "sitemap.xml")] * 2
        )

    def test_on_s3_has_the_same_files(
        self, folder: Path, settings: Any, bucket: Callable[..., Any]
    ) -> None:
        thirty()
        made = bucket(location="maps")
        settings.SITEMAPS09 = {"STORAGE": "sitemaps"}
        assert written(export_hosts([A, B], sitemaps=FINE))
        run(folder)
        objects = {
            found.key.removeprefix("maps/"): found.get()["Body"].read() for found in made.objects.all()
        }
        self.same(folder, objects)
        assert written(export_hosts([A, B], sitemaps=FINE)) == [(), ()]

    def test_that_has_the_state_in_itself_keeps_the_hosts_apart(
        self, folder: Path, settings: Any, declare: Callable[..., None]
    ) -> None:
        thirty()
        declare(sitemaps=storage(Overwriting))
        settings.SITEMAPS09 = {"STORAGE": "sitemaps", "STATE": "sitemaps"}
        export_hosts([A, B], sitemaps=FINE)
        assert sorted(name for name in saved("sitemaps") if name.endswith(MANIFEST)) == sorted(
            f"{FOLDERS[host]}/{STATE}/{MANIFEST}" for host in (A, B)
        )

    def same(self, expected: Path, found: Mapping[str, bytes]) -> None:
        for host in (A, B):
            start = f"{FOLDERS[host]}/"
            files = {
                name.removeprefix(start): gzip.decompress(content) if name.endswith(".gz") else content
                for name, content in found.items()
                if name.startswith(start) and STATE not in name
            }
            assert files == tree(expected / FOLDERS[host])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="what dies is a fork")
class TestAnExportThatIsKilled:
    @pytest.mark.parametrize("host", [A, B])
    def test_in_one_tree_leaves_both_whole_and_the_next_run_repairs_both(
        self, folder: Path, host: str
    ) -> None:
        fill(*range(100, 3_100, 100))
        public, kept = folder / "public", folder / "kept"
        run(public)
        shutil.copytree(public, kept)
        fill(*range(1_501, 1_508), 3_101)
        died = 0
        for point in range(1, 200, 11):
            shutil.rmtree(public)
            shutil.copytree(kept, public)

            def work(point: int = point) -> None:
                killing.die_at(point, public / FOLDERS[host])
                run(public)

            dead = killing.was_killed(killing.forked(work))
            for one in (A, B):
                found = slugs(public / FOLDERS[one])
                assert {f"s{key}" for key in range(100, 3_100, 100)} <= set(found)
            died += dead
            written(run(public))
            whole(public, A, B)
            if point % 4 == 1:
                quiet(public)
            if not dead:
                break
        assert died > 2


class TestAHost:
    @pytest.mark.parametrize(
        ("url", "name"),
        [
            ("https://a.example", "a.example"),
            ("https://A.Example/", "a.example"),
            ("https://a.example.", "a.example"),
            ("https://a.example:8443", "a.example_8443"),
            ("https://a.example.:8443", "a.example._8443"),
            ("https://bücher.example", "xn--bcher-kva.example"),
            ("http://127.0.0.1:8000", "127.0.0.1_8000"),
            ("http://[::1]:8000", "___1__8000"),
            ("http://[::ffff:1.2.3.4]", "___ffff_1.2.3.4_"),
            ("http://_x.-y", "_x.-y"),
        ],
    )
    def test_has_a_folder_that_messages_may_name(self, url: str, name: str) -> None:
        assert host_folder(parse_base(url)) == name
        assert is_folder(name)

    @pytest.mark.parametrize(
        "names",
        [
            (A, f"{A}/"),
            (A, "http://a.example"),
            (A, "https://A.EXAMPLE"),
            (A, "https://a.example."),
            ("https://a.example:80", "https://a.example_80"),
            ("https://bücher.example", "https://xn--bcher-kva.example"),
            (A, B, A),
        ],
    )
    def test_has_its_folder_alone(self, folder: Path, names: Sequence[str]) -> None:
        with pytest.raises(ExportError, match="in one folder"):
            run(folder / "x", *names)
        with pytest.raises(CommandError, match="in one folder"):
            command(folder / "x", *(word for name in names for word in ("--base-url", name)))
        assert list(folder.iterdir()) == []

    @pytest.mark.parametrize(
        "url", ["https://..", "https://", "a.example", "https://a/b", "https://u@a", "https://../x"]
    )
    def test_is_one_or_nothing_is_touched(self, folder: Path, url: str) -> None:
        with pytest.raises(ImproperlyConfigured, match="--base-url"):
            run(folder / "x", A, url)
        assert list(folder.iterdir()) == []

    def test_has_a_robots_txt_of_its_own_or_nothing_is_touched(self, folder: Path, settings: Any) -> None:
        with pytest.raises(ExportError, match=r"write \{host\}"):
            run(folder / "x", robots=folder / "robots.txt")
        settings.SITEMAPS09 = {"ROBOTS_TXT": folder / "robots.txt"}
        with pytest.raises(ExportError, match=r"write \{host\}"):
            run(folder / "x")
        assert list(folder.iterdir()) == []

    def test_has_the_robots_txt_of_the_setting(self, folder: Path, settings: Any) -> None:
        thirty()
        settings.SITEMAPS09 = {"ROBOTS_TXT": f"{folder}/{{host}}/robots.txt", "ROOT": folder}
        own = folder / FOLDERS[B]
        own.mkdir()
        (own / "robots.txt").write_text("User-agent: *\nDisallow: /x/\n")
        export_hosts([A, B], sitemaps=FINE)
        text = (own / "robots.txt").read_text()
        assert text.startswith("User-agent: *\nDisallow: /x/\n")
        assert f"Sitemap: {B}/sitemap.xml" in text
        assert A not in text
        export(base_url=C, sitemaps=FINE, output=folder / "c.example")
        assert f"Sitemap: {C}/sitemap.xml" in (folder / "c.example" / "robots.txt").read_text()

    def test_is_needed(self, folder: Path) -> None:
        with pytest.raises((ExportError, ImproperlyConfigured)):
            export_hosts([], output=folder, sitemaps=FINE)

    def test_of_a_list_of_one_has_its_folder_too(self, folder: Path) -> None:
        thirty()
        run(folder, A)
        whole(folder, A)

    def test_of_another_tree_is_refused_before_any_tree_is_written(self, folder: Path) -> None:
        thirty()
        export(output=folder / FOLDERS[B], base_url=C, sitemaps=FINE)
        before = looked_at.states(folder / FOLDERS[B], hidden=True)
        with pytest.raises(ExportError, match="holds an export of"):
            run(folder)
        assert looked_at.states(folder / FOLDERS[B], hidden=True) == before
        assert tree(folder / FOLDERS[A]) == {}


class TestWhatIsTold:
    def test_of_a_dry_run_touches_nothing(self, folder: Path) -> None:
        thirty()
        reports = run(folder / "x", dry_run=True, changes=True)
        assert [(report.published, report.urls) for report in reports.values()] == [(False, ROWS)] * 2
        assert list(folder.iterdir()) == []

    def test_is_told_of_each_host(self, folder: Path) -> None:
        thirty()
        run(folder)
        fill(31)
        change(15, "other")
        told: list[Published] = []
        seen: list[str] = []
        reports = run(
            folder,
            changes=True,
            on_published=told.append,
            progress=lambda section: seen.append(section.section),
        )
        assert seen == ["a", "a"]
        for host, one in zip((A, B), told, strict=True):
            assert one.report.index_url == f"{host}/sitemap.xml"
            assert f"{host}/sitemap-a-2.xml.gz" in one.written
            assert reports[host].changes == {"added": 2, "removed": 1, "changed": 0}

    def test_is_told_of_the_trees_that_are_published_though_one_cannot_be(self, folder: Path) -> None:
        thirty()
        run(folder)
        (folder / FOLDERS[B] / "sitemap.xml").unlink()
        (folder / FOLDERS[B] / "sitemap.xml").mkdir()
        change(15, "other")
        told: list[Published] = []
        with pytest.raises(ExportError, match="is a folder"):
            run(folder, on_published=told.append)
        assert "other" in slugs(folder / FOLDERS[A])
        assert [one.report.index_url for one in told] == [f"{A}/sitemap.xml"]


def command(folder: Path, *arguments: str) -> tuple[str, str]:
    """What the command says, and what it complains of."""
    out, err = StringIO(), StringIO()
    call_command("export_sitemaps", "--output", str(folder), *arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


class TestTheCommand:
    def test_has_a_table_for_each_host(self, folder: Path) -> None:
        thirty()
        out, _ = command(folder, "--base-url", A, "--base-url", B)
        for host in (A, B):
            assert f"{host}/sitemap.xml in {folder / FOLDERS[host]}" in out
        assert len(re.findall(r"^section +URLs", out, re.MULTILINE)) == 2
        assert len(re.findall(r"^all +\d", out, re.MULTILINE)) == 2
        whole_of = {len(tree(folder / FOLDERS[host])) for host in (A, B)}
        assert len(whole_of) == 1

    def test_has_one_document_of_json_for_all(self, folder: Path) -> None:
        thirty()
        out, _ = command(folder, "--base-url", A, "--base-url", B, "--format", "json")
        found = json.loads(out)
        assert found.keys() == {"hosts"}
        assert list(found["hosts"]) == [A, B]
        assert found["hosts"][B]["index_url"] == f"{B}/sitemap.xml"

    def test_with_one_host_does_as_before(self, folder: Path) -> None:
        thirty()
        out, _ = command(folder, "--base-url", A, "--format", "json")
        assert json.loads(out)["index_url"] == f"{A}/sitemap.xml"
        assert (folder / "sitemap.xml").exists()
        assert not (folder / FOLDERS[A]).exists()

    def test_ends_with_1_and_the_failures_of_all_hosts(
        self, folder: Path, settings: Any, two_sites: tuple[Site, Site]
    ) -> None:
        settings.SITEMAPS09 = {"SITEMAPS": f"{__name__}.SITES"}
        with pytest.raises(CommandError) as failed:
            command(folder, "--base-url", A, "--base-url", B, "--base-url", C)
        assert failed.value.returncode == 1
        assert str(failed.value).count("there is no Site") == 2
        assert (folder / FOLDERS[A] / "sitemap.xml").exists()


@pytest.fixture
def by_request(settings: Any, two_sites: tuple[Site, Site], monkeypatch: pytest.MonkeyPatch) -> None:
    """The request tells which site is served."""
    del settings.SITE_ID
    settings.SITEMAPS09 = {}
    settings.ROOT_URLCONF = __name__
    monkeypatch.setattr(sections, "_registered", SITES)
    monkeypatch.setattr(sections, "_discovered", True)


def live(url: str, host: str) -> list[str]:
    content = Client().get(url, headers={"host": host}).content.decode()
    return re.findall("<loc>(.*?)</loc>", content)


@pytest.mark.usefixtures("by_request")
class TestLiveRowsOfASite:
    @pytest.mark.parametrize(
        "url",
        [
            "/sitemap-pages-1.xml",
            pytest.param("/contrib-pages.xml"),
        ],
    )
    def test_are_those_of_the_host_that_is_asked(self, url: str) -> None:
        Site.objects.filter(pk=2).update(domain="b.example")
        for _ in range(2):
            for number, host in ((1, "a.example"), (2, "b.example")):
                for port in ("", ":8000"):
                    assert sorted(live(url, f"{host}{port}")) == [
                        f"http://{host}/of-{number}/",
                        f"http://{host}/of-both/",
                    ]

    @pytest.mark.parametrize(
        "url",
        [
            "/sitemap.xml",
            pytest.param("/contrib.xml"),
        ],
    )
    def test_are_in_the_index_of_the_host_that_is_asked(self, url: str, settings: Any) -> None:
        Site.objects.filter(pk=2).update(domain="b.example")
        for host in ("a.example", "b.example"):
            assert all(location.startswith(f"http://{host}/") for location in live(url, host))
            assert len(live(url, host)) == 1

    @pytest.mark.parametrize("site_id", [None, 1])
    @pytest.mark.parametrize(
        "url",
        [
            "/sitemap-pages-1.xml",
            pytest.param("/contrib-pages.xml"),
        ],
    )
    def test_are_those_of_the_base_url(self, url: str, site_id: int | None, settings: Any) -> None:
        base = "https://xn--bcher-kva.example"
        settings.SITEMAPS09 = {"BASE_URL": "https://bücher.example"}
        if site_id is not None:
            settings.SITE_ID = site_id
        assert sorted(live(url, "a.example")) == [f"{base}/of-2/", f"{base}/of-both/"]

    @pytest.mark.parametrize(
        "url", ["/sitemap.xml", "/sitemap-pages-1.xml", "/contrib.xml", "/contrib-pages.xml"]
    )
    def test_are_of_no_other_one_where_the_host_is_unknown(self, url: str) -> None:
        with pytest.raises((Site.DoesNotExist, ImproperlyConfigured)):
            live(url, "elsewhere.example")

    @pytest.mark.parametrize(
        "url",
        [
            "/sitemap.xml",
            "/sitemap-pages-1.xml",
            pytest.param("/contrib-pages.xml"),
        ],
    )
    def test_are_of_no_other_one_where_the_base_url_has_no_site(self, url: str, settings: Any) -> None:
        settings.SITE_ID = 1
        settings.SITEMAPS09 = {"BASE_URL": "https://elsewhere.example"}
        with pytest.raises(
            ImproperlyConfigured, match=r"there is no Site with the domain 'elsewhere\.example'"
        ):
            live(url, "a.example")

    @pytest.mark.parametrize("url", ["/sitemap-pages-1.xml", "/contrib-pages.xml"])
    def test_are_those_of_the_site_of_the_settings(self, url: str, settings: Any) -> None:
        settings.SITE_ID = 2
        # Each road writes the host as the site has it.
        for domain in ("b.example", "B.example:8000", "bücher.example"):
            Site.objects.filter(pk=2).update(domain=domain)
            Site.objects.clear_cache()
            found = live(url, "elsewhere.example")
            assert sorted(location.rpartition("/of-")[2] for location in found) == ["2/", "both/"]

    def test_do_not_stay_with_an_instance_that_serves_another_host(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        Site.objects.filter(pk=2).update(domain="b.example")
        monkeypatch.setattr(sections, "_registered", {"pages": Pages()})
        for number, host in ((1, "a.example"), (2, "b.example"), (1, "a.example")):
            assert f"http://{host}/of-{number}/" in live("/sitemap-pages-1.xml", host)

    def test_are_found_by_the_name_of_the_site_however_it_is_written(self, settings: Any) -> None:
        for domain in (
            "a.example",
            "A.Example",
            "a.example:8443",
            "bücher.example",
            "xn--bcher-kva.example",
        ):
            Site.objects.filter(pk=1).update(domain="x.example")
            Site.objects.filter(pk=2).update(domain=domain)
            Site.objects.clear_cache()
            settings.SITEMAPS09 = {"BASE_URL": f"https://{domain}"}
            assert live("/sitemap-pages-1.xml", "x.example")[0].endswith("/of-2/"), domain

    def test_follow_the_export_of_their_host(self, folder: Path, settings: Any) -> None:
        Site.objects.filter(pk=2).update(domain="b.example")
        Pages.limit = 1
        settings.SITEMAPS09 = {"ROOT": folder}
        hosts = ("http://a.example", "http://b.example")
        try:
            export_hosts(hosts, sitemaps=SITES)
            for site, gone in ((1, "/of-1/"), (2, "/of-2/")):
                FlatPage.objects.filter(url=gone, sites=site).delete()
            # What is on page 2 stays there.
            assert live("/sitemap-pages-2.xml", "a.example") == ["http://a.example/of-both/"]
        finally:
            del Pages.limit
