"""Audit sitemaps: whether crawlers can read them, and whether their values are accurate."""

from __future__ import annotations

from django_sitemaps09.audit.api import audit
from django_sitemaps09.audit.findings import Finding
from django_sitemaps09.audit.kept_reports import last_report
from django_sitemaps09.audit.report import AuditReport
from django_sitemaps09.audit.rules import RULES, Rule

__all__ = ["RULES", "AuditReport", "Finding", "Rule", "audit", "last_report"]
