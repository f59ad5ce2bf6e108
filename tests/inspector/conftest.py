"""Fixtures of the tests in this folder."""

from __future__ import annotations

import pytest

from tests.support.inspector import client_of, site, superuser
from tests.support.sources import kind

__all__ = ["kind", "staff"]


@pytest.fixture(params=["admin", "plain"])
def staff(request):
    """A client that may use the inspector in the admin or without it, and the path of the inspector."""
    with site(admin=request.param == "admin"):
        if request.param == "admin":
            yield superuser(), "/admin/sitemaps/"
        else:
            yield client_of("ann", "shop.view_product", is_staff=True), "/sitemaps/"
