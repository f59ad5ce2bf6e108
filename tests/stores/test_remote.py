"""Storages without paths, and an S3."""

from __future__ import annotations

import os
import pickle
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import InMemoryStorage, storages

from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.stores import STATE, RemoteStore, state_store, target_store
from tests.support.stores import MOST, PAGE, AnyStore, Overwriting, saved, stage, storage


class Renaming(Overwriting):
    def get_available_name(self, name: str, max_length: int | None = None) -> str:
        return f"{name}.new"


class Forgetful(Overwriting):
    """A storage that silently keeps the first content of a name."""

    def _save(self, name: str, content: Any) -> str:
        return name if self.exists(name) else super()._save(name, content)


class Broken(Overwriting):
    def _save(self, name: str, content: Any) -> str:
        raise RuntimeError("out of order")

    def exists(self, name: str) -> bool:
        raise RuntimeError("out of order")


class TestAStorageWithoutPaths:
    @pytest.mark.parametrize(
        ("backend", "why"),
        [
            (InMemoryStorage, "saved .*probe-.* as .*probe-"),
            (Renaming, "saved .*probe-.* as .*probe-"),
            (Forgetful, "does not return the content that was saved last"),
            (Broken, "Access to .*probe-.* failed: RuntimeError: out of order"),
        ],
        ids=lambda value: getattr(value, "__name__", ""),
    )
    def test_that_does_not_replace_is_refused_and_not_changed(
        self, declare: Callable[..., None], backend: type, why: str
    ) -> None:
        declare(sitemaps=storage(backend))
        InMemoryStorage._save(storages["sitemaps"], "mine", ContentFile(b"mine"))  # type: ignore[arg-type]
        with pytest.raises(ExportError, match=why) as raised:
            RemoteStore("sitemaps").check()
        assert "'sitemaps'" in str(raised.value)
        if backend is not Broken:
            for word in ("file_overwrite", "allow_overwrite", "'ROOT'"):
                assert word in str(raised.value)
        assert saved("sitemaps") == {"mine": b"mine"}

    def test_that_renames_later_is_refused_then_and_has_nothing_new(
        self, declare: Callable[..., None]
    ) -> None:
        declare(sitemaps=storage(InMemoryStorage))
        store = RemoteStore("sitemaps")
        store.write(PAGE, b"before")
        with pytest.raises(ExportError, match=f"saved '{PAGE}' as"):
            store.write(PAGE, b"after")
        stage(store, "staged", b"after")
        with pytest.raises(ExportError, match=f"saved '{PAGE}' as"):
            store.promote("staged", PAGE)
        assert saved("sitemaps") == {PAGE: b"before", "staged": b"after"}

    def test_that_fails_is_named_with_the_file_and_its_error(self, declare: Callable[..., None]) -> None:
        declare(sitemaps=storage(Broken))
        store = RemoteStore("sitemaps")
        for call in (lambda: store.write(PAGE, b"x"), lambda: store.read(PAGE, 1)):
            with pytest.raises(
                ExportError, match=f"Access to '{PAGE}' in storage 'sitemaps' failed: RuntimeError"
            ):
                call()

    def test_leaves_nothing_on_this_machine(
        self, memory: RemoteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        stage(memory, PAGE, b"x")
        assert list(tmp_path.iterdir()) == []
        with memory.staged(PAGE) as file:
            file.write(b"y")
            file.flush()
            # No name exists while the file is written, so a killed run leaves nothing behind.
            assert list(tmp_path.iterdir()) == []
        assert saved("sitemaps") == {PAGE: b"y"}

    def test_is_cleaned_of_the_probes_of_killed_runs(self, memory: RemoteStore) -> None:
        for name in (f"{STATE}/probe-1.txt", f"{STATE}/manifest.json", "probe-2.txt"):
            memory.write(name, b"x")
        state_store(memory).clean()
        assert set(saved("sitemaps")) == {f"{STATE}/manifest.json", "probe-2.txt"}


def head(bucket: Any, key: str) -> dict[str, Any]:
    found: dict[str, Any] = bucket.meta.client.head_object(Bucket=bucket.name, Key=key)
    return found


def public(bucket: Any, key: str) -> bool:
    grants = bucket.Object(key).Acl().grants
    return any(grant["Grantee"].get("URI", "").endswith("/AllUsers") for grant in grants)


class TestAnS3:
    @pytest.mark.parametrize("location", ["", "maps/2026"])
    def test_does_what_a_store_does(self, bucket: Callable[..., Any], location: str) -> None:
        made = bucket(location=location)
        made.put_object(Key="maps/2026-beside", Body=b"of somebody")
        store = target_store(None)
        tests = AnyStore()
        tests.test_has_what_was_written_last(store)
        tests.test_refuses_to_read_more_than_the_limit(store)
        tests.test_promotes_what_is_staged_to_its_place(store)
        store.delete_folder(f"{STATE}/run-1")
        tests.test_keeps_nothing_of_a_staged_file_whose_writer_failed(store)
        tests.test_takes_a_second_attempt_in_place_of_the_first(store)
        for number in range(3):
            store.write(f"{STATE}/run-1/{number}.json", b"{}")
        store.write(f"{STATE}/run-10/0.json", b"{}")
        folders = [STATE] if location else [STATE, "maps"]
        assert (store.folders(), store.folders(STATE)) == (folders, ["run-1", "run-10"])
        assert set(store.names(f"{STATE}/run-1")) == {"0.json", "1.json", "2.json", PAGE}
        store.delete_folder(f"{STATE}/run-1")
        store.delete_folder(f"{STATE}/run-1")
        assert store.folders(STATE) == ["run-10"]
        store.delete("sitemap.xml")
        store.delete("sitemap.xml")
        assert set(store.names()) == {PAGE}
        with pytest.raises(FileNotFoundError):
            store.promote(f"{STATE}/run-1/{PAGE}", PAGE)
        store.check()
        prefix = f"{location}/" if location else ""
        assert {found.key for found in made.objects.all()} == {
            "maps/2026-beside",
            f"{prefix}{PAGE}",
            f"{prefix}{STATE}/run-10/0.json",
        }

    @pytest.mark.parametrize("compressing", [False, True])
    def test_has_files_of_their_types_as_they_are(
        self, bucket: Callable[..., Any], compressing: bool
    ) -> None:
        types = ("application/gzip", "application/xml", "application/json", "text/plain; charset=utf-8")
        made = bucket(gzip=compressing, gzip_content_types=types)
        store, content = target_store(None), b"x" * 5_000
        for name, expected in (
            ("sitemap-a-1.xml.gz", "application/gzip"),
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
                    assert head(made, f"{STATE}/run-1/{name}")["ContentType"] == expected
                found = head(made, name)
                assert found["ContentType"] == expected, (name, how)
                assert "ContentEncoding" not in found
                assert found["ContentLength"] == 5_000
                assert store.read(name, MOST) == content

    def test_keeps_what_the_project_declares_for_its_objects(self, bucket: Callable[..., Any]) -> None:
        declared = {"CacheControl": "max-age=60", "Metadata": {"a": "b"}, "ContentEncoding": "br"}
        made = bucket(object_parameters=declared, default_acl="public-read")
        store = target_store(None)
        store.write("sitemap.xml", b"x")
        stage(store, f"{STATE}/run-1/{PAGE}", b"x")
        store.promote(f"{STATE}/run-1/{PAGE}", PAGE)
        for key in ("sitemap.xml", PAGE, f"{STATE}/run-1/{PAGE}"):
            found = head(made, key)
            assert (found["CacheControl"], found["Metadata"]) == ("max-age=60", {"a": "b"})
            assert "ContentEncoding" not in found
        assert public(made, "sitemap.xml")
        assert public(made, PAGE)
        # Unpublished files are not public.
        assert not public(made, f"{STATE}/run-1/{PAGE}")

    def test_has_large_files_as_it_has_small_ones(self, bucket: Callable[..., Any]) -> None:
        made = bucket(object_parameters={"CacheControl": "max-age=60"})
        # Larger than what boto3 sends in one request.
        store, content = target_store(None), os.urandom(1_000) * 9_000
        stage(store, f"{STATE}/run-1/{PAGE}", content)
        store.promote(f"{STATE}/run-1/{PAGE}", PAGE)
        found = head(made, PAGE)
        assert (found["ContentType"], found["CacheControl"]) == ("application/gzip", "max-age=60")
        assert "ContentEncoding" not in found
        file = store.open(PAGE)
        assert file is not None
        with file:
            assert b"".join(iter(lambda: file.read(1_000_000), b"")) == content

    def test_calls_a_subclass_of_the_project_for_each_object(
        self,
        bucket: Callable[..., Any],
        declare: Callable[..., None],
        settings: Any,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        made = bucket()
        from storages.backends.s3 import S3Storage

        class PerObject(S3Storage):  # type: ignore[misc]
            def get_object_parameters(self, name: str) -> dict[str, str]:
                return {"CacheControl": name}

        monkeypatch.setattr(sys.modules[__name__], "PerObject", PerObject, raising=False)
        declare(sitemaps={**settings.STORAGES["sitemaps"], "BACKEND": f"{__name__}.PerObject"})
        target_store(None).write("sitemap.xml", b"x")
        assert head(made, "sitemap.xml")["CacheControl"] == "sitemap.xml"
        assert head(made, "sitemap.xml")["ContentType"] == "application/xml"

    def test_leaves_the_storage_of_the_project_as_it_was(self, bucket: Callable[..., Any]) -> None:
        made = bucket(default_acl="public-read", gzip=True)
        declared = storages["sitemaps"]
        before = dict(vars(declared))
        target_store(None).write(PAGE, b"x")
        assert storages["sitemaps"] is declared
        assert vars(declared) == before
        declared.save("media.xml.gz", ContentFile(b"x"))
        assert head(made, "media.xml.gz")["ContentEncoding"] == "gzip"

    def test_that_does_not_overwrite_is_refused_and_not_changed(self, bucket: Callable[..., Any]) -> None:
        made = bucket(file_overwrite=False)
        with pytest.raises(ExportError, match="file_overwrite"):
            target_store(None).check()
        assert list(made.objects.all()) == []

    def test_is_one_place_whatever_it_is_called_and_two_where_it_is_two(
        self, bucket: Callable[..., Any], declare: Callable[..., None], settings: Any
    ) -> None:
        bucket(location="maps")
        given = settings.STORAGES["sitemaps"]
        changed = {**given, "OPTIONS": {**given["OPTIONS"], "location": "other"}}
        declare(same=given, other=changed)
        assert RemoteStore("same").identity == RemoteStore("sitemaps").identity
        assert RemoteStore("other").identity != RemoteStore("sitemaps").identity
        assert "secret" not in RemoteStore("same").identity

    def test_that_is_not_there_is_an_error_that_names_it(self, bucket: Callable[..., Any]) -> None:
        made = bucket()
        made.delete()
        with pytest.raises(ExportError, match=r"Access to .*storage 'sitemaps' failed: .*NoSuchBucket"):
            target_store(None).write(PAGE, b"x")

    def test_is_the_same_in_another_process(self, bucket: Callable[..., Any]) -> None:
        made = bucket()
        store = target_store(None)
        store.write("sitemap.xml", b"x")
        pickle.loads(pickle.dumps(store)).write(PAGE, b"x")  # noqa: S301 our own
        assert head(made, PAGE)["ContentType"] == "application/gzip"
