"""The stylesheet of an export is published before documents use it, and removed like any other file."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from django_sitemaps09 import writer
from django_sitemaps09.export import export
from django_sitemaps09.state.manifest import ROOT as MANIFEST
from django_sitemaps09.stores import STATE
from django_sitemaps09.stores.local import LocalStore
from tests.support.configuration import BASE
from tests.support.exports import named, plain, touched
from tests.support.killing import dies_at
from tests.support.sections import Numbers

pytestmark = pytest.mark.sitemaps09
INSTRUCTION = b'<?xml-stylesheet type="text/css" href="sitemap.css"?>'
NAME = "sitemap.css"


def run(folder, count=3, **options):
    return export(output=folder, sitemaps={"numbers": Numbers(count)}, **options)


def styled(folder):
    """Return whether each document has the instruction."""
    return [INSTRUCTION in plain(folder, name) for name in ("sitemap.xml", *named(folder))]


@pytest.mark.parametrize("compressed", [True, False])
def test_a_stylesheet_is_published_as_it_is_before_the_documents_that_name_it(
    folder, configure, monkeypatch, compressed
):
    promoted = []
    promote = LocalStore.promote

    def listen(store, staged, name):
        promoted.append(name)
        promote(store, staged, name)

    monkeypatch.setattr(LocalStore, "promote", listen)
    configure(STYLESHEET=True, GZIP=compressed)
    report = run(folder)
    assert promoted == [NAME, *named(folder), "sitemap.xml"]
    assert {*report.written} == {*promoted}
    assert (folder / NAME).read_bytes() == writer.stylesheet()
    assert styled(folder) == [True, True]
    assert (folder / NAME).stat().st_mode == (folder / "sitemap.xml").stat().st_mode


@pytest.mark.sitemaps09(STYLESHEET=True)
def test_a_stylesheet_is_not_published_if_nothing_names_it(folder):
    run(folder, count=0)
    assert not (folder / NAME).exists()


@pytest.mark.parametrize("changed_only", [True, False])
def test_the_setting_changes_every_file_of_the_next_run_and_nothing_afterwards(
    folder, configure, changed_only
):
    run(folder, changed_only=changed_only)
    assert not (folder / NAME).exists()
    assert styled(folder) == [False, False]
    for value in (True, False):
        configure(STYLESHEET=value)
        report = run(folder, changed_only=changed_only)
        assert styled(folder) == [value, value]
        assert {"sitemap.xml", *named(folder)} <= set(report.written)
        before = touched(folder)
        assert run(folder, changed_only=changed_only).written == ()
        assert touched(folder) == before


@pytest.mark.sitemaps09(STYLESHEET=True)
@pytest.mark.parametrize(
    "content", [None, b"", b"/* Gen", writer.STYLESHEET_MARK + b" An older version. */"]
)
def test_a_stylesheet_is_written_again_if_it_is_not_as_expected(folder, content):
    run(folder)
    (folder / NAME).unlink()
    if content is not None:
        (folder / NAME).write_bytes(content)
    assert run(folder).written == (NAME,)
    assert (folder / NAME).read_bytes() == writer.stylesheet()


@pytest.mark.parametrize("stylesheet", [False, True])
def test_a_file_that_replaced_our_stylesheet_is_kept(folder, configure, *, stylesheet):
    configure(STYLESHEET=True, KEEP_REMOVED=0)
    run(folder)
    configure(STYLESHEET=False)
    run(folder)
    (folder / NAME).write_bytes(b"body { color: red }")
    configure(STYLESHEET=stylesheet)
    for _ in range(2):
        run(folder)
        assert (folder / NAME).read_bytes() == b"body { color: red }"


def test_a_stylesheet_is_kept_for_a_while_when_the_setting_is_switched_off(folder, configure):
    configure(STYLESHEET=True)
    run(folder)
    configure(STYLESHEET=False, KEEP_REMOVED=timedelta(hours=1))
    events = []
    run(folder, on_published=events.append)
    assert [event.removed for event in events] == [[f"{BASE}/{NAME}"]]
    assert (folder / NAME).exists()
    configure(STYLESHEET=False, KEEP_REMOVED=0)
    assert run(folder).deleted == (NAME,)
    assert not (folder / NAME).exists()


def test_a_stylesheet_is_not_removed_if_the_setting_comes_back(folder, configure):
    for value in (True, False, True):
        configure(STYLESHEET=value, KEEP_REMOVED=0)
        run(folder)
    assert (folder / NAME).read_bytes() == writer.stylesheet()
    root = json.loads((folder / STATE / MANIFEST).read_bytes())
    assert (root["stylesheets"], root["removed"]) == ([NAME], {})


def test_a_stylesheet_of_the_project_is_neither_replaced_nor_removed(folder, configure):
    folder.mkdir()
    (folder / NAME).write_bytes(b"theirs")
    for value in (False, True, True, False, False):
        configure(STYLESHEET=value, KEEP_REMOVED=0)
        assert NAME not in run(folder).written
        assert styled(folder) == [value, value]
        assert (folder / NAME).read_bytes() == b"theirs"


@pytest.mark.sitemaps09(STYLESHEET=True)
@pytest.mark.parametrize("step", [1, 2, 3])
def test_a_killed_run_is_finished_with_its_stylesheet(folder, step):
    assert dies_at(step, lambda: run(folder))
    run(folder)
    assert (folder / NAME).read_bytes() == writer.stylesheet()
    assert styled(folder) == [True, True]
