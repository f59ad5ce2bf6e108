"""Files that are replaced whole, in a folder or a storage of Django, and what is published there."""

from __future__ import annotations

from django_sitemaps09.target.local import STATE as STATE, LocalStore as LocalStore
from django_sitemaps09.target.remote import RemoteStore as RemoteStore
from django_sitemaps09.target.store import (
    Store as Store,
    exclusive_lock as exclusive_lock,
    owner as owner,
    state_store as state_store,
    target_store as target_store,
)
