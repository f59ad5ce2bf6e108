"""The hosts that an export accepts, and that each has the files that it would have alone."""

from __future__ import annotations

import gzip
import json
import os
import re
from datetime import datetime, timezone

import pytest
from django.contrib.flatpages.models import FlatPage
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.contrib.sites.models import Site
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.test.utils import CaptureQueriesContext

from django_sitemaps09 import Sitemap
from django_sitemaps09.entries import Alternate, Image
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export import export, export_hosts
from django_sitemaps09.hosts import host_folder, is_host_folder
from django_sitemaps09.protocol import parse_base
from django_sitemaps09.state.manifest import ROOT as MANIFEST
from django_sitemaps09.stores import STATE, LocalStore, target_store
from tests.models import Article
from tests.support import published
from tests.support.exports import local_storage
from tests.support.published import unpacked as tree
from tests.support.sections import declare, listing
from tests.support.several_hosts import (
    COUNTED,
    FINE,
    FOLDERS,
    HOST_OPTIONS,
    KINDS,
    ROWS,
    SECTIONS,
    A,
    B,
    C,
    Numbers,
    Own,
    Pages,
    change,
    command,
    fill,
    pages,
    quiet,
    run,
    slugs,
    thirty,
    urls,
    written,
)
from tests.support.stores import Overwriting, below, saved, storage

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make links of others")
PAGE = "sitemap-pages-1.xml.gz"
SITES = ("https://a.example", "https://bücher.example")
WITH_OWN = {**FINE, "own": Own}


@pytest.mark.parametrize("name", [*KINDS, "all"])
def test_a_tree_equals_that_of_an_export_of_its_host_alone(folder, configure, name):
    thirty()
    Article.objects.filter(pk__gt=25).update(updated=datetime.now(timezone.utc))
    # Later entries are longer than the first ones, which determine how many rows fit.
    for key in range(16, 26):
        Article.objects.filter(pk=key).update(slug=f"{'x' * 70}{key}")
    configure(MAX_BYTES=2_000)
    chosen = {**KINDS, **SECTIONS} if name == "all" else {name: KINDS[name]}
    hosts = [A, B, f"https://{'l' * 50}.example", "https://bücher.example", "https://[::1]:8000"]
    if "insecure" in chosen:
        # All URLs of a sitemap must have the same scheme and host, so no https index can list these pages.
        hosts = [C, "http://d.example:8000"]
    together, alone = folder / "all", folder / "alone"
    reports = run(together, *hosts, sections=chosen, robots=folder / "{host}.txt")
    for host in hosts:
        own = host_folder(parse_base(host))
        options = {"base_url": host, "sitemaps": chosen, "robots": alone / f"{own}.txt"}
        one = export(output=alone / own, **options)
        assert tree(together / own) == tree(alone / own)
        assert (folder / f"{own}.txt").read_bytes() == (alone / f"{own}.txt").read_bytes()
        report = reports[host]
        assert (report.urls, report.written, report.failures) == (one.urls, one.written, [])
        assert report.index_url == f"{parse_base(host)}/sitemap.xml"
        assert {section.skipped_items for section in report.sections} == {0}
    quiet(together, *hosts, sections=chosen)


def test_a_tree_gives_its_scheme_to_urls_without_one(folder):
    urls = ["example.org/1/%C3%BC/", "example.fr/1/", "cdn.example/x.jpg", "cdn.example/licence/"]
    schemeless = declare(
        Numbers,
        i18n=True,
        languages=["en"],
        x_default=lambda self, item: f"//example.org/{item}/ü/",
        alternates=lambda self, item: [Alternate("fr", f"//example.fr/{item}/")],
        images=lambda self, item: [Image("//cdn.example/x.jpg", license="//cdn.example/licence/")],
    )
    run(folder, A, C, sections={"a": schemeless}, gzip=False)
    for host, scheme in ((A, "https"), (C, "http")):
        page = (folder / FOLDERS[host] / "sitemap-a-1.xml").read_text()
        found = [{*re.findall(rf"[\">]([a-z]*)://{url}[\"<]", page)} for url in urls]
        assert found == [{scheme}] * len(urls)


def test_a_tree_lists_absolute_urls_on_its_own_host_alone(folder):
    absolute = declare(Numbers, location=lambda self, item: f"{A if item % 2 else ''}/{item}/")
    reports = run(folder, A, B, sections={"a": absolute})
    assert [report.sections[0].skipped_items for report in reports.values()] == [0, 12]
    assert reports[B].sections[0].errors[0].key == "2"
    assert slugs(folder / FOLDERS[A]) == [str(item) for item in Numbers.rows]
    assert slugs(folder / FOLDERS[B]) == [str(item) for item in Numbers.rows if item % 2 == 0]


def test_a_tree_has_the_files_url_with_its_folder(folder, configure):
    thirty()
    configure(FILES_URL="https://files.example/maps/", ROOT=folder)
    reports = export_hosts([A, B], sitemaps=FINE, robots=folder / "{host}.txt")
    for host in (A, B):
        start = f"https://files.example/maps/{FOLDERS[host]}/"
        assert (
            f"<loc>{start}sitemap-a-1.xml.gz</loc>".encode() in tree(folder / FOLDERS[host])["sitemap.xml"]
        )
        assert reports[host].index_url == f"{start}sitemap.xml"
        assert f"{start}sitemap.xml" in (folder / f"{FOLDERS[host]}.txt").read_text()


@pytest.mark.parametrize("name", ["articles", "hooks", "text"])
def test_a_tree_takes_the_queries_of_an_export_of_its_host_alone(folder, name):
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


def test_the_rows_of_sites_are_those_of_the_site_of_each_host(folder, two_sites):
    # However the domain is written.
    Site.objects.filter(pk=1).update(domain="A.example")
    chosen = {"pages": Pages, "n": Numbers}
    reports = run(folder, *SITES, sections=chosen)
    for number, host in enumerate(SITES, 1):
        base = parse_base(host)
        assert urls(folder / base.domain, PAGE) == [f"{base}/of-{number}/", f"{base}/of-both/"]
        assert reports[host].urls == 27
    quiet(folder, *SITES, sections=chosen)
    # A host without a site fails this section alone.
    reports = run(folder, A, B, sections=chosen)
    [failure] = reports[B].failures
    assert "no Site has the domain 'a-longer-name.b.example:8443'" in failure
    assert (reports[A].failures, pages(folder / FOLDERS[A])[0]) == ([], PAGE)
    assert pages(folder / FOLDERS[B]) == [f"sitemap-n-{number}.xml.gz" for number in (1, 2, 3)]


def test_the_rows_of_sites_are_never_those_of_another_site_by_own_items(folder, two_sites):
    mine = declare(Pages, items=lambda self: FlatPage.objects.order_by("pk"))
    run(folder, *SITES, sections={"pages": mine})
    for name, other in (("a.example", "of-2"), ("xn--bcher-kva.example", "of-1")):
        assert other not in slugs(folder / name)
    sliced = declare(Pages, queryset=FlatPage.objects.order_by("pk")[:2])
    for report in run(folder, *SITES, sections={"p": sliced}).values():
        assert any("slice" in failure for failure in report.failures)


@pytest.mark.parametrize("base", [ContribSitemap, Sitemap], ids=["contrib", "ours"])
def test_the_rows_of_sites_are_not_chosen_for_a_class_that_knows_no_site_fields(folder, base):
    odd = listing([1], base, site_field="site")
    assert [report.failures for report in run(folder, sections={"odd": odd}).values()] == [[], []]


@pytest.fixture
def link(folder, tmp_path):
    """A link of another user in the place of a folder of a host. It leads to `victim`."""
    (tmp_path / "victim").mkdir()
    folder.mkdir(exist_ok=True)
    (folder / FOLDERS[A]).symlink_to(tmp_path / "victim")
    os.chown(folder / FOLDERS[A], 1234, 2345, follow_symlinks=False)
    return folder / FOLDERS[A]


@needs_root
def test_the_folder_of_a_host_can_be_a_link_but_not_that_of_another_user(folder, link):
    (link / "sitemap.xml").write_text("mine")
    reports = run(folder, A, B, sections={"numbers": Numbers})
    [failure] = reports[A].failures
    assert f"{link} is a symbolic link owned by another user" in failure
    assert (reports[B].published, reports[B].failures) == (True, [])
    assert {path.name: path.read_text() for path in link.iterdir()} == {"sitemap.xml": "mine"}
    os.chown(link, os.geteuid(), -1, follow_symlinks=False)
    reports = run(folder, A, B, sections={"numbers": Numbers})
    assert all(report.published for report in reports.values())
    assert b"<sitemapindex" in (link / "sitemap.xml").read_bytes()


@needs_root
@pytest.mark.parametrize("access", [
    lambda store: store.write("sitemap.xml", b"a"), lambda store: store.read("sitemap.xml", 100),
    lambda store: store.delete("sitemap.xml"), LocalStore.names,
], ids=["write", "read", "delete", "names"])  # fmt: skip
def test_a_link_that_replaces_the_folder_of_a_host_meanwhile_is_not_followed(folder, access, request):
    store = target_store(folder, FOLDERS[A])
    link = request.getfixturevalue("link")
    with pytest.raises(ExportError, match="symbolic link owned by another user"):
        access(store)
    assert [*link.iterdir()] == []


@pytest.mark.parametrize(("url", "name"), [
    (A, "a.example"), ("https://A.Example/", "a.example"), ("https://a.example.", "a.example"),
    ("https://a.example:8443", "a.example_8443"), ("https://a.example.:8443", "a.example._8443"),
    ("https://bücher.example", "xn--bcher-kva.example"), ("http://127.0.0.1:80", "127.0.0.1_80"),
    ("http://[::1]:8000", "___1__8000"), ("http://[::ffff:1.2.3.4]", "___ffff_1.2.3.4_"),
    ("http://_x.-y", "_x.-y"),
])  # fmt: skip
def test_a_host_has_a_folder_that_messages_may_name(url, name):
    assert (host_folder(parse_base(url)), is_host_folder(name)) == (name, True)


@pytest.mark.parametrize("urls", [
    (A, f"{A}/"), (A, "http://a.example"), (A, "https://A.EXAMPLE"), (A, "https://a.example."),
    ("https://a.example:80", "https://a.example_80"), (A, B, A),
    ("https://bücher.example", "https://xn--bcher-kva.example"),
])  # fmt: skip
def test_a_host_does_not_share_its_folder(folder, urls):
    with pytest.raises(ExportError, match="would share a folder"):
        run(folder / "x", *urls)
    assert [*folder.iterdir()] == []


@pytest.mark.parametrize(
    "url", ["https://..", "https://", "a.example", "https://a/b", "https://u@a", "https://../x"]
)
def test_a_host_must_be_a_valid_base_url_before_anything_is_touched(folder, url):
    with pytest.raises(ImproperlyConfigured, match="--base-url"):
        run(folder / "x", A, url)
    assert [*folder.iterdir()] == []


@pytest.mark.parametrize("by", ["argument", "setting"])
def test_a_host_has_its_own_robots_txt_or_nothing_is_changed(folder, settings, by):
    thirty()
    robots = folder / "robots.txt"
    settings.SITEMAPS09 = {"ROBOTS_TXT": robots} if by == "setting" else {}
    with pytest.raises(ExportError, match=r"Use \{host\} in the path"):
        run(folder / "x", robots=robots if by == "argument" else None)
    assert [*folder.iterdir()] == []
    settings.SITEMAPS09 = {"ROBOTS_TXT": f"{folder}/{{host}}/robots.txt", "ROOT": folder}
    robots = folder / FOLDERS[B] / "robots.txt"
    robots.parent.mkdir()
    robots.write_text("User-agent: *\nDisallow: /x/\n")
    export_hosts([A, B], sitemaps=FINE)
    text = robots.read_text()
    assert text.startswith("User-agent: *\nDisallow: /x/\n")
    assert (f"Sitemap: {B}/sitemap.xml" in text, A in text) == (True, False)
    export(base_url=C, sitemaps=FINE, output=folder / "c.example")
    assert f"Sitemap: {C}/sitemap.xml" in (folder / "c.example" / "robots.txt").read_text()


def test_a_host_whose_folder_is_that_of_another_is_refused_before_any_file_is_written(folder):
    thirty()
    export(output=folder / FOLDERS[B], base_url=C, sitemaps=FINE)
    before = published.states(folder, hidden=True)
    with pytest.raises(ExportError, match="contains an export of"):
        run(folder)
    assert (published.states(folder, hidden=True), (folder / FOLDERS[A]).exists()) == (before, False)


def test_each_host_is_reported_to_callbacks_with_its_files_and_changes(folder):
    thirty()
    reports = run(folder, dry_run=True, changes=True)
    assert [(report.published, report.urls) for report in reports.values()] == [(False, ROWS)] * 2
    assert [*folder.iterdir()] == []
    run(folder)
    fill(31)
    change(15, "other")
    notices, seen = [], []
    callbacks = {"on_published": notices.append, "progress": lambda section: seen.append(section.section)}
    reports = run(folder, changes=True, **callbacks)
    assert seen == ["a", "a"]
    for host, notice in zip((A, B), notices, strict=True):
        assert notice.report.index_url == f"{host}/sitemap.xml"
        assert f"{host}/sitemap-a-2.xml.gz" in notice.written
        assert reports[host].changes == {"added": 2, "removed": 1, "changed": 0}


def test_the_command_prints_a_table_for_each_host_and_one_document_of_json_for_all(folder):
    thirty()
    out, _ = command(folder, *HOST_OPTIONS)
    tables = re.findall(r"^(section|all) |(https:\S+ to .*)$", out, re.MULTILINE)
    places = [f"section all {host}/sitemap.xml to {folder / FOLDERS[host]}" for host in (A, B)]
    assert " ".join("".join(found) for found in tables) == " ".join(places)
    found = json.loads(command(folder, *HOST_OPTIONS, "--format", "json")[0])
    assert ([*found], [*found["hosts"]]) == (["hosts"], [A, B])
    assert found["hosts"][B]["index_url"] == f"{B}/sitemap.xml"


@pytest.mark.usefixtures("shared_cache")
@pytest.mark.parametrize("state", [None, "local", "memory", "sitemaps"])
def test_a_storage_has_a_folder_and_a_state_for_each_host(folder, settings, declare, state):
    thirty()
    local = local_storage(folder / "state")
    declare(sitemaps=storage(Overwriting), memory=storage(Overwriting), local=local)
    # Another target must not share the state.
    run(folder / "files", sections=WITH_OWN)
    settings.SITEMAPS09 = {"STORAGE": "sitemaps", **({"STATE": state} if state else {})}
    export_hosts([A, B], sitemaps=WITH_OWN)
    before = saved("sitemaps")
    for host in (A, B):
        files = {
            name.removeprefix(f"{FOLDERS[host]}/"): gzip.decompress(data) if name.endswith(".gz") else data
            for name, data in before.items()
            if name.startswith(f"{FOLDERS[host]}/") and STATE not in name
        }
        assert files == tree(folder / "files" / FOLDERS[host])
    kept = saved("memory") if state == "memory" else before
    if state == "local":
        kept = below(folder / "state")
    roots = [json.loads(data) for name, data in kept.items() if name.endswith(MANIFEST)]
    assert sorted(root["base"] for root in roots) == sorted([A, B])
    assert all(name.startswith((FOLDERS[A], FOLDERS[B])) for name in kept)
    assert written(export_hosts([A, B], sitemaps=WITH_OWN)) == [(), ()]
    after = saved("sitemaps")
    changed = {name for name in {*before, *after} if before.get(name) != after.get(name)}
    hosts = (FOLDERS[A], FOLDERS[B]) if state in (None, "sitemaps") else ()
    assert changed == {f"{host}/.sitemaps09/exported.json" for host in hosts}
    change(15, "other")
    changed = [("sitemap-a-2.xml.gz", "sitemap.xml")] * 2
    assert written(export_hosts([A, B], sitemaps=WITH_OWN)) == changed
