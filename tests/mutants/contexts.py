"""Which tests execute which lines, and how long they take."""

from __future__ import annotations

import gc
import shutil
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tests.mutants.changes import PACKAGE, ROOT, Mutant
from tests.mutants.forks import Plugin, fork, run_pytest

#: Seconds of tests for one mutant, as measured under coverage.
BUDGET = 60


def measure(database: Path, modules: Sequence[str]) -> None:
    """Run tests under coverage. Save the lines and the seconds of each, and whether it fails."""

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
        run_pytest(Plugin(act, failed.add), folder, modules)
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
