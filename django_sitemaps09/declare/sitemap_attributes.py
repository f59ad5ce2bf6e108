"""The attributes and methods of a sitemap for a host: read once for a source, and validated.

A class can be patched, and a property can depend on the instance, so nothing is kept between sources.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from numbers import Number
from typing import Any, Literal, TypeAlias, cast

from django.core.exceptions import ImproperlyConfigured

from django_sitemaps09.declare import expressions
from django_sitemaps09.declare.base import CONTRIB_INTERNALS, Sitemap, is_contribs, is_original
from django_sitemaps09.declare.calls import CONVERTERS, SHARED_ERRORS
from django_sitemaps09.declare.expressions import FIELDS, HOOKS, Field, Hook, is_expression
from django_sitemaps09.declare.extensions import namespaces, own_extensions
from django_sitemaps09.declare.hosts import AllowedHosts, parse_host
from django_sitemaps09.protocol.entries import ItemError
from django_sitemaps09.protocol.fields import short_repr, typed_repr
from django_sitemaps09.protocol.limits import MAX_NEWS, Limits
from django_sitemaps09.protocol.media import Extension
from django_sitemaps09.protocol.urls import Base
from django_sitemaps09.protocol.urlset import FORMATS

FormatName: TypeAlias = Literal["xml", "text"]


@dataclass(frozen=True)
class Declared:
    """Declaration of a sitemap. `hooks` and all that follow are not read of an opaque one."""

    sitemap: Any
    #: The base that paths are joined to.
    base: Base
    #: Maximum number of entries on a page, from the sitemap's `limit` and the limits of the protocol.
    limit: int
    hosts: AllowedHosts
    format: FormatName
    #: Methods that add content to entries, by name. Text files have only URLs, so no methods apply.
    content: Mapping[Hook, Callable[[Any], Any]]
    extensions: Sequence[Extension]
    #: Whether the entries of an item in several languages link to each other.
    is_linked: bool
    #: `location`, `lastmod`, `changefreq` and `priority`: constants, expressions or methods.
    hooks: Mapping[Field, Any] = field(default_factory=dict)
    #: The declared expressions by alias.
    expressions: Mapping[str, Any] = field(default_factory=dict)
    #: The text of each optional hook that is a constant, or `None` if it is missing or invalid.
    constants: Mapping[Field, str | None] = field(default_factory=dict)
    #: The invalid constants of a sitemap without expressions.
    errors: Sequence[ItemError] = ()
    #: Languages of the sitemap; `None` without `i18n`.
    languages: tuple[str, ...] | None = None
    x_default: Any = None
    #: `get_languages_for_item()` if a project overrides it.
    item_languages: Callable[[Any], Any] | None = None

    @property
    def namespaces(self) -> dict[str, str]:
        """Namespaces of all content that entries can have besides the protocol's elements, by prefix."""
        return namespaces(self.content, self.extensions, is_linked=self.is_linked)


def is_compiled(sitemap: object) -> bool:
    """Return whether a sitemap is compiled. Otherwise it is opaque, and read through `get_urls()`."""
    # isinstance() is true for a mock of the class.
    return issubclass(type(sitemap), Sitemap) and is_original(sitemap, *CONTRIB_INTERNALS)


def read(sitemap: Any, base: Base, limits: Limits) -> Declared:
    """Return what a sitemap that `bind()` returned declares. Raise `ImproperlyConfigured` if it is invalid.

    But `django.contrib.sitemaps` accepts any value, and a class for it can use our attributes for something
    else: without expressions, invalid constants are reported, and invalid `format` or `hosts` are ignored.
    """
    is_opaque, is_i18n = not is_compiled(sitemap), getattr(sitemap, "i18n", True)
    hooks = {} if is_opaque else {name: getattr(sitemap, name, None) for name in FIELDS}
    columns = expressions.expressions_in(hooks, sitemap.item_language if hooks and is_i18n else None)

    def value(name: str, default: Any, *, is_strict: bool = bool(columns)) -> Any:
        try:
            return RULES[name](getattr(sitemap, name, default), typed_repr)
        except Exception as error:
            if isinstance(error, ValueError) and is_strict:
                raise ImproperlyConfigured(f"{type(sitemap).__qualname__}.{name} {error}.") from error
            # A property can raise anything, also on a class that means something else by this name.
            if is_strict or isinstance(error, SHARED_ERRORS):
                raise
            return default

    format_name = value("format", "xml")
    if not is_opaque:
        base = Base(value("protocol", None, is_strict=True) or base.scheme, base.domain)
    hosts = AllowedHosts.parse(value("hosts", ()), base)
    is_text = format_name == "text"
    names = HOOKS if isinstance(sitemap, Sitemap) and not is_text else ()
    content = {name: hook for name in names if callable(hook := getattr(sitemap, name, None))}
    extensions = [] if is_text else own_extensions(sitemap)
    limit = min(limits.urls, MAX_NEWS) if "news" in content else limits.urls
    if is_opaque:
        # Methods of `django.contrib.sitemaps` write links only with `i18n`. A project's methods may always.
        is_linked = bool(is_i18n) or not all(is_contribs(sitemap, name) for name in ("get_urls", "_urls"))
        return Declared(sitemap, base, limit, hosts, format_name, content, extensions, is_linked)
    limit = min(limit, value("limit", None, is_strict=True))
    languages = tuple(dict.fromkeys(sitemap._languages())) if is_i18n else None  # noqa: SLF001 contrib's hook
    is_linked = languages is not None and bool(sitemap.alternates) and not is_text
    if problem := location_problem(hooks["location"], languages):
        raise ImproperlyConfigured(f"{type(sitemap).__qualname__}.location {problem}.")
    constants, errors = _constants(sitemap, hooks, is_strict=bool(columns))
    has_own_languages = is_i18n and not is_original(sitemap, "get_languages_for_item")
    item_languages = sitemap.get_languages_for_item if has_own_languages else None
    return Declared(
        *(sitemap, base, limit, hosts, format_name, content, extensions, is_linked),
        *(hooks, columns, constants, errors, languages, sitemap.x_default, item_languages),
    )


def _constants(
    sitemap: Any, hooks: Mapping[Field, Any], *, is_strict: bool
) -> tuple[dict[Field, str | None], list[ItemError]]:
    """Return the text of constants, and the errors of invalid ones."""
    constants: dict[Field, str | None] = {}
    errors = []
    for name in FIELDS[1:]:
        if callable(hooks[name]) or is_expression(hooks[name]):
            continue
        try:
            constants[name] = CONVERTERS[name](hooks[name])
        except ValueError as error:
            if is_strict:
                raise ImproperlyConfigured(
                    f"{type(sitemap).__qualname__}.{name}: {error}. Change or remove it, or declare a "
                    "query expression or a method that takes the item."
                ) from error
            constants[name] = None
            errors.append(ItemError("any", name, str(error)))
    return constants, errors


def location_problem(location: object, languages: Iterable[object] | None) -> str | None:
    """Return why a dict `location` is invalid, or `None`. Without `i18n`, `languages` is `None`."""
    if not isinstance(location, Mapping):
        return None
    if languages is None:
        return "is a dict by language, which has no effect without i18n"
    if not location:
        return "is an empty dict"
    missing = sorted({str(code) for code in languages if code not in location})
    if missing:
        return f"is a dict without the languages {', '.join(missing)}"
    for code, value in location.items():
        if not (isinstance(value, expressions.LocationTemplate) or is_expression(value)):
            forms, subject = "a Route, a PathTemplate or a query expression", short_repr(code)
            return f"is a dict whose value for {subject} must be {forms}, not {type(value).__name__}"
    return None


def _format(value: object, show: Callable[[object], str]) -> FormatName:
    if isinstance(value, str) and value in FORMATS:
        return cast("FormatName", value)
    raise ValueError(f"must be 'xml' or 'text', not {show(value)}")


def _protocol(value: object, show: Callable[[object], str]) -> object:
    if value and value not in ("http", "https"):
        raise ValueError(f"must be 'http' or 'https', not {show(value)}")
    return value


def _hosts(value: Any, show: Callable[[object], str]) -> Any:
    if value is not None and not isinstance(value, (list, tuple, set, frozenset)):
        raise ValueError(f"must be a list, not {show(value)}")
    for host in value or ():
        try:
            parse_host(host, "https")
        except ValueError as error:
            raise ValueError(f"contains {show(host)}: {error}") from error
    return value or ()


def page_size(limit: Any, show: Callable[[object], str] = typed_repr) -> int:
    """Return a `limit` as a positive integer, converted as in Django's paginator: `"60"` becomes 60."""
    with suppress(TypeError, ValueError, OverflowError):
        size = int(limit)
        # int() accepts True and 60.5, which are mistakes. A string such as "60" never equals the result.
        is_rounded = isinstance(limit, Number) and limit != size  # type: ignore[comparison-overlap]
        if size >= 1 and not is_rounded and not isinstance(limit, bool):
            return size
    raise ValueError(f"must be a whole number of at least 1, not {show(limit)}")


#: Rules of attributes, also for checks: they return the meaning of a value, or raise `ValueError`. The
#: second argument returns the words for a value.
RULES: dict[str, Callable[[Any, Callable[[object], str]], Any]] = {
    "format": _format,
    "protocol": _protocol,
    "limit": page_size,
    "hosts": _hosts,
}
