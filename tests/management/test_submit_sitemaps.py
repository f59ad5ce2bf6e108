"""`manage.py submit_sitemaps`: its output, its errors, and its exit status."""

from __future__ import annotations

import json
import re
import sqlite3
from unittest.mock import Mock

import pytest
from django.conf import settings as configured
from django.core.management.base import SystemCheckError

from tests.support import commands
from tests.support.internals import Ledger, LocalStore, Message, stores
from tests.support.search_engines import KEY, engine

__all__ = ["engine"]

pytestmark = pytest.mark.sitemaps09(INDEXNOW_KEY=KEY)
URLS = tuple(f"https://www.example.com/{n}" for n in range(1_234))


@pytest.fixture(autouse=True)
def queue(engine, configure, folder):
    configure(INDEXNOW_URLS=[engine.url], ROOT=folder)

    def queued(urls=URLS, folder=folder):
        ledger = Ledger(stores.state_store(LocalStore(folder)))
        ledger.prepare("run-1", [Message("indexnow", "www.example.com", urls)])
        ledger.activate("run-1")

    return queued


def printed(*arguments):
    return commands.said("submit_sitemaps", *arguments)[0]


def failed(*arguments):
    out, _, error = commands.failed("submit_sitemaps", *arguments)
    return error.returncode, out, str(error)


def test_the_table_has_a_row_for_each_endpoint_and_host(folder, engine, queue):
    queue()
    where = [engine.url, "www.example.com", "1"]
    first, head, row, *examples = printed("--dry-run").splitlines()
    assert (first, row.split()) == (f"{folder}: to submit", [*where, "0", "0", "1,234", "-"])
    assert (examples, engine.requests) == ([f"{engine.url}: {url}" for url in URLS[:5]], [])
    first, head, row = printed().splitlines()
    assert head.split() == ["endpoint", "host", "messages", "accepted", "rejected", "pending", "status"]
    assert (first, row.split()) == (f"{folder}: submitted", [*where, "1,234", "0", "0", "200"])
    assert printed() == f"{folder}: nothing is pending\n"
    # URLs that wait are no failure.
    queue(URLS[:1])
    assert re.search(r"nothing more is sent before \d\d:\d\d:\d\d UTC", printed())


def test_json_is_the_report_alone_with_one_for_each_of_several_hosts(folder, engine, queue):
    queue()
    document = json.loads(printed("--format", "json"))
    [report] = document["endpoints"]
    assert (document["target"], document["failures"]) == (str(folder), [])
    assert (report["kind"], report["accepted"], report["status"]) == ("indexnow", 1_234, 200)
    bases = ["https://a.example.com", "https://b.example.com"]
    queue(folder=folder / "b.example.com")
    document = json.loads(printed(*(f"--base-url={base}" for base in bases), "--format=json"))
    assert [len(document["hosts"][base]["endpoints"]) for base in bases] == [0, 1]
    assert engine.submitted == sorted(2 * URLS)


def test_a_failure_exits_with_1_after_the_table(engine, queue):
    engine.answer(403)
    queue()
    status, out, error = failed()
    assert (status, "1,234" in out, KEY in f"{out}{error}") == (1, True, False)
    assert error.startswith(f"{engine.url} (www.example.com): 403: the key was not accepted.")


def test_a_second_submission_exits_with_75(folder, engine, queue):
    queue()
    with stores.exclusive_lock(LocalStore(folder), "submission"):
        assert failed()[:2] == (75, "")
    assert engine.requests == []


@pytest.mark.parametrize(("arguments", "keys", "words"), [
    ([], {"INDEXNOW_KEY": None}, "--generate-key"), ([], {"ROOT": None}, "There is no target"),
    (["--base-url", "nonsense"], {}, "--base-url: 'nonsense'"), ([], {"STORAGE": "nowhere"}, "nowhere"),
    ([], {}, "public. Run export_sitemaps --submit first."),
])  # fmt: skip
def test_a_submission_that_cannot_begin_exits_with_1(configure, arguments, keys, words):
    configure(**keys)
    status, out, error = failed(*arguments)
    assert (status, out, words in error) == (1, "", True)


def test_a_temporary_table_that_does_not_fit_on_the_disk_is_an_error(queue, monkeypatch):
    full = sqlite3.OperationalError("database or disk is full")
    monkeypatch.setattr(Ledger, "compact", Mock(side_effect=full))
    queue()
    assert "disk is full" in failed()[2]


@pytest.mark.django_db(databases=[*configured.DATABASES])
def test_a_new_key_is_printed_without_settings_and_if_a_check_requires_one(settings, configure, engine):
    configure(INDEXNOW_KEY=None, SUBMIT=True)
    first, _ = commands.said("submit_sitemaps", "--generate-key", skip_checks=False)
    with pytest.raises(SystemCheckError, match="E080"):
        commands.said("submit_sitemaps", skip_checks=False)
    settings.SITEMAPS09 = {}
    keys = {first, printed("--generate-key")}
    assert (len({key for key in keys if re.fullmatch(r"[0-9a-f]{32}\n", key)}), engine.requests) == (2, [])
