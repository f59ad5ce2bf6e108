"""Audits of the live views, and the report that is kept."""

from __future__ import annotations

import json
import logging
import zlib
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.http import HttpResponse
from django.urls import include, path
from django.utils import translation

from django_sitemaps09 import Sitemap, StaticViewSitemap, views
from django_sitemaps09.audit import RULES, AuditReport, Finding, audit, last_report
from django_sitemaps09.audit.api import FILE, from_dict
from django_sitemaps09.exceptions import AuditError
from django_sitemaps09.export import export, export_hosts
from django_sitemaps09.stores import STATE
from tests.support.clock import Clock
from tests.support.configuration import BASE
from tests.support.sections import Numbers
from tests.support.site_files import DUPLICATE, sound, write

pytestmark = pytest.mark.sitemaps09(ENGINE="serial")

Register = Callable[..., None]

FINDING = {"rule": "url-duplicate", "severity": "error", "count": 1, "examples": [], "accepted": 0}


class Words(Numbers):
    def location(self, item: int) -> str:
        return f"/words/{item}/"


class Texts(Words):
    format = "text"

    def location(self, item: int) -> str:
        return f"/articles/a{item}/"


class Views(StaticViewSitemap):
    viewnames = ("about", "home")


class Now(Sitemap[int]):
    """Section whose lastmods are the time of the request."""

    def items(self) -> range:
        return range(60)

    def location(self, item: int) -> str:
        return f"/words/now{item}/"

    def lastmod(self, item: int) -> datetime:
        return datetime.now(timezone.utc) - timedelta(seconds=item)


def rules(report: AuditReport) -> set[str]:
    return {finding.rule for finding in report.findings}


# Live views


def test_live_views_break_no_rule(register: Register) -> None:
    register(words=Words(70), texts=Texts(3), views=Views())
    report = audit(fetch=5)
    assert report.findings == ()
    assert (report.documents, report.urls, report.pages) == (4, 75, 5)
    assert report.target == f"live views at {BASE}"


def test_pages_on_other_hosts_are_not_fetched_by_an_audit_of_live_views(register: Register) -> None:
    """They would be requested from this project."""

    class Both(Numbers):
        hosts = ["https://other.example.com"]

        def location(self, item: int) -> str:
            return f"https://other.example.com/{item}/" if item else "/articles/s0/"

    register(both=Both(3))
    assert audit(fetch="all").pages == 1


def test_problems_of_live_views_are_reported(register: Register) -> None:
    """Numbers have no pattern in the URLconf, and the lastmods of `Now` are all alike."""
    register(words=Words(3), again=Words(2), numbers=Numbers(4), now=Now())
    assert rules(audit()) == {"url-unresolved", "url-duplicate-across", "lastmod-alike"}


def broken_view(request: object, **names: str) -> HttpResponse:
    raise RuntimeError("the view is broken")


urlpatterns = [
    path("sitemap-words-1.xml.gz", broken_view),
    path("", include("django_sitemaps09.urls")),
    path("words/<str:word>/", broken_view),
    path("articles/<slug:slug>/", broken_view),
    path("private/", broken_view),
]


def test_exported_files_that_views_stream_are_read(
    register: Register, folder: Path, configure: Callable[..., None], db: None
) -> None:
    register(words=Words(70))
    configure(ROOT=folder, SERVE_EXPORTED=True)
    export()
    report = audit()
    assert (report.findings, report.urls) == ((), 70)


@pytest.mark.urls("tests.audit.test_api")
def test_a_failing_view_is_reported_and_does_not_end_the_audit(register: Register) -> None:
    register(words=Words(3), texts=Texts(2))
    assert rules(audit()) == {"document-status", "robots-no-sitemap"}


def test_the_rules_of_the_robots_view_apply_to_the_urls(register: Register, settings: Any) -> None:
    rules = "User-agent: *\nDisallow: /words/1/\n"
    patterns = [path("robots.txt", views.robots_txt, {"rules": rules}), *urlpatterns[1:]]
    settings.ROOT_URLCONF = type("Urls", (), {"urlpatterns": patterns})
    register(words=Words(3))
    [finding] = audit().findings
    assert (finding.rule, finding.count) == ("url-blocked", 1)


def test_a_folder_and_a_url_together_are_rejected() -> None:
    with pytest.raises(AuditError, match="only one of them"):
        audit("https://www.example.com/", directory="public")


def test_robots_txt_is_read_from_the_file_that_the_web_server_serves(
    register: Register, folder: Path, tmp_path: Path, configure: Callable[..., None], settings: Any
) -> None:
    settings.ROOT_URLCONF = type("Urls", (), {"urlpatterns": urlpatterns[1:3]})
    file = tmp_path / "www.example.com.txt"
    configure(ROBOTS_TXT=str(tmp_path / "{host}.txt"))
    register(words=Words(3))
    assert rules(audit()) == {"robots-no-sitemap"}
    file.write_text(f"User-agent: *\nDisallow: /words/2/\nSitemap: {BASE}/sitemap.xml\n")
    assert rules(audit()) == {"url-blocked"}
    export(output=folder, robots=file)
    assert rules(audit(directory=folder)) == {"url-blocked"}


def test_files_can_be_below_the_host(
    register: Register, folder: Path, configure: Callable[..., None]
) -> None:
    configure(FILES_URL=f"{BASE}/files/")
    register(words=Words(3))
    export(output=folder)
    report = audit(directory=folder)
    assert rules(report) == {"url-scope"}
    assert report.urls == 3


# An export, and its report


def test_an_export_breaks_no_rule(register: Register, folder: Path) -> None:
    register(words=Words(70), texts=Texts(3), views=Views())
    export(output=folder)
    report = audit(directory=folder)
    assert report.findings == ()
    assert (report.documents, report.urls) == (4, 75)


def test_the_last_report_is_saved_beside_the_manifest(register: Register, folder: Path) -> None:
    register(words=Words(5))
    export(output=folder)
    assert last_report(directory=folder) is None
    (folder / "sitemap-words-1.xml.gz").write_bytes(b"")
    report = audit(directory=folder)
    assert (folder / STATE / FILE).is_file()
    assert last_report(directory=folder) == report
    assert report.findings == (
        Finding("document-empty", "error", 1, ("sitemap-words-1.xml.gz: listed in sitemap.xml:3",)),
    )
    # The next export neither uses nor removes it.
    assert export(output=folder).failures == []
    assert last_report(directory=folder) == report


def test_the_report_of_live_views_is_saved_with_the_export(
    register: Register, folder: Path, configure: Callable[..., None]
) -> None:
    register(words=Words(5))
    assert audit().findings == ()
    assert last_report() is None
    configure(ROOT=folder)
    audit()
    assert not folder.exists()
    export()
    report = audit()
    assert last_report() == report
    assert report.started.tzinfo is not None


def test_a_folder_without_a_robots_txt_lacks_its_sitemap(tmp_path: Path) -> None:
    assert rules(audit(directory=tmp_path)) == {"document-missing"}


def test_nothing_is_written_to_a_folder_without_an_export(tmp_path: Path) -> None:
    write(tmp_path, sound())
    before = sorted(tmp_path.iterdir())
    audit(directory=tmp_path)
    assert sorted(tmp_path.iterdir()) == before


def test_the_report_of_one_of_several_hosts_is_kept_in_its_folder(
    register: Register, folder: Path, configure: Callable[..., None]
) -> None:
    hosts = ["https://a.example", "https://b.example"]
    register(words=Words(5))
    configure(ROOT=folder)
    export_hosts(hosts)
    report = audit(directory=folder / "b.example", base_url=hosts[1])
    assert last_report(directory=folder / "b.example") == report
    assert last_report(base_url=hosts[1]) == report
    assert last_report(base_url=hosts[0]) is None


@pytest.mark.django_db
def test_the_report_of_a_host_never_replaces_that_of_another(
    register: Register, folder: Path, configure: Callable[..., None], clock: Clock
) -> None:
    hosts = ["https://a.example", "https://b.example"]
    register(words=Words(5))
    configure(ROOT=folder)
    export_hosts(hosts)
    clock.time += timedelta(hours=1)
    # The target itself now has an export of the first host alone.
    export(base_url=hosts[0])
    reports = {host: audit(base_url=host) for host in (*hosts, "https://c.example")}
    assert last_report(base_url="https://c.example") is None
    assert {host: last_report(base_url=host) for host in hosts} == {host: reports[host] for host in hosts}
    assert {path.parent.parent for path in folder.rglob(FILE)} == {folder, folder / "b.example"}


def test_the_last_report_of_a_directory_is_that_of_base_url_or_its_own(
    register: Register, folder: Path
) -> None:
    register(words=Words(5))
    export(output=folder, base_url="https://b.example")
    report = audit(directory=folder, base_url="https://b.example")
    assert last_report(directory=folder) == report
    assert last_report(directory=folder, base_url=BASE) is None
    export_hosts([BASE], output=folder)
    report = audit(directory=folder / "www.example.com", base_url=BASE)
    assert last_report(directory=folder) == report


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"format": 2}', "\0", "[" * 100_000])
def test_a_damaged_report_is_ignored(register: Register, folder: Path, content: str, caplog: Any) -> None:
    register(words=Words(5))
    export(output=folder)
    (folder / STATE / FILE).write_text(content)
    assert last_report(directory=folder) is None
    assert "The report of the last audit cannot be read" in caplog.text


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("started", "0001-01-01T00:00:00+14:00"),
        ("started", "9999-12-31T23:59:59-14:00"),
        ("started", 5),
        ("seconds", float("nan")),
        ("seconds", -1),
        ("urls", 10**4_000),
        ("pages", -1),
        ("findings", {}),
        ("findings", [{**FINDING, "count": 10**4_000}]),
        ("findings", [{**FINDING, "accepted": float("inf")}]),
    ],
    ids=lambda value: f"{str(value)[:9]}-{zlib.crc32(repr(value).encode())}",
)
def test_a_report_with_values_that_no_audit_has_is_ignored(
    register: Register, folder: Path, configure: Callable[..., None], name: str, value: Any
) -> None:
    register(words=Words(5))
    configure(ROOT=str(folder))
    export()
    audit()
    file = folder / STATE / FILE
    file.write_text(json.dumps({**json.loads(file.read_text()), name: value}))
    assert last_report() is None


def test_a_report_that_is_read_has_the_bounds_of_an_audit(register: Register, folder: Path) -> None:
    register(words=Words(5))
    export(output=folder)
    audit(directory=folder)
    file = folder / STATE / FILE
    finding = {**FINDING, "rule": "\x1b[2J" + "x" * 1_500, "examples": ["\ud800" + "x" * 1_500] * 12}
    file.write_text(
        json.dumps({**json.loads(file.read_text()), "findings": [finding] * 200, "target": "\x1b[2J"})
    )
    report = last_report(directory=folder)
    assert report is not None
    assert (len(report.findings), report.target.isprintable()) == (len(RULES), True)
    for found in report.findings:
        assert len(found.examples) == 10
        assert all(text.isprintable() and len(text) <= 1_000 for text in (found.rule, *found.examples))


def test_an_audit_succeeds_if_its_report_cannot_be_saved(
    register: Register, folder: Path, caplog: Any
) -> None:
    register(words=Words(5))
    export(output=folder)
    (folder / STATE / FILE).mkdir()
    with caplog.at_level(logging.WARNING):
        assert audit(directory=folder).findings == ()
    assert "The report of the audit cannot be saved" in caplog.text


def test_a_report_round_trips_through_json(tmp_path: Path) -> None:
    write(tmp_path, sound() | DUPLICATE)
    report = audit(directory=tmp_path).accepting({"url-duplicate": 5})
    assert report.errors == 0
    assert from_dict(json.loads(json.dumps(report.as_dict()))) == report


# Languages


def in_german(request: object, number: int) -> HttpResponse:
    return HttpResponse(translation.get_language())


class Translated(Numbers):
    """Section of pages below the prefix of a language that is not the default."""

    def location(self, item: int) -> str:
        return f"/de/numbers/{item}/"


@pytest.mark.usefixtures("db")
def test_urls_in_all_languages_are_resolved_and_the_active_language_stays(
    register: Register, settings: Any
) -> None:
    patterns = i18n_patterns(path("numbers/<int:number>/", in_german), prefix_default_language=False)
    settings.MIDDLEWARE = ["django.middleware.locale.LocaleMiddleware"]
    settings.ROOT_URLCONF = type("Urls", (), {"urlpatterns": [*urlpatterns[1:2], *patterns]})
    register(words=Translated(3), numbers=Numbers(3))
    with translation.override("pt-br"):
        report = audit(fetch="all")
        assert translation.get_language() == "pt-br"
    assert rules(report) == {"robots-no-sitemap"}
    assert report.pages == 6
