"""What django-storages does otherwise than we need with names such as `sitemap-a-1.xml.gz` on S3.

It guesses `Content-Encoding: gzip` from such a name, with which a crawler gets XML under a name that
says gzip. All is done on a copy of the project's storage, which is left as it was declared. Neither
django-storages nor boto3 is imported: where a storage is of theirs, both are.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from django.core.files.storage import Storage

from django_sitemaps09.stores.store import STATE

# Of an object that is read; more goes to a temporary file, where django-storages would keep all.
_IN_MEMORY = 1_000_000


def is_s3(storage: Storage) -> bool:
    module = sys.modules.get("storages.backends.s3")
    return module is not None and isinstance(storage, module.S3Storage)


def adapted(storage: Any, content_type: Callable[[str], str]) -> Any:
    """The same bucket, keys and parameters, but with our types and without another compression."""
    ours = copy.copy(storage)
    ours.get_object_parameters = partial(_parameters, storage, content_type)
    ours.default_acl = None
    ours.gzip = False
    ours.max_memory_size = storage.max_memory_size or _IN_MEMORY
    return ours


def _parameters(storage: Any, content_type: Callable[[str], str], name: str) -> dict[str, Any]:
    """What the project declares for an object, but for the type, which is ours to know."""
    parameters: dict[str, Any] = dict(storage.get_object_parameters(name))
    parameters.pop("ContentEncoding", None)
    parameters["ContentType"] = content_type(name)
    if storage.default_acl:
        parameters.setdefault("ACL", storage.default_acl)
    if STATE in name.split("/"):
        # Not for the web, whatever the published files are.
        parameters.pop("ACL", None)
    return parameters


def copy_object(storage: Any, source: str, name: str) -> None:
    """One object over another inside the bucket; nothing passes through this machine.

    `FileNotFoundError` where the first is not there.
    """
    key = storage._normalize_name(name)
    parameters = {**storage.get_object_parameters(key), "MetadataDirective": "REPLACE"}
    try:
        storage.bucket.Object(key).copy(
            {"Bucket": storage.bucket_name, "Key": storage._normalize_name(source)},
            ExtraArgs=parameters,
            Config=storage.transfer_config,
        )
    except storage.connection.meta.client.exceptions.ClientError as error:
        if error.response["ResponseMetadata"]["HTTPStatusCode"] == 404:
            raise FileNotFoundError(source) from error
        raise


def delete_below(storage: Any, folder: str) -> None:
    """All objects of a folder, a thousand with each request."""
    answers = storage.bucket.objects.filter(Prefix=f"{storage._normalize_name(folder)}/").delete()
    refused = [error for answer in answers for error in answer.get("Errors", ())]
    if refused:
        raise OSError(f"{refused[0].get('Key')}: {refused[0].get('Message')}")
