"""The hosts that an export accepts, and the report of each host."""

from __future__ import annotations

import json
import re

import pytest
from django.core.exceptions import ImproperlyConfigured

from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export import export, export_hosts
from django_sitemaps09.hosts import host_folder, is_host_folder
from django_sitemaps09.protocol import parse_base
from tests.support import published
from tests.support.several_hosts import (
    FINE,
    FOLDERS,
    HOST_OPTIONS,
    ROWS,
    A,
    B,
    C,
    change,
    command,
    fill,
    run,
    thirty,
)

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.mark.parametrize(
    ("url", "name"),
    [
        *((A, "a.example"), ("https://A.Example/", "a.example"), ("https://a.example.", "a.example")),
        *(("https://a.example:8443", "a.example_8443"), ("https://a.example.:8443", "a.example._8443")),
        *(("https://bücher.example", "xn--bcher-kva.example"), ("http://127.0.0.1:80", "127.0.0.1_80")),
        *(("http://[::1]:8000", "___1__8000"), ("http://[::ffff:1.2.3.4]", "___ffff_1.2.3.4_")),
        ("http://_x.-y", "_x.-y"),
    ],
)
def test_a_host_has_a_folder_that_messages_may_name(url, name):
    assert (host_folder(parse_base(url)), is_host_folder(name)) == (name, True)


@pytest.mark.parametrize(
    "urls",
    [
        *((A, f"{A}/"), (A, "http://a.example"), (A, "https://A.EXAMPLE"), (A, "https://a.example.")),
        *(("https://a.example:80", "https://a.example_80"), (A, B, A)),
        ("https://bücher.example", "https://xn--bcher-kva.example"),
    ],
)
def test_a_host_does_not_share_its_folder(folder, urls):
    with pytest.raises(ExportError, match="would share a folder"):
        run(folder / "x", *urls)
    assert [*folder.iterdir()] == []


@pytest.mark.parametrize(
    "url", ["https://..", "https://", "a.example", "https://a/b", "https://u@a", "https://../x"]
)
def test_a_host_must_be_a_valid_base_url_before_anything_is_touched(folder, url):
    with pytest.raises(ImproperlyConfigured, match="--base-url"):
        run(folder / "x", A, url)
    assert [*folder.iterdir()] == []


@pytest.mark.parametrize("by", ["argument", "setting"])
def test_a_host_has_its_own_robots_txt_or_nothing_is_changed(folder, settings, by):
    thirty()
    robots = folder / "robots.txt"
    settings.SITEMAPS09 = {"ROBOTS_TXT": robots} if by == "setting" else {}
    with pytest.raises(ExportError, match=r"Use \{host\} in the path"):
        run(folder / "x", robots=robots if by == "argument" else None)
    assert [*folder.iterdir()] == []
    settings.SITEMAPS09 = {"ROBOTS_TXT": f"{folder}/{{host}}/robots.txt", "ROOT": folder}
    robots = folder / FOLDERS[B] / "robots.txt"
    robots.parent.mkdir()
    robots.write_text("User-agent: *\nDisallow: /x/\n")
    export_hosts([A, B], sitemaps=FINE)
    text = robots.read_text()
    assert text.startswith("User-agent: *\nDisallow: /x/\n")
    assert (f"Sitemap: {B}/sitemap.xml" in text, A in text) == (True, False)
    export(base_url=C, sitemaps=FINE, output=folder / "c.example")
    assert f"Sitemap: {C}/sitemap.xml" in (folder / "c.example" / "robots.txt").read_text()


def test_a_host_whose_folder_is_that_of_another_is_refused_before_any_file_is_written(folder):
    thirty()
    export(output=folder / FOLDERS[B], base_url=C, sitemaps=FINE)
    before = published.states(folder, hidden=True)
    with pytest.raises(ExportError, match="contains an export of"):
        run(folder)
    assert (published.states(folder, hidden=True), (folder / FOLDERS[A]).exists()) == (before, False)


def test_each_host_is_reported_to_callbacks_with_its_files_and_changes(folder):
    thirty()
    reports = run(folder, dry_run=True, changes=True)
    assert [(report.published, report.urls) for report in reports.values()] == [(False, ROWS)] * 2
    assert [*folder.iterdir()] == []
    run(folder)
    fill(31)
    change(15, "other")
    notices, seen = [], []
    callbacks = {"on_published": notices.append, "progress": lambda section: seen.append(section.section)}
    reports = run(folder, changes=True, **callbacks)
    assert seen == ["a", "a"]
    for host, notice in zip((A, B), notices, strict=True):
        assert notice.report.index_url == f"{host}/sitemap.xml"
        assert f"{host}/sitemap-a-2.xml.gz" in notice.written
        assert reports[host].changes == {"added": 2, "removed": 1, "changed": 0}


def test_the_command_prints_a_table_for_each_host_and_one_document_of_json_for_all(folder):
    thirty()
    out, _ = command(folder, *HOST_OPTIONS)
    tables = re.findall(r"^(section|all) |(https:\S+ to .*)$", out, re.MULTILINE)
    places = [f"{host}/sitemap.xml to {folder / FOLDERS[host]}" for host in (A, B)]
    assert ["".join(found) for found in tables] == [
        "section",
        "all",
        places[0],
        "section",
        "all",
        places[1],
    ]
    found = json.loads(command(folder, *HOST_OPTIONS, "--format", "json")[0])
    assert ([*found], [*found["hosts"]]) == (["hosts"], [A, B])
    assert found["hosts"][B]["index_url"] == f"{B}/sitemap.xml"
