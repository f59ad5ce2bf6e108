"""Measure this package and its alternatives with one command, and print a table for each database.

    python example_project/benchmarks/run.py

creates a virtual environment and databases with 200,000 published articles each. It measures exports of all
articles, live pages, and the reading of different kinds of querysets (`--only querysets`). `--before`
measures another checkout in the same rounds. The tables are written to standard output as Markdown, the
progress to standard error. It runs on Python 3.10 or later, and measures the newest Django that supports
this Python.

Later runs reuse the environment and the databases; `--clean` removes them. A server that does not answer is
skipped. The address of PostgreSQL is `--postgresql`, else `SITEMAPS09_POSTGRESQL`, else 127.0.0.1:5432 with
the user postgres. MariaDB is measured only if `--databases` names it. Its address is `--mariadb`, else
`SITEMAPS09_MARIADB`, else 127.0.0.1:3306 with the user root. The exit status is 1 if a subject failed or
had a wrong number of URLs.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from urllib.parse import urlsplit

# The modules next to this one are a package, here and in the processes that are measured.
sys.path[0] = str(Path(__file__).resolve().parent.parent)

from benchmarks import rounds, subjects, tables  # noqa: E402
from benchmarks.environment import Environment  # noqa: E402
from benchmarks.rounds import BenchmarkError, Database, Results  # noqa: E402
from benchmarks.subjects import Subject  # noqa: E402

# As in `benchmarks.prepare`, which only the virtual environment can import.
_NO_SERVER = 3


def parser() -> argparse.ArgumentParser:
    words = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    postgresql = os.environ.get("SITEMAPS09_POSTGRESQL", "postgres:@127.0.0.1:5432")
    mariadb = os.environ.get("SITEMAPS09_MARIADB", "root:@127.0.0.1:3306")
    words.add_argument("--rows", type=positive, default=200_000, help="default: %(default)s")
    words.add_argument("--rounds", type=positive, default=3, help="default: %(default)s")
    words.add_argument("--slugs", choices=["ascii", "mixed"], default="ascii", help="default: %(default)s")
    words.add_argument(
        "--databases",
        nargs="+",
        choices=["sqlite", "postgresql", "mariadb"],
        default=["sqlite", "postgresql"],
        help="default: %(default)s",
    )
    words.add_argument(
        "--only",
        nargs="+",
        default=[],
        metavar="SUBSTRING",
        help="part of a name such as 'export: ours, fast' or 'page: ours'; baselines are always measured",
    )
    words.add_argument("--work", type=Path, default=Path(__file__).resolve().parent / ".work")
    words.add_argument("--postgresql", default=postgresql, metavar="user:password@host:port")
    words.add_argument("--mariadb", default=mariadb, metavar="user:password@host:port")
    words.add_argument("--before", type=Path, metavar="CHECKOUT", help="also measure this checkout")
    words.add_argument("--json", type=Path, metavar="FILE", help="write all measurements to this file")
    words.add_argument(
        "--clean", action="store_true", help="remove everything that earlier runs created, and exit"
    )
    return words


def positive(text: str) -> int:
    """Parse a positive whole number, which may contain underscores."""
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def main() -> int:
    options = parser().parse_args()
    environment = Environment(options.work.resolve())
    if options.clean:
        clean(environment, f"postgresql://{options.postgresql}/", f"mysql://{options.mariadb}/")
        return 0
    try:
        environment.create()
    except FileExistsError as error:
        raise BenchmarkError(str(error)) from error
    chosen = subjects.chosen(options.only)
    if not chosen:
        raise BenchmarkError(f"The name of no subject contains {' or '.join(options.only)}.")
    databases = prepared(environment, options)
    if not databases:
        raise BenchmarkError("No database is available.")
    results = rounds.run(environment, databases, chosen, options.rows, options.rounds)
    report(options, databases, chosen, results)
    for (label, key), reason in results.failed.items():
        sys.stderr.write(f"FAILED: {label}, {key}: {reason}\n")
    return 1 if results.failed else 0


def prepared(environment: Environment, options: argparse.Namespace) -> list[Database]:
    """Fill and return the databases, except those whose server does not answer."""
    name = f"sitemaps09_bench_{options.rows}_{options.slugs}"
    urls = {
        "sqlite": f"sqlite:///{environment.work / name}.sqlite3",
        "postgresql": f"postgresql://{options.postgresql}/{name}",
        "mariadb": f"mysql://{options.mariadb}/{name}",
    }
    databases = []
    for label in dict.fromkeys(options.databases):
        sys.stderr.write(f"Preparing {label}\n")
        arguments = ("fill", str(options.rows), options.slugs)
        ended = environment.run("prepare", *arguments, database=urls[label])
        if ended.returncode == _NO_SERVER:
            sys.stderr.write(f"{label} is skipped, because it does not answer: {ended.stderr.strip()}\n")
            continue
        if ended.returncode:
            raise BenchmarkError(f"{label} could not be filled:\n{ended.stderr}")
        pages = environment.work / "pages" / f"{label}_{name}"
        export_pages(environment, urls[label], pages)
        database = Database(label, urls[label], pages, json.loads(ended.stdout))
        databases.append(database)
        if options.before is not None:
            versions = {**database.versions, "database": f"{database.versions['database']}, before"}
            checkout = options.before.resolve()
            databases.append(
                replace(database, label=f"{label}, before", versions=versions, checkout=checkout)
            )
    return databases


def export_pages(environment: Environment, url: str, pages: Path) -> None:
    """Export the pages for the measurement of compression again, since their content may have changed."""
    shutil.rmtree(pages, ignore_errors=True)
    subject = subjects.BASELINES["export"].key
    ended = environment.run("prepare", "pages", str(pages), database=url, subject=subject)
    if ended.returncode:
        raise BenchmarkError(f"The pages could not be exported:\n{ended.stderr}")


def report(
    options: argparse.Namespace, databases: list[Database], chosen: list[Subject], results: Results
) -> None:
    """Print the tables, and write all measurements to a file if requested."""
    date = datetime.now(timezone.utc).date().isoformat()
    parts = [
        tables.heading(date, options.rows, options.slugs, options.rounds, os.cpu_count() or 1, databases)
    ]
    titles = {
        "export": f"export of {options.rows:,} URLs, gzipped",
        "page": "the first page",
        "read": "all rows of querysets, page by page",
        "index": "the live index of querysets: bounds, newest rows and counts of pages",
        "fingerprints": "pages of querysets and their fingerprints",
    }
    kinds = {subjects.table(subject) for subject in chosen}
    parts += [
        tables.table(title, kind, database, chosen, results)
        for database in databases
        for kind, title in titles.items()
        if kind in kinds
    ]
    sys.stdout.write("\n".join(parts))
    if options.json:
        raw = [
            {"database": label, "subject": key, "round": number, **measured._asdict()}
            for (label, key), by_round in results.measured.items()
            for number, measured in by_round.items()
        ]
        versions = {database.label: database.versions for database in databases}
        failed = [{"database": label, "subject": key} for label, key in results.failed]
        about = {"date": date, "rows": options.rows, "slugs": options.slugs, "versions": versions}
        options.json.write_text(
            json.dumps({**about, "failed": failed, "measurements": raw}, indent=1) + "\n"
        )


def clean(environment: Environment, *servers: str) -> None:
    """Remove everything that the benchmark created, and no other files in its folder."""
    work = environment.work
    if not environment.is_ours:
        raise BenchmarkError(f"{work} was not created by this benchmark.")
    # The drivers that drop databases are in the virtual environment.
    if environment.python.exists():
        for url in servers:
            ended = environment.run("prepare", "drop", database=url)
            failure = f"{urlsplit(url).scheme} does not answer: no database was dropped\n"
            sys.stderr.write(ended.stderr if ended.returncode == 0 else failure)
    for folder in (work / "venv", work / "pages", *work.glob("output-*")):
        shutil.rmtree(folder, ignore_errors=True)
    environment.unmark()
    for path in work.glob("sitemaps09_bench_*.sqlite3*"):
        path.unlink()
    if not any(work.iterdir()):
        work.rmdir()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BenchmarkError as failure:
        sys.exit(str(failure))
