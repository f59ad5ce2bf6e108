"""An export in Python: its options, sections, target and base, dry runs, and what fails."""

from __future__ import annotations

import errno
import inspect
import os
import pydoc
import re
from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime, timedelta, timezone
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError, connection
from django.db.models import Model
from django.db.models.functions import TruncDate
from django.test import RequestFactory
from django.test.utils import isolate_apps
from django.utils import timezone as django_timezone, translation
from django.utils.safestring import SafeString

from django_sitemaps09 import ModelSitemap, views
from django_sitemaps09.exceptions import ExportError, UnknownSectionError
from django_sitemaps09.export import export, export_hosts, options as declared, verify, verify_hosts
from tests.models import Article
from tests.support.configuration import BASE
from tests.support.exports import (
    Bad,
    Failing,
    article_sitemap,
    content,
    failing_at,
    fails_with,
    local_storage,
    locations,
    named,
    numbers,
    paths,
    plain,
    run_folders,
    touched,
)
from tests.support.factories import write_articles
from tests.support.internals import JOURNAL, STATE, LocalStore, exclusive_lock
from tests.support.killing import dies_at
from tests.support.published import SPACE, states
from tests.support.sections import Numbers, declare

pytestmark = pytest.mark.sitemaps09
INDEX = f'<sitemapindex xmlns="{SPACE[1:-1]}">'


class Lazy(Mapping[str, Any]):
    """A project's mapping that finds sections on access. Its length would recurse."""

    def __getitem__(self, name):
        return {"a": Numbers(3), "b": Numbers(1)}[name]

    def __iter__(self):
        return iter(("a", "b"))

    def __len__(self):
        return len(self.items())


class LazyDict(dict[str, Any]):
    """A dict that is filled with sections on first access."""

    items, __getitem__, __iter__, __len__ = Mapping.items, Lazy.__getitem__, Lazy.__iter__, Lazy.__len__

    def __contains__(self, name):
        return name in Lazy()


@pytest.mark.parametrize("kind", [Lazy, LazyDict])
def test_an_export_asks_for_neither_the_truth_value_nor_the_length_of_a_mapping(kind, folder):
    assert export(output=folder, sitemaps=kind()).urls == 4
    assert named(folder) == ["sitemap-a-1.xml.gz", "sitemap-b-1.xml.gz"]
    assert export(["b"], output=folder, sitemaps=kind()).urls == 1
    with pytest.raises(UnknownSectionError, match="Valid names: a, b"):
        export(["nothing"], output=folder, sitemaps=kind())
    found = views.sitemap_index(RequestFactory().get("/sitemap.xml"), sitemaps=kind())
    assert found.content.count(b"<sitemap>") == 2


def test_the_target_is_the_output_then_the_storage_then_the_root(tmp_path, settings, configure):
    def check(name, **options):
        report = export(sitemaps={"a": Numbers(1)}, **options)
        assert (report.folder, paths(tmp_path / name)) == (tmp_path / name, numbers(1))

    configure(ROOT=tmp_path / "root")
    check("root")
    for alias, name in (("sitemaps", "alias"), ("other", "other")):
        settings.STORAGES = {**settings.STORAGES, alias: local_storage(tmp_path / name)}
        configure(**({"STORAGE": "other"} if alias == "other" else {}))
        check(name)
    check("output", output=str(tmp_path / "output"))
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ExportError, match="file"):
        export(output=tmp_path / "file", sitemaps={"a": Numbers(1)})
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.django_db
def test_the_base_is_the_argument_then_the_setting_then_the_site(tmp_path, settings):
    site = apps.get_model("sites", "Site")
    site.objects.update_or_create(pk=1, defaults={"domain": "site.example.org", "name": "x"})
    site.objects.clear_cache()

    def check(base, **options):
        folder = tmp_path / base[-11:]
        report = export(output=folder, sitemaps={"a": Numbers(1)}, **options)
        assert report.index_url == f"{base}/sitemap.xml"
        assert locations(plain(folder, "sitemap.xml")) == [f"{base}/sitemap-a-1.xml.gz"]
        assert locations(plain(folder, "sitemap-a-1.xml.gz")) == [f"{base}/numbers/0/"]

    text = SafeString("http://localhost:8000/")
    check("http://localhost:8000", base_url=text, engine=SafeString("serial"))
    check(BASE)
    settings.SITEMAPS09 = {}
    check("https://site.example.org")
    site.objects.clear_cache()


@pytest.mark.django_db
@pytest.mark.parametrize("why", ["does not exist", "sites framework"])
def test_a_base_is_required_without_a_site(folder, settings, why):
    settings.SITEMAPS09, settings.SITE_ID = {}, 99
    if why == "sites framework":
        gone = ("django.contrib.sites", "django.contrib.flatpages")
        settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app not in gone]
    with pytest.raises(ImproperlyConfigured, match=rf"'BASE_URL'.*--base-url.*{why}"):
        export(output=folder, sitemaps={"a": Numbers(1)})
    assert not folder.exists()


def test_sections_as_arguments_come_in_the_order_of_the_declarations_and_once(folder):
    sitemaps = {"a": Numbers(2), "a-1": Numbers(3), "a-1-1": Numbers(4), "b": Numbers(1)}
    export(["b", "a", "b"], output=folder, sitemaps=sitemaps)
    assert named(folder) == ["sitemap-a-1.xml.gz", "sitemap-b-1.xml.gz"]
    # A section is not confused with one with a longer name.
    export(["a-1", "a-1-1"], output=folder, sitemaps=sitemaps)
    export(["a-1"], output=folder, sitemaps={**sitemaps, "a-1": Numbers(1)})
    assert paths(folder) == [*numbers(2), *numbers(1), *numbers(4), *numbers(1)]


def test_an_export_of_no_sections_changes_no_file(folder):
    export(output=folder, sitemaps={"a": Numbers(1)})
    before = touched(folder)
    with pytest.raises(ExportError, match="no section to export"):
        export(output=folder, sitemaps={})
    assert touched(folder) == before


def test_sections_as_arguments_keep_the_entries_of_others_whose_files_are_there(folder):
    urls = [f"{BASE}/sitemap-b-7.xml", f"{BASE}/sitemap-b-8.xml", "https://cdn.example.net/sitemap-b-7.xml"]
    entries = [f"<sitemap><loc>{url}</loc><lastmod>2026-01-01</lastmod></sitemap>\n" for url in urls]
    folder.mkdir()
    (folder / "sitemap.xml").write_text(f"{INDEX}{''.join(entries)}</sitemapindex>")
    (folder / "sitemap-b-7.xml").write_bytes(b"of an earlier version")
    export(["a"], output=folder, sitemaps={"a": Numbers(1), "b": Numbers(1)})
    index = plain(folder, "sitemap.xml").decode()
    assert [entry in index for entry in entries] == [True, False, False]
    assert "sitemap-a-1.xml.gz" in index
    assert (folder / "sitemap-b-7.xml").read_bytes() == b"of an earlier version"


LAUGHS = "".join(f'<!ENTITY {b} "{f"&{a};" * 100}">' for a, b in zip("abcdef", "bcdefg", strict=True))


@pytest.mark.parametrize(("name", "index"), [
    ("empty", ""), ("not well-formed", "<sitemapindex>"), ("without a namespace", "<sitemapindex/>"),
    ("a urlset", f'<urlset xmlns="{SPACE[1:-1]}"><url><loc>{BASE}/x/</loc></url></urlset>'),
    ("a type", f'<!DOCTYPE sitemapindex SYSTEM "file:///etc/passwd">{INDEX}</sitemapindex>'),
    (
        "a billion laughs",
        f'<!DOCTYPE x [<!ENTITY a "{"ha" * 500}">{LAUGHS}]>{INDEX}<sitemap><loc>&g;</loc></sitemap>'
        "</sitemapindex>",
    ),
    ("UTF-16", f'<?xml version="1.0" encoding="UTF-16"?>{INDEX}</sitemapindex>'),
    ("compressed", "\x1f\x8b\x08\x00"),
])  # fmt: skip
def test_sections_as_arguments_are_refused_next_to_an_unreadable_index(folder, name, index):
    sitemaps = {"a": Numbers(1), "b": Numbers(1)}
    index = index.encode("utf-16" if name == "UTF-16" else "latin-1")
    folder.mkdir()
    (folder / "sitemap.xml").write_bytes(index)
    before = touched(folder)
    with pytest.raises(ExportError, match=rf"{folder}: sitemap\.xml is not a sitemap index.*remove the"):
        export(["a"], output=folder, sitemaps=sitemaps)
    assert (touched(folder), run_folders(folder)) == (before, [])
    # All sections replace it, and later the manifest does.
    export(output=folder, sitemaps=sitemaps)
    whole = content(folder)
    (folder / "sitemap.xml").write_bytes(index)
    export(["a"], output=folder, sitemaps=sitemaps)
    assert (content(folder), paths(folder)) == (whole, [*numbers(1), *numbers(1)])


@pytest.mark.parametrize(("names", "why"), [
    (["../a"], "section"), (["index"], "section"), (["a\n"], "section"), ("aA", "only in case"),
])  # fmt: skip
def test_sections_with_names_that_no_files_can_have_are_refused(folder, names, why):
    with pytest.raises(ImproperlyConfigured, match=why):
        export(output=folder, sitemaps={name: Numbers(1) for name in names})
    assert not folder.exists()


@pytest.mark.parametrize(("robots", "state"), [
    (None, "stale"), (f"Sitemap: {BASE}/sitemap.xml\n", "unchanged"), ("# mine\n", "stale"),
])  # fmt: skip
def test_a_dry_run_writes_nothing_and_finds_what_a_run_would_find(tmp_path, robots, state):
    path, public = tmp_path / "robots.txt", tmp_path / "public"
    if robots is not None:
        path.write_text(robots)
    before = touched(tmp_path)
    sitemaps = {"a": Bad(5_000, [1]), "b": Numbers(3), "c": Failing(5, 2)}
    found = export(output=public, sitemaps=sitemaps, dry_run=True, robots=path)
    assert (touched(tmp_path), public.exists()) == (before, False)
    assert (found.published, found.urls, found.robots) == (False, 5_002, state)
    done = export(output=public, sitemaps=sitemaps)
    assert [section.files for section in found.sections] == [section.files for section in done.sections]
    assert found.failures == done.failures
    # It touches nothing that is published, and needs no lock.
    with exclusive_lock(LocalStore(public)):
        before = states(public, hidden=True)
        export(output=public, sitemaps={**sitemaps, "a": Numbers(9)}, dry_run=True)
        assert states(public, hidden=True) == before


@pytest.mark.django_db
def test_the_active_language_and_time_zone_of_the_caller_do_not_affect_an_export(tmp_path):
    """It may be called in a request."""

    def language(self):
        return [{"en": 1, "de": 2}[translation.get_language()]]

    write_articles("a")
    Article.objects.update(updated=datetime(2026, 1, 1, 23, 30, tzinfo=timezone.utc))
    sitemaps = {
        "a": declare(Numbers, items=language)(0),
        "b": declare(ContribSitemap, items=language, location=lambda self, item: f"/{item}/"),
        "c": article_sitemap(lastmod=TruncDate("updated")),
    }
    export(output=tmp_path / "a", sitemaps=sitemaps)
    assert b"<lastmod>2026-01-02</lastmod>" in plain(tmp_path / "a", "sitemap-c-1.xml.gz")
    with translation.override("de"), django_timezone.override(timezone(timedelta(hours=-9))):
        export(output=tmp_path / "b", sitemaps=sitemaps)
        assert translation.get_language() == "de"
    assert content(tmp_path / "b") == content(tmp_path / "a")


@pytest.mark.parametrize(("function", "options_type"), [
    (export, declared.ExportOptions), (export_hosts, declared.ExportHostsOptions),
    (verify, declared.VerifyOptions), (verify_hosts, declared.VerifyHostsOptions),
])  # fmt: skip
def test_the_help_and_the_signature_of_a_function_name_each_option(function, options_type):
    has_hosts = function in (export_hosts, verify_hosts)
    texts = {name: text for name, (_, text) in declared.documented_options(options_type).items()}
    parameters = dict(inspect.signature(function).parameters)
    assert [*texts] == [*parameters] == [each.name for each in fields(options_type) if each.init]
    assert [*texts][:has_hosts] == ["base_urls"][:has_hosts]
    assert ("base_urls" if has_hosts else "base_url") in texts
    help_text = pydoc.render_doc(function, renderer=pydoc.plaintext)
    defaults = {each.name: each.default for each in fields(options_type)}
    for name, parameter in parameters.items():
        assert parameter.default is (parameter.empty if name == "base_urls" else defaults[name])
        assert parameter.annotation is not parameter.empty
        assert (parameter.kind is parameter.KEYWORD_ONLY) == (name not in ("base_urls", "names"))
        assert (bool(texts[name]), texts[name][-1:] == ".") == (True, False)
        assert f"* `{name}`: {texts[name]}." in help_text
    assert help_text.count("* `") == len(texts)
    for unknown in ("unknown", "base_url" if has_hosts else "base_urls"):
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{unknown}'"):
            function(*[[BASE]] * has_hosts, **{unknown: BASE})
    with pytest.raises(TypeError, match="positional"):
        function(*[[BASE]] * has_hosts, [], "public")


@pytest.mark.parametrize(("options", "message"), [
    ({"workers": True}, "workers must be a whole number, not True (bool)."),
    ({"workers": "2"}, "workers must be a whole number, not '2' (str)."),
    *(({"workers": few}, f"An export needs at least one worker, not {few}.") for few in (0, -1)),
    ({"engine": 5}, "engine must be a string, not 5 (int)."),
    ({"remove": [1]}, "remove must be a list of strings, but contains 1 (int)."),
    ({"base_urls": BASE}, f"base_urls must be a list of strings, not '{BASE}' (str)."),
    ({"base_urls": []}, "base_urls must be a list of at least one base URL."),
], ids=str)  # fmt: skip
def test_a_wrong_option_is_an_error_that_says_what_is_right(folder, options, message):
    for function in (export_hosts, verify_hosts) if "base_urls" in options else (export,):
        with pytest.raises((ExportError, ImproperlyConfigured)) as raised:
            function(output=folder, sitemaps={"a": Numbers(1)}, **options)
        assert (str(raised.value), folder.exists()) == (message, False)


A, B = "sitemap-a-1.xml.gz", "sitemap-b-1.xml.gz"


def stumbling(calls, failing):
    """Return a section whose database fails in some calls of `location`, by their numbers from 1."""

    def location(self, item):
        if next(calls) in failing:
            raise OperationalError("server closed the connection unexpectedly")
        return f"/numbers/{item}/"

    return declare(Numbers, location=location)(10)


def run(folder, a, b, **options):
    sitemaps = {"a": Numbers(a) if isinstance(a, int) else a, "b": Numbers(b) if isinstance(b, int) else b}
    return export(output=folder, sitemaps=sitemaps, **options)


@pytest.fixture
def before(folder):
    run(folder, 3, 3)
    return touched(folder)


@pytest.mark.sitemaps09(MAX_URLS=2)
def test_a_section_that_fails_keeps_its_published_files_and_entries_and_the_others_are_published(folder):
    export(output=folder, sitemaps={"a": Numbers(3), "b": Numbers(3), "c": Numbers(1)})
    before = {name: state for name, state in touched(folder).items() if "-b-" in name}
    sitemaps = {"a": Numbers(1), "b": Failing(9, fine=5), "c": Numbers(4, start=9)}
    report = export(output=folder, sitemaps=sitemaps)
    assert {name: touched(folder)[name] for name in before} == before
    assert paths(folder) == [*numbers(1), *numbers(3), *numbers(4, start=9)]
    failures = ["Section 'b': ImproperlyConfigured: the project is broken."]
    assert (report.failures, report.published, run_folders(folder)) == (failures, True, [])
    # It does not keep what is removed beside it.
    export(output=folder, sitemaps={"a": Failing(1, fine=0), "c": Numbers(4)}, remove=["b"])
    assert [name[8:-7] for name in named(folder)] == ["a-1", "c-1", "c-2"]


def test_a_section_that_fails_or_skips_stops_all_under_strict_even_before_its_first_row(folder, before):
    def factory():
        raise RuntimeError("no sitemap today")

    robots = folder.with_name("robots.txt")
    for b, reason in ((Bad(9, [1]), "strict"), (factory, "Section 'b': RuntimeError: no sitemap today.")):
        report = run(folder, 9, b, strict=True, robots=robots)
        assert (report.published, touched(folder), run_folders(folder)) == (False, before, [])
        assert (reason in report.failures[0], robots.exists()) == (True, False)
    report = run(folder, 9, 3, strict=True, robots=robots)
    assert (report.published, report.failures) == (True, [])
    report = run(folder, 9, factory)
    assert report.failures == ["Section 'b': RuntimeError: no sitemap today."]
    assert paths(folder) == [*numbers(9), *numbers(3)]


@pytest.mark.django_db
@pytest.mark.sitemaps09(MAX_URLS=4)
def test_a_database_that_fails_once_is_retried_at_any_point_and_for_each_page(folder):
    for failing in (*([call] for call in range(1, 21)), [12, 18]):
        public, calls = folder / "-".join(map(str, failing)), count(1)
        report = export(output=public, sitemaps={"a": stumbling(calls, failing)})
        assert next(calls) > failing[-1] + 1
        assert (report.failures, paths(public), report.urls) == ([], numbers(10), 10), failing
        assert report.sections[0].errors == ()


@pytest.mark.django_db
@pytest.mark.sitemaps09(MAX_URLS=4)
@pytest.mark.parametrize("call", [1, 5, 11, 16, 20])
def test_a_database_that_fails_for_good_fails_its_section_and_nothing_of_it_is_published(folder, call):
    report = run(folder, stumbling(count(1), range(call, 1_000)), 1)
    assert report.failures == ["Section 'a': OperationalError: server closed the connection unexpectedly."]
    assert ({*content(folder)}, run_folders(folder)) == ({"sitemap.xml", B}, [])


@pytest.mark.django_db
@pytest.mark.sitemaps09(MAX_URLS=2)
@pytest.mark.parametrize("times", [1, 2])
def test_a_database_that_fails_in_the_middle_of_a_query_is_retried_once_too(folder, times):
    write_articles(*"abcde")
    left = times

    def gone(execute, sql, *arguments):
        nonlocal left
        if left and '."slug"' in sql and '."id" > ' in sql:
            left -= 1
            raise OperationalError("gone away")
        return execute(sql, *arguments)

    with connection.execute_wrapper(gone):
        report = export(output=folder, sitemaps={"a": article_sitemap()})
    assert left == 0
    if times == 1:
        assert (report.failures, paths(folder)) == ([], [f"/articles/{slug}/" for slug in "abcde"])
    else:
        assert report.failures == ["Section 'a': OperationalError: gone away."]
        assert (report.urls, content(folder)) == (0, {})


@isolate_apps("tests")
def test_a_missing_table_fails_its_section_and_names_migrate(snapshot_using, folder, caplog):
    class Unmigrated(Model):
        class Meta:
            app_label = "tests"

    sitemap = declare(ModelSitemap, queryset=Unmigrated.objects.using(snapshot_using))()
    [failure] = run(folder, sitemap, 1).failures
    assert re.match(r"Section 'a': \w+Error: a table is missing, run manage.py migrate: ", failure)
    assert ("tests_unmigrated" in failure, paths(folder)) == (True, numbers(1))
    # It is not read again.
    [record] = caplog.records
    assert "run manage.py migrate" in record.getMessage()


@pytest.mark.parametrize("call", [1, 2, 3])
def test_a_failure_of_fsync_fails_its_section_or_all_at_the_index(folder, before, monkeypatch, call):
    monkeypatch.setattr(os, "fsync", failing_at(call, os.fsync))
    if call == 3:
        with pytest.raises(OSError, match="Input/output"):
            run(folder, 9, 9)
        assert (touched(folder), run_folders(folder)) == (before, [])
        return
    [failure] = run(folder, 9, 9).failures
    assert failure.startswith(f"Section '{'ab'[call - 1]}': OSError")
    after = touched(folder)
    assert [after[name] == before[name] for name in (A, B)] == [call == 1, call == 2]


@pytest.mark.parametrize(("call", "found"), [
    # The files of both sections in the manifest, and the journal.
    (1, [3, 3]), (2, [3, 3]), (3, [3, 3]),
    # The pages, the index, the manifest of before, and that of now.
    (4, [3, 3]), (5, [9, 3]), (6, [9, 9]), (7, [9, 9]), (8, [9, 9]),
])  # fmt: skip
def test_a_failure_while_publishing_leaves_whole_files(folder, before, monkeypatch, call, found):
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", failing_at(call, Path.replace))
        with pytest.raises(OSError, match="Input/output"):
            run(folder, 9, 9)
    after = touched(folder)
    assert [len(locations(plain(folder, name))) for name in named(folder)] == found
    assert (after == before, JOURNAL in run_folders(folder)) == (call <= 4, call > 3)
    report = run(folder, 9, 9)
    assert (report.recovered, paths(folder), run_folders(folder)) == (call > 3, 2 * numbers(9), [])
    if call > 3:
        # Staged files are not rendered again.
        replaced = {name: after[name] for name in after if after[name] != before[name]}
        assert (report.written, touched(folder).items() >= replaced.items()) == ((), True)


def test_a_killed_run_whose_files_cannot_be_read_is_finished_by_the_next_run_that_can(folder, monkeypatch):
    sections = {"numbers": Numbers(3)}
    assert dies_at(2, lambda: export(output=folder, sitemaps=sections))
    with monkeypatch.context() as patched:
        patched.setattr(LocalStore, "open", fails_with(errno.EIO))
        with pytest.raises(OSError, match=r"sitemap.*-1\.xml\.gz"):
            export(output=folder, sitemaps=sections)
    assert (folder / STATE / JOURNAL).exists()
    assert (export(output=folder, sitemaps=sections).recovered, paths(folder)) == (True, numbers(3))
