"""Save the report of the last audit beside the manifest of the export."""

from __future__ import annotations

import json
import logging
from pathlib import Path

from django_sitemaps09 import manifest, protocol, published
from django_sitemaps09.audit.report import AuditReport, from_dict
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import reason_of
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.protocol import Base

logger = logging.getLogger(__name__)

#: The file beside the manifest that has the last report.
FILE = "audit.json"
_MAX_FILE_BYTES = 10_000_000


def last_report(*, directory: Path | str | None = None, base_url: str | None = None) -> AuditReport | None:
    """Return the report of the last audit of a host; `None` if it is missing or cannot be read.

    `directory` is the folder of the export; the default is the target in the settings. `base_url` selects
    the host. The default is the setting `BASE_URL`. Without an export for it, the host is that of the
    export in `directory`.
    """
    output = None if directory is None else Path(directory)
    try:
        base = conf.base_url if base_url is None else protocol.parse_base(base_url)
        export = published.find_files(base, output)
        if export is None and output is not None and base_url is None:
            export = published.find_files(None, output)
        content = None if export is None else export.folder.state.read(FILE, _MAX_FILE_BYTES)
        return None if content is None else from_dict(json.loads(content))
    except (*manifest.PARSE_ERRORS, ExportError, OSError) as error:
        logger.warning("The report of the last audit cannot be read: %s", reason_of(error))
        return None


def save_report(report: AuditReport, base: Base, directory: Path | str | None) -> None:
    """Write the report beside the manifest of the host's export, if there is one.

    If it cannot be written, only log a warning.
    """
    try:
        export = published.find_files(base, None if directory is None else Path(directory))
        if export is not None:
            export.folder.state.write(FILE, json.dumps(report.as_dict()).encode())
    except (ExportError, OSError, ValueError) as error:
        logger.warning("The report of the audit cannot be saved: %s", reason_of(error))
