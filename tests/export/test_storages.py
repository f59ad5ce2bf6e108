"""Exports to storages without paths: one in memory that replaces files, and an S3 over HTTP."""

from __future__ import annotations

import sys

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import storages

from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export import export
from django_sitemaps09.state.history import EXPORTED
from django_sitemaps09.state.manifest import ROOT as MANIFEST
from django_sitemaps09.stores import STATE
from tests.support.configuration import BASE
from tests.support.exports import locations, unpacked
from tests.support.sections import Numbers
from tests.support.stores import Overwriting, saved, storage

pytestmark = [pytest.mark.usefixtures("shared_cache"), pytest.mark.sitemaps09]


TIME = f"{STATE}/{EXPORTED}"


class TenOnAPage(Numbers):
    """A section of the given numbers, ten on each page."""

    limit = 10

    def __init__(self, *numbers):
        self.numbers = numbers


class Counting(Overwriting):
    """A storage that counts files that are written and removed."""

    writes = 0

    def _save(self, name, content):
        type(self).writes += 1
        return super()._save(name, content)

    def delete(self, name):
        type(self).writes += 1
        super().delete(name)


def run(*numbers, **options):
    report = export(sitemaps={"n": TenOnAPage(*numbers)}, **options)
    assert report.failures == []
    return report


def published(files):
    """Return the last path segment of each URL that a reader of the index finds."""
    pages = [files[url.removeprefix(f"{BASE}/")] for url in locations(files["sitemap.xml"])]
    return [url.split("/")[-2] for page in pages for url in locations(unpacked(page))]


class TestAStorageInMemory:
    @pytest.fixture(autouse=True)
    def _storage(self, declare):
        declare(sitemaps=storage(Counting))
        Counting.writes = 0

    def test_has_what_a_folder_would_have(self, tmp_path):
        run(*range(25))
        files = saved("sitemaps")
        export(output=tmp_path, sitemaps={"n": TenOnAPage(*range(25))})
        expected = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
        assert {name: data for name, data in files.items() if "/" not in name} == expected
        assert published(files) == [str(n) for n in range(25)]

    def test_has_a_manifest_and_nothing_else_in_our_folder(self):
        run(*range(25))
        run(*range(24))
        own = {name for name in saved("sitemaps") if "/" in name}
        assert {name.partition("-")[0] for name in own} == {
            ".sitemaps09/exported.json",
            ".sitemaps09/history.json",
            ".sitemaps09/manifest.json",
            ".sitemaps09/manifest.json.bak",
            ".sitemaps09/section",
        }

    def test_has_only_the_time_of_the_export_written_if_nothing_changed(self):
        run(*range(25))
        before, Counting.writes = saved("sitemaps"), 0
        run(*range(25))
        # The storage removes a file before it saves the new one.
        assert Counting.writes == 2
        after = saved("sitemaps")
        assert after.pop(TIME) != before.pop(TIME)
        assert after == before

    @pytest.mark.parametrize(
        ("backend", "cache", "why"),
        [
            ("InMemoryStorage", "", "replace"),
            ("", "locmem.LocMemCache", r"'sitemaps'.*cache 'default'.*not shared.*CACHES"),
        ],
        ids=["renames", "cache"],
    )
    def test_that_renames_or_has_no_shared_cache_is_refused_before_anything_is_published(
        self, declare, settings, backend, cache, why
    ):
        if backend:
            declare(sitemaps={"BACKEND": f"django.core.files.storage.{backend}"})
        if cache:
            settings.CACHES = {"default": {"BACKEND": f"django.core.cache.backends.{cache}"}}
        with pytest.raises(ExportError, match=why):
            export(sitemaps={"n": TenOnAPage(1)})
        assert saved("sitemaps") == {}

    def test_whose_file_was_removed_gets_it_again(self):
        run(*range(25))
        storages["sitemaps"].delete("sitemap-n-2.xml.gz")
        assert run(*range(25)).written == ("sitemap-n-2.xml.gz",)
        assert published(saved("sitemaps")) == [str(n) for n in range(25)]

    def test_may_have_names_that_no_export_can_have_written(self):
        for folder in ("", f"{STATE}/", f"{STATE}/run-1/"):
            for name in ("probe-a:b", "run-x\0y/a", "run-C:/a", "section-a\\b.jsonl", "tmp-a:b"):
                storages["sitemaps"].save(f"{folder}{name}", ContentFile(b"kept"))
        before = saved("sitemaps")
        run(*range(25))
        after = saved("sitemaps")
        assert {name: after.get(name) for name in before} == before
        assert published(after) == [str(n) for n in range(25)]


def test_a_folder_may_have_names_that_no_export_can_have_written(tmp_path):
    own = tmp_path / STATE
    for name in ("run-a:b", "run-notes of mine", "tmp-a:b"):
        (own / name).mkdir(parents=True)
    for name in ("section-a\\b.jsonl", "tmp-c:d"):
        (own / name).write_bytes(b"kept")
    before = set(own.iterdir())
    run(*range(25), output=tmp_path)
    assert before <= set(own.iterdir())


@pytest.mark.parametrize("package", ["storages", "boto3"])
def test_s3_without_its_packages_names_the_extra(declare, monkeypatch, package):
    pytest.importorskip("storages")
    for name in [name for name in sys.modules if name.partition(".")[0] == "storages"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    declare(sitemaps={"BACKEND": "storages.backends.s3.S3Storage"})
    with pytest.raises(ExportError) as raised:
        export(sitemaps={"n": TenOnAPage(1)})
    assert str(raised.value).startswith("SITEMAPS09['STORAGE'] is 'sitemaps': ")
    assert str(raised.value).endswith(
        "For S3, install the extra `s3`: pip install 'django-sitemaps09[s3]'."
    )


class TestAStateApartFromTheFiles:
    def test_loses_the_temporary_files_of_killed_runs_and_no_others(self, tmp_path, declare, settings):
        backend = "django.core.files.storage.FileSystemStorage"
        declare(private={"BACKEND": backend, "OPTIONS": {"location": str(tmp_path / "state")}})
        settings.SITEMAPS09 = {"BASE_URL": BASE, "STATE": "private"}
        run(1, output=tmp_path / "public")
        own = tmp_path / "state" / STATE
        (own / "tmp-0123456789abcdef").write_bytes(b"half a manif")
        (own / "notes.txt").write_bytes(b"kept")
        before = (tmp_path / "state" / MANIFEST).read_bytes()
        run(1, output=tmp_path / "public", dry_run=True)
        assert (own / "tmp-0123456789abcdef").exists()
        run(1, output=tmp_path / "public")
        assert [path.name for path in own.iterdir()] == ["notes.txt"]
        assert (tmp_path / "state" / MANIFEST).read_bytes() == before


class TestAnS3:
    def test_is_exported_to_like_a_folder(self, bucket):
        made = bucket(location="maps")

        def objects():
            return {
                found.key: (found.get()["Body"].read(), found.last_modified) for found in made.objects.all()
            }

        run(*range(25))
        first = objects()
        files = {key.removeprefix("maps/"): data for key, (data, _) in first.items()}
        assert published(files) == [str(n) for n in range(25)]
        run(*range(25))
        second = objects()
        assert second.pop(f"maps/{TIME}") != first.pop(f"maps/{TIME}")
        assert second == first
        report = run(*range(10), 77, *range(11, 25), 88)
        assert report.written == ("sitemap-n-2.xml.gz", "sitemap-n-3.xml.gz", "sitemap.xml")
        assert objects()["maps/sitemap-n-1.xml.gz"] == first["maps/sitemap-n-1.xml.gz"]
