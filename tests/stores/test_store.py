"""A folder, a storage in memory and an S3 do the same: a file is complete, or does not exist."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.stores import STATE, LocalStore, RemoteStore, state_store, target_store
from tests.support.exports import local_storage
from tests.support.processes import ended, started
from tests.support.stores import MOST, PAGE, Overwriting, below, saved, stage, storage

STAGED = f"{STATE}/run-1/{PAGE}"
#: Locations of an S3; an object of somebody else is beside the second one.
S3 = [pytest.param(location, marks=pytest.mark.services) for location in ("s3:", "s3:maps/2026")]


@pytest.fixture(params=["local", "memory", *S3])
def any_store(request, folder):
    kind, is_remote, location = request.param.partition(":")
    if not is_remote:
        yield LocalStore(folder) if kind == "local" else request.getfixturevalue("memory")
        return
    bucket = request.getfixturevalue("bucket")(location=location)
    if location:
        bucket.put_object(Key=f"{location}-beside", Body=b"mine")
    yield target_store(None)
    beside = {found.key for found in bucket.objects.all() if not found.key.startswith(f"{location}/")}
    assert not location or beside == {f"{location}-beside"}


def test_a_store_has_what_was_written_last_and_reads_no_more_than_the_limit(any_store):
    assert (any_store.read("sitemap.xml", MOST), any_store.open("sitemap.xml")) == (None, None)
    for content in (b"a long first content", b"12345", b""):
        any_store.write("sitemap.xml", content)
        assert any_store.read("sitemap.xml", len(content)) == content
        with any_store.open("sitemap.xml") as file:
            assert file.read() == content
    any_store.write("sitemap.xml", b"12345")
    with pytest.raises(ExportError, match=r"sitemap\.xml.* is larger than 4 bytes"):
        any_store.read("sitemap.xml", 4)


def test_a_staged_file_is_complete_and_published_by_its_promotion_alone(any_store):
    def fail():
        with any_store.staged(STAGED) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    any_store.write(PAGE, b"a long content from before")
    with pytest.raises(KeyboardInterrupt):
        fail()
    assert any_store.names(f"{STATE}/run-1") == {}
    with pytest.raises(FileNotFoundError):
        any_store.promote(STAGED, PAGE)
    for content in (b"a long first attempt", b"second"):
        stage(any_store, STAGED, content)
        assert any_store.read(STAGED, MOST) == content
        assert any_store.read(PAGE, MOST) == b"a long content from before"
    any_store.promote(STAGED, PAGE)
    any_store.sync()
    assert any_store.read(PAGE, MOST) == b"second"


def test_a_store_lists_what_is_directly_in_a_folder_and_deletes_that_and_no_more(any_store):
    for name in ("b.xml", "sub/c.xml", "sub/sub/d.xml", f"{STATE}/run-1/a/x", STAGED, f"{STATE}/run-10/x"):
        any_store.write(name, b"123")
    size = 3 if isinstance(any_store, LocalStore) else None
    assert (any_store.names(), any_store.names("sub")) == ({"b.xml": size}, {"c.xml": size})
    assert (sorted(any_store.folders()), any_store.folders("sub")) == ([STATE, "sub"], ["sub"])
    assert (any_store.names("nowhere"), any_store.folders("nowhere")) == ({}, [])
    for _ in range(2):
        any_store.delete("sub/c.xml")
        any_store.delete("nowhere/at/all.xml")
        any_store.delete_folder(f"{STATE}/run-1")
        assert (any_store.names("sub"), any_store.folders("sub")) == ({}, ["sub"])
        assert (any_store.folders(STATE), set(any_store.names())) == (["run-10"], {"b.xml"})


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../a", "a/../../b", "a//b", "", "a/", ".", "./a", "a\\b", "C:a", "a\0b"]
)
def test_a_name_that_leads_outside_is_refused(store, name):
    store.write(PAGE, b"x")
    for call in (
        lambda: store.read(name, 1), lambda: store.open(name), lambda: store.write(name, b""),
        lambda: store.staged(name).__enter__(), lambda: store.promote(PAGE, name),
        lambda: store.promote(name, PAGE), lambda: store.delete(name), lambda: store.delete_folder(name),
        lambda: store.is_blocked(name), lambda: store.names(name or "/"),
        lambda: store.folders(name or "/"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="not a valid file name"):
            call()
    assert store.read(PAGE, MOST) == b"x"


def test_a_store_is_checked_without_a_trace_and_is_the_same_in_another_process(any_store):
    any_store.check()
    any_store.write(PAGE, b"x")
    any_store.clean()
    any_store.sync()
    assert (set(any_store.names()), any_store.names(STATE)) == ({PAGE}, {})
    other = pickle.loads(pickle.dumps(any_store))  # noqa: S301 our own
    assert (other, other.label, other.identity) == (any_store, any_store.label, any_store.identity)
    assert other.read(PAGE, MOST) == b"x"
    other.write("sitemap.xml", b"y")
    assert any_store.read("sitemap.xml", MOST) == b"y"


def test_a_target_or_state_that_is_missing_is_reported_with_every_solution(settings):
    settings.SITEMAPS09 = {}
    with pytest.raises(ExportError, match=r"--output DIR.*'ROOT'.*'STORAGE'"):
        target_store(None)
    for key, find in (
        ("STORAGE", lambda: target_store(None)),
        ("STATE", lambda: state_store(LocalStore(Path("x")))),
    ):
        settings.SITEMAPS09 = {key: "nowhere"}
        with pytest.raises(ExportError, match=rf"SITEMAPS09\['{key}'\] is 'nowhere'"):
            find()


def test_the_state_is_in_our_folder_or_where_the_setting_says(store, folder, tmp_path, settings, declare):
    label = str(folder) if isinstance(store, LocalStore) else "storage 'sitemaps'"
    assert store.label == label
    if isinstance(store, RemoteStore):
        assert state_store(store).label == f"{STATE} in {label}"
    state_store(store).write("manifest.json", b"{}")
    assert store.read(f"{STATE}/manifest.json", MOST) == b"{}"
    assert state_store(store).identity != store.identity
    declare(state=local_storage(tmp_path / "state"))
    settings.SITEMAPS09 = {"STATE": "state"}
    state_store(store).write("manifest.json", b"{}")
    assert below(tmp_path / "state") == {"manifest.json": b"{}"}


def test_the_state_is_never_next_to_what_is_published(settings, declare, folder):
    settings.SITEMAPS09 = {"STATE": "sitemaps"}
    declare(sitemaps=local_storage(folder))
    state_store(target_store(None)).write("manifest.json", b"{}")
    assert below(folder) == {f"{STATE}/manifest.json": b"{}"}
    declare(sitemaps=storage(Overwriting))
    assert state_store(target_store(None)) == RemoteStore("sitemaps", STATE)
    assert saved("sitemaps") == {}


def test_neither_boto3_nor_storages_nor_redis_is_imported_with_the_room():
    code = (
        "import sys, django_sitemaps09.stores as s; "
        "print([m for m in ('boto3', 'botocore', 'storages', 'redis') if m in sys.modules])"
    )
    assert ended(started("-c", code, environ={**os.environ})) == (0, "[]\n", "")
