"""Check sections that are registered, set, or passed in the URLconf, and what their classes declare."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from itertools import chain
from typing import Any, cast

from django.core.checks import CheckMessage
from django.core.exceptions import ImproperlyConfigured

from django_sitemaps09 import sections
from django_sitemaps09.checks import urlconf
from django_sitemaps09.checks.declarations import check_declarations
from django_sitemaps09.checks.messages import message
from django_sitemaps09.checks.settings import export_settings
from django_sitemaps09.checks.urlconf import Passed
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import MAX_MESSAGE, excerpt, reason_of

_READERS = ("__iter__", "keys", "values", "items")
_BUILT_IN = {dict, OrderedDict}


def check_sections(app_configs: object = None, **kwargs: object) -> list[CheckMessage]:
    """Check every section that can be found, each mapping and each class once."""
    found: list[CheckMessage] = []
    known: object = None
    passed = urlconf.passed()
    try:
        known = _known(passed)
    except Exception as error:  # noqa: BLE001 the modules of a project can raise anything
        is_told = isinstance(error, (ImproperlyConfigured, ImportError))
        hint = "Fix SITEMAPS09['SITEMAPS'], or the sitemaps.py that is named."
        found.append(message("E005", excerpt(error, MAX_MESSAGE) if is_told else reason_of(error), hint))
    on_our_road = [known, *(one.sitemaps for one in passed if one.names_urls)]
    for sitemaps in {id(sitemaps): sitemaps for sitemaps in on_our_road}.values():
        try:
            sections.native_mapping(_read(sitemaps))
        except ImproperlyConfigured as error:
            found.append(
                message("W006", str(error), "Rename the section. Only contrib's views accept any name.")
            )
    every = [known, *(one.sitemaps for one in passed)]
    return [*found, *check_declarations(chain.from_iterable(_read(one).values() for one in every))]


def _known(passed: Iterable[Passed]) -> object:
    """Return the sections that are declared without a URLconf.

    The `sitemaps` modules of apps are imported only if their sections are served or exported. A project
    that passes a mapping may have old modules that can no longer be imported.
    """
    if conf.sitemaps is not None:
        return sections.mapping()
    is_served = any(one.sitemaps is None for one in passed)
    return sections.registered(discover=is_served or bool(export_settings(conf.settings_dict)))


def _read(sitemaps: object) -> dict[Any, Any]:
    """Return the sections of a dict, or none for another mapping, which may query when it is read.

    A subclass, such as `defaultdict`, is a dict unless a project's class changes how it is read.
    """
    kind = type(sitemaps)
    if not issubclass(kind, dict):
        return {}
    readers = {next(base for base in kind.__mro__ if name in vars(base)) for name in _READERS}
    return dict(dict.items(cast("dict[Any, Any]", sitemaps))) if readers <= _BUILT_IN else {}
