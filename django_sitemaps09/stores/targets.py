"""Which stores an export writes to, by its arguments and the settings. Nothing is touched to tell."""

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
    """The name of the folder for the files of a host: its name, with the port behind an underscore."""
    return re.sub(r"[^a-z0-9._-]", "_", base.domain).rstrip(".")


def is_folder(name: str) -> bool:
    """Whether that can be such a name, or none."""
    return name == "" or _FOLDER.fullmatch(name) is not None


def target(output: Path | None, folder: str = "") -> Store:
    """Where files are published: `output`, else the setting `STORAGE`, else `ROOT`; or a `folder` there.

    `ExportError` where there is none.
    """
    if output is not None:
        return LocalStore(output / folder)
    if conf.storage is not None:
        return _of_storage(conf.storage, "STORAGE", folder)
    if conf.root is not None:
        return LocalStore(conf.root / folder)
    raise ExportError(
        "There is no place to export to: give --output DIR, or set SITEMAPS09['ROOT'] to a directory, or "
        "SITEMAPS09['STORAGE'] to an alias of STORAGES."
    )


def state(target: Store, folder: str = "") -> Store:
    """Where manifest and journal live: the setting `STATE`, else our own folder in the target.

    `folder` is that of the target, where it is one of several.
    """
    if conf.state is not None:
        given = _of_storage(conf.state, "STATE", folder)
        # The same place for both: what is not for the web goes to its folder there.
        if given.identity != target.identity:
            return given
    if isinstance(target, LocalStore):
        return LocalStore(target.folder / STATE, 0o600, own="")
    if isinstance(target, RemoteStore):
        return RemoteStore(target.alias, f"{target.folder}/{STATE}".lstrip("/"))
    raise TypeError(f"{target!r} has no folder of ours.")


def _of_storage(alias: str, key: str, below: str) -> LocalStore | RemoteStore:
    try:
        storage = storages[alias]
        folder = Path(storage.path("sitemap.xml")).parent
    except InvalidStorageError as error:
        raise ExportError(f"SITEMAPS09[{key!r}] is {alias!r}: {error}") from error
    except NotImplementedError:
        return RemoteStore(alias, below)
    if isinstance(storage, InMemoryStorage):
        # It has paths at which there is nothing.
        return RemoteStore(alias, below)
    return LocalStore(folder / below, getattr(storage, "file_permissions_mode", None))
