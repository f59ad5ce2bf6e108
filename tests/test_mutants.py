"""The mutants that `python -m tests.mutants` makes, and its sample of them."""

from __future__ import annotations

import ast
from collections import Counter

import pytest

from tests.mutants import Mutant, mutants_of, mutated, sample

MODULE = "django_sitemaps09/protocol/pages.py"


@pytest.mark.parametrize(("source", "expected"), [
    ("a < b <= c", ["a < b <= c → a <= b <= c", "a < b <= c → a < b < c"]),
    ("x = a is not b", ["a is not b → a is b"]), ("x = a not in b", ["a not in b → a in b"]),
    ("x = 7", ["7 → 8", "7 → 6"]), ("x = False", ["False → True"]), ("x = 'loc'", ["'loc' → 'Xloc'"]),
    ("x = a and b", ["a and b → a or b"]), ("x = not a", ["not a → a"]),
    ("def f():\n    return a", ["return a → return None"]),
    ("def f():\n    return None", ["return None → return True"]),
    ("def f():\n    return True", ["True → False"]), ("def f():\n    yield a", ["yield a → yield None"]),
    ("raise a", ["raise a → pass"]), ("x += a", ["x += a → pass"]), ("x[a] = b", ["x[a] = b → pass"]),
    # Texts for people and for type checkers have none.
    ("'''A docstring.'''", []), ("import a", []), ("__all__ = ['a']", []),
    ("if TYPE_CHECKING:\n    x = 1", []), ("Mode = Literal['a']", []), ("def f(a: 'B') -> 'C': ...", []),
    ("@cache(7)\ndef f(): ...", []), ("x = 'This text is a message.'", []), ("x = f'This is {a}'", []),
    ("x = add_argument(help='Text')", []),
])  # fmt: skip
def test_each_kind_of_code_has_its_mutants(source, expected):
    found = [mutant.change for mutant, *_ in mutants_of(MODULE, source)]
    assert [change for change in found if change in expected or not expected] == expected


def test_a_mutant_changes_only_its_own_node():
    source = "def f(a):\n    if a < 1 and a < 2:\n        return a\n    return 1\n"
    unparsed = [ast.unparse(mutated(source, mutant)) for mutant, *_ in mutants_of(MODULE, source)]
    assert len({*unparsed, source.rstrip()}) == len(unparsed) + 1
    assert all(len(set(text.split("\n")) - set(source.split("\n"))) == 1 for text in unparsed)


def test_a_sample_is_the_same_for_a_seed_and_has_enough_of_each_room():
    mutants = [
        Mutant(f"django_sitemaps09/{room}.py", line, 0, "", "", "", line, line, True)
        for room, size in {"audit": 900, "export": 300, "tasks": 3}.items()
        for line in range(size)
    ]
    chosen = sample(mutants, 153, 41)
    assert chosen == sample(mutants[::-1], 153, 41) != sample(mutants, 153, 42)
    assert Counter(mutant.room for mutant in chosen) == {"audit": 106, "export": 44, "tasks": 3}
