"""The fixture `store` is for what holds of folders and storages; `saved` returns the files of a storage."""

from __future__ import annotations

import pytest
from django.core.cache.backends.locmem import LocMemCache
from django.core.files.storage import InMemoryStorage, storages

from tests.support.internals import LocalStore, RemoteStore

PAGE = "sitemap-a-1.xml.gz"
#: More bytes than any file in these tests has.
MOST = 1_000_000


class Overwriting(InMemoryStorage):
    def get_available_name(self, name, max_length=None):
        return name

    def _save(self, name, content):
        self.delete(name)
        return super()._save(name, content)


def storage(backend, **options):
    return {"BACKEND": f"{backend.__module__}.{backend.__name__}", "OPTIONS": options}


@pytest.fixture
def memory(declare):
    declare(sitemaps=storage(Overwriting))
    return RemoteStore("sitemaps")


@pytest.fixture(params=["local", "memory"])
def store(request, folder):
    return LocalStore(folder) if request.param == "local" else request.getfixturevalue("memory")


def below(folder):
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def saved(alias):
    def walk(folder):
        folders, files = storages[alias].listdir(folder)
        yield from (f"{folder}{name}" for name in files)
        for name in folders:
            yield from walk(f"{folder}{name}/")

    return {name: storages[alias].open(name).read() for name in walk("")}


def stage(store, name, content):
    with store.staged(name) as file:
        file.write(content)


class BrokenCache(LocMemCache):
    """A cache whose server does not answer."""

    def get(self, *args, **kwargs):
        raise ConnectionError("the server does not answer")

    get_many = set = add = delete = get
