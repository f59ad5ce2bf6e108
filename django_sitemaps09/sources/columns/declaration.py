"""Compile the hooks of a sitemap, which turn rows into a batch of text columns."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple, cast

from django.core.exceptions import ImproperlyConfigured
from django.utils import translation

from django_sitemaps09 import protocol
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import Batch, Column, ItemError, Localization, TemplateColumn, short_repr
from django_sitemaps09.hooks import values
from django_sitemaps09.hooks.expressions import FIELDS, Field, alias, declared_expressions
from django_sitemaps09.hooks.extensions import columns as extension_columns
from django_sitemaps09.hooks.formats import format_name
from django_sitemaps09.hooks.hosts import AllowedHosts
from django_sitemaps09.hooks.links import hreflang, x_default, x_default_by_method
from django_sitemaps09.hooks.values import Items
from django_sitemaps09.protocol import Base
from django_sitemaps09.routes import CompiledRoute, Route, is_expression
from django_sitemaps09.sitemaps import has_same_languages
from django_sitemaps09.sources.columns import extensions
from django_sitemaps09.sources.profiling import step


class Rows(NamedTuple):
    """Slice of a section. `columns` has the values of the declared expressions by alias.

    `lastmods` are text already if the database could make it. `errors` are of rows that could not be read.
    """

    keys: Sequence[Hashable]
    items: Sequence[Any] | None
    columns: Mapping[str, Sequence[Any]]
    lastmods: Sequence[str | None] | None = None
    errors: Sequence[ItemError] = ()

    @property
    def keyed_items(self) -> Items:
        """Items of the slice by their keys; what is skipped of them is added to `errors`."""
        return Items(self.keys, cast("list[ItemError]", self.errors))

    def part(self, positions: Sequence[int]) -> Rows:
        """Return the rows at these positions, which are in order and occur once."""
        if len(positions) == len(self.keys):
            return self
        return Rows(
            [self.keys[i] for i in positions],
            self.items and [self.items[i] for i in positions],
            {name: [column[i] for i in positions] for name, column in self.columns.items()},
            self.lastmods and [self.lastmods[i] for i in positions],
            self.errors,
        )


@dataclass(frozen=True, slots=True)
class Declaration:
    """Hooks, languages and hosts of a sitemap; `languages` is `None` for one without `i18n`."""

    sitemap: Any
    hosts: AllowedHosts
    expressions: Mapping[str, Any]
    languages: tuple[str, ...] | None

    @classmethod
    def of(cls, sitemap: Any, bases: tuple[Base, ...]) -> Declaration:
        """Return the declaration of a sitemap.

        If the sitemap declares expressions, raise `ImproperlyConfigured` for a constant that the protocol
        does not allow.
        """
        languages = tuple(dict.fromkeys(sitemap._languages())) if sitemap.i18n else None  # noqa: SLF001 contrib's hook
        hosts = AllowedHosts.of(sitemap, bases)
        declaration = cls(sitemap, hosts, declared_expressions(sitemap), languages)
        for name in FIELDS[1:]:
            declaration._constant(name, Items((), []))
        extensions.project_extensions(sitemap)
        return declaration

    @property
    def is_linked(self) -> bool:
        """Return whether each entry links to those in the other languages."""
        has_links = self.languages is not None and bool(self.sitemap.alternates)
        return has_links and format_name(self.sitemap) != "text"

    @property
    def namespaces(self) -> dict[str, str]:
        """Namespaces of all that entries can have besides the protocol's elements, by prefix."""
        return extensions.namespaces(self.sitemap, is_linked=self.is_linked)

    @property
    def needs_items(self) -> bool:
        """Return whether a hook is a method that takes the item."""
        hooks = [getattr(self.sitemap, name, None) for name in FIELDS]
        if self.is_linked:
            hooks.append(self.sitemap.x_default)
        return (
            self.has_languages_per_item
            or bool(extensions.hooks(self.sitemap) or extensions.project_extensions(self.sitemap))
            or any(map(callable, hooks))
        )

    @property
    def has_languages_per_item(self) -> bool:
        return self.languages is not None and not has_same_languages(self.sitemap)

    def rows_per_page(self, entries: int) -> int:
        """Return how many items make this many entries. A limit counts the entries of all languages."""
        return max(1, entries // self.entries_per_item)

    def entries_per_page(self, entries: int) -> int:
        """Return `entries`, or those of one item if they are more, since they are never separated."""
        return max(entries, self.entries_per_item)

    @property
    def entries_per_item(self) -> int:
        """Number of entries of one item, which is one for each language."""
        return max(1, len(self.languages or ("",)))

    def batch(self, rows: Rows) -> Batch:
        """Return the entries of a slice; what cannot be written is skipped, and named in `errors`."""
        rows = rows._replace(errors=[*rows.errors])
        with translation.override(conf.language):
            columns: dict[str, Any] = {name: self._texts(name, rows) for name in FIELDS[1:]}
            versions = self._versions(rows)
            rows, versions, columns = _drop_unlocated(rows, versions, columns)
            results = extensions.results(self.sitemap, rows.items or (), rows.keyed_items)
            if self.is_linked:
                versions = self._with_x_default(rows, versions)
            columns |= extension_columns(results, versions, self.hosts, rows.keyed_items)
        return Batch(
            keys=rows.keys,
            versions=versions,
            lastmods=columns.pop("lastmod"),
            changefreqs=columns.pop("changefreq"),
            priorities=columns.pop("priority"),
            errors=rows.errors,
            **columns,
        )

    def _versions(self, rows: Rows) -> list[Localization]:
        """Return the locations in each language, in the order of the sitemap's languages."""
        if self.languages is None:
            return [Localization("", self._locations(rows))]
        codes: Sequence[Sequence[str]] | None = None
        languages: Iterable[str] = dict.fromkeys(self.languages)
        if self.has_languages_per_item:
            with step("languages"):
                spell = cache(self._spell)

                def languages_of(item: Any) -> list[str]:
                    return list(map(spell, self.sitemap.get_languages_for_item(item)))

                codes_by_item = rows.keyed_items.each(languages_of, rows.items or (), "languages")
            codes = [() if item_codes is values.FAILED else item_codes for item_codes in codes_by_item]
            # The order must not depend on how the rows are sliced.
            positions = {code: position for position, code in enumerate(languages)}
            all_codes = {code for item_codes in codes for code in item_codes}
            languages = sorted(all_codes, key=lambda code: (positions.get(code, len(positions)), code))
        return [self._version(code, codes, rows) for code in languages]

    def _version(self, code: str, codes: Sequence[Sequence[str]] | None, rows: Rows) -> Localization:
        """Return the locations in one language; where `codes` are given, only for items that have it."""
        language = self._hreflang(code, rows.keyed_items) if self.is_linked else ""
        positions = range(len(rows.keys))
        if codes is not None:
            positions = [i for i, item_codes in enumerate(codes) if code in item_codes]  # type: ignore[assignment]
        with translation.override(code):
            locations = self._locations(rows.part(positions))
        if len(positions) == len(rows.keys):
            return Localization(language, locations)
        column: list[str | None] = [None] * len(rows.keys)
        for i, url in zip(
            positions,
            locations.texts() if isinstance(locations, TemplateColumn) else locations,
            strict=True,
        ):
            column[i] = url
        return Localization(language, column)

    def _hreflang(self, code: str, items: Items) -> str:
        """Return the hreflang of a language; an empty string if it has none, or shares an earlier one's."""
        language = hreflang(code)
        first = self._codes.get(language, code)
        if language and first == code:
            return language
        reason = f"the same hreflang as {first!r}" if language else "no hreflang"
        items.errors.append(ItemError("any", "alternates", f"the language {code!r} has {reason}"))
        return ""

    @property
    def _codes(self) -> dict[str, str]:
        """Languages of the sitemap by hreflang; the first one of those that share it."""
        return {hreflang(code): code for code in reversed(self.languages or ())}

    def _spell(self, code: object) -> str:
        """Return an item's language code as the sitemap spells it: two spellings are one language."""
        text = protocol.language_text(code)
        if text in (self.languages or ()):
            return text
        language = hreflang(text)
        return self._codes.get(language, language.lower()) if language else text

    def _with_x_default(self, rows: Rows, versions: list[Localization]) -> list[Localization]:
        """Return the localizations, and the `x-default` one if there is any."""
        hook = self.sitemap.x_default
        if not hook:
            return versions
        language = hreflang(conf.language)
        default = next((version for version in versions if language and version.language == language), None)
        unprefixed = (
            None if default is None else x_default(default, self._codes.get(language, conf.language))
        )
        if callable(hook):
            with step("x_default"):
                chosen = rows.keyed_items.each(hook, rows.items or (), "x_default")
            unprefixed = x_default_by_method(unprefixed, chosen, self.hosts, rows.keyed_items)
        return versions if unprefixed is None else [*versions, unprefixed]

    def _locations(self, rows: Rows) -> Sequence[str | None] | TemplateColumn:
        hook = self.sitemap.location
        if not isinstance(hook, Route):
            return values.locations(self._values("location", rows), self.hosts, rows.keyed_items)
        columns = [rows.columns[alias("location", position)] for position in range(len(hook.expressions))]
        route = hook.compiled()
        # Quoting a long text takes long, and does not make it shorter.
        has_long_text = any(map(_has_long_text, columns))
        urls = None if has_long_text else route.compose(columns)
        if urls is not None and urls.fits(self.hosts.room):
            return urls
        url = partial(_short_url, route) if has_long_text else route.url
        arguments = zip(*columns, strict=True) if columns else [()] * len(rows.keys)
        paths = rows.keyed_items.each(url, arguments, "location")
        return values.locations(paths, self.hosts, rows.keyed_items)

    def _texts(self, name: Field, rows: Rows) -> Column:
        """Return the column of an optional element."""
        if name == "lastmod" and rows.lastmods is not None:
            return rows.lastmods
        hook = getattr(self.sitemap, name, None)
        if not callable(hook) and not is_expression(hook):
            return self._constant(name, rows.keyed_items)
        return values.texts(name, self._values(name, rows), rows.keyed_items)

    def _constant(self, name: str, items: Items) -> str | None:
        """Return the text of a constant, which is the same for all rows.

        Contrib accepts any value. So if a class declares no expressions, an invalid constant is skipped and
        reported instead of raised.
        """
        value = getattr(self.sitemap, name, None)
        if callable(value) or is_expression(value):
            return None
        try:
            return values.CONVERTERS[name](value)
        except ValueError as error:
            if not self.expressions:
                items.errors.append(ItemError("any", name, str(error)))
                return None
            raise ImproperlyConfigured(
                f"{type(self.sitemap).__qualname__}.{name}: {error}. Change or remove it, or declare a "
                "query expression or a method that takes the item."
            ) from error

    def constant_lastmod(self) -> str | None:
        """Return the lastmod that all items share, if it is declared as a constant."""
        return self._constant("lastmod", Items((), []))

    def _values(self, name: Field, rows: Rows) -> Sequence[Any]:
        """Return the value of a hook for each row."""
        hook = getattr(self.sitemap, name, None)
        if is_expression(hook):
            return rows.columns[alias(name)]
        if callable(hook):
            with step(name):
                return rows.keyed_items.each(hook, rows.items or (), name)
        return [hook] * len(rows.keys)


def _has_long_text(column: Sequence[Any]) -> bool:
    """Return whether a column of arguments has a text that is longer than any location."""
    try:
        return max(map(len, column), default=0) > protocol.MAX_LOCATION
    except TypeError:
        return any(isinstance(value, str) and len(value) > protocol.MAX_LOCATION for value in column)


def _short_url(route: CompiledRoute, arguments: Sequence[Any]) -> str:
    """Return the path for the arguments of a row; raise `ValueError` for a text that is too long."""
    for value in arguments:
        if isinstance(value, str) and len(value) > protocol.MAX_LOCATION:
            raise ValueError(
                f"{short_repr(value)} has {len(value):,} characters; at most {protocol.MAX_LOCATION:,} are "
                "allowed"
            )
    return route.url(arguments)


def _drop_unlocated(
    rows: Rows, versions: list[Localization], columns: dict[str, Any]
) -> tuple[Rows, list[Localization], dict[str, Any]]:
    """Return the arguments without the items that have no location at all."""
    if any(version.is_complete for version in versions):
        return rows, versions, columns
    locations = [version.locations for version in versions]
    positions = [i for i in range(len(rows.keys)) if any(texts[i] for texts in locations)]
    if len(positions) == len(rows.keys):
        return rows, versions, columns
    parts = {
        name: column if column is None or isinstance(column, str) else [column[i] for i in positions]
        for name, column in columns.items()
    }
    return rows.part(positions), [version.part(positions) for version in versions], parts
