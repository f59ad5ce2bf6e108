"""Measure which share of mutants of the package the tests kill: `python -m tests.mutants`.

Use it before and after you delete or rewrite tests, as `tests/README.md` says: the same mutants must die.
A mutant is the package with one small change. It is in one of these states:

* `killed`: a test fails that passes without the mutant after the same other tests; or the process crashes.
* `survived`: all tests pass. At most 60 seconds of tests run, those of the mutant's room first.
* `not judged`: time ran out, no test imports the module, or the code is gone.
* `pending`: to be judged.

A mutant inside a function replaces its code in a fork of a process that has collected all tests and made
the database. Others are imported in a fork of a process that has imported neither package nor tests.
Tests marked `slow` or `services` do not run. Processes that tests start without `fork` have no mutant.
"""

# ruff: noqa: T201 this is a script

from __future__ import annotations

import argparse
import ast
import ctypes
import gc
import importlib
import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter, defaultdict
from contextlib import suppress
from functools import cache, partial
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType
from typing import NamedTuple

from tests.support.processes import ROOT

PACKAGE = "django_sitemaps09"
_OPPOSITES = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
_SKIPPED_FIELDS = {"annotation", "returns", "decorator_list", "type_params", "format_spec"}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
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
    def room(self):
        """Return the direct child of the package that the module is or belongs to."""
        return self.module.split("/")[1].removesuffix(".py")

    @property
    def anywhere(self):
        """Return what identifies the mutant if its code moves within the module."""
        return self.module, self.kind, self.change, self.code


def mutants_of(module, source):
    """Yield the possible mutants of a module, each with a function that applies it to the yielded tree."""
    tree, lines = ast.parse(source), source.splitlines()

    def visit(node, put, span, inside):
        for kind, after in _changes(node):
            change, code = f"{_text(node)} → {_text(after)}", lines[node.lineno - 1].strip()
            mutant = Mutant(module, node.lineno, node.col_offset, kind, change, code, *span, inside)
            yield mutant, partial(put, ast.copy_location(after, node)), tree
        for name, field in ast.iter_fields(node):
            if name in _SKIPPED_FIELDS or _is_for_people(node, name):
                continue
            within = inside or (name == "body" and isinstance(node, _FUNCTIONS))
            is_list = isinstance(field, list)
            for index, child in enumerate(field if is_list else [field]):
                if isinstance(child, ast.AST) and not _is_skipped(child, node):
                    to = partial(field.__setitem__, index) if is_list else partial(setattr, node, name)
                    yield from visit(child, to, _span(child, span), within)

    yield from visit(tree, print, (0, 0), False)


def _span(node, around):
    if not isinstance(node, ast.stmt):
        return around
    body = getattr(node, "body", None)
    return node.lineno, max(node.lineno, body[0].lineno - 1 if body else node.end_lineno)


def _is_skipped(node, parent):
    match node:
        case ast.Constant(value=str(value)):
            return isinstance(parent, ast.JoinedStr) and " " in value  # A part of a message.
        case ast.Import() | ast.ImportFrom() | ast.Global() | ast.Nonlocal():
            return True
        case ast.Expr(value=ast.Constant()) | ast.Subscript(value=ast.Name(id="Literal")):
            return True
        case ast.Assign(targets=[ast.Name(id="__all__")]) | ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Compare(left=ast.Attribute(attr="version_info") | ast.Name(id="VERSION")):
            return True
    return False


def _is_for_people(node, field):
    if isinstance(node, ast.keyword):
        return node.arg in _TEXT_KEYWORDS
    name = getattr(node, "func", None)
    return field == "args" and getattr(name, "attr", getattr(name, "id", "")) in _TEXT_CALLS


def _changes(node):
    match node:
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            for index, op in enumerate(ops):
                changed = [*ops[:index], _OPPOSITES[type(op)](), *ops[index + 1 :]]
                yield "comparison", ast.Compare(left, changed, comparators)
        case ast.BoolOp(op=op, values=values):
            yield "boolean", ast.BoolOp(_OPPOSITES[type(op)](), values)
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
        case ast.Assign(targets=[ast.Subscript()]) | ast.Return(value=None):
            yield "statement", ast.Pass()
        case ast.Expr() | ast.AugAssign() | ast.Raise() | ast.Continue() | ast.Break() | ast.Delete():
            yield "statement", ast.Pass()


def _text(node):
    try:
        text = ast.unparse(ast.fix_missing_locations(node)).replace("\n", " ")
    except ValueError:  # A part of an f-string that needs quotes of both kinds.
        text = type(node).__name__
    return text if len(text) <= 100 else f"{text[:97]}..."


def mutated(source, mutant):
    """Return the tree of a module with its mutant."""
    for possible, apply, tree in mutants_of(mutant.module, source):
        if possible == mutant:
            apply()
            return ast.fix_missing_locations(tree)
    raise LookupError(mutant)


def sample(mutants, count, seed, least=15):
    """Choose mutants: `least` of each room or all it has, and the rest in proportion to what remains."""
    rooms = defaultdict(list)
    for mutant in sorted(set(mutants)):
        rooms[mutant.room].append(mutant)
    least = min(least, count // max(1, len(rooms)))
    sizes = {room: min(least, len(possible)) for room, possible in rooms.items()}
    more = {room: len(possible) - sizes[room] for room, possible in rooms.items()}
    rest = min(max(0, count - sum(sizes.values())), sum(more.values()))
    shares = {room: rest * left / (sum(more.values()) or 1) for room, left in more.items()}
    by_fraction = sorted(shares, key=lambda room: (int(shares[room]) - shares[room], room))
    last = by_fraction[: rest - sum(map(int, shares.values()))]
    sizes = {room: sizes[room] + int(shares[room]) + (room in last) for room in sorted(rooms)}
    chosen = (random.Random(f"{seed} {room}").sample(rooms[room], size) for room, size in sizes.items())  # noqa: S311
    return [mutant for mutants in chosen for mutant in mutants]


def possible_mutants():
    """Return all mutants of the package, except of migrations and `__init__.py` of the package itself."""
    paths = [path for path in sorted((ROOT / PACKAGE).rglob("*.py")) if "migrations" not in path.parts]
    paths.remove(ROOT / PACKAGE / "__init__.py")
    modules = [(path.relative_to(ROOT).as_posix(), path.read_text()) for path in paths]
    return [mutant for module, source in modules for mutant, *_ in mutants_of(module, source)]


# Running tests in forks

#: Seconds of tests for one mutant, as measured under coverage.
BUDGET = 60
#: Seconds after which a mutant is not judged, and the bytes of memory that its tests may use.
LIMIT, MEMORY = 180, 3 * 1024**3
#: Exit statuses of a process whose mutant must be imported, and of one that has not collected the tests.
IMPORT, MISSING = 77, 78
#: What is imported once for all mutants that must be imported. It needs no settings.
OTHER_PACKAGES = "django.core.management django.db.models django.test factory hypothesis.strategies"
OTHER_PACKAGES += " lxml.etree protego pytest_django.plugin urllib3 xml.sax"


class Result(NamedTuple):
    """A mutant and its state; `by` is the test that killed it, or why it was not judged."""

    mutant: Mutant
    state: str = "pending"
    by: str = ""
    tests: int = 0
    seconds: float = 0.0


def run_pytest(act, failed, folder, modules):
    """Run pytest in a folder that is not the checkout, with `act(items)` in the place of its own loop."""
    import pytest
    from hypothesis import Phase, settings

    class Plugin:
        def pytest_configure(self):
            # A smaller example kills a mutant no better.
            settings.register_profile("mutants", settings(), phases=[Phase.explicit, Phase.generate])
            settings.load_profile("mutants")

        def pytest_runtestloop(self, session):
            if session.testsfailed:
                os._exit(2)
            act({item.nodeid: item for item in session.items})
            return True

        def pytest_runtest_logreport(self, report):
            if report.failed:
                failed(report.nodeid)

    os.chdir(folder)
    options = (
        "-q --capture=sys --timeout=0 -ofaulthandler_timeout=0 -pno:randomly -pno:xdist -pno:cacheprovider"
    )
    options = [*options.split(), "-m", "not slow and not services", f"--basetemp={folder / 'pytest'}"]
    where = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT)]
    return int(pytest.main([*options, *where, *(str(ROOT / module) for module in modules)], [Plugin()]))


def run_items(items):
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
    os._exit(0 if items else MISSING)


def start(run):
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


def fork(run, limit=None):
    """Run a function in a process with a folder of its own. With a limit of seconds, it is silent.

    Return its exit status, `None` if time ran out, and the test that it has named in the file `killer`.
    """

    def inside():
        os.setsid()
        os.environ.update(TMPDIR=str(folder), HYPOTHESIS_STORAGE_DIRECTORY=str(folder / "hypothesis"))
        tempfile.tempdir = str(folder)
        if limit:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            for output in (1, 2):
                os.dup2(os.open(os.devnull, os.O_WRONLY), output)
        run(folder)

    folder = Path(tempfile.mkdtemp(prefix="mutant-"))
    folder.chmod(0o755)  # Tests export as another user.
    pid, ended, status, end = start(inside), 0, 0, time.monotonic() + (limit or 1e9)
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


def measure(database, modules):
    """Run tests under coverage. Save the lines and the seconds of each, and whether it fails."""

    def run(folder):
        from coverage import Coverage

        target = folder / "coverage"
        coverage = Coverage(str(target), config_file=False, source=[str(ROOT / PACKAGE)])
        coverage.set_option("run:disable_warnings", ["no-sysmon-context"])  # See `restart_events` below.
        seconds, failed = {}, set()

        def act(items):
            caches = [o for o in gc.get_objects() if type(o).__name__ == "_lru_cache_wrapper"]
            caches = [o for o in caches if str(getattr(o, "__module__", "")).startswith(PACKAGE)]
            for item, following in zip(items.values(), [*items.values(), None][1:], strict=True):
                for function in caches:  # Each test executes the lines of cached functions.
                    function.cache_clear()
                coverage.switch_context(item.nodeid)
                if hasattr(sys, "monitoring"):
                    sys.monitoring.restart_events()  # A line is reported only once after this call.
                begin = time.monotonic()
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                seconds[item.nodeid] = time.monotonic() - begin
                coverage.switch_context("")

        coverage.start()
        run_pytest(act, failed.add, folder, modules)
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

    def __init__(self, database):
        self.connection = sqlite3.connect(database)
        tests = self.connection.execute("select name, seconds, failed from tests").fetchall()
        self.seconds = {name: seconds for name, seconds, failed in tests if not failed}
        self.failed = [name for name, _, failed in tests if failed]

    @cache  # noqa: B019 there is one object
    def lines(self, module):
        """Return each test that executes lines of a module, and their bits. The name of import is ''."""
        query = "select context.context, numbits from line_bits join file on file.id = file_id "
        query += "join context on context.id = context_id where path like ?"
        return self.connection.execute(query, [f"%/{module}"]).fetchall()

    def tests(self, mutant):
        """Return the tests for a mutant, the most promising first, and whether it must be imported."""

        def executes(bits):
            lines = range(mutant.first, mutant.last + 1)
            return any(line // 8 < len(bits) and bits[line // 8] >> line % 8 & 1 for line in lines)

        rows = self.lines(mutant.module)
        names = {name for name, bits in rows if executes(bits)}
        own, chosen = (f"tests/{mutant.room}/", f"tests/test_{mutant.room}"), names & self.seconds.keys()
        if rows and not chosen:
            chosen = {name for name in self.seconds if name.startswith(own)}
            chosen |= {name for name, _ in rows} & self.seconds.keys()
        by_seconds = sorted(chosen, key=lambda name: (self.seconds[name], name))
        first_cases = {*{name.split("[")[0]: name for name in reversed(by_seconds)}.values()}
        by_seconds.sort(key=lambda name: (name not in first_cases, not name.startswith(own)))
        ordered, spent = [], 0.0
        for name in by_seconds:
            spent += self.seconds[name]
            if spent > BUDGET and ordered:
                break
            ordered.append(name)
        return ordered, "" in names or not mutant.in_function


def judge_all(mutants, jobs, state, database, run):
    """Judge mutants in parallel processes, and add each result to the state file."""

    def shard(number):
        contexts = Contexts(database)
        for mutant in mutants[number::jobs]:
            with state.open("a") as file:
                file.write(json.dumps(judge(mutant, contexts, run)) + "\n")

    for pid in [start(partial(shard, number)) for number in range(jobs)]:
        os.waitpid(pid, 0)


def judge(mutant, contexts, run):
    """Run the tests of a mutant until one fails, and then the same ones without the mutant."""
    tests, _ = contexts.tests(mutant)
    begin, count, state, by = time.monotonic(), len(tests), "not judged", "no test imports the module"
    while tests and count - len(tests) < 4:
        limit = min(LIMIT, 20 + 5 * sum(contexts.seconds[name] for name in tests))
        status, killer = fork(partial(run, mutant, tests), limit)
        state, by = {
            None: ("not judged", f"not done after {limit:.0f} s"),
            0: ("survived", ""),
            IMPORT: ("pending", "import"),
            MISSING: ("not judged", "the tests have other names"),
        }.get(status, ("killed", killer or f"exit status {status}"))
        if state != "killed" or not killer:
            break
        status, culprit = fork(partial(run, None, tests[: tests.index(killer) + 1]), LIMIT)
        if status == 0:
            break
        state, by = "not judged", "tests fail without the mutant"
        print(f"\nskipped for {mutant.module}: {culprit or killer} fails without a mutant", flush=True)
        tests.remove(culprit if culprit in tests else killer)
    return Result(mutant, state, by, len(tests), round(time.monotonic() - begin, 2))


def end_by(folder, name):
    (folder / "killer").write_text(name)
    os._exit(1)


def judge_in_functions(mutants, jobs, state, database, modules):
    """Judge mutants inside functions, in forks of a process that has collected all tests."""
    current = []

    def act(items):
        # The first one makes the database. As there is a next test, the database is kept.
        by_mark = sorted(items.values(), key=lambda item: not item.get_closest_marker("django_db"))
        first, second = by_mark[:2]
        first.config.hook.pytest_runtest_protocol(item=first, nextitem=second)

        def run(mutant, names, folder):
            current.append(folder)
            os.chdir(folder)
            first.config._tmp_path_factory._basetemp = folder / "pytest"
            (folder / "pytest").mkdir()
            if mutant and not replace_code(mutant):
                os._exit(IMPORT)
            chosen = [items[name] for name in names if name in items]
            first.session._setupstate.teardown_exact(chosen[0] if chosen else None)
            run_items(chosen)

        judge_all(mutants, jobs, state, database, run)

    def failed(name):
        if current:
            end_by(current[-1], name)

    if fork(lambda folder: run_pytest(act, failed, folder, modules))[0]:
        sys.exit("The tests could not be collected.")


def replace_code(mutant):
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


def _changed(before, after):
    """Yield each code object that differs, with its new one."""
    if before != after:
        yield before, after
        inner = [[c for c in code.co_consts if isinstance(c, CodeType)] for code in (before, after)]
        if len(inner[0]) == len(inner[1]):
            for pair in zip(*inner, strict=True):
                yield from _changed(*pair)


def judge_at_import(mutants, jobs, state, database):
    """Judge mutants that must be imported, in forks of a process that has imported only other packages."""
    for name in OTHER_PACKAGES.split():
        importlib.import_module(name)
    original = SourceFileLoader.get_code

    def run(mutant, tests, folder):
        if mutant:
            path = str(ROOT / mutant.module)
            code = compile(mutated(Path(path).read_text(), mutant), path, "exec", dont_inherit=True)
            SourceFileLoader.get_code = lambda loader, name: (
                code if loader.get_filename(name) == path else original(loader, name)
            )
        modules = list(dict.fromkeys(name.split("::")[0] for name in tests))
        act = lambda items: run_items([items[name] for name in tests if name in items])  # noqa: E731
        os._exit(run_pytest(act, partial(end_by, folder), folder, modules) or 3)

    judge_all(mutants, jobs, state, database, run)


# The command

STATES = ("killed", "survived", "not judged", "pending")


def read_state(state):
    rows = [json.loads(line) for line in state.read_text().splitlines()]
    return list({Mutant(*row[0]): Result(Mutant(*row[0]), *row[1:]) for row in rows}.values())


def again(results):
    exact = defaultdict(list)
    for mutant in possible_mutants():
        exact[mutant[:5]].append(mutant)
        exact[mutant.anywhere].append(mutant)
    for mutant, *_ in results:
        same = exact[mutant[:5]] or exact[mutant.anywhere]
        yield Result(same[0]) if len(same) == 1 else Result(mutant, "not judged", "the code is gone")


def report(results, earlier):
    """Print the figures of each room, and the survivors."""
    print(f"{'room':20}{'mutants':>11}" + "".join(f"{state:>11}" for state in STATES) + f"{'share':>8}")
    for room in [*sorted({result.mutant.room for result in results}), "all"]:
        counts = Counter(result.state for result in results if room in {result.mutant.room, "all"})
        judged = counts["killed"] + counts["survived"]
        share = f"{counts['killed'] / judged:8.1%}" if judged else "       -"
        print(f"{room:20}{counts.total():11}" + "".join(f"{counts[state]:11}" for state in STATES) + share)
    died = {result.mutant.anywhere for result in earlier if result.state == "killed"}
    lost = [result for result in results if result.state != "killed" and result.mutant.anywhere in died]
    for title, listed in {
        **{state: [result for result in results if result.state == state] for state in STATES[1:3]},
        "killed before, and not now": lost,
    }.items():
        print(f"\n{title}:")
        for mutant, state, by, tests, _ in sorted(listed):
            place = f"{mutant.module}:{mutant.line}: {mutant.kind}: {mutant.change}"
            print(f"  {place} ({state}, {by or f'{tests} tests'})")


def main():
    parser = argparse.ArgumentParser("python -m tests.mutants", description=__doc__.split("\n")[0])
    parser.add_argument("--state", type=Path, required=True, help="the results, from which a run continues")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=41)
    parser.add_argument("--tests", nargs="+", default=["tests"], help="folders and modules of tests to run")
    parser.add_argument("--again", type=Path, help="judge the mutants of this state file, not a new sample")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--report", action="store_true", help="only print the results")
    options = parser.parse_args()
    state, database = options.state.resolve(), options.state.resolve().with_suffix(".coverage")
    earlier = read_state(options.again) if options.again else []
    if options.report:
        sys.exit(report(read_state(state), earlier))
    # A connection to a database server does not survive a fork.
    servers = (f"SITEMAPS09_{name}" for name in ("POSTGRESQL", "MARIADB", "MYSQL"))
    os.environ.update(dict.fromkeys(servers, "none"), PYTHONPATH=str(ROOT))
    os.environ["COVERAGE_CORE"] = "sysmon" if hasattr(sys, "monitoring") else "ctrace"
    if not database.exists():
        measure(database, options.tests)
    contexts = Contexts(database)
    if contexts.failed:
        print("skipped, because they fail without a mutant:", *contexts.failed, sep="\n  ", flush=True)
    if not state.exists():
        new = [] if earlier else sample(possible_mutants(), options.count, options.seed)
        chosen = again(earlier) if earlier else map(Result, new)
        state.write_text("".join(json.dumps(result) + "\n" for result in chosen))

    def pending():
        return [result for result in read_state(state) if result.state == "pending"]

    inside = [each.mutant for each in pending() if not (each.by or contexts.tests(each.mutant)[1])]
    print(f"{len(pending())} mutants to judge, {len(inside)} of them inside functions", flush=True)
    if inside:
        judge_in_functions(inside, options.jobs, state, database, options.tests)
    judge_at_import([each.mutant for each in pending()], options.jobs, state, database)
    report(read_state(state), earlier)


if __name__ == "__main__":
    main()
