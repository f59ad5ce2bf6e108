"""Convert and check the values of entries: dates, changefreq, priority, and language codes."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Sequence
from datetime import date, datetime, timezone, tzinfo
from decimal import Decimal, InvalidOperation

from django_sitemaps09.protocol.entries import SafeColumn
from django_sitemaps09.protocol.fields import NOT_TEXTS, short_repr, typed_repr

CHANGEFREQS = ("always", "hourly", "daily", "weekly", "monthly", "yearly", "never")
# Maximum number of digits in a priority: far more than a float or a decimal column can have.
_PRIORITY_DIGITS = 1_000
# Maximum length, in characters, of a language code: much longer than any code in use.
_MAX_LANGUAGE = 100
_LANGUAGE = re.compile(r"[A-Za-z0-9]+([-_@.][A-Za-z0-9]+)*")
#: Scripts for the locale modifiers of the GNU C library, as in `sr_RS@latin`.
_SCRIPTS = {"cyrillic": "Cyrl", "devanagari": "Deva", "latin": "Latn"}
_PARTS_OF_LANGUAGE = re.compile(
    r"(?P<language>[A-Za-z]{2,3})"
    r"([-_](?P<script>[A-Za-z]{4})(?!.*@))?"
    r"([-_](?P<region>[A-Za-z]{2}|[0-9]{3}))?"
    rf"(@(?P<modifier>{'|'.join(_SCRIPTS)}))?"
)
#: Codes that are not regions, and why.
#: https://developers.google.com/search/docs/specialty/international/localized-versions
_NO_REGIONS = {**dict.fromkeys(("EU", "UN"), "it is not a country"), "UK": "the code of that country is GB"}
#: The Google News code for a script or a region of Chinese. A script takes precedence over a region.
_CHINESE = {"hans": "zh-cn", "hant": "zh-tw", "cn": "zh-cn", "sg": "zh-cn"}
_CHINESE |= dict.fromkeys(("tw", "hk", "mo"), "zh-tw")

_TO_ZERO = bytes.maketrans(b"123456789", b"000000000")
_FRACTION = re.compile(r"(?<=:[0-9][0-9])\.[0-9]{1,6}(?=[+\n])")


def w3c(value: date, zone: tzinfo) -> str:
    """Return a date as `2026-01-31`, and a datetime in UTC and whole seconds as `2026-01-31T10:30:00Z`.

    Unlike most formats, these are valid in the W3C note *and* the XSD, and can be sorted by time. A naive
    datetime is in `zone`.
    """
    if not isinstance(value, datetime):
        return value.isoformat()
    if value.tzinfo is None:
        value = value.replace(tzinfo=zone)
    return f"{value.astimezone(timezone.utc).isoformat('T', 'seconds')[:19]}Z"


def w3c_column(values: Sequence[date | None], zone: tzinfo) -> list[str | None]:
    return [None if value is None else w3c(value, zone) for value in values]


def w3c_texts(texts: Sequence[str | None], *, times: bool, zone: str = "") -> Sequence[str | None] | None:
    """Convert dates or UTC times that a database returns as strings, like `2026-01-31 10:30:00.25`.

    Each time ends in `zone`. The results are those of `w3c()`, in a fifth of the time. Return `None` if a
    string has another format, or if the day or the time does not exist.
    """
    values = [text for text in texts if text is not None] if None in texts else texts
    if not values:
        return texts
    if {*map(type, values)} != {str}:
        return None
    content = "\n".join(values) + "\n"  # type: ignore[arg-type]
    if times and "." in content:
        content = _FRACTION.sub("", content)
    line = f"0000-00-00 00:00:00{zone}\n" if times else "0000-00-00\n"
    if not content.isascii() or content.encode().translate(_TO_ZERO) != line.encode() * len(values):
        return None
    # A value can have another offset with the same number of digits. Recent versions of Python accept the
    # hour 24.
    if (zone and content.count(f"{zone}\n") != len(values)) or " 24:" in content:
        return None
    content = content.replace(f"{zone}\n", "\n")
    try:
        deque(map(datetime.fromisoformat, content.splitlines()), maxlen=0)
    except ValueError:
        return None
    if times:
        content = content.replace(" ", "T").replace("\n", "Z\n")
    column = SafeColumn(content.splitlines())
    if values is texts:
        return column
    remaining = iter(column)
    return [None if text is None else next(remaining) for text in texts]


def drop_future(lastmod: str | None) -> str | None:
    """Return a lastmod, or `None` if it is in the future: a missing lastmod is better than a wrong one."""
    now = w3c(datetime.now(timezone.utc), timezone.utc)
    return lastmod if lastmod is not None and lastmod <= now else None


def priority_text(value: object) -> str:
    """Return a number from 0.0 to 1.0 as a string with all digits, or raise `ValueError`."""
    # Use str(), since Decimal(0.3) has 54 digits.
    text = "" if isinstance(value, (bool, *NOT_TEXTS)) else str(value)
    try:
        number = Decimal("" if "_" in text or len(text) > _PRIORITY_DIGITS else text)
        is_valid = number.is_finite() and 0 <= number <= 1
        is_valid = is_valid and abs(int(number.as_tuple().exponent)) <= _PRIORITY_DIGITS
    except InvalidOperation:
        is_valid = False
    if not is_valid:
        raise ValueError(f"{typed_repr(value)} is not a priority; use a number from 0.0 to 1.0")
    # Not abs(), since it rounds to the digits of the decimal context.
    return format(number.copy_abs(), "f")


def changefreq_text(value: object) -> str:
    """Return a changefreq as a plain string. Raise `ValueError` for a word that is not in the protocol."""
    if value not in CHANGEFREQS:
        text = typed_repr(value, expected=str)
        raise ValueError(f"{text} is not a changefreq; use one of {', '.join(CHANGEFREQS)}")
    # Not str(value): for an enum member, it returns the name of the member.
    return CHANGEFREQS[CHANGEFREQS.index(value)]


def language_text(value: object) -> str:
    """Return a Django language code unchanged. Raise `ValueError` for an invalid one."""
    if not isinstance(value, str) or len(value) > _MAX_LANGUAGE or not _LANGUAGE.fullmatch(value):
        raise ValueError(f"{typed_repr(value, expected=str)} is not a language code")
    return value


def hreflang(code: object) -> str:
    """Convert a language code of Django, or a locale name, to an `hreflang` value such as `zh-Hant-TW`.

    Raise `ValueError` for other codes than a language with an optional script and an optional region, and
    `x-default`.
    """
    text = code if isinstance(code, str) and len(code) <= _MAX_LANGUAGE else ""
    if text.lower() == "x-default":
        return "x-default"
    parts = _PARTS_OF_LANGUAGE.fullmatch(text)
    if parts is None:
        raise ValueError(
            f"{typed_repr(code, expected=str)} is not a language code for hreflang. Use a language of 2 or "
            "3 letters, optionally with a script of 4 letters and a region of 2 letters or 3 digits, such "
            "as 'en', 'pt-BR' or 'zh-Hant-TW'; or use 'x-default'"
        )
    script = _SCRIPTS.get(parts["modifier"] or "", parts["script"] or "").title()
    region = (parts["region"] or "").upper()
    return "-".join(filter(None, (parts["language"].lower(), script, region)))


def hreflang_warning(code: str) -> str | None:
    """Return why Google ignores a result of `hreflang()`, or `None` if Google accepts it."""
    region = code.rpartition("-")[2]
    if region.isdigit():
        return "it has a numeric region, which Google does not support"
    if region in _NO_REGIONS:
        return f"it has the region {region}, which Google ignores: {_NO_REGIONS[region]}"
    return None


def news_language(code: object) -> str:
    """Convert a language code to the form for Google News: without a region, except for Chinese.

    https://developers.google.com/search/docs/crawling-indexing/sitemaps/news-sitemap
    """
    text = code if isinstance(code, str) and len(code) <= _MAX_LANGUAGE else ""
    language, *parts = re.split("[-_@.]", text.lower() if _LANGUAGE.fullmatch(text) else "")
    if language == "zh":
        if words := [word for key, word in _CHINESE.items() if key in parts]:
            return words[0]
        raise ValueError(
            f"{short_repr(code)} does not specify simplified or traditional Chinese; use 'zh-cn' "
            "(simplified) or 'zh-tw' (traditional) for Google News"
        )
    if not language.isalpha() or len(language) not in (2, 3):
        raise ValueError(
            f"{typed_repr(code, expected=str)} is not a language code for Google News; use a code of 2 or "
            "3 letters, such as 'en'"
        )
    return language


def check_links(
    links: Sequence[tuple[str, str]], others: Sequence[tuple[str, str]], pages: Collection[str]
) -> None:
    """Raise `ValueError` if crawlers would ignore a set of links, which are pairs of language and URL.

    `others` are valid links of the same set. Each language must be unique, and the URLs must include the
    `pages`: "Each language version must list itself as well as all other language versions" (Google,
    "Localized versions of your pages").
    """
    languages: set[str] = set()
    for language, _ in (*others, *links):
        if language in languages:
            raise ValueError(f"the links contain the language {language!r} more than once")
        languages.add(language)
    if links and not {*pages} <= {url for _, url in (*others, *links)}:
        raise ValueError("the links do not include the item's own URL, so crawlers ignore them")
