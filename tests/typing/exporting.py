"""The export from Python, and its report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from typing_extensions import assert_type

from django_sitemaps09 import Sitemap
from django_sitemaps09.exceptions import SitemapError
from django_sitemaps09.export import PageFile, Report, SectionReport, export


def print_section(section: SectionReport) -> None:
    print(section.section, section.urls, len(section.files))  # noqa: T201 a user's own function


def nightly(folder: Path, sitemaps: dict[str, type[Sitemap[Any]]]) -> int:
    assert_type(export(), Report)
    try:
        report = export(
            ["articles", "pages"],
            output=folder,
            robots=folder / "robots.txt",
            base_url="https://www.example.com",
            gzip=False,
            strict=True,
            dry_run=True,
            sitemaps=sitemaps,
            progress=print_section,
        )
    except SitemapError:
        return 1
    sections: Sequence[SectionReport] = report.sections
    assert_type(report.seconds, float)
    for section in sections:
        assert_type(section.section, str)
        assert_type(section.urls, int)
        assert_type(section.skipped_items, int)
        assert_type(section.skipped_elements, int)
        files: Sequence[PageFile] = section.files
        for file in files:
            assert_type(file.name, str)
            assert_type(file.bytes, int)
            assert_type(file.lastmod, str | None)
    export(output="public", robots="public/robots.txt", progress=print)
    return 0
