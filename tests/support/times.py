"""Times that a database writes as text, and what Python would make of them."""

from __future__ import annotations

from datetime import timezone

import pytest

UTC = timezone.utc
on_sqlite = pytest.mark.django_db(databases=["default"])
