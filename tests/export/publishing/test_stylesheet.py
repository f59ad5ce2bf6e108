"""The stylesheet of an export is published before documents use it, and removed like any other file."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from django_sitemaps09.export import export
from django_sitemaps09.protocol.documents import STYLESHEET_MARK
from tests.support.configuration import BASE
from tests.support.exports import named, plain, promoting
from tests.support.internals import ROOT as MANIFEST, STATE, stylesheet
from tests.support.sections import Numbers

pytestmark = pytest.mark.sitemaps09(STYLESHEET=True)
INSTRUCTION = b'<?xml-stylesheet type="text/css" href="sitemap.css"?>'
NAME = "sitemap.css"
sheet = pytest.fixture(lambda folder: folder / NAME)


def run(folder, count=3, **options):
    return export(output=folder, sitemaps={"numbers": Numbers(count)}, **options)


def styled(folder):
    return [INSTRUCTION in plain(folder, name) for name in ("sitemap.xml", *named(folder))]


@pytest.mark.parametrize("compressed", [True, False])
def test_a_stylesheet_is_published_before_its_documents(folder, sheet, configure, monkeypatch, compressed):
    promoted = []
    promoting(monkeypatch, lambda store, name: promoted.append(name))
    configure(GZIP=compressed)
    run(folder, count=0)
    assert not sheet.exists()
    report = run(folder)
    assert promoted == [NAME, *named(folder), "sitemap.xml"]
    assert ({*report.written}, styled(folder)) == ({*promoted}, [True, True])
    assert (sheet.read_bytes(), [*(folder / STATE).glob("run-*")]) == (stylesheet(), [])
    assert sheet.stat().st_mode == (folder / "sitemap.xml").stat().st_mode
    # It is written again if it is not as expected.
    for content in (None, b"", b"/* Gen", STYLESHEET_MARK + b" An older version. */"):
        sheet.unlink()
        if content is not None:
            sheet.write_bytes(content)
        assert (run(folder).written, sheet.read_bytes()) == ((NAME,), stylesheet())


def test_a_stylesheet_is_kept_for_a_while_when_the_setting_is_switched_off(folder, sheet, configure):
    run(folder)
    configure(STYLESHEET=False, KEEP_REMOVED=timedelta(hours=1))
    events = []
    run(folder, on_published=events.append)
    assert ([event.removed for event in events], sheet.exists()) == ([[f"{BASE}/{NAME}"]], True)
    configure(KEEP_REMOVED=0)
    assert (run(folder).deleted, sheet.exists()) == ((NAME,), False)
    # It is not removed if the setting comes back.
    for value in (True, False, True):
        configure(STYLESHEET=value)
        run(folder)
    root = json.loads((folder / STATE / MANIFEST).read_bytes())
    assert (root["stylesheets"], root["removed"], sheet.read_bytes()) == ([NAME], {}, stylesheet())


@pytest.mark.parametrize("is_first_ours", [False, True])
def test_a_stylesheet_of_the_project_is_left_alone(folder, sheet, configure, is_first_ours):
    folder.mkdir()
    if is_first_ours:
        for value in (True, False):
            configure(STYLESHEET=value, KEEP_REMOVED=0)
            run(folder)
    sheet.write_bytes(b"body { color: red }")
    for value in (False, True, True, False, False):
        configure(STYLESHEET=value, KEEP_REMOVED=0)
        report = run(folder, changed_only=True)
        assert (NAME in report.written, styled(folder)) == (False, [value, value])
        assert (run(folder).written, sheet.read_bytes()) == ((), b"body { color: red }")
