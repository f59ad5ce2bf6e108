"""Files in a storage without local paths. The storage must replace whole files under the same name."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from io import BytesIO
from secrets import token_hex
from tempfile import TemporaryFile
from typing import IO, Any, BinaryIO, cast

from django.core.files import File
from django.core.files.storage import Storage, storages

from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.protocol.fields import reason_of
from django_sitemaps09.protocol.filenames import content_type
from django_sitemaps09.target.local import STATE, DamagedError, check_name, is_valid_name

_PROBE = "probe-"
# Attributes of storages in django-storages that identify a location. They contain no credentials.
_PLACE = ("endpoint_url", "account_name", "host", "bucket_name", "azure_container", "root_path", "location")
# Maximum size, in bytes, of an object that is read into memory, and not into a temporary file. By default,
# django-storages reads all objects into memory.
_IN_MEMORY = 1_000_000


@dataclass(frozen=True)
class RemoteStore:
    """A store in a storage from `STORAGES`, or in a folder in it. Methods are those of `LocalStore`.

    They raise `ExportError` if the storage fails.
    """

    alias: str
    folder: str = ""

    def __reduce__(self) -> tuple[type[RemoteStore], tuple[str, str]]:
        # Pickle only the names: a worker creates a storage with new connections.
        return RemoteStore, (self.alias, self.folder)

    @property
    def label(self) -> str:
        return f"storage {self.alias!r}" if not self.folder else f"{self.folder} in storage {self.alias!r}"

    @property
    def identity(self) -> str:
        attributes = {name: getattr(self._storage, name, None) for name in _PLACE}
        identifiers = {name: str(value) for name, value in attributes.items() if value}
        if identifiers.keys() <= {"location"}:
            # A location alone is not unique: several machines and storages can have the same location.
            identifiers = {"alias": self.alias}
        return repr((identifiers, self.folder))

    @cached_property
    def _storage(self) -> Storage:
        storage = storages[self.alias]
        return _adapt(storage) if _is_s3(storage) else storage

    def read(self, name: str, max_bytes: int) -> bytes | None:
        if (file := self.open(name)) is None:
            return None
        with self._convert_errors(name), file:
            # Check the size first, because reading a part of a file would download the whole file.
            if cast("File[bytes]", file).size > max_bytes:
                raise DamagedError(f"{name} in {self.label} is larger than {max_bytes:,} bytes.")
            return file.read()

    def open(self, name: str) -> BinaryIO | None:
        full = self._full(name)
        with self._convert_errors(name):
            try:
                # exists() first, because on some storages open() succeeds and read() raises another error.
                return cast(BinaryIO, self._storage.open(full)) if self._storage.exists(full) else None
            except FileNotFoundError:
                return None

    def write(self, name: str, content: bytes) -> None:
        self._save(name, BytesIO(content))

    @contextmanager
    def staged(self, name: str) -> Iterator[BinaryIO]:
        check_name(name)
        # A file without a name, so nothing remains if this process is killed.
        with TemporaryFile() as file:
            yield file
            file.seek(0)
            self._save(name, file)

    def promote(self, staged: str, name: str) -> None:
        if _is_s3(self._storage):
            with self._convert_errors(name):
                _copy_object(self._storage, self._full(staged), self._full(name))
            return
        if (file := self.open(staged)) is None:
            raise FileNotFoundError(staged)
        with file:
            self._save(name, file)

    def sync(self) -> None:
        """Do nothing. The content is durable when the storage responds."""

    def delete(self, name: str) -> None:
        full = self._full(name)
        with self._convert_errors(name), suppress(FileNotFoundError):
            self._storage.delete(full)

    def delete_folder(self, name: str) -> None:
        full = self._full(name)
        if _is_s3(self._storage):
            with self._convert_errors(name):
                _delete_below(self._storage, full)
            return
        for file in self.names(name):
            self.delete(f"{name}/{file}")
        for folder in self.folders(name):
            self.delete_folder(f"{name}/{folder}")
        parent, _, folder_name = name.rpartition("/")
        # Storages without real folders do not list an empty folder. Other users' files remain in others.
        if folder_name in self.folders(parent) and not any(map(any, self._list(name))):
            self.delete(name)

    def names(self, folder: str = "") -> dict[str, int | None]:
        return dict.fromkeys(filter(is_valid_name, self._list(folder)[1]))

    def folders(self, folder: str = "") -> list[str]:
        return sorted(filter(is_valid_name, self._list(folder)[0]))

    def is_blocked(self, name: str) -> bool:
        check_name(name)
        # A folder is only a prefix of file names.
        return False

    def check(self) -> None:
        name = f"{self._own}{_PROBE}{token_hex(8)}.txt"
        try:
            for content in (b"the first, longer content", b"the second content"):
                self.write(name, content)
            if self.read(name, 1_000) != content:
                raise self._does_not_replace("does not return the content that was saved last")
        finally:
            self.delete(name)

    def clean(self) -> None:
        for name in self.names(self._own.rstrip("/")):
            if name.startswith(_PROBE):
                self.delete(f"{self._own}{name}")

    @property
    def _own(self) -> str:
        return "" if self.folder else f"{STATE}/"

    def _full(self, name: str) -> str:
        return f"{self.folder}/{check_name(name)}" if self.folder else check_name(name)

    def _list(self, folder: str) -> tuple[list[str], list[str]]:
        full = self._full(folder) if folder else self.folder
        with self._convert_errors(folder):
            try:
                return self._storage.listdir(full)
            except FileNotFoundError:
                return [], []

    def _save(self, name: str, content: IO[bytes]) -> None:
        """Save a file under exactly this name, or raise `ExportError`."""
        full = self._full(name)
        file: Any = File(content, full)
        # Several storages read the media type from this attribute.
        file.content_type = content_type(full)
        with self._convert_errors(name):
            saved_name = self._storage.save(full, file)
            if saved_name != full:
                self._storage.delete(saved_name)
                raise self._does_not_replace(f"saved {full!r} as {saved_name!r}")

    def _does_not_replace(self, problem: str) -> ExportError:
        return ExportError(
            f"The storage {self.alias!r} {problem}, but an export must replace whole files under the same "
            "name. Let it overwrite files (file_overwrite for S3 in django-storages, allow_overwrite or "
            "similar for others). Or set SITEMAPS09['STORAGE'] to another alias, or set "
            "SITEMAPS09['ROOT'] to a directory and copy the files from there."
        )

    @contextmanager
    def _convert_errors(self, name: str) -> Iterator[None]:
        """Convert the errors of any storage backend to `ExportError`."""
        try:
            yield
        except (ExportError, FileNotFoundError):
            raise
        except Exception as error:
            place = f"{name!r} in {self.label}" if name else self.label
            raise ExportError(f"Access to {place} failed: {reason_of(error)}") from error


def _is_s3(storage: Storage) -> bool:
    # If a storage uses django-storages and boto3, both are already imported.
    module = sys.modules.get("storages.backends.s3")
    return module is not None and isinstance(storage, module.S3Storage)


def _adapt(storage: Any) -> Any:
    """Return a copy of the S3 storage of django-storages, which does not encode `.xml.gz` files.

    The storage sets `Content-Encoding: gzip`, so a crawler would get XML from the URL of a gzip file.
    """
    adapted_storage = copy.copy(storage)
    adapted_storage.get_object_parameters = partial(_parameters, storage)
    adapted_storage.default_acl = None
    adapted_storage.gzip = False
    adapted_storage.max_memory_size = storage.max_memory_size or _IN_MEMORY
    return adapted_storage


def _parameters(storage: Any, name: str) -> dict[str, Any]:
    """Return the project's parameters for an object, with our media type, and without an encoding."""
    parameters: dict[str, Any] = dict(storage.get_object_parameters(name))
    parameters.pop("ContentEncoding", None)
    parameters["ContentType"] = content_type(name)
    if storage.default_acl:
        parameters.setdefault("ACL", storage.default_acl)
    if STATE in name.split("/"):
        # The state is private, even if the published files are public.
        parameters.pop("ACL", None)
    return parameters


def _copy_object(storage: Any, source: str, name: str) -> None:
    """Copy an object in the bucket without a download. Raise `FileNotFoundError` without a source."""
    key = _s3_key(storage, name)
    parameters = {**storage.get_object_parameters(key), "MetadataDirective": "REPLACE"}
    try:
        storage.bucket.Object(key).copy(
            {"Bucket": storage.bucket_name, "Key": _s3_key(storage, source)},
            ExtraArgs=parameters,
            Config=storage.transfer_config,
        )
    except storage.connection.meta.client.exceptions.ClientError as error:
        if error.response["ResponseMetadata"]["HTTPStatusCode"] == 404:
            raise FileNotFoundError(source) from error
        raise


def _delete_below(storage: Any, folder: str) -> None:
    """Delete all objects in a folder, up to a thousand in each request."""
    responses = storage.bucket.objects.filter(Prefix=f"{_s3_key(storage, folder)}/").delete()
    errors = [error for response in responses for error in response.get("Errors", ())]
    if errors:
        raise OSError(f"{errors[0].get('Key')}: {errors[0].get('Message')}")


def _s3_key(storage: Any, name: str) -> str:
    # The storage has no public method for this.
    key: str = storage._normalize_name(name)  # noqa: SLF001
    return key
