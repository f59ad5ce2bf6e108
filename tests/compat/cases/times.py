"""Cases of `lastmod`, and of the newest time of a section."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from tests.compat.cases.parts import (
    BARE,
    EARLY,
    LATE,
    MIDDLE,
    UTC,
    Bases,
    Sections,
    case,
    constant,
    section,
    timed,
)


@case
def times_as_dates(bases: Bases) -> Sections:
    return {
        "method": timed(bases, date(2025, 3, 13), date(2024, 12, 31)),
        "attribute": constant(bases, date(2026, 5, 6)),
    }


@case
def times_with_zones(bases: Bases) -> Sections:
    return {"method": timed(bases, EARLY, LATE, MIDDLE), "attribute": constant(bases, MIDDLE)}


@case
def times_at_midnight_and_with_microseconds(bases: Bases) -> Sections:
    return {
        "midnight": timed(bases, datetime(2026, 1, 1, tzinfo=UTC)),
        "micro": timed(bases, datetime(2026, 1, 1, 23, 59, 59, 999999, tzinfo=UTC)),
    }


@case
def times_mixed_across_sections_ascending(bases: Bases) -> Sections:
    return {
        "date": constant(bases, date(2024, 1, 1)),
        "early": timed(bases, EARLY),
        "late": timed(bases, LATE),
    }


@case
def times_mixed_across_sections_descending(bases: Bases) -> Sections:
    return {
        "late": constant(bases, LATE),
        "early": constant(bases, EARLY),
        "date": timed(bases, date(2024, 1, 1)),
    }


@case
def times_with_a_date_after_all_datetimes(bases: Bases) -> Sections:
    return {"late": constant(bases, LATE), "date": timed(bases, date(2026, 1, 3))}


@case
def times_missing_on_one_item(bases: Bases) -> Sections:
    return {
        "first": timed(bases, None, EARLY, LATE),
        "last": timed(bases, EARLY, LATE, None),
        "middle": timed(bases, date(2024, 1, 1), None, date(2025, 1, 1)),
    }


@case
def times_missing_on_the_first_section(bases: Bases) -> Sections:
    return {"without": timed(bases, None), "with": timed(bases, EARLY)}


@case
def times_missing_on_the_last_section(bases: Bases) -> Sections:
    return {"with": timed(bases, EARLY), "without": constant(bases, None)}


@case
def times_of_which_one_section_has_no_items(bases: Bases) -> Sections:
    return {"with": timed(bases, EARLY), "empty": timed(bases)}


@case
def newest_time_by_a_method(bases: Bases) -> Sections:
    return {
        "time": told(timed(bases, EARLY, None), LATE),
        "date": told(timed(bases, EARLY), date(2023, 1, 1)),
    }


@case
def newest_time_denied_by_a_method(bases: Bases) -> Sections:
    return {"one": told(timed(bases, EARLY), None, limit=1), "other": timed(bases, EARLY)}


def told(base: Any, newest: Any, **attributes: Any) -> Any:
    """Return a section that says what its newest time is."""
    return type("Told", (base,), {"get_latest_lastmod": lambda self: newest, **attributes})


@case
def newest_time_as_a_class_attribute(bases: Bases) -> Sections:
    return {"one": section(bases, BARE, latest_lastmod=MIDDLE)}
