"""Find the declarations by columns that are equal to a section's methods, and prove them on rows."""

from __future__ import annotations

from django_sitemaps09.suggestions.section_suggestions import SAMPLE, Suggestion, suggest

__all__ = ["SAMPLE", "Suggestion", "suggest"]
