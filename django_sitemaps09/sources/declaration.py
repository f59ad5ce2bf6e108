"""The hooks of a sitemap compiled: rows in, a batch of text columns out."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.core.exceptions import ImproperlyConfigured
from django.utils import translation

from django_sitemaps09 import protocol
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import Alternate, Batch, Column, Composed, ItemError
from django_sitemaps09.protocol import Base
from django_sitemaps09.routes import Route, is_expression
from django_sitemaps09.sitemaps import FIELDS, Field, Sitemap, alias, declared_expressions
from django_sitemaps09.sources import values
from django_sitemaps09.sources.costs import step


class Rows(NamedTuple):
    """A slice of a section. `columns` are the values of the declared expressions by their aliases.

    `lastmods` are text already, where the database could make it.
    """

    keys: Sequence[Hashable]
    items: Sequence[Any] | None
    columns: Mapping[str, Sequence[Any]]
    lastmods: Sequence[str | None] | None = None

    def part(self, positions: Sequence[int]) -> Rows:
        """The rows at these positions, which are in order and come once."""
        if len(positions) == len(self.keys):
            return self
        return Rows(
            [self.keys[i] for i in positions],
            self.items and [self.items[i] for i in positions],
            {name: [column[i] for i in positions] for name, column in self.columns.items()},
            self.lastmods and [self.lastmods[i] for i in positions],
        )


@dataclass(frozen=True, slots=True)
class Declaration:
    """A sitemap's hooks, languages and base; `languages` is `None` for one without `i18n`."""

    sitemap: Any
    base: Base
    expressions: Mapping[str, Any]
    languages: tuple[str, ...] | None

    @classmethod
    def of(cls, sitemap: Any, base: Base) -> Declaration:
        """`ImproperlyConfigured` where a constant is one that the protocol does not admit."""
        languages = tuple(sitemap._languages()) if sitemap.i18n else None
        declaration = cls(sitemap, base, declared_expressions(sitemap), languages)
        for name in FIELDS[1:]:
            declaration._constant(name, [])
        return declaration

    @property
    def alternates(self) -> bool:
        """Whether each entry names those in the other languages."""
        return self.languages is not None and bool(self.sitemap.alternates)

    @property
    def needs_items(self) -> bool:
        """Whether a hook is a method that takes the item."""
        return self._languages_per_item or any(
            callable(getattr(self.sitemap, name, None)) for name in FIELDS
        )

    @property
    def _languages_per_item(self) -> bool:
        method = type(self.sitemap).get_languages_for_item
        return self.languages is not None and method is not Sitemap.get_languages_for_item

    def rows_per_page(self, entries: int) -> int:
        """How many items have so many entries: a limit counts those of all languages."""
        return max(1, entries // self._entries_per_item)

    def entries_per_page(self, entries: int) -> int:
        """So many entries, or those of one item if they are more: they are never parted."""
        return max(entries, self._entries_per_item)

    @property
    def _entries_per_item(self) -> int:
        return len(self.languages or ("",))

    def batch(self, rows: Rows) -> Batch:
        """The entries of a slice. What cannot be written is left out, and named in `errors`."""
        errors: list[ItemError] = []
        with translation.override(conf.language):
            columns: dict[str, Column] = {name: self._texts(name, rows, errors) for name in FIELDS[1:]}
            if self.languages is None:
                locations = self._locations(rows, errors)
                if isinstance(locations, Composed) or None not in locations:
                    return _batch(rows.keys, locations, columns, errors)
                entries = [(i, "") for i, url in enumerate(locations) if url is not None]
                by_language = {"": locations}
            else:
                by_language, entries = self._translated(rows, errors)
        return _batch(
            [rows.keys[i] for i, _ in entries],
            [by_language[code][i] for i, code in entries],
            {name: _taken(column, entries) for name, column in columns.items()},
            errors,
            self._alternates(by_language, entries) if self.alternates else None,
        )

    def _translated(
        self, rows: Rows, errors: list[ItemError]
    ) -> tuple[dict[str, Sequence[str | None]], list[tuple[int, str]]]:
        """The locations of each language, and which item is listed in which, item by item."""
        codes: Sequence[Sequence[str]] = [self.languages or ()] * len(rows.keys)
        if self._languages_per_item:
            with step("languages"):
                several = values.each(self._languages_of, rows.items or (), rows.keys, "languages", errors)
            codes = [() if some is values.FAILED else some for some in several]
        by_language: dict[str, Sequence[str | None]] = {}
        for code in dict.fromkeys(code for some in codes for code in some):
            listed = [i for i, some in enumerate(codes) if code in some]
            with translation.override(code):
                found = self._locations(rows.part(listed), errors)
            urls = found.texts() if isinstance(found, Composed) else found
            by_language[code] = urls
            if len(listed) < len(codes):
                spread: list[str | None] = [None] * len(codes)
                by_language[code] = spread
                for i, url in zip(listed, urls, strict=True):
                    spread[i] = url
        entries = [(i, c) for i, some in enumerate(codes) for c in some if by_language[c][i]]
        return by_language, entries

    def _languages_of(self, item: Any) -> list[str]:
        return [protocol.language_text(code) for code in self.sitemap.get_languages_for_item(item)]

    def _alternates(
        self, by_language: Mapping[str, Sequence[str | None]], entries: Iterable[tuple[int, str]]
    ) -> list[list[Alternate]]:
        """For each entry the whole set of its item's languages, itself included."""
        links: dict[int, list[Alternate]] = {}
        entries = list(entries)
        for i, code in entries:
            links.setdefault(i, []).append(Alternate(code, by_language[code][i] or ""))
        if self.sitemap.x_default:
            default = conf.language
            for found in links.values():
                url = next((link.location for link in found if link.language == default), None)
                if url is not None:
                    # As contrib: the default language's URL less its prefix.
                    found.append(Alternate("x-default", url.replace(f"/{default}/", "/", 1)))
        return [links[i] for i, _ in entries]

    def _locations(self, rows: Rows, errors: list[ItemError]) -> Sequence[str | None] | Composed:
        hook = self.sitemap.location
        if not isinstance(hook, Route):
            return values.locations(self._values("location", rows, errors), self.base, rows.keys, errors)
        columns = [rows.columns[alias("location", p)] for p in range(len(hook.expressions))]
        route = hook.compiled()
        urls = route.composed(columns, str(self.base))
        if urls is not None and urls.within(protocol.MAX_LOCATION):
            return urls
        arguments = zip(*columns, strict=True) if columns else [()] * len(rows.keys)
        paths = values.each(route.url, arguments, rows.keys, "location", errors)
        return values.locations(paths, self.base, rows.keys, errors)

    def _texts(self, name: Field, rows: Rows, errors: list[ItemError]) -> Column:
        """The column of an optional element."""
        if name == "lastmod" and rows.lastmods is not None:
            return rows.lastmods
        hook = getattr(self.sitemap, name, None)
        if not callable(hook) and not is_expression(hook):
            return self._constant(name, errors)
        return values.texts(name, self._values(name, rows, errors), rows.keys, errors)

    def _constant(self, name: str, errors: list[ItemError]) -> str | None:
        """The text of a constant, once.

        Contrib takes any; so a class that declares nothing but what contrib knows is let off with
        the element left out.
        """
        value = getattr(self.sitemap, name, None)
        if callable(value) or is_expression(value):
            return None
        try:
            return values.CONVERTERS[name](value)
        except ValueError as error:
            if not self.expressions:
                errors.append(ItemError("any", name, str(error)))
                return None
            raise ImproperlyConfigured(
                f"{type(self.sitemap).__qualname__}.{name}: {error}. Change it, leave it out, or "
                "declare a query expression or a method that takes the item."
            ) from error

    def constant_lastmod(self) -> str | None:
        """The lastmod that all items share, if it is declared so."""
        return self._constant("lastmod", [])

    def _values(self, name: Field, rows: Rows, errors: list[ItemError]) -> Sequence[Any]:
        """What a hook gives for each row."""
        hook = getattr(self.sitemap, name, None)
        if is_expression(hook):
            return rows.columns[alias(name)]
        if callable(hook):
            with step(name):
                return values.each(hook, rows.items or (), rows.keys, name, errors)
        return [hook] * len(rows.keys)


def _batch(
    keys: Sequence[Hashable],
    locations: Any,
    columns: Mapping[str, Column],
    errors: list[ItemError],
    alternates: Sequence[Sequence[Alternate]] | None = None,
) -> Batch:
    return Batch(
        keys=keys,
        locations=locations,
        lastmods=columns["lastmod"],
        changefreqs=columns["changefreq"],
        priorities=columns["priority"],
        alternates=alternates,
        errors=errors,
    )


def _taken(column: Column, entries: Sequence[tuple[int, str]]) -> Column:
    """A column of the rows as a column of the entries."""
    if column is None or isinstance(column, str):
        return column
    return [column[i] for i, _ in entries]
