"""A storage that refuses a write, at each point of an export."""

from __future__ import annotations

import gzip

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import InMemoryStorage, storages

from django_sitemaps09 import stores
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export import export
from django_sitemaps09.state import manifest as manifests
from django_sitemaps09.stores import lock
from tests.models import Article
from tests.support import published
from tests.support.configuration import BASE
from tests.support.manifests import articles, slugs, write_articles

pytestmark = [
    pytest.mark.slow, pytest.mark.django_db, pytest.mark.sitemaps09(MAX_URLS=10, ENGINE="serial"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]  # fmt: skip


class Refusing(InMemoryStorage):
    """Storage that replaces files atomically, like S3. It refuses the n-th write."""

    left, refused = 0, ""

    def get_available_name(self, name, max_length=None):
        return name

    def _save(self, name, content):
        Refusing.left -= 1
        if Refusing.left == 0:
            Refusing.refused = name
            raise ConnectionError("the storage refuses")
        whole = ContentFile(content.read())
        if self.exists(name):
            self.delete(name)
        return super()._save(name, whole)

    def contents(self):
        """Return the published files."""
        return {name: self.open(name).read() for name in self.listdir("")[1]}


def urls_of(contents, name):
    return published.locations(contents[name], name.endswith(".gz"))


def named(contents):
    found = urls_of(contents, "sitemap.xml") if "sitemap.xml" in contents else ()
    return [url.rpartition("/")[2] for url in found]


def indexed(contents):
    """Return the URLs of the files in the index, which must be complete."""
    return [url for name in named(contents) for url in urls_of(contents, name)]


@pytest.mark.parametrize("kind", ["first", "split", "merge"])
def test_a_refused_write_keeps_published_files_and_the_next_run_is_current(settings, monkeypatch, kind):
    # The cache of the tests is used only by this process.
    monkeypatch.setattr(lock, "_UNSUITABLE", {})
    backend = {"BACKEND": f"{__name__}.Refusing", "OPTIONS": {"location": "/invariants"}}
    settings.STORAGES = {**settings.STORAGES, "sitemaps": backend}
    sitemaps, refused = {"a": articles()}, 0
    for point in range(1, 100):
        storages._storages.clear()
        storage = storages["sitemaps"]
        Article.objects.all().delete()
        Refusing.left = 0
        if kind != "first":
            write_articles(*range(100, 4_100, 100))
            assert export(sitemaps=sitemaps).failures == []
        if kind == "merge":
            Article.objects.exclude(pk__in=[300, 600, 1_300, 1_600, 2_300, 2_600, 3_300]).delete()
            assert export(sitemaps=sitemaps).failures == []
        earlier = storage.contents()
        write_articles(*range(1_101, 1_125), 5_000)
        Refusing.left = point
        try:
            failed = bool(export(sitemaps=sitemaps).failures)
        except ExportError as error:
            assert "the storage refuses" in str(error)  # noqa: PT017 it may also go well
            failed = True
        found, is_over = storage.contents(), Refusing.left > 0
        assert {*indexed(earlier)} <= {*indexed(found)}, point
        Refusing.left = 0
        write_articles(9_000)
        # Files that a crawler has seen in the former index are whole, too.
        for name in named(earlier):
            urls_of(found, name)
        assert export(sitemaps=sitemaps).failures == []
        found = storage.contents()
        expected = slugs(*Article.objects.values_list("pk", flat=True))
        assert sorted(indexed(found)) == sorted(f"{BASE}{path}" for path in expected), point
        for name in named(earlier):
            urls_of(found, name)
        assert_is_clean(storage, found)
        if is_over:
            break
        refused += failed
        # An export is complete without its entries in the history.
        assert failed != Refusing.refused.endswith(("/history.json", "/exported.json"))
    assert refused > 8


def assert_is_clean(storage, found):
    names = [name for part in storage.listdir(".sitemaps09") for name in part]
    assert [name for name in names if name.startswith(("run-", "probe-", "journal"))] == []
    manifest = manifests.read(stores.state_store(stores.target_store(None)))
    for name, record in manifest.sections.items():
        for page in record.pages:
            content = gzip.decompress(found[f"sitemap-{name}-{page.number}.xml.gz"])
            assert published.sha256(content).hexdigest() == page.digest
