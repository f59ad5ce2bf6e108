"""Times and priorities: every reader understands the written values."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest
from django.test import override_settings
from hypothesis import example, given, strategies as st

from django_sitemaps09.protocol import w3c

UTC = timezone.utc
#: The format that both the W3C note and the XSD allow.
W3C = re.compile(r"\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}:\d{2}(Z|[+-]\d{2}:\d{2}))?")

ZONES: list[tzinfo] = [
    UTC,
    *map(
        ZoneInfo,
        # Zones with summer time, half and quarter hours, the largest offsets, and seconds in the past.
        (
            "Europe/Zurich",
            "America/St_Johns",
            "Asia/Kathmandu",
            "Pacific/Kiritimati",
            "Pacific/Pago_Pago",
            "Africa/Monrovia",
        ),
    ),
    timezone(timedelta(hours=-23, minutes=-59, seconds=-59)),
    timezone(timedelta(hours=5, minutes=30, seconds=1, microseconds=7)),
]

zones = st.sampled_from(ZONES)

#: No offset from UTC is a whole day.
moments = st.datetimes(
    datetime.min + timedelta(days=1),
    datetime.max - timedelta(days=1),
    timezones=st.none() | zones,
    allow_imaginary=True,
)


def instant(value: date, zone: tzinfo) -> datetime:
    """Return the point in time that a text means, in whole seconds.

    For a date, return the start of the day.
    """
    if not isinstance(value, datetime):
        return datetime.combine(value, time.min, UTC)
    aware = value if value.tzinfo else value.replace(tzinfo=zone)
    return aware.astimezone(UTC).replace(microsecond=0)


@given(value=moments | st.dates(), zone=zones)
@example(value=datetime(987, 6, 5, 4, 3, 2, 1), zone=UTC)
@example(value=date.min, zone=UTC)
@example(value=date.max, zone=UTC)
def test_a_lastmod_is_in_the_form_that_the_note_and_the_schema_share(value: date, zone: tzinfo) -> None:
    assert W3C.fullmatch(w3c(value, zone))


@given(value=moments, zone=zones)
def test_a_datetime_is_the_same_point_in_time_in_utc_and_whole_seconds(
    value: datetime, zone: tzinfo
) -> None:
    text = w3c(value, zone)
    assert text.endswith("Z")
    # Python 3.10 does not parse `Z`.
    assert datetime.fromisoformat(text.replace("Z", "+00:00")) == instant(value, zone)


@given(value=st.dates(), zone=zones)
def test_a_date_is_the_same_in_every_zone(value: date, zone: tzinfo) -> None:
    assert date.fromisoformat(w3c(value, zone)) == value


@given(values=st.lists(moments | st.dates(), min_size=2, max_size=6), zone=zones)
def test_texts_sort_as_the_times_they_stand_for(values: list[date], zone: tzinfo) -> None:
    for one in values:
        for other in values:
            if instant(one, zone) < instant(other, zone):
                assert w3c(one, zone) < w3c(other, zone)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (date(2026, 1, 31), "2026-01-31"),
        (date(7, 1, 1), "0007-01-01"),
        (datetime(2026, 1, 31, 10, 30), "2026-01-31T09:30:00Z"),
        (datetime(2026, 7, 31, 10, 30), "2026-07-31T08:30:00Z"),
        (datetime(2026, 1, 31, 10, 30, 59, 999_999, UTC), "2026-01-31T10:30:59Z"),
        (datetime(2026, 1, 1, 0, 30, tzinfo=timezone(timedelta(hours=1))), "2025-12-31T23:30:00Z"),
        (datetime(2026, 10, 25, 2, 30, fold=0), "2026-10-25T00:30:00Z"),
        (datetime(2026, 10, 25, 2, 30, fold=1), "2026-10-25T01:30:00Z"),
        (datetime(7, 1, 1, 12, tzinfo=UTC), "0007-01-01T12:00:00Z"),
    ],
)
def test_a_naive_time_is_taken_in_the_given_zone_and_no_other_one(value: date, text: str) -> None:
    with override_settings(TIME_ZONE="Asia/Tokyo"):
        assert w3c(value, ZoneInfo("Europe/Zurich")) == text


@pytest.mark.parametrize("value", [datetime.min, datetime.max])
def test_a_time_that_utc_cannot_hold_overflows(value: datetime) -> None:
    offset = timedelta(hours=1 if value == datetime.min else -1)
    with pytest.raises(OverflowError):
        w3c(value, timezone(offset))
