"""Audits of the live views and of an export, and the report that is kept beside its manifest."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.http import HttpResponse
from django.urls import get_script_prefix, include, path, set_script_prefix
from django.utils import translation

from django_sitemaps09 import StaticViewSitemap, views
from django_sitemaps09.exceptions import AuditError
from django_sitemaps09.export import export, export_hosts
from django_sitemaps09.tools.audit import RULES, Finding, audit, last_report
from django_sitemaps09.tools.audit.audits import FILE, from_dict
from tests.support.configuration import BASE
from tests.support.internals import STATE
from tests.support.sections import declare, listing
from tests.support.site_files import DUPLICATE, rules, sound, write

pytestmark = pytest.mark.sitemaps09(ENGINE="serial")

HOSTS = ["https://a.example", "https://b.example"]
NOW = datetime.now(timezone.utc)
FINDING = {"rule": "url-duplicate", "severity": "error", "count": 1, "examples": [], "accepted": 0}
SHOP, PAGES = "https://shop.example.com", declare(StaticViewSitemap, viewnames=("about", "home"))


def words(count, path="{prefix}words/{item}/", **attributes):
    def location(self, item):
        return path.format(prefix=get_script_prefix(), item=item)

    return listing(range(count), location=location, **attributes)


def broken_view(request, **names):
    raise RuntimeError("the view is broken")


urlpatterns = [
    path("sitemap-words-1.xml.gz", broken_view),
    path("", include("django_sitemaps09.urls")),
    path("words/<str:word>/", broken_view),
    path("articles/<slug:slug>/", broken_view),
]


def urls(*patterns):
    return type("Urls", (), {"urlpatterns": patterns})


def test_live_views_an_export_and_files_that_views_stream_break_no_rule(register, folder, configure, db):
    register(words=words(70), texts=words(3, "/articles/a{item}/", format="text"), views=PAGES)
    report = audit(fetch=5)
    assert report.findings == ()
    assert (report.documents, report.urls, report.pages) == (4, 75, 5)
    assert report.target == f"live views at {BASE}"
    export(output=folder)
    report = audit(directory=folder)
    assert (report.findings, report.documents, report.urls) == ((), 4, 75)
    configure(ROOT=folder, SERVE_EXPORTED=True)
    report = audit()
    assert (report.findings, report.urls) == ((), 75)


def test_problems_of_live_views_are_reported(register):
    """Items have no pattern in the URLconf, and the lastmods of `now` are all alike."""
    now = words(60, "/words/now{item}/", lastmod=lambda self, item: NOW - timedelta(seconds=item))
    register(words=words(3), again=words(2), items=listing(range(4)), now=now)
    assert rules(audit()) == {"url-unresolved", "url-duplicate-across", "lastmod-alike"}


def test_pages_on_declared_hosts_are_valid_and_not_requested_from_this_project(register):
    register(shop=words(3, SHOP + "/words/{item}/", hosts=("shop.example.com",)), words=words(1))
    report = audit(fetch="all")
    assert (report.findings, report.pages) == ((), 1)


@pytest.mark.urls("tests.tools.audit.test_live_views")
def test_a_failing_view_is_reported_and_does_not_end_the_audit(register):
    register(words=words(3), texts=words(2, "/articles/a{item}/", format="text"))
    assert rules(audit()) == {"document-status", "robots-no-sitemap"}


def test_robots_txt_is_that_of_the_view_or_web_server(register, folder, tmp_path, configure, settings):
    register(words=words(3))
    robots = path("robots.txt", views.robots_txt, {"rules": "User-agent: *\nDisallow: /words/1/\n"})
    settings.ROOT_URLCONF = urls(robots, *urlpatterns[1:])
    [finding] = audit().findings
    assert (finding.rule, finding.count) == ("url-blocked", 1)
    settings.ROOT_URLCONF, file = urls(*urlpatterns[1:3]), tmp_path / "www.example.com.txt"
    configure(ROBOTS_TXT=str(tmp_path / "{host}.txt"))
    assert rules(audit()) == {"robots-no-sitemap"}
    file.write_text(f"User-agent: *\nDisallow: /words/2/\nSitemap: {BASE}/sitemap.xml\n")
    assert rules(audit()) == {"url-blocked"}
    export(output=folder, robots=file)
    assert rules(audit(directory=folder)) == {"url-blocked"}


def test_files_can_be_below_the_host(register, folder, configure):
    configure(FILES_URL=f"{BASE}/files/")
    register(words=words(3))
    export(output=folder)
    report = audit(directory=folder)
    assert (rules(report), report.urls) == ({"url-scope"}, 3)


def test_live_views_can_be_under_a_script_prefix(register, settings):
    register(words=words(3))
    before = get_script_prefix()
    set_script_prefix("/app/")
    settings.FORCE_SCRIPT_NAME = "/app"
    try:
        report = audit(fetch=1)
    finally:
        set_script_prefix(before)
    assert (rules(report) <= {"robots-no-sitemap"}, report.urls, report.pages) == (True, 3, 1)


@pytest.mark.usefixtures("db")
def test_urls_in_all_languages_are_resolved_and_the_active_language_stays(register, settings):
    in_german = lambda request, number: HttpResponse(translation.get_language())  # noqa: E731
    patterns = i18n_patterns(path("numbers/<int:number>/", in_german), prefix_default_language=False)
    settings.MIDDLEWARE = ["django.middleware.locale.LocaleMiddleware"]
    settings.ROOT_URLCONF = urls(urlpatterns[1], *patterns)
    register(words=words(3, "/de/numbers/{item}/"), numbers=words(3, "/numbers/{item}/"))
    with translation.override("pt-br"):
        report = audit(fetch="all")
        assert translation.get_language() == "pt-br"
    assert (rules(report), report.pages) == ({"robots-no-sitemap"}, 6)


def test_a_host_that_django_rejects_and_arguments_that_exclude_each_other_are_errors(register, settings):
    with pytest.raises(AuditError, match="only one of them"):
        audit("https://www.example.com/", directory="public")
    settings.DEBUG, settings.ALLOWED_HOSTS = True, []
    settings.MIDDLEWARE = ["django.middleware.common.CommonMiddleware"]
    register(words=words(3))
    with pytest.raises(AuditError, match=r"Add 'www\.example\.com' to ALLOWED_HOSTS"):
        audit()


@pytest.fixture
def exported(register, folder):
    register(words=words(5))
    export(output=folder)
    return folder


def rewrite(folder, **values):
    audit(directory=folder)
    file = folder / STATE / FILE
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))


def test_the_last_report_is_saved_beside_the_manifest(exported):
    assert last_report(directory=exported) is None
    (exported / "sitemap-words-1.xml.gz").write_bytes(b"")
    report = audit(directory=exported)
    assert (exported / STATE / FILE).is_file()
    assert last_report(directory=exported) == report
    example = "sitemap-words-1.xml.gz: listed in sitemap.xml:3"
    assert report.findings == (Finding("document-empty", "error", 1, (example,)),)
    # The next export neither uses nor removes it.
    assert (export(output=exported).failures, last_report(directory=exported)) == ([], report)


def test_the_report_of_live_views_alone_is_saved_with_the_export(register, folder, configure):
    register(words=words(5))
    assert audit().findings == ()
    assert last_report() is None
    configure(ROOT=folder)
    audit()
    assert not folder.exists()
    export()
    report = audit()
    assert last_report() == report
    assert report.started.tzinfo is not None
    audit("http://127.0.0.1:9/sitemap.xml")
    assert last_report() == report


def test_nothing_is_written_to_a_folder_without_an_export(tmp_path):
    assert rules(audit(directory=tmp_path)) == {"document-missing"}
    write(tmp_path, sound())
    before = sorted(tmp_path.iterdir())
    audit(directory=tmp_path)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.django_db
def test_the_report_of_a_host_never_replaces_that_of_another(register, folder, configure, clock):
    register(words=words(5))
    configure(ROOT=folder)
    export_hosts(HOSTS)
    report = audit(directory=folder / "b.example", base_url=HOSTS[1])
    assert last_report(directory=folder / "b.example") == last_report(base_url=HOSTS[1]) == report
    assert last_report(base_url=HOSTS[0]) is None
    clock.time += timedelta(hours=1)
    # The target itself now has an export of the first host alone.
    export(base_url=HOSTS[0])
    reports = {host: audit(base_url=host) for host in (*HOSTS, "https://c.example")}
    assert last_report(base_url="https://c.example") is None
    assert {host: last_report(base_url=host) for host in HOSTS} == {host: reports[host] for host in HOSTS}
    assert {path.parent.parent for path in folder.rglob(FILE)} == {folder, folder / "b.example"}


def test_the_last_report_of_a_directory_is_that_of_base_url_or_its_own(register, folder):
    register(words=words(5))
    export(output=folder, base_url=HOSTS[1])
    report = audit(directory=folder, base_url=HOSTS[1])
    assert last_report(directory=folder) == report
    assert last_report(directory=folder, base_url=BASE) is None
    export_hosts([BASE], output=folder)
    report = audit(directory=folder / "www.example.com", base_url=BASE)
    assert last_report(directory=folder) == report


@pytest.mark.parametrize("values", [
    *({"started": value} for value in ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", 5)),
    *({"seconds": value} for value in (float("nan"), -1)),
    *({"urls": 10**4_000}, {"pages": -1}, {"findings": {}}),
    {"findings": [{**FINDING, "count": 10**4_000}]},
    {"findings": [{**FINDING, "accepted": float("inf")}]},
    *("", "{}", "[]", '{"format": 2}', "\0", "[" * 100_000),
], ids=[*range(16)])  # fmt: skip
def test_a_report_that_is_damaged_or_has_values_that_no_audit_has_is_ignored(exported, values, caplog):
    rewrite(exported)
    assert last_report(directory=exported) is not None
    if isinstance(values, dict):
        rewrite(exported, **values)
    else:
        (exported / STATE / FILE).write_text(values)
    assert last_report(directory=exported) is None
    assert "The report of the last audit cannot be read" in caplog.text


def test_a_report_that_is_read_has_the_bounds_of_an_audit(exported):
    finding = {**FINDING, "rule": "\x1b[2J" + "x" * 1_500, "examples": ["\ud800" + "x" * 1_500] * 12}
    rewrite(exported, findings=[finding] * 200, target="\x1b[2J")
    report = last_report(directory=exported)
    assert (len(report.findings), report.target.isprintable()) == (len(RULES), True)
    for found in report.findings:
        assert len(found.examples) == 10
        assert all(text.isprintable() and len(text) <= 1_000 for text in (found.rule, *found.examples))


def test_an_audit_succeeds_if_its_report_cannot_be_saved(exported, caplog):
    (exported / STATE / FILE).mkdir()
    assert audit(directory=exported).findings == ()
    assert "The report of the audit cannot be saved" in caplog.text


def test_a_report_round_trips_through_json(tmp_path):
    report = audit(directory=write(tmp_path, sound() | DUPLICATE)).accepting({"url-duplicate": 5})
    assert (report.errors, from_dict(json.loads(json.dumps(report.as_dict())))) == (0, report)
