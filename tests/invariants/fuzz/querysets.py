"""Random querysets, as source code."""

from __future__ import annotations

import random
from typing import NamedTuple

from tests.invariants.fuzz.declared import RELATIONS, a_number, a_time
from tests.invariants.fuzz.facts import KINDS

Rng = random.Random


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
    """Return any queryset. Django may refuse it."""
    model = KINDS[kind][0].__name__
    if kind == "integer" and rng.random() < 0.2:
        model = rng.choice(["WholeByNotes", "WholeByGroup"])
    return _ended(rng, _combined(rng, Chain(model, kind)), using)


def _plain(rng):
    return rng.choice(
        [
            "flag=True",
            f"weight__gt={rng.randrange(4)}",
            f"weight__isnull={rng.random() < 0.5}",
            f"slug__gte='s{rng.randrange(10):02}'",
            "group__name='g1'",
            "group__isnull=False",
            "at__lt=Now()",
            "at__year__gte=2022",
            "day__isnull=False",
            f"number__in={[*range(0, 29, rng.randrange(1, 4))]}",
        ]
    )


def _related(rng):
    return rng.choice(
        [
            f"notes__word='{rng.choice('abc')}'",
            f"notes__score__gt={rng.randrange(3)}",
            f"notes__isnull={rng.random() < 0.3}",
            f"tags__name='{rng.choice('abc')}'",
            f"tags__rank__gt={rng.randrange(3)}",
            f"parent__notes__word='{rng.choice('abc')}'",
            "parent__flag=True",
            "parent__group__name='g2'",
            f"parent__isnull={rng.random() < 0.5}",
            f"children__flag={rng.random() < 0.5}",
            "children__notes__score=2",
            f"children__weight__gte={rng.randrange(4)}",
        ]
    )


def _on_annotation(rng, chain):
    name = rng.choice([*chain.numbers, *chain.times, *chain.texts])
    if name in chain.times:
        return f"{name}__isnull={rng.random() < 0.2}"
    if name in chain.texts:
        return f"{name}__gt='{rng.choice('aab')}'"
    return f"{name}{rng.choice(['', '__gte', '__gt', '__lt'])}={rng.choice([0, 1, 1, 2, 2, 3])}"


def _condition(rng, chain):
    """Return the arguments of `filter()` or `exclude()`."""
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
        made = a_number(rng)
        chain = _numbered(chain, method, "n", str(made), "numbers")
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
        ("l", "Lower('slug')", "texts"),
        ("c", "Coalesce('weight', 0)", "numbers"),
        ("t", "Coalesce('at', 'group__at')", "times"),
        ("c", "Case(When(flag=True, then=1), default=2)", "numbers"),
    ]
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
