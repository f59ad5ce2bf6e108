"""Options that choose the hosts of a command, and its output for these hosts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.core.management.base import CommandParser

from django_sitemaps09.declare.hosts import site_urls


def add_host_options(parser: CommandParser, description: str) -> None:
    """Add the options `--base-url` and `--all-sites`, which exclude each other, and `--format`."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--base-url", action="append", metavar="URL", help=f"{description}; repeat it for several hosts"
    )
    group.add_argument(
        "--all-sites", action="store_true", help="the host of each Site of django.contrib.sites, by https"
    )
    parser.add_argument("--format", choices=["table", "json"], default="table")


def base_urls(options: Mapping[str, Any]) -> list[str]:
    """Return the base URLs that the options choose; an empty list for that of the settings."""
    return site_urls() if options["all_sites"] else options["base_url"] or []


def has_several(options: Mapping[str, Any]) -> bool:
    """Return whether each host has its own folder and report, even if there is only one site."""
    return options["all_sites"] or len(options["base_url"] or ()) > 1


def write_results(
    stdout: Any,
    options: Mapping[str, Any],
    results: Mapping[Any, Any],
    lines: Callable[[Any], Iterable[str]],
    *,
    by_host: bool,
) -> None:
    """Write the results of hosts as JSON or, unless the verbosity is 0, as lines of text."""
    if options["format"] == "json":
        documents = {url: result.as_dict() for url, result in results.items()}
        document = {"hosts": documents} if by_host else next(iter(documents.values()))
        stdout.write(json.dumps(document, indent=2))
    elif options["verbosity"] > 0:
        for result in results.values():
            for line in lines(result):
                stdout.write(line)
