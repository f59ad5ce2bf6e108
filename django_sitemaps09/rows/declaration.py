"""Declarations: what a sitemap declares, compiled to convert rows to a batch of text columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import chain
from typing import Any

from django.utils import translation

from django_sitemaps09 import protocol
from django_sitemaps09.conf import conf
from django_sitemaps09.declare import extensions, hook_values as values
from django_sitemaps09.declare.calls import Items
from django_sitemaps09.declare.declared import Declared
from django_sitemaps09.declare.expressions import (
    FIELDS,
    ITEM_LANGUAGE,
    Field,
    alias,
    is_missing,
    location_in,
)
from django_sitemaps09.declare.extensions import hreflang, spelling
from django_sitemaps09.declare.location_templates import LocationTemplate, is_expression
from django_sitemaps09.protocol import Batch, Column, ItemError, Localization, TemplateColumn
from django_sitemaps09.rows.columns import Rows, drop_unlocated, template_locations


@dataclass(frozen=True)
class Declaration:
    """Conversion of rows to a batch, as a compiled sitemap declares it."""

    declared: Declared

    @property
    def expressions(self) -> Mapping[str, Any]:
        return self.declared.expressions

    @cached_property
    def needs_items(self) -> bool:
        """Return whether a hook or an extension takes items, so columns alone are not enough."""
        declared = self.declared
        hooks = [*declared.hooks.values(), declared.x_default if declared.is_linked else None]
        has_content = bool(declared.content or declared.extensions or declared.item_languages)
        return has_content or any(map(callable, hooks))

    @property
    def entries_per_item(self) -> int:
        """Number of entries of an item in all languages."""
        return 1 if ITEM_LANGUAGE in self.expressions else len(self.declared.languages or ("",))

    def batch(self, rows: Rows, homes: set[str] | None = None) -> Batch:
        """Return the entries for a slice of rows. Invalid items and fields are skipped and reported.

        `homes` are the languages in which the page has an empty location so far, for all its slices.
        """
        homes = set() if homes is None else homes
        declared, rows = self.declared, rows._replace(errors=[*rows.errors, *self.declared.errors])
        with translation.override(conf.language):
            columns: dict[str, Any] = {name: self._texts(name, rows) for name in FIELDS[1:]}
            localizations = self._localizations(rows, homes)
            self._report_languages(rows, localizations)
            rows, localizations, columns = drop_unlocated(rows, localizations, columns)
            content, items = (declared.content, declared.extensions), rows.keyed_items
            results = extensions.content_results(*content, rows.items or (), items)
            if declared.is_linked:
                localizations += self._x_default(rows, localizations)
            return extensions.create_batch(items, localizations, columns, results, declared.hosts)

    def _localizations(self, rows: Rows, homes: set[str]) -> list[Localization]:
        """Return the locations in each language, in the order of the sitemap's languages."""
        declared, languages = self.declared, self.declared.languages
        if languages is None:
            return [Localization("", self._locations(rows, None, homes))]
        if ITEM_LANGUAGE in rows.columns:
            spell_own = cache(partial(spelling, languages=languages))
            own = list(map(spell_own, rows.columns[ITEM_LANGUAGE]))
            rows = rows._replace(columns={**rows.columns, ITEM_LANGUAGE: own})
        languages_of, spell = declared.item_languages, cache(self._spell)
        if languages_of is None:
            everything = range(len(rows.keys))
            return [part for code in languages for part in self._localized(code, everything, rows, homes)]
        codes_by_item = rows.keyed_items.call(
            lambda item: list(map(spell, languages_of(item))), rows.items or (), "languages", failed=()
        )
        positions_by_code: dict[str, list[int]] = {}
        for position, codes in enumerate(codes_by_item):
            for code in dict.fromkeys(codes):
                positions_by_code.setdefault(code, []).append(position)
        # The order must not depend on how the rows are sliced.
        ranks = {code: rank for rank, code in enumerate(languages)}
        codes = sorted(positions_by_code, key=lambda code: (ranks.get(code, len(ranks)), code))
        parts = (self._localized(code, positions_by_code[code], rows, homes) for code in codes)
        return list(chain.from_iterable(parts))

    def _report_languages(self, rows: Rows, localizations: Sequence[Localization]) -> None:
        """Report the items that have no entry because their language is not one of the sitemap's."""
        codes = rows.columns.get(ITEM_LANGUAGE, ())
        languages = self.declared.languages or ()
        problems = {code: extensions.language_problem(code, languages) for code in {*codes}}
        if any(problems.values()):
            texts = [part.texts() for part in localizations if part.is_listed]
            for i, code in enumerate(codes):
                if (problem := problems[code]) and not any(column[i] for column in texts):
                    rows.keyed_items.skip(i, "item_language", problem)

    def _localized(
        self, code: str, positions: Sequence[int], rows: Rows, homes: set[str]
    ) -> list[Localization]:
        """Return localizations in one language for items at these positions. Skip items without a location.

        With `item_language`, items in other languages only link to their location in this language.
        """
        location = self.declared.hooks["location"]
        if is_dict := isinstance(location, Mapping):
            columns = [rows.columns[name] for name in location_in(location, code)[1]]
            positions = [i for i in positions if not any(is_missing(column[i]) for column in columns)]
        own = rows.columns.get(ITEM_LANGUAGE)
        if own is None:
            return [self._localization(code, positions, rows, homes)]
        if not (is_dict and self.declared.is_linked):
            return [self._localization(code, [i for i in positions if own[i] == code], rows, homes)]
        localization = self._localization(code, positions, rows, homes)
        pairs = list(zip(localization.texts(), own, strict=True))
        listed = [url if language == code else None for url, language in pairs]
        linked = [url if language != code else None for url, language in pairs]
        return [
            localization._replace(locations=listed),
            localization._replace(locations=linked, is_listed=False),
        ]

    def _localization(
        self, code: str, positions: Sequence[int], rows: Rows, homes: set[str]
    ) -> Localization:
        language = self._hreflang(code, rows.keyed_items) if self.declared.is_linked else ""
        with translation.override(code):
            localization = Localization(language, self._locations(rows.part(positions), code, homes))
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

    @cached_property
    def _codes(self) -> dict[str, str]:
        """Languages of the sitemap by hreflang. If languages have the same hreflang, the first is used."""
        return {hreflang(code): code for code in reversed(self.declared.languages or ())}

    def _spell(self, code: object) -> str:
        languages = self.declared.languages or ()
        own = spelling(protocol.language_text(code), languages)
        return own if own in languages else hreflang(own).lower() or own

    def _x_default(self, rows: Rows, localizations: Sequence[Localization]) -> list[Localization]:
        """Return a list with the `x-default` localization, or an empty list if the sitemap has none."""
        hook, language = self.declared.x_default, hreflang(conf.language)
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
        return [extensions.x_default_by_method(default, results, self.declared.hosts, rows.keyed_items)]

    def _locations(
        self, rows: Rows, code: str | None, homes: set[str]
    ) -> Sequence[str | None] | TemplateColumn:
        hook, names = location_in(self.declared.hooks["location"], code)
        columns, hosts = [rows.columns[name] for name in names], self.declared.hosts
        if isinstance(hook, LocationTemplate):
            return template_locations(hook.compiled(), columns, hosts, rows.keyed_items)
        if is_expression(hook):
            return values.locations(columns[0], hosts, rows.keyed_items)
        urls = values.rooted(self._values("location", rows), homes, code or "", rows.keyed_items)
        return values.locations(urls, hosts, rows.keyed_items)

    def _texts(self, name: Field, rows: Rows) -> Column:
        if name == "lastmod" and rows.lastmods is not None:
            return rows.lastmods
        if name in self.declared.constants:
            return self.declared.constants[name]
        return values.texts(self._values(name, rows), name, rows.keyed_items)

    def _values(self, name: Field, rows: Rows) -> Sequence[Any]:
        hook = self.declared.hooks[name]
        if is_expression(hook):
            return rows.columns[alias(name)]
        if callable(hook):
            return rows.keyed_items.call(hook, rows.items or (), name)
        return [hook] * len(rows.keys)
