"""Messages to workers on other machines, and their answers: signed JSON, by a broker and by files.

Write access to the broker, or to the folder of a run, must not decide what workers import, read or write.
Nor must it decide what is published. So nothing in a message or an answer is used before its signature is
verified.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core import signing

import django_sitemaps09
from django_sitemaps09 import stores
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import ItemError
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.rendering.page import HostTarget, Rendered, Renderer, Task, incompatibility
from django_sitemaps09.export.report import PageFile
from django_sitemaps09.pages import Fingerprint, Page
from django_sitemaps09.protocol import Base
from django_sitemaps09.sources.profiling import Cost, Costs

#: Version of messages and answers. A worker of another version says so and renders nothing. For that, it
#: needs the keys that `Folder` reads, which messages of every version have.
VERSION = 4
#: Salts of the signatures: a message can never be passed off as an answer, nor an answer as a message.
_MESSAGE, _ANSWER = "django_sitemaps09.message", "django_sitemaps09.answer"
_MOST = 100_000_000
_RUN, _TAKEN = "run.json", "taken"
_STAGE = re.compile(r"\.sitemaps09/run-[0-9A-Za-z-]+")
_TOKEN = re.compile(r"[0-9a-f]{16}")
# Seconds for which a signature is valid: many, since queues can be long and clocks differ.
_LIFETIME = 24 * 3600


def message_of(renderer: Renderer, task: Task) -> dict[str, Any]:
    """Return a message of plain values with its own token.

    Raise `ExportError` if the active URLconf has no dotted path by which workers could find it.
    """
    if not (renderer.urlconf is None or isinstance(renderer.urlconf, str)):
        raise ExportError("The active URLconf has no dotted path, so Celery workers cannot import it.")
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
    """Return a message as the signed text that is sent."""
    return signing.dumps(message, salt=_MESSAGE)


def verify(message: object) -> tuple[dict[str, Any], str | bytes]:
    """Return the content of a signed message, and the key that signed it, which also signs the answer.

    Raise `ExportError` if it is not signed with a key of this process, or was signed too long ago.
    """
    return _verify_text(message, _MESSAGE)


def _verify_text(text: object, salt: str) -> tuple[dict[str, Any], str | bytes]:
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
        "the same SECRET_KEY, or list it in SECRET_KEY_FALLBACKS. If they do, someone else wrote this"
    )


def check(message: Mapping[str, Any]) -> None:
    """Raise `ExportError` if the message is of another version or release."""
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
    """Return a target; raise `ExportError` for an invalid folder, or if the answer is awaited elsewhere."""
    target = HostTarget(
        Base(*values["base"]),
        values["output"] and Path(values["output"]),
        values["stage"],
        values["folder"],
    )
    is_ours = _STAGE.fullmatch(target.stage or "") and stores.is_folder(target.folder)
    if not is_ours or values["output"] != output:
        raise ExportError(
            f"A message contains invalid names: {target.stage!r:.100} and {target.folder!r:.100}."
        )
    return target


def answer_of(rendered: Rendered) -> dict[str, Any]:
    """Return the answer to a message as plain values."""
    return {
        "files": [asdict(file) for file in rendered.files],
        "errors": rendered.errors,
        "costs": asdict(rendered.costs),
        "staged": rendered.staged,
    }


def read_answer(folder: Folder, answer: bytes) -> Rendered:
    """Return what a worker rendered; raise `ExportError` with its words if it could not."""
    try:
        content, _ = _verify_text(answer.decode(errors="replace"), _ANSWER)
    except ExportError as error:
        raise ExportError(f"An answer was rejected: {error}") from error
    try:
        if (content["run"], content["token"]) != (folder.stage, folder.token):
            raise ExportError("An answer was rejected: it was signed for another page or another run")
        if "failure" in content:
            raise ExportError(content["failure"])
        files = tuple(_file(file) for file in content["files"])
        costs = content["costs"]
        steps = {name: Cost(**cost) for name, cost in costs["steps"].items()}
        errors = tuple(ItemError(*error) for error in content["errors"])
        return Rendered(files, errors, Costs(costs["seconds"], steps), _texts(content["staged"]))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ExportError(
            f"An answer was rejected: it is not in the format of this version ({error!r:.200})"
        ) from error


def _file(values: dict[str, Any]) -> PageFile:
    ranges = {
        key: None if values[key] is None else _texts(values[key])
        for key in ("after", "until", "cut", "middle")
    }
    fingerprint = values["fingerprint"] and Fingerprint(*values["fingerprint"])
    counts = [values[key] for key in ("urls", "bytes", "size")]
    _texts([values["name"], values["digest"]])
    if not all(type(count) is int and count >= 0 for count in counts):
        raise TypeError(f"{counts} are not valid counts of a page")
    return PageFile(**{**values, **ranges, "fingerprint": fingerprint})


def _texts(values: Any) -> tuple[str, ...]:
    if not (isinstance(values, list) and all(isinstance(text, str) for text in values)):
        raise TypeError(f"{values!r:.100} is not a list of strings")
    return tuple(values)


class Folder:
    """Folder for the answer to a message, found by keys that messages of every version have.

    `key` signs answers; if it is `None`, the `SECRET_KEY` of this process does.
    """

    def __init__(self, message: Mapping[str, Any], key: str | bytes | None = None) -> None:
        self.key = key
        renderer = message["renderer"]
        output, folder = renderer["output"], renderer.get("folder", "")
        if not stores.is_folder(folder):
            raise ExportError(f"A message contains an invalid name: {folder!r:.100}.")
        self.store = stores.target(output and Path(output), folder)
        self.stage: str = message["renderer"]["stage"]
        self.token: str = message["token"]
        if not (_STAGE.fullmatch(self.stage) and _TOKEN.fullmatch(self.token)):
            raise ExportError(
                f"A message contains invalid names: {self.stage!r:.100} and {self.token!r:.100}."
            )

    def open(self) -> None:
        """Mark the run as not over, for workers that take its messages."""
        self.store.write(f"{self.stage}/{_RUN}", b"{}")

    def is_waited_for(self) -> bool:
        """Return whether the run is not over, as far as this machine sees."""
        return self._read(_RUN) is not None

    def take(self) -> None:
        """Record that a worker has taken a page of the run."""
        self.store.write(f"{self.stage}/{_TAKEN}", b"")

    def is_taken(self) -> bool:
        """Return whether any worker has taken a page of the run."""
        return self._read(_TAKEN) is not None

    def answer(self) -> bytes | None:
        return self._read(f"{self.token}.signed")

    def write(self, answer: Mapping[str, Any]) -> None:
        """Write the answer beside the staged file, which is complete by now, unless the run is over."""
        if self.is_waited_for():
            signed = signing.dumps(
                {"run": self.stage, "token": self.token, **answer}, self.key, _ANSWER
            ).encode()
            self.store.write(f"{self.stage}/{self.token}.signed", signed)

    def is_lost_again(self) -> bool:
        """Return whether this was called before: a page that kills its workers must not return for ever."""
        mark = f"{self.token}.again"
        if self._read(mark) is not None:
            return True
        self.store.write(f"{self.stage}/{mark}", b"")
        return False

    def _read(self, name: str) -> bytes | None:
        return self.store.read(f"{self.stage}/{name}", _MOST)
