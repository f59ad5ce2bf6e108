"""Tell search engines what an export has changed: IndexNow, and the ping of the Sitemaps protocol."""

from __future__ import annotations

from django_sitemaps09.export.notify.submission import generate_key, submit, submit_hosts
from django_sitemaps09.export.report import EndpointReport, Submission

__all__ = ["EndpointReport", "Submission", "generate_key", "submit", "submit_hosts"]
