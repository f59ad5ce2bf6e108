"""Options that choose the hosts of a command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser

from django_sitemaps09.export.options import site_urls


def add_host_options(parser: CommandParser, description: str) -> None:
    """Add the options `--base-url` and `--all-sites`, which exclude each other."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--base-url",
        action="append",
        metavar="URL",
        help=f"{description}; repeat it for several hosts",
    )
    group.add_argument(
        "--all-sites", action="store_true", help="the host of each Site of django.contrib.sites, by https"
    )


def base_urls(options: Mapping[str, Any]) -> list[str]:
    """Return the base URLs that the options choose; an empty list for that of the settings."""
    return site_urls() if options["all_sites"] else options["base_url"] or []


def has_several(options: Mapping[str, Any]) -> bool:
    """Return whether each host has its own folder and report, even if there is only one site."""
    return options["all_sites"] or len(options["base_url"] or ()) > 1
