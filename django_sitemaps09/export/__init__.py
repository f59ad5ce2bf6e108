"""Export sitemaps to files: stage the pages of every section, then publish them, the index last."""

from __future__ import annotations

from django_sitemaps09.export.exports import export, export_hosts
from django_sitemaps09.export.report import Published, Report, SectionReport, UrlChange
from django_sitemaps09.export.verification import DamagedFile, Verification, verify, verify_hosts
from django_sitemaps09.target.manifest import PageFile

__all__ = [
    "DamagedFile",
    "PageFile",
    "Published",
    "Report",
    "SectionReport",
    "UrlChange",
    "Verification",
    "export",
    "export_hosts",
    "verify",
    "verify_hosts",
]
