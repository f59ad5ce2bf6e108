"""Cases of declarations that raise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.compat.cases.parts import BARE, Bases, Leaf, Sections, bare_section, case


@case
def failing_without_get_absolute_url(bases: Bases) -> Sections:
    class Section(bases.Sitemap):
        def items(self) -> list[str]:
            return ["no method here"]

    return {"one": Section}


@case
def failing_hook(bases: Bases) -> Sections:
    class Section(bare_section(bases)):
        def priority(self, item: Any) -> float:
            raise ZeroDivisionError("of the project")

    return {"one": Section}


@case
def failing_hook_with_an_attribute_error(bases: Bases) -> Sections:
    class Section(bare_section(bases)):
        def changefreq(self, item: Any) -> str:
            return str(item.frequency)

    return {"one": Section}


@case
def failing_items(bases: Bases) -> Sections:
    class Section(bases.Sitemap):
        def items(self) -> list[Any]:
            raise LookupError("of the project")

    return {"one": Section}


@case
def failing_constructor(bases: Bases) -> Sections:
    class Section(bare_section(bases)):
        def __init__(self, needed: str) -> None:
            self.needed = needed

    return {"one": Section}


@case
def failing_generator_of_items(bases: Bases) -> Sections:
    """A paginator needs a length."""

    class Section(bases.Sitemap):
        def items(self) -> Iterator[Leaf]:
            yield from BARE

    return {"one": Section}
