"""Fixtures of the tests of several hosts."""

from __future__ import annotations

import pytest

from tests.support.several_hosts import several_hosts, two_sites

__all__ = ["several_hosts", "two_sites"]


@pytest.fixture
def folder(folder):
    folder.mkdir()
    return folder
