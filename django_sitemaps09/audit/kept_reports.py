"""Save the report of the last audit beside the manifest of the export."""

from __future__ import annotations

import json
import logging
from pathlib import Path

from django_sitemaps09 import manifest, protocol, stores
from django_sitemaps09.audit.report import AuditReport, from_dict
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import reason_of
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.stores import Store, host_folder

logger = logging.getLogger(__name__)

#: The file beside the manifest that has the last report.
FILE = "audit.json"
_MAX_FILE_BYTES = 10_000_000


def last_report(*, directory: Path | str | None = None, base_url: str | None = None) -> AuditReport | None:
    """Return the report of the last audit; `None` if it is missing or cannot be read.

    `directory` is the folder of the export; the default is the target in the settings. With exports for
    several hosts, `base_url` selects the host.
    """
    try:
        state = _state(directory, base_url)
        content = None if state is None else state.read(FILE, _MAX_FILE_BYTES)
        return None if content is None else from_dict(json.loads(content))
    except (*manifest.PARSE_ERRORS, ExportError, OSError) as error:
        logger.warning("The report of the last audit cannot be read: %s", reason_of(error))
        return None


def _state(directory: Path | str | None, base_url: str | None) -> Store | None:
    """Return the store with the manifest of the export, or `None` if there is no export."""
    if directory is None and conf.storage is None and conf.root is None:
        return None
    output = None if directory is None else Path(directory)
    base = conf.base_url if base_url is None else protocol.parse_base(base_url)
    # An export for several hosts has a folder for each of them.
    for folder in ("", *([] if base is None else [host_folder(base)])):
        state = stores.state_store(stores.target_store(output, folder), folder)
        if manifest.ROOT in state.names():
            return state
    return None


def save_report(report: AuditReport, directory: Path | str | None, base_url: str | None) -> None:
    """Write the report beside the manifest. If it cannot be written, only log a warning."""
    try:
        if (state := _state(directory, base_url)) is not None:
            state.write(FILE, json.dumps(report.as_dict()).encode())
    except (ExportError, OSError, ValueError) as error:
        logger.warning("The report of the audit cannot be saved: %s", reason_of(error))
