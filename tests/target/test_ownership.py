"""Two targets that share one `STATE`: the second is refused, and both are named."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest

from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export import export, verify
from tests.support import published
from tests.support.configuration import BASE
from tests.support.exports import local_storage
from tests.support.internals import JOURNAL, STATE, ExportState, LocalStore, exported, manifest, parse_base
from tests.support.killing import dies_at
from tests.support.sections import Numbers, declare

pytestmark = pytest.mark.sitemaps09(STATE="private")


@pytest.fixture(autouse=True)
def private(tmp_path, declare):
    declare(private=local_storage(tmp_path / "private"))
    return tmp_path / "private"


first = pytest.fixture(lambda tmp_path: tmp_path / "first")
second = pytest.fixture(lambda tmp_path: tmp_path / "second")


def run(folder, **options):
    return export(output=folder, **{"sitemaps": {"n": Numbers(3)}, **options})


def damaged(folder):
    return verify(output=folder, sitemaps={"n": Numbers(3)}).damaged


def refused(work, *arguments, **options):
    with pytest.raises(ExportError) as raised:
        work(*arguments, **options)
    return str(raised.value)


def test_a_second_target_of_a_state_is_refused_with_both_named(first, second, private):
    run(first)
    before = published.states(private)
    for work, options in ((run, {}), (run, {"dry_run": True}), (damaged, {})):
        message = refused(work, second, **options)
        words = (str(first), str(second), "private", "SITEMAPS09['STATE']")
        assert [word for word in words if word not in message] == []
    assert (published.states(private), [*second.glob("*.xml*")]) == (before, [])
    assert (run(first).written, damaged(first)) == ((), [])


def test_a_second_target_of_a_state_does_not_have_the_files_of_the_first(first, second, configure):
    run(first)
    second.mkdir()
    base = parse_base(BASE)
    for folder, is_found in ((first, True), (second, False)):
        configure(ROOT=folder)
        state = ExportState.from_base(base)
        assert ((state.export is not None), exported.current_export(base)) == (is_found, state.export)
        exported._exports.clear()
    assert str(first) in str(state.error)


def test_targets_are_named_without_control_characters(first, second, private):
    run(first)
    root = manifest.read_root(LocalStore(private))
    evil = ({"target": "\x1b[2J"}, {"base": "\x1b]0;title\x07"}, {"url": f"{BASE}/\x1b[2J"})
    for folder, values in zip((second, first, first), evil, strict=True):
        (private / manifest.ROOT).write_bytes(replace(root, **values).root())
        assert refused(run, folder).isprintable()


def test_a_second_target_is_refused_even_if_the_first_publishes_while_it_renders(first, second):
    def items(self):
        if not first.exists():
            run(first)
        return self.numbers

    assert str(first) in refused(run, second, sitemaps={"n": declare(Numbers, items=items)(3)})
    assert ([*second.glob("*.xml*")], damaged(first)) == ([], [])


def test_a_second_target_is_refused_if_the_first_was_killed_while_publishing(first, second, private):
    assert dies_at(1, lambda: run(first))
    assert ((private / JOURNAL).exists(), (private / manifest.ROOT).exists()) == (True, False)
    assert str(first) in refused(run, second)
    assert run(first).recovered


def test_a_moved_target_needs_no_manifest_or_the_state_inside(first, second, private, configure):
    run(first)
    first.rename(second)
    assert f"remove {manifest.ROOT} in {private}" in refused(run, second)
    (private / manifest.ROOT).unlink()
    assert (run(second).failures, run(second).written, damaged(second)) == ([], (), [])
    configure(STATE=None)
    run(first)
    shutil.copytree(first, second, dirs_exist_ok=True)
    assert ((second / STATE / manifest.ROOT).exists(), run(second).written) == (True, ())


def test_a_moved_target_is_not_detected_in_a_state_that_was_inside_the_target(first, private):
    def target():
        return json.loads((private / manifest.ROOT).read_bytes())["target"]

    run(first)
    assert target() == str(first)
    root = manifest.read_root(LocalStore(private))
    (private / manifest.ROOT).write_bytes(replace(root, target="").root())
    assert (run(first).written, target()) == ((), "")
    run(first, sitemaps={"n": Numbers(4)})
    assert target() == str(first)
