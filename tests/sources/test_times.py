"""Times as text are the same as if Python had converted the values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime

import pytest
from hypothesis import example, given, strategies as st

from django_sitemaps09.entries import SafeColumn
from django_sitemaps09.protocol import w3c, w3c_texts
from tests.support.times import UTC

pytestmark = pytest.mark.usefixtures("small_slices")


# Without a database: columns of text


def strict(text: str, *, times: bool, zone: str = "") -> str | None:
    """Return the value of a text in exactly the expected form, `None` for any other text."""
    form = r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    if times:
        form += r" ([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]{1,6})?" + re.escape(zone)
    match = re.fullmatch(form, text)
    if match is None:
        return None
    try:
        if times:
            return f"{datetime(*map(int, match.groups())).isoformat('T', 'seconds')}Z"  # type: ignore[arg-type]
        return date(*map(int, match.groups())).isoformat()
    except ValueError:
        return None


def written(moment: datetime, zone: str) -> str:
    """Return a time as SQLite and PostgreSQL write it. PostgreSQL omits zeros at the end of a fraction."""
    text = moment.isoformat(" ")
    return (text.rstrip("0") if "." in text and zone else text) + zone


ZONES = ["", "+00"]

instants = st.datetimes(min_value=datetime(1, 1, 1)) | st.datetimes(min_value=datetime(1, 1, 1)).map(
    lambda moment: moment.replace(microsecond=0)
)

#: Two-digit numbers near all limits.
pairs = st.sampled_from(
    [0, 1, 2, 4, 11, 12, 13, 15, 19, 20, 23, 24, 28, 29, 30, 31, 32, 59, 60, 61, 63, 99]
)

years = st.sampled_from([0, 1, 4, 100, 400, 999, 1900, 2000, 2023, 2024, 2100, 9999])


@st.composite
def near_misses(draw: st.DrawFn, *, times: bool, zone: str) -> str:
    """Draw texts of the right form. Numbers may be out of range, and a character may be changed."""
    text = f"{draw(years):04}-{draw(pairs):02}-{draw(pairs):02}"
    if times:
        fraction = draw(st.sampled_from(["", "", ".5", ".123456", ".000000", ".1234567", "."]))
        text += f" {draw(pairs):02}:{draw(pairs):02}:{draw(pairs):02}{fraction}{zone}"
    if draw(st.booleans()):
        return text
    place = draw(st.integers(0, len(text)))
    into = draw(st.sampled_from([*"0123456789-:.,+ TZ\n\r\x0b\x1c\u2028x\u0663\u00b2\u00e9", ""]))
    return text[:place] + into + text[place + draw(st.integers(0, 1)) :]


def check(texts: Sequence[str | None], *, times: bool, zone: str = "") -> None:
    """Check that either all texts are converted correctly, or none."""
    wanted = [None if text is None else strict(text, times=times, zone=zone) for text in texts]
    found = w3c_texts(texts, times=times, zone=zone)
    good = all(new is not None for new, text in zip(wanted, texts, strict=True) if text is not None)
    assert (None if found is None else list(found)) == (wanted if good else None)
    assert not isinstance(found, SafeColumn) or None not in found


class TestAColumnOfTexts:
    @pytest.mark.parametrize("zone", ZONES)
    @given(values=st.lists(st.none() | instants))
    def test_of_times_is_what_w3c_makes_of_the_times(
        self, values: list[datetime | None], zone: str
    ) -> None:
        texts = [None if value is None else written(value, zone) for value in values]
        found = w3c_texts(texts, times=True, zone=zone)
        assert found is not None
        assert list(found) == [None if value is None else w3c(value, UTC) for value in values]

    @given(values=st.lists(st.none() | st.dates()))
    def test_of_dates_is_what_w3c_makes_of_the_dates(self, values: list[date | None]) -> None:
        found = w3c_texts([value and str(value) for value in values], times=False)
        assert found is not None
        assert list(found) == [value and w3c(value, UTC) for value in values]

    @pytest.mark.parametrize("zone", ZONES)
    @given(data=st.data())
    def test_of_times_is_not_a_column_if_one_is_not_a_time(self, zone: str, data: st.DataObject) -> None:
        odd = st.none() | instants.map(lambda moment: written(moment, zone))
        check(
            data.draw(st.lists(near_misses(times=True, zone=zone) | odd, max_size=3)), times=True, zone=zone
        )

    @given(texts=st.lists(st.none() | near_misses(times=False, zone="") | st.dates().map(str), max_size=3))
    @example(texts=["2026-01-31\n2026-01-30", "2026-01-3"])
    def test_of_dates_is_not_a_column_if_one_is_not_a_date(self, texts: list[str | None]) -> None:
        check(texts, times=False)

    @given(texts=st.lists(st.text(max_size=30), max_size=2), times=st.booleans())
    def test_of_anything_is_never_a_wrong_text(self, texts: list[str], times: bool) -> None:
        check(texts, times=times)

    @pytest.mark.parametrize("year", [1, 100, 400, 1900, 2024, 9999])
    def test_has_each_day_of_a_year_and_no_other_one(self, year: int) -> None:
        days = [f"{year:04}-{month:02}-{day:02}" for month in range(100) for day in range(100)]
        good = [day for day in days if strict(day, times=False)]
        assert len(good) in (365, 366)
        assert list(w3c_texts(good, times=False) or []) == good
        for bad in {*days} - {*good}:
            assert w3c_texts([bad], times=False) is None, bad

    def test_has_each_time_of_a_day_and_no_other_one(self) -> None:
        for place, most in enumerate((23, 59, 59)):
            for number in range(100):
                parts = ["00", "00", "00"]
                parts[place] = f"{number:02}"
                found = w3c_texts([f"2026-01-31 {':'.join(parts)}"], times=True)
                wanted = [f"2026-01-31T{':'.join(parts)}Z"] if number <= most else None
                assert (found and list(found)) == wanted

    @pytest.mark.parametrize(
        "text",
        [
            *("", " ", "garbage", "infinity", "-infinity", "2026-01-31", "2026-01-31 10:30:00"),
            *("2026-01-31T10:30:00+00", "2026-01-31 10:30:00Z", "2026-01-31 10:30+00"),
            *("2026-01-31 10:30:00 +00", "2026-01-31 10:30:00+00\n", "2026-01-31 10:30:00+00:00"),
            *("2026-01-31 10:30:00+0000", "2026-01-31 10:30:00-00", "2026-01-31 10:30:00+01"),
            *("2026-01-31 10:30:00+05", "2026-01-31 10:30:00.5+10", "2026-01-31 10:30:00+05:45"),
            *("2026-01-31 10:30:00-05", "0001-01-01 00:00:00+00 BC", "10000-01-01 00:00:00+00"),
            *("2026-01-31 10:30:00.+00", "2026-01-31 10:30:00.1234567+00", "2026-01-31 10:30.5:00+00"),
            *("2026-01.5-31 10:30:00+00", "2026-01-31 10:30:00+00.5", "2026-01-31 10:30:00,5+00"),
            *("31.01.2026 10:30:00 UTC", "01/31/2026 10:30:00 UTC", "\uff12026-01-31 10:30:00+00"),
            "2026-01-31 10:30:0\u0660+00",
        ],
    )
    def test_with_the_zone_of_postgresql_has_that_form_and_no_other_one(self, text: str) -> None:
        assert w3c_texts([text], times=True, zone="+00") is None
        assert w3c_texts(["2026-01-31 10:30:00+00", text], times=True, zone="+00") is None

    def test_without_a_text_is_what_it_was(self) -> None:
        assert w3c_texts([], times=True) == []
        assert w3c_texts((None, None), times=False) == (None, None)

    def test_is_known_to_be_plain_if_each_row_has_one(self) -> None:
        assert isinstance(w3c_texts(["2026-01-31"], times=False), SafeColumn)
        assert not isinstance(w3c_texts(["2026-01-31", None], times=False), SafeColumn)
