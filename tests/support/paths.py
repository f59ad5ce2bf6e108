"""Paths of the checkout, for tests that start Python processes or read files of the project."""

from __future__ import annotations

from pathlib import Path

#: The checkout, which contains `tests` and `django_sitemaps09`.
ROOT = Path(__file__).parents[2]
