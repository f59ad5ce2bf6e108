"""Exports of all URLs to a fresh folder, each in the way of who offers it."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from io import StringIO
from pathlib import Path

from django.core.management import call_command

from benchmarks.measuring import Measured, Stopwatch
from benchmarks.subjects import Subject

# Imports inside functions: the modules of a subject can be imported only where its app is installed.


def measure(subject: Subject, output: Path) -> Measured:
    """The export of a subject; what it wrote is counted when the time is taken."""
    export = {"ours": ours, "static": static, "icv": icv}[subject.family](subject, output)
    watch = Stopwatch()
    with watch:
        export()
    files = [path for path in output.rglob("*") if path.is_file()]
    # django-static-sitemaps writes every page both ways, and each URL counts once.
    urls = sum(gzip.decompress(path.read_bytes()).count(b"<url>") for path in files if path.suffix == ".gz")
    return watch.measured(sum(path.stat().st_size for path in files), urls)


def ours(subject: Subject, output: Path) -> Callable[[], object]:
    from django_sitemaps09.export import export

    return lambda: export(output=output, base_url="https://www.example.com", workers=subject.workers)


def static(subject: Subject, output: Path) -> Callable[[], object]:
    from static_sitemaps.management.commands.refresh_sitemap import Command

    # To the only folder that it can write to, as the settings say.
    os.chdir(output)
    return lambda: call_command(Command(), verbosity=0)


def icv(subject: Subject, output: Path) -> Callable[[], object]:
    import icv_sitemaps.services  # noqa: F401 what the command imports when it runs
    from icv_sitemaps.management.commands.icv_sitemaps_generate import Command

    # Its own first step, once in the life of a site: the row of the section.
    call_command("icv_sitemaps_setup", stdout=StringIO())
    return lambda: call_command(Command(stdout=StringIO()), all_sections=True)
