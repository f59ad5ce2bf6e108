"""Messages and replies that are forged, malformed, too old, or signed during a key rotation."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from django.core import signing
from django.db import connection
from django.test.utils import CaptureQueriesContext, override_settings

from django_sitemaps09 import stores
from django_sitemaps09.conf import conf
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.engines import messages
from django_sitemaps09.export.engines.messages import CLAIM, REPLY
from django_sitemaps09.export.rendering.page import RenderedPage, Renderer, Task
from django_sitemaps09.pages import Page
from django_sitemaps09.protocol import Base
from django_sitemaps09.sources import source
from django_sitemaps09.stores import STATE
from tests.support.celery_sections import SECTIONS
from tests.support.configuration import BASE
from tests.support.factories import ArticleFactory

pytestmark = [pytest.mark.slow, pytest.mark.services]


@pytest.fixture
def forging(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, db: None
) -> Iterator[dict[str, Any]]:
    """Return the content of a message of an active run. Create a module that must not be imported."""
    pytest.importorskip("celery")
    settings.SITEMAPS09 = {"SITEMAPS": "tests.support.celery_sections.SECTIONS", "BASE_URL": BASE}
    ArticleFactory(slug="a1")
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / f"{EVIL}.py").write_text("from tests.urls import urlpatterns\n")
    monkeypatch.syspath_prepend(tmp_path / "modules")
    base = Base("https", "www.example.com")
    monkeypatch.setattr(messages, "PAUSE", 0.0)
    renderer = Renderer(base, tmp_path / "public", "", f"{STATE}/run-1", False, "/", None)
    declared = source("a", SECTIONS["a"], base, conf.limits).declaration_digest
    content = messages.build_message(renderer, task(declared))
    messages.Folder(content).open()
    yield content
    sys.modules.pop(EVIL, None)


def task(declared: str) -> Task:
    return Task("a", Page(1, None, None), declaration_digest=declared)


def read_reply(content: dict[str, Any], signed: bytes | None = None) -> RenderedPage:
    """Return the page from the reply to a message, which another text can replace first."""
    folder = messages.Folder(content)
    if signed is not None:
        folder.store.write(f"{folder.stage}/{folder.token}.signed", signed)
    page = folder.read_reply(task(""))
    assert page is not None
    return page


SALT = messages._SALTS[REPLY]
EVIL = "sitemaps09_tests_evil_urls"


def other_base(content: dict[str, Any]) -> None:
    content["renderer"]["base"] = ["https", "evil.example.net"]


def other_bounds(content: dict[str, Any]) -> None:
    content["task"]["page"] = [1, ["0"], ["99"]]


def other_urlconf(content: dict[str, Any]) -> None:
    content["renderer"]["urlconf"] = EVIL


def other_run(content: dict[str, Any]) -> None:
    content["renderer"]["stage"] = f"{STATE}/run-2"


def other_folder(content: dict[str, Any]) -> None:
    content["renderer"]["output"] += "/elsewhere"


def altered(signed: str, change: Callable[[dict[str, Any]], None]) -> str:
    """Return a signed text that was altered without the key, so its signature is unchanged."""
    payload, _, rest = signed.partition(":")
    content = json.loads(signing.b64_decode(payload.encode()))
    change(content)
    return f"{signing.b64_encode(json.dumps(content).encode()).decode()}:{rest}"


def a_day_ago(monkeypatch: pytest.MonkeyPatch, sign: Callable[[], Any]) -> Any:
    now = time.time()
    with monkeypatch.context() as patched:
        patched.setattr(signing.time, "time", lambda: now - 25 * 3600)
        return sign()


def entries(folder: Path) -> dict[str, tuple[int, int]]:
    """Return all files and folders below a folder, including hidden ones."""
    states = {str(found): found.lstat() for found in folder.rglob("*")}
    return {name: (state.st_ino, state.st_mtime_ns) for name, state in states.items()}


def render(message: Any) -> None:
    from django_sitemaps09.export.engines import celery

    celery.render(message)


@pytest.fixture
def reply(forging: dict[str, Any]) -> dict[str, Any]:
    """Return the content of the reply to the message."""
    folder = messages.Folder(forging)
    render(messages.sign(forging))
    assert read_reply(forging).file.urls == 1
    signed = folder.store.read(f"{folder.stage}/{folder.token}.signed", 100_000) or b""
    content: dict[str, Any] = signing.loads(signed.decode(), salt=SALT)
    return content


class TestAForgedMessage:
    """An attacker can write to the broker."""

    @pytest.fixture
    def is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> Callable[..., None]:
        def opened(*where: object) -> None:
            raise AssertionError(f"{where} was opened")

        def check(message: Any, why: str = "it is not signed with the SECRET_KEY of this process") -> None:
            before = entries(tmp_path)
            with monkeypatch.context() as patched, CaptureQueriesContext(connection) as queries:
                patched.setattr(stores, "target_store", opened)
                render(message)
            [record] = caplog.records
            assert record.getMessage().startswith(f"A message was refused: {why}")
            assert record.levelname == "ERROR"
            assert EVIL not in sys.modules
            assert len(queries) == 0
            assert entries(tmp_path) == before

        return check

    @pytest.mark.parametrize("change", [other_base, other_bounds, other_urlconf, other_run, other_folder])
    def test_that_was_altered_is_refused(
        self,
        forging: dict[str, Any],
        is_refused: Callable[..., None],
        change: Callable[[dict[str, Any]], None],
    ) -> None:
        message = altered(messages.sign(forging), change)
        assert message != messages.sign(forging)
        is_refused(message)

    @pytest.mark.parametrize("signer", ["nobody", "text", "another key", "as a reply", "no salt"])
    def test_that_is_not_signed_as_a_message_is_refused(
        self, forging: dict[str, Any], is_refused: Callable[..., None], signer: str
    ) -> None:
        other_urlconf(forging)
        message = {
            "nobody": forging,
            "text": json.dumps(forging),
            "another key": signing.dumps(forging, "another", messages._MESSAGE),
            "as a reply": signing.dumps(forging, salt=SALT),
            "no salt": signing.dumps(forging),
        }[signer]
        is_refused(message)

    def test_that_is_too_old_is_refused(
        self, forging: dict[str, Any], is_refused: Callable[..., None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        message = a_day_ago(monkeypatch, lambda: messages.sign(forging))
        why = "it was signed more than a day ago, according to the local clock"
        is_refused(message, why)

    def test_of_another_run_renders_nothing_in_this_one(
        self, forging: dict[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        message = messages.sign(forging)
        (tmp_path / "public" / STATE / "run-1").rename(tmp_path / "public" / STATE / "run-2")
        before = entries(tmp_path)
        render(message)
        assert "A message was ignored: no export in" in caplog.text
        assert entries(tmp_path) == before

    def test_names_no_folder_but_that_of_a_host_even_with_a_valid_signature(
        self, forging: dict[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        before = entries(tmp_path)
        for name in ("../x", "/etc/x", "a/../../x", "..", ".", "a/b", "A", "a\n", ".hidden"):
            caplog.clear()
            forging["renderer"]["folder"] = name
            render(messages.sign(forging))
            assert "A message was refused: A message contains an invalid stage" in caplog.text, name
            assert entries(tmp_path) == before, name

    def test_with_a_valid_signature_would_succeed(self, forging: dict[str, Any], tmp_path: Path) -> None:
        """Prove that the tests above would detect the attack."""
        other_urlconf(forging)
        render(messages.sign(forging))
        assert EVIL in sys.modules
        assert read_reply(forging).file.urls == 1
        assert [*tmp_path.glob(f"public/{STATE}/run-1/*sitemap-a-1.xml")]


def test_a_time_limit_is_the_failure_of_the_page_and_skips_no_item(
    forging: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    class SoftLimitError(Exception):
        pass

    def handle(*signal_and_frame: object) -> None:
        raise SoftLimitError

    def rendered(*page: object, **options: object) -> None:
        with suppress(Exception):
            os.kill(os.getpid(), signal.SIGUSR1)
        raise AssertionError("the time limit was taken for the failure of an item")

    monkeypatch.setattr(messages.rendering, "render_page", rendered)
    before = signal.signal(signal.SIGUSR1, handle)
    try:
        messages.handle_message(messages.sign(forging))
    finally:
        signal.signal(signal.SIGUSR1, before)
    with pytest.raises(ExportError, match=rf"^{re.escape(socket.gethostname())}: SoftLimitError"):
        read_reply(forging)


class TestAForgedReply:
    """An attacker can write to the folder of the run."""

    @pytest.mark.parametrize("value", [None, 7, -1, "x", "../x", [[]], {"a": 7}], ids=str)
    @pytest.mark.parametrize(
        "key", ["page", "unchanged", "staged", "cut", "errors", "costs", "worker", "run", 0, 1, 2]
    )
    def test_that_has_values_of_a_wrong_type_is_a_clear_error(
        self, forging: dict[str, Any], reply: dict[str, Any], key: str | int, value: object
    ) -> None:
        (reply["page"] if isinstance(key, int) else reply)[key] = value
        try:
            page = read_reply(forging, signing.dumps(reply, salt=SALT).encode())
        except ExportError as error:
            assert "reply is not in the format" in str(error) or "another page or run" in str(error)  # noqa: PT017
        else:
            # The section compares these with what it requested.
            assert page.staged.endswith(page.file.name)
            assert page.staged == f"{STATE}/run-1/{reply['staged']}"
            assert page.file.name == "sitemap-a-1.xml" or key == "staged"

    @pytest.mark.parametrize(
        ("forger", "why"),
        [
            ("altered", "it is not signed with the SECRET_KEY"),
            ("unsigned", "it is not signed with the SECRET_KEY"),
            ("another key", "it is not signed with the SECRET_KEY"),
            ("a message", "it is not signed with the SECRET_KEY"),
            ("another run", "another page or run"),
            ("another page", "another page"),
            ("old", "more than a day ago"),
        ],
    )
    def test_is_refused(
        self,
        forging: dict[str, Any],
        reply: dict[str, Any],
        monkeypatch: pytest.MonkeyPatch,
        forger: str,
        why: str,
    ) -> None:
        salt = SALT
        signed = signing.dumps(reply, salt=salt)
        forged = {
            "altered": altered(signed, lambda found: found.update(unchanged=True)),
            "unsigned": json.dumps(reply),
            "another key": signing.dumps(reply, "another", salt),
            "a message": signing.dumps(reply, salt=messages._MESSAGE),
            "another run": signing.dumps(reply | {"run": "x"}, salt=salt),
            "another page": signing.dumps(reply | {"token": "x"}, salt=salt),
            "old": a_day_ago(monkeypatch, lambda: signing.dumps(reply, salt=salt)),
        }[forger]
        with pytest.raises(ExportError, match=why):
            read_reply(forging, forged.encode())

    @pytest.mark.parametrize(
        ("command", "worker", "has_reply"),
        [
            (["old"], ["new", "old"], True),
            (["new", "old"], ["new", "old"], True),
            (["new", "old"], ["new"], True),
            (["new", "old"], ["old"], False),
            (["old"], ["new"], False),
        ],
    )
    def test_is_accepted_during_a_key_rotation(
        self, forging: dict[str, Any], command: list[str], worker: list[str], *, has_reply: bool
    ) -> None:
        """A worker signs its reply with the key of the command, regardless of which was deployed first."""
        with override_settings(SECRET_KEY=command[0], SECRET_KEY_FALLBACKS=command[1:]):
            message = messages.sign(forging)
        with override_settings(SECRET_KEY=worker[0], SECRET_KEY_FALLBACKS=worker[1:]):
            render(message)
        with override_settings(SECRET_KEY=command[0], SECRET_KEY_FALLBACKS=command[1:]):
            assert messages.Folder(forging).has(REPLY) is has_reply
            assert not has_reply or read_reply(forging).file.urls == 1


#: What version 6 wrote: the signed content of a message, and of a reply to one of this version.
OLD_TARGET = {"base": ["https", "www.example.com"], "output": None, "stage": f"{STATE}/run-1", "folder": ""}
OLD_MESSAGE = {
    "version": 6,
    "release": "0.1.0",
    "token": "0123456789abcdef",
    "renderer": {
        **OLD_TARGET,
        "targets": [OLD_TARGET],
        "gzip": False,
        "script_prefix": "/",
        "urlconf": None,
    },
    "task": {"section": "a", "page": [1, None, None], "known": [None], "fingerprint": False},
}


class TestTheFormerVersion:
    """The command and its workers are deployed one after the other."""

    def test_gets_a_reply_that_its_command_understands(
        self, forging: dict[str, Any], tmp_path: Path
    ) -> None:
        old: dict[str, Any] = json.loads(json.dumps(OLD_MESSAGE))
        old["renderer"]["output"] = str(tmp_path / "public")
        render(messages.sign(old))
        path = tmp_path / "public" / STATE / "run-1" / f"{OLD_MESSAGE['token']}.signed"
        content = signing.loads(path.read_text(), salt="django_sitemaps09.answer")
        assert (content["run"], content["token"]) == (f"{STATE}/run-1", OLD_MESSAGE["token"])
        assert "the worker is incompatible: its release (" in content["failure"]

    def test_has_workers_whose_reply_and_claim_are_understood(self, forging: dict[str, Any]) -> None:
        # It reads these keys before it replies.
        renderer = forging["renderer"]
        assert forging["version"] > OLD_MESSAGE["version"]  # type: ignore[operator]
        assert {"output", "stage", "folder"} <= renderer.keys()
        folder = messages.Folder(forging)
        values = {"run": folder.stage, "token": folder.token}
        claim = values | {"attempt": "x", "number": 3, "host": "web-1"}
        signed = signing.dumps(claim, salt="django_sitemaps09.claim")
        folder.store.write(f"{folder.stage}/{folder.token}.claim", signed.encode())
        assert folder.has(CLAIM)
        reply = signing.dumps(values | {"failure": "Celery worker on web-1: no"}, salt=SALT)
        with pytest.raises(ExportError, match="Celery worker on web-1: no"):
            read_reply(forging, reply.encode())
