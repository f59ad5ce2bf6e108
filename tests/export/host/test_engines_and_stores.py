"""Exports for several hosts: in several processes, to storages, and to S3."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from django_sitemaps09.export import export_hosts
from django_sitemaps09.state.manifest import ROOT as MANIFEST
from django_sitemaps09.stores import STATE
from tests.support import engine_project
from tests.support.several_hosts import (
    FINE,
    FOLDERS,
    HOST_OPTIONS,
    A,
    B,
    Own,
    change,
    run,
    thirty,
    tree,
    written,
)
from tests.support.stores import Overwriting, saved, storage

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


class TestAnEngine:
    def exported(self, status: int, out: str, err: str) -> dict[str, Any]:
        assert status == 0, err
        return dict(json.loads(out)["hosts"])

    def test_of_two_processes_gives_the_same_digests(
        self, folder: Path, project: engine_project.Project
    ) -> None:
        command = ("django", "export_sitemaps", *HOST_OPTIONS, "--format", "json", "--workers", "2")
        found = {}
        for engine in ("serial", "processes"):
            workers = command if engine == "processes" else command[:-2]
            given = ("--engine", engine, "--output", str(folder / engine))
            found[engine] = self.exported(*project.said("ALL", *workers, *given, MAX_BYTES=9_000))
        for host in (A, B):
            assert tree(folder / "serial" / FOLDERS[host]) == tree(folder / "processes" / FOLDERS[host])
            assert len(tree(folder / "serial" / FOLDERS[host])) > 10
            assert found["processes"][host]["workers_memory"]
        assert found["serial"].keys() == {A, B}


class TestAStorage:
    @pytest.fixture(autouse=True)
    def _shared(self, shared_cache: None) -> None:
        """Use a shared cache, which a lease needs."""

    @pytest.mark.parametrize("state", [None, "local", "memory", "sitemaps"])
    def test_has_a_folder_for_each_host_and_one_state_for_each(
        self, folder: Path, settings: Any, declare: Callable[..., None], state: str | None
    ) -> None:
        thirty()
        declare(
            sitemaps=storage(Overwriting),
            memory=storage(Overwriting),
            local={
                "BACKEND": "django.core.files.storage.FileSystemStorage",
                "OPTIONS": {"location": str(folder / "state")},
            },
        )
        # Another target must not share the state.
        run(folder / "files", sections={**FINE, "own": Own})
        settings.SITEMAPS09 = {"STORAGE": "sitemaps", **({"STATE": state} if state else {})}
        export_hosts([A, B], sitemaps={**FINE, "own": Own})
        self.same(folder / "files", saved("sitemaps"))
        before = saved("sitemaps")
        kept = {
            None: before,
            "sitemaps": before,
            "memory": saved("memory"),
            "local": {
                str(file.relative_to(folder / "state")): file.read_bytes()
                for file in (folder / "state").rglob("*")
                if file.is_file()
            },
        }[state]
        roots = {name: json.loads(found) for name, found in kept.items() if name.endswith(MANIFEST)}
        assert sorted(found["base"] for found in roots.values()) == sorted([A, B])
        assert all(name.startswith((FOLDERS[A], FOLDERS[B])) for name in kept)
        assert written(export_hosts([A, B], sitemaps={**FINE, "own": Own})) == [(), ()]
        after = saved("sitemaps")
        assert {name for name in {*before, *after} if before.get(name) != after.get(name)} == {
            f"{host}/.sitemaps09/exported.json"
            for host in (FOLDERS[A], FOLDERS[B])
            if state in (None, "sitemaps")
        }
        change(15, "other")
        assert (
            written(export_hosts([A, B], sitemaps={**FINE, "own": Own}))
            == [("sitemap-a-2.xml.gz", "sitemap.xml")] * 2
        )

    def same(self, expected: Path, found: Mapping[str, bytes]) -> None:
        for host in (A, B):
            start = f"{FOLDERS[host]}/"
            files = {
                name.removeprefix(start): gzip.decompress(content) if name.endswith(".gz") else content
                for name, content in found.items()
                if name.startswith(start) and STATE not in name
            }
            assert files == tree(expected / FOLDERS[host])
