"""Random sections, as source code, and the entries that they must have."""

from __future__ import annotations

import random
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import product
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db import DatabaseError, models as django_models, transaction
from django.db.models import functions
from django.urls import reverse

from django_sitemaps09 import ModelSitemap, Route, Sitemap
from django_sitemaps09.orm.internals import to_many_aliases
from django_sitemaps09.orm.traits import divides_groups, has_window_function
from tests.invariants.fuzz import declared, models
from tests.invariants.fuzz.declared import Lastmod, Number, a_number
from tests.invariants.fuzz.facts import KINDS, UTC, Fact
from tests.invariants.fuzz.querysets import Chain, queryset

#: Strings that must be quoted or escaped.
ODD = ["", "", " ", "%", "é", "&<", "'\"", "?#", "%2F", "\u200d\U0001f409"]
#: How a section returns its queryset, by frequency.
FORMS = ["queryset"] * 6 + ["items", "evaluated items", "evaluated items", "evaluated get_queryset"]
#: What a project does with rows, for instances and for dicts. All of it evaluates the queryset.
CHANGES = {
    "if not rows": "if not rows:\n            return rows.none()",
    "an attribute": "for row in rows:\n            row.stats = len(row.slug) + (row.weight or 0)",
    "another slug": "for row in rows:\n            row.slug = row.slug.upper()",
    "a changed dict": "for row in rows:\n            row['slug'] = row['slug'].upper()",
}
NONE = Lastmod("None", lambda fact, row: None)
#: Any lastmod, if only Django knows the value.
ANY = object()


@dataclass(frozen=True)
class Case:
    """A section. `located` and `named` are the numbers and the annotations in its locations.

    `facts` are the rows by slug. Without `lastmod`, the method `lastmod` returns the attribute `dated`.
    """

    name: str
    using: str
    chain: Chain
    facts: Mapping[str, Fact]
    form: str = "queryset"
    change: str = ""
    named: tuple[str, ...] = ()
    located: tuple[Number, ...] = ()
    by_method: bool = False
    lastmod: Lastmod | None = NONE
    dated: str = "at"
    key: str = "pk"
    limit: int = 3
    odd: str = ""

    @property
    def source(self):
        """The class as code that a test can contain."""
        is_model_sitemap = "items" not in self.form or self.key != "pk"
        lines = [f"class Fuzzed({'ModelSitemap' if is_model_sitemap else 'Sitemap'}):"]
        lines += [f"    limit = {self.limit}"]
        lines += [f"    key = {self.key!r}"] if self.key != "pk" else []
        if self.form == "queryset":
            lines += [f"    queryset = {self.chain}"]
        else:
            lines += [f"    def {self.form.split()[-1]}(self):", f"        rows = {self.chain}"]
            lines += [f"        {CHANGES[self.change]}"] if self.change else []
            lines += ["        return rows"]
        if self.by_method:
            parts = ", ".join([self._item("slug"), repr(self.odd), *map(self._item, self.named)])
            lines += ["    def location(self, item):"]
            lines += [f"        return reverse('word', args=['-'.join(map(str, [{parts}]))])"]
        else:
            values = [*map(repr, self.named), *map(str, self.located)]
            texts = [f"Coalesce(Cast({value}, CharField()), Value('None'))" for value in values]
            word = ", Value('-'), ".join(["'slug'", f"Value({self.odd!r})", *texts])
            lines += [f"    location = Route('word', word=Concat({word}))"]
        if self.lastmod is None:
            lines += ["    def lastmod(self, item):", f"        return {self._item(self.dated)}"]
        elif self.lastmod is not NONE:
            lines += [f"    lastmod = {self.lastmod.source}"]
        return "\n".join(lines)

    def _item(self, name):
        if self.chain.fields == "values_list":
            return f"item[{['slug', 'at', *self.chain.numbers].index(name)}]"
        if self.chain.fields:
            return f"item[{'last' if self.chain.fields == 'groups' and name == 'slug' else name!r}]"
        return f"item.{name}"

    @property
    def aggregates(self):
        return tuple(aggregate for group in self._groups for aggregate in group)

    @property
    def _groups(self):
        """The aggregates of each expression."""
        lastmods = self.lastmod.aggregates if self.lastmod else ()
        return [*(number.aggregates for number in self.located), lastmods]

    def is_mixed(self, aggregate):
        """Return whether an expression has this and another aggregate."""
        return any(aggregate in group and len(group) > 1 for group in self._groups)

    @property
    def depends_on_aggregates_of_annotations(self):
        return self.lastmod is not None and self.lastmod.value is None

    def rows(self):
        """Return the queryset, which no other code shares."""
        return eval(str(self.chain), self._names)  # noqa: S307 our own code

    @property
    def section(self):
        names = dict(self._names)
        exec(self.source, names)  # noqa: S102 our own code
        return names["Fuzzed"]

    @property
    def _names(self):
        related = KINDS[self.chain.kind][0]._meta.get_fields()
        notes = next((found.related_model for found in related if found.name == "notes"), None)
        return {
            **vars(django_models),
            **vars(functions),
            **vars(models),
            **{name: getattr(declared, name) for name in ("old", "at", "zone", "LEAP")},
            "notes": notes and notes._base_manager.all,
            "using": self.using,
            "reverse": reverse,
            "Route": Route,
            "Sitemap": Sitemap,
            "ModelSitemap": ModelSitemap,
        }

    def items(self):
        """Return the items as the code of the project returns them."""
        if not self.change:
            return list(self.rows())
        section = self.section
        return list(vars(section)[self.form.split()[-1]](section()))

    def smaller(self):
        """Yield cases with less in them, for the shortest that fails."""
        steps = self.chain.steps
        for place in range(len(steps)):
            yield replace(self, chain=self.chain._replace(steps=(*steps[:place], *steps[place + 1 :])))
        yield replace(self, lastmod=NONE)
        yield replace(self, located=())
        yield replace(self, named=())
        yield replace(self, form="queryset", change="")
        yield replace(self, key="pk", odd="", limit=3)
        if self.chain.kind == "integer":
            yield replace(self, chain=self.chain._replace(model="Whole"))


def case_of(name, using, known):
    """Return the case of this name. Django may refuse its queryset."""
    rng = random.Random(name)  # noqa: S311 what is random here is no secret
    kind = rng.choice(["integer"] * 6 + [*KINDS])
    chain = queryset(rng, kind, using)
    selected = [name for name in chain.numbers + chain.texts if _is_selected(chain, name)]
    times = [name for name in chain.times if _is_selected(chain, name) and name != "at"]
    form = rng.choice(FORMS)
    change = rng.choice(_changes(chain)) if "evaluated" in form else ""
    # Tuples and groups have no columns for expressions.
    only_methods = chain.fields in ("values_list", "groups")
    by_method = only_methods or rng.random() < (0.7 if chain.fields else 0.35)
    named = rng.sample(selected, min(len(selected), rng.choice([0, 1, 1, 2])))
    if by_method and change == "an attribute":
        named.append("stats")
    located = ()
    if not by_method and chain.is_related and rng.random() < 0.35:
        located = (Number(tuple(a_number(rng) for _ in range(rng.choice([1, 1, 1, 2])))),)
    made = declared.lastmod(rng, kind, times)
    if chain.fields == "groups" or rng.random() < 0.15:
        made = NONE
    elif only_methods or rng.random() < (0.5 if chain.fields else 0.2):
        made = None
    return Case(
        name,
        using,
        chain,
        known[kind],
        form,
        change,
        tuple(named),
        located,
        by_method,
        made,
        rng.choice(["at", *times]),
        key=rng.choice(["pk", "pk", "pk", "number", "serial"]),
        limit=rng.choice([2, 3, 4, 5, 5]),
        odd=rng.choice(ODD),
    )


def _changes(chain):
    if chain.fields == "values":
        return ["if not rows", "a changed dict"]
    return ["if not rows"] if chain.fields else ["if not rows", "an attribute", "another slug"]


def _is_selected(chain, name):
    return bool(chain.fields) or any(step.startswith(f".annotate({name}=") for step in chain.steps)


@dataclass(frozen=True)
class Row:
    """An item of a section, with each entry that is right for it."""

    slug: str
    #: The values in the location that come from the item.
    own: tuple[Any, ...]
    entries: frozenset[tuple[str, Any]]

    def allows(self, entry):
        return entry in self.entries or (entry[0], ANY) in self.entries


def expected(case, items):
    """Return the entries that are right for each item."""
    values = {aggregate: _possible_values(case, aggregate) for aggregate in case.aggregates}
    return [_row(case, item, values) for item in items]


def _row(case, item, values):
    get = partial(_get, case, item)
    slug = str(get("slug"))
    fact = case.facts[slug.lower()]
    own = tuple(get(name) for name in case.named)
    possible = lambda parts: product(*(values[part](fact.slug) for part in parts))  # noqa: E731
    located = product(*({n.value(*v) for v in possible(n.aggregates)} for n in case.located))
    words = [
        "-".join(map(str, [slug if case.by_method else fact.slug, case.odd, *own, *parts]))
        for parts in located
    ]
    lastmods: set[Any]
    if case.lastmod is None:
        lastmods = {text(get(case.dated))}
    elif case.lastmod.value is None:
        lastmods = {ANY}
    else:
        row = {name: naive(get(name)) for name in case.chain.times if _is_selected(case.chain, name)}
        found = possible(case.lastmod.aggregates)
        lastmods = {text(aware(case.lastmod.value(fact, row, *parts))) for parts in found}
    urls = [reverse("word", args=[word]) for word in words]
    return Row(slug, own, frozenset(product(urls, lastmods)))


def _get(case, item, name):
    fields = case.chain.fields
    if fields == "values_list":
        return item[["slug", "at", *case.chain.numbers].index(name)]
    if fields:
        return item["last" if fields == "groups" and name == "slug" else name]
    return getattr(item, name)


def _possible_values(case, aggregate):
    """Return the values that an aggregate may have for the row with a slug.

    It covers all related rows, unless the queryset itself joins the relation: then it covers the joined
    rows, as with `annotate()`. Where the documentation does not say which of the two, both are right.
    """
    rows = case.rows()
    query = rows.query
    related = lambda slug: {aggregate.value(case.facts[slug])}  # noqa: E731
    if query.combinator or query.is_sliced or query.distinct_fields or query.where.contains_over_clause:
        return related
    if query.distinct and query.group_by is not None and divides_groups(query):
        return related
    annotation = eval(str(aggregate), case._names)  # noqa: S307 our own code
    alone = KINDS[case.chain.kind][0]._base_manager.annotate(value=annotation).query
    annotated = rows.annotate(value=annotation).query
    new = to_many_aliases(annotated) - to_many_aliases(query)
    if len(new) >= len(to_many_aliases(alone)):
        return related
    joined = {}
    # SQLite cannot group the rows of some window functions.
    with suppress(DatabaseError), transaction.atomic(case.using):
        for found in [rows, rows.order_by()] if rows.ordered else [rows]:
            for item in found.annotate(value=annotation):
                slug = _get(case, item, "slug")
                joined.setdefault(slug, set()).add(naive(_get(case, item, "value")))
    repeats = len({_get(case, item, "slug") for item in rows.all()}) < len(rows.all())
    # One of these may join the relation, for which values in Python would repeat the rows.
    has_joined = any(name[0] in "jx" for name in (*case.chain.numbers, *case.chain.texts))
    is_plain = not (
        new
        or case.change
        or has_window_function(query)
        or repeats
        or has_joined
        or case.is_mixed(aggregate)
    )
    return lambda slug: (
        joined[slug] if is_plain and slug in joined else joined.get(slug, set()) | related(slug)
    )


def naive(value):
    """Return a value from Django as in `Fact`."""
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


def aware(value):
    """Return a time as Django returns it."""
    if isinstance(value, datetime) and settings.USE_TZ:
        return value.replace(tzinfo=UTC)
    return value


def text(value):
    """Return a time as written in a sitemap, regardless of the zone of the value."""
    if not isinstance(value, datetime):
        return value and value.isoformat()
    if value.tzinfo is None:
        value = value.replace(tzinfo=UTC if settings.USE_TZ else ZoneInfo(settings.TIME_ZONE))
    return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
