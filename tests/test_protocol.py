"""Laws of the protocol's values: what is written is what every reader reads, and nothing else is."""

from __future__ import annotations

import enum
import locale
import re
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit
from zoneinfo import ZoneInfo

import pytest
from django.conf import global_settings
from django.db.models import TextChoices
from django.test import override_settings
from django.utils.encoding import iri_to_uri
from django.utils.functional import lazystr
from django.utils.translation import override
from hypothesis import example, given
from hypothesis import strategies as st

from django_sitemaps09 import protocol
from django_sitemaps09.hooks.hosts import AllowedHosts
from django_sitemaps09.protocol import (
    CHANGEFREQS,
    MAX_LOCATION,
    Base,
    changefreq_text,
    hreflang,
    hreflang_warning,
    language_text,
    news_language,
    origin,
    parse_base,
    plain,
    priority_text,
    uri,
    w3c,
)

UTC = timezone.utc
#: What both the W3C note and the XSD admit.
W3C = re.compile(r"\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}:\d{2}(Z|[+-]\d{2}:\d{2}))?")
#: `xsd:decimal` as it is usually written.
DECIMAL = re.compile(r"[0-9]+(\.[0-9]+)?")
ZONES: list[tzinfo] = [
    UTC,
    *map(
        ZoneInfo,
        # Whole hours with summer time, half and quarter hours, both ends of the day, seconds in the past.
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
#: No zone is a whole day away from UTC.
moments = st.datetimes(
    datetime.min + timedelta(days=1),
    datetime.max - timedelta(days=1),
    timezones=st.none() | zones,
    allow_imaginary=True,
)


def instant(value: date, zone: tzinfo) -> datetime:
    """The point in time that a text stands for, whole seconds; for a date, where its day begins."""
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
    # Python 3.10 reads no Z.
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


numbers = (
    st.floats(0, 1)
    | st.integers(0, 1)
    | st.decimals(0, 1, places=3)
    | st.integers(0, 10**60).map(lambda digits: Decimal(digits).scaleb(-60, Context(prec=99)))
)


@given(numbers)
@example(5e-324)
@example(1e-05)
@example(-0.0)
@example(Decimal("0E+5"))
@example(Decimal("1E-7"))
@example(Decimal("0.50"))
@example(Decimal("0." + "123456789" * 5))
def test_a_priority_is_written_as_a_decimal_and_reads_as_the_same_number(value: Any) -> None:
    text = priority_text(value)
    assert DECIMAL.fullmatch(text)
    assert type(value)(text) == value


@given(value=numbers, digits=st.integers(1, 5))
def test_a_priority_is_not_rounded_by_the_decimal_context_of_the_project(value: Any, digits: int) -> None:
    expected = priority_text(value)
    with localcontext() as context:
        context.prec = digits
        assert priority_text(value) == expected


@pytest.fixture
def comma_locale() -> Iterator[None]:
    """The C library set to write decimals with a comma, where this machine knows such a language."""
    before = locale.setlocale(locale.LC_ALL)
    for name in ("de_DE.UTF-8", "fr_FR.UTF-8", "pt_BR.UTF-8", "de_DE", "German_Germany"):
        with suppress(locale.Error):
            locale.setlocale(locale.LC_ALL, name)
            break
    else:
        pytest.skip("this machine has no locale that writes decimals with a comma")
    yield
    locale.setlocale(locale.LC_ALL, before)


PRIORITIES: dict[object, str] = {0.5: "0.5", Decimal("0.25"): "0.25", 1: "1", 1e-05: "0.00001"}


@pytest.mark.usefixtures("comma_locale")
def test_no_locale_of_the_machine_changes_a_priority() -> None:
    assert list(map(priority_text, PRIORITIES)) == list(PRIORITIES.values())


@pytest.mark.parametrize("language", ["en", "de", "fr", "ar"])
def test_no_language_of_django_changes_a_priority(language: str) -> None:
    with override_settings(USE_THOUSAND_SEPARATOR=True), override(language):
        assert list(map(priority_text, PRIORITIES)) == list(PRIORITIES.values())


@pytest.mark.parametrize("text", ["0.5", " 0.5 ", "1", "0.50"])
def test_a_priority_may_be_the_text_of_a_number_as_contribs_get_urls_gives_it(text: str) -> None:
    assert priority_text(text) == text.strip()


@pytest.mark.parametrize(
    "value",
    [
        *(float("nan"), float("inf"), float("-inf"), Decimal("sNaN"), Decimal("Infinity")),
        *(-0.1, 1.1, 2, -1, 1 + 2**-52, Decimal("1." + "0" * 40 + "1"), 10**400, Decimal("-1E-99")),
        # More digits than a document can do with, and what only Python reads as a number.
        *(Decimal(f"0.{'1' * 1_001}"), Decimal("1E-1001"), Decimal("0E+1001"), "0_1", "0._5"),
        *(True, False, None, "", "high", "0,5", "1/2", "NaN", b"0.5", [], [0.5], 0.5j, Fraction(1, 2)),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_what_is_no_number_from_0_to_1_is_refused_as_a_priority(value: object) -> None:
    with pytest.raises(ValueError, match="is not a priority"):
        priority_text(value)


class Frequency(str, enum.Enum):
    """As people wrote them before `StrEnum`, whose members `str()` shows by name."""

    DAILY = "daily"


class Choice(TextChoices):
    DAILY = "daily"


class Text(str):
    """A text with words of its own."""

    def __str__(self) -> str:
        return "something else"


@pytest.mark.parametrize("word", CHANGEFREQS)
def test_each_word_of_the_protocol_is_a_changefreq(word: str) -> None:
    assert changefreq_text(word) == word


@pytest.mark.parametrize(
    "value",
    [Frequency.DAILY, Choice.DAILY, lazystr("daily"), Text("daily")],
    ids=lambda v: type(v).__name__,
)
def test_whatever_equals_a_word_of_the_protocol_is_written_as_that_word(value: object) -> None:
    text = changefreq_text(value)
    assert text == "daily"
    assert type(text) is str


@pytest.mark.parametrize(
    "value",
    ["Weekly", "weekly ", "", "sometimes", None, 0, True, [], ["daily"], b"daily", {"daily"}],
    ids=repr,
)
def test_any_other_word_is_refused_as_a_changefreq(value: object) -> None:
    with pytest.raises(ValueError, match="is not a changefreq"):
        changefreq_text(value)


@pytest.mark.parametrize(
    "code", ["en", "pt-br", "zh-hant", "zh-Hant-TW", "es-419", "x-default", "ca@valencia", "sr_Latn"]
)
def test_a_language_code_is_written_as_it_is(code: str) -> None:
    assert language_text(code) == code


@pytest.mark.parametrize(
    "value", ["", " ", "en ", "en\n", "-en", "en-", "e--n", "dé", 'en"', "en,de", None, 7, b"en"], ids=ascii
)
def test_what_is_no_language_code_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="is not a language code"):
        language_text(value)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://www.example.com", "https://www.example.com"),
        ("https://www.example.com/", "https://www.example.com"),
        ("http://localhost:8000", "http://localhost:8000"),
        ("HTTPS://WWW.Example.COM", "https://www.example.com"),
        ("https://example.com:443", "https://example.com:443"),
        ("https://example.com:", "https://example.com"),
        ("https://under_score.example", "https://under_score.example"),
        ("https://exämple.com", "https://xn--exmple-cua.com"),
        ("https://EXÄMPLE.com:8443/", "https://xn--exmple-cua.com:8443"),
        ("https://xn--exmple-cua.com", "https://xn--exmple-cua.com"),
        ("https://例え。テスト", "https://xn--r8jz45g.xn--zckzah"),
        ("http://192.0.2.1:80", "http://192.0.2.1:80"),
        ("http://[2001:DB8::1]", "http://[2001:db8::1]"),
        ("http://[::1]:8000/", "http://[::1]:8000"),
        ("http://[::ffff:192.0.2.1]", "http://[::ffff:192.0.2.1]"),
        ("https://www.example.com.", "https://www.example.com."),
        # One dot of those that Unicode has besides the ideographic one: it parts labels as well.
        ("https://www\u2024exämple.com", "https://www.xn--exmple-cua.com"),
    ],
)
def test_a_base_is_scheme_host_and_port(url: str, expected: str) -> None:
    assert str(parse_base(url)) == expected


@pytest.mark.parametrize(
    "url",
    [
        *("", " ", "/", "//example.com", "example.com", "www.example.com:80", "https:", "https://"),
        *("https:///", "https:/example.com", "https:example.com", "https://:80", "://example.com"),
        *("ftp://example.com", "file:///etc", "javascript://example.com", "httpss://example.com"),
        *("https://example.com/shop", "https://example.com//", "https://example.com/?a", "https://a/#b"),
        *("https://user@example.com", "https://user:secret@example.com", "https://@example.com"),
        *("https://example.com@evil.com", "https://example.com:80@evil.com", "https://evil.com\\@a.b"),
        *("https://example.com:99999", "https://example.com:http", "https://example.com:-1"),
        *("https://example.com:0", "https://example.com:8 0", "https://example.com:80:80"),
        *("https://[::1", "https://::1]", "https://::1", "https://[::1]junk", "https://junk[::1]"),
        *("https://[example.com]", "https://[::g]", "https://[]", "https://[v1.a]", "https://e[x]"),
        *("https://a b", "https://a..b", "https://.a", "https://a\\b", "https://a|b", "https://a<b>"),
        *('https://a"b', "https://a,b", "https://*", "https://%0d%0a", "https://a%20b", "https://$a"),
        # A host becomes the name of a folder; in Unicode, some single characters are several dots.
        *("https://..", "https://.", "https://...:80", "https://a.b..", "https://../", "https://..a"),
        *(
            "https://\u2024\u2024",
            "https://\u2025",
            "https://a\u2025b",
            "https://ä\u2025b",
            "https://\u2026",
        ),
        *("https://[1:2]", "https://[::1::]", "https://[1.2.3.4]", "https://[:::]", "https://[::1%25eth0]"),
        *("https://a:08", "http\u017f://a.b", "https://a／b", "https://" + "a" * 64 + ".com"),  # noqa: RUF001
        "https://example.com\u3000",
    ],
)
def test_what_is_more_or_less_than_a_base_is_refused_with_a_reason(url: str) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(url))):
        parse_base(url)


#: What Python's own `urlsplit` leaves out without a word.
SILENT = ["\t", "\r", "\n", "\r\n", "\x00", " ", "\x1f", "\x7f", "\x85"]


@pytest.mark.parametrize("character", SILENT, ids=repr)
@pytest.mark.parametrize(
    "url", ["{}https://ab", "https{}://ab", "https:/{}/ab", "https://a{}b", "https://ab{}", "https://ab/{}"]
)
def test_a_base_with_a_control_character_or_a_space_is_refused_wherever_it_stands(
    url: str, character: str
) -> None:
    with pytest.raises(ValueError, match="https"):
        parse_base(url.format(character))


PIECES = [
    *("https://", "http://", "HTTPS://", "//", "/", "\\", "?", "#", "@", ":", "[", "]", "::1", ".", "-"),
    *("example.com", "EXAMPLE.com", "evil.com", "ä", "a", "_", "%", "%2e", "80", "443", "0", "&", "<", " "),
    *("\t", "\r\n", "\x00", "\u3000", "\u00ad", "。", "／", "１", "x-", "user:pass"),  # noqa: RUF001
    *("\u2024", "\u2025", "\ud800", "%zz", "%C3", "^", "`", "{", "}", "|", '"', ">", "~", "é=1", "'"),
]
#: Mostly wrong, and mostly near to what is right.
urls = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)
hosts = st.sampled_from(["https://", "http://", "HTTPS://", "https://example.com"]).flatmap(
    lambda head: urls.map(head.__add__)
)


@given(hosts | urls | st.text(max_size=20))
def test_every_base_that_is_accepted_reads_as_itself(url: str) -> None:
    try:
        base = parse_base(url)
    except ValueError:
        return
    assert parse_base(str(base)) == base
    assert re.fullmatch(r"https?://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[1-9][0-9]*)?", str(base))
    assert all(base.domain.removesuffix(".").split("."))
    parts = urlsplit(f"{base}/path")
    assert (parts.scheme, parts.netloc, parts.path) == (*base, "/path")
    assert url.isprintable()


BASE = Base("https", "example.com")


def may_stand(url: str, base: Base = BASE) -> bool:
    """In a sitemap of that base."""
    try:
        return bool(AllowedHosts((base,)).location(url))
    except ValueError:
        return False


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://www.example.com", "https://www.example.com"),
        ("HTTPS://WWW.example.com:443/A?b", "https://www.example.com"),
        ("http://example.com:80?x=//y:81/", "http://example.com"),
        ("http://example.com:443/", "http://example.com:443"),
        ("https://example.com:/", "https://example.com"),
        ("https://example.com:8443/a@b", "https://example.com:8443"),
        ("http://[2001:DB8::1]:80/", "http://[2001:db8::1]"),
        ("http://[::1]:8000/", "http://[::1]:8000"),
    ],
)
def test_an_origin_is_a_base_without_the_port_that_its_scheme_has_anyway(url: str, expected: str) -> None:
    assert str(origin(url)) == expected
    assert origin(expected) == origin(url) == parse_base(expected)


@pytest.mark.parametrize(
    "url",
    [
        *("", "/", "/a", "//example.com/", "example.com", "ftp://example.com/", "https:/a", "https://"),
        *("https://user@example.com/", "https://@a/", "https://a\\@b/", "https://a\\b/", "https://a b/"),
        *("https://a:0/", "https://a:65536/", "https://a:x/", "https://[::1/", "https://../", "https://ä/"),
        *("https://exa\tmple.com/", "https://%41/", "https://a:1:2/", "https:///a", "https://a\u3002b/"),
    ],
    ids=ascii,
)
def test_what_leads_to_no_single_host_has_no_origin(url: str) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(url))):
        origin(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/",
        "https://example.com/a/b?c=d",
        "https://example.com//evil.com/",
        "https://example.com/@evil.com/",
        "https://example.com",
        "https://example.com?q",
        "https://example.com:443/",
        "https://example.com:/",
        "HTTPS://EXAMPLE.com/",
        "https://Example.Com:443/a",
    ],
)
def test_a_url_of_the_same_scheme_host_and_port_may_stand(url: str) -> None:
    assert may_stand(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/",
        "https://www.example.com/",
        "https://example.com.evil.com/",
        "https://example.community/",
        "https://example.com@evil.com/",
        "https://example.com:443@evil.com/",
        "https://example.com%2f@evil.com/",
        "https://example.com\\@evil.com/",
        "https://evil.com\\@example.com/",
        "https://evil.com%5C@example.com/",
        "https://user@example.com/",
        "https://user:secret@example.com/",
        "https://@example.com/",
        "https://example.com:80/",
        "https://example.com:0/",
        "https://example.com:4430/",
        "https://example.com:99999/",
        "https://example.com:x/",
        "https://example.com./",
        "https:///example.com/",
        "https:/example.com/",
        "https:example.com/",
        "https://",
        "https://[::1/",
        "",
    ],
)
def test_a_url_that_leads_elsewhere_may_not_stand(url: str) -> None:
    assert not may_stand(url)


@pytest.mark.parametrize(
    ("base", "same", "other"),
    [
        ("http://example.com", "http://example.com:80/", "http://example.com:443/"),
        ("https://example.com:443", "https://example.com/", "https://example.com:8443/"),
        ("http://localhost:8000", "http://LOCALHOST:8000/", "http://localhost/"),
        ("http://[::1]:8000", "http://[::1]:8000/", "http://[::1]/"),
        ("https://exämple.com", "https://xn--exmple-cua.com/", "https://example.com/"),
    ],
)
def test_the_default_port_may_be_named_and_no_other_one(base: str, same: str, other: str) -> None:
    assert may_stand(same, parse_base(base))
    assert not may_stand(other, parse_base(base))


@given(hosts | urls)
def test_no_url_that_may_stand_leads_a_browser_to_another_host(url: str) -> None:
    """Browsers take a backslash for a slash, and what is before the last @ for a user."""
    if not may_stand(url) or url.startswith("/"):
        return
    authority = re.match(r"https:[/\\]+([^/\\?#]*)", url, re.IGNORECASE)
    assert authority is not None
    assert authority[1].lower().removesuffix(":443").removesuffix(":") == "example.com"


def test_a_location_of_2047_characters_may_stand_and_a_longer_one_not() -> None:
    url = "https://example.com/".ljust(MAX_LOCATION, "a")
    path = url.removeprefix(str(BASE))
    assert may_stand(url)
    assert may_stand(path)
    assert not may_stand(f"{url}a")
    assert not may_stand(f"{path}a")


@pytest.mark.parametrize("url", ["http://a", "https://a/b", "HTTPS://A", "HtTp://a:1"])
def test_a_location_with_scheme_and_host_is_absolute(url: str) -> None:
    assert not uri(url).startswith("/")


@pytest.mark.parametrize(
    "url",
    [
        *("", "/", "/a", "a", "//a/b", "ftp://a", "https", "https:", "https:/a", "xhttps://a"),
        *(" https://a", "https://", "https:///a", "http://?a", "http://#a"),
    ],
)
def test_a_location_without_scheme_or_host_is_not_absolute(url: str) -> None:
    try:
        assert uri(url).startswith("/")
    except ValueError as error:
        assert repr(url) in str(error)  # noqa: PT017 a path is none either


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/", "/"),
        ("/a/B?c=D&e=f", "/a/B?c=D&e=f"),
        ("//host/x", "//host/x"),
        ("/-._~:/?@!$&'()*+,;=", "/-._~:/?@!$&'()*+,;="),
        ("/käse/日本?ö=ü", "/k%C3%A4se/%E6%97%A5%E6%9C%AC?%C3%B6=%C3%BC"),
        ("/😀", "/%F0%9F%98%80"),
        # An escape is one, in the case that it has; a percent sign without two digits is itself.
        ("/%20%c3%A4", "/%20%c3%A4"),
        ("/100%", "/100%25"),
        ("/%2", "/%252"),
        ("/%zz%%20", "/%25zz%25%20"),
        ("/%é2", "/%25%C3%A92"),
        ("/a b ", "/a%20b%20"),
        ("/[a]?b[]=1", "/%5Ba%5D?b%5B%5D=1"),
        ('/\\evil.com/^`{|}"<>', "/%5Cevil.com/%5E%60%7B%7C%7D%22%3C%3E"),
        ("/\u2028\u3000\u00ad", "/%E2%80%A8%E3%80%80%C2%AD"),
        ("/?a?b//c", "/?a?b//c"),
        ("https://a.example", "https://a.example/"),
        ("https://a.example?x=1", "https://a.example/?x=1"),
        ("HTTPS://WWW.Example.COM/Path?Query=A", "https://www.example.com/Path?Query=A"),
        ("https://EXÄMPLE.com:8443/ä", "https://xn--exmple-cua.com:8443/%C3%A4"),
        ("https://例え。テスト/[x]", "https://xn--r8jz45g.xn--zckzah/%5Bx%5D"),
        ("https://a.example:/", "https://a.example/"),
        ("https://a.example:443/", "https://a.example:443/"),
        ("http://[2001:DB8::1]:80/[", "http://[2001:db8::1]:80/%5B"),
        ("https://a.example/@b\\c", "https://a.example/@b%5Cc"),
        ("https://a.example?x=a@b", "https://a.example/?x=a@b"),
    ],
    ids=ascii,
)
def test_a_path_or_an_absolute_url_becomes_a_uri_and_a_uri_stays_as_it_is(text: str, expected: str) -> None:
    assert uri(text) == expected
    assert uri(expected) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is empty"),
        *((f"/a{character}b", "control character") for character in "\x00\t\n\r\x1f\x7f\x80\x85\x9f"),
        *((f"https://a{character}b/", "control character") for character in "\x00\t\n\r\x7f\x85"),
        *(("/a#b", "a fragment"), ("#", "a fragment"), ("https://a.example#b", "a fragment")),
        *(("https://a.example/#", "a fragment"), ("https://a#@b.example/", "a fragment")),
        *((f"https://{user}@a.example/", "a user") for user in ("", "user", "user:pass", "b.example:80")),
        *((f"https://{host}/", "backslash") for host in ("evil.com\\@a.example", "a\\b", "\\a.example")),
        *((f"https://{host}/", "a host") for host in ("a..b", "..", "\u2025", "a b", "*", "%41", "a,b")),
        *(
            (f"https://{host}/", "a host")
            for host in ("[::1", "[::g]", "[1:2]", "[::1]a", ":80", "a\uff0fb")
        ),
        *(
            (f"https://a.example:{port}/", "a port")
            for port in ("0", "65536", "99999", "x", "-1", "1:2", "\uff11")
        ),
        *(("/\ud800", "surrogate"), ("https://\udfff/", "surrogate"), ("/\ud83d\ude00", "surrogate")),
        *(
            (text, "is neither a path")
            for text in ("a", "a/b", " /a", "?a", "www.example.com/", "\\a", "://a/")
        ),
        *(
            (text, "is neither a path")
            for text in ("https:", "https:/a", "https://", "https:///a", "https://?a")
        ),
        *(
            (text, "is neither a path")
            for text in ("ftp://a/", "mailto:a@b", "xhttps://a/", "http\u017f://a/")
        ),
    ],
    ids=ascii,
)
def test_what_no_crawler_can_ask_for_is_refused_with_the_reason_and_the_text(
    text: str, reason: str
) -> None:
    with pytest.raises(ValueError, match=reason) as raised:
        uri(text)
    assert repr(text) in str(raised.value)


@pytest.mark.parametrize("text", ["a" * 10**5, "/" + "a" * 10**5 + "#", "https://" + "a" * 10**5 + "/"])
def test_of_a_long_text_a_reason_shows_the_beginning(text: str) -> None:
    with pytest.raises(ValueError, match=text[:90]) as raised:
        uri(text)
    assert len(str(raised.value)) < 200


#: What RFC 3986 has for a path and a query behind an authority of ours.
URI = re.compile(
    r"(https?://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[1-9][0-9]*)?)?/([A-Za-z0-9\-._~:/?@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*"
)
paths = (urls | st.text(max_size=20)).map("/".__add__)


def accepted(text: str) -> str | None:
    """The URI of a text, if there is one."""
    try:
        return uri(text)
    except ValueError:
        return None


@given(hosts | paths | urls | st.text(max_size=20))
@example("/%2%35")
@example("https://例え。テスト:1?%")
def test_a_uri_is_made_once_and_has_no_character_that_none_may_have(text: str) -> None:
    found = accepted(text)
    if found is None:
        return
    assert URI.fullmatch(found)
    assert uri(found) == found
    assert found.startswith("/") or f"{found}/".startswith(f"{origin(found).scheme}://")


@given(paths)
def test_quoting_changes_no_byte_of_what_a_path_means(path: str) -> None:
    found = accepted(path)
    if found is not None:
        assert unquote_to_bytes(found) == unquote_to_bytes(path)


@given(paths)
def test_a_path_is_quoted_as_django_does_but_for_brackets_and_bare_percent_signs(path: str) -> None:
    path = re.sub(r"[\[\]]|%(?![0-9A-Fa-f]{2})", "", path)
    found = accepted(path)
    assert found is None or found == iri_to_uri(path)


@given(hosts)
def test_a_base_is_a_uri_but_for_its_slash_and_a_uri_has_a_base(url: str) -> None:
    try:
        base = parse_base(url)
    except ValueError:
        return
    assert uri(url) == f"{base}/"


@given(path=paths)
def test_a_path_means_the_same_behind_a_base_as_alone(path: str) -> None:
    found = accepted(path)
    assert accepted(f"https://example.com{path}") == (found and f"https://example.com{found}")


STARTS = ["/", "https://example.com/", "http://localhost:8000/", "http://[::1]:8000/"]


@given(
    start=st.sampled_from(STARTS),
    texts=st.lists(st.lists(st.sampled_from(["a", "/b", "?c=d", "%20", "-._~:@!$&'()*+,;="])).map("".join)),
    odd=st.none() | urls | st.text(max_size=5),
    position=st.integers(0, 5),
    most=st.integers(20, 100),
    headless=st.booleans(),
)
@example(start="/", texts=["%2", "0"], odd=None, position=0, most=20, headless=False)
@example(start="/", texts=["a"], odd="b\n/c", position=1, most=20, headless=False)
@example(start="http://[::1]:8000/", texts=["a", "[b"], odd="]", position=0, most=99, headless=False)
def test_a_column_is_plain_where_each_is_a_uri_as_it_is_and_begins_and_ends_where_it_should(
    start: str, texts: list[str], odd: str | None, position: int, most: int, headless: bool
) -> None:
    column = [f"{start}{text}" for text in texts]
    if odd is not None:
        column.insert(position, odd if headless else f"{start}{odd}")
    each = all(text.startswith(start) and len(text) <= most and accepted(text) == text for text in column)
    assert plain(column, start, most) == each


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize(
    "odd",
    ["", "a", "\n", "a\n/b", "ä", "a b", "%", "%2", "%2\n", "#", "[", "]", "[]", "\\", "^", "\x7f", "\x00"],
)
def test_one_text_that_is_not_plain_is_found_wherever_it_stands(start: str, odd: str) -> None:
    good = f"{start}a?b=%C3%A4"
    for column in ([odd], [good, odd], [odd, good], [good, odd, good]):
        assert not plain(column, start, MAX_LOCATION)
        within = [text if text == good else f"{start}{odd}" for text in column]
        assert plain(within, start, MAX_LOCATION) == (odd in ("", "a"))


@pytest.mark.parametrize("start", STARTS)
def test_a_plain_text_has_so_many_characters_at_most(start: str) -> None:
    column = [start, start.ljust(50, "a")]
    assert plain(column, start, 50)
    assert not plain(column, start, 49)
    assert plain([], start, 0)


#: As the schema of these links has it; see https://www.rfc-editor.org/info/bcp47.
HREFLANG = re.compile(r"x-default|[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        *(
            ("en", "en"),
            ("EN", "en"),
            ("hsb", "hsb"),
            ("x-default", "x-default"),
            ("X-Default", "x-default"),
        ),
        *(
            ("pt-br", "pt-BR"),
            ("pt_BR", "pt-BR"),
            ("es-419", "es-419"),
            ("ES_419", "es-419"),
            ("en-uk", "en-UK"),
        ),
        *(("zh-hans", "zh-Hans"), ("zh_Hant_tw", "zh-Hant-TW"), ("ZH-HANT-TW", "zh-Hant-TW")),
        *(("sr-latn", "sr-Latn"), ("sr@latin", "sr-Latn"), ("sr_RS@latin", "sr-Latn-RS")),
        *(("uz@cyrillic", "uz-Cyrl"), ("sd_IN@devanagari", "sd-Deva-IN")),
    ],
)
def test_a_code_is_written_as_hreflang_wants_it_however_django_or_a_locale_spells_it(
    code: str, expected: str
) -> None:
    assert hreflang(code) == expected
    assert hreflang(expected) == expected
    assert hreflang(lower := expected.lower()) == hreflang(lower.replace("-", "_").replace("x_", "x-"))


@pytest.mark.parametrize(
    "code",
    [
        *(
            "",
            " ",
            "e",
            "engl",
            "english",
            "en ",
            " en",
            "en\n",
            "-en",
            "en-",
            "en--us",
            "e1",
            "dé",
            "en us",
        ),
        *("en-u", "en-usa", "en-us-hans", "en-1996", "de-1996", "ca-valencia", "ca@valencia", "de@euro"),
        *(
            "sr-latn@latin",
            "sr@",
            "en_US.UTF-8",
            "zh-hans-cn-x",
            "x",
            "default",
            "x_default",
            "419",
            "i-klingon",
        ),
        *("\u212ao", "en-\u0661\u0662\u0663", "*", None, 7, b"en", ["en"]),
    ],
    ids=ascii,
)
def test_what_hreflang_has_no_room_for_is_refused_with_what_would_be_right(code: object) -> None:
    with pytest.raises(ValueError, match=rf"^{re.escape(repr(code))} is not .* 'pt-BR'"):
        hreflang(code)


@pytest.mark.parametrize("code", [code for code, _ in global_settings.LANGUAGES])
def test_every_language_of_django_is_one_of_hreflang_and_of_news_and_known_to_google(code: str) -> None:
    assert HREFLANG.fullmatch(hreflang(code))
    assert hreflang_warning(hreflang(code)) is None
    assert re.fullmatch("zh-cn|zh-tw|[a-z]{2,3}", news_language(code))


@given(
    st.from_regex(r"[A-Za-z]{2,3}([-_][A-Za-z]{4})?([-_]([A-Za-z]{2}|[0-9]{3}))?", fullmatch=True)
    | st.text()
)
def test_whatever_hreflang_gives_is_of_the_schemas_form_the_same_word_and_given_once(code: str) -> None:
    try:
        found = hreflang(code)
    except ValueError:
        assert not HREFLANG.fullmatch(code)
        return
    assert HREFLANG.fullmatch(found)
    assert hreflang(found) == found
    assert "@" in code or found.lower() == code.lower().replace("_", "-")


@pytest.mark.parametrize("code", ["es-419", "en-001", "zh-Hant-030"])
def test_google_knows_no_region_by_its_number(code: str) -> None:
    assert "by a number" in str(hreflang_warning(code))


@pytest.mark.parametrize("code", ["en-EU", "en-UN", "en-UK", "sr-Latn-EU"])
def test_a_region_that_is_none_has_no_effect(code: str) -> None:
    assert f"the region {code[-2:]}, which has no effect" in str(hreflang_warning(code))


@pytest.mark.parametrize(
    "code", ["eu", "uk", "uk-UA", "eu-ES", "en-GB", "en", "zh-Hant", "zh-Hant-TW", "x-default"]
)
def test_of_what_google_knows_there_is_no_warning(code: str) -> None:
    assert hreflang(code) == code
    assert hreflang_warning(code) is None


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        *((code, "zh-cn") for code in ("zh-hans", "zh-cn", "zh-sg", "zh_CN", "zh-Hans-HK", "zh_Hans_SG")),
        *((code, "zh-tw") for code in ("zh-hant", "zh-tw", "zh-hk", "ZH_TW", "zh-Hant-CN", "zh-mo")),
        *(
            ("en", "en"),
            ("en-US", "en"),
            ("PT_br", "pt"),
            ("sr@latin", "sr"),
            ("HSB", "hsb"),
            ("es-419", "es"),
        ),
        *(("ca@valencia", "ca"), ("de-1996", "de"), ("zh_CN.UTF-8", "zh-cn"), ("yue-hant", "yue")),
    ],
)
def test_the_language_of_news_is_the_language_alone_but_for_chinese(code: str, expected: str) -> None:
    assert news_language(code) == expected


@pytest.mark.parametrize("code", ["zh", "ZH", "zh-US", "zh-latn", "zh_x"])
def test_which_chinese_has_to_be_told_and_both_are_named(code: str) -> None:
    with pytest.raises(ValueError, match=rf"^'{code}' .*'zh-cn'.*'zh-tw'"):
        news_language(code)


@pytest.mark.parametrize(
    "code",
    [
        "",
        "e",
        "engl",
        "english",
        "x-default",
        "e1",
        "419",
        "en ",
        "en\n",
        "dé",
        "\u212ao",
        "en--us",
        None,
        7,
        b"en",
    ],
    ids=ascii,
)
def test_what_is_no_language_is_none_of_news(code: object) -> None:
    with pytest.raises(ValueError, match=rf"^{re.escape(repr(code))} is not a language"):
        news_language(code)


def test_every_public_name_of_the_rooms_modules_is_one_of_the_room() -> None:
    public = {
        name
        for module in (protocol.limits, protocol.links, protocol.times, protocol.urls, protocol.words)
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (name.isupper() or getattr(value, "__module__", "") == module.__name__)
    }
    assert {*protocol.__all__} == public | {"Changefreq"}


def test_limits_are_those_of_the_protocol() -> None:
    assert protocol.MAX_URLS == 50_000
    assert protocol.MAX_BYTES == 50 * 2**20
    assert protocol.STRICTEST_MAX_BYTES == 10 * 2**20
    assert protocol.SITEMAP_NAMESPACE == "http://www.sitemaps.org/schemas/sitemap/0.9"


def test_a_host_that_is_longer_than_any_is_refused_before_it_is_looked_at() -> None:
    for name in (f"a{chr(0x300) * 1_000}", "\ufdfa" * 56, f"{'a' * 64}.example", f"{'a.' * 126}ab"):
        with pytest.raises(ValueError, match="too long"):
            uri(f"https://{name}/")


def test_a_host_is_as_long_as_it_is_when_it_is_normalized() -> None:
    longest = ".".join(["a" * 63, "b" * 63, "c" * 63, "d" * 61])
    assert uri(f"https://{longest}/") == f"https://{longest}/"
    with pytest.raises(ValueError, match="too long"):
        uri(f"https://{longest}d/")
    accents = ".".join([unicodedata.normalize("NFD", "\u1e09" * 8)] * 12)
    assert len(accents) > 253 > len(uri(f"https://{accents}/"))


def test_a_set_of_links_of_any_length_is_looked_at_once() -> None:
    links = [(f"l{number}", f"/{number}/") for number in range(20_000)]
    protocol.check_links(links, [], ["/7/"])
    with pytest.raises(ValueError, match="twice"):
        protocol.check_links([*links, links[0]], [], ["/7/"])
