"""The old name of `tests.support.schemas`, for tests of the documentation."""

from __future__ import annotations

from tests.support.schemas import Schemas, schemas

__all__ = ["Schemas", "schemas"]
