"""Declarations: what a sitemap declares, compiled to convert rows to a batch of text columns."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import chain
from typing import Any, NamedTuple

from django.utils import translation

from django_sitemaps09.conf import conf
from django_sitemaps09.declare import calls, expressions, extensions
from django_sitemaps09.declare.calls import FAILED, Items, Step
from django_sitemaps09.declare.expressions import FIELDS, ITEM_LANGUAGE, Field, is_expression, is_missing
from django_sitemaps09.declare.extensions import hreflang, spelling
from django_sitemaps09.declare.sitemap_attributes import Declared
from django_sitemaps09.protocol.entries import Batch, Column, ItemError, Localization, TemplateColumn
from django_sitemaps09.protocol.fields import short_repr
from django_sitemaps09.protocol.limits import MAX_LOCATION
from django_sitemaps09.protocol.values import language_text

#: Alias of a declared lastmod.
LASTMOD = expressions.alias("lastmod")


class Rows(NamedTuple):
    """Slice of a section's rows, with the values of the declared expressions in `columns`, by alias.

    `lastmods` is `None` unless the database converted these values to text. `errors` has the unreadable
    rows, each as an error. `hashed` has what a `RunningFingerprint` hashes, or `None` if that is unknown.
    """

    keys: Sequence[Hashable]
    items: Sequence[Any] | None
    columns: Mapping[str, Sequence[Any]]
    lastmods: Sequence[str | None] | None = None
    errors: Sequence[ItemError] = ()
    hashed: Sequence[Any] | None = None

    def part(self, positions: Sequence[int]) -> Rows:
        """Return the rows at these ascending positions, without errors."""
        if len(positions) == len(self.keys):
            return self
        return Rows(
            [self.keys[i] for i in positions],
            self.items and [self.items[i] for i in positions],
            {name: [column[i] for i in positions] for name, column in self.columns.items()},
            self.lastmods and [self.lastmods[i] for i in positions],
        )


@dataclass(frozen=True)
class Conversion:
    """Conversion of rows to a batch, as a compiled sitemap declares it."""

    declared: Declared

    @cached_property
    def expressions(self) -> Mapping[str, Any]:
        return self.declared.expressions

    @cached_property
    def needs_items(self) -> bool:
        """Whether a hook or an extension takes items, so columns alone are not enough."""
        declared = self.declared
        hooks = [*declared.hooks.values(), declared.x_default if declared.is_linked else None]
        has_content = bool(declared.content or declared.extensions or declared.item_languages)
        return has_content or any(map(callable, hooks))

    @cached_property
    def entries_per_item(self) -> int:
        """Number of entries of an item in all languages."""
        return 1 if ITEM_LANGUAGE in self.expressions else len(self.declared.languages or ("",))

    @cached_property
    def languages(self) -> dict[str, str]:
        """Languages of the sitemap by hreflang. If languages have the same hreflang, the first is used."""
        return {hreflang(code): code for code in reversed(self.declared.languages or ())}

    def batch(self, rows: Rows, homes: set[str] | None = None) -> Batch:
        """Return the entries for a slice of rows. Invalid items and fields are skipped and reported.

        `homes` are the languages in which the page has an empty location so far, for all its slices.
        """
        errors = [*rows.errors, *self.declared.errors]
        conversion = _SliceConversion(
            self.declared, self.languages, set() if homes is None else homes, errors
        )
        with translation.override(conf.language):
            return conversion.batch(rows)


@dataclass(frozen=True)
class _SliceConversion:
    """Conversion of one slice of rows. `errors` are those of the batch, to which each step adds."""

    declared: Declared
    languages: Mapping[str, str]
    homes: set[str]
    errors: list[ItemError]

    def batch(self, rows: Rows) -> Batch:
        declared = self.declared
        columns: dict[str, Any] = {name: self._texts(name, rows) for name in FIELDS[1:]}
        localizations = self._localizations(rows)
        self._report_languages(rows, localizations)
        rows, localizations, columns = _located(rows, localizations, columns)
        content, items = (declared.content, declared.extensions), self._items(rows)
        results = extensions.content_results(*content, rows.items or (), items)
        if declared.is_linked:
            localizations += self._x_default(rows, localizations)
        return extensions.create_batch(items, localizations, columns, results, declared.hosts)

    def _items(self, rows: Rows) -> Items:
        return Items(rows.keys, self.errors)

    def _call(self, hook: Callable[[Any], Any], rows: Rows, name: Step, failed: Any = FAILED) -> list[Any]:
        return self._items(rows).call(hook, rows.items or (), name, failed=failed)

    def _localizations(self, rows: Rows) -> list[Localization]:
        """Return the locations in each language, in the order of the sitemap's languages."""
        languages, languages_of = self.declared.languages, self.declared.item_languages
        if languages is None:
            return [Localization("", self._locations(rows, None))]
        if ITEM_LANGUAGE in rows.columns:
            spell_own = cache(partial(spelling, languages=languages))
            own = list(map(spell_own, rows.columns[ITEM_LANGUAGE]))
            rows = rows._replace(columns={**rows.columns, ITEM_LANGUAGE: own})
        if languages_of is None:
            everything = range(len(rows.keys))
            return [part for code in languages for part in self._localized(code, everything, rows)]
        spell = cache(self._spell)
        positions_by_code: dict[str, list[int]] = {}
        all_codes = self._call(lambda item: [*map(spell, languages_of(item))], rows, "languages", failed=())
        for position, codes in enumerate(all_codes):
            for code in dict.fromkeys(codes):
                positions_by_code.setdefault(code, []).append(position)
        # The order must not depend on how the rows are sliced.
        ranks = {code: rank for rank, code in enumerate(languages)}
        codes = sorted(positions_by_code, key=lambda code: (ranks.get(code, len(ranks)), code))
        parts = (self._localized(code, positions_by_code[code], rows) for code in codes)
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
                    self._items(rows).skip(i, "item_language", problem)

    def _localized(self, code: str, positions: Sequence[int], rows: Rows) -> list[Localization]:
        """Return localizations in one language for items at these positions. Skip items without a location.

        With `item_language`, items in other languages only link to their location in this language.
        """
        location = self.declared.hooks["location"]
        if is_dict := isinstance(location, Mapping):
            columns = [rows.columns[name] for name in expressions.location_in(location, code)[1]]
            positions = [i for i in positions if not any(is_missing(column[i]) for column in columns)]
        own = rows.columns.get(ITEM_LANGUAGE)
        is_linked = is_dict and self.declared.is_linked
        if own is not None and not is_linked:
            positions = [i for i in positions if own[i] == code]
        localization = self._localization(code, positions, rows)
        if own is None or not is_linked:
            return [localization]
        pairs = list(zip(localization.texts(), own, strict=True))
        listed = [url if language == code else None for url, language in pairs]
        linked = [url if language != code else None for url, language in pairs]
        links = localization._replace(locations=linked, is_listed=False)
        return [localization._replace(locations=listed), links]

    def _localization(self, code: str, positions: Sequence[int], rows: Rows) -> Localization:
        language = self._hreflang(code) if self.declared.is_linked else ""
        with translation.override(code):
            localization = Localization(language, self._locations(rows.part(positions), code))
        if len(positions) == len(rows.keys):
            return localization
        locations: list[str | None] = [None] * len(rows.keys)
        for position, url in zip(positions, localization.texts(), strict=True):
            locations[position] = url
        return localization._replace(locations=locations)

    def _hreflang(self, code: str) -> str:
        """Return the hreflang of a language; an empty string if it is invalid or already used."""
        language = hreflang(code)
        first = self.languages.get(language, code)
        if language and first == code:
            return language
        problem = f"has the same hreflang as {first!r}" if language else "is not a valid hreflang value"
        self.errors.append(ItemError("any", "alternates", f"the language {code!r} {problem}"))
        return ""

    def _spell(self, code: object) -> str:
        languages = self.declared.languages or ()
        own = spelling(language_text(code), languages)
        return own if own in languages else hreflang(own).lower() or own

    def _x_default(self, rows: Rows, localizations: Sequence[Localization]) -> list[Localization]:
        """Return a list with the `x-default` localization, or an empty list if the sitemap has none."""
        hook, language = self.declared.x_default, hreflang(conf.language)
        if not hook:
            return []
        code = self.languages.get(language, conf.language)
        parts = [part for part in localizations if language and part.language == language]
        defaults = [extensions.x_default(part, code) for part in parts]
        if not callable(hook):
            return defaults
        results = self._call(hook, rows, "x_default")
        default = defaults[0] if defaults else None
        if len(defaults) == 2:
            # With `item_language`, each item has a location in one of the two.
            texts = zip(*(localization.texts() for localization in defaults), strict=True)
            default = defaults[0]._replace(locations=[first or second for first, second in texts])
        return [extensions.x_default_by_method(default, results, self.declared.hosts, self._items(rows))]

    def _locations(self, rows: Rows, code: str | None) -> Sequence[str | None] | TemplateColumn:
        hook, names = expressions.location_in(self.declared.hooks["location"], code)
        columns, items = [rows.columns[name] for name in names], self._items(rows)
        if isinstance(hook, expressions.LocationTemplate):
            return self._template_locations(hook.compiled(), columns, items)
        if is_expression(hook):
            return calls.checked_locations(columns[0], self.declared.hosts, items)
        urls = calls.rooted(self._values("location", rows), self.homes, code or "", items)
        return calls.checked_locations(urls, self.declared.hosts, items)

    def _template_locations(
        self, template: expressions.CompiledTemplate, columns: Sequence[Sequence[Any]], items: Items
    ) -> Sequence[str | None] | TemplateColumn:
        """Return the locations of the items, as a template column if all are known to be valid."""
        # Quoting a long string is slow, and the result is not shorter.
        has_long_text, hosts = any(map(_has_long_text, columns)), self.declared.hosts
        urls = None if has_long_text else template.compose(columns)
        if urls is not None and urls.fits(hosts.room):
            return urls
        url = partial(_short_url, template) if has_long_text else template.url
        arguments = zip(*columns, strict=True) if columns else [()] * len(items.keys)
        return calls.checked_locations(items.each(url, arguments, "location"), hosts, items)

    def _texts(self, name: Field, rows: Rows) -> Column:
        if name == "lastmod" and rows.lastmods is not None:
            return rows.lastmods
        if name in self.declared.constants:
            return self.declared.constants[name]
        return calls.texts(self._values(name, rows), name, self._items(rows))

    def _values(self, name: Field, rows: Rows) -> Sequence[Any]:
        hook = self.declared.hooks[name]
        if is_expression(hook):
            return rows.columns[expressions.alias(name)]
        return self._call(hook, rows, name) if callable(hook) else [hook] * len(rows.keys)


def _located(
    rows: Rows, localizations: list[Localization], columns: dict[str, Any]
) -> tuple[Rows, list[Localization], dict[str, Any]]:
    """Return the arguments without items that do not have a location in any language."""
    listed = [localization for localization in localizations if localization.is_listed]
    if any(localization.is_complete for localization in listed):
        return rows, localizations, columns
    locations = [localization.locations for localization in listed]
    positions = [i for i in range(len(rows.keys)) if any(texts[i] for texts in locations)]
    if len(positions) == len(rows.keys):
        return rows, localizations, columns
    parts = {
        name: column if column is None or isinstance(column, str) else [column[i] for i in positions]
        for name, column in columns.items()
    }
    return rows.part(positions), [localization.part(positions) for localization in localizations], parts


def _has_long_text(column: Sequence[Any]) -> bool:
    try:
        return max(map(len, column), default=0) > MAX_LOCATION
    except TypeError:
        return any(isinstance(value, str) and len(value) > MAX_LOCATION for value in column)


def _short_url(template: expressions.CompiledTemplate, arguments: Sequence[Any]) -> str | None:
    """Return the location of an item. Raise `ValueError` for a string that is too long."""
    for value in arguments:
        if isinstance(value, str) and len(value) > MAX_LOCATION:
            raise ValueError(
                f"{short_repr(value)} has {len(value):,} characters; at most {MAX_LOCATION:,} are allowed"
            )
    return template.url(arguments)
