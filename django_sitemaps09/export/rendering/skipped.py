"""Items and elements of a section that were skipped."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from django_sitemaps09.entries import ItemError

logger = logging.getLogger(__name__)

# All are counted, but a section in which every item fails must not fill a report.
_NAMED_ERRORS = 1_000


@dataclass(slots=True)
class SkippedItems:
    """Skipped items and elements, each counted once although splitting a page reads rows twice."""

    section: str
    left_out: int = 0
    named: list[ItemError] = field(default_factory=list)
    before: frozenset[ItemError] = frozenset()

    def add(self, errors: tuple[ItemError, ...]) -> None:
        # Rows that are read twice are read again for the very next page.
        known, self.before = self.before, frozenset(errors)
        for error in dict.fromkeys(errors):
            if error in known:
                continue
            self.left_out += 1
            if len(self.named) < _NAMED_ERRORS:
                self.named.append(error)
                logger.warning("Section %r: left out: %s", self.section, error)
