"""Runs the tests of each mutant until one fails."""

# ruff: noqa: T201 this is a script

from __future__ import annotations

import ast
import gc
import importlib
import importlib.machinery
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple, NoReturn

from tests.mutants.changes import ROOT, Mutant, mutated
from tests.mutants.contexts import Contexts
from tests.mutants.forks import Plugin, fork, run_items, run_pytest, start

#: Seconds after which a mutant is not judged, and the bytes of memory that its tests may use.
LIMIT = 180
MEMORY = 3 * 1024**3
#: Exit statuses of a process whose mutant must be imported, and of one that has not collected the tests.
IMPORT, MISSING = 77, 78
#: What is imported once for all mutants that must be imported. It needs no settings.
OTHER_PACKAGES = (
    "django.core.management", "django.db.models", "django.test", "factory", "hypothesis.strategies",
    "lxml.etree", "protego", "pytest_django.plugin", "urllib3", "xml.sax",
)  # fmt: skip


class Result(NamedTuple):
    """A mutant and its state; `by` is the test that killed it, or why it was not judged."""

    mutant: Mutant
    state: str = "pending"
    by: str = ""
    tests: int = 0
    seconds: float = 0.0


Run = Callable[[Mutant | None, list[str], Path], None]


def judge(mutant: Mutant, contexts: Contexts, run: Run) -> Result:
    """Run the tests of a mutant until one fails, and then the same ones without the mutant."""
    tests, _ = contexts.tests(mutant)
    begin = time.monotonic()

    def result(state: str, by: str = "") -> Result:
        return Result(mutant, state, by, len(tests), round(time.monotonic() - begin, 2))

    for _ in range(4):
        if not tests:
            return result("not judged", "no test imports the module")
        limit = min(LIMIT, 20 + 5 * sum(contexts.seconds[name] for name in tests))
        status, killer = attempt(run, mutant, tests, limit)
        if status is None:
            return result("not judged", f"not done after {limit:.0f} s")
        if status == IMPORT:
            return result("pending", "import")
        if status == MISSING:
            return result("not judged", "the tests have other names")
        if status == 0:
            return result("survived")
        if not killer:
            return result("killed", f"exit status {status}")
        prefix = tests[: tests.index(killer) + 1]
        status, culprit = attempt(run, None, prefix, LIMIT)
        if status == 0:
            return result("killed", killer)
        where = f"{mutant.module}:{mutant.line}"
        print(f"\nskipped for {where}: {culprit or killer} fails without a mutant", flush=True)
        tests.remove(culprit if culprit in tests else killer)
    return result("not judged", "tests fail without the mutant")


def attempt(run: Run, mutant: Mutant | None, tests: list[str], limit: float) -> tuple[int | None, str]:
    """Run tests in a fork, and return its exit status and the test that failed."""

    def inside(folder: Path) -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        run(mutant, tests, folder)

    return fork(inside, limit)


def judge_all(mutants: Sequence[Mutant], jobs: int, state: Path, database: Path, run: Run) -> None:
    """Judge mutants in parallel processes, and add each result to the state file."""

    def shard(number: int) -> None:
        contexts = Contexts(database)
        for mutant in mutants[number::jobs]:
            with state.open("a") as file:
                file.write(json.dumps(judge(mutant, contexts, run)) + "\n")

    for pid in [start(partial(shard, number)) for number in range(jobs)]:
        os.waitpid(pid, 0)


def end_by(folder: Path, name: str) -> NoReturn:
    """End the process of a mutant that a test has killed."""
    (folder / "killer").write_text(name)
    os._exit(1)


def judge_in_functions(
    mutants: Sequence[Mutant], jobs: int, state: Path, database: Path, modules: Sequence[str]
) -> None:
    """Judge mutants inside functions, in forks of a process that has collected all tests."""
    current: list[Path] = []

    def act(items: dict[str, Any]) -> None:
        # The first one makes the database. As there is a next test, the database is kept.
        first, second = sorted(items.values(), key=lambda item: not item.get_closest_marker("django_db"))[
            :2
        ]
        first.config.hook.pytest_runtest_protocol(item=first, nextitem=second)

        def run(mutant: Mutant | None, names: list[str], folder: Path) -> None:
            current.append(folder)
            os.chdir(folder)
            first.config._tmp_path_factory._basetemp = folder / "pytest"
            (folder / "pytest").mkdir()
            if mutant and not replace_code(mutant):
                os._exit(IMPORT)
            chosen = [items[name] for name in names if name in items]
            first.session._setupstate.teardown_exact(chosen[0] if chosen else None)
            run_items(chosen)
            os._exit(0 if chosen else MISSING)

        judge_all(mutants, jobs, state, database, run)

    def failed(name: str) -> None:
        if current:
            end_by(current[-1], name)

    if fork(lambda folder: run_pytest(Plugin(act, failed), folder, modules))[0]:
        sys.exit("The tests could not be collected.")


def replace_code(mutant: Mutant) -> bool:
    """Replace the code of all function objects that a mutant changes. Return whether there are any."""
    path = ROOT / mutant.module
    source = path.read_text()
    trees = (ast.parse(source), mutated(source, mutant))
    before, after = (compile(tree, str(path), "exec", dont_inherit=True) for tree in trees)
    codes = dict(_changed(before, after))
    functions = [o for o in gc.get_objects() if type(o) is FunctionType]
    functions = [o for o in functions if o.__code__.co_filename == str(path) and o.__code__ in codes]
    for function in functions:
        if codes[function.__code__].co_freevars != function.__code__.co_freevars:
            return False
        function.__code__ = codes[function.__code__]
    return bool(functions)


def _changed(before: CodeType, after: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    if before != after:
        yield before, after
        inner = [[c for c in code.co_consts if isinstance(c, CodeType)] for code in (before, after)]
        if len(inner[0]) == len(inner[1]):
            for pair in zip(*inner, strict=True):
                yield from _changed(*pair)


def judge_at_import(mutants: Sequence[Mutant], jobs: int, state: Path, database: Path) -> None:
    """Judge mutants that must be imported, in forks of a process that has imported only other packages."""
    for name in OTHER_PACKAGES:
        importlib.import_module(name)

    def run(mutant: Mutant | None, tests: list[str], folder: Path) -> None:
        def act(items: dict[str, Any]) -> None:
            chosen = [items[name] for name in tests if name in items]
            run_items(chosen)
            os._exit(0 if chosen else MISSING)

        if mutant:
            path = str(ROOT / mutant.module)
            tree = mutated(Path(path).read_text(), mutant)
            original = importlib.machinery.SourceFileLoader.get_code

            def get_code(loader: Any, fullname: str) -> CodeType | None:
                if loader.get_filename(fullname) == path:
                    return compile(tree, path, "exec", dont_inherit=True)
                return original(loader, fullname)

            importlib.machinery.SourceFileLoader.get_code = get_code  # type: ignore[assignment, method-assign]
        modules = list(dict.fromkeys(name.split("::")[0] for name in tests))
        os._exit(run_pytest(Plugin(act, partial(end_by, folder)), folder, modules) or 3)

    judge_all(mutants, jobs, state, database, run)
