"""Cases of declarations that raise."""

from __future__ import annotations

from typing import Any

from tests.compat.cases.parts import BARE, Bases, Sections, case, section


@case
def failing_without_get_absolute_url(bases: Bases) -> Sections:
    return {"one": section(bases, ["no method here"])}


@case
def failing_hook(bases: Bases) -> Sections:
    return {"one": section(bases, BARE, location=lambda self, item: 1 / 0)}


@case
def failing_hook_with_an_attribute_error(bases: Bases) -> Sections:
    return {"one": section(bases, BARE, location=lambda self, item: str(item.path))}


@case
def failing_items(bases: Bases) -> Sections:
    class Section(bases.Sitemap):
        def items(self) -> list[Any]:
            raise LookupError("of the project")

    return {"one": Section}


@case
def failing_constructor(bases: Bases) -> Sections:
    return {"one": section(bases, BARE, __init__=lambda self, needed: None)}
