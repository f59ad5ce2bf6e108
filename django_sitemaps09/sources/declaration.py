"""Declarations: the hooks of a sitemap, compiled to convert rows to a batch of text columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.utils import translation

from django_sitemaps09 import protocol
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import Batch, Column, ItemError, Localization, TemplateColumn
from django_sitemaps09.hooks import extensions, values
from django_sitemaps09.hooks.calls import Items
from django_sitemaps09.hooks.expressions import (
    FIELDS,
    ITEM_LANGUAGE,
    Field,
    alias,
    declared_expressions,
    format_name,
    is_missing,
    location_in,
    location_problem,
)
from django_sitemaps09.hooks.extensions import hreflang, spelling
from django_sitemaps09.hooks.values import allowed_hosts
from django_sitemaps09.hosts import AllowedHosts
from django_sitemaps09.protocol import Base
from django_sitemaps09.routing.location_templates import LocationTemplate, is_expression
from django_sitemaps09.sitemaps import is_original
from django_sitemaps09.sources.columns import (
    Rows,
    content_hooks,
    content_namespaces,
    drop_unlocated,
    project_extensions,
    template_locations,
)


@dataclass(frozen=True)
class Declaration:
    """Hooks, languages and hosts of a sitemap. Without `i18n`, `languages` is `None`."""

    sitemap: Any
    hosts: AllowedHosts
    expressions: Mapping[str, Any]
    languages: tuple[str, ...] | None

    @classmethod
    def from_sitemap(cls, sitemap: Any, base: Base) -> Declaration:
        """Raise `ImproperlyConfigured` for an invalid constant if the sitemap declares expressions."""
        languages = tuple(dict.fromkeys(sitemap._languages())) if sitemap.i18n else None  # noqa: SLF001 contrib's hook
        hosts = allowed_hosts(sitemap, base)
        if problem := location_problem(sitemap.location, languages):
            raise ImproperlyConfigured(f"{type(sitemap).__qualname__}.location {problem}.")
        declaration = cls(sitemap, hosts, declared_expressions(sitemap), languages)
        for name in FIELDS[1:]:
            declaration._constant(name, Items((), []))
        project_extensions(sitemap)
        return declaration

    @property
    def is_linked(self) -> bool:
        """Return whether the entries of an item in several languages link to each other."""
        has_links = self.languages is not None and bool(self.sitemap.alternates)
        return has_links and format_name(self.sitemap) != "text"

    @cached_property
    def namespaces(self) -> dict[str, str]:
        return content_namespaces(self.sitemap, is_linked=self.is_linked)

    @cached_property
    def needs_items(self) -> bool:
        """Return whether a hook or an extension takes items, so columns alone are not enough."""
        hooks = [getattr(self.sitemap, name, None) for name in FIELDS]
        hooks += [self.sitemap.x_default] if self.is_linked else []
        has_content = bool(content_hooks(self.sitemap) or project_extensions(self.sitemap))
        return self.has_languages_per_item or has_content or any(map(callable, hooks))

    @property
    def has_languages_per_item(self) -> bool:
        return self.languages is not None and not is_original(self.sitemap, "get_languages_for_item")

    @property
    def entries_per_item(self) -> int:
        """Number of entries of an item in all languages."""
        return 1 if ITEM_LANGUAGE in self.expressions else len(self.languages or ("",))

    def batch(self, rows: Rows) -> Batch:
        """Return the entries for a slice of rows. Invalid items and fields are skipped and reported."""
        rows = rows._replace(errors=[*rows.errors])
        with translation.override(conf.language):
            columns: dict[str, Any] = {name: self._texts(name, rows) for name in FIELDS[1:]}
            localizations = self._localizations(rows)
            self._report_languages(rows, localizations)
            rows, localizations, columns = drop_unlocated(rows, localizations, columns)
            hooks, own_extensions = content_hooks(self.sitemap), project_extensions(self.sitemap)
            results = extensions.content_results(hooks, own_extensions, rows.items or (), rows.keyed_items)
            if self.is_linked:
                localizations += self._x_default(rows, localizations)
            return extensions.create_batch(rows.keyed_items, localizations, columns, results, self.hosts)

    def _localizations(self, rows: Rows) -> list[Localization]:
        """Return the locations in each language, in the order of the sitemap's languages."""
        if self.languages is None:
            return [Localization("", self._locations(rows, None))]
        if ITEM_LANGUAGE in rows.columns:
            spell_own = cache(partial(spelling, languages=self.languages))
            own = list(map(spell_own, rows.columns[ITEM_LANGUAGE]))
            rows = rows._replace(columns={**rows.columns, ITEM_LANGUAGE: own})
        if not self.has_languages_per_item:
            everything = range(len(rows.keys))
            return [part for code in self.languages for part in self._localized(code, everything, rows)]
        spell, languages_of = cache(self._spell), self.sitemap.get_languages_for_item
        codes_by_item = rows.keyed_items.call(
            lambda item: list(map(spell, languages_of(item))), rows.items or (), "languages", failed=()
        )
        positions_by_code: dict[str, list[int]] = {}
        for position, codes in enumerate(codes_by_item):
            for code in dict.fromkeys(codes):
                positions_by_code.setdefault(code, []).append(position)
        # The order must not depend on how the rows are sliced.
        ranks = {code: rank for rank, code in enumerate(self.languages)}
        languages = sorted(positions_by_code, key=lambda code: (ranks.get(code, len(ranks)), code))
        return [part for code in languages for part in self._localized(code, positions_by_code[code], rows)]

    def _report_languages(self, rows: Rows, localizations: Sequence[Localization]) -> None:
        """Report the items that have no entry because their language is not one of the sitemap's."""
        codes = rows.columns.get(ITEM_LANGUAGE, ())
        problems = {code: extensions.language_problem(code, self.languages or ()) for code in {*codes}}
        if any(problems.values()):
            texts = [part.texts() for part in localizations if part.is_listed]
            for i, code in enumerate(codes):
                if (problem := problems[code]) and not any(column[i] for column in texts):
                    rows.keyed_items.skip(i, "item_language", problem)

    def _localized(self, code: str, positions: Sequence[int], rows: Rows) -> list[Localization]:
        """Return localizations in one language for items at these positions. Skip items without a location.

        With `item_language`, items in other languages only link to their location in this language.
        """
        is_dict = isinstance(self.sitemap.location, Mapping)
        if is_dict:
            columns = [rows.columns[name] for name in location_in(self.sitemap.location, code)[1]]
            positions = [i for i in positions if not any(is_missing(column[i]) for column in columns)]
        own = rows.columns.get(ITEM_LANGUAGE)
        if own is None:
            return [self._localization(code, positions, rows)]
        if not (is_dict and self.is_linked):
            return [self._localization(code, [i for i in positions if own[i] == code], rows)]
        localization = self._localization(code, positions, rows)
        pairs = list(zip(localization.texts(), own, strict=True))
        listed = [url if language == code else None for url, language in pairs]
        linked = [url if language != code else None for url, language in pairs]
        return [
            localization._replace(locations=listed),
            localization._replace(locations=linked, is_listed=False),
        ]

    def _localization(self, code: str, positions: Sequence[int], rows: Rows) -> Localization:
        language = self._hreflang(code, rows.keyed_items) if self.is_linked else ""
        with translation.override(code):
            localization = Localization(language, self._locations(rows.part(positions), code))
        if len(positions) == len(rows.keys):
            return localization
        locations: list[str | None] = [None] * len(rows.keys)
        for position, url in zip(positions, localization.texts(), strict=True):
            locations[position] = url
        return localization._replace(locations=locations)

    def _hreflang(self, code: str, items: Items) -> str:
        """Return the hreflang of a language; an empty string if it is invalid or already used."""
        language = hreflang(code)
        first = self._codes.get(language, code)
        if language and first == code:
            return language
        problem = f"has the same hreflang as {first!r}" if language else "is not a valid hreflang value"
        items.errors.append(ItemError("any", "alternates", f"the language {code!r} {problem}"))
        return ""

    @property
    def _codes(self) -> dict[str, str]:
        """Languages of the sitemap by hreflang. If languages have the same hreflang, the first is used."""
        return {hreflang(code): code for code in reversed(self.languages or ())}

    def _spell(self, code: object) -> str:
        own = spelling(protocol.language_text(code), self.languages or ())
        return own if own in (self.languages or ()) else hreflang(own).lower() or own

    def _x_default(self, rows: Rows, localizations: Sequence[Localization]) -> list[Localization]:
        """Return a list with the `x-default` localization, or an empty list if the sitemap has none."""
        hook, language = self.sitemap.x_default, hreflang(conf.language)
        if not hook:
            return []
        code = self._codes.get(language, conf.language)
        parts = [part for part in localizations if language and part.language == language]
        defaults = [extensions.x_default(part, code) for part in parts]
        if not callable(hook):
            return defaults
        results = rows.keyed_items.call(hook, rows.items or (), "x_default")
        default = defaults[0] if defaults else None
        if len(defaults) == 2:
            # With `item_language`, each item has a location in one of the two.
            texts = zip(*(localization.texts() for localization in defaults), strict=True)
            default = defaults[0]._replace(locations=[first or second for first, second in texts])
        return [extensions.x_default_by_method(default, results, self.hosts, rows.keyed_items)]

    def _locations(self, rows: Rows, code: str | None) -> Sequence[str | None] | TemplateColumn:
        hook, names = location_in(self.sitemap.location, code)
        columns = [rows.columns[name] for name in names]
        if isinstance(hook, LocationTemplate):
            return template_locations(hook.compiled(), columns, self.hosts, rows.keyed_items)
        urls = columns[0] if is_expression(hook) else self._values("location", rows)
        return values.locations(urls, self.hosts, rows.keyed_items)

    def _texts(self, name: Field, rows: Rows) -> Column:
        if name == "lastmod" and rows.lastmods is not None:
            return rows.lastmods
        hook = getattr(self.sitemap, name, None)
        if not callable(hook) and not is_expression(hook):
            return self._constant(name, rows.keyed_items)
        return values.texts(self._values(name, rows), name, rows.keyed_items)

    def _constant(self, name: str, items: Items) -> str | None:
        """Return a constant as a string, or `None` if the hook is not a constant.

        `django.contrib.sitemaps` accepts any value. So if the class declares no expressions, skip and
        report an invalid constant. Otherwise, raise `ImproperlyConfigured`.
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
        """Return the lastmod that is declared as a constant for all items, or `None`."""
        return self._constant("lastmod", Items((), []))

    def _values(self, name: Field, rows: Rows) -> Sequence[Any]:
        hook = getattr(self.sitemap, name, None)
        if is_expression(hook):
            return rows.columns[alias(name)]
        if callable(hook):
            return rows.keyed_items.call(hook, rows.items or (), name)
        return [hook] * len(rows.keys)
