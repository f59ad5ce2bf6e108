"""Helpers of several test modules."""

from __future__ import annotations

import pytest

from django_sitemaps09.export import report

needs_resource = pytest.mark.skipif(report.resource is None, reason="this system does not tell")
