"""Messages to workers, sent through a queue, and their claims and replies in files: all are signed JSON.

Attackers with write access to the queue or to a run's folder must not control what workers import, read or
write, or what is published. Therefore, no message, claim or reply is used before its signature is verified.
"""

from __future__ import annotations

import os
import re
import secrets
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from django.core import signing

import django_sitemaps09
from django_sitemaps09 import stores
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import MAX_MESSAGE, ItemError, excerpt
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.rendering.page import RenderedPage, Renderer, Task, incompatibility
from django_sitemaps09.filenames import SUFFIXES
from django_sitemaps09.pages import Page
from django_sitemaps09.protocol import Base
from django_sitemaps09.sources.profiling import Cost, Costs
from django_sitemaps09.state.journal import RUN_NAME
from django_sitemaps09.state.manifest import PARSE_ERRORS, PageFile

#: Version of messages and replies. A worker with another version replies with an error, so messages of
#: every version must have the keys that `Folder` reads.
VERSION = 7
# Different salts, so that a message, for example, is never accepted as a reply. They are the same in all
# versions, so that a worker with another version can reply that it is incompatible.
_MESSAGE, _REPLY = "django_sitemaps09.message", "django_sitemaps09.answer"
_CLAIM = "django_sitemaps09.claim"
# Maximum sizes in bytes of a reply and of a claim.
_MOST, _MOST_OF_CLAIM = 100_000_000, 2_000
_RUN = "run.json"
#: Endings of the files of a page: its claims, its reply, and the mark of a worker that dropped its message.
ENDINGS = CLAIM, REPLY, DROPPED = ".claim", ".signed", ".dropped"
_STAGE = re.compile(rf"{re.escape(stores.STATE)}/{RUN_NAME.pattern}")
_TOKEN = re.compile(r"[0-9a-f]{16}")
_PREFIX = re.compile(r"[0-9a-f]{8}-")
# Seconds for which a signature is valid: a day, since queues can be long and clocks differ.
_LIFETIME = 24 * 3600


def this_worker() -> str:
    return f"{socket.gethostname()} (pid {os.getpid()})"


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


def unsign(
    text: object, salt: str = _MESSAGE, max_age: int | None = _LIFETIME
) -> tuple[dict[str, Any], str | bytes]:
    """Return the content of a signed message, and the key that signed it. This key also signs the reply.

    Raise `ExportError` if no key of this process signed it, or if the signature is too old.
    """
    for key in conf.secret_keys:
        if not isinstance(text, str):
            break
        try:
            return signing.loads(text, key, salt, max_age=max_age, fallback_keys=[]), key
        except signing.SignatureExpired as error:
            raise ExportError("it was signed more than a day ago, according to the local clock") from error
        except signing.BadSignature:
            continue
    raise ExportError(
        "it is not signed with the SECRET_KEY of this process. The command and its workers must have "
        "the same SECRET_KEY, or list it in SECRET_KEY_FALLBACKS. If they already do, it does not come "
        "from an export of this project"
    )


def read(message: Mapping[str, Any]) -> tuple[Renderer, Task]:
    """Return the task of a message. Raise `ExportError` if it is of another release of the package."""
    release = django_sitemaps09.__version__
    if (message["version"], message["release"]) != (VERSION, release):
        raise ExportError(incompatibility(f"release ({release}, not {message['release']!r:.40})"))
    renderer, task = message["renderer"], message["task"]
    number, after, until = task["page"]
    page = Page(number, after and tuple(after), until and tuple(until))
    output = renderer["output"] and Path(renderer["output"])
    return (
        Renderer(**{**renderer, "base": Base(*renderer["base"]), "output": output}),
        Task(**{**task, "page": page}),
    )


class Folder:
    """Folder for the claim and the reply to a message. Messages of every version have the keys read here.

    `key` signs them. The default is the `SECRET_KEY` of this process. Nothing is written after the run.
    """

    def __init__(self, message: Mapping[str, Any], key: str | bytes | None = None) -> None:
        self.key = key
        renderer = message["renderer"]
        output, folder = renderer["output"], renderer.get("folder", "")
        self.stage: str = renderer["stage"]
        self.token: str = message["token"]
        if not (
            stores.is_host_folder(folder) and _STAGE.fullmatch(self.stage) and _TOKEN.fullmatch(self.token)
        ):
            raise ExportError(
                f"A message contains an invalid stage ({self.stage!r:.100}), host folder ({folder!r:.100}) "
                f"or token ({self.token!r:.100})."
            )
        self.store = stores.target_store(output and Path(output), folder)

    def open(self) -> None:
        """Record that the run is active, for workers that receive its messages."""
        self.store.write(f"{self.stage}/{_RUN}", b"{}")

    def is_active(self) -> bool:
        """Return whether the run is still active, as far as this machine can see."""
        return self._read(_RUN) is not None

    def is_visible(self) -> bool:
        """Return whether this machine sees the state of any run in the target."""
        return bool(self.store.names(stores.STATE) or self.store.folders(stores.STATE))

    def check(self) -> None:
        """Raise `ExportError` if the run is not active, as far as this machine can see."""
        if not self.is_active():
            raise ExportError(f"no export in {self.store.label} is waiting for the page")

    def names(self) -> set[str]:
        """Return the names of all files of the run."""
        return set(self.store.names(self.stage))

    def claim(self) -> None:
        """Claim the page for this process."""
        self._write(CLAIM, {"host": this_worker()}, _CLAIM)

    def claimed_by(self) -> str | None:
        """Return who has claimed the page, or `None` if there is no valid claim."""
        with suppress(ExportError, OSError, *PARSE_ERRORS):
            # The machines' clocks may differ.
            return excerpt(self._signed(CLAIM, _CLAIM, _MOST_OF_CLAIM, max_age=None)["host"])
        return None

    def has_reply(self) -> bool:
        # A link or a folder in its place is none.
        with suppress(ExportError, OSError):
            return self._read(f"{self.token}{REPLY}") is not None
        return False

    def is_taken(self) -> bool:
        """Return whether the page is claimed, or has a reply."""
        return self.has_reply() or self.claimed_by() is not None

    def drop(self) -> None:
        """Let the command know that the message has left the queue."""
        self.check()
        self.store.write(f"{self.stage}/{self.token}{DROPPED}", b"")

    def reply(self, content: Mapping[str, Any]) -> None:
        """Write a reply beside the complete staged file."""
        self._write(REPLY, {"worker": this_worker(), **content}, _REPLY)

    def read_reply(self, task: Task) -> RenderedPage:
        """Return the page from a worker's reply; raise `ExportError` if it is invalid or a failure."""
        try:
            content = self._signed(REPLY, _REPLY, _MOST)
            if "failure" in content:
                raise ExportError(excerpt(content["failure"], MAX_MESSAGE))
            return _parse_reply(content, task, self.stage)
        except PARSE_ERRORS as error:
            raise ExportError(f"a reply is not in the format of this version ({error!r:.200})") from error

    def _write(self, ending: str, content: Mapping[str, Any], salt: str) -> None:
        signed = signing.dumps({"run": self.stage, "token": self.token, **content}, self.key, salt)
        self.check()
        self.store.write(f"{self.stage}/{self.token}{ending}", signed.encode())

    def _signed(self, ending: str, salt: str, most: int, max_age: int | None = _LIFETIME) -> dict[str, Any]:
        text = self._read(f"{self.token}{ending}", most) or b""
        content, _ = unsign(text.decode(errors="replace"), salt, max_age)
        if (content["run"], content["token"]) != (self.stage, self.token):
            raise ExportError("it was signed for another page or run")
        return content

    def _read(self, name: str, most: int = _MOST) -> bytes | None:
        return self.store.read(f"{self.stage}/{name}", most)


def build_reply(rendered: RenderedPage) -> dict[str, Any]:
    file = rendered.file
    return {
        "page": file.row,
        "suffix": file.name.partition(".")[2],
        "unchanged": file.unchanged,
        "prefix": rendered.staged.rpartition("/")[2].removesuffix(file.name),
        "cut": rendered.cut,
        "errors": rendered.errors,
        "costs": asdict(rendered.costs),
    }


def _parse_reply(content: Mapping[str, Any], task: Task, stage: str) -> RenderedPage:
    suffix, prefix, costs = SUFFIXES[SUFFIXES.index(content["suffix"])], content["prefix"], content["costs"]
    if _PREFIX.fullmatch(prefix) is None:
        raise ValueError(f"{prefix!r:.100} is not the prefix of a staged file")
    file = PageFile.from_row(task.section, suffix, task.page.after, content["page"])
    return RenderedPage(
        file=replace(file, unchanged=bool(content["unchanged"])),
        cut=None if content["cut"] is None else tuple(map(str, content["cut"])),
        errors=tuple(ItemError(*error) for error in content["errors"]),
        costs=Costs(float(costs["seconds"]), {name: Cost(**cost) for name, cost in costs["steps"].items()}),
        staged=f"{stage}/{prefix}{file.name}",
        worker=excerpt(content["worker"]),
    )
