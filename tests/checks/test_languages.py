"""Checks of languages: codes, switches and an x-default."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib import sitemaps as contrib
from django.test import override_settings

from django_sitemaps09 import Sitemap
from tests.models import Tag
from tests.support.checking import SLUG, Declared, declaration, ids, takes, unread

pytestmark = pytest.mark.usefixtures("nothing_is_asked")

LANGUAGES: list[Declared] = [
    ({"i18n": True, "languages": ["en", "de", "pt-br"], "alternates": True, "x_default": True}, []),
    ({"i18n": True, "languages": ("de",)}, []),
    ({"i18n": True, "languages": None, "alternates": True, "x_default": True}, []),
    ({"i18n": True, "languages": "en"}, ["E040"]),
    ({"languages": "en"}, ["E040"]),
    ({"i18n": True, "languages": 7}, ["E040"]),
    ({"i18n": True, "languages": ["fr"]}, ["W043"]),
    ({"i18n": True, "languages": ["pt-BR", "fr"]}, ["W043", "W043"]),
    ({"i18n": True, "languages": ["english"], "alternates": True}, ["W043", "W041"]),
    ({"i18n": True, "languages": [7], "alternates": takes}, ["W043", "W041"]),
    ({"i18n": True, "languages": ["es-419"], "alternates": True}, ["W043", "W042"]),
    # Without links, hreflang is never written.
    ({"i18n": True, "languages": ["es-419"]}, ["W043"]),
    ({"languages": ["en"]}, ["W044"]),
    ({"x_default": True}, ["W044"]),
    ({"alternates": True}, ["W044"]),
    ({"languages": ["fr"], "alternates": True, "x_default": True}, ["W044"]),
    ({"alternates": takes}, []),
    ({"alternates": takes, "x_default": takes}, []),
    ({"alternates": takes, "x_default": True}, ["W044"]),
    ({"i18n": True, "x_default": True}, ["W045"]),
    ({"i18n": True, "x_default": True, "alternates": False}, ["W045"]),
    ({"i18n": True, "x_default": True, "alternates": property(unread)}, []),
    ({"i18n": True, "x_default": takes}, []),
    ({"i18n": True, "languages": ["de"], "alternates": True, "x_default": True}, ["W046"]),
    ({"i18n": True, "languages": ["de"], "alternates": True, "x_default": takes}, []),
    ({"i18n": True, "languages": ["de"], "alternates": True, "x_default": property(unread)}, []),
    (
        {
            "i18n": True,
            "languages": ["de"],
            "alternates": True,
            "x_default": True,
            "get_languages_for_item": takes,
        },
        [],
    ),
    ({"i18n": property(unread), "languages": ["fr"], "x_default": True}, []),
    ({"i18n": True, "languages": property(unread), "alternates": True, "x_default": True}, []),
    ({"i18n": True, "languages": Tag.objects.values_list("name", flat=True)}, []),
    ({"__init__": unread, "languages": ["de"]}, []),
    ({"alternates": "yes"}, ["W047"]),
    ({"i18n": True, "alternates": ["de"]}, ["W047"]),
    ({"x_default": "en"}, ["W048"]),
    ({"alternates": None, "x_default": None, "languages": None}, []),
]


@pytest.mark.parametrize(("attributes", "expected"), LANGUAGES)
def test_languages_are_codes_and_switches_have_an_effect(
    attributes: dict[str, Any], expected: list[str]
) -> None:
    assert ids(declaration(location=SLUG, **attributes)) == expected


def test_an_x_default_needs_language_code_among_the_languages() -> None:
    declared = declaration(location=SLUG, i18n=True, alternates=True, x_default=True)
    with override_settings(LANGUAGE_CODE="en-us"):
        assert ids(declared) == ["W046"]


@pytest.mark.parametrize("base", [Sitemap, contrib.Sitemap], ids=["ours", "contribs"])
def test_languages_that_contrib_accepts_are_a_warning_on_a_class_without_expressions(base: type) -> None:
    assert ids(type("Old", (base,), {"items": takes, "i18n": True, "languages": "en"})) == ["W040"]


@pytest.mark.parametrize(
    ("codes", "switches", "expected"),
    [
        (["en", "fr"], {}, ["W043"]),
        (["en", "es-419"], {"alternates": True}, ["W043", "W042"]),
        (["de"], {"alternates": True, "x_default": True}, ["W046"]),
        (["en", "de"], {"alternates": True, "x_default": True}, []),
    ],
)
def test_the_keys_of_a_dict_are_languages(codes: list[str], switches: Any, expected: list[str]) -> None:
    location = dict.fromkeys(codes, SLUG)
    assert ids(declaration(location=location, i18n=True, **switches)) == expected
