"""`manage.py submit_sitemaps`: its output, its errors, and its exit status."""

from __future__ import annotations

import json
import re
import sqlite3
from io import StringIO

import pytest
from django.conf import settings as configured
from django.core.management import call_command
from django.core.management.base import SystemCheckError

from django_sitemaps09 import stores
from django_sitemaps09.notify.ledger import Ledger, Message
from django_sitemaps09.stores import LocalStore
from tests.support import commands
from tests.support.search_engines import KEY, engine

__all__ = ["engine"]

pytestmark = pytest.mark.sitemaps09(INDEXNOW_KEY=KEY)

URLS = tuple(f"https://www.example.com/{n}" for n in range(1_234))


def queue(folder, *urls):
    ledger = Ledger(stores.state_store(LocalStore(folder)))
    ledger.prepare("run-1", [Message("indexnow", "www.example.com", urls)])
    ledger.activate("run-1")


@pytest.fixture(autouse=True)
def _endpoint(engine, configure, folder):
    configure(INDEXNOW_URLS=[engine.url], ROOT=folder)


def printed(*arguments):
    return commands.said("submit_sitemaps", *arguments)[0]


def failed(*arguments):
    out, _, error = commands.failed("submit_sitemaps", *arguments)
    return out, error


def test_the_table_has_a_row_for_each_endpoint_and_host(folder, engine):
    queue(folder, *URLS)
    first, head, row = printed().splitlines()
    assert first == f"{folder}: submitted"
    assert head.split() == ["endpoint", "host", "messages", "accepted", "rejected", "pending", "status"]
    assert row.split() == [engine.url, "www.example.com", "1", "1,234", "0", "0", "200"]
    assert printed() == f"{folder}: nothing is pending\n"


def test_a_dry_run_shows_counts_and_examples_and_sends_nothing(folder, engine):
    queue(folder, *URLS)
    first, _, row, *examples = printed("--dry-run").splitlines()
    assert first == f"{folder}: to submit"
    assert row.split() == [engine.url, "www.example.com", "1", "0", "0", "1,234", "-"]
    assert examples == [f"{engine.url}: {url}" for url in URLS[:5]]
    assert engine.requests == []


def test_json_is_the_report_alone(folder, engine):
    queue(folder, *URLS)
    document = json.loads(printed("--format", "json"))
    assert document["target"] == str(folder)
    assert document["failures"] == []
    [report] = document["endpoints"]
    assert (report["kind"], report["accepted"], report["status"]) == ("indexnow", 1_234, 200)


def test_a_failure_exits_with_1_after_the_table(folder, engine):
    engine.answer(403)
    queue(folder, *URLS)
    out, error = failed()
    assert error.returncode == 1
    assert "1,234" in out
    assert str(error).startswith(f"{engine.url} (www.example.com): 403: the key was not accepted.")
    assert KEY not in f"{out}{error}"


def test_urls_that_wait_are_no_failure(folder):
    queue(folder, *URLS)
    printed()
    queue(folder, URLS[0])
    assert re.search(r"nothing more is sent before \d\d:\d\d:\d\d UTC", printed())


def test_a_second_submission_exits_with_75(folder, engine):
    queue(folder, *URLS)
    with stores.exclusive_lock(LocalStore(folder), "submission"):
        out, error = failed()
    assert (out, error.returncode) == ("", 75)
    assert engine.requests == []


def test_several_hosts_have_a_report_each(folder, engine):
    bases = ["https://a.example.com", "https://b.example.com"]
    queue(folder / "b.example.com", *URLS)
    arguments = [argument for base in bases for argument in ("--base-url", base)]
    document = json.loads(printed(*arguments, "--format=json"))
    assert [len(document["hosts"][base]["endpoints"]) for base in bases] == [0, 1]
    assert engine.submitted == sorted(URLS)


@pytest.mark.parametrize(
    ("arguments", "keys", "words"),
    [
        ([], {"INDEXNOW_KEY": None}, "--generate-key"),
        ([], {"ROOT": None}, "There is no target"),
        (["--base-url", "nonsense"], {}, "--base-url: 'nonsense'"),
        ([], {"STORAGE": "nowhere"}, "nowhere"),
        ([], {}, "public. Run export_sitemaps --submit first."),
    ],
)
def test_an_error_exits_with_1(configure, arguments, keys, words):
    configure(**keys)
    out, error = failed(*arguments)
    assert (out, error.returncode) == ("", 1)
    assert words in str(error)


def test_a_new_key_is_printed_even_without_settings(settings, engine):
    settings.SITEMAPS09 = {}
    first, second = printed("--generate-key"), printed("--generate-key")
    assert re.fullmatch(r"[0-9a-f]{32}\n", first)
    assert first != second
    assert engine.requests == []


@pytest.mark.django_db(databases=[*configured.DATABASES])
def test_a_new_key_is_printed_even_if_a_check_requires_one(configure):
    configure(INDEXNOW_KEY=None, SUBMIT=True)
    out = StringIO()
    call_command("submit_sitemaps", "--generate-key", stdout=out, skip_checks=False)
    assert re.fullmatch(r"[0-9a-f]{32}\n", out.getvalue())
    with pytest.raises(SystemCheckError, match="E080"):
        call_command("submit_sitemaps", stdout=out, skip_checks=False)


def test_a_temporary_table_that_does_not_fit_on_the_disk_is_an_error(folder, monkeypatch):
    def full(*arguments):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(Ledger, "compact", full)
    queue(folder, *URLS)
    assert "disk is full" in str(failed()[1])
