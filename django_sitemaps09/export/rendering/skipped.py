"""Items and elements of a section that were skipped."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from django_sitemaps09.entries import ItemError

logger = logging.getLogger(__name__)

# All errors are counted, but a section in which every item fails must not fill the report.
_NAMED_ERRORS = 1_000


@dataclass(slots=True)
class SkippedItems:
    """Skipped items and elements of a section, each counted once even if its row is read twice."""

    section: str
    count: int = 0
    listed_errors: list[ItemError] = field(default_factory=list)
    previous_errors: frozenset[ItemError] = frozenset()

    def add(self, errors: tuple[ItemError, ...]) -> None:
        # Splitting a page reads rows twice, for two consecutive pages.
        repeated_errors, self.previous_errors = self.previous_errors, frozenset(errors)
        for error in dict.fromkeys(errors):
            if error in repeated_errors:
                continue
            self.count += 1
            if len(self.listed_errors) < _NAMED_ERRORS:
                self.listed_errors.append(error)
                logger.warning("Section %r: skipped %s", self.section, error)
