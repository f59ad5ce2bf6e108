"""Stores for exported files: local folders, and Django storages that can replace whole files."""

from __future__ import annotations

from django_sitemaps09.stores.local import LocalStore
from django_sitemaps09.stores.lock import exclusive_lock
from django_sitemaps09.stores.plain import STATE
from django_sitemaps09.stores.remote import RemoteStore
from django_sitemaps09.stores.store import (
    Store,
    host_folder,
    is_host_folder,
    owner,
    state_store,
    target_store,
)

__all__ = [
    "STATE",
    "LocalStore",
    "RemoteStore",
    "Store",
    "exclusive_lock",
    "host_folder",
    "is_host_folder",
    "owner",
    "state_store",
    "target_store",
]
