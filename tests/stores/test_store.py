"""Any store: a file is complete or does not exist."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.stores import STATE, LocalStore, RemoteStore, Store, state_store, target_store
from tests.support.exports import local_storage
from tests.support.processes import ended, started
from tests.support.stores import MOST, AnyStore, Overwriting, below, storage


class TestAnyStore(AnyStore):
    """Tests of a local folder, and of a storage in memory."""


class TestTheTarget:
    def test_that_is_missing_is_reported_with_every_solution(self, settings: Any) -> None:
        settings.SITEMAPS09 = {}
        with pytest.raises(ExportError, match=r"--output DIR.*'ROOT'.*'STORAGE'"):
            target_store(None)
        for key in ("STORAGE", "STATE"):
            settings.SITEMAPS09 = {key: "nowhere"}
            with pytest.raises(ExportError, match=rf"SITEMAPS09\['{key}'\] is 'nowhere'"):
                target_store(None) if key == "STORAGE" else state_store(LocalStore(Path("x")))

    def test_has_a_label_for_messages(self, memory: RemoteStore, folder: Path) -> None:
        assert (memory.label, LocalStore(folder).label) == ("storage 'sitemaps'", str(folder))
        assert state_store(memory).label == f"{STATE} in storage 'sitemaps'"

    def test_keeps_its_state_in_our_folder_of_it(self, store: Store) -> None:
        state_store(store).write("manifest.json", b"{}")
        assert store.read(f"{STATE}/manifest.json", MOST) == b"{}"
        assert state_store(store).identity != store.identity

    def test_keeps_its_state_where_the_setting_says(
        self, tmp_path: Path, settings: Any, declare: Callable[..., None], store: Store
    ) -> None:
        declare(state=local_storage(tmp_path / "state"))
        settings.SITEMAPS09 = {"STATE": "state"}
        state_store(store).write("manifest.json", b"{}")
        assert below(tmp_path / "state") == {"manifest.json": b"{}"}

    def test_never_has_its_state_next_to_what_is_published(
        self, settings: Any, declare: Callable[..., None], folder: Path
    ) -> None:
        settings.SITEMAPS09 = {"STATE": "sitemaps"}
        declare(sitemaps=local_storage(folder))
        state_store(target_store(None)).write("manifest.json", b"{}")
        assert below(folder) == {f"{STATE}/manifest.json": b"{}"}
        declare(sitemaps=storage(Overwriting))
        assert state_store(target_store(None)) == RemoteStore("sitemaps", STATE)


def test_neither_boto3_nor_storages_is_imported_with_the_room() -> None:
    code = (
        "import sys, django_sitemaps09.stores as s; "
        "print([m for m in ('boto3', 'botocore', 'storages', 'redis') if m in sys.modules])"
    )
    assert ended(started("-c", code, environ={**os.environ})) == (0, "[]\n", "")
