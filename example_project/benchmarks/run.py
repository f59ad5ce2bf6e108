"""Measures this package beside its peers: one command, one table for each database.

    python example_project/benchmarks/run.py

makes a virtual environment of its own, fills a database with 200,000 published articles for SQLite,
PostgreSQL and MariaDB each, and measures exports of all of them, one live page, and how long querysets of
each form take to be read (`--only querysets`). `--before` measures another checkout in the same rounds.
The tables are written to standard output as Markdown, the progress to standard error. Any Python from
3.10 on starts it; what is measured is the newest Django that this Python can have.

What it has made it uses again; `--clean` removes all of it. A server is left out where it does not
answer; PostgreSQL is looked for at `--postgresql`, else where `SITEMAPS09_POSTGRESQL` says, else at
127.0.0.1:5432 as user postgres; MariaDB, with `--databases`, at `--mariadb`, `SITEMAPS09_MARIADB`, or
127.0.0.1:3306 as root. The exit status is 1 if anything failed or did not bring all URLs.
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

# The modules beside this one are a package, here and in the processes that are measured.
sys.path[0] = str(Path(__file__).resolve().parent.parent)

from benchmarks import rounds, subjects, tables  # noqa: E402
from benchmarks.environment import Environment  # noqa: E402
from benchmarks.rounds import BenchmarkError, Database, Results  # noqa: E402
from benchmarks.subjects import Subject  # noqa: E402

# That of `benchmarks.prepare`, which only the virtual environment can import.
_NO_SERVER = 3


def parser() -> argparse.ArgumentParser:
    """The command line."""
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
        help="of names such as 'export: ours, fast' or 'page: ours'; what ratios are to is always measured",
    )
    words.add_argument("--work", type=Path, default=Path(__file__).resolve().parent / ".work")
    words.add_argument("--postgresql", default=postgresql, metavar="user:password@host:port")
    words.add_argument("--mariadb", default=mariadb, metavar="user:password@host:port")
    words.add_argument("--before", type=Path, metavar="CHECKOUT", help="measured beside this one")
    words.add_argument("--json", type=Path, metavar="FILE", help="every single measurement")
    words.add_argument(
        "--clean", action="store_true", help="remove all that earlier runs have made, and end"
    )
    return words


def positive(text: str) -> int:
    """A whole number from 1 on; underscores may part its digits."""
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
        environment.make()
    except FileExistsError as error:
        raise BenchmarkError(str(error)) from error
    chosen = subjects.chosen(options.only)
    if not chosen:
        raise BenchmarkError(f"No subject has a name with {' or '.join(options.only)}")
    databases = prepared(environment, options)
    if not databases:
        raise BenchmarkError("There is no database to measure on")
    results = rounds.run(environment, databases, chosen, options.rows, options.rounds)
    report(options, databases, chosen, results)
    for (label, key), reason in results.failed.items():
        sys.stderr.write(f"FAILED: {label}, {key}: {reason}\n")
    return 1 if results.failed else 0


def prepared(environment: Environment, options: argparse.Namespace) -> list[Database]:
    """The databases, filled; without PostgreSQL where it does not answer."""
    name = f"sitemaps09_bench_{options.rows}_{options.slugs}"
    urls = {
        "sqlite": f"sqlite:///{environment.work / name}.sqlite3",
        "postgresql": f"postgresql://{options.postgresql}/{name}",
        "mariadb": f"mysql://{options.mariadb}/{name}",
    }
    found = []
    for label in dict.fromkeys(options.databases):
        sys.stderr.write(f"Preparing {label}\n")
        arguments = ("fill", str(options.rows), options.slugs)
        ended = environment.run("prepare", *arguments, database=urls[label])
        if ended.returncode == _NO_SERVER:
            sys.stderr.write(f"{label} is left out, since it does not answer: {ended.stderr.strip()}\n")
            continue
        if ended.returncode:
            raise BenchmarkError(f"{label} could not be filled:\n{ended.stderr}")
        pages = environment.work / "pages" / f"{label}_{name}"
        export_pages(environment, urls[label], pages)
        database = Database(label, urls[label], pages, json.loads(ended.stdout))
        found.append(database)
        if options.before is not None:
            versions = {**database.versions, "database": f"{database.versions['database']}, before"}
            checkout = options.before.resolve()
            found.append(replace(database, label=f"{label}, before", versions=versions, checkout=checkout))
    return found


def export_pages(environment: Environment, url: str, pages: Path) -> None:
    """Our pages for those who measure compression, made anew: what they hold may have changed."""
    shutil.rmtree(pages, ignore_errors=True)
    subject = subjects.BASELINES["export"].key
    ended = environment.run("prepare", "pages", str(pages), database=url, subject=subject)
    if ended.returncode:
        raise BenchmarkError(f"The pages could not be made:\n{ended.stderr}")


def report(
    options: argparse.Namespace, databases: list[Database], chosen: list[Subject], results: Results
) -> None:
    """The tables to standard output, and all measurements to a file if one is wanted."""
    date = datetime.now(timezone.utc).date().isoformat()
    parts = [
        tables.heading(date, options.rows, options.slugs, options.rounds, os.cpu_count() or 1, databases)
    ]
    titles = {
        "export": f"export of {options.rows:,} URLs, gzipped",
        "page": "the first page",
        "read": "all rows of querysets, by pages",
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
            for (label, key), found in results.found.items()
            for number, measured in found.items()
        ]
        versions = {database.label: database.versions for database in databases}
        failed = [{"database": label, "subject": key} for label, key in results.failed]
        about = {"date": date, "rows": options.rows, "slugs": options.slugs, "versions": versions}
        options.json.write_text(
            json.dumps({**about, "failed": failed, "measurements": raw}, indent=1) + "\n"
        )


def clean(environment: Environment, *servers: str) -> None:
    """Everything away that the benchmark has made, and nothing else that may lie in that folder."""
    work = environment.work
    if not environment.ours:
        raise BenchmarkError(f"Nothing in {work} was made by this benchmark")
    # Dropping needs the driver, which is in there.
    if environment.python.exists():
        for url in servers:
            ended = environment.run("prepare", "drop", database=url)
            silent = f"{urlsplit(url).scheme} does not answer: nothing dropped\n"
            sys.stderr.write(ended.stderr if ended.returncode == 0 else silent)
    for folder in (work / "venv", work / "pages", *work.glob("output-*")):
        shutil.rmtree(folder, ignore_errors=True)
    environment.forget()
    for path in work.glob("sitemaps09_bench_*.sqlite3*"):
        path.unlink()
    if not any(work.iterdir()):
        work.rmdir()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BenchmarkError as failure:
        sys.exit(str(failure))
