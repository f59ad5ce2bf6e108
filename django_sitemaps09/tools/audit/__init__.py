"""Audit sitemaps: whether crawlers can read them, and whether their values are accurate."""

from __future__ import annotations

from django_sitemaps09.tools.audit.audits import AuditInterrupted, AuditReport, audit, last_report
from django_sitemaps09.tools.audit.rules import RULES, Finding, Rule

__all__ = ["RULES", "AuditInterrupted", "AuditReport", "Finding", "Rule", "audit", "last_report"]
