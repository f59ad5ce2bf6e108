"""The report of an audit: its JSON, the file beside the manifest, and baselines."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from django_sitemaps09 import protocol, published
from django_sitemaps09.audit.rules import RULES, Finding
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import reason_of
from django_sitemaps09.exceptions import AuditError, ExportError
from django_sitemaps09.protocol import Base
from django_sitemaps09.state import manifest

logger = logging.getLogger(__name__)

#: The file beside the manifest that has the last report.
FILE = "audit.json"
_MAX_FILE_BYTES = 10_000_000
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class AuditReport:
    """Result of an audit.

    `target` is the URL or the folder that was audited. `urls` and `documents` count what was read, `pages`
    the pages that were fetched. `findings` has each broken rule.
    """

    started: datetime
    seconds: float
    target: str
    urls: int
    documents: int
    pages: int
    findings: tuple[Finding, ...]

    @property
    def errors(self) -> int:
        """Return the number of errors that no baseline accepts."""
        return self._count("error")

    @property
    def warnings(self) -> int:
        """Return the number of warnings that no baseline accepts."""
        return self._count("warning")

    def _count(self, severity: str) -> int:
        return sum(
            finding.count
            for finding in self.findings
            if finding.severity == severity and not finding.is_accepted
        )

    def accepting(self, baseline: Mapping[str, int]) -> AuditReport:
        """Return the report with the counts that a baseline accepts."""
        findings = (replace(finding, accepted=baseline.get(finding.rule, 0)) for finding in self.findings)
        return replace(self, findings=tuple(findings))

    def baseline(self) -> dict[str, int]:
        """Return a baseline that accepts all findings of this report."""
        return {finding.rule: finding.count for finding in self.findings}

    def as_dict(self) -> dict[str, Any]:
        values = asdict(self)
        totals = {"errors": self.errors, "warnings": self.warnings}
        return {"format": _FORMAT, **values, "started": self.started.isoformat(), **totals}


def from_dict(values: Mapping[str, Any]) -> AuditReport:
    """Return the report from a result of `as_dict()`. Raise `ValueError` or another error if invalid."""
    if values["format"] != _FORMAT:
        raise ValueError("it was written by another version")
    started = datetime.fromisoformat(values["started"])
    if started.tzinfo is None:
        raise ValueError("its time has no offset")
    findings = tuple(
        Finding(
            str(finding["rule"]),
            "error" if finding["severity"] == "error" else "warning",
            int(finding["count"]),
            tuple(map(str, finding["examples"])),
            int(finding["accepted"]),
        )
        for finding in values["findings"]
    )
    seconds, target = float(values["seconds"]), str(values["target"])
    urls, documents, pages = (int(values[name]) for name in ("urls", "documents", "pages"))
    return AuditReport(started, seconds, target, urls, documents, pages, findings)


def parse_baseline(content: bytes, label: str) -> dict[str, int]:
    """Parse a baseline: a JSON object with a count for each rule. Raise `AuditError` if it is invalid."""
    try:
        counts = json.loads(content)
        if not isinstance(counts, dict) or not all(type(count) is int for count in counts.values()):
            raise ValueError("it must be a JSON object with a whole number for each rule")
        if unknown := sorted(counts.keys() - RULES.keys()):
            raise ValueError(f"there is no rule {unknown[0]!r:.100}")
    except (ValueError, RecursionError) as error:
        raise AuditError(f"{label} is not a baseline: {error}.") from error
    return counts


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
    """Write the report beside the manifest of the host's export, if any. A failure is only logged."""
    try:
        export = published.find_files(base, None if directory is None else Path(directory))
        if export is not None:
            export.folder.state.write(FILE, json.dumps(report.as_dict()).encode())
    except (ExportError, OSError, ValueError) as error:
        logger.warning("The report of the audit cannot be saved: %s", reason_of(error))
