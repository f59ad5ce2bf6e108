"""Adapt the S3 storage of django-storages to names such as `sitemap-a-1.xml.gz`.

For such a name, the storage sets `Content-Encoding: gzip`. A crawler would then get XML from the URL of a
gzip file. Only a copy of the project's storage is adapted. Neither django-storages nor boto3 is imported
here: if a storage uses them, both are already imported.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from django.core.files.storage import Storage

from django_sitemaps09.stores.store import STATE

# Maximum size, in bytes, of an object that is read into memory. Larger objects are read into a temporary
# file. By default, django-storages reads all objects into memory.
_IN_MEMORY = 1_000_000


def is_s3(storage: Storage) -> bool:
    module = sys.modules.get("storages.backends.s3")
    return module is not None and isinstance(storage, module.S3Storage)


def adapt(storage: Any, content_type: Callable[[str], str]) -> Any:
    """Return a copy of a storage that sets media types by `content_type`, and does not compress."""
    adapted_storage = copy.copy(storage)
    adapted_storage.get_object_parameters = partial(_parameters, storage, content_type)
    adapted_storage.default_acl = None
    adapted_storage.gzip = False
    adapted_storage.max_memory_size = storage.max_memory_size or _IN_MEMORY
    return adapted_storage


def _parameters(storage: Any, content_type: Callable[[str], str], name: str) -> dict[str, Any]:
    """Return the project's parameters for an object. Change the media type, and remove the encoding."""
    parameters: dict[str, Any] = dict(storage.get_object_parameters(name))
    parameters.pop("ContentEncoding", None)
    parameters["ContentType"] = content_type(name)
    if storage.default_acl:
        parameters.setdefault("ACL", storage.default_acl)
    if STATE in name.split("/"):
        # The state is private, even if the published files are public.
        parameters.pop("ACL", None)
    return parameters


def copy_object(storage: Any, source: str, name: str) -> None:
    """Copy an object inside the bucket without a download. Replace an existing object.

    Raise `FileNotFoundError` if the source does not exist.
    """
    key = _key(storage, name)
    parameters = {**storage.get_object_parameters(key), "MetadataDirective": "REPLACE"}
    try:
        storage.bucket.Object(key).copy(
            {"Bucket": storage.bucket_name, "Key": _key(storage, source)},
            ExtraArgs=parameters,
            Config=storage.transfer_config,
        )
    except storage.connection.meta.client.exceptions.ClientError as error:
        if error.response["ResponseMetadata"]["HTTPStatusCode"] == 404:
            raise FileNotFoundError(source) from error
        raise


def delete_below(storage: Any, folder: str) -> None:
    """Delete all objects in a folder. Each request deletes up to a thousand objects."""
    responses = storage.bucket.objects.filter(Prefix=f"{_key(storage, folder)}/").delete()
    errors = [error for response in responses for error in response.get("Errors", ())]
    if errors:
        raise OSError(f"{errors[0].get('Key')}: {errors[0].get('Message')}")


def _key(storage: Any, name: str) -> str:
    """Return the key of an object. The storage has no public method for this."""
    key: str = storage._normalize_name(name)  # noqa: SLF001
    return key
