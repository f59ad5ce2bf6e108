"""The interface of stores, and the stores that an export uses, from its arguments and the settings."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO, Protocol

from django.core.exceptions import ImproperlyConfigured
from django.core.files.storage import InMemoryStorage, storages

from django_sitemaps09.conf import conf
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.target.local import LocalStore
from django_sitemaps09.target.plain import STATE
from django_sitemaps09.target.remote import RemoteStore

# Packages of the extra `s3` that a storage imports.
_S3_PACKAGES = {"storages", "boto3", "botocore", "s3transfer"}
_S3_ADVICE = ". For S3, install the extra `s3`: pip install 'django-sitemaps09[s3]'."


class Store(Protocol):
    """The interface of stores, which hold named files. A file is always complete, and never partly written.

    A name is relative and can contain slashes, such as `.sitemaps09/run-1/sitemap-a-1.xml.gz`. A name that
    would lead outside raises `ValueError`. Methods raise `ExportError` if a storage fails, or if a name
    belongs to something other than a file. Errors of local folders are `OSError`. Stores can be pickled.
    """

    @property
    def label(self) -> str:
        """The name of the store in messages: the folder's path, or `storage 'sitemaps'`."""

    @property
    def identity(self) -> str:
        """A string that identifies the same store on all machines. Prefer `label` in messages."""

    def read(self, name: str, max_bytes: int) -> bytes | None:
        """Return the content of a file, or `None` if it does not exist.

        Raise `ExportError` if the file is not regular or has more than `max_bytes` bytes.
        """

    def open(self, name: str) -> BinaryIO | None:
        """Open a file for reading, without loading it into memory. Return `None` if it does not exist."""

    def write(self, name: str, content: bytes) -> None:
        """Replace a file atomically. Its content and its name are durable when this returns."""

    def staged(self, name: str) -> AbstractContextManager[BinaryIO]:
        """Open a new file for writing. The store has the complete file when the block ends.

        Then the content is durable. The name is durable after `sync()`. A block that fails leaves no file.
        """

    def promote(self, staged: str, name: str) -> None:
        """Replace a file atomically with a staged file. The staged file may also remain.

        Raise `FileNotFoundError` if the staged file does not exist.
        """

    def sync(self) -> None:
        """Make durable all changes that this object has made since the last call."""

    def delete(self, name: str) -> None:
        """Remove a file if it exists."""

    def delete_folder(self, name: str) -> None:
        """Remove a folder with its content, if it exists. Links are not followed."""

    def names(self, folder: str = "") -> dict[str, int | None]:
        """Return the sizes of a folder's regular files, by name; `None` if a size needs a request.

        Files with names that are not valid in a store are skipped: this package did not write them.
        """

    def folders(self, folder: str = "") -> list[str]:
        """Return the sorted names of the folders in a folder, without those that are not valid."""

    def is_blocked(self, name: str) -> bool:
        """Return whether a file cannot be written, because a folder has its name."""

    def check(self) -> None:
        """Raise `ExportError` if the store does not behave as required. This may write a test file."""

    def clean(self) -> None:
        """Remove the temporary files that `write()` and `check()` left behind in killed runs.

        The folders of runs are kept.
        """


def target_store(output: Path | None, folder: str = "") -> Store:
    """Return the store for published files: `output`, or else the setting `STORAGE`, or else `ROOT`.

    `folder` is the subfolder of a host. Raise `ExportError` if there is no target.
    """
    if output is None and conf.storage is not None:
        return _from_storage(conf.storage, "STORAGE", folder)
    local_folder = output or conf.root
    if local_folder is not None:
        return _local_store(local_folder, folder)
    raise ExportError(
        "There is no target to export to. Pass --output DIR, set SITEMAPS09['ROOT'] to a directory, or "
        "set SITEMAPS09['STORAGE'] to an alias in STORAGES."
    )


def state_store(target: Store, folder: str = "") -> Store:
    """Return the store for the manifest and the journal: the setting `STATE`, else a folder in the target.

    `folder` is the subfolder of a host.
    """
    if conf.state is not None:
        store = _from_storage(conf.state, "STATE", folder)
        # If this storage is also the target, private files need a separate folder.
        if store.identity != target.identity:
            return store
    return _private_store(target)


def owner(target: Store, state: Store) -> str:
    """Return the identity of the target that a state belongs to.

    It is empty for a state inside the target, which can be moved or copied with the target.
    """
    return "" if state == _private_store(target) else target.identity


def _private_store(target: Store) -> Store:
    if isinstance(target, LocalStore):
        parent = target.target or target.folder
        return LocalStore(target.folder / STATE, 0o600, "", parent, is_guarded=target.is_guarded)
    if isinstance(target, RemoteStore):
        return RemoteStore(target.alias, f"{target.folder}/{STATE}".lstrip("/"))
    raise TypeError(f"{target!r} has no private folder.")


def _from_storage(alias: str, key: str, subfolder: str) -> LocalStore | RemoteStore:
    try:
        storage = storages[alias]
        folder = Path(storage.path("sitemap.xml")).parent
    except ImproperlyConfigured as error:
        cause = error.__context__
        package = (cause.name or "").partition(".")[0] if isinstance(cause, ImportError) else ""
        advice = _S3_ADVICE if package in _S3_PACKAGES else ""
        raise ExportError(f"SITEMAPS09[{key!r}] is {alias!r}: {error}{advice}") from error
    except NotImplementedError:
        return RemoteStore(alias, subfolder)
    if isinstance(storage, InMemoryStorage):
        # This storage returns paths, but has no files there.
        return RemoteStore(alias, subfolder)
    return _local_store(folder, subfolder, getattr(storage, "file_permissions_mode", None))


def _local_store(target: Path, folder: str, mode: int | None = None) -> LocalStore:
    return LocalStore(target / folder, mode, target=target if folder else None)
