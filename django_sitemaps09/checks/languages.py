"""Check the language codes of sections, and language switches that have no effect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.conf import settings
from django.contrib import sitemaps as contrib
from django.core.checks import CheckMessage

from django_sitemaps09 import protocol
from django_sitemaps09.checks.subjects import (
    COLLECTIONS,
    class_of,
    data,
    graded,
    is_code,
    is_off,
    message,
    name_of,
    own_init,
    raw,
    safe_repr,
)
from django_sitemaps09.sitemaps import Sitemap


def check_languages(subject: Any) -> Iterator[CheckMessage]:
    """Check `i18n`, `languages`, `alternates` and `x_default` if they are constants."""
    languages = data(subject, "languages")
    if isinstance(languages, str) or (languages is not None and not hasattr(languages, "__iter__")):
        text = f"languages must be a list of codes, not {safe_repr(languages)}."
        yield graded(subject, "E040", "W040", text, "Set a list of codes, such as ['en', 'de'].")
        languages = None
    i18n = raw(subject, "i18n")
    if own_init(subject) or is_code(i18n):
        # The project's code determines whether the other attributes have an effect.
        return
    if is_off(i18n):
        yield from _check_idle_switches(subject, languages)
        return
    location, name = data(subject, "location"), "languages"
    if languages is None and isinstance(location, Mapping):
        languages, name = list(location), "location"
    if isinstance(languages, COLLECTIONS):
        for language in languages:
            yield from _check_language(subject, name, language)
    yield from _check_x_default(subject, languages)


def _check_idle_switches(subject: Any, languages: object) -> Iterator[CheckMessage]:
    idle = [name for name in ("alternates", "x_default") if data(subject, name) is True]
    if languages is not None:
        idle.insert(0, "languages")
    if idle:
        yield message(
            "W044",
            f"{name_of(subject)} sets attributes that have no effect without i18n: {', '.join(idle)}.",
            "Set i18n = True, or remove them. Without i18n, `alternates` must be a method that takes the "
            "item.",
        )


def _check_language(subject: Any, name: str, code: object) -> Iterator[CheckMessage]:
    codes = [code for code, _ in settings.LANGUAGES]
    if code not in codes:
        text = f"{name_of(subject)}.{name} contains {safe_repr(code)}, which is not in LANGUAGES."
        yield message("W043", text, f"Use a code from LANGUAGES: {', '.join(codes)}.")
    if is_off(raw(subject, "alternates")):
        # Language codes appear in the output only as the `hreflang` of links.
        return
    try:
        if not isinstance(code, str):
            raise ValueError(f"{safe_repr(code)} is not a string")
        problem = protocol.hreflang_warning(protocol.hreflang(code))
    except ValueError as error:
        yield message(
            "W041",
            f"{name_of(subject)}.{name} contains a code that is not valid in hreflang: {error}.",
            "Use an ISO 639-1 language, optionally followed by a script and a country, such as 'de', "
            "'de-at' or 'zh-hant'.",
        )
        return
    if problem:
        yield message(
            "W042",
            f"{name_of(subject)}.{name} contains {safe_repr(code)}: {problem}.",
            "Search engines ignore an unknown hreflang. Use a language, or a language and an ISO 3166-1 "
            "country, such as 'es-mx' or 'en-gb'.",
        )


def _check_x_default(subject: Any, languages: object) -> Iterator[CheckMessage]:
    alternates = raw(subject, "alternates")
    if data(subject, "x_default") is not True or is_code(alternates):
        return
    if is_off(alternates):
        text = f"{name_of(subject)}.x_default has no effect without alternates."
        yield message("W045", text, "Set alternates = True, or remove x_default.")
        return
    is_default = languages is None and raw(subject, "languages") is None
    codes = [code for code, _ in settings.LANGUAGES] if is_default else languages
    hooks = ("get_languages_for_item", "_languages")
    originals = (contrib.Sitemap, Sitemap)
    is_contribs = all(
        raw(class_of(subject), name) in [raw(cls, name) for cls in originals] for name in hooks
    )
    if is_contribs and isinstance(codes, COLLECTIONS) and settings.LANGUAGE_CODE not in codes:
        yield message(
            "W046",
            f"{name_of(subject)}.x_default adds no link: LANGUAGE_CODE ({settings.LANGUAGE_CODE!r}) is "
            "not one of the sitemap's languages.",
            "Add LANGUAGE_CODE to the languages, remove x_default, or define it as a method that takes "
            "the item.",
        )
