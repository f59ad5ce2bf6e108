"""Stores for the files of an export: a folder, or any storage that can replace whole files."""

from __future__ import annotations

from django_sitemaps09.stores.local import LocalStore
from django_sitemaps09.stores.lock import only_one
from django_sitemaps09.stores.remote import RemoteStore
from django_sitemaps09.stores.store import STATE, Store
from django_sitemaps09.stores.targets import host_folder, is_folder, state, target

__all__ = [
    "STATE",
    "LocalStore",
    "RemoteStore",
    "Store",
    "host_folder",
    "is_folder",
    "only_one",
    "state",
    "target",
]
