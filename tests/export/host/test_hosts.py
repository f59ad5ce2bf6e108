"""Exports of several hosts: each has the files that it would have alone, its own state, and fails alone."""

from __future__ import annotations

import json
import logging
import os
import random
import re
import shutil
import signal
from datetime import datetime, timedelta, timezone
from unittest.mock import Mock

import pytest
from django.contrib.flatpages.models import FlatPage
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.contrib.sites.models import Site
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils.translation import get_language

from django_sitemaps09 import Alternate, Image, Sitemap
from django_sitemaps09.declare.hosts import host_folder, is_host_folder
from django_sitemaps09.exceptions import ExportError, ExportRunningError
from django_sitemaps09.export import export, export_hosts
from django_sitemaps09.export.interrupts import Interrupted
from django_sitemaps09.export.report import exit_status
from django_sitemaps09.signals import published as published_signal
from tests.models import Article
from tests.support import commands, killing, published
from tests.support.articles import Articles, Fresh
from tests.support.exports import local_storage, promoting
from tests.support.internals import ROOT, STATE, LocalStore, engines, parse_base, render_page, stores
from tests.support.published import pages, unpacked as tree, urls
from tests.support.sections import declare, listing
from tests.support.several_hosts import Pages
from tests.support.stores import Overwriting, below, saved, storage

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make links of others")
A, B, C = "https://a.example", "https://a-longer-name.b.example:8443", "http://c.example"
#: The options of the command for the first two hosts, and the folders of all.
HOST_OPTIONS = ("--base-url", A, "--base-url", B)
FOLDERS = {A: "a.example", B: "a-longer-name.b.example_8443", C: "c.example"}
SITES = ("https://a.example", "https://bücher.example")
OLD = datetime(2026, 1, 1, tzinfo=timezone.utc)
PAGE, ROWS, COUNTED = "sitemap-pages-1.xml.gz", 30, []


class ByHooks(Articles):
    """The same section with methods as hooks, which record their calls in `COUNTED`."""

    def location(self, item):
        COUNTED.append(item.pk)
        return f"/hooks/{item.slug}/"

    def images(self, item):
        return [Image(f"pictures/{item.pk}.jpg"), Image("/here.jpg"), Image("https://cdn.example/x.jpg")]


#: Sections that are paginated by position, of us and of contrib, and one of each other kind.
Numbers = listing(range(25), limit=10, changefreq="daily")
FINE = {"a": Articles}
WITH_OWN = {**FINE, "own": listing([1, 2], ContribSitemap)}
KINDS = {
    "articles": Articles, "hooks": ByHooks, "numbers": Numbers,
    "translated": declare(
        Numbers, **dict.fromkeys(("i18n", "alternates", "x_default"), True), languages=["en", "de"],
        location=lambda self, item: f"/{get_language()}/ü/{item}/",
    ),
    "insecure": declare(Numbers, protocol="http"),
    "schemeless": declare(
        Numbers, i18n=True, languages=["en"],
        x_default=lambda self, item: f"//example.org/{item}/ü/",
        alternates=lambda self, item: [Alternate("fr", f"//example.fr/{item}/")],
        images=lambda self, item: [Image("//cdn.example/x.jpg", license="//cdn.example/licence/")],
    ),
    "text": declare(Articles, format="text"), "news": Fresh,
}  # fmt: skip


@pytest.fixture(autouse=True)
def _sections(several_hosts, configure):
    configure(SITEMAPS=f"{__name__}.FINE")


def fill(*keys):
    rows = (Article(pk=key, slug=f"s{key}", updated=OLD + timedelta(hours=key)) for key in keys)
    Article.objects.bulk_create(rows)


def thirty():
    fill(*range(1, ROWS + 1))


def change(key, slug):
    Article.objects.filter(pk=key).update(slug=slug, updated=OLD + timedelta(days=99))


def run(folder, *hosts, sections=FINE, **options):
    return export_hosts(hosts or (A, B), output=folder, sitemaps=sections, **options)


def slugs(folder):
    return [url.rstrip("/").rpartition("/")[2] for name in pages(folder) for url in urls(folder, name)]


def written(reports):
    assert [report.failures for report in reports.values()] == [[]] * len(reports)
    return [report.written for report in reports.values()]


def whole(folder, *hosts):
    expected = [*Article.objects.order_by("pk").values_list("slug", flat=True)]
    for host in hosts:
        assert slugs(folder / FOLDERS[host]) == expected, host


def quiet(folder, *hosts, **options):
    before = published.states(folder, hidden=True)
    assert written(run(folder, *hosts, **options)) == [()] * (len(hosts) or 2)
    assert published.states(folder, hidden=True) == before


@pytest.mark.parametrize("name", [*KINDS, "all"])
def test_a_tree_equals_that_of_an_export_of_its_host_alone(folder, configure, name):
    thirty()
    Article.objects.filter(pk__gt=25).update(updated=datetime.now(timezone.utc))
    # Later entries are longer than the first ones, which determine how many rows fit.
    for key in range(16, 26):
        Article.objects.filter(pk=key).update(slug=f"{'x' * 70}{key}")
    configure(MAX_BYTES=2_000)
    chosen = {**KINDS, **WITH_OWN} if name == "all" else {name: KINDS[name]}
    hosts = [A, B, C, f"https://{'l' * 50}.example", "https://bücher.example", "https://[::1]:8000"]
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


def test_a_tree_lists_absolute_urls_on_its_own_host_alone(folder):
    absolute = declare(Numbers, location=lambda self, item: f"{A if item % 2 else ''}/{item}/")
    reports = run(folder, A, B, sections={"a": absolute})
    assert [report.sections[0].skipped_items for report in reports.values()] == [0, 12]
    assert reports[B].sections[0].errors[0].key == "2"
    assert slugs(folder / FOLDERS[A]) == [*map(str, range(25))]
    assert slugs(folder / FOLDERS[B]) == [*map(str, range(0, 25, 2))]


def test_a_tree_has_the_files_url_with_its_folder(folder, configure):
    fill(1)
    configure(FILES_URL="https://files.example/maps/", ROOT=folder)
    reports = export_hosts([A, B], sitemaps=FINE, robots=folder / "{host}.txt")
    for host in (A, B):
        start = f"https://files.example/maps/{FOLDERS[host]}/sitemap"
        assert urls(folder / FOLDERS[host], "sitemap.xml") == (f"{start}-a-1.xml.gz",)
        assert urls(folder / FOLDERS[host], "sitemap-a-1.xml.gz") == (f"{host}/articles/s1/",)
        assert reports[host].index_url == f"{start}.xml"
        assert f"\nSitemap: {start}.xml\n" in (folder / f"{FOLDERS[host]}.txt").read_text()


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


def test_a_host_without_a_site_fails_the_sections_of_sites_alone(folder, two_sites):
    # However the domain is written.
    Site.objects.filter(pk=1).update(domain="A.example")
    for _ in range(2):
        reports = run(folder, A, B, sections={"pages": Pages, "n": Numbers})
        [failure] = reports[B].failures
        assert "no Site has the domain 'a-longer-name.b.example:8443'" in failure
        numbers = [f"sitemap-n-{number}.xml.gz" for number in (1, 2, 3)]
        assert [pages(folder / FOLDERS[host]) for host in (A, B)] == [[PAGE, *numbers], numbers]
        assert reports[A].failures == []
        assert urls(folder / FOLDERS[A], PAGE) == (f"{A}/of-1/", f"{A}/of-both/")


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
    store = stores.target_store(folder, FOLDERS[A])
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


@pytest.mark.parametrize(("hosts", "error", "words"), [
    *(((A, B, other), ExportError, "would share a folder")
      for other in (f"{A}/", "http://a.example", "https://A.EXAMPLE", "https://a.example.", A)),
    *(((f"https://{first}", f"https://{second}"), ExportError, "would share a folder") for first, second in
      (("a.example:80", "a.example_80"), ("bücher.example", "xn--bcher-kva.example"))),
    *(((A, other), ImproperlyConfigured, "--base-url")
      for other in ("https://..", "https://", "a.example", "https://a/b", "https://u@a")),
])  # fmt: skip
def test_a_host_has_a_valid_url_and_its_own_folder_before_anything_is_touched(folder, hosts, error, words):
    with pytest.raises(error, match=words):
        run(folder / "x", *hosts)
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
    for _ in range(2):
        run(folder, changed_only=True)
    fill(31)
    change(15, "other")
    notices, seen = [], []
    callbacks = {"on_published": notices.append, "progress": lambda section: seen.append(section.skipped)}
    reports = run(folder, changes=True, changed_only=True, **callbacks)
    # Page 2 and the last one have changed.
    assert seen == [1, 1]
    for host, notice in zip((A, B), notices, strict=True):
        assert notice.report.index_url == f"{host}/sitemap.xml"
        assert f"{host}/sitemap-a-2.xml.gz" in notice.written
        assert reports[host].changes == {"added": 2, "removed": 1, "changed": 0}


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
    public = {name: data for name, data in before.items() if STATE not in name}
    assert public == {name: data for name, data in below(folder / "files").items() if STATE not in name}
    kept = below(folder / "state") if state == "local" else saved(state or "sitemaps")
    roots = [json.loads(data) for name, data in kept.items() if name.endswith(ROOT)]
    assert sorted(root["base"] for root in roots) == sorted([A, B])
    assert all(name.startswith((FOLDERS[A], FOLDERS[B])) for name in kept)
    assert written(export_hosts([A, B], sitemaps=WITH_OWN)) == [(), ()]
    after = saved("sitemaps")
    changed = {name for name in {*before, *after} if before.get(name) != after.get(name)}
    hosts = (FOLDERS[A], FOLDERS[B]) if state in (None, "sitemaps") else ()
    assert changed == {f"{host}/.sitemaps09/exported.json" for host in hosts}
    change(15, "other")
    assert written(export_hosts([A, B], sitemaps=WITH_OWN)) == [CHANGED] * 2


CHANGED = ("sitemap-a-2.xml.gz", "sitemap.xml")


def restore(own, copy=None):
    shutil.rmtree(own, ignore_errors=True)
    shutil.copytree(copy or own.with_name("kept"), own)


@pytest.mark.parametrize("harm", ["missing", "older", "sitemap-a-2.xml.gz", ROOT, "section-*.jsonl"])
@pytest.mark.parametrize("host", [A, B])
@pytest.mark.parametrize("changed_only", [False, True])
def test_a_tree_that_is_harmed_is_repaired_and_no_other_is_written(folder, harm, host, changed_only):
    thirty()
    run(folder, changed_only=changed_only)
    own, other = folder / FOLDERS[host], B if host == A else A
    shutil.copytree(own, folder / "kept")
    fill(*range(31, 45))
    run(folder, changed_only=changed_only)
    if harm in ("missing", "older"):
        shutil.rmtree(own) if harm == "missing" else restore(own)
    for file in own.rglob(harm):
        file.write_bytes(file.read_bytes()[:-30])
    named_before = {*pages(own)} if own.exists() else set()
    before = published.states(folder / FOLDERS[other])
    reports = run(folder, A, B, C, changed_only=changed_only)
    written(reports)
    assert (bool(reports[host].written), reports[other].written) == (True, ())
    assert published.states(folder / FOLDERS[other]) == before
    whole(folder, A, B, C)
    if harm in (ROOT, "section-*.jsonl"):
        assert named_before.isdisjoint(pages(own)), "a number came back"
    # Files that no index lists any more are kept for a while.
    assert named_before <= {*tree(own)}
    quiet(folder, A, B, C)


@pytest.mark.parametrize("seed", range(3))
def test_each_tree_has_all_rows_after_any_history(folder, seed):
    chance = random.Random(seed)  # noqa: S311
    hosts, copies, free = [A, B, C], {}, list(range(1, 300))
    chance.shuffle(free)
    fill(*(free.pop() for _ in range(40)))

    def happen(what):
        host = chance.choice(hosts)
        own, keys = folder / FOLDERS[host], [*Article.objects.values_list("pk", flat=True)]
        if what == "alone":
            export(output=own, base_url=host, sitemaps=FINE)
        elif what == "lose":
            shutil.rmtree(own, ignore_errors=True)
        elif what == "keep" and own.exists():
            copies[host] = folder / f"kept-{len(copies)}-{chance.random()}"
            shutil.copytree(own, copies[host])
        elif what == "bring back" and host in copies:
            restore(own, copies[host])
        elif what == "harm" and (found := sorted(own.glob("**/*.json*"))):
            chance.choice(found).write_bytes(b"?")
        elif what == "add":
            fill(*(free.pop() for _ in range(min(chance.randrange(1, 15), len(free)))))
        elif what == "delete":
            Article.objects.filter(pk__in=chance.sample(keys, min(12, len(keys) - 1))).delete()
        elif what == "edit":
            change(chance.choice(keys), f"e{chance.randrange(10**6)}")

    events = ["alone", "lose", "keep", "bring back", "harm", "add", "add", "add", "delete", "edit"]
    for _ in range(14):
        for _ in range(chance.randrange(1, 4)):
            happen(chance.choice(events))
        some = chance.sample(hosts, chance.randrange(2, 4))
        options = {name: chance.random() < 0.2 for name in ("rebalance", "changed_only")}
        written(run(folder, *some, **options))
        whole(folder, *some)
    for _ in range(6):
        if not any(written(run(folder, *hosts))):
            break
    whole(folder, *hosts)
    quiet(folder, *hosts)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="what dies is a fork")
@pytest.mark.parametrize("host", [A, B])
def test_an_export_that_is_killed_in_one_tree_leaves_both_whole_and_the_next_run_repairs_both(folder, host):
    rows = range(100, 3_100, 100)
    fill(*rows)
    public, died = folder / "public", 0
    run(public)
    shutil.copytree(public, folder / "kept")
    fill(*range(1_501, 1_508), 3_101)
    for point in range(1, 200, 11):
        restore(public)
        dead = killing.is_killed_at(point, public / FOLDERS[host], lambda: run(public))
        for one in (A, B):
            assert {f"s{key}" for key in rows} <= {*slugs(public / FOLDERS[one])}
        died += dead
        written(run(public))
        whole(public, A, B)
        if point % 4 == 1:
            quiet(public)
        if not dead:
            break
    assert died > 2


def test_a_guard_of_a_tree_holds_a_section_back_there_alone_and_no_other_section(folder):
    fill(*range(1, 301))
    chosen = {"a": declare(Articles, limit=300), "n": Numbers}
    run(folder, sections={"a": chosen["a"]})
    # Only the manifest of the second host has the count of 300.
    shutil.rmtree(folder / FOLDERS[A])
    Article.objects.filter(pk__gt=50).delete()
    before = tree(folder / FOLDERS[B])
    for _ in range(2):
        reports = run(folder, sections=chosen)
        [failure] = reports[B].failures
        assert (reports[A].failures, "it would shrink from 300 to 50 URLs" in failure) == ([], True)
    found = tree(folder / FOLDERS[B])
    assert found["sitemap-a-1.xml.gz"] == before["sitemap-a-1.xml.gz"]
    assert b"sitemap-n-1.xml.gz" in found["sitemap.xml"]
    # It does not matter that a forced section is published on one host already, and on another one not yet.
    assert [*map(bool, written(run(folder, A, B, C, sections=chosen, force=["a"])))] == [False, True, True]
    assert [len(slugs(folder / FOLDERS[host])) for host in (A, B, C)] == [50 + 25] * 3


def test_a_section_is_removed_from_the_hosts_that_have_it(folder):
    thirty()
    run(folder, sections={"a": Articles, "n": Numbers})
    export(output=folder / FOLDERS[A], base_url=A, sitemaps=FINE, remove=["n"])
    assert run(folder)[B].failures
    assert [len(names) for names in written(run(folder, A, B, C, remove=["n"]))] == [0, 1, 4]
    assert "sitemap-n-1.xml.gz" not in pages(folder / FOLDERS[B])
    whole(folder, A, B, C)
    # What no host has is refused before any is written.
    change(15, "other")
    before = published.states(folder, hidden=True)
    for name, reason in (("n", "because it is not published"), ("a", "because it is still declared")):
        with pytest.raises(ExportError, match=reason):
            run(folder, remove=[name])
    assert published.states(folder, hidden=True) == before


def locked(folder, *name):
    return stores.exclusive_lock(stores.target_store(folder, *name))


def failed(folder, *arguments):
    error = commands.failed("export_sitemaps", "--output", folder, *HOST_OPTIONS, *arguments)[2]
    return error.returncode, str(error)


@pytest.mark.parametrize(("host", "other"), [(A, B), (B, A)])
def test_a_second_export_of_one_host_is_refused_and_the_other_host_is_exported(folder, host, other):
    thirty()
    run(folder)
    change(15, "other")
    before = published.states(folder / FOLDERS[host], hidden=True)
    # Exports of other hosts, and of the folder of all, do not matter.
    with locked(folder, FOLDERS[host]), locked(folder, FOLDERS[C]), locked(folder):
        reports = run(folder)
        assert failed(folder)[0] == exit_status(reports.values()) == 75
        with pytest.raises(ExportRunningError):
            export(output=folder / FOLDERS[host], base_url=host, sitemaps=FINE)
    assert published.states(folder / FOLDERS[host], hidden=True) == before
    busy = reports[host]
    assert (busy.is_busy, busy.published, busy.sections, busy.exit_status) == (True, False, (), 75)
    assert busy.failures[0].startswith(f"{host}: ")
    assert (reports[other].is_busy, reports[other].exit_status) == (False, 0)
    whole(folder, other)
    run(folder)
    whole(folder, A, B)


def test_a_second_export_of_one_host_has_status_1_if_anything_else_failed(folder):
    thirty()
    run(folder)
    (folder / FOLDERS[B] / "sitemap.xml").unlink()
    (folder / FOLDERS[B] / "sitemap.xml").mkdir()
    change(15, "other")
    with locked(folder, FOLDERS[A]):
        status, error = failed(folder, "--base-url", C)
    assert (status, bool(re.fullmatch(rf"{A}: .*\n{B}: .*is a folder.*", error))) == (1, True)
    whole(folder, C)


@pytest.fixture
def announced():
    found = []

    def receive(published, **options):
        found.append(published.report.index_url.removesuffix("/sitemap.xml"))

    published_signal.connect(receive)
    yield found
    published_signal.disconnect(receive)


def files(folder, *hosts):
    found = [path for host in hosts for path in (folder / FOLDERS[host]).rglob("*")]
    return [path for path in found if path.match("*.xml*") or path.match("run-*")]


@pytest.mark.parametrize("error", [OSError("boom"), ExportError("boom"), RuntimeError("boom")], ids=repr)
@pytest.mark.parametrize("host", [A, B, C])
def test_a_host_that_fails_stops_no_other(folder, host, error, monkeypatch, caplog, announced):
    thirty()
    run(folder, A, B, C)
    announced.clear()
    change(15, "other")
    with monkeypatch.context() as patches:
        fail = Mock(side_effect=error)
        promoting(patches, lambda store, name: store.folder.name == FOLDERS[host] and fail())
        reports = run(folder, A, B, C)
    others = [other for other in (A, B, C) if other != host]
    assert ([*reports], announced) == ([A, B, C], others)
    assert written({other: reports[other] for other in others}) == [CHANGED] * 2
    whole(folder, *others)
    report = reports[host]
    [failure] = report.failures
    assert (failure.startswith(f"{host}: "), "boom" in failure) == (True, True)
    assert (report.published, report.sections, report.is_busy, report.exit_status) == (False, (), False, 1)
    assert (report.index_url, report.folder) == (f"{host}/sitemap.xml", folder / FOLDERS[host])
    assert report.as_dict()["failures"] == [failure]
    [record] = [each for each in caplog.records if each.levelno == logging.ERROR]
    # Only a mistake in code needs a traceback.
    assert bool(record.exc_info) == isinstance(error, RuntimeError)
    assert slugs(folder / FOLDERS[host])
    written(run(folder, A, B, C))
    whole(folder, A, B, C)
    quiet(folder, A, B, C)


@pytest.mark.parametrize("name", ["on_plan", "on_page", "progress"])
def test_a_callback_that_fails_ends_the_exports_after_the_hosts_that_are_published(folder, name, announced):
    def fail(*arguments):
        if announced:
            raise LookupError("mine")

    thirty()
    with pytest.raises(LookupError, match="mine"):
        run(folder, A, B, C, **{name: fail})
    assert (announced, files(folder, B, C)) == ([A], [])
    whole(folder, A)
    written(run(folder, A, B, C))
    whole(folder, A, B, C)


@pytest.mark.parametrize("when", ["after", "while"])
def test_a_signal_ends_exports_after_a_host_is_announced(folder, announced, monkeypatch, when):
    def items(self):
        if announced:
            signal.raise_signal(signal.SIGTERM)
        return range(25)

    monkeypatch.setitem(FINE, "a", declare(Numbers, items=items))
    if when == "while":
        promoting(monkeypatch, lambda store, name: signal.raise_signal(signal.SIGTERM))
    words = "nothing further was published" if when == "after" else "was completed first"
    with pytest.raises(Interrupted, match=words):
        commands.said("export_sitemaps", "--output", folder, *HOST_OPTIONS, "--base-url", C)
    assert (announced, files(folder, B, C), len(slugs(folder / FOLDERS[A]))) == ([A], [], 25)
    assert when == "after" or not (folder / FOLDERS[B]).exists()


@pytest.mark.parametrize("options", [
    {"names": ["unknown"]}, {"force": ["unknown"]}, {"workers": 0}, {"engine": "unknown"}, {"gzip": "no"},
    {"names": "a"}, {"submit": True},
], ids=str)  # fmt: skip
def test_an_invalid_argument_is_an_error_before_any_host_is_written(folder, options):
    thirty()
    run(folder)
    change(15, "other")
    before = published.states(folder, hidden=True)
    with pytest.raises(Exception, match=r"\w") as raised:
        run(folder, **options)
    assert type(raised.value).__module__.startswith(("django_sitemaps09", "django.core.exceptions"))
    assert published.states(folder, hidden=True) == before


class Once:
    """Engine that renders in this process, and records its uses."""

    events = []

    def __init__(self, workers):
        super().__init__()
        self.workers = workers
        self.events.append("made")

    def _render(self, renderer, task):
        return render_page(renderer, task)

    def __enter__(self):
        return self.events.append("entered") or self

    def __exit__(self, *error):
        self.events.append("left")

    def submit(self, renderer, task):
        self.events.append(f"{renderer.folder}/{task.page.number}")
        return lambda: self._render(renderer, task)

    def end_run(self):
        self.events.append("ended")


def test_one_engine_renders_the_pages_of_all_hosts(folder, monkeypatch):
    monkeypatch.setattr(engines, "_unseen_rows", lambda: None)
    monkeypatch.setattr(Once, "events", [])
    thirty()
    assert written(run(folder, sections=None, names=["a"], engine=f"{__name__}.Once"))
    each = [[f"{FOLDERS[host]}/{number}" for number in (1, 2, 3)] for host in (A, B)]
    assert Once.events == ["made", "entered", *each[0], "ended", *each[1], "ended", "left"]
    whole(folder, A, B)
