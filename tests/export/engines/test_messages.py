"""Messages and replies that are forged, malformed, too old, or signed during a key rotation."""

from __future__ import annotations

import json
import operator
import os
import re
import signal
import socket
import sys
import time
from contextlib import suppress
from functools import partial, reduce
from unittest.mock import Mock, patch

import pytest
from django.core import signing
from django.db import connection
from django.test.utils import CaptureQueriesContext, override_settings

from django_sitemaps09.exceptions import ExportError
from tests.support.configuration import BASE
from tests.support.engine_project import SECTIONS
from tests.support.factories import ArticleFactory
from tests.support.internals import STATE, Base, Page, Renderer, Task, compile_source, conf, messages
from tests.support.published import states

SALT, MESSAGE = messages._SALTS[messages.REPLY], messages._MESSAGE
EVIL = "sitemaps09_tests_evil_urls"
UNSIGNED = "it is not signed with the SECRET_KEY"


@pytest.fixture
def forging(settings, tmp_path, monkeypatch, db):
    """Return the content of a message of an active run. Create a module that must not be imported."""
    settings.SITEMAPS09 = {"SITEMAPS": "tests.support.engine_project.SECTIONS", "BASE_URL": BASE}
    ArticleFactory(slug="a1")
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / f"{EVIL}.py").write_text("from tests.urls import urlpatterns\n")
    monkeypatch.syspath_prepend(tmp_path / "modules")
    monkeypatch.setattr(messages, "PAUSE", 0.0)
    base = Base("https", "www.example.com")
    renderer = Renderer(base, tmp_path / "public", "", f"{STATE}/run-1", False, "/", None)
    digest = compile_source("a", SECTIONS["a"], base, conf.limits).declaration_digest
    content = messages.build_message(renderer, Task("a", Page(1, None, None), declaration_digest=digest))
    messages.Folder(content).open()
    yield content
    sys.modules.pop(EVIL, None)


@pytest.fixture
def reply(forging):
    messages.handle_message(messages.sign(forging))
    assert read_reply(forging).file.urls == 1
    folder = messages.Folder(forging)
    signed = folder.store.read(f"{folder.stage}/{folder.token}.signed", 100_000)
    return signing.loads(signed.decode(), salt=SALT)


def read_reply(content, signed=None):
    folder = messages.Folder(content)
    if signed is not None:
        folder.store.write(f"{folder.stage}/{folder.token}.signed", signed.encode())
    return folder.read_reply(Task("a", Page(1, None, None)))


def altered(signed, *path, value):
    """Return a signed text where a value was changed without the key, so its signature is unchanged."""
    payload, _, rest = signed.partition(":")
    content = json.loads(signing.b64_decode(payload.encode()))
    *above, name = path
    place = reduce(operator.getitem, above, content)
    assert place[name] != value
    place[name] = value
    return f"{signing.b64_encode(json.dumps(content).encode()).decode()}:{rest}"


def a_day_ago(sign, content):
    with patch.object(signing.time, "time", return_value=time.time() - 25 * 3600):
        return sign(content)


@pytest.fixture
def is_refused(forging, tmp_path, monkeypatch, caplog):
    def check(message, why=f"{UNSIGNED} of this process"):
        before = states(tmp_path, hidden=True)
        with monkeypatch.context() as patched, CaptureQueriesContext(connection) as queries:
            patched.setattr(messages, "target_store", lambda *where: pytest.fail(f"{where} was opened"))
            messages.handle_message(message)
        [record] = caplog.records
        assert record.getMessage().startswith(f"A message was refused: {why}")
        assert (record.levelname, EVIL in sys.modules, len(queries)) == ("ERROR", False, 0)
        assert states(tmp_path, hidden=True) == before

    return check


class TestAForgedMessage:
    @pytest.mark.parametrize(("path", "value"), [
        (("renderer", "base"), ["https", "evil.example.net"]), (("renderer", "urlconf"), EVIL),
        (("renderer", "stage"), f"{STATE}/run-2"), (("renderer", "output"), "/elsewhere"),
        (("task", "page"), [1, ["0"], ["99"]]),
    ])  # fmt: skip
    def test_that_was_altered_is_refused(self, forging, is_refused, path, value):
        is_refused(altered(messages.sign(forging), *path, value=value))

    @pytest.mark.parametrize("sign", [
        lambda content: content, json.dumps, lambda content: signing.dumps(content, "another", MESSAGE),
        lambda content: signing.dumps(content, salt=SALT), signing.dumps,
    ], ids=["not a text", "nobody", "another key", "as a reply", "no salt"])  # fmt: skip
    def test_that_is_not_signed_as_a_message_is_refused(self, forging, is_refused, sign):
        forging["renderer"]["urlconf"] = EVIL
        is_refused(sign(forging))

    def test_that_is_too_old_is_refused(self, forging, is_refused):
        message = a_day_ago(messages.sign, forging)
        is_refused(message, "it was signed more than a day ago, according to the local clock")

    def test_of_another_run_renders_nothing_in_this_one(self, forging, tmp_path, caplog):
        message = messages.sign(forging)
        (tmp_path / "public" / STATE / "run-1").rename(tmp_path / "public" / STATE / "run-2")
        before = states(tmp_path, hidden=True)
        messages.handle_message(message)
        assert "A message was ignored: no export in" in caplog.text
        assert states(tmp_path, hidden=True) == before

    @pytest.mark.parametrize("name", ["../x", "/etc/x", "..", ".", "a/b", "A", "a\n", ".hidden"])
    def test_names_only_the_folder_of_a_host_even_if_it_is_signed(self, forging, tmp_path, caplog, name):
        before = states(tmp_path, hidden=True)
        forging["renderer"]["folder"] = name
        messages.handle_message(messages.sign(forging))
        assert "A message was refused: A message contains an invalid stage" in caplog.text
        assert states(tmp_path, hidden=True) == before

    def test_with_a_valid_signature_would_succeed(self, forging, tmp_path):
        """Prove that the tests above would detect the attack."""
        forging["renderer"]["urlconf"] = EVIL
        messages.handle_message(messages.sign(forging))
        assert (EVIL in sys.modules, read_reply(forging).file.urls) == (True, 1)
        assert [*tmp_path.glob(f"public/{STATE}/run-1/*sitemap-a-1.xml")]


def test_a_time_limit_is_the_failure_of_the_page_and_skips_no_item(forging, monkeypatch):
    class SoftLimitError(Exception):
        pass

    def rendered(*page, **options):
        with suppress(Exception):
            os.kill(os.getpid(), signal.SIGUSR1)
        raise AssertionError("the time limit was taken for the failure of an item")

    monkeypatch.setattr(messages, "render_page", rendered)
    before = signal.signal(signal.SIGUSR1, Mock(side_effect=SoftLimitError))
    try:
        messages.handle_message(messages.sign(forging))
    finally:
        signal.signal(signal.SIGUSR1, before)
    with pytest.raises(ExportError, match=rf"^{re.escape(socket.gethostname())}: SoftLimitError"):
        read_reply(forging)


class TestAForgedReply:
    @pytest.mark.parametrize("value", [None, 7, -1, "x", "../x", [[]], {"a": 7}], ids=str)
    def test_that_has_values_of_a_wrong_type_is_a_clear_error(self, forging, reply, value):
        for key in ("page", "unchanged", "staged", "cut", "errors", "costs", "worker", "run", 0, 1, 2):
            forged = json.loads(json.dumps(reply))
            (forged["page"] if isinstance(key, int) else forged)[key] = value
            try:
                page = read_reply(forging, signing.dumps(forged, salt=SALT))
            except ExportError as error:
                assert re.search("reply is not in the format|another page or run", str(error)), key  # noqa: PT017
            else:
                # The section compares these with what it requested.
                assert page.staged == f"{STATE}/run-1/{forged['staged']}"
                assert page.staged.endswith(page.file.name), key
                assert page.file.name == "sitemap-a-1.xml" or key == "staged"

    @pytest.mark.parametrize(("sign", "why"), [
        (lambda reply: altered(signing.dumps(reply, salt=SALT), "unchanged", value=True), UNSIGNED),
        (json.dumps, UNSIGNED), (lambda reply: signing.dumps(reply, "another", SALT), UNSIGNED),
        (lambda reply: signing.dumps(reply, salt=MESSAGE), UNSIGNED),
        (lambda reply: signing.dumps(reply | {"run": "x"}, salt=SALT), "another page or run"),
        (lambda reply: signing.dumps(reply | {"token": "x"}, salt=SALT), "another page"),
        (partial(a_day_ago, partial(signing.dumps, salt=SALT)), "more than a day ago"),
    ], ids=["altered", "unsigned", "other key", "a message", "other run", "other page", "old"])  # fmt: skip
    def test_is_refused(self, forging, reply, sign, why):
        with pytest.raises(ExportError, match=why):
            read_reply(forging, sign(reply))


@pytest.mark.parametrize(("command", "worker", "has_reply"), [
    (["old"], ["new", "old"], True), (["new", "old"], ["new", "old"], True),
    (["new", "old"], ["new"], True), (["new", "old"], ["old"], False), (["old"], ["new"], False),
])  # fmt: skip
def test_a_reply_is_accepted_during_a_key_rotation(forging, command, worker, has_reply):
    """A worker signs its reply with the key of the command, regardless of which was deployed first."""

    def use(keys):
        return override_settings(SECRET_KEY=keys[0], SECRET_KEY_FALLBACKS=keys[1:])

    with use(command):
        message = messages.sign(forging)
    with use(worker):
        messages.handle_message(message)
    with use(command):
        assert messages.Folder(forging).has(messages.REPLY) is has_reply
        assert not has_reply or read_reply(forging).file.urls == 1


#: What version 6 wrote: the signed content of a message, and of a reply to one of this version.
TARGET = {"base": ["https", "www.example.com"], "output": None, "stage": f"{STATE}/run-1", "folder": ""}
OLD_MESSAGE = {
    "version": 6, "release": "0.1.0", "token": "0123456789abcdef",
    "renderer": TARGET | {"targets": [TARGET], "gzip": False, "script_prefix": "/", "urlconf": None},
    "task": {"section": "a", "page": [1, None, None], "known": [None], "fingerprint": False},
}  # fmt: skip


class TestTheFormerVersion:
    """The command and its workers are deployed one after the other."""

    def test_gets_a_reply_that_its_command_understands(self, forging, tmp_path):
        renderer = OLD_MESSAGE["renderer"] | {"output": str(tmp_path / "public")}
        messages.handle_message(messages.sign(OLD_MESSAGE | {"renderer": renderer}))
        path = tmp_path / "public" / STATE / "run-1" / f"{OLD_MESSAGE['token']}.signed"
        content = signing.loads(path.read_text(), salt="django_sitemaps09.answer")
        assert (content["run"], content["token"]) == (f"{STATE}/run-1", OLD_MESSAGE["token"])
        assert "the worker is incompatible: its release (" in content["failure"]

    def test_has_workers_whose_reply_and_claim_are_understood(self, forging):
        # It reads these keys before it replies.
        assert forging["version"] > OLD_MESSAGE["version"]
        assert {"output", "stage", "folder"} <= forging["renderer"].keys()
        folder = messages.Folder(forging)
        values = {"run": folder.stage, "token": folder.token}
        claim = values | {"attempt": "x", "number": 3, "host": "web-1"}
        signed = signing.dumps(claim, salt="django_sitemaps09.claim")
        folder.store.write(f"{folder.stage}/{folder.token}.claim", signed.encode())
        assert folder.has(messages.CLAIM)
        failure = {"failure": "Celery worker on web-1: no"}
        with pytest.raises(ExportError, match="Celery worker on web-1: no"):
            read_reply(forging, signing.dumps(values | failure, salt=SALT))
