"""The options of an export: sections, target, base, dry run."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from django.apps import apps
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.core.exceptions import ImproperlyConfigured
from django.core.files import locks
from django.db.models.functions import TruncDate
from django.test import RequestFactory
from django.utils import timezone as django_timezone, translation

from django_sitemaps09 import views
from django_sitemaps09.exceptions import ExportError, UnknownSectionError
from django_sitemaps09.export import export
from django_sitemaps09.stores import STATE
from tests.support.configuration import BASE
from tests.support.exports import (
    Bad,
    Failing,
    article_model,
    article_sitemap,
    content,
    local_storage,
    locations,
    named,
    numbers,
    paths,
    plain,
    run_folders,
    touched,
    write_articles,
    write_index,
)
from tests.support.published import SPACE
from tests.support.sections import Numbers

pytestmark = pytest.mark.sitemaps09


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

    def items(self):
        return Lazy().items()

    def __iter__(self):
        return iter(Lazy())

    def __contains__(self, name):
        return name in Lazy()

    __getitem__ = Lazy.__getitem__

    def __len__(self):
        return len(self)


@pytest.mark.parametrize("kind", [Lazy, LazyDict])
def test_neither_the_truth_value_nor_the_length_of_a_mapping_is_evaluated(kind, folder):
    """Contrib's views do not either."""
    assert export(output=folder, sitemaps=kind()).urls == 4
    assert named(folder) == ["sitemap-a-1.xml.gz", "sitemap-b-1.xml.gz"]
    assert export(["b"], output=folder, sitemaps=kind()).urls == 1
    with pytest.raises(UnknownSectionError, match="Valid names: a, b"):
        export(["nothing"], output=folder, sitemaps=kind())
    found = views.sitemap_index(RequestFactory().get("/sitemap.xml"), sitemaps=kind())
    assert found.content.count(b"<sitemap>") == 2


class TestTheTarget:
    def test_is_the_output_then_the_storage_then_the_root(self, tmp_path, settings, configure):
        sitemaps = {"a": Numbers(1)}
        configure(ROOT=tmp_path / "root")
        assert export(sitemaps=sitemaps).folder == tmp_path / "root"
        settings.STORAGES = {**settings.STORAGES, "sitemaps": local_storage(tmp_path / "alias")}
        assert export(sitemaps=sitemaps).folder == tmp_path / "alias"
        settings.STORAGES = {**settings.STORAGES, "other": local_storage(tmp_path / "other")}
        configure(STORAGE="other")
        assert export(sitemaps=sitemaps).folder == tmp_path / "other"
        assert export(sitemaps=sitemaps, output=str(tmp_path / "output")).folder == tmp_path / "output"
        for name in ("root", "alias", "other", "output"):
            assert paths(tmp_path / name) == numbers(1)

    def test_is_refused_if_it_is_a_file(self, tmp_path):
        (tmp_path / "file").write_text("mine")
        with pytest.raises(ExportError, match="file"):
            export(output=tmp_path / "file", sitemaps={"a": Numbers(1)})
        assert (tmp_path / "file").read_text() == "mine"


class TestTheBase:
    @pytest.mark.django_db
    def test_is_the_argument_then_the_setting_then_the_site(self, tmp_path, settings):
        site = apps.get_model("sites", "Site")
        site.objects.update_or_create(pk=1, defaults={"domain": "site.example.org", "name": "x"})
        site.objects.clear_cache()

        def base(name, **options):
            report = export(output=tmp_path / name, sitemaps={"a": Numbers(1)}, **options)
            (loc,) = locations(plain(tmp_path / name, "sitemap-a-1.xml.gz"))
            assert locations(plain(tmp_path / name, "sitemap.xml")) == [
                report.index_url.replace("sitemap.xml", "sitemap-a-1.xml.gz")
            ]
            assert report.index_url.removesuffix("sitemap.xml") == loc.removesuffix("numbers/0/")
            return loc.removesuffix("/numbers/0/")

        assert base("a", base_url="http://localhost:8000/") == "http://localhost:8000"
        assert base("b") == BASE
        settings.SITEMAPS09 = {}
        assert base("c") == "https://site.example.org"
        site.objects.clear_cache()

    @pytest.mark.django_db
    @pytest.mark.parametrize(
        ("lacks", "why"), [("the site", "does not exist"), ("the app", "sites framework")]
    )
    def test_is_required_without_a_site(self, folder, settings, lacks, why):
        settings.SITEMAPS09 = {}
        if lacks == "the site":
            settings.SITE_ID = 99
        else:
            gone = ("django.contrib.sites", "django.contrib.flatpages")
            settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app not in gone]
        with pytest.raises(ImproperlyConfigured, match=rf"'BASE_URL'.*--base-url.*{why}"):
            export(output=folder, sitemaps={"a": Numbers(1)})
        assert not folder.exists()

    def test_gives_way_to_the_protocol_of_a_section(self, folder):
        class Old(Numbers):
            protocol = "http"

        export(output=folder, sitemaps={"a": Old(1)})
        assert locations(plain(folder, "sitemap-a-1.xml.gz")) == ["http://www.example.com/numbers/0/"]

    @pytest.mark.sitemaps09(FILES_URL="https://cdn.example.net/maps/")
    def test_of_the_files_is_a_separate_setting(self, folder):
        robots = folder / "robots.txt"
        report = export(output=folder, sitemaps={"a": Numbers(1)}, robots=robots)
        assert report.index_url == "https://cdn.example.net/maps/sitemap.xml"
        assert b"\nSitemap: https://cdn.example.net/maps/sitemap.xml\n" in robots.read_bytes()
        assert locations(plain(folder, "sitemap.xml")) == [
            "https://cdn.example.net/maps/sitemap-a-1.xml.gz"
        ]
        assert paths(folder) == numbers(1)


class TestSectionsAsArguments:
    def test_come_in_the_order_of_the_declarations_and_once(self, folder):
        sitemaps = {"a": Numbers(1), "b": Numbers(2), "c": Numbers(1)}
        export(["c", "a", "c"], output=folder, sitemaps=sitemaps)
        assert named(folder) == ["sitemap-a-1.xml.gz", "sitemap-c-1.xml.gz"]
        export(["b"], output=folder, sitemaps=sitemaps)
        assert named(folder) == [f"sitemap-{name}-1.xml.gz" for name in "abc"]

    def test_keep_the_entries_of_others_with_their_lastmods_as_far_as_their_files_are_there(self, folder):
        def entry(url):
            return f"<sitemap><loc>{url}</loc><lastmod>2026-01-01</lastmod></sitemap>\n"

        ours = entry(f"{BASE}/sitemap-b-7.xml")
        others = [entry(f"{BASE}/sitemap-b-8.xml"), entry("https://cdn.example.net/sitemap-b-7.xml")]
        write_index(folder, f'<sitemapindex xmlns="{SPACE[1:-1]}">{ours}{"".join(others)}</sitemapindex>')
        (folder / "sitemap-b-7.xml").write_bytes(b"of an earlier version")
        export(["a"], output=folder, sitemaps={"a": Numbers(1), "b": Numbers(1)})
        index = plain(folder, "sitemap.xml").decode()
        assert ours in index
        assert not any(other in index for other in others)
        assert "sitemap-a-1.xml.gz" in index
        assert (folder / "sitemap-b-7.xml").read_bytes() == b"of an earlier version"

    def test_distinguish_a_section_from_one_with_a_longer_name(self, folder):
        sitemaps = {"a": Numbers(2), "a-1": Numbers(3), "a-1-1": Numbers(4)}
        export(output=folder, sitemaps=sitemaps)
        export(["a-1"], output=folder, sitemaps={**sitemaps, "a-1": Numbers(1)})
        assert paths(folder) == [*numbers(2), *numbers(1), *numbers(4)]

    @pytest.mark.parametrize(
        "index",
        [
            pytest.param("", id="empty"),
            pytest.param("<sitemapindex>", id="not well-formed"),
            pytest.param("<html></html>", id="a page"),
            pytest.param(
                f'<urlset xmlns="{SPACE[1:-1]}"><url><loc>{BASE}/x/</loc></url></urlset>', id="a urlset"
            ),
            pytest.param("<sitemapindex></sitemapindex>", id="without a namespace"),
            pytest.param(
                f'<!DOCTYPE sitemapindex SYSTEM "file:///etc/passwd">'
                f'<sitemapindex xmlns="{SPACE[1:-1]}"></sitemapindex>',
                id="with a document type",
            ),
            pytest.param(
                f'<!DOCTYPE x [<!ENTITY a "{"ha" * 500}">'
                + "".join(
                    f'<!ENTITY {b} "{f"&{a};" * 100}">' for a, b in zip("abcdef", "bcdefg", strict=True)
                )
                + f']><sitemapindex xmlns="{SPACE[1:-1]}"><sitemap><loc>&g;</loc></sitemap></sitemapindex>',
                id="a billion laughs",
            ),
            pytest.param(
                f'<?xml version="1.0" encoding="UTF-16"?><sitemapindex xmlns="{SPACE[1:-1]}"/>'.encode(
                    "utf-16"
                ),
                id="UTF-16",
            ),
            pytest.param(b"\x1f\x8b\x08\x00", id="compressed"),
        ],
    )
    def test_are_refused_next_to_an_unreadable_index_without_a_manifest(self, folder, index):
        write_index(folder, index)
        before = touched(folder)
        refused = rf"{folder}: sitemap\.xml is not a sitemap index.*remove the file"
        with pytest.raises(ExportError, match=refused):
            export(["a"], output=folder, sitemaps={"a": Numbers(1), "b": Numbers(1)})
        assert touched(folder) == before
        assert run_folders(folder) == []

    def test_replace_an_unreadable_index_by_that_of_the_manifest(self, folder):
        sitemaps = {"a": Numbers(1), "b": Numbers(1)}
        export(output=folder, sitemaps=sitemaps)
        whole = content(folder)
        write_index(folder, "<sitemapindex>")
        export(["a"], output=folder, sitemaps=sitemaps)
        assert content(folder) == whole

    def test_that_name_no_section_replace_an_unreadable_index(self, folder):
        write_index(folder, "<sitemapindex>")
        export(output=folder, sitemaps={"a": Numbers(1)})
        assert paths(folder) == numbers(1)


class TestSectionsThatAreMissing:
    def test_are_an_error_that_says_where_they_are_searched(self, folder):
        export(output=folder, sitemaps={"a": Numbers(1)})
        before = touched(folder)
        with pytest.raises(ExportError, match=r"sitemaps\.py.*'SITEMAPS'.*does not see .* URLconf"):
            export(output=folder, sitemaps={})
        assert touched(folder) == before

    @pytest.mark.parametrize(
        ("names", "why"),
        [
            (["../a"], "section"),
            (["index"], "section"),
            (["a\n"], "section"),
            ("aA", "differ only in case"),
        ],
    )
    def test_names_that_no_files_can_have_are_refused(self, folder, names, why):
        with pytest.raises(ImproperlyConfigured, match=why):
            export(output=folder, sitemaps={name: Numbers(1) for name in names})
        assert not folder.exists()


class TestADryRun:
    @pytest.mark.parametrize(
        ("robots", "state"),
        [(None, "stale"), (f"Sitemap: {BASE}/sitemap.xml\n", "unchanged"), ("# mine\n", "stale")],
    )
    def test_writes_nothing_at_all_and_tells_whether_robots_txt_would_change(self, tmp_path, robots, state):
        path = tmp_path / "robots.txt"
        if robots is not None:
            path.write_text(robots)
        before = touched(tmp_path)
        report = export(output=tmp_path / "public", sitemaps={"a": Bad(9, [1])}, dry_run=True, robots=path)
        assert touched(tmp_path) == before
        assert not (tmp_path / "public").exists()
        assert (report.published, report.urls, report.sections[0].skipped_items) == (False, 8, 1)
        assert report.robots == state

    def test_finds_what_a_run_would_find(self, folder):
        sitemaps = {"a": Bad(5_000, [1]), "b": Numbers(3), "c": Failing(5, 2)}
        found = export(output=folder, sitemaps=sitemaps, dry_run=True)
        assert not folder.exists()
        done = export(output=folder, sitemaps=sitemaps)
        assert [section.files for section in found.sections] == [s.files for s in done.sections]
        assert found.failures == done.failures

    def test_touches_nothing_that_is_published_and_needs_no_lock(self, folder):
        export(output=folder, sitemaps={"a": Numbers(1)})
        before = touched(folder)
        lock = (folder / STATE / "lock").stat().st_mtime_ns
        with (folder / STATE / "lock").open("rb") as handle:
            assert locks.lock(handle, locks.LOCK_EX | locks.LOCK_NB)
            export(output=folder, sitemaps={"a": Numbers(9)}, dry_run=True)
        assert touched(folder) == before
        assert (folder / STATE / "lock").stat().st_mtime_ns == lock
        assert run_folders(folder) == []


@pytest.mark.django_db
def test_the_active_language_and_time_zone_of_the_caller_do_not_affect_an_export(tmp_path):
    """It may be called in a request."""

    class Spoken(Numbers):
        def items(self):
            return [{"en": 1, "de": 2}[translation.get_language()]]

    class Foreign(ContribSitemap):
        def items(self):
            return [translation.get_language()]

        def location(self, item):
            return f"/{item}/"

    write_articles("a")
    late = datetime(2026, 1, 1, 23, 30, tzinfo=timezone.utc)
    article_model().objects.update(updated=late)
    dated = article_sitemap(lastmod=TruncDate("updated"))
    sitemaps = {"a": Spoken(0), "b": Foreign, "c": dated}
    export(output=tmp_path / "a", sitemaps=sitemaps)
    assert b"<lastmod>2026-01-02</lastmod>" in plain(tmp_path / "a", "sitemap-c-1.xml.gz")
    with translation.override("de"), django_timezone.override(timezone(timedelta(hours=-9))):
        export(output=tmp_path / "b", sitemaps=sitemaps)
        assert translation.get_language() == "de"
    assert content(tmp_path / "b") == content(tmp_path / "a")
