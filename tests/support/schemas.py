"""XML schemas for the protocol and its extensions.

Our own schemas are in `tests/schemas/`. If `shared/schemas/` beside the checkout contains others, a
document must be valid in both.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from lxml import etree

OWN = Path(__file__).parents[1] / "schemas" / "all.xsd"
#: Third-party schemas, which are not part of the project.
SHARED = Path(__file__).parents[3] / "shared" / "schemas" / "all.xsd"


class Schemas:
    """Schemas that must agree on a document."""

    def __init__(self, *files):
        self.each = [etree.XMLSchema(etree.parse(file)) for file in files]

    def assertValid(self, document):
        for schema in self.each:
            schema.assertValid(document)

    def validate(self, document):
        """Return whether the document is valid; fail if the schemas disagree."""
        answers = {schema.validate(document) for schema in self.each}
        assert len(answers) == 1, [str(schema.error_log) for schema in self.each]
        return answers.pop()


@cache
def schemas():
    return Schemas(*(file for file in (OWN, SHARED) if file.exists()))


@pytest.fixture(scope="session")
def schema():
    return schemas()
