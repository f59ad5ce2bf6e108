"""The last audit, for the overview."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from importlib import import_module
from typing import Protocol

from django_sitemaps09.protocol import Base


class AuditFinding(Protocol):
    """Finding of an audit: how often a rule was violated, with the first places."""

    rule: str
    severity: str
    count: int
    examples: Sequence[object]


class AuditReport(Protocol):
    """Report of an audit of a sitemap."""

    started: datetime
    target: str
    urls: int
    documents: int
    findings: Sequence[AuditFinding]


def last_audit(base: Base) -> AuditReport | None:
    """Return the report of the last audit of a host, or `None` if there was none."""
    # TO JOIN AFTER THE MERGE of `django_sitemaps09.audit`: import `last_report` at the top of this module.
    try:
        audit = import_module("django_sitemaps09.audit")
    except ImportError:
        return None
    report: AuditReport | None = audit.last_report(base_url=str(base))
    return report
