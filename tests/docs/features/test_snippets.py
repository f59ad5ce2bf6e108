"""Every snippet that is listed as run is run by a test."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from tests.docs.features.project import (
    FOUND,
    SETTINGS,
)
from tests.docs.places import RUN


def test_the_snippets_of_these_modules_are_those_of_the_list() -> None:
    # Each module records the snippets that it runs.
    for path in Path(__file__).parent.glob("test_*.py"):
        import_module(f"{__package__}.{path.stem}")
    listed = {place: count for place, count in RUN["features"].items() if place.language == "python"}
    # Another module runs it, too.
    listed |= {place: count for place, count in RUN["test_first_steps"].items() if place[:2] == SETTINGS}
    assert {(place, number) for place, count in listed.items() for number in range(count)} == FOUND
