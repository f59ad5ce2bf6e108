"""Measure which share of mutants of the package the tests kill.

Use it before and after you delete or rewrite tests: the same mutants must die. A mutant is the package with
one small change: a comparison, a constant, a boolean operator, a returned value or a dropped statement.

    python -m tests.mutants --state /tmp/mutants/before.jsonl --count 500 --seed 41
    python -m tests.mutants --state /tmp/mutants/after.jsonl --again /tmp/mutants/before.jsonl
    python -m tests.mutants --state /tmp/mutants/before.jsonl --report

The first command copies the checkout to `before.tree`, and runs all tests there once under coverage (from
the extra `test`). `before.coverage` then says which test executes which line. It judges each mutant in a
forked process, and adds the result to the state file. If it is interrupted, the same command continues,
with the same copy. The second command judges the same mutants with the tests of today. A mutant whose code
has moved is found by its text; one whose code is gone is not judged. A mutant is in one of these states:

* `killed`: a test fails that passes without the mutant after the same other tests; or the process crashes.
* `survived`: all tests pass. At most `BUDGET` seconds of tests run, those of the mutant's room first.
* `not judged`: time ran out, no test imports the module, or the code is gone.
* `pending`: to be judged.

A mutant inside a function replaces the code of that function in a fork of a process that has collected all
tests and made the database. Others, and those of functions that run at import, are imported in a fork of a
process that has imported neither the package nor its tests. Tests marked `slow` or `services` do not run.
Processes that tests start without `fork`, such as `manage.py`, run the package without the mutant.
"""

# ruff: noqa: T201 this is a script

from __future__ import annotations

import argparse
import ast
import ctypes
import gc
import importlib
import importlib.machinery
import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple, NoReturn, cast

ROOT = Path(__file__).parents[1]
PACKAGE = "django_sitemaps09"
#: Seconds of tests for one mutant, as measured under coverage, and the time after which it is not judged.
BUDGET = 60
LIMIT = 180
MEMORY = 3 * 1024**3
MARKS = "not slow and not services"
#: Exit statuses of a process whose mutant must be imported, and of one that has not collected the tests.
IMPORT, MISSING = 77, 78
#: What is imported once for all mutants that must be imported. It needs no settings.
OTHER_PACKAGES = (
    "django.core.management", "django.db.models", "django.test", "factory", "hypothesis.strategies",
    "lxml.etree", "protego", "pytest_django.plugin", "urllib3", "xml.sax",
)  # fmt: skip

_OPPOSITES: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
_SKIPPED_FIELDS = {"annotation", "returns", "decorator_list", "type_params", "format_spec"}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_SKIPPED_NODES = (ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal)
#: Calls and keyword arguments whose texts are for people, or for type checkers.
_TEXT_CALLS = {"cast", "TypeVar", "NewType", "debug", "info", "warning", "error", "exception"}
_TEXT_KEYWORDS = {"help", "description", "epilog", "hint", "doc"}


class Mutant(NamedTuple):
    """One change of one module. The first five fields identify it; `code` finds it in moved code."""

    module: str
    line: int
    column: int
    kind: str
    change: str
    code: str
    first: int
    last: int
    in_function: bool

    @property
    def room(self) -> str:
        """Return the direct child of the package that the module is or belongs to."""
        return self.module.split("/")[1].removesuffix(".py")

    @property
    def anywhere(self) -> tuple[str, ...]:
        """Return what identifies the mutant if its code moves within the module."""
        return self.module, self.kind, self.change, self.code


class Result(NamedTuple):
    """A mutant and its state; `by` is the test that killed it, or why it was not judged."""

    mutant: Mutant
    state: str = "pending"
    by: str = ""
    tests: int = 0
    seconds: float = 0.0


Apply = Callable[..., None]


def mutants_of(module: str, source: str) -> Iterator[tuple[Mutant, Apply, ast.Module]]:
    """Yield the possible mutants of a module, each with a function that applies it to the yielded tree."""
    tree = ast.parse(source)
    lines = source.splitlines()

    def visit(node: ast.AST, put: Apply, span: tuple[int, int], inside: bool) -> Iterator[Any]:
        for kind, after in _changes(node):
            change = f"{_text(node)} → {_text(after)}"
            line, column = cast(Any, node).lineno, cast(Any, node).col_offset
            mutant = Mutant(module, line, column, kind, change, lines[line - 1].strip(), *span, inside)
            yield mutant, partial(put, ast.copy_location(after, node)), tree
        for name, field in ast.iter_fields(node):
            if name in _SKIPPED_FIELDS or _is_for_people(node, name):
                continue
            within = inside or (name == "body" and isinstance(node, _FUNCTIONS))
            children = field if isinstance(field, list) else [field]
            for index, child in enumerate(children):
                if isinstance(child, ast.AST) and not _is_skipped(child, node):
                    is_list = children is field
                    to = partial(field.__setitem__, index) if is_list else partial(setattr, node, name)
                    yield from visit(child, to, _span(child) or span, within)

    yield from visit(tree, print, (0, 0), False)


def _span(node: ast.AST) -> tuple[int, int] | None:
    """Return the first and the last line of a statement, without those of its blocks."""
    if not isinstance(node, ast.stmt):
        return None
    body = getattr(node, "body", None)
    last = body[0].lineno - 1 if body else node.end_lineno or node.lineno
    return node.lineno, max(node.lineno, last)


def _is_skipped(node: ast.AST, parent: ast.AST) -> bool:
    match node:
        case ast.Constant(value=str(value)) if isinstance(parent, ast.JoinedStr) and " " in value:
            return True  # A part of a message.
        case ast.Expr(value=ast.Constant()) | ast.Subscript(value=ast.Name(id="Literal")):
            return True
        case ast.Assign(targets=[ast.Name(id="__all__")]) | ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Compare(left=ast.Attribute(attr="version_info") | ast.Name(id="VERSION")):
            return True
    return isinstance(node, _SKIPPED_NODES)


def _is_for_people(node: ast.AST, field: str) -> bool:
    if isinstance(node, ast.keyword):
        return node.arg in _TEXT_KEYWORDS
    if isinstance(node, ast.Call) and field == "args":
        return getattr(node.func, "attr", getattr(node.func, "id", "")) in _TEXT_CALLS
    return False


def _changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield what may stand in the place of a node."""
    match node:
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            for index, op in enumerate(ops):
                opposite = cast(ast.cmpop, _OPPOSITES[type(op)]())
                changed = [*ops[:index], opposite, *ops[index + 1 :]]
                yield "comparison", ast.Compare(left, changed, comparators)
        case ast.BoolOp(op=op, values=values):
            yield "boolean", ast.BoolOp(cast(ast.boolop, _OPPOSITES[type(op)]()), values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "boolean", operand
        case ast.Constant(value=bool(value)):
            yield "constant", ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield "constant", ast.Constant(value + 1)
            yield "constant", ast.Constant(value - 1)
        case ast.Constant(value=str(value)) if len(value.split()) < 4:  # A longer one is a message.
            yield "constant", ast.Constant(f"X{value}")
        case ast.Constant(value=bytes(value)):
            yield "constant", ast.Constant(b"X" + value)
        case ast.Return(value=ast.Constant(value=None)):
            yield "return", ast.Return(ast.Constant(True))
        case ast.Return(value=ast.expr() as value) if not isinstance(getattr(value, "value", None), bool):
            yield "return", ast.Return(ast.Constant(None))
        case ast.Expr(value=ast.Yield(value=ast.expr())):
            yield "return", ast.Expr(ast.Yield(ast.Constant(None)))
        case ast.Expr(value=ast.Yield() | ast.YieldFrom()):
            pass
        case ast.Assign(targets=[ast.Subscript()]):
            yield "statement", ast.Pass()
        case ast.Expr() | ast.AugAssign() | ast.Raise() | ast.Continue() | ast.Break() | ast.Delete():
            yield "statement", ast.Pass()
        case ast.Return(value=None):
            yield "statement", ast.Pass()


def _text(node: ast.AST) -> str:
    try:
        text = ast.unparse(ast.fix_missing_locations(node)).replace("\n", " ")
    except ValueError:  # A part of an f-string that needs quotes of both kinds.
        text = type(node).__name__
    return text if len(text) <= 100 else f"{text[:97]}..."


def mutated(source: str, mutant: Mutant) -> ast.Module:
    """Return the tree of a module with its mutant."""
    for possible, apply, tree in mutants_of(mutant.module, source):
        if possible == mutant:
            apply()
            return ast.fix_missing_locations(tree)
    raise LookupError(mutant)


def sample(mutants: Iterable[Mutant], count: int, seed: int, least: int = 15) -> list[Mutant]:
    """Choose mutants: `least` of each room or all it has, and the rest in proportion to what remains."""
    rooms: defaultdict[str, list[Mutant]] = defaultdict(list)
    for mutant in sorted(set(mutants)):
        rooms[mutant.room].append(mutant)
    least = min(least, count // max(1, len(rooms)))
    sizes = {room: min(least, len(possible)) for room, possible in rooms.items()}
    more = {room: len(possible) - sizes[room] for room, possible in rooms.items()}
    rest = min(max(0, count - sum(sizes.values())), sum(more.values()))
    shares = {room: rest * left / (sum(more.values()) or 1) for room, left in more.items()}
    floors = {room: int(share) for room, share in shares.items()}
    by_fraction = sorted(shares, key=lambda room: (floors[room] - shares[room], room))
    for room in by_fraction[: rest - sum(floors.values())]:
        floors[room] += 1
    return [
        mutant
        for room in sorted(rooms)
        for mutant in random.Random(f"{seed} {room}").sample(rooms[room], sizes[room] + floors[room])  # noqa: S311
    ]


def possible_mutants() -> list[Mutant]:
    """Return all mutants of the package, except of migrations and `__init__.py` of the package itself."""
    paths = [path for path in sorted((ROOT / PACKAGE).rglob("*.py")) if "migrations" not in path.parts]
    paths.remove(ROOT / PACKAGE / "__init__.py")
    modules = [(path.relative_to(ROOT).as_posix(), path.read_text()) for path in paths]
    return [mutant for module, source in modules for mutant, *_ in mutants_of(module, source)]


# Running tests


class Plugin:
    """Runs `act` with the collected tests by id, in the place of pytest's own loop."""

    def __init__(self, act: Callable[[dict[str, Any]], None], failed: Callable[[str], None]) -> None:
        self.act = act
        self.failed = failed

    def pytest_configure(self) -> None:
        from hypothesis import Phase, settings

        # A smaller example kills a mutant no better.
        settings.register_profile("mutants", settings(), phases=[Phase.explicit, Phase.generate])
        settings.load_profile("mutants")

    def pytest_runtestloop(self, session: Any) -> bool:
        if session.testsfailed:
            os._exit(2)
        self.act({item.nodeid: item for item in session.items})
        return True

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed(report.nodeid)


def run_pytest(plugin: Plugin, folder: Path, modules: Sequence[str] = ("tests",)) -> int:
    """Run pytest with options that suit forks, in a folder that is not the checkout."""
    import pytest

    os.chdir(folder)
    options = ["-q", "--capture=sys", "-m", MARKS, "--timeout=0", "-o", "faulthandler_timeout=0"]
    options += ["-pno:randomly", "-pno:xdist", "-pno:cacheprovider"]
    where = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT), f"--basetemp={folder / 'pytest'}"]
    return int(pytest.main([*options, *where, *(str(ROOT / module) for module in modules)], [plugin]))


def run_items(items: Sequence[Any]) -> None:
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)


def start(run: Callable[[], object]) -> int:
    """Run a function in a process that ends with this one."""
    pid = os.fork()
    if pid:
        return pid
    try:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        run()
        sys.stdout.flush()
        os._exit(0)
    except BaseException:  # noqa: BLE001 the process ends
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
    finally:
        os._exit(3)


def fork(run: Callable[[Path], object], limit: float = 1e9) -> tuple[int | None, str]:
    """Run a function in a process with a folder of its own.

    Return its exit status, `None` if time ran out, and the test that it has named in the file `killer`.
    """

    def inside() -> None:
        os.setsid()
        os.environ.update(TMPDIR=str(folder), HYPOTHESIS_STORAGE_DIRECTORY=str(folder / "hypothesis"))
        tempfile.tempdir = str(folder)
        run(folder)

    folder = Path(tempfile.mkdtemp(prefix="mutant-"))
    pid = start(inside)
    ended, status, end = 0, 0, time.monotonic() + limit
    try:
        while not ended and time.monotonic() < end:
            time.sleep(0.02)
            ended, status = os.waitpid(pid, os.WNOHANG)
        killer = folder / "killer"
        name = killer.read_text() if killer.exists() else ""
        return (os.waitstatus_to_exitcode(status) if ended else None), name
    finally:
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        if not ended:
            os.waitpid(pid, 0)
        shutil.rmtree(folder, ignore_errors=True)


def measure(database: Path) -> None:
    """Run all tests under coverage. Save the lines and the seconds of each, and whether it fails."""

    def run(folder: Path) -> None:
        from coverage import Coverage

        target = folder / "coverage"
        coverage = Coverage(str(target), config_file=False, source=[str(ROOT / PACKAGE)])
        coverage.set_option("run:disable_warnings", ["no-sysmon-context"])  # See `restart_events` below.
        seconds: dict[str, float] = {}
        failed: set[str] = set()

        def act(items: dict[str, Any]) -> None:
            caches = [o for o in gc.get_objects() if type(o).__name__ == "_lru_cache_wrapper"]
            caches = [o for o in caches if str(getattr(o, "__module__", "")).startswith(PACKAGE)]
            following = iter([*items.values(), None])
            next(following)
            for name, item in items.items():
                for function in caches:  # Each test executes the lines of cached functions.
                    function.cache_clear()
                coverage.switch_context(name)
                if hasattr(sys, "monitoring"):
                    sys.monitoring.restart_events()  # A line is reported only once after this call.
                begin = time.monotonic()
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=next(following))
                seconds[name] = time.monotonic() - begin
                coverage.switch_context("")

        coverage.start()
        run_pytest(Plugin(act, failed.add), folder)
        coverage.stop()
        coverage.save()
        with sqlite3.connect(target) as connection:
            connection.execute("create table tests (name text, seconds real, failed integer)")
            rows = [(name, taken, name in failed) for name, taken in seconds.items()]
            connection.executemany("insert into tests values (?, ?, ?)", rows)
        shutil.move(target, database)

    if fork(run)[0]:
        sys.exit("The tests could not be measured.")


class Contexts:
    """Which tests execute which lines, read from the coverage database."""

    def __init__(self, database: Path) -> None:
        self.connection = sqlite3.connect(database)
        tests = self.connection.execute("select name, seconds, failed from tests").fetchall()
        self.seconds = {name: seconds for name, seconds, failed in tests if not failed}
        self.failed = [name for name, _, failed in tests if failed]

    @cache  # noqa: B019 there is one object
    def lines(self, module: str) -> list[tuple[str, bytes]]:
        """Return each test that executes lines of a module, and their bits. The name of import is ''."""
        query = (
            "select context.context, numbits from line_bits join file on file.id = file_id "
            "join context on context.id = context_id where path like ?"
        )
        return self.connection.execute(query, [f"%/{module}"]).fetchall()

    def tests(self, mutant: Mutant) -> tuple[list[str], bool]:
        """Return the tests for a mutant, the most promising first, and whether it must be imported."""

        def executes(bits: bytes) -> bool:
            lines = range(mutant.first, mutant.last + 1)
            return any(line // 8 < len(bits) and bits[line // 8] >> line % 8 & 1 for line in lines)

        rows = self.lines(mutant.module)
        names = {name for name, bits in rows if executes(bits)}
        own = (f"tests/{mutant.room}/", f"tests/test_{mutant.room}")
        chosen = names & self.seconds.keys()
        if rows and not chosen:
            chosen = {name for name in self.seconds if name.startswith(own)}
            chosen |= {name for name, _ in rows} & self.seconds.keys()
        functions: Counter[str] = Counter()
        ranks: dict[str, int] = {}
        for name in sorted(chosen, key=lambda name: (self.seconds[name], name)):
            function = name.split("[")[0]
            ranks[name] = functions[function]
            functions[function] += 1
        ordered: list[str] = []
        spent = 0.0
        # One case of each test function first.
        for name in sorted(chosen, key=lambda n: (ranks[n] > 0, not n.startswith(own), self.seconds[n], n)):
            spent += self.seconds[name]
            if spent > BUDGET and ordered:
                break
            ordered.append(name)
        return ordered, "" in names or not mutant.in_function


# Judging

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
        print(f"skipped: {culprit or killer}, which also fails without {mutant}", flush=True)
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


def judge_in_functions(mutants: Sequence[Mutant], jobs: int, state: Path, database: Path) -> None:
    """Judge mutants inside functions, in forks of a process that has collected all tests."""
    current: list[Path] = []

    def act(items: dict[str, Any]) -> None:
        first, second = [item for item in items.values() if item.get_closest_marker("django_db")][:2]
        # As there is a next test, the database is kept.
        first.config.hook.pytest_runtest_protocol(item=first, nextitem=second)

        def run(mutant: Mutant | None, tests: list[str], folder: Path) -> None:
            current.append(folder)
            os.chdir(folder)
            first.config._tmp_path_factory._basetemp = folder / "pytest"
            (folder / "pytest").mkdir()
            if mutant and not replace_code(mutant):
                os._exit(IMPORT)
            chosen = [items[name] for name in tests if name in items]
            first.session._setupstate.teardown_exact(chosen[0] if chosen else None)
            run_items(chosen)
            os._exit(0 if chosen else MISSING)

        judge_all(mutants, jobs, state, database, run)

    def failed(name: str) -> None:
        if current:
            end_by(current[-1], name)

    if fork(lambda folder: run_pytest(Plugin(act, failed), folder))[0]:
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


# The command


def read_state(state: Path) -> dict[Mutant, Result]:
    rows = [json.loads(line) for line in state.read_text().splitlines()]
    return {Mutant(*row[0]): Result(Mutant(*row[0]), *row[1:]) for row in rows}


def again(results: Iterable[Result]) -> list[Result]:
    """Return the mutants of another run as pending ones, where they are in the code of today."""
    exact: dict[Any, list[Mutant]] = defaultdict(list)
    for mutant in possible_mutants():
        exact[mutant[:5]].append(mutant)
        exact[mutant.anywhere].append(mutant)
    pending = []
    for mutant, *_ in results:
        same = exact[mutant[:5]] or exact[mutant.anywhere]
        gone = Result(mutant, "not judged", "the code is gone")
        pending.append(Result(same[0]) if len(same) == 1 else gone)
    return pending


def report(results: Sequence[Result], before: Sequence[Result]) -> None:
    """Print the figures of each room, and the survivors."""
    states = ("killed", "survived", "not judged", "pending")
    print(f"{'room':20}{'mutants':>11}" + "".join(f"{state:>11}" for state in states) + f"{'share':>8}")
    rooms = sorted({result.mutant.room for result in results})
    for room in [*rooms, "all"]:
        counts = Counter(result.state for result in results if room in {result.mutant.room, "all"})
        judged = counts["killed"] + counts["survived"]
        share = f"{counts['killed'] / judged:8.1%}" if judged else "       -"
        print(f"{room:20}{counts.total():11}" + "".join(f"{counts[state]:11}" for state in states) + share)
    died = {result.mutant.anywhere for result in before if result.state == "killed"}
    lists: dict[str, Callable[[Result], bool]] = {
        "survived": lambda result: result.state == "survived",
        "not judged": lambda result: result.state == "not judged",
        "killed by a crash, not by a test": lambda result: result.by.startswith("exit status"),
        "killed before, and not now": lambda result: (
            result.state != "killed" and result.mutant.anywhere in died
        ),
    }
    for title, belongs in lists.items():
        print(f"\n{title}:")
        for mutant, state, by, tests, _ in sorted(filter(belongs, results)):
            place = f"{mutant.module}:{mutant.line}: {mutant.kind}: {mutant.change}"
            print(f"  {place} ({state}, {by or f'{tests} tests'})")


def copy_checkout(tree: Path) -> None:
    """Copy the files that git knows or would add, so that edits and children cannot disturb each other."""
    git = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(git, cwd=ROOT, check=True, capture_output=True, text=True).stdout  # noqa: S603
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)


def main() -> None:
    parser = argparse.ArgumentParser("python -m tests.mutants", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--state", type=Path, required=True, help="the results, from which a run continues")
    parser.add_argument("--coverage", type=Path, help="the coverage database; default: beside the results")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=41)
    parser.add_argument("--again", type=Path, help="judge the mutants of this state file, not a new sample")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--report", action="store_true", help="only print the results")
    options = parser.parse_args()
    state = options.state.resolve()
    tree = state.with_suffix(".tree")
    database = (options.coverage or state.with_suffix(".coverage")).resolve()
    earlier = list(read_state(options.again).values()) if options.again else []
    if options.report:
        report(list(read_state(state).values()), earlier)
        return
    if tree != ROOT:
        if not tree.exists():
            copy_checkout(tree)
        paths = [f"--state={state}", f"--coverage={database}"]
        paths += [f"--again={options.again.resolve()}"] if options.again else []
        os.environ["PYTHONPATH"] = str(tree)
        os.environ["COVERAGE_CORE"] = "sysmon" if hasattr(sys, "monitoring") else "ctrace"
        os.chdir(tree)
        os.execv(sys.executable, [sys.executable, "-m", "tests.mutants", *sys.argv[1:], *paths])  # noqa: S606
    if not database.exists():
        measure(database)
    contexts = Contexts(database)
    if contexts.failed:
        print("skipped, because they fail without a mutant:", *contexts.failed, sep="\n  ", flush=True)
    if not state.exists():
        new = [] if earlier else sample(possible_mutants(), options.count, options.seed)
        chosen = again(earlier) if earlier else map(Result, new)
        state.write_text("".join(json.dumps(result) + "\n" for result in chosen))
    pending = [result for result in read_state(state).values() if result.state == "pending"]
    inside = [r.mutant for r in pending if not (r.by or contexts.tests(r.mutant)[1])]
    print(f"{len(pending)} mutants to judge, {len(inside)} of them inside functions", flush=True)
    if inside:
        judge_in_functions(inside, options.jobs, state, database)
    pending = [result for result in read_state(state).values() if result.state == "pending"]
    judge_at_import([result.mutant for result in pending], options.jobs, state, database)
    report(list(read_state(state).values()), earlier)


if __name__ == "__main__":
    main()
