"""Storages without paths, and an S3."""

from __future__ import annotations

import os
import sys
import tempfile

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import InMemoryStorage, storages

from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.stores import STATE, RemoteStore, state_store, target_store
from tests.support.stores import MOST, PAGE, Overwriting, saved, stage, storage

STAGED = f"{STATE}/run-1/{PAGE}"


class Renaming(Overwriting):
    def get_available_name(self, name, max_length=None):
        return f"{name}.new"


class Forgetful(Overwriting):
    """A storage that silently keeps the first content of a name."""

    def _save(self, name, content):
        return name if self.exists(name) else super()._save(name, content)


class Broken(Overwriting):
    def _save(self, name, content):
        raise RuntimeError("out of order")

    def exists(self, name):
        raise RuntimeError("out of order")


HINT = r".*file_overwrite.*allow_overwrite.*'ROOT'"


@pytest.mark.parametrize(("backend", "why"), [
    (InMemoryStorage, f"'sitemaps' saved .*probe-.* as .*probe-{HINT}"),
    (Renaming, f"'sitemaps' saved .*probe-.* as .*probe-{HINT}"),
    (Forgetful, f"'sitemaps' does not return the content that was saved last{HINT}"),
    (Broken, "Access to .*probe-.*'sitemaps' failed: RuntimeError: out of order"),
])  # fmt: skip
def test_a_storage_that_does_not_replace_is_refused_and_not_changed(declare, backend, why):
    declare(sitemaps=storage(backend))
    InMemoryStorage._save(storages["sitemaps"], "mine", ContentFile(b"mine"))
    with pytest.raises(ExportError, match=why):
        RemoteStore("sitemaps").check()
    assert saved("sitemaps") == {"mine": b"mine"}


def test_a_storage_that_renames_later_is_refused_then_and_has_nothing_new(declare):
    declare(sitemaps=storage(InMemoryStorage))
    store = RemoteStore("sitemaps")
    store.write(PAGE, b"before")
    stage(store, "staged", b"after")
    for call in (lambda: store.write(PAGE, b"after"), lambda: store.promote("staged", PAGE)):
        with pytest.raises(ExportError, match=f"saved '{PAGE}' as"):
            call()
    assert saved("sitemaps") == {PAGE: b"before", "staged": b"after"}


def test_a_storage_that_fails_is_named_with_the_file_and_its_error(declare):
    declare(sitemaps=storage(Broken))
    store = RemoteStore("sitemaps")
    for call in (lambda: store.write(PAGE, b"x"), lambda: store.read(PAGE, 1)):
        with pytest.raises(
            ExportError, match=f"Access to '{PAGE}' in storage 'sitemaps' failed: RuntimeError"
        ):
            call()


def test_a_storage_leaves_nothing_here_and_is_cleaned_of_probes(memory, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    stage(memory, PAGE, b"x")
    assert list(tmp_path.iterdir()) == []
    with memory.staged(PAGE) as file:
        file.write(b"y")
        file.flush()
        # No name exists while the file is written, so a killed run leaves nothing behind.
        assert list(tmp_path.iterdir()) == []
    for name in (f"{STATE}/probe-1.txt", f"{STATE}/manifest.json", "probe-2.txt"):
        memory.write(name, b"x")
    state_store(memory).clean()
    assert saved("sitemaps") == {PAGE: b"y", f"{STATE}/manifest.json": b"x", "probe-2.txt": b"x"}


def head(bucket, key):
    """Return the type, the encoding and the caching of an object."""
    found = bucket.meta.client.head_object(Bucket=bucket.name, Key=key)
    return found["ContentType"], found.get("ContentEncoding"), found.get("CacheControl")


def public(bucket, key):
    return any("AllUsers" in grant["Grantee"].get("URI", "") for grant in bucket.Object(key).Acl().grants)


class TestAnS3:
    @pytest.mark.parametrize("compressing", [False, True])
    def test_has_files_of_their_types_as_they_are(self, bucket, compressing):
        types = ("application/gzip", "application/xml", "application/json", "text/plain; charset=utf-8")
        made = bucket(gzip=compressing, gzip_content_types=types)
        store, content = target_store(None), b"x" * 5_000
        for name, expected in (
            (PAGE, "application/gzip"),
            ("sitemap.xml", "application/xml"),
            ("sitemap-a-1.txt", "text/plain; charset=utf-8"),
            ("sitemap.css", "text/css; charset=utf-8"),
            (f"{STATE}/manifest.json", "application/json"),
            (f"{STATE}/pages.jsonl", "application/json"),
        ):
            for how in ("written", "promoted", "promoted again"):
                if how == "written":
                    store.write(name, content)
                else:
                    stage(store, f"{STATE}/run-1/{name}", content)
                    store.promote(f"{STATE}/run-1/{name}", name)
                    assert head(made, f"{STATE}/run-1/{name}")[0] == expected
                assert head(made, name) == (expected, None, None), (name, how)
                assert (made.Object(name).content_length, store.read(name, MOST)) == (5_000, content)

    def test_keeps_what_the_project_declares_for_its_objects_even_for_large_ones(self, bucket):
        declared = {"CacheControl": "max-age=60", "Metadata": {"a": "b"}, "ContentEncoding": "br"}
        made = bucket(object_parameters=declared, default_acl="public-read")
        # The second content is larger than what boto3 sends in one request.
        store, gzipped = target_store(None), ("application/gzip", None, "max-age=60")
        store.write("sitemap.xml", b"x")
        for content in (b"x", os.urandom(1_000) * 9_000):
            stage(store, STAGED, content)
            store.promote(STAGED, PAGE)
            keys = ("sitemap.xml", PAGE, STAGED)
            found = [head(made, key) for key in keys]
            assert found == [("application/xml", None, "max-age=60"), gzipped, gzipped]
            assert [made.Object(key).metadata for key in keys] == [{"a": "b"}] * 3
            # Unpublished files are not public. The server for tests has no rules for large objects.
            assert content != b"x" or [public(made, key) for key in keys] == [True, True, False]
        with store.open(PAGE) as file:
            assert b"".join(iter(lambda: file.read(1_000_000), b"")) == content

    def test_calls_a_subclass_of_the_project_for_each_object(self, bucket, declare, settings, monkeypatch):
        made = bucket()
        from storages.backends.s3 import S3Storage

        class PerObject(S3Storage):
            def get_object_parameters(self, name):
                return {"CacheControl": name}

        monkeypatch.setattr(sys.modules[__name__], "PerObject", PerObject, raising=False)
        declare(sitemaps={**settings.STORAGES["sitemaps"], "BACKEND": f"{__name__}.PerObject"})
        target_store(None).write("sitemap.xml", b"x")
        assert head(made, "sitemap.xml") == ("application/xml", None, "sitemap.xml")

    def test_leaves_the_storage_of_the_project_as_it_was(self, bucket):
        made = bucket(default_acl="public-read", gzip=True)
        declared = storages["sitemaps"]
        before = dict(vars(declared))
        target_store(None).write(PAGE, b"x")
        assert (storages["sitemaps"] is declared, vars(declared)) == (True, before)
        declared.save("media.xml.gz", ContentFile(b"x"))
        assert head(made, "media.xml.gz")[1] == "gzip"

    def test_that_does_not_overwrite_or_is_not_there_is_refused_by_name_and_not_changed(self, bucket):
        made = bucket(file_overwrite=False)
        with pytest.raises(ExportError, match="file_overwrite"):
            target_store(None).check()
        assert list(made.objects.all()) == []
        made.delete()
        with pytest.raises(ExportError, match=r"Access to .*storage 'sitemaps' failed: .*NoSuchBucket"):
            target_store(None).write(PAGE, b"x")

    def test_is_one_place_whatever_it_is_called_and_two_where_it_is_two(self, bucket, declare, settings):
        bucket(location="maps")
        given = settings.STORAGES["sitemaps"]
        declare(same=given, other={**given, "OPTIONS": {**given["OPTIONS"], "location": "other"}})
        first, same, other = (RemoteStore(alias).identity for alias in ("sitemaps", "same", "other"))
        assert (same == first, other == first, "secret" in same) == (True, False, False)
