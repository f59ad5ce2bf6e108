"""Exports to storages without paths: one in memory that replaces files, and an S3 over HTTP."""

from __future__ import annotations

import sys
from unittest import mock

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import InMemoryStorage, storages

from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export import export
from tests.support.configuration import BASE
from tests.support.exports import local_storage
from tests.support.internals import EXPORTED, ROOT as MANIFEST, STATE
from tests.support.published import locations
from tests.support.sections import listing
from tests.support.stores import Overwriting, memory, saved, storage

__all__ = ["memory"]

pytestmark = [pytest.mark.usefixtures("shared_cache"), pytest.mark.sitemaps09]

TIME = f"{STATE}/{EXPORTED}"
STRANGE = ("probe-a:b", "run-x\0y/a", "run-C:/a", "section-a\\b.jsonl", "tmp-a:b")


def run(*numbers, **options):
    report = export(sitemaps={"n": listing(numbers, limit=10)}, **options)
    assert report.failures == []
    return report


def published(files):
    pages = [files[url.removeprefix(f"{BASE}/")] for url in locations(files["sitemap.xml"], False)]
    return [url.split("/")[-2] for page in pages for url in locations(page, True)]


def test_a_storage_has_the_files_of_a_folder_and_is_left_alone_if_nothing_changed(memory, tmp_path):
    run(*range(25))
    files = saved("sitemaps")
    run(*range(25), output=tmp_path)
    expected = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    assert {name: data for name, data in files.items() if "/" not in name} == expected
    assert published(files) == [str(n) for n in range(25)]
    with mock.patch.object(Overwriting, "_save", autospec=True, side_effect=Overwriting._save) as save:
        run(*range(25))
    after = saved("sitemaps")
    assert (save.call_count, after.pop(TIME) != files.pop(TIME), after) == (1, True, files)
    # A file that was removed is written again.
    storages["sitemaps"].delete("sitemap-n-2.xml.gz")
    assert run(*range(25)).written == ("sitemap-n-2.xml.gz",)
    run(*range(24))
    own = {name.partition("-")[0] for name in saved("sitemaps") if "/" in name}
    names = ("exported.json", "history.json", "manifest.json", "manifest.json.bak", "section")
    assert own == {f"{STATE}/{name}" for name in names}


def test_a_storage_that_renames_is_refused(declare):
    declare(sitemaps=storage(InMemoryStorage))
    with pytest.raises(ExportError, match="replace"):
        run(1)
    assert saved("sitemaps") == {}


def test_a_storage_or_a_folder_may_have_names_that_no_export_can_have_written(memory, tmp_path):
    for name in (f"{folder}{name}" for folder in ("", f"{STATE}/", f"{STATE}/run-1/") for name in STRANGE):
        storages["sitemaps"].save(name, ContentFile(b"kept"))
    before = saved("sitemaps")
    run(*range(25))
    after = saved("sitemaps")
    assert (after.items() >= before.items(), published(after)) == (True, [str(n) for n in range(25)])
    own = tmp_path / STATE
    for name in ("run-a:b", "run-notes of mine", "tmp-a:b"):
        (own / name).mkdir(parents=True)
    for name in ("section-a\\b.jsonl", "tmp-c:d"):
        (own / name).write_bytes(b"kept")
    before = {*own.iterdir()}
    run(*range(25), output=tmp_path)
    assert before <= {*own.iterdir()}


@pytest.mark.parametrize("package", ["storages", "boto3"])
def test_s3_without_its_packages_names_the_extra(declare, monkeypatch, package):
    pytest.importorskip("storages")
    for name in [name for name in sys.modules if name.partition(".")[0] == "storages"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    declare(sitemaps={"BACKEND": "storages.backends.s3.S3Storage"})
    with pytest.raises(ExportError) as raised:
        run(1)
    assert str(raised.value).startswith("SITEMAPS09['STORAGE'] is 'sitemaps': ")
    advice = "For S3, install the extra `s3`: pip install 'django-sitemaps09[s3]'."
    assert str(raised.value).endswith(advice)


def test_a_state_apart_loses_temporary_files_of_killed_runs_alone(tmp_path, declare, configure):
    declare(private=local_storage(tmp_path / "state"))
    configure(STATE="private")
    public, own = tmp_path / "public", tmp_path / "state" / STATE
    run(1, output=public)
    (own / "tmp-0123456789abcdef").write_bytes(b"half a manif")
    (own / "notes.txt").write_bytes(b"kept")
    before = (tmp_path / "state" / MANIFEST).read_bytes()
    for dry_run, names in ((True, ["notes.txt", "tmp-0123456789abcdef"]), (False, ["notes.txt"])):
        run(1, output=public, dry_run=dry_run)
        assert sorted(path.name for path in own.iterdir()) == names
    assert (tmp_path / "state" / MANIFEST).read_bytes() == before
