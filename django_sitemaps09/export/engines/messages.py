"""Messages to workers, sent through a queue, and their claims and replies in files: all are signed JSON.

Attackers with write access to the queue or to a run's folder must not control what workers import, read or
write, or what is published. Therefore, no message, claim or reply is used before its signature is verified.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from django.core import signing

import django_sitemaps09
from django_sitemaps09 import stores
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import ItemError
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.rendering.page import (
    HostTarget,
    RenderedPage,
    Renderer,
    Task,
    incompatibility,
)
from django_sitemaps09.export.report import PageFile
from django_sitemaps09.pages import Fingerprint, Page
from django_sitemaps09.protocol import Base
from django_sitemaps09.sources.profiling import Cost, Costs
from django_sitemaps09.state.journal import RUN_NAME
from django_sitemaps09.state.manifest import PARSE_ERRORS

#: Version of messages and replies. A worker with another version replies with an error, so messages of
#: every version must have the keys that `Folder` reads.
VERSION = 6
# Different salts, so that a message, for example, is never accepted as a reply. They are the same in all
# versions, so that a worker with another version can reply that it is incompatible.
_MESSAGE, _REPLY = "django_sitemaps09.message", "django_sitemaps09.answer"
_CLAIM = "django_sitemaps09.claim"
# Maximum sizes in bytes of a reply and of a claim.
_MOST, _MOST_OF_CLAIM = 100_000_000, 2_000
_RUN = "run.json"
_STAGE = re.compile(rf"{re.escape(stores.STATE)}/{RUN_NAME.pattern}")
_TOKEN = re.compile(r"[0-9a-f]{16}")
# Seconds for which a signature is valid: a day, since queues can be long and clocks differ.
_LIFETIME = 24 * 3600


def build_message(renderer: Renderer, task: Task) -> dict[str, Any]:
    """Return the message for a task, as values for JSON, with a new token.

    Raise `ExportError` if the active URLconf has no dotted path, since workers could not import it.
    """
    if not (renderer.urlconf is None or isinstance(renderer.urlconf, str)):
        raise ExportError("The active URLconf has no dotted path, so workers cannot import it.")
    targets = [
        {**target._asdict(), "output": target.output and str(target.output.resolve())}
        for target in renderer.targets
    ]
    return {
        "version": VERSION,
        "release": django_sitemaps09.__version__,
        "token": secrets.token_hex(8),
        "renderer": {
            **targets[0],
            "targets": targets,
            "gzip": renderer.gzip,
            "script_prefix": renderer.script_prefix,
            "urlconf": renderer.urlconf,
        },
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


def check_version(message: Mapping[str, Any]) -> None:
    """Raise `ExportError` if the message is of another version, or from another release of the package."""
    release = django_sitemaps09.__version__
    if (message["version"], message["release"]) != (VERSION, release):
        raise ExportError(incompatibility(f"release ({release}, not {message['release']!r:.40})"))


def read(message: Mapping[str, Any]) -> tuple[Renderer, Task]:
    renderer, task = message["renderer"], message["task"]
    number, after, until = task["page"]
    page = Page(number, after and tuple(after), until and tuple(until))
    targets = tuple(_target(values, renderer["output"]) for values in renderer["targets"])
    return (
        Renderer(targets, renderer["gzip"], renderer["script_prefix"], renderer["urlconf"]),
        Task(**{**task, "page": page, "known": tuple(task["known"])}),
    )


def _target(values: Mapping[str, Any], output: str | None) -> HostTarget:
    """Return a target; raise `ExportError` if a folder is invalid, or if its output is not `output`."""
    stage, folder = values["stage"], values["folder"]
    is_ours = _STAGE.fullmatch(stage or "") and stores.is_host_folder(folder)
    if not is_ours or values["output"] != output:
        raise ExportError(
            f"A message contains an invalid stage ({stage!r:.100}) or host folder ({folder!r:.100}), or "
            "different output folders."
        )
    return HostTarget(Base(*values["base"]), Path(output) if output else None, stage, folder)


def build_reply(rendered: RenderedPage) -> dict[str, Any]:
    return {
        "files": [asdict(file) for file in rendered.files],
        "errors": rendered.errors,
        "costs": asdict(rendered.costs),
        "staged": rendered.staged,
    }


def read_reply(folder: Folder, reply: bytes) -> RenderedPage:
    """Return the page from a worker's reply; raise `ExportError` if it is invalid or reports a failure."""
    try:
        content, _ = unsign(reply.decode(errors="replace"), _REPLY)
    except ExportError as error:
        raise ExportError(f"A worker's reply was rejected: {error}") from error
    try:
        if (content["run"], content["token"]) != (folder.stage, folder.token):
            raise ExportError("A worker's reply was rejected: it was signed for another page or run")
        if "failure" in content:
            raise ExportError(content["failure"])
        files = tuple(_file(file) for file in content["files"])
        costs = content["costs"]
        steps = {name: Cost(**cost) for name, cost in costs["steps"].items()}
        errors = tuple(ItemError(*error) for error in content["errors"])
        return RenderedPage(files, errors, Costs(costs["seconds"], steps), _texts(content["staged"]))
    except PARSE_ERRORS as error:
        raise ExportError(
            f"A worker's reply was rejected: it is not in the format of this version ({error!r:.200})"
        ) from error


def _file(values: dict[str, Any]) -> PageFile:
    ranges = {
        key: None if values[key] is None else _texts(values[key]) for key in ("after", "until", "cut")
    }
    fingerprint = values["fingerprint"] and Fingerprint(*values["fingerprint"])
    counts = [values[key] for key in ("urls", "bytes", "size")]
    _texts([values["name"], values["digest"]])
    if not all(type(count) is int and count >= 0 for count in counts):
        raise TypeError(f"{counts} are not valid sizes of a page")
    return PageFile(**{**values, **ranges, "fingerprint": fingerprint})


def _texts(values: Any) -> tuple[str, ...]:
    if not (isinstance(values, list) and all(isinstance(text, str) for text in values)):
        raise TypeError(f"{values!r:.100} is not a list of strings")
    return tuple(values)


class Claim(NamedTuple):
    """Sign of life of a worker. `attempt` is unique, and each renewal increases `number`."""

    attempt: str
    number: int
    host: str


class Folder:
    """Folder for the claims and the reply to a message. Messages of every version have the keys read here.

    `key` signs them. The default is the `SECRET_KEY` of this process.
    """

    def __init__(self, message: Mapping[str, Any], key: str | bytes | None = None) -> None:
        self.key = key
        renderer = message["renderer"]
        output, folder = renderer["output"], renderer.get("folder", "")
        if not stores.is_host_folder(folder):
            raise ExportError(f"A message contains an invalid host folder: {folder!r:.100}.")
        self.store = stores.target_store(output and Path(output), folder)
        self.stage: str = renderer["stage"]
        self.token: str = message["token"]
        if not (_STAGE.fullmatch(self.stage) and _TOKEN.fullmatch(self.token)):
            raise ExportError(
                f"A message contains an invalid stage ({self.stage!r:.100}) or token ({self.token!r:.100})."
            )

    def open(self) -> None:
        """Record that the run is active, for workers that receive its messages."""
        self.store.write(f"{self.stage}/{_RUN}", b"{}")

    def is_active(self) -> bool:
        """Return whether the run is still active, as far as this machine can see."""
        return self._read(_RUN) is not None

    def write_claim(self, claim: Claim) -> None:
        self._sign(f"{self.token}.claim", claim._asdict(), _CLAIM)

    def claim(self) -> Claim | None:
        """Return the last claim of the page, or `None` if it is missing or invalid."""
        with suppress(ExportError, OSError, *PARSE_ERRORS):
            text = self._read(f"{self.token}.claim", _MOST_OF_CLAIM) or b""
            # The machines' clocks may differ.
            content, _ = unsign(text.decode(), _CLAIM, max_age=None)
            if (content.pop("run"), content.pop("token")) == (self.stage, self.token):
                return Claim(**content)
        return None

    def withdraw(self) -> None:
        """Let workers ignore the message, by an empty reply."""
        self.store.write(f"{self.stage}/{self.token}.signed", b"")

    def reply(self) -> bytes | None:
        return self._read(f"{self.token}.signed")

    def write(self, reply: Mapping[str, Any]) -> None:
        """Write the reply beside the complete staged file, unless the run has ended."""
        if self.is_active():
            self._sign(f"{self.token}.signed", reply, _REPLY)

    def is_lost_again(self) -> bool:
        """Record a lost page, and return whether it was lost before.

        Without a limit, the queue could deliver a page that crashes its workers forever.
        """
        mark = f"{self.token}.again"
        if self._read(mark) is not None:
            return True
        self.store.write(f"{self.stage}/{mark}", b"")
        return False

    def _sign(self, name: str, content: Mapping[str, Any], salt: str) -> None:
        signed = signing.dumps({"run": self.stage, "token": self.token, **content}, self.key, salt)
        self.store.write(f"{self.stage}/{name}", signed.encode())

    def _read(self, name: str, most: int = _MOST) -> bytes | None:
        return self.store.read(f"{self.stage}/{name}", most)
