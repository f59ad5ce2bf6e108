"""Fixtures of the tests in this folder."""

from __future__ import annotations

import pytest

from tests.support.inspector import site
from tests.support.sources import kind

__all__ = ["admin_site", "kind", "plain_site"]


@pytest.fixture
def admin_site():
    """Settings with the inspector in Django's admin."""
    with site(admin=True):
        yield


@pytest.fixture
def plain_site():
    """Settings with the inspector, without Django's admin."""
    with site(admin=False):
        yield
