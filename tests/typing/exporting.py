"""The export from Python, and its report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from typing_extensions import assert_type

from django_sitemaps09 import Sitemap
from django_sitemaps09.exceptions import SitemapError
from django_sitemaps09.export import (
    PageFile,
    Published,
    Report,
    SectionReport,
    UrlChange,
    Verification,
    export,
    export_hosts,
    verify,
    verify_hosts,
)


def print_section(section: SectionReport) -> None:
    print(section.section, section.urls, len(section.files))  # noqa: T201 a user's own function


def announce(event: Published) -> None:
    urls: Callable[[], Iterator[UrlChange]] | None = event.urls
    assert_type(event.report.rendered_by, Mapping[str, int])
    print(event.written, [change.url for change in urls()] if urls else "")  # noqa: T201 as above


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
    assert_type(verify(["articles"], repair=True), Verification)
    assert_type(verify_hosts(base_urls=["https://a.example"], workers=2), dict[str, Verification])
    reports = export_hosts(["https://a.example"], ["articles"], remove={"old"}, on_published=announce)
    assert_type(reports, dict[str, Report])
    statuses = [report.exit_status for report in reports.values() if not report.is_busy]
    return max(statuses, default=0)
