"""Times as text from a database, and their values in Python."""

from __future__ import annotations

from datetime import timezone

import pytest

UTC = timezone.utc
on_sqlite = pytest.mark.django_db(databases=["default"])
