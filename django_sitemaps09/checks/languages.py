"""Check sections in several languages: their codes, and switches that have no effect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.contrib import sitemaps as contrib
from django.core.checks import CheckMessage

from django_sitemaps09 import protocol
from django_sitemaps09.checks.messages import message
from django_sitemaps09.checks.subjects import (
    class_of,
    data,
    is_code,
    is_off,
    is_strict,
    name_of,
    own_init,
    raw,
    shown,
)

_ITERABLE = (list, tuple, set, frozenset)


def check_languages(subject: Any) -> Iterator[CheckMessage]:
    """Check `i18n`, `languages`, `alternates` and `x_default`, where they are data."""
    languages = data(subject, "languages")
    if isinstance(languages, str) or (languages is not None and not hasattr(languages, "__iter__")):
        yield message(
            "E040" if is_strict(subject) else "W040",
            f"{name_of(subject)}.languages is {shown(languages)}, and no list of codes; of a text each "
            "letter would be a language.",
            "Set a list of codes, such as ['en', 'de'].",
        )
        languages = None
    i18n = raw(subject, "i18n")
    if own_init(subject) or is_code(i18n):
        # Only an instance knows whether the rest has any effect.
        return
    if is_off(i18n):
        yield from _without_effect(subject, languages)
        return
    if isinstance(languages, _ITERABLE):
        for code in languages:
            yield from _code(subject, code)
    yield from _x_default(subject, languages)


def _without_effect(subject: Any, languages: object) -> Iterator[CheckMessage]:
    idle = [name for name in ("alternates", "x_default") if data(subject, name) is True]
    if languages is not None:
        idle.insert(0, "languages")
    if idle:
        yield message(
            "W044",
            f"{name_of(subject)} sets {', '.join(idle)}, which has no effect while i18n is false.",
            "Set i18n = True, or leave it out; `alternates` can be a method that takes the item without "
            "i18n.",
        )


def _code(subject: Any, code: object) -> Iterator[CheckMessage]:
    known = [code for code, _ in settings.LANGUAGES]
    if code not in known:
        yield message(
            "W043",
            f"{name_of(subject)}.languages has {shown(code)}, which is not in LANGUAGES.",
            f"LANGUAGES has: {', '.join(known)}.",
        )
    if is_off(raw(subject, "alternates")):
        # Languages are named only in links between them.
        return
    try:
        if not isinstance(code, str):
            raise ValueError(f"{shown(code)} is no text")
        unknown = protocol.hreflang_warning(protocol.hreflang(code))
    except ValueError as error:
        yield message(
            "W041",
            f"{name_of(subject)}.languages has a code that hreflang cannot express: {error}.",
            "hreflang takes a language of ISO 639-1, and perhaps a script and a country behind it: "
            "'de', 'de-at', 'zh-hant'.",
        )
        return
    if unknown:
        yield message(
            "W042",
            f"{name_of(subject)}.languages has {shown(code)}: {unknown}.",
            "Engines ignore an hreflang that they do not know: name a language, or a language and a "
            "country of ISO 3166-1, such as 'es-mx' or 'en-gb'.",
        )


def _x_default(subject: Any, languages: object) -> Iterator[CheckMessage]:
    alternates = raw(subject, "alternates")
    if data(subject, "x_default") is not True or is_code(alternates):
        return
    if is_off(alternates):
        yield message(
            "W045",
            f"{name_of(subject)}.x_default has no effect while alternates is false.",
            "Set alternates = True, or leave x_default out.",
        )
        return
    codes = [code for code, _ in settings.LANGUAGES] if raw(subject, "languages") is None else languages
    if isinstance(codes, _ITERABLE) and _as_in_contrib(subject) and settings.LANGUAGE_CODE not in codes:
        yield message(
            "W046",
            f"{name_of(subject)}.x_default writes no link: LANGUAGE_CODE, {settings.LANGUAGE_CODE!r}, is "
            "none of its languages.",
            "Add it to the languages, leave x_default out, or make it a method that takes the item.",
        )


def _as_in_contrib(subject: Any) -> bool:
    """Return whether contrib's own code determines the languages of an item."""
    names = ("get_languages_for_item", "_languages")
    return all(raw(class_of(subject), name) is raw(contrib.Sitemap, name) for name in names)
