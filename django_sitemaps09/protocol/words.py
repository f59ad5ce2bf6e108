"""The words and numbers of entries: changefreq, priority, and codes of languages."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Literal, get_args

Changefreq = Literal["always", "hourly", "daily", "weekly", "monthly", "yearly", "never"]
CHANGEFREQS: tuple[str, ...] = get_args(Changefreq)

# Far more than any float or decimal column has, and no more than a document can do with.
_PRIORITY_DIGITS = 1_000
_LANGUAGE = re.compile(r"[A-Za-z0-9]+([-_@.][A-Za-z0-9]+)*")
#: The scripts among the modifiers of locales, as the GNU C library has them (`sr_RS@latin`).
_SCRIPTS = {"cyrillic": "Cyrl", "devanagari": "Deva", "latin": "Latn"}
_PARTS_OF_LANGUAGE = re.compile(
    r"(?P<language>[A-Za-z]{2,3})"
    r"([-_](?P<script>[A-Za-z]{4})(?!.*@))?"
    r"([-_](?P<region>[A-Za-z]{2}|[0-9]{3}))?"
    rf"(@(?P<modifier>{'|'.join(_SCRIPTS)}))?"
)
#: Regions that are none, and why.
#: https://developers.google.com/search/docs/specialty/international/localized-versions
_NO_REGIONS = {"EU": "it is no country", "UK": "that country's code is GB", "UN": "it is no country"}
#: Which of the two written forms of Chinese is meant; a script says more than a region.
_CHINESE = {
    "hans": "zh-cn",
    "hant": "zh-tw",
    **dict.fromkeys(("cn", "sg"), "zh-cn"),
    **dict.fromkeys(("tw", "hk", "mo"), "zh-tw"),
}


def priority_text(value: object) -> str:
    """A priority as the XSD's decimal, digit for digit; `ValueError` outside 0.0 to 1.0."""
    try:
        # By way of str(): Decimal(0.3) has 54 digits, and no float may come out as 1e-05.
        text = str(value)
        number = Decimal("NaN" if "_" in text or len(text) > _PRIORITY_DIGITS else text)
    except InvalidOperation:
        number = Decimal("NaN")
    if (
        isinstance(value, bool)
        or not number.is_finite()
        or not 0 <= number <= 1
        or (abs(int(number.as_tuple().exponent)) > _PRIORITY_DIGITS)
    ):
        raise ValueError(f"{value!r} is not a priority: a number from 0.0 to 1.0 is")
    # Not abs(), which rounds to the digits of the decimal context.
    return format(number.copy_abs(), "f")


def changefreq_text(value: object) -> str:
    """A changefreq as it is; `ValueError` for a word that the protocol does not know."""
    if value not in CHANGEFREQS:
        raise ValueError(f"{value!r} is not a changefreq: {', '.join(CHANGEFREQS)} are")
    # Not str(value): that of an enum's member is its name.
    return CHANGEFREQS[CHANGEFREQS.index(value)]


def language_text(value: object) -> str:
    """A language code as Django has them; `ValueError` for what is none."""
    if not isinstance(value, str) or not _LANGUAGE.fullmatch(value):
        raise ValueError(f"{value!r} is not a language code")
    return value


def hreflang(code: object) -> str:
    """A language code of Django or a locale's name as `hreflang` has it: `pt-BR`, `zh-Hant-TW`.

    A language, a script and a region are all that there is room for; `ValueError` for anything else.
    """
    text = code if isinstance(code, str) else ""
    if text.lower() == "x-default":
        return "x-default"
    parts = _PARTS_OF_LANGUAGE.fullmatch(text)
    if parts is None:
        raise ValueError(
            f"{code!r} is not a language code for hreflang: a language of 2 or 3 letters is, with a "
            "script of 4 letters and a region of 2 letters or 3 digits if need be, such as 'en', "
            "'pt-BR', 'zh-Hant-TW'; and 'x-default' is"
        )
    script = _SCRIPTS.get(parts["modifier"] or "", parts["script"] or "").title()
    region = (parts["region"] or "").upper()
    return "-".join(filter(None, (parts["language"].lower(), script, region)))


def hreflang_warning(code: str) -> str | None:
    """Why Google does nothing with a code that `hreflang` has made, or `None` if it does."""
    region = code.rpartition("-")[2]
    if region.isdigit():
        return "names its region by a number, which Google does not support"
    if region in _NO_REGIONS:
        return f"names the region {region}, which has no effect at Google: {_NO_REGIONS[region]}"
    return None


def news_language(code: object) -> str:
    """The language of a publication as Google News has it: the language alone, but for Chinese.

    https://developers.google.com/search/docs/crawling-indexing/sitemaps/news-sitemap
    """
    whole = code.lower() if isinstance(code, str) and _LANGUAGE.fullmatch(code) else ""
    language, *parts = re.split("[-_@.]", whole)
    if language == "zh":
        for key, word in _CHINESE.items():
            if key in parts:
                return word
        raise ValueError(
            f"{code!r} does not tell which Chinese is meant: 'zh-cn' (simplified) and 'zh-tw' "
            "(traditional) are what Google News knows"
        )
    if not language.isalpha() or len(language) not in (2, 3):
        raise ValueError(
            f"{code!r} is not a language of Google News: a code of 2 or 3 letters is, such as 'en'"
        )
    return language
