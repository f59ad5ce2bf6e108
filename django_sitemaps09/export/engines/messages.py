"""Messages that request pages from workers, their claims and replies, and how a worker handles them.

Attackers with write access to the queue or to a run's folder must not control what workers import, read or
write, or what is published. Therefore, no message, claim or reply is used before its signature is verified.
"""

from __future__ import annotations

import json
import logging
import os
import re
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import django
from django.core import signing

import django_sitemaps09
from django_sitemaps09.conf import conf
from django_sitemaps09.declare import hosts
from django_sitemaps09.declare.calls import Cost, Costs
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.engines import database_addresses, use_addresses
from django_sitemaps09.export.interrupts import time_limited
from django_sitemaps09.export.page import EXPECTED, RenderedPage, Renderer, Task, mismatch, render_page
from django_sitemaps09.protocol.entries import ItemError
from django_sitemaps09.protocol.fields import MAX_MESSAGE, excerpt, reason_of
from django_sitemaps09.protocol.pages import Page
from django_sitemaps09.protocol.urls import Base
from django_sitemaps09.target.journal import RUN_NAME
from django_sitemaps09.target.local import STATE, DamagedError
from django_sitemaps09.target.manifest import PARSE_ERRORS, PageFile
from django_sitemaps09.target.store import target_store

logger = logging.getLogger(__name__)

#: Version of messages and replies. A worker with another version replies with an error, so messages of
#: every version have the keys that `Folder` reads. Salts and endings are the same in all versions, too.
VERSION = 8
#: Endings of the files of a page: the claim of a worker, that of the export itself, and a worker's reply.
CLAIM, OWN, REPLY = ".claim", ".own", ".signed"
# Different salts, so that a message, for example, is never accepted as a reply; and maximum sizes in bytes.
_MESSAGE = "django_sitemaps09.message"
_SALTS = {CLAIM: "django_sitemaps09.claim", OWN: "django_sitemaps09.own", REPLY: "django_sitemaps09.answer"}
_MOST = {CLAIM: 2_000, OWN: 2_000, REPLY: 100_000_000}
# Errors of a file that is not one of ours, or belongs to another user.
_INVALID = (DamagedError, PermissionError, *PARSE_ERRORS)
# A stage and a token.
_PLACE = re.compile(rf"{re.escape(STATE)}/{RUN_NAME.pattern} [0-9a-f]{{16}}")
# Seconds for which a signature is valid: a day, since queues can be long and clocks differ.
_LIFETIME = 24 * 3600
#: Seconds that a worker waits after each message that it refuses, so that other workers get their share.
PAUSE = 1.0
#: Exit status of a process that has handled its message, and that no other code uses.
HANDLED = 87


def build_message(renderer: Renderer, task: Task) -> dict[str, Any]:
    """Return the message for a task, as values for JSON, with a new token.

    Raise `ExportError` if the active URLconf has no dotted path, since workers could not import it.
    """
    if not (renderer.urlconf is None or isinstance(renderer.urlconf, str)):
        raise ExportError("The active URLconf has no dotted path, so workers cannot import it.")
    return {
        "version": VERSION,
        "release": django_sitemaps09.__version__,
        "token": secrets.token_hex(8),
        "renderer": {**asdict(renderer), "output": renderer.output and str(renderer.output.resolve())},
        "task": task._asdict(),
    }


def sign(message: Mapping[str, Any]) -> str:
    return signing.dumps(message, salt=_MESSAGE)


def unsign(text: object, salt: str = _MESSAGE) -> tuple[dict[str, Any], str | bytes]:
    """Return the content of a signed message, and the key that signed it. This key also signs the reply.

    Raise `ExportError` if no key of this process signed it, or if the signature is too old.
    """
    for key in conf.secret_keys:
        if not isinstance(text, str):
            break
        try:
            return signing.loads(text, key, salt, max_age=_LIFETIME, fallback_keys=[]), key
        except signing.SignatureExpired as error:
            raise ExportError("it was signed more than a day ago, according to the local clock") from error
        except signing.BadSignature:
            continue
    raise ExportError(
        "it is not signed with the SECRET_KEY of this process. The command and its workers must have "
        "the same SECRET_KEY, or list it in SECRET_KEY_FALLBACKS. If they already do, it does not come "
        "from an export of this project"
    )


def parse(message: Mapping[str, Any]) -> tuple[Renderer, Task]:
    """Return the task of a message. Raise `ExportError` if it is of another release of the package."""
    release = django_sitemaps09.__version__
    if (message["version"], message["release"]) != (VERSION, release):
        raise ExportError(mismatch(f"release ({release}, not {message['release']!r:.40})"))
    renderer, task = message["renderer"], message["task"]
    number, *bounds = task["page"]
    page = Page(number, *(bound and tuple(bound) for bound in bounds))
    base, output = Base(*renderer["base"]), renderer["output"] and Path(renderer["output"])
    return Renderer(**{**renderer, "base": base, "output": output}), Task(**{**task, "page": page})


class Folder:
    """Folder of a run, with the claim and the reply to a message. Nothing is written there after the run.

    `key` signs them. The default is the `SECRET_KEY` of this process.
    """

    def __init__(self, message: Mapping[str, Any], key: str | bytes | None = None) -> None:
        renderer = message["renderer"]
        output, folder = renderer["output"], renderer.get("folder", "")
        self.key, self.stage, self.token = key, renderer["stage"], message["token"]
        if not (hosts.is_host_folder(folder) and _PLACE.fullmatch(f"{self.stage} {self.token}")):
            stage, token = f"stage ({self.stage!r:.100})", f"token ({self.token!r:.100})"
            text = f"A message contains an invalid {stage}, host folder ({folder!r:.100}) or {token}."
            raise ExportError(text)
        self.store = target_store(output and Path(output), folder)

    def open(self) -> None:
        """Record that the run is active, for workers that receive its messages."""
        self.store.write(f"{self.stage}/run.json", b"{}")

    def is_active(self) -> bool:
        """Return whether the run is still active, as far as this machine can see."""
        return self.store.read(f"{self.stage}/run.json", _MOST[CLAIM]) is not None

    def check(self) -> None:
        """Raise `ExportError` if the run is not active."""
        if not self.is_active():
            raise ExportError(f"no export in {self.store.label} is waiting for the page")

    def names(self) -> set[str] | None:
        """Return the names of all files of the run, or `None` if it cannot be listed now."""
        try:
            return set(self.store.names(self.stage))
        except (ExportError, OSError) as error:
            logger.warning("%s: the files of the run cannot be listed: %s", self.store.label, error)
        return None

    def write(self, ending: str, content: Mapping[str, Any] | None = None) -> None:
        """Write a claim or a reply."""
        worker = f"{socket.gethostname()} (pid {os.getpid()})"
        values = {"run": self.stage, "token": self.token, "worker": worker, **(content or {})}
        signed = signing.dumps(values, self.key, _SALTS[ending])
        self.check()
        self.store.write(f"{self.stage}/{self.token}{ending}", signed.encode())

    def read(self, ending: str) -> dict[str, Any] | None:
        """Return a claim or a reply, or `None` if there is none, or it might be readable later.

        Raise `ExportError` or one of `_INVALID` for one that is not valid.
        """
        try:
            text = self.store.read(f"{self.stage}/{self.token}{ending}", _MOST[ending])
        except (DamagedError, PermissionError):
            raise
        except (ExportError, OSError) as error:
            logger.warning("A file of the run cannot be read now: %s", error)
            return None
        if text is None:
            return None
        content, _ = unsign(text.decode(errors="replace"), _SALTS[ending])
        if (content["run"], content["token"]) != (self.stage, self.token):
            raise ExportError("it was signed for another page or run")
        return content

    def has(self, ending: str) -> bool:
        """Return whether there is a valid claim or reply."""
        with suppress(ExportError, *_INVALID):
            return self.read(ending) is not None
        return False

    def read_reply(self, task: Task) -> RenderedPage | None:
        """Return the page from the reply, if any; raise `ExportError` for a failure or an invalid reply.

        The section compares the file names with what it has requested.
        """
        try:
            content = self.read(REPLY)
            if content is None:
                return None
            if "failure" in content:
                raise ExportError(excerpt(content["failure"], MAX_MESSAGE))
            costs, staged, cut = content["costs"], str(content["staged"]), content["cut"]
            steps = {name: Cost(**cost) for name, cost in costs["steps"].items()}
            file = PageFile.from_row(task.section, "xml", task.page.after, content["page"])
            return RenderedPage(
                replace(file, name=staged.partition("-")[2], unchanged=bool(content["unchanged"])),
                cut=None if cut is None else tuple(map(str, cut)),
                errors=tuple(ItemError(*error) for error in content["errors"]),
                costs=Costs(float(costs["seconds"]), steps),
                staged=f"{self.stage}/{staged}",
                worker=excerpt(content["worker"]),
            )
        except _INVALID as error:
            raise ExportError(f"a reply is not in the format of this version ({error!r:.200})") from error


def build_reply(rendered: RenderedPage) -> dict[str, Any]:
    return {
        "page": rendered.file.row,
        "unchanged": rendered.file.unchanged,
        "staged": rendered.staged.rpartition("/")[2],
        "cut": rendered.cut,
        "errors": rendered.errors,
        "costs": asdict(rendered.costs),
    }


def handle_message(message: object, *, is_awaited: bool = False) -> None:
    """Render the page of a message in a worker, and write the reply to the run's folder.

    Drop the message of a page that is claimed or has a reply, unless the export itself waits for this
    process. The claim is advice, not a lock: if two processes render the same page, each stages a file.
    """
    folder = None
    try:
        content, key = unsign(message)
        folder = Folder(content, key)
        if not folder.is_active():
            # It is normal that messages are left when a run ends, for pages that the command rendered.
            logger.warning("A message was ignored: no export in %s is waiting for it.", folder.store.label)
            # But a worker that does not see the target must leave messages to those that see it.
            if not (folder.store.names(STATE) or folder.store.folders(STATE)):
                time.sleep(PAUSE)
            return
        is_taken = any(folder.has(ending) for ending in (CLAIM, OWN, REPLY))
        # Even if the message is dropped, this lets the command know that it has left the queue.
        folder.write(CLAIM)
        if is_taken and not is_awaited:
            return
        renderer, task = parse(content)
        own_task = task._replace(prefix=f"{secrets.token_hex(4)}-")
        with time_limited():
            page = render_page(renderer, own_task, before_staging=folder.check)
        folder.write(REPLY, build_reply(page) | ({"worker": ""} if is_awaited else {}))
    except Exception as error:
        reason = excerpt(error, MAX_MESSAGE) if isinstance(error, ExportError) else reason_of(error)
        if isinstance(error, OSError) and error.strerror:
            # The command names each reason once, so without the name of the file.
            reason = f"{type(error).__name__}: {error.strerror}"
        unexpected = not isinstance(error, EXPECTED)
        logger.error("A message was refused: %s", reason, exc_info=unexpected)
        # Without a valid message, there is no folder that can be trusted. It may also be missing or full.
        if folder is not None and not folder.has(REPLY):
            with suppress(Exception):
                folder.write(REPLY, {"failure": f"{socket.gethostname()}: {reason}"})
        time.sleep(PAUSE)


def start_alone(message: str) -> subprocess.Popen[bytes]:
    """Start a process that handles a message. Its exit status is `HANDLED` unless it dies.

    Raise `OSError` if it cannot start. A worker of Celery must not use `multiprocessing` for this.
    """
    if not sys.executable:
        raise OSError("the Python that runs this process is unknown")
    child = subprocess.Popen(  # noqa: S603 our own interpreter and script
        [sys.executable, "-c", f"from {__name__} import handle_alone; handle_alone()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, filter(None, sys.path)))},
        start_new_session=True,
    )
    with suppress(BrokenPipeError), child.stdin as stdin:  # type: ignore[union-attr]
        # The name of a database can be a path.
        stdin.write(json.dumps([message, database_addresses()], default=str).encode())
    return child


def handle_alone() -> None:
    """Handle the message on standard input: what `start_alone()` runs."""
    message, addresses = json.load(sys.stdin)
    django.setup(set_prefix=False)
    use_addresses(addresses)
    handle_message(message, is_awaited=True)
    # A thread of the project could keep this process running.
    os._exit(HANDLED)
