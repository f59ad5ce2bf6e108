"""Formatting of an audit as text: a table of the broken rules, with examples."""

from __future__ import annotations

from collections.abc import Iterator

from django_sitemaps09.audit import RULES, AuditReport
from django_sitemaps09.export.report import pluralize

_ROW = "{:<22} {:<8} {:>10} {:>10}"


def lines(report: AuditReport, *, examples: int | None) -> Iterator[str]:
    """Yield the lines of a report, with at most `examples` examples of each rule; `None` shows all."""
    read = f"{pluralize(report.documents, 'document')} with {pluralize(report.urls, 'URL')}"
    fetched = f", {pluralize(report.pages, 'page')} fetched" if report.pages else ""
    yield f"{report.target}: read {read}{fetched} in {report.seconds:.2f} seconds"
    if not report.findings:
        yield "Nothing is wrong."
        return
    yield ""
    yield _ROW.format("rule", "severity", "count", "accepted")
    for finding in report.findings:
        yield _ROW.format(finding.rule, finding.severity, f"{finding.count:,}", f"{finding.accepted:,}")
    for finding in report.findings:
        if finding.is_accepted:
            continue
        yield ""
        yield f"{finding.rule}: {RULES[finding.rule].meaning} {RULES[finding.rule].fix}"
        for example in finding.examples[:examples]:
            yield f"  {example}"
