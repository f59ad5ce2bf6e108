"""Choose the stores of an export by its arguments and the settings, without touching any files."""

from __future__ import annotations

import re
from pathlib import Path

from django.core.files.storage import InMemoryStorage, InvalidStorageError, storages

from django_sitemaps09.conf import conf
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.protocol import Base
from django_sitemaps09.stores.local import LocalStore
from django_sitemaps09.stores.remote import RemoteStore
from django_sitemaps09.stores.store import STATE, Store

_FOLDER = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")


def host_folder(base: Base) -> str:
    """Return the name of a host's folder: the name of the host, with an underscore before the port."""
    return re.sub(r"[^a-z0-9._-]", "_", base.domain).rstrip(".")


def is_folder(name: str) -> bool:
    """Return whether a name is empty, or can be the name of a host's folder."""
    return name == "" or _FOLDER.fullmatch(name) is not None


def target(output: Path | None, folder: str = "") -> Store:
    """Return where files are published: in `output`, else the setting `STORAGE`, else `ROOT`.

    With a `folder`, that is the folder there. Raise `ExportError` if no place is given.
    """
    if output is not None:
        return LocalStore(output / folder)
    if conf.storage is not None:
        return _of_storage(conf.storage, "STORAGE", folder)
    if conf.root is not None:
        return LocalStore(conf.root / folder)
    raise ExportError(
        "There is no target to export to. Pass --output DIR, set SITEMAPS09['ROOT'] to a directory, or "
        "set SITEMAPS09['STORAGE'] to an alias in STORAGES."
    )


def state(target: Store, folder: str = "") -> Store:
    """Return the store of manifest and journal: the setting `STATE`, else our own folder in the target.

    `folder` is the folder of the target, if there is one for each host.
    """
    if conf.state is not None:
        store = _of_storage(conf.state, "STATE", folder)
        # If it is the same place as the target, private files go to our own folder there.
        if store.identity != target.identity:
            return store
    if isinstance(target, LocalStore):
        return LocalStore(target.folder / STATE, 0o600, own="")
    if isinstance(target, RemoteStore):
        return RemoteStore(target.alias, f"{target.folder}/{STATE}".lstrip("/"))
    raise TypeError(f"{target!r} has no private folder.")


def _of_storage(alias: str, key: str, subfolder: str) -> LocalStore | RemoteStore:
    try:
        storage = storages[alias]
        folder = Path(storage.path("sitemap.xml")).parent
    except InvalidStorageError as error:
        raise ExportError(f"SITEMAPS09[{key!r}] is {alias!r}: {error}") from error
    except NotImplementedError:
        return RemoteStore(alias, subfolder)
    if isinstance(storage, InMemoryStorage):
        # It returns paths, but there are no files at these.
        return RemoteStore(alias, subfolder)
    return LocalStore(folder / subfolder, getattr(storage, "file_permissions_mode", None))
