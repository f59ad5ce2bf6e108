"""What was left out of a section."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from django_sitemaps09.entries import ItemError

logger = logging.getLogger(__name__)

# A section in which every item fails must not fill a report; all are counted.
_NAMED_ERRORS = 1_000


@dataclass(slots=True)
class LeftOut:
    """Items and elements, each once: a page that is cut reads some rows twice."""

    section: str
    left_out: int = 0
    named: list[ItemError] = field(default_factory=list)
    before: frozenset[ItemError] = frozenset()

    def add(self, errors: tuple[ItemError, ...]) -> None:
        # What is read twice is read again for the very next page.
        known, self.before = self.before, frozenset(errors)
        for error in dict.fromkeys(errors):
            if error in known:
                continue
            self.left_out += 1
            if len(self.named) < _NAMED_ERRORS:
                self.named.append(error)
                logger.warning("Section %r: left out: %s", self.section, error)
