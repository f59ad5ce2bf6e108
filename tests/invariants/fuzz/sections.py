"""Random sections: seeded rows, querysets and lastmods as source code, and their right entries."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from functools import cache, partial
from itertools import product
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db import DatabaseError, models as django_models, transaction
from django.db.models import DateField, DateTimeField, Value, functions
from django.db.models.functions import Cast, Coalesce
from django.urls import reverse

from django_sitemaps09 import ModelSitemap, Route, Sitemap
from django_sitemaps09.orm.internals import to_many_aliases
from tests.invariants.fuzz import models
from tests.support.databases import MYSQLS
from tests.support.internals import divides_groups, has_window_function

UTC = timezone.utc
ROWS = 12
#: A model for each kind of key, with the function that converts a number to a key.
KINDS = {
    # With growing gaps, and several below 0.
    "integer": (models.Whole, lambda n: {"id": n * n * 3 - 40}),
    "uuid": (models.Random, lambda n: {"id": uuid.UUID(int=(n * 2**121 + n * 7919) % 2**128)}),
    "text": (models.Texted, lambda n: {"code": f"k{n * 7 % 31:02}-{n}"}),
    "date": (models.Daily, lambda n: {"on": date(2001, 1, 1) + timedelta(days=n * 11)}),
    "decimal": (models.Priced, lambda n: {"price": Decimal(n * 37 % 101) / 8 + n * 100}),
    "relation": (models.Anchored, lambda n: {"anchor_id": n * 5}),
    "composite": (models.Paired, lambda n: {"row": "abc"[n % 3], "seat": n}),
}
WORDS = "abc"


def moment(rng):
    """Return a time in the daytime, since clocks change at night."""
    time = {"hour": rng.randrange(5, 24), "minute": rng.randrange(60), "second": rng.randrange(60)}
    return stored(datetime(2020, 1, 1, **time) + timedelta(days=rng.randrange(1_800)))


def stored(value):
    """Return a time as rows have it: in UTC if `USE_TZ` is on, else naive."""
    return value.replace(tzinfo=UTC) if settings.USE_TZ else value


def write(kind, seed, using):
    rng = random.Random(f"{seed}:{kind}")  # noqa: S311 random rows are not secret
    model, key = KINDS[kind]
    maybe = lambda value: None if rng.random() < 0.15 else value  # noqa: E731
    # Ids that no other kind uses.
    first = [*KINDS].index(kind) * 10 + 1
    groups = [models.Group(id=first + n, name=f"g{n}", at=moment(rng)) for n in range(3)]
    tags = [
        models.Tag(id=first + n, name=word, rank=rng.choice([None, 1, 2, 3]), at=maybe(moment(rng)))
        for n, word in enumerate(WORDS)
    ]
    rows, notes, tagged = [], [], []
    for number in range(1, ROWS + 1):
        row = model(
            slug=f"s{number * 5 % ROWS:02}", number=number * 5 % 29, group=rng.choice([None, *groups]),
            flag=rng.random() < 0.5, weight=rng.choice([None, 1, 2, 3, 4]), at=maybe(moment(rng)),
            day=maybe(moment(rng).date()), **key(number),
        )  # fmt: skip
        if kind != "composite":
            row.parent = rng.choice([None, *rows[:4]])
            note, tag = model._meta.get_field("notes").related_model, model.tags.through
            score = lambda: rng.choice([None, 0, 1, 2, 2, 3, 4])  # noqa: E731
            notes += [
                note(thing=row, word=rng.choice(WORDS), score=score(), at=maybe(moment(rng)))
                for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 4]))
            ]
            found = rng.sample(tags, rng.choice([0, 1, 1, 2, 3]))
            tagged += [tag(**{model._meta.model_name: row, "tag": each}) for each in found]
        rows.append(row)
    anchors = [models.Anchor(id=row.anchor_id) for row in rows] if kind == "relation" else []
    for created in (groups, tags, anchors, rows, notes, tagged):
        if created:
            type(created[0])._base_manager.using(using).bulk_create(created)
    return {row.slug: row for row in rows}


OLD = datetime(2019, 5, 17, 22, 30)
LEAP = date(2016, 2, 29)
#: The number, the time and the text of the rows at the end of a path.
RELATIONS = {
    "notes": ("score", "at", "word"), "children": ("weight", "at", "slug"), "tags": ("rank", "at", "name"),
    "children__notes": ("score", "at", "word"), "parent__notes": ("score", "at", "word"),
    "parent__tags": ("rank", "at", "name"),
}  # fmt: skip
_MAIN = ("notes", "notes", "children", "children", "tags", "tags", *RELATIONS)


def old():
    return Value(stored(OLD))


def at():
    """Return a time without nulls. On MariaDB, Django raises an error for a part of a null."""
    return Coalesce("at", Cast(old(), DateTimeField()))


def zone():
    """Return the zone. MariaDB knows only UTC if its time zone tables are not loaded."""
    return UTC if settings.USE_TZ else None


class Aggregate(NamedTuple):
    """An aggregate over the rows at the end of a path, as in `Max('notes__at')`."""

    function: str
    path: str
    field: str = ""
    least: int | None = None
    distinct: bool = False

    def __str__(self):
        made = f"{self.function}('{self.path}{self.field and f'__{self.field}'}'"
        if self.least is not None:
            made += f", filter=Q({self.path}__{RELATIONS[self.path][0]}__gt={self.least})"
        made += ", distinct=True)" if self.distinct else ")"
        # An average has other digits on each database.
        return f"Cast(Floor({made}), IntegerField())" if self.function == "Avg" else made


def a_time(rng, *, but=None):
    """Return the first or the last time of related rows, not of the relation `but`."""
    path = rng.choice([path for path in _MAIN if path != but])
    least = rng.randrange(3) if rng.random() < 0.25 else None
    return Aggregate(rng.choice(["Max", "Max", "Min"]), path, RELATIONS[path][1], least)


def a_number(rng):
    path = rng.choice(_MAIN)
    function = rng.choice(["Count", "Count", "Count", "Sum", "Sum", "Max", "Min", "Avg"])
    least = rng.randrange(3) if rng.random() < 0.3 else None
    distinct = function in ("Count", "Sum") and rng.random() < 0.4
    field = "" if function == "Count" and rng.random() < 0.6 else RELATIONS[path][0]
    return Aggregate(function, path, field, least, distinct)


class Lastmod(NamedTuple):
    """A declared lastmod.

    `value` takes a row, the item, and the values of `aggregates`. Without `value`, it is that of the
    expression for the row alone, or if that `is_of_annotations`, only Django knows it.
    """

    source: str
    value: Callable[..., date | None] | None = None
    aggregates: tuple[Aggregate, ...] = ()
    is_of_annotations: bool = False


PLAIN = [
    "None", "LEAP", "F('at')", "F('day')", "F('group__at')", "Coalesce('at', old())",
    "Coalesce('day', Value(LEAP))", "Coalesce('at', 'group__at')", "TruncYear(at(), tzinfo=zone())",
    "TruncMonth(at(), tzinfo=zone())", "TruncDay(at(), tzinfo=zone())", "TruncHour(at(), tzinfo=zone())",
    "TruncDate(at(), tzinfo=zone())", "TruncMonth('day')", "TruncDay('day')", "Cast('at', DateField())",
    "Cast('day', DateTimeField())", "Case(When(flag=True, then=F('at')), default=old())",
    "Case(When(weight__gt=2, then=F('day')), default=Value(LEAP))",
    "Case(When(group__name='g1', then=F('group__at')))",
    "Greatest(at(), Coalesce('group__at', Cast(old(), DateTimeField())))",
]  # fmt: skip
RELATED = [
    "F('parent__at')",
    "Subquery(notes().filter(thing=OuterRef('pk'), at__isnull=False).order_by('-at').values('at')[:1])",
]
#: Expressions around one or two aggregates, and their values for a row and the values of the aggregates.
AROUND = {
    "{0}": lambda row, first: first,
    "Coalesce({0}, 'at', old())": lambda row, first: first or row.at or stored(OLD),
    "Case(When(flag=True, then={0}), default=F('at'))": lambda row, first: first if row.flag else row.at,
    "Coalesce({0}, {1})": lambda row, first, second: first or second,
    "Greatest(Coalesce({0}, old()), Coalesce({1}, old()))": lambda row, first, second: max(
        first or stored(OLD), second or stored(OLD)
    ),
}


def lastmod(rng, kind, times):
    if kind == "composite" or rng.random() < 0.3:
        return Lastmod(rng.choice(PLAIN if kind == "composite" else PLAIN + RELATED))
    if times and rng.random() < 0.5:
        name = rng.choice(times)
        if rng.random() < 0.5:
            return Lastmod(f"F('{name}')", lambda row, item: item(name))
        source = rng.choice(["Max('{0}')", "Max(Coalesce('notes__at', '{0}'))", "Min('{0}')"])
        return Lastmod(source.format(name), is_of_annotations=True)
    source, first = rng.choice([*AROUND, "{0}", "{0}", "{0}"]), a_time(rng)
    parts = (first, a_time(rng, but=first.path)) if "{1}" in source else (first,)
    around = AROUND[source]
    return Lastmod(source.format(*parts), lambda row, item, *values: around(row, *values), parts)


class Chain(NamedTuple):
    """A queryset as a model with steps. A step calls a method, or combines the queryset with another one.

    `numbers`, `times` and `texts` are names of annotations. With `fields`, rows are dicts or tuples.
    """

    model: str
    kind: str
    steps: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    times: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    fields: str = ""

    def __str__(self):
        text = f"{self.model}._base_manager.using(using)"
        for step in self.steps:
            text = f"{text}{step}" if step[0] in ".[" else f"({text} {step})"
        # The caller must not share the cache of a queryset.
        return f"{text}" if self.steps else f"{text}.all()"

    def then(self, *steps):
        return self._replace(steps=(*self.steps, *steps))

    @property
    def is_related(self):
        return self.kind != "composite"


def queryset(rng, kind, using):
    model = KINDS[kind][0].__name__
    if kind == "integer" and rng.random() < 0.2:
        model = rng.choice(["WholeByNotes", "WholeByGroup"])
    return _ended(rng, _combined(rng, Chain(model, kind)), using)


def _plain(rng):
    return rng.choice(
        ["flag=True", f"weight__gt={rng.randrange(4)}", f"weight__isnull={rng.random() < 0.5}",
         f"slug__gte='s{rng.randrange(10):02}'", "group__name='g1'", "group__isnull=False", "at__lt=Now()",
         "at__year__gte=2022", "day__isnull=False", f"number__in={[*range(0, 29, rng.randrange(1, 4))]}"]
    )  # fmt: skip


def _related(rng):
    return rng.choice(
        [f"notes__word='{rng.choice('abc')}'", f"notes__score__gt={rng.randrange(3)}",
         f"notes__isnull={rng.random() < 0.3}", f"tags__name='{rng.choice('abc')}'",
         f"tags__rank__gt={rng.randrange(3)}", f"parent__notes__word='{rng.choice('abc')}'",
         "parent__flag=True", "parent__group__name='g2'", f"parent__isnull={rng.random() < 0.5}",
         f"children__flag={rng.random() < 0.5}", "children__notes__score=2",
         f"children__weight__gte={rng.randrange(4)}"]
    )  # fmt: skip


def _on_annotation(rng, chain):
    name = rng.choice([*chain.numbers, *chain.times, *chain.texts])
    if name in chain.times:
        return f"{name}__isnull={rng.random() < 0.2}"
    if name in chain.texts:
        return f"{name}__gt='{rng.choice('aab')}'"
    return f"{name}{rng.choice(['', '__gte', '__gt', '__lt'])}={rng.choice([0, 1, 1, 2, 2, 3])}"


def _condition(rng, chain):
    named, chance = (*chain.numbers, *chain.times, *chain.texts), rng.random()
    if named and chance < 0.35:
        one = _on_annotation(rng, chain)
    else:
        one = _related(rng) if chain.is_related and chance < 0.7 else _plain(rng)
    shape = rng.random()
    if shape > 0.25:
        return one
    other = _condition(rng, chain)
    other = other if other.startswith(("Q(", "~Q(")) else f"Q({other})"
    return f"Q({one}) {'|' if shape < 0.15 else rng.choice(['& ~', '| ~'])} ({other})".replace("~ ", "~")


def _filtered(rng, chain):
    return chain.then(f".{rng.choice(['filter', 'filter', 'filter', 'exclude'])}({_condition(rng, chain)})")


def _method(rng):
    return "alias" if rng.random() < 0.2 else "annotate"


def _numbered(chain, method, prefix, source, kind):
    """Annotate a queryset. The name is known to later steps, and if selected, to the section."""
    number = len(chain.numbers) + len(chain.times) + len(chain.texts) + 1
    name = f"{prefix}{number}"
    made = chain.then(f".{method}({name}={source})")
    return made._replace(**{kind: (*getattr(made, kind), name)})


def _aggregated(rng, chain):
    method = _method(rng)
    if rng.random() < 0.7:
        chain = _numbered(chain, method, "n", str(a_number(rng)), "numbers")
        name, least = chain.numbers[-1], rng.choice([0, 1, 1, 2, 2, 3])
        conditions = [
            f"{name}={least}", f"{name}__gte={least}", f"{name}__gt={least}", f"{name}__lt={least}",
        ]  # fmt: skip
    else:
        chain = _numbered(chain, method, "m", str(a_time(rng)), "times")
        conditions = [f"{chain.times[-1]}__isnull=False"]
    if rng.random() < 0.6:
        chain = chain.then(f".filter({rng.choice(conditions)})")
    return chain


def _joined(rng, chain):
    path = rng.choice(["notes", "tags", "children"])
    number, _, text = RELATIONS[path]
    if rng.random() < 0.5:
        chain = _numbered(chain, _method(rng), "j", f"F('{path}__{number}')", "numbers")
        condition = f"{chain.numbers[-1]}__gt={rng.randrange(2)}"
    else:
        chain = _numbered(chain, _method(rng), "x", f"F('{path}__{text}')", "texts")
        condition = f"{chain.texts[-1]}__gt='a'"
    return chain.then(f".filter({condition})") if rng.random() < 0.5 else chain


def _annotated(rng, chain):
    """Annotate a queryset without joining a multi-valued relation."""
    found = [
        ("l", "Lower('slug')", "texts"), ("c", "Coalesce('weight', 0)", "numbers"),
        ("t", "Coalesce('at', 'group__at')", "times"),
        ("c", "Case(When(flag=True, then=1), default=2)", "numbers"),
    ]  # fmt: skip
    if chain.is_related:
        notes = "notes().filter(thing=OuterRef('pk'))"
        count = ".order_by().values('thing').annotate(n=Count('pk')).values('n')"
        found += [
            ("s", f"Subquery({notes}.filter(at__isnull=False).order_by('-at').values('at')[:1])", "times"),
            ("s", f"Coalesce(Subquery({notes}{count}), 0)", "numbers"),
            ("e", f"Case(When(Exists({notes}), then=1), default=0)", "numbers"),
        ]
    prefix, source, kind = rng.choice(found)
    return _numbered(chain, _method(rng), prefix, source, kind)


def _existing(rng, chain):
    least = rng.randrange(3)
    return chain.then(
        f".filter({rng.choice(['', '~'])}Exists(notes().filter(thing=OuterRef('pk'), score__gt={least})))"
    )


def _ranked(rng, chain):
    # A join can repeat a row, and the numbers of the two rows would then be random.
    rank, order = rng.choice(["DenseRank", "Rank"]), rng.choice(["slug", "-slug", "weight"])
    source = f"Window({rank}(), partition_by={rng.choice(['group', 'flag'])!r}, order_by={order!r})"
    chain = _numbered(chain, _method(rng), "w", source, "numbers")
    if rng.random() < 0.6:
        chain = chain.then(f".filter({chain.numbers[-1]}__lte={rng.randrange(1, 4)})")
    return chain


def _extra(rng, chain):
    table = KINDS[chain.kind][0]._meta.db_table
    return chain.then(f".extra(where=['{table}.number < {rng.randrange(5, 29)}'])")


def _ordered(rng, chain):
    named = [*chain.numbers, *chain.times, *chain.texts]
    orders = [
        "'-slug'", "'flag'", "'group__name', 'slug'", "'-group__name'", "F('weight').desc(nulls_last=True)",
    ]  # fmt: skip
    if chain.is_related:
        orders += [
            "'-notes__at'", "'notes__score'", "'tags__name', 'pk'", "'-tags'", "'children__weight', 'slug'",
            "'parent__slug'", "'-parent__notes__score'",
        ]  # fmt: skip
    if named:
        orders += [f"'{rng.choice(named)}'", f"'-{rng.choice(named)}', 'pk'"] * 2
    return chain.then(f".order_by({rng.choice(orders)})")


def _shown(rng, chain):
    steps = [".distinct()"] * 3 + [
        ".reverse()", ".select_related('group')", ".only('slug')", ".defer('day')",
    ]  # fmt: skip
    if chain.is_related:
        steps.append(".prefetch_related('notes')")
    return chain.then(rng.choice(steps))


def _simple(rng, chain):
    steps = {_filtered: 7, _ordered: 4, _shown: 3, _annotated: 3, _ranked: 1, _extra: 0.4}
    if chain.is_related:
        steps |= {_aggregated: 6, _joined: 2, _existing: 1}
    for step in rng.choices([*steps], [*steps.values()], k=rng.choice([0, 1, 2, 2, 3, 3, 4])):
        chain = step(rng, chain)
    return chain


def _combined(rng, chain):
    one = _simple(rng, chain)
    if rng.random() < 0.85:
        return one
    other = _simple(rng, chain)
    if (".distinct()" in one.steps) != (".distinct()" in other.steps):
        one, other = one.then(".distinct()"), other.then(".distinct()")
    return one.then(f"{rng.choice('||&')} {other}")


def _values(rng, chain):
    """In an order that can repeat rows, in none, or of a union."""
    names, fields = ["slug", "at", *chain.numbers[:1]], rng.choice(["values", "values_list"])
    order = rng.choice(["'slug'", "'flag'", "", "'-notes__word'" if chain.is_related else "'-flag'"])
    values = f".{fields}({', '.join(map(repr, names))})"
    made = chain.then(f".order_by({order})", values)
    if rng.random() < 0.3:
        other = _combined(rng, chain._replace(steps=(), numbers=(), times=(), texts=()))
        if not chain.numbers:
            made = chain.then(".order_by()", values, f".union({other.then('.order_by()', values)})")
    elif rng.random() < 0.3:
        made = made.then(".distinct()")
    return made._replace(fields=fields, numbers=chain.numbers[:1], times=("at",), texts=())


def _ended(rng, chain, using):
    """Mostly as it is; a slice, a union or values of it now and then, in an order without ties."""
    chance = rng.random()
    if chance < 0.08:
        start, stop = rng.randrange(3), rng.choice([5, 8, 30])
        return chain.then(".order_by('slug')", f"[{start}:{stop}]")
    if chance < 0.15:
        return _values(rng, chain)
    if chance < 0.18:
        made = chain.then(".order_by()", ".values('flag', 'weight')", ".annotate(last=Max('slug'))")
        if rng.random() < 0.3:
            made = made.then(".order_by('last')", "[1:9]")
        return made._replace(fields="groups", numbers=(), times=(), texts=())
    if chance < 0.24:
        other = _combined(rng, Chain(chain.model, chain.kind))
        method = rng.choice(["union", "intersection", "difference"])
        made = chain.then(".order_by()", f".{method}({other.then('.order_by()')})")
        if rng.random() < 0.5:
            made = made.then(".order_by('slug')")
            if rng.random() < 0.3:
                made = made.then("[1:9]")
        return made
    if chance < 0.27 and using == "postgresql":
        return chain.then(".order_by('group', 'slug')", ".distinct('group')")
    return chain


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
NONE = Lastmod("None")
#: Any lastmod, if only Django knows the value.
ANY = object()


@dataclass(frozen=True, eq=False)
class Case:
    """A section. Its locations have the annotations `named`, and the aggregate or the sum `located`.

    `known` are the rows by slug. Without `lastmod`, the method `lastmod` returns the attribute `dated`.
    """

    name: str
    using: str
    chain: Chain
    known: Mapping[str, Any]
    form: str = "queryset"
    change: str = ""
    named: tuple[str, ...] = ()
    located: tuple[Aggregate, ...] = ()
    by_method: bool = False
    lastmod: Lastmod | None = NONE
    dated: str = "at"
    key: str = "pk"
    limit: int = 3
    odd: str = ""

    @property
    def source(self):
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
            several = " + ".join(f"Coalesce({aggregate}, 0)" for aggregate in self.located)
            number = several if len(self.located) > 1 else "".join(map(str, self.located))
            values = filter(None, [*map(repr, self.named), number])
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
    def _groups(self):
        return self.located, self.lastmod.aggregates if self.lastmod else ()

    @property
    def aggregates(self):
        return sum(self._groups, ())

    def is_mixed(self, aggregate):
        return any(aggregate in group and len(group) > 1 for group in self._groups)

    @property
    def depends_on_aggregates_of_annotations(self):
        return self.lastmod is not None and self.lastmod.is_of_annotations

    def rows(self):
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
            **vars(django_models), **vars(functions), **vars(models), "old": old, "at": at, "zone": zone,
            "LEAP": LEAP, "notes": notes and notes._base_manager.all, "using": self.using,
            "reverse": reverse, "Route": Route, "Sitemap": Sitemap, "ModelSitemap": ModelSitemap,
        }  # fmt: skip

    @cache  # noqa: B019 a case lives as long as its test
    def alone(self, source):
        """Return the value of an expression for each row by its slug, by a query of nothing else."""
        made = eval(source, self._names)  # noqa: S307 our own code
        if not hasattr(made, "resolve_expression"):
            made = Value(made, output_field=DateField() if made else DateTimeField())
        if self.using in MYSQLS and ("LEAP" in source or "old()" in source):
            # MariaDB returns text, which the package converts, but Django does not.
            made = Cast(made, DateField() if "LEAP" in source else DateTimeField())
        rows = KINDS[self.chain.kind][0]._base_manager.using(self.using).annotate(value=made)
        return {row.slug: row.value for row in rows}

    def items(self):
        if not self.change:
            return list(self.rows())
        section = self.section
        return list(vars(section)[self.form.split()[-1]](section()))


def case_of(name, using, known):
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
        located = tuple(a_number(rng) for _ in range(rng.choice([1, 1, 1, 2])))
    made = lastmod(rng, kind, times)
    if chain.fields == "groups" or rng.random() < 0.15:
        made = NONE
    elif only_methods or rng.random() < (0.5 if chain.fields else 0.2):
        made = None
    return Case(
        name, using, chain, known[kind], form, change, tuple(named), located, by_method, made,
        rng.choice(["at", *times]), key=rng.choice(["pk", "pk", "pk", "number", "serial"]),
        limit=rng.choice([2, 3, 4, 5, 5]), odd=rng.choice(ODD),
    )  # fmt: skip


def _changes(chain):
    if chain.fields == "values":
        return ["if not rows", "a changed dict"]
    return ["if not rows"] if chain.fields else ["if not rows", "an attribute", "another slug"]


def _is_selected(chain, name):
    return bool(chain.fields) or any(step.startswith(f".annotate({name}=") for step in chain.steps)


@dataclass(frozen=True)
class Row:
    slug: str
    #: The values in the location that come from the item.
    own: tuple[Any, ...]
    entries: frozenset[tuple[str, Any]]

    def allows(self, entry):
        return entry in self.entries or (entry[0], ANY) in self.entries


def expected(case, items):
    values = {aggregate: _possible_values(case, aggregate) for aggregate in case.aggregates}
    return [_row(case, item, values) for item in items]


def _row(case, item, values):
    get = partial(_get, case, item)
    slug = str(get("slug"))
    row, own = case.known[slug.lower()], tuple(get(name) for name in case.named)
    possible = lambda parts: product(*(values[part](row.slug) for part in parts))  # noqa: E731
    numbers = [[]]
    if case.located:
        found = possible(case.located)
        numbers = [[v[0] if len(v) == 1 else sum(number or 0 for number in v)] for v in found]
    first = slug if case.by_method else row.slug
    words = ["-".join(map(str, [first, case.odd, *own, *number])) for number in numbers]
    if case.lastmod is None:
        lastmods = {text(get(case.dated))}
    elif case.depends_on_aggregates_of_annotations:
        lastmods = {ANY}
    elif case.lastmod.value is None:
        lastmods = {text(case.alone(case.lastmod.source)[row.slug])}
    else:
        found = possible(case.lastmod.aggregates)
        lastmods = {text(case.lastmod.value(row, get, *parts)) for parts in found}
    return Row(slug, own, frozenset(product([reverse("word", args=[word]) for word in words], lastmods)))


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
    related = lambda slug: {case.alone(str(aggregate))[slug]}  # noqa: E731
    if query.combinator or query.is_sliced or query.distinct_fields or query.where.contains_over_clause:
        return related
    if query.distinct and query.group_by is not None and divides_groups(query):
        return related
    annotation = eval(str(aggregate), case._names)  # noqa: S307 our own code
    alone = KINDS[case.chain.kind][0]._base_manager.annotate(value=annotation).query
    new = to_many_aliases(rows.annotate(value=annotation).query) - to_many_aliases(query)
    if len(new) >= len(to_many_aliases(alone)):
        return related
    joined = {}
    # SQLite cannot group the rows of some window functions.
    with suppress(DatabaseError), transaction.atomic(case.using):
        for found in [rows, rows.order_by()] if rows.ordered else [rows]:
            for item in found.annotate(value=annotation):
                slug = _get(case, item, "slug")
                joined.setdefault(slug, set()).add(_get(case, item, "value"))
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


def text(value):
    if not isinstance(value, datetime):
        return value and value.isoformat()
    if value.tzinfo is None:
        value = value.replace(tzinfo=UTC if settings.USE_TZ else ZoneInfo(settings.TIME_ZONE))
    return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
