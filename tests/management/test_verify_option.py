"""`manage.py export_sitemaps --verify` and `--repair`: output, errors and exit status."""

from __future__ import annotations

import json
from functools import partial

import pytest

from django_sitemaps09.stores import LocalStore, exclusive_lock
from tests.support import commands, published
from tests.support.configuration import BASE

pytestmark = pytest.mark.sitemaps09(SITEMAPS="tests.support.commands.FINE", ENGINE="serial")

PAGE = "sitemap-a-1.xml.gz"
KEYS = {
    *("target", "index_url", "files", "urls", "bytes", "damaged", "failures", "is_unfinished"),
    *("seconds", "repair"),
}


run = partial(commands.said, "export_sitemaps")


def failed(*arguments, status=1):
    """Return standard output and the error of a command that fails with this exit status."""
    out, err, error = commands.failed("export_sitemaps", *arguments)
    assert (error.returncode, err) == (status, "")
    return out, str(error)


@pytest.fixture
def public(folder):
    run("--output", folder)
    return folder


def test_an_intact_export_is_counted(public):
    out, err = run("--output", public, "--verify")
    assert out.startswith(f"{public}: verified 3 files with 1,237 URLs in ")
    assert (out.count("\n"), err) == (1, "")


def test_each_damaged_file_is_named_with_what_to_do(public):
    (public / PAGE).unlink()
    (public / "sitemap.xml").write_bytes(b"")
    before = published.states(public, hidden=True)
    _, error = failed("--output", public, "--verify")
    lines = error.splitlines()
    assert [line.partition(" in ")[0] for line in lines[:-1]] == ["sitemap.xml", PAGE]
    assert lines[-1].endswith("add --repair.")
    assert published.states(public, hidden=True) == before


def test_what_was_repaired_is_named_too(public):
    before = (public / PAGE).read_bytes()
    (public / PAGE).write_bytes(before[:-1])
    out, err = run("--output", public, "--verify", "--repair")
    assert f"{PAGE} was repaired: " in out
    assert err == ""
    assert (public / PAGE).read_bytes() == before


def test_damage_that_a_repair_leaves_is_named_without_advice_to_repair(public, settings):
    (public / PAGE).unlink()
    settings.SITEMAPS09 = {**settings.SITEMAPS09, "SITEMAPS": "tests.support.commands.PART"}
    _, error = failed("--output", public, "--verify", "--repair")
    assert "--repair" not in error
    assert PAGE in error


def test_json_has_the_documented_keys(public):
    out, _ = run("--output", public, "--verify", "--format", "json")
    document = json.loads(out)
    assert document.keys() == KEYS
    assert (document["urls"], document["damaged"], document["repair"]) == (1_237, [], None)
    (public / PAGE).unlink()
    out, _ = failed("--output", public, "--verify", "--format", "json")
    [damaged] = json.loads(out)["damaged"]
    assert damaged.keys() == {"name", "section", "problem", "repaired"}
    assert (damaged["name"], damaged["section"], damaged["repaired"]) == (PAGE, "a", False)
    out, _ = run("--output", public, "--verify", "--repair", "--format", "json")
    document = json.loads(out)
    assert document["damaged"][0]["repaired"]
    assert document["repair"]["written"] == [PAGE]


def test_several_hosts_have_a_result_each(folder):
    hosts = ("--base-url", BASE, "--base-url", "https://b.example")
    run("--output", folder, *hosts)
    (folder / "b.example" / PAGE).unlink()
    out, error = failed("--output", folder, *hosts, "--verify", "--format=json")
    results = json.loads(out)["hosts"]
    assert [len(result["damaged"]) for result in results.values()] == [0, 1]
    assert str(folder / "b.example") in error


@pytest.mark.parametrize("option", ["--rebalance", "--changed-only", "--dry-run", "--strict", "--changes"])
def test_options_of_exports_are_refused(public, option):
    assert option in failed("--output", public, "--verify", option)[1]


def test_repair_needs_verify(public):
    assert "--verify" in failed("--output", public, "--repair")[1]


def test_a_repair_during_an_export_ends_with_75(public):
    (public / PAGE).unlink()
    with exclusive_lock(LocalStore(public)):
        failed("--output", public, "--verify", "--repair", status=75)


def test_a_repair_of_one_of_several_hosts_during_an_export_ends_with_75(folder):
    hosts = ("a.example", "b.example")
    options = [word for host in hosts for word in ("--base-url", f"https://{host}")]
    run("--output", folder, *options)
    for host in hosts:
        (folder / host / PAGE).unlink()
    with exclusive_lock(LocalStore(folder / "a.example")):
        _, error = failed("--output", folder, *options, "--verify", "--repair", status=75)
    assert f"https://a.example: Another export is writing to {folder / 'a.example'}" in error
    assert [(folder / host / PAGE).exists() for host in hosts] == [False, True]
    (folder / "b.example" / PAGE).unlink()
    (folder / "b.example" / PAGE).mkdir()
    with exclusive_lock(LocalStore(folder / "a.example")):
        failed("--output", folder, *options, "--verify", "--repair", status=1)
