"""Tell search engines what an export has changed: IndexNow, and the ping of the Sitemaps protocol."""

from __future__ import annotations

from django_sitemaps09.export.notify.search_engines import EndpointReport, Submission, generate_key
from django_sitemaps09.export.notify.submission import submit, submit_hosts

__all__ = ["EndpointReport", "Submission", "generate_key", "submit", "submit_hosts"]
