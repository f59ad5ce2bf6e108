"""Find declarations that can replace a section's methods, and prove on its rows that they are equal."""

from __future__ import annotations

from django_sitemaps09.suggestions.section_proof import SAMPLE
from django_sitemaps09.suggestions.section_suggestions import Suggestion, suggest

__all__ = ["SAMPLE", "Suggestion", "suggest"]
