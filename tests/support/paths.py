"""Paths of the checkout, for tests that start Python processes or read files of the project."""

from __future__ import annotations

from pathlib import Path

#: The checkout: it has `tests` and `django_sitemaps09` in it.
ROOT = Path(__file__).parents[2]
