"""Stores for exported files: local folders, and Django storages that can replace whole files."""

from __future__ import annotations

from django_sitemaps09.stores.local import LocalStore as LocalStore
from django_sitemaps09.stores.lock import exclusive_lock as exclusive_lock
from django_sitemaps09.stores.plain import STATE as STATE
from django_sitemaps09.stores.remote import RemoteStore as RemoteStore
from django_sitemaps09.stores.store import (
    Store as Store,
    owner as owner,
    state_store as state_store,
    target_store as target_store,
)
