"""Digests of what decides the bytes of pages besides their rows, equal in each process."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

import django
from django.conf import settings
from django.core.exceptions import EmptyResultSet
from django.db.models import QuerySet
from django.utils import translation

import django_sitemaps09
from django_sitemaps09.conf import conf, site_locale
from django_sitemaps09.django_internals import sql_of
from django_sitemaps09.hooks.expressions import FIELDS
from django_sitemaps09.hooks.formats import format_name
from django_sitemaps09.routes import Route, is_expression
from django_sitemaps09.sources.columns.declaration import Declaration

# A point in time in a query that is this close to now depends on when the query was made.
_NOW = timedelta(minutes=10)
_PLAIN = (str, bytes, int, float, Decimal, date, timedelta, UUID, Enum, type(None))
# Classes of these packages do not change unless a version does.
_VERSIONED = {"django", "django_sitemaps09", "builtins", "typing", "abc"}
_PLACEHOLDERS = re.compile(r"IN \((%s(?:, %s)+)\)|%%|%s")


def digest(facts: object) -> str:
    """Return the digest of anything for which `repr()` is the same in each process."""
    return sha256(repr(facts).encode()).hexdigest()


def lasting_parameters(parameters: Iterable[object]) -> list[str]:
    """Return the parameters of a query as text, except times that depend on when it was made."""
    return [text for text in map(str, parameters) if not _is_now(text)]


def query_facts(rows: QuerySet[Any]) -> object:
    """Return the SQL and parameters of rows. Parameters of an `IN` are sorted, since a set has no order."""
    with site_locale():
        try:
            sql, parameters = sql_of(rows)
        except EmptyResultSet:
            return ""
    remaining = iter(parameters)
    ordered: list[object] = []
    for match in _PLACEHOLDERS.finditer(sql):
        if match[0] == "%%":
            continue
        group = [next(remaining) for _ in range(match[0].count("%s"))]
        ordered += sorted(group, key=str) if match[1] else group
    return sql, lasting_parameters(map(_without_address, [*ordered, *remaining]))


def class_facts(sitemap: Any, hosts: object, limit: int) -> object:
    """Return what any sitemap has: settings, versions and the source of its classes.

    The base is not included, since all that is published beside the section shares it. Nor are attributes
    of an instance: those that affect pages are in hooks or in the query, and others can be a cache.
    """
    return (
        django_sitemaps09.__version__,
        django.get_version(),
        settings.LANGUAGE_CODE,
        settings.TIME_ZONE,
        settings.USE_TZ,
        getattr(sitemap, "protocol", None),
        hosts,
        limit,
        conf.limits.bytes,
        [_class_source(cls) for cls in type(sitemap).__mro__],
    )


def declaration_facts(declaration: Declaration) -> object:
    """Return what a compiled sitemap declares besides its expressions."""
    sitemap = declaration.sitemap
    return (
        declaration.languages,
        declaration.is_linked,
        sorted(declaration.namespaces.items()),
        format_name(sitemap),
        _stable_value(sitemap.x_default),
        [_hook_facts(getattr(sitemap, name, None), declaration.languages) for name in FIELDS],
    )


def _hook_facts(hook: Any, languages: Sequence[str] | None) -> object:
    """Return a hook as stable values; for a `Route`, what `reverse()` would try in each language.

    Expressions are part of the query.
    """
    if not isinstance(hook, Route):
        return "" if is_expression(hook) else _stable_value(hook)
    arguments = ["" if is_expression(value) else _stable_value(value) for value in hook.values]
    candidates = []
    for language in languages or (conf.language,):
        with translation.override(language):
            candidates += [_candidate_facts(candidate) for candidate in hook.compiled().candidates]
    return hook.viewname, list(hook.kwargs), arguments, candidates


def _candidate_facts(candidate: Any) -> object:
    converters = [
        (name, _class_source(type(converter))) for name, converter in sorted(candidate.converters.items())
    ]
    names = list(candidate.names)
    return candidate.template, names, _stable_value(candidate.defaults), converters, candidate.regex.pattern


def _class_source(cls: type) -> tuple[str, str]:
    """Return the name of a class, and the digest of its module's file unless a version covers it.

    The text of the class alone is not enough, since the code that it calls is mostly beside it. Finding
    that text also took Python up to 3.12 a tenth of a second.
    """
    name = f"{cls.__module__}.{cls.__qualname__}"
    if cls.__module__.partition(".")[0] in _VERSIONED:
        return name, ""
    try:
        path = Path(inspect.getfile(cls))
        status = path.stat()
        return name, _file_digest(path, status.st_mtime_ns, status.st_size)
    except (OSError, TypeError):
        return name, ""


@lru_cache(maxsize=256)
def _file_digest(path: Path, changed: int, size: int) -> str:
    return sha256(path.read_bytes()).hexdigest()


def _stable_value(value: object) -> object:
    """Return what `repr()` writes the same in each process; the class name of other than plain values."""
    if isinstance(value, Mapping):
        return sorted((str(key), repr(_stable_value(item))) for key, item in value.items())
    if isinstance(value, AbstractSet):
        return sorted(repr(_stable_value(item)) for item in value)
    if isinstance(value, (list, tuple)):
        return [_stable_value(item) for item in value]
    if isinstance(value, _PLAIN):
        return type(value).__qualname__, str(value)
    definition = value if isinstance(value, type) or inspect.isroutine(value) else type(value)
    return getattr(definition, "__module__", ""), getattr(definition, "__qualname__", "")


def _without_address(parameter: object) -> str:
    return re.sub(r" at 0x[0-9A-Fa-f]+", "", str(parameter))


def _is_now(parameter: str) -> bool:
    """Return whether a parameter is the text of a computed time, such as now, which differs in each run."""
    try:
        moment = datetime.fromisoformat(parameter)
    except ValueError:
        return False
    if moment.microsecond:
        # Microseconds are never typed by hand: such a moment was computed from the time of the query.
        return True
    zones = [moment.tzinfo] if moment.tzinfo else [timezone.utc, conf.zone]
    now = datetime.now(timezone.utc)
    return any(abs(now - moment.replace(tzinfo=zone)) < _NOW for zone in zones)
