"""The sections that are registered, set, or passed in the URLconf, and what their classes declare."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

from django.core.checks import CheckMessage
from django.core.exceptions import ImproperlyConfigured

from django_sitemaps09 import sections
from django_sitemaps09.checks import urlconf
from django_sitemaps09.checks.declarations import check_declarations
from django_sitemaps09.checks.messages import message


def check_sections(app_configs: object = None, **kwargs: object) -> list[CheckMessage]:
    """Every section that there is to see, each mapping and each class once."""
    found: list[CheckMessage] = []
    known: Mapping[Any, Any] = {}
    try:
        known = sections.mapping()
    except (ImproperlyConfigured, ImportError) as error:
        hint = "Mend the setting SITEMAPS, or the sitemaps.py that is named."
        found.append(message("E005", str(error), hint))
    passed = urlconf.passed()
    on_our_road = [known, *(one.sitemaps for one in passed if one.names_urls)]
    for sitemaps in {id(sitemaps): sitemaps for sitemaps in on_our_road}.values():
        try:
            sections.named(sitemaps)
        except ImproperlyConfigured as error:
            found.append(message("W006", str(error), "Only contrib's own views take any name."))
    every = [known, *(one.sitemaps for one in passed)]
    return [*found, *check_declarations(chain.from_iterable(sitemaps.values() for sitemaps in every))]
