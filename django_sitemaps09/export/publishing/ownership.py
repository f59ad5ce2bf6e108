"""Check that a state belongs to the target, since several targets cannot share one `STATE`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from django_sitemaps09 import manifest as manifests
from django_sitemaps09 import published
from django_sitemaps09.exceptions import UnreadableError
from django_sitemaps09.export.publishing.journal import JOURNAL, read_journal
from django_sitemaps09.manifest import Manifest
from django_sitemaps09.stores import Store
from django_sitemaps09.stores.targets import owner


def check_owner(store: Store, state: Store) -> None:
    """Raise `ExportError` if the manifest or the journal in `state` belongs to another target."""
    for root in _roots(state) if owner(store, state) else ():
        published.check_owner(root, store, state)


def _roots(state: Store) -> Iterator[Manifest]:
    # A damaged manifest is reported and replaced elsewhere.
    with suppress(UnreadableError):
        root = manifests.read_root(state)
        if root is not None:
            yield root
    journal = read_journal(state)
    if journal is not None:
        yield manifests.parse_root(journal.root, JOURNAL)
