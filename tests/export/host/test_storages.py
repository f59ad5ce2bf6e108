"""Exports for several hosts to a storage without paths."""

from __future__ import annotations

import gzip
import json

import pytest

from django_sitemaps09.export import export_hosts
from django_sitemaps09.state.manifest import ROOT as MANIFEST
from django_sitemaps09.stores import STATE
from tests.support.published import unpacked as tree
from tests.support.several_hosts import FINE, FOLDERS, A, B, Own, change, run, thirty, written
from tests.support.stores import Overwriting, saved, storage

pytestmark = [pytest.mark.django_db, pytest.mark.slow, pytest.mark.usefixtures("shared_cache")]

SITEMAPS = {**FINE, "own": Own}


@pytest.mark.parametrize("state", [None, "local", "memory", "sitemaps"])
def test_a_storage_has_a_folder_and_a_state_for_each_host(folder, settings, declare, state):
    thirty()
    local = {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": str(folder / "state")},
    }
    declare(sitemaps=storage(Overwriting), memory=storage(Overwriting), local=local)
    # Another target must not share the state.
    run(folder / "files", sections=SITEMAPS)
    settings.SITEMAPS09 = {"STORAGE": "sitemaps", **({"STATE": state} if state else {})}
    export_hosts([A, B], sitemaps=SITEMAPS)
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
        paths = [path for path in (folder / "state").rglob("*") if path.is_file()]
        kept = {str(path.relative_to(folder / "state")): path.read_bytes() for path in paths}
    roots = [json.loads(data) for name, data in kept.items() if name.endswith(MANIFEST)]
    assert sorted(root["base"] for root in roots) == sorted([A, B])
    assert all(name.startswith((FOLDERS[A], FOLDERS[B])) for name in kept)
    assert written(export_hosts([A, B], sitemaps=SITEMAPS)) == [(), ()]
    after = saved("sitemaps")
    assert {name for name in {*before, *after} if before.get(name) != after.get(name)} == {
        f"{host}/.sitemaps09/exported.json"
        for host in (FOLDERS[A], FOLDERS[B])
        if state in (None, "sitemaps")
    }
    change(15, "other")
    changed = [("sitemap-a-2.xml.gz", "sitemap.xml")] * 2
    assert written(export_hosts([A, B], sitemaps=SITEMAPS)) == changed
