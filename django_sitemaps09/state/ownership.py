"""Check that a state belongs to the target, since several targets cannot share one `STATE`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from django_sitemaps09.entries import MAX_MESSAGE, excerpt
from django_sitemaps09.exceptions import ExportError, UnreadableError
from django_sitemaps09.state import manifest as manifests
from django_sitemaps09.state.journal import JOURNAL, read_journal
from django_sitemaps09.state.manifest import Manifest
from django_sitemaps09.stores import Store, owner


def check_owner(store: Store, state: Store) -> None:
    """Raise `ExportError` if the manifest or the journal in `state` belongs to another target."""
    for root in _roots(state) if owner(store, state) else ():
        check_root(root, store, state)


def _roots(state: Store) -> Iterator[Manifest]:
    # A damaged manifest is reported and replaced elsewhere.
    with suppress(UnreadableError):
        root = manifests.read_root(state)
        if root is not None:
            yield root
    journal = read_journal(state)
    if journal is not None:
        yield manifests.parse_root(journal.root, JOURNAL)


def check_root(root: Manifest, store: Store, state: Store) -> None:
    """Raise `ExportError` if the manifest in `state` belongs to another target."""
    target = owner(store, state)
    # Manifests of earlier versions name no target.
    if target and root.target not in ("", target):
        raise ExportError(
            f"{state.label} has the state of the target {excerpt(root.target, MAX_MESSAGE)}, so the target "
            f"{target} cannot share it. Set SITEMAPS09['STATE'] to another alias for one of them. If the "
            f"target has moved, remove {manifests.ROOT} in {state.label}, and journal.json if it exists. "
            "The next export then rebuilds all pages."
        )
