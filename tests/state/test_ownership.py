"""Two targets that share one `STATE`: the second is refused, and both are named."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest

from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export import export, verify
from django_sitemaps09.protocol import parse_base
from django_sitemaps09.state.journal import JOURNAL
from django_sitemaps09.state.manifest import ROOT, read_root, seal, unseal
from django_sitemaps09.status import ExportState
from django_sitemaps09.stores import STATE, LocalStore
from django_sitemaps09.views import exported as views
from tests.support import published
from tests.support.configuration import BASE
from tests.support.exports import local_storage
from tests.support.killing import dies_at
from tests.support.sections import Numbers

pytestmark = pytest.mark.sitemaps09(STATE="private")


@pytest.fixture(autouse=True)
def private(tmp_path, declare):
    declare(private=local_storage(tmp_path / "private"))
    return tmp_path / "private"


def run(folder, **options):
    return export(output=folder, **{"sitemaps": {"n": Numbers(3)}, **options})


def refused(work):
    with pytest.raises(ExportError) as raised:
        work()
    return str(raised.value)


class TestTwoTargets:
    def test_that_share_a_state_are_refused_with_both_named(self, tmp_path):
        first, second = tmp_path / "first", tmp_path / "second"
        run(first)
        before = published.states(tmp_path / "private")
        for work in (
            lambda: run(second),
            lambda: run(second, dry_run=True),
            lambda: verify(output=second, sitemaps={"n": Numbers(3)}),
        ):
            message = refused(work)
            assert str(first) in message
            assert str(second) in message
            assert "private" in message
            assert "SITEMAPS09['STATE']" in message
        assert published.states(tmp_path / "private") == before
        assert not list(second.glob("*.xml*"))
        assert run(first).written == ()
        assert verify(output=first, sitemaps={"n": Numbers(3)}).damaged == []

    def test_that_share_a_state_have_only_the_files_of_the_first(self, tmp_path, settings):
        run(tmp_path / "first")
        (tmp_path / "second").mkdir()
        base = parse_base(BASE)
        for name, is_found in (("first", True), ("second", False)):
            settings.SITEMAPS09 = {**settings.SITEMAPS09, "ROOT": tmp_path / name}
            export_state = ExportState.from_base(base)
            assert (export_state.export is not None) is is_found
            assert views.current_export(base) == export_state.export
            views._exports.clear()
        assert str(tmp_path / "first") in str(export_state.error)

    def test_are_named_without_control_characters(self, tmp_path, private):
        run(tmp_path / "first")
        root = read_root(LocalStore(private))
        assert root is not None
        (private / ROOT).write_bytes(replace(root, target="\x1b[2J").root())
        assert refused(lambda: run(tmp_path / "second")).isprintable()
        for changes in ({"base": "\x1b]0;title\x07"}, {"url": f"{BASE}/\x1b[2J"}):
            (private / ROOT).write_bytes(replace(root, **changes).root())
            assert refused(lambda: run(tmp_path / "first")).isprintable()

    def test_are_refused_even_if_the_first_publishes_while_the_second_renders(self, tmp_path):
        first, second = tmp_path / "first", tmp_path / "second"

        class Meanwhile(Numbers):
            def items(self):
                if not first.exists():
                    run(first)
                return self.numbers

        message = refused(lambda: run(second, sitemaps={"n": Meanwhile(3)}))
        assert str(first) in message
        assert not list(second.glob("*.xml*"))
        assert verify(output=first, sitemaps={"n": Numbers(3)}).damaged == []

    def test_are_refused_if_the_first_was_killed_while_publishing(self, tmp_path, private):
        first, second = tmp_path / "first", tmp_path / "second"
        assert dies_at(1, lambda: run(first))
        assert (private / JOURNAL).exists()
        assert not (private / ROOT).exists()
        assert str(first) in refused(lambda: run(second))
        assert run(first).recovered


class TestAMovedTarget:
    def test_is_exported_to_after_the_manifest_is_removed(self, tmp_path, private):
        first, second = tmp_path / "first", tmp_path / "second"
        run(first)
        first.rename(second)
        assert f"remove {ROOT} in {private}" in refused(lambda: run(second))
        (private / ROOT).unlink()
        assert run(second).failures == []
        assert run(second).written == ()
        assert verify(output=second, sitemaps={"n": Numbers(3)}).damaged == []

    def test_may_be_moved_with_the_state_inside(self, tmp_path, settings):
        settings.SITEMAPS09 = {**settings.SITEMAPS09, "STATE": None}
        first, second = tmp_path / "first", tmp_path / "second"
        run(first)
        shutil.copytree(first, second)
        assert (second / STATE / ROOT).exists()
        assert run(second).written == ()

    def test_is_not_detected_in_a_state_that_was_inside_the_target(self, tmp_path, private):
        first = tmp_path / "first"
        run(first)
        document = unseal((private / ROOT).read_bytes())
        assert document["target"] == str(first)
        (private / ROOT).write_bytes(seal({**document, "target": ""}))
        assert run(first).written == ()
        assert json.loads((private / ROOT).read_bytes())["target"] == ""
        run(first, sitemaps={"n": Numbers(4)})
        assert json.loads((private / ROOT).read_bytes())["target"] == str(first)
