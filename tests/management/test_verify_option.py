"""`manage.py export_sitemaps --verify` and `--repair`: output, errors and exit status."""

from __future__ import annotations

import json
from functools import partial

import pytest

from django_sitemaps09.stores import LocalStore, exclusive_lock
from tests.support import commands, published

pytestmark = pytest.mark.sitemaps09(SITEMAPS="tests.support.commands.FINE", ENGINE="serial")
PAGE = "sitemap-a-1.xml.gz"
HOSTS = ("a.example", "b.example")
URLS = [f"--base-url=https://{host}" for host in HOSTS]
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


def test_an_intact_export_is_counted_and_damage_named_with_what_to_do_until_it_is_repaired(public):
    verify = ("--output", public, "--verify")
    out, err = run(*verify)
    assert out.startswith(f"{public}: verified 3 files with 1,237 URLs in ")
    assert (out.count("\n"), err) == (1, "")
    whole = (public / PAGE).read_bytes()
    (public / PAGE).unlink()
    (public / "sitemap.xml").write_bytes(b"")
    before = published.states(public, hidden=True)
    *lines, advice = failed(*verify)[1].splitlines()
    assert [line.partition(" in ")[0] for line in lines] == ["sitemap.xml", PAGE]
    assert (advice[-13:], published.states(public, hidden=True)) == ("add --repair.", before)
    out, err = run(*verify, "--repair")
    assert (f"{PAGE} was repaired: " in out, err, (public / PAGE).read_bytes()) == (True, "", whole)


def test_damage_that_a_repair_leaves_is_named_without_advice_to_repair(public, configure):
    (public / PAGE).unlink()
    configure(SITEMAPS="tests.support.commands.PART")
    _, error = failed("--output", public, "--verify", "--repair")
    assert (PAGE in error, "--repair" in error) == (True, False)


def test_json_has_the_documented_keys(public):
    verify = ("--output", public, "--verify", "--format", "json")
    document = json.loads(run(*verify)[0])
    keys = "target index_url files urls bytes damaged failures is_unfinished seconds repair"
    assert " ".join(sorted(document)) == " ".join(sorted(keys.split()))
    assert (document["urls"], document["damaged"], document["repair"]) == (1_237, [], None)
    (public / PAGE).unlink()
    [damaged] = json.loads(failed(*verify)[0])["damaged"]
    assert damaged.pop("problem")
    assert damaged == {"name": PAGE, "section": "a", "repaired": False}
    document = json.loads(run(*verify, "--repair")[0])
    assert (document["damaged"][0]["repaired"], document["repair"]["written"]) == (True, [PAGE])


@pytest.mark.parametrize(
    "option", ["--verify --rebalance", "--verify --changed-only", "--verify --dry-run", "--repair"]
)
def test_options_that_do_not_belong_together_are_refused(public, option):
    error = failed("--output", public, *option.split())[1]
    assert [word for word in (*option.split(), "--verify") if word not in error] == []


def test_a_repair_during_an_export_ends_with_75(public):
    (public / PAGE).unlink()
    with exclusive_lock(LocalStore(public)):
        failed("--output", public, "--verify", "--repair", status=75)


def test_several_hosts_have_a_result_each_and_one_that_is_locked_does_not_stop_the_others(folder):
    run("--output", folder, *URLS)
    (folder / "b.example" / PAGE).unlink()
    out, error = failed("--output", folder, *URLS, "--verify", "--format=json")
    assert [len(result["damaged"]) for result in json.loads(out)["hosts"].values()] == [0, 1]
    assert str(folder / "b.example") in error
    (folder / "a.example" / PAGE).unlink()
    with exclusive_lock(LocalStore(folder / "a.example")):
        _, error = failed("--output", folder, *URLS, "--verify", "--repair", status=75)
        assert f"https://a.example: Another export is writing to {folder / 'a.example'}" in error
        assert [(folder / host / PAGE).exists() for host in HOSTS] == [False, True]
        # Any other failure counts more.
        (folder / "b.example" / PAGE).unlink()
        (folder / "b.example" / PAGE).mkdir()
        failed("--output", folder, *URLS, "--verify", "--repair", status=1)
