"""The management command `sitemaps_status`."""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timezone
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from django_sitemaps09.declare.sections import HOW_TO_DECLARE
from django_sitemaps09.export.exports import EXPORT_ERRORS
from django_sitemaps09.management import lines
from django_sitemaps09.protocol.fields import first_names
from django_sitemaps09.tools import status

# Seconds in each unit of an age.
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
# Columns of a status, with the keys of their numbers in the JSON of a section, in `live` and in `export`.
_LIVE_COLUMNS = {"live pages": "pages", "rows a page": "rows_per_page", "age (s)": "age"}
_EXPORT_COLUMNS = {"exported": "pages", "URLs": "urls", "bytes": "bytes", "on disk": "size"}


class Command(BaseCommand):
    help = "Prints the state of the sitemaps: what live indexes list, and their exported files."
    # A check that fails must not hide the state of the other sections.
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("sections", nargs="*", help="sections to show (default: all sections)")
        lines.add_host_options(parser, "scheme and host to show (default: BASE_URL)")
        parser.add_argument(
            "--max-age",
            type=_seconds,
            metavar="AGE",
            help="exit with 1 if the last export of a section is older, such as 90m, 26h or 2d",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            urls: list[str | None] = [*lines.base_urls(options)] or [None]
            is_shown = options["verbosity"] > 0 or options["format"] == "json"
            statuses = {url: status.status(options["sections"], url, is_thorough=is_shown) for url in urls}
        except EXPORT_ERRORS as error:
            raise CommandError(str(error)) from error
        by_host = lines.has_several(options)
        lines.write_results(self.stdout, options, statuses, _status_lines, by_host=by_host)
        if options["max_age"] and (old := [*_age_lines(statuses.values(), options["max_age"])]):
            raise CommandError("\n".join(old))


def _seconds(text: str) -> int:
    match = re.fullmatch(r"([1-9][0-9]*)([smhd])", text)
    if match is None:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not an age. Use a whole number and s, m, h or d, such as 90m, 26h or 2d"
        )
    return int(match[1]) * _SECONDS[match[2]]


def _status_lines(state: status.Status) -> Iterator[str]:
    """Yield the lines of a status: settings, caches and the export, then a table of sections."""
    yield f"Host: {state.base_url or 'from the request'}; LIVE_SECONDS: {state.live_seconds:g}"
    yield f"Listings: {_cache(state.listing_cache)}"
    yield f"Rendered pages: {_cache(state.live_cache) if state.live_cache else 'not cached (LIVE_CACHE)'}"
    yield f"Export: {_export(state.export)}"
    if state.serves_exported:
        yield "The native views serve the exported files (SERVE_EXPORTED)."
    if not state.sections:
        yield f"There is no section. {HOW_TO_DECLARE}"
        return
    yield ""
    head = ("section", "class", "read as", *_LIVE_COLUMNS, *_EXPORT_COLUMNS, "lag")
    yield from lines.aligned([head, *map(_status_row, state.sections)], 3)
    for section in state.sections:
        if section.error is not None:
            yield f"{section.section}: {section.error}"
        if not section.is_declared:
            yield f"{section.section}: not declared any more, but the export keeps its files"


def _age_lines(statuses: Iterable[status.Status], max_age: int) -> Iterator[str]:
    """Yield a line for each host that has an older export than `max_age`, in seconds, or none."""
    for state in statuses:
        export, now = state.export, time.time()
        host = state.base_url or export.target or "This project"
        if export.export is None:
            yield f"{host}: no export: {export.error or 'run export_sitemaps.'}"
            continue
        old = {}
        for section in state.sections:
            # A time in the future is from a clock that was wrong.
            if section.exported is None or section.exported > now + status.TOLERANCE:
                old[section.section] = "never"
            elif (age := now - section.exported) > max_age:
                old[section.section] = f"{_age_text(age)} ago"
        if old:
            names = first_names([f"{name} ({text})" for name, text in old.items()])
            yield f"{host}: last export without a failure longer than {_age_text(max_age)} ago: {names}."


def _age_text(seconds: float) -> str:
    """Return an age in the largest unit of which there are at least two: "26h", but "3d" for 72 hours."""
    unit = next((unit for unit in "dhm" if seconds >= 2 * _SECONDS[unit]), "s")
    return f"{seconds // _SECONDS[unit]:.0f}{unit}"


def _cache(cache: status.CacheStatus) -> str:
    description = f"cache {cache.alias!r}"
    if cache.backend is not None:
        shared = "shared" if cache.is_shared else "not shared, so this command cannot see other processes'"
        description += f" ({cache.backend}, {shared})"
    return description if cache.error is None else f"{description} fails: {cache.error}"


def _export(export: status.ExportState) -> str:
    if not export.is_configured:
        return "no STORAGE or ROOT"
    description = export.target or ""
    if export.error is not None:
        return f"{description} cannot be read: {export.error}".lstrip()
    if export.run is None:
        description += ", nothing published"
    elif export.started is not None:
        description += f", last changed by the run of {export.started:%Y-%m-%d %H:%M:%S} UTC"
    if export.exported:
        last = datetime.fromtimestamp(max(export.exported.values()), timezone.utc)
        description += f", last exported by the run of {last:%Y-%m-%d %H:%M:%S} UTC"
    if export.is_unfinished:
        description += ". A run is publishing, or was killed while publishing; the next run completes it"
    return description


def _status_row(section: status.SectionStatus) -> Sequence[str]:
    document = section.as_dict()
    live, export = document["live"] or {}, document["export"] or {}
    values = (*map(live.get, _LIVE_COLUMNS.values()), *map(export.get, _EXPORT_COLUMNS.values()))
    numbers = ("-" if value is None else f"{round(value):,}" for value in values)
    reading = ", ".join(filter(None, (section.paging, section.hooks)))
    return section.section, section.sitemap or "-", reading or "-", *numbers, section.lag_text
