"""Helpers of several test modules."""

from __future__ import annotations

import pytest

from django_sitemaps09.export import memory

needs_resource = pytest.mark.skipif(memory.resource is None, reason="this system does not tell")
