"""Words of the protocol: priorities, change frequencies and language codes."""

from __future__ import annotations

import enum
import re
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import pytest
from django.conf import global_settings
from django.db.models import TextChoices
from django.test import override_settings
from django.utils.functional import lazystr
from django.utils.translation import override
from hypothesis import example, given, strategies as st

# isort: off
from django_sitemaps09.protocol import (
    CHANGEFREQS, changefreq_text, hreflang, hreflang_warning, language_text, news_language, priority_text,
)  # fmt: skip
# isort: on

numbers = (
    st.floats(0, 1)
    | st.integers(0, 1)
    | st.decimals(0, 1, places=3)
    | st.integers(0, 10**60).map(lambda digits: Decimal(digits).scaleb(-60, Context(prec=99)))
)


def in_message(code):
    """Return a code as it is written in messages, with any other type than a string."""
    return f"{code!r}" if code is None or isinstance(code, str) else f"{code!r} ({type(code).__name__})"


# Priorities


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


PRIORITIES = {0.5: "0.5", Decimal("0.25"): "0.25", 1: "1", 1e-05: "0.00001"}


@pytest.mark.parametrize("language", ["en", "de", "fr", "ar"])
def test_no_language_of_django_changes_a_priority(language):
    with override_settings(USE_THOUSAND_SEPARATOR=True), override(language):
        assert list(map(priority_text, PRIORITIES)) == list(PRIORITIES.values())


@pytest.mark.parametrize("text", ["0.5", " 0.5 ", "1", "0.50"])
def test_a_priority_may_be_the_text_of_a_number_as_contribs_get_urls_gives_it(text):
    assert priority_text(text) == text.strip()


@pytest.mark.parametrize(
    "value",
    [
        *(float("nan"), float("inf"), float("-inf"), Decimal("sNaN"), Decimal("Infinity")),
        *(-0.1, 1.1, 2, -1, 1 + 2**-52, Decimal("1." + "0" * 40 + "1"), 10**400, Decimal("-1E-99")),
        # Too many digits, and strings that only Python accepts as numbers.
        *(Decimal(f"0.{'1' * 1_001}"), Decimal("1E-1001"), Decimal("0E+1001"), "0_1", "0._5"),
        *(True, False, None, "", "high", "0,5", "1/2", "NaN", b"0.5", [], [0.5], 0.5j, Fraction(1, 2)),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_what_is_not_a_number_from_0_to_1_is_refused_as_a_priority(value):
    with pytest.raises(ValueError, match="is not a priority"):
        priority_text(value)


# Change frequencies


class Frequency(str, enum.Enum):
    """An enum as it was written before `StrEnum`: `str()` returns the name of a member."""

    DAILY = "daily"


class Choice(TextChoices):
    DAILY = "daily"


class Text(str):
    def __str__(self):
        return "something else"


@pytest.mark.parametrize(
    "value", [Frequency.DAILY, Choice.DAILY, lazystr("daily"), Text("daily")], ids=type
)
def test_whatever_equals_a_word_of_the_protocol_is_a_changefreq_and_written_as_that_word(value):
    assert [*map(changefreq_text, CHANGEFREQS)] == [*CHANGEFREQS]
    text = changefreq_text(value)
    assert (text, type(text)) == ("daily", str)


@pytest.mark.parametrize(
    "value",
    ["Weekly", "weekly ", "", "sometimes", None, 0, True, [], ["daily"], b"daily", {"daily"}],
    ids=repr,
)
def test_any_other_word_is_refused_as_a_changefreq(value):
    with pytest.raises(ValueError, match="is not a changefreq"):
        changefreq_text(value)


# Languages

CODES = ["en", "pt-br", "zh-hant", "zh-Hant-TW", "es-419", "x-default", "ca@valencia", "sr_Latn"]
NOT_CODES = ["", " ", "en ", "en\n", "-en", "en-", "e--n", "dé", 'en"', "en,de", None, 7, b"en"]


def test_a_language_code_is_written_as_it_is():
    assert [*map(language_text, CODES)] == CODES


@pytest.mark.parametrize("value", NOT_CODES, ids=ascii)
def test_what_is_not_a_language_code_is_refused(value):
    with pytest.raises(ValueError, match="is not a language code"):
        language_text(value)


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


@pytest.mark.parametrize(
    "code",
    [
        *(
            "", " ", "e", "engl", "english", "en ", " en", "en\n", "-en", "en-", "en--us", "e1", "dé",
            "en us",
        ),
        *("en-u", "en-usa", "en-us-hans", "en-1996", "de-1996", "ca-valencia", "ca@valencia", "de@euro"),
        *("sr-latn@latin", "sr@", "en_US.UTF-8", "zh-hans-cn-x", "x", "default", "x_default", "419"),
        *("i-klingon", "\u212ao", "en-\u0661\u0662\u0663", "*", None, 7, b"en", ["en"]),
    ],
    ids=ascii,
)  # fmt: skip
def test_what_hreflang_has_no_room_for_is_refused_with_what_would_be_right(code):
    with pytest.raises(ValueError, match=rf"^{re.escape(in_message(code))} is not .* 'pt-BR'"):
        hreflang(code)


@pytest.mark.parametrize("code", [code for code, _ in global_settings.LANGUAGES])
def test_every_language_of_django_is_one_of_hreflang_and_of_news_and_known_to_google(code):
    assert HREFLANG.fullmatch(hreflang(code))
    assert hreflang_warning(hreflang(code)) is None
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


@pytest.mark.parametrize(
    ("code", "warning"),
    [
        # Google knows no region by its number.
        *((code, "a numeric region") for code in ("es-419", "en-001", "zh-Hant-030")),
        *((code, "the region EU, which Google ignores") for code in ("en-EU", "sr-Latn-EU")),
        ("en-UN", "the region UN, which Google ignores"),
        ("en-UK", "the region UK, which Google ignores"),
        *((code, "None") for code in ("eu", "uk", "uk-UA", "eu-ES", "en-GB", "en", "zh-Hant", "x-default")),
        ("zh-Hant-TW", "None"),
    ],
)
def test_a_region_that_google_does_not_know_causes_a_warning(code, warning):
    assert hreflang(code) == code
    assert warning in str(hreflang_warning(code))


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
