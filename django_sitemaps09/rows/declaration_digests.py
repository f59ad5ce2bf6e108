"""Declaration digests: digests of everything except rows that determines the bytes of pages."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence, Set as AbstractSet
from contextlib import suppress
from datetime import date, datetime, time, timedelta, timezone
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
from django.db import connections
from django.db.models import QuerySet
from django.utils import translation

import django_sitemaps09
from django_sitemaps09.conf import conf, site_locale
from django_sitemaps09.declare.expressions import LocationTemplate, is_expression
from django_sitemaps09.declare.locations import CompiledRoute
from django_sitemaps09.declare.sitemap_attributes import Declared
from django_sitemaps09.orm.internals import compile_query

# A time this close to now, such as midnight today, was computed when the query was built.
_NOW, _DAY = timedelta(minutes=10), timedelta(days=1)
_PLAIN = (str, bytes, int, float, Decimal, date, timedelta, UUID, Enum, type(None))
# Packages whose classes change only with the package's version, which is part of the digest.
_VERSIONED = {"django", "django_sitemaps09", "builtins", "typing", "abc"}
_ADDRESS = re.compile(" at 0x[0-9A-Fa-f]+")
_PLACEHOLDERS = re.compile(r"IN \((%s(?:, %s)+)\)|%%|%s")


def digest_of(facts: object) -> str:
    """Return the digest of a value whose `repr()` is the same in each process."""
    return sha256(repr(facts).encode()).hexdigest()


def query_facts(rows: QuerySet[Any]) -> object:
    """Return the SQL and parameters of a query, without times that depend on when the query was built."""
    with site_locale():
        try:
            sql, parameters, _ = compile_query(rows, connections[rows.db])
        except EmptyResultSet:
            return ""
    remaining = iter(parameters)
    ordered: list[object] = []
    for match in _PLACEHOLDERS.finditer(sql):
        if match[0] == "%%":
            continue
        # A set has no order.
        group = [next(remaining) for _ in range(match[0].count("%s"))]
        ordered += sorted(group, key=str) if match[1] else group
    texts = [_ADDRESS.sub("", str(parameter)) for parameter in (*ordered, *remaining)]
    return sql, [text for text in texts if not _is_now(text)]


def class_facts(declared: Declared, hosts: object) -> object:
    """Return the facts that every sitemap has: settings, versions and the source code of its classes."""
    # For a compiled sitemap, `hosts` has no base, which never changes in a published section.
    # The attributes of an instance that affect pages are in its hooks and its query.
    versions = (django_sitemaps09.__version__, django.get_version())
    project = (settings.LANGUAGE_CODE, settings.TIME_ZONE, settings.USE_TZ)
    scheme = getattr(declared.sitemap, "protocol", None)
    section = (scheme, hosts, declared.limit, conf.limits.bytes, conf.stylesheet)
    return (*versions, *project, *section, [_class_source(cls) for cls in type(declared.sitemap).__mro__])


def declared_facts(declared: Declared) -> tuple[object, object]:
    """Return the facts of a compiled sitemap: its class, and its declarations except expressions."""
    languages = declared.languages
    form = (sorted(declared.namespaces.items()), declared.format, _stable_value(declared.x_default))
    hooks = [_hook_facts(hook, languages) for hook in declared.hooks.values()]
    return class_facts(declared, declared.hosts.others), (languages, declared.is_linked, *form, hooks)


def _hook_facts(hook: Any, languages: Sequence[str] | None) -> object:
    """Return a hook as stable values, without expressions, which are part of the query."""
    if isinstance(hook, Mapping):
        return [(str(code), _hook_facts(value, [str(code)])) for code, value in hook.items()]
    if not isinstance(hook, LocationTemplate):
        return "" if is_expression(hook) else _stable_value(hook)
    arguments = ["" if is_expression(value) else _stable_value(value) for value in hook.values]
    # What reverse() tries depends on the language, as the constants of a PathTemplate do.
    compiled: list[object] = []
    for language in languages or (conf.language,):
        with translation.override(language):
            template = hook.compiled()
        if isinstance(template, CompiledRoute):
            compiled += map(_candidate_facts, template.candidates)
        else:
            compiled.append(template)
    return hook.pattern, list(hook.kwargs), arguments, compiled


def _candidate_facts(candidate: Any) -> object:
    named_converters = sorted(candidate.converters.items())
    converters = [(name, _class_source(type(converter))) for name, converter in named_converters]
    defaults = _stable_value(candidate.defaults)
    return candidate.template, list(candidate.names), defaults, converters, candidate.regex.pattern


def _class_source(cls: type) -> tuple[str, str]:
    """Return the name of a class, with the digest of its module's file unless its package is versioned."""
    # The class calls other code of its module. Up to Python 3.12, finding its own source takes long, too.
    name, digest = f"{cls.__module__}.{cls.__qualname__}", ""
    if cls.__module__.partition(".")[0] not in _VERSIONED:
        with suppress(OSError, TypeError):
            path = Path(inspect.getfile(cls))
            status = path.stat()
            digest = _file_digest(path, status.st_mtime_ns, status.st_size)
    return name, digest


@lru_cache(maxsize=256)
def _file_digest(path: Path, changed: int, size: int) -> str:
    return sha256(path.read_bytes()).hexdigest()


def _stable_value(value: object) -> object:
    """Return a stand-in for a value, with the same `repr()` in each process."""
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


def _is_now(parameter: str) -> bool:
    """Return whether a parameter is a computed time, such as now or today, which differs in each run."""
    try:
        moment = datetime.fromisoformat(parameter)
    except ValueError:
        return False
    if moment.microsecond:
        # Nobody types microseconds, so the time was computed when the query was built.
        return True
    zones = [moment.tzinfo] if moment.tzinfo else [timezone.utc, conf.zone]
    now = datetime.now(timezone.utc)
    if moment.time() == time.min:
        # Allow one more day on both sides: midnight can pass between building the query and this check.
        return any(abs(now.astimezone(zone).date() - moment.date()) <= _DAY for zone in zones)
    return any(abs(now - moment.replace(tzinfo=zone)) < _NOW for zone in zones)
