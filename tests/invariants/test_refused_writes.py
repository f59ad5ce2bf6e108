"""A storage that refuses a write, at each point of an export."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import InMemoryStorage, storages

from django_sitemaps09 import stores
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export import export
from django_sitemaps09.state import manifest as manifests
from django_sitemaps09.stores import lock
from tests.support import published
from tests.support.configuration import BASE
from tests.support.manifests import articles, slugs, write_articles

pytestmark = [
    pytest.mark.slow,
    pytest.mark.sitemaps09(MAX_URLS=10, ENGINE="serial"),
]


class Refusing(InMemoryStorage):
    """Storage that replaces files atomically, like S3. It refuses the n-th write."""

    left = 0
    refused = ""

    def get_available_name(self, name: str, max_length: int | None = None) -> str:
        return name

    def _save(self, name: str, content: Any) -> str:
        Refusing.left -= 1
        if Refusing.left == 0:
            Refusing.refused = name
            raise ConnectionError("the storage refuses")
        whole = ContentFile(content.read())
        if self.exists(name):
            self.delete(name)
        return super()._save(name, whole)

    def contents(self) -> dict[str, bytes]:
        """Return the published files."""
        found = {}
        for name in self.listdir("")[1]:
            with self.open(name) as file:
                found[name] = file.read()
        return found


def unpacked(contents: Mapping[str, bytes], name: str) -> tuple[str, ...]:
    return published.locations(contents[name], name.endswith(".gz"))


def named(contents: Mapping[str, bytes]) -> list[str]:
    if "sitemap.xml" not in contents:
        return []
    return [url.rpartition("/")[2] for url in unpacked(contents, "sitemap.xml")]


@pytest.mark.django_db
@pytest.mark.filterwarnings("ignore::ResourceWarning")
class TestAStorageThatRefusesAWrite:
    @pytest.mark.parametrize("kind", ["first", "split", "merge"])
    def test_keeps_published_files_and_the_next_run_publishes_current_rows(
        self, settings: Any, monkeypatch: pytest.MonkeyPatch, kind: str
    ) -> None:
        from tests.models import Article

        # The cache of the tests is used only by this process.
        monkeypatch.setattr(lock, "_UNSUITABLE", {})
        settings.STORAGES = {
            **settings.STORAGES,
            "sitemaps": {"BACKEND": f"{__name__}.Refusing", "OPTIONS": {"location": "/invariants"}},
        }
        sitemaps = {"a": articles()}
        refused = 0
        for point in range(1, 100):
            storages._storages.clear()  # type: ignore[attr-defined]
            storage: Any = storages["sitemaps"]
            Article.objects.all().delete()
            Refusing.left = 0
            if kind != "first":
                write_articles(*range(100, 4_100, 100))
                assert export(sitemaps=sitemaps).failures == []
            if kind == "merge":
                Article.objects.exclude(pk__in=[300, 600, 1_300, 1_600, 2_300, 2_600, 3_300]).delete()
                assert export(sitemaps=sitemaps).failures == []
            earlier = storage.contents()
            once = {url for name in named(earlier) for url in unpacked(earlier, name)}
            write_articles(*range(1_101, 1_125), 5_000)
            Refusing.left = point
            failed = False
            try:
                failed = bool(export(sitemaps=sitemaps).failures)
            except ExportError as error:
                assert "the storage refuses" in str(error)  # noqa: PT017 it may also go well
                failed = True
            found = storage.contents()
            for name in {*named(earlier), *named(found)}:
                unpacked(found, name)
            assert once <= {url for name in named(found) for url in unpacked(found, name)}, point
            over = Refusing.left > 0
            Refusing.left = 0
            write_articles(9_000)
            assert export(sitemaps=sitemaps).failures == []
            found = storage.contents()
            urls = [url for name in named(found) for url in unpacked(found, name)]
            expected = slugs(*Article.objects.values_list("pk", flat=True))
            assert sorted(urls) == sorted(f"{BASE}{path}" for path in expected), point
            for name in named(earlier):
                unpacked(found, name)
            self.is_clean(storage)
            if over:
                break
            refused += failed
            # An export is complete without its entries in the history.
            assert failed != Refusing.refused.endswith(("/history.json", "/exported.json"))
        assert refused > 8

    @staticmethod
    def is_clean(storage: Any) -> None:
        folders, files = storage.listdir(".sitemaps09")
        assert [name for name in (*folders, *files) if name.startswith(("run-", "probe-", "journal"))] == []
        manifest = manifests.read(stores.state_store(stores.target_store(None)))
        assert manifest is not None
        found = storage.contents()
        for name, record in manifest.sections.items():
            for page in record.pages:
                file = f"sitemap-{name}-{page.number}.xml.gz"
                content = gzip.decompress(found[file])
                assert published.sha256(content).hexdigest() == page.digest
