"""Read declarations that can replace a section's methods, and compare them with the methods on its rows."""

from __future__ import annotations

from django_sitemaps09.tools.suggestions.section_suggestions import Comparison, Suggestion, compare, suggest

__all__ = ["Comparison", "Suggestion", "compare", "suggest"]
