"""Words of the protocol: priorities, change frequencies, language codes and times."""

from __future__ import annotations

import enum
import re
from datetime import date, datetime, time, timedelta, timezone
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from zoneinfo import ZoneInfo

import pytest
from django.conf import global_settings
from django.db.models import TextChoices
from django.test import override_settings
from django.utils.functional import lazystr
from django.utils.translation import override
from hypothesis import example, given, strategies as st

from django_sitemaps09.protocol import values
from django_sitemaps09.protocol.values import hreflang, news_language, priority_text, w3c_texts
from tests.support.internals import CHANGEFREQS, SafeColumn, w3c

numbers = st.floats(0, 1) | st.integers(0, 1) | st.decimals(0, 1, places=3)
numbers |= st.integers(0, 10**60).map(lambda digits: Decimal(digits).scaleb(-60, Context(prec=99)))


def in_message(code):
    """Return a code as it is written in messages, with any other type than a string."""
    return f"{code!r}" if code is None or isinstance(code, str) else f"{code!r} ({type(code).__name__})"


@given(numbers, st.integers(1, 5))
@example(5e-324, 1)
@example(1e-05, 1)
@example(-0.0, 1)
@example(Decimal("0E+5"), 1)
@example(Decimal("1E-7"), 1)
@example(Decimal("0.50"), 1)
@example(Decimal("0." + "123456789" * 5), 5)
def test_a_priority_is_a_decimal_of_the_same_number_whatever_the_decimal_context(value, digits):
    text = priority_text(value)
    # `xsd:decimal` in its usual form.
    assert re.fullmatch(r"[0-9]+(\.[0-9]+)?", text)
    assert type(value)(text) == value
    with localcontext() as context:
        context.prec = digits
        assert priority_text(value) == text


#: Those of contrib's `get_urls()` are texts.
PRIORITIES = {0.5: "0.5", Decimal("0.25"): "0.25", 1: "1", 1e-05: "0.00001"}
PRIORITIES |= {" 0.5 ": "0.5", "0.5": "0.5", "1": "1", "0.50": "0.50"}


@pytest.mark.parametrize("language", ["en", "de", "fr", "ar"])
def test_no_language_of_django_changes_a_priority_or_its_text(language):
    with override_settings(USE_THOUSAND_SEPARATOR=True), override(language):
        assert list(map(priority_text, PRIORITIES)) == list(PRIORITIES.values())


@pytest.mark.parametrize("value", [
    *(float("nan"), float("inf"), float("-inf"), Decimal("sNaN"), Decimal("Infinity")),
    *(-0.1, 1.1, 2, -1, 1 + 2**-52, Decimal("1." + "0" * 40 + "1"), 10**400, Decimal("-1E-99")),
    # Too many digits, and strings that only Python accepts as numbers.
    *(Decimal(f"0.{'1' * 1_001}"), Decimal("1E-1001"), Decimal("0E+1001"), "0_1", "0._5"),
    *(True, False, None, "", "high", "0,5", "1/2", "NaN", b"0.5", [], [0.5], 0.5j, Fraction(1, 2)),
], ids=lambda value: repr(value)[:20])  # fmt: skip
def test_what_is_not_a_number_from_0_to_1_is_refused_as_a_priority(value):
    with pytest.raises(ValueError, match="is not a priority"):
        priority_text(value)


#: An enum as it was written before `StrEnum`: `str()` returns the name of a member.
Frequency = enum.Enum("Frequency", {"DAILY": "daily"}, type=str)


class Choice(TextChoices):
    DAILY = "daily"


class Text(str):
    def __str__(self):
        return "something else"


def test_whatever_equals_a_word_of_the_protocol_is_a_changefreq_and_written_as_that_word():
    assert [*map(values.changefreq_text, CHANGEFREQS)] == [*CHANGEFREQS]
    for value in (Frequency.DAILY, Choice.DAILY, lazystr("daily"), Text("daily")):
        text = values.changefreq_text(value)
        assert (text, type(text)) == ("daily", str)
    for value in ("Weekly", "weekly ", "", "sometimes", None, 0, True, [], ["daily"], b"daily", {"daily"}):
        with pytest.raises(ValueError, match="is not a changefreq"):
            values.changefreq_text(value)


CODES = ["en", "pt-br", "zh-hant", "zh-Hant-TW", "es-419", "x-default", "ca@valencia", "sr_Latn"]
NOT_CODES = ["", " ", "en ", "en\n", "-en", "en-", "e--n", "dé", 'en"', "en,de", None, 7, b"en"]


def test_a_language_code_is_written_as_it_is_and_anything_else_is_refused():
    assert [*map(values.language_text, CODES)] == CODES
    for value in NOT_CODES:
        with pytest.raises(ValueError, match="is not a language code"):
            values.language_text(value)


#: The format in the schema of these links; see https://www.rfc-editor.org/info/bcp47.
HREFLANG = re.compile(r"x-default|[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?")
#: Codes of Django and of locales, by the value for hreflang.
SPELLINGS = {
    "en": ["en", "EN"], "hsb": ["hsb"], "x-default": ["x-default", "X-Default"],
    "pt-BR": ["pt-br", "pt_BR"], "es-419": ["es-419", "ES_419"], "en-UK": ["en-uk"], "zh-Hans": ["zh-hans"],
    "zh-Hant-TW": ["zh_Hant_tw", "ZH-HANT-TW"], "sr-Latn": ["sr-latn", "sr@latin"],
    "sr-Latn-RS": ["sr_RS@latin"], "uz-Cyrl": ["uz@cyrillic"], "sd-Deva-IN": ["sd_IN@devanagari"],
}  # fmt: skip


@pytest.mark.parametrize("expected", SPELLINGS)
def test_a_code_is_written_as_hreflang_for_any_spelling_of_django_or_a_locale(expected):
    lower = expected.lower()
    spellings = [*SPELLINGS[expected], expected, lower, lower.replace("-", "_").replace("x_", "x-")]
    assert {*map(hreflang, spellings)} == {expected}


@pytest.mark.parametrize("code", [
    *("", " ", "e", "engl", "english", "en ", " en", "en\n", "-en", "en-", "en--us", "e1", "dé"),
    "en us",
    *("en-u", "en-usa", "en-us-hans", "en-1996", "de-1996", "ca-valencia", "ca@valencia", "de@euro"),
    *("sr-latn@latin", "sr@", "en_US.UTF-8", "zh-hans-cn-x", "x", "default", "x_default", "419"),
    *("i-klingon", "\u212ao", "en-\u0661\u0662\u0663", "*", None, 7, b"en", ["en"]),
], ids=ascii)  # fmt: skip
def test_what_hreflang_has_no_room_for_is_refused_with_what_would_be_right(code):
    with pytest.raises(ValueError, match=rf"^{re.escape(in_message(code))} is not .* 'pt-BR'"):
        hreflang(code)


@pytest.mark.parametrize("code", [code for code, _ in global_settings.LANGUAGES])
def test_every_language_of_django_is_one_of_hreflang_and_of_news_and_known_to_google(code):
    assert HREFLANG.fullmatch(hreflang(code))
    assert values.hreflang_warning(hreflang(code)) is None
    assert re.fullmatch("zh-cn|zh-tw|[a-z]{2,3}", news_language(code))


form = r"[A-Za-z]{2,3}([-_][A-Za-z]{4})?([-_]([A-Za-z]{2}|[0-9]{3}))?"


@given(st.from_regex(form, fullmatch=True) | st.text())
def test_every_hreflang_matches_the_schema_and_converts_to_itself(code):
    try:
        found = hreflang(code)
    except ValueError:
        assert not HREFLANG.fullmatch(code)
        return
    assert HREFLANG.fullmatch(found)
    assert hreflang(found) == found
    assert "@" in code or found.lower() == code.lower().replace("_", "-")


#: Codes by what the warning says of them. Google knows no region by its number.
WARNINGS = {
    "a numeric region": ["es-419", "en-001", "zh-Hant-030"],
    "the region EU, which Google ignores": ["en-EU", "sr-Latn-EU"],
    "the region UN, which Google ignores": ["en-UN"], "the region UK, which Google ignores": ["en-UK"],
    "None": ["eu", "uk", "uk-UA", "eu-ES", "en-GB", "en", "zh-Hant", "zh-Hant-TW", "x-default"],
}  # fmt: skip


@pytest.mark.parametrize("warning", WARNINGS)
def test_a_region_that_google_does_not_know_causes_a_warning(warning):
    for code in WARNINGS[warning]:
        assert hreflang(code) == code
        assert warning in str(values.hreflang_warning(code))


#: Codes by the language of news.
NEWS = {
    "zh-cn": ["zh-hans", "zh-cn", "zh-sg", "zh_CN", "zh-Hans-HK", "zh_Hans_SG", "zh_CN.UTF-8"],
    "zh-tw": ["zh-hant", "zh-tw", "zh-hk", "ZH_TW", "zh-Hant-CN", "zh-mo"], "en": ["en", "en-US"],
    "pt": ["PT_br"], "sr": ["sr@latin"], "hsb": ["HSB"], "es": ["es-419"], "ca": ["ca@valencia"],
    "de": ["de-1996"], "yue": ["yue-hant"],
}  # fmt: skip


@pytest.mark.parametrize("expected", NEWS)
def test_the_language_of_news_is_the_language_alone_but_for_chinese(expected):
    assert {*map(news_language, NEWS[expected])} == {expected}


@pytest.mark.parametrize("code", ["zh", "ZH", "zh-US", "zh-latn", "zh_x"])
def test_the_script_of_chinese_is_required_and_the_error_names_both(code):
    with pytest.raises(ValueError, match=rf"^'{code}' .*'zh-cn'.*'zh-tw'"):
        news_language(code)


NOT_NEWS = ["", "e", "engl", "english", "x-default", "e1", "419", "en ", "en\n", "dé", "\u212ao", "en--us"]


@pytest.mark.parametrize("code", [*NOT_NEWS, None, 7, b"en"], ids=ascii)
def test_what_is_not_a_language_is_invalid_for_news(code):
    with pytest.raises(ValueError, match=rf"^{re.escape(in_message(code))} is not a language"):
        news_language(code)


UTC = timezone.utc
#: The format that both the W3C note and the XSD allow.
W3C = re.compile(r"\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}:\d{2}(Z|[+-]\d{2}:\d{2}))?")
#: Zones with summer time, half and quarter hours, the largest offsets, and seconds in the past.
NAMES = ["Europe/Zurich", "America/St_Johns", "Asia/Kathmandu", "Pacific/Kiritimati", "Pacific/Pago_Pago"]
ODD = [
    timedelta(hours=-23, minutes=-59, seconds=-59),
    timedelta(hours=5, minutes=30, seconds=1, microseconds=7),
]
zones = st.sampled_from([UTC, *map(ZoneInfo, [*NAMES, "Africa/Monrovia"]), *map(timezone, ODD)])
#: No offset from UTC is a whole day.
earliest, latest = datetime.min + timedelta(days=1), datetime.max - timedelta(days=1)
moments = st.datetimes(earliest, latest, timezones=st.none() | zones, allow_imaginary=True)


def instant(value, zone):
    """Return the point in time that a text means, in whole seconds; for a date, the start of the day."""
    if not isinstance(value, datetime):
        return datetime.combine(value, time.min, UTC)
    aware = value if value.tzinfo else value.replace(tzinfo=zone)
    return aware.astimezone(UTC).replace(microsecond=0)


@given(st.lists(moments | st.dates(), min_size=1, max_size=6), zones)
@example([datetime(987, 6, 5, 4, 3, 2, 1), date.min, date.max], UTC)
def test_a_lastmod_is_the_same_point_in_time_in_utc_and_sorts_as_it(values, zone):
    for value in values:
        text = w3c(value, zone)
        assert W3C.fullmatch(text)
        if isinstance(value, datetime):
            assert text.endswith("Z")
            # Python 3.10 does not parse `Z`.
            assert datetime.fromisoformat(text.replace("Z", "+00:00")) == instant(value, zone)
        else:
            assert date.fromisoformat(text) == value
        for other in values:
            assert instant(value, zone) >= instant(other, zone) or text < w3c(other, zone)


@pytest.mark.parametrize(
    ("value", "text"),
    [(date(2026, 1, 31), "2026-01-31"), (date(7, 1, 1), "0007-01-01"),
     (datetime(2026, 1, 31, 10, 30), "2026-01-31T09:30:00Z"),
     (datetime(2026, 7, 31, 10, 30), "2026-07-31T08:30:00Z"),
     (datetime(2026, 1, 31, 10, 30, 59, 999_999, UTC), "2026-01-31T10:30:59Z"),
     (datetime(2026, 1, 1, 0, 30, tzinfo=timezone(timedelta(hours=1))), "2025-12-31T23:30:00Z"),
     (datetime(2026, 10, 25, 2, 30, fold=0), "2026-10-25T00:30:00Z"),
     (datetime(2026, 10, 25, 2, 30, fold=1), "2026-10-25T01:30:00Z"),
     (datetime(7, 1, 1, 12, tzinfo=UTC), "0007-01-01T12:00:00Z")],
)  # fmt: skip
def test_a_naive_time_is_taken_in_the_given_zone_and_no_other_one(value, text):
    with override_settings(TIME_ZONE="Asia/Tokyo"):
        assert w3c(value, ZoneInfo("Europe/Zurich")) == text


def test_a_time_that_utc_cannot_hold_overflows():
    for value, hours in ((datetime.min, 1), (datetime.max, -1)):
        with pytest.raises(OverflowError):
            w3c(value, timezone(timedelta(hours=hours)))


def strict(text, *, times, zone=""):
    form = r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    if times:
        form += r" ([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]{1,6})?" + re.escape(zone)
    if (match := re.fullmatch(form, text)) is None:
        return None
    try:
        numbers = [*map(int, match.groups())]
        return f"{datetime(*numbers).isoformat('T', 'seconds')}Z" if times else date(*numbers).isoformat()
    except ValueError:
        return None


def written(moment, zone):
    """Return a time as SQLite and PostgreSQL write it. PostgreSQL omits zeros at the end of a fraction."""
    text = moment.isoformat(" ")
    return (text.rstrip("0") if "." in text and zone else text) + zone


instants = st.datetimes() | st.datetimes().map(lambda moment: moment.replace(microsecond=0))
#: Two-digit numbers near all limits.
limits = [0, 1, 2, 4, 11, 12, 13, 15, 19, 20, 23, 24, 28, 29, 30, 31, 32, 59, 60, 61, 63, 99]
pairs = st.sampled_from(limits)
years = st.sampled_from([0, 1, 4, 100, 400, 999, 1900, 2000, 2023, 2024, 2100, 9999])


@st.composite
def near_misses(draw, *, times, zone=""):
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


def check(texts, *, times, zone=""):
    wanted = [None if text is None else strict(text, times=times, zone=zone) for text in texts]
    found = w3c_texts(texts, times=times, zone=zone)
    good = all(new is not None for new, text in zip(wanted, texts, strict=True) if text is not None)
    assert (None if found is None else list(found)) == (wanted if good else None)
    assert not isinstance(found, SafeColumn) or None not in found


class TestAColumnOfTexts:
    @pytest.mark.parametrize("zone", ["", "+00"])
    @given(times=st.lists(st.none() | instants), days=st.lists(st.none() | st.dates()))
    def test_is_what_w3c_makes_of_the_times_or_dates(self, times, days, zone):
        texts = [value and written(value, zone) for value in times]
        expected = [value and w3c(value, UTC) for value in times]
        assert list(w3c_texts(texts, times=True, zone=zone)) == expected
        texts = [value and str(value) for value in days]
        assert list(w3c_texts(texts, times=False)) == [value and w3c(value, UTC) for value in days]

    @pytest.mark.parametrize("zone", ["", "+00"])
    @given(data=st.data())
    def test_of_times_is_not_a_column_if_one_is_not_a_time(self, zone, data):
        odd = st.none() | instants.map(lambda moment: written(moment, zone))
        texts = data.draw(st.lists(near_misses(times=True, zone=zone) | odd, max_size=3))
        check(texts, times=True, zone=zone)

    @given(st.lists(st.none() | near_misses(times=False) | st.dates().map(str), max_size=3))
    @example(["2026-01-31\n2026-01-30", "2026-01-3"])
    def test_of_dates_is_not_a_column_if_one_is_not_a_date(self, texts):
        check(texts, times=False)

    @given(texts=st.lists(st.text(max_size=30), max_size=2), times=st.booleans())
    def test_of_anything_is_never_a_wrong_text(self, texts, times):
        check(texts, times=times)

    @pytest.mark.parametrize("year", [1, 100, 400, 1900, 2024, 9999])
    def test_has_each_day_of_a_year_and_no_other_one(self, year):
        days = [f"{year:04}-{month:02}-{day:02}" for month in range(100) for day in range(100)]
        good = [day for day in days if strict(day, times=False)]
        assert len(good) in (365, 366)
        assert list(w3c_texts(good, times=False) or []) == good
        assert [bad for bad in {*days} - {*good} if w3c_texts([bad], times=False) is not None] == []

    def test_has_each_time_of_a_day_and_no_other_one(self):
        for place, most in enumerate((23, 59, 59)):
            for number in range(100):
                parts = ["00", "00", "00"]
                parts[place] = f"{number:02}"
                found = w3c_texts([f"2026-01-31 {':'.join(parts)}"], times=True)
                wanted = [f"2026-01-31T{':'.join(parts)}Z"] if number <= most else None
                assert (found and list(found)) == wanted

    @pytest.mark.parametrize(
        "text",
        [*("", " ", "garbage", "infinity", "-infinity", "2026-01-31", "2026-01-31 10:30:00"),
         *("2026-01-31T10:30:00+00", "2026-01-31 10:30:00Z", "2026-01-31 10:30+00"),
         *("2026-01-31 10:30:00 +00", "2026-01-31 10:30:00+00\n", "2026-01-31 10:30:00+00:00"),
         *("2026-01-31 10:30:00+0000", "2026-01-31 10:30:00-00", "2026-01-31 10:30:00+01"),
         *("2026-01-31 10:30:00+05", "2026-01-31 10:30:00.5+10", "2026-01-31 10:30:00+05:45"),
         *("2026-01-31 10:30:00-05", "0001-01-01 00:00:00+00 BC", "10000-01-01 00:00:00+00"),
         *("2026-01-31 10:30:00.+00", "2026-01-31 10:30:00.1234567+00", "2026-01-31 10:30.5:00+00"),
         *("2026-01.5-31 10:30:00+00", "2026-01-31 10:30:00+00.5", "2026-01-31 10:30:00,5+00"),
         *("31.01.2026 10:30:00 UTC", "01/31/2026 10:30:00 UTC", "\uff12026-01-31 10:30:00+00"),
         "2026-01-31 10:30:0\u0660+00"],
    )  # fmt: skip
    def test_with_the_zone_of_postgresql_has_that_form_and_no_other_one(self, text):
        assert w3c_texts([text], times=True, zone="+00") is None
        assert w3c_texts(["2026-01-31 10:30:00+00", text], times=True, zone="+00") is None

    def test_is_plain_if_each_row_has_a_text_and_what_it_was_if_none_has(self):
        assert isinstance(w3c_texts(["2026-01-31"], times=False), SafeColumn)
        assert not isinstance(w3c_texts(["2026-01-31", None], times=False), SafeColumn)
        assert (w3c_texts([], times=True), w3c_texts((None, None), times=False)) == ([], (None, None))
