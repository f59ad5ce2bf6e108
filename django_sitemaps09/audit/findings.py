"""Collect the findings of an audit in constant memory: a count and the first examples for each rule."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

from django_sitemaps09.audit.rules import RULES, Severity
from django_sitemaps09.entries import excerpt

#: Maximum number of examples for each rule.
MAX_EXAMPLES = 10
# Maximum length of an example in characters. A position and two URLs usually fit.
_MAX_EXAMPLE = 600


@dataclass(frozen=True, slots=True)
class Finding:
    """A broken rule: how often it is broken, and where it is broken first.

    An example has the form `document:line: text`. Control characters are escaped. `accepted` is the number
    that a baseline accepts.
    """

    rule: str
    severity: Severity
    count: int
    examples: tuple[str, ...]
    accepted: int = 0

    @property
    def is_accepted(self) -> bool:
        """Return whether the baseline accepts all occurrences."""
        return self.count <= self.accepted


class Findings:
    """Findings of one audit so far: the counts and the examples."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._examples: defaultdict[str, list[str]] = defaultdict(list)

    def add(self, rule: str, place: str, text: object = "", line: int = 0) -> None:
        """Count a finding. `place` is the document, and `text` the value with further details."""
        self._counts[rule] += 1
        examples = self._examples[rule]
        if len(examples) < MAX_EXAMPLES:
            position = f"{place}:{line}" if line else place
            content = excerpt(text, _MAX_EXAMPLE)
            examples.append(excerpt(f"{position}: {content}" if content else position, _MAX_EXAMPLE))

    def add_all(self, others: Findings) -> None:
        """Add the findings of others, whose examples follow these."""
        self._counts.update(others._counts)
        for rule, examples in others._examples.items():
            self._examples[rule] += examples[: MAX_EXAMPLES - len(self._examples[rule])]

    def result(self) -> tuple[Finding, ...]:
        """Return the broken rules in the order of `RULES`, errors first."""
        findings = [
            Finding(rule.id, rule.severity, self._counts[rule.id], tuple(self._examples[rule.id]))
            for rule in RULES.values()
            if self._counts[rule.id]
        ]
        return tuple(sorted(findings, key=lambda finding: finding.severity))
