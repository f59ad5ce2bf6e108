"""Exports of all URLs to an empty folder, by each package's own command or function."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from io import StringIO
from pathlib import Path

from django.core.management import call_command

from benchmarks.measuring import Measured, Stopwatch
from benchmarks.subjects import Subject

# Imports inside functions, because the modules of a subject can be imported only if its app is installed.


def measure(subject: Subject, output: Path) -> Measured:
    """Measure the export of a subject, and then count the URLs in its files."""
    export = {"ours": ours, "static": static, "icv": icv}[subject.family](subject, output)
    watch = Stopwatch()
    with watch:
        export()
    files = [path for path in output.rglob("*") if path.is_file()]
    # django-static-sitemaps writes each page twice, gzipped and uncompressed. Count each URL once.
    urls = sum(gzip.decompress(path.read_bytes()).count(b"<url>") for path in files if path.suffix == ".gz")
    return watch.measured(sum(path.stat().st_size for path in files), urls)


def ours(subject: Subject, output: Path) -> Callable[[], object]:
    from django_sitemaps09.export import export

    return lambda: export(output=output, base_url="https://www.example.com", workers=subject.workers)


def static(subject: Subject, output: Path) -> Callable[[], object]:
    from static_sitemaps.management.commands.refresh_sitemap import Command

    # It can write only to the current directory: see the settings.
    os.chdir(output)
    return lambda: call_command(Command(), verbosity=0)


def icv(subject: Subject, output: Path) -> Callable[[], object]:
    import icv_sitemaps.services  # noqa: F401 the command imports it when it runs
    from icv_sitemaps.management.commands.icv_sitemaps_generate import Command

    # Creates the row of the section, once for each site.
    call_command("icv_sitemaps_setup", stdout=StringIO())
    return lambda: call_command(Command(stdout=StringIO()), all_sections=True)
