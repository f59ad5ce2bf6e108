"""What a command and workers on other machines say to each other: JSON, by a broker and by files."""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import django_sitemaps09
from django_sitemaps09 import stores
from django_sitemaps09.entries import ItemError
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.render import Rendered, Renderer, Target, Task
from django_sitemaps09.export.report import PageFile
from django_sitemaps09.pages import Fingerprint, Page
from django_sitemaps09.protocol import Base
from django_sitemaps09.sources.costs import Cost, Costs

#: Of messages and answers. A worker that knows another one says so, and renders nothing; for that it finds
#: the keys that `Folder` reads in a message of any version.
VERSION = 2
_MOST = 100_000_000
_RUN = "run.json"
_STAGE = re.compile(r"\.sitemaps09/run-[0-9A-Za-z-]+")
_TOKEN = re.compile(r"[0-9a-f]{16}")
# Seconds for which a message is good: many, since a queue can be long, and clocks of machines differ.
_LIFETIME = 24 * 3600.0


def message_of(renderer: Renderer, task: Task) -> dict[str, Any]:
    """Plain values, with a token of its own. `ExportError` for what is not the same elsewhere."""
    if not (renderer.urlconf is None or isinstance(renderer.urlconf, str)):
        raise ExportError(
            "Workers of Celery find a URLconf by its dotted path, and the active one has none."
        )
    targets = [
        {**target._asdict(), "output": target.output and str(target.output.resolve())}
        for target in renderer.targets
    ]
    return {
        "version": VERSION,
        "release": django_sitemaps09.__version__,
        "token": secrets.token_hex(8),
        "expires": time.time() + _LIFETIME,
        "renderer": {
            **targets[0],
            "targets": targets,
            "gzip": renderer.gzip,
            "script_prefix": renderer.script_prefix,
            "urlconf": renderer.urlconf,
        },
        "task": task._asdict(),
    }


def check(message: Mapping[str, Any]) -> None:
    """`ExportError` where it is not for this process to render."""
    here = django_sitemaps09.__version__
    if (message["version"], message["release"]) != (VERSION, here):
        raise ExportError(incompatible(f"release ({here}, not {message['release']!r:.40})"))
    if time.time() > message["expires"]:
        raise ExportError("it was sent more than a day ago, by the clock here")


def incompatible(what: str) -> str:
    return f"it is incompatible, with another {what} than the command has: bring both to the same one"


def read(message: Mapping[str, Any]) -> tuple[Renderer, Task]:
    renderer, task = message["renderer"], message["task"]
    number, after, until = task["page"]
    page = Page(number, after and tuple(after), until and tuple(until))
    targets = tuple(_target(found, renderer["output"]) for found in renderer["targets"])
    return (
        Renderer(targets, renderer["gzip"], renderer["script_prefix"], renderer["urlconf"]),
        Task(**{**task, "page": page, "known": tuple(task["known"])}),
    )


def _target(found: Mapping[str, Any], output: str | None) -> Target:
    """`ExportError` for a folder that none of ours is, or that is not where the answer is waited for."""
    target = Target(
        Base(*found["base"]), found["output"] and Path(found["output"]), found["stage"], found["folder"]
    )
    ours = _STAGE.fullmatch(target.stage or "") and stores.is_folder(target.folder)
    if not ours or found["output"] != output:
        raise ExportError(
            f"A message names {target.stage!r:.100} and {target.folder!r:.100}, as none of ours does."
        )
    return target


def answer_of(rendered: Rendered) -> dict[str, Any]:
    """Plain values."""
    return {
        "files": [asdict(file) for file in rendered.files],
        "errors": rendered.errors,
        "costs": asdict(rendered.costs),
        "staged": rendered.staged,
    }


def read_answer(answer: bytes) -> Rendered:
    """What a worker answered. `ExportError` with its words where it could not render."""
    found = json.loads(answer)
    if "failure" in found:
        raise ExportError(found["failure"])
    files = tuple(_file(file) for file in found["files"])
    costs = found["costs"]
    steps = {name: Cost(**cost) for name, cost in costs["steps"].items()}
    errors = tuple(ItemError(*error) for error in found["errors"])
    return Rendered(files, errors, Costs(costs["seconds"], steps), tuple(found["staged"]))


def _file(found: dict[str, Any]) -> PageFile:
    ranges = {key: found[key] and tuple(found[key]) for key in ("after", "until", "cut", "middle")}
    fingerprint = found["fingerprint"] and Fingerprint(*found["fingerprint"])
    return PageFile(**{**found, **ranges, "fingerprint": fingerprint})


class Folder:
    """Where the answer to a message is written, by the keys that are there in each version of it."""

    def __init__(self, message: Mapping[str, Any]) -> None:
        renderer = message["renderer"]
        output, folder = renderer["output"], renderer.get("folder", "")
        if not stores.is_folder(folder):
            raise ExportError(f"A message names {folder!r:.100}, as none of ours does.")
        self.store = stores.target(output and Path(output), folder)
        self.stage: str = message["renderer"]["stage"]
        self.token: str = message["token"]
        # Who can write to the broker shall not choose where workers write.
        if not (_STAGE.fullmatch(self.stage) and _TOKEN.fullmatch(self.token)):
            raise ExportError(
                f"A message names {self.stage!r:.100} and {self.token!r:.100}, as none of ours does."
            )

    def open(self) -> None:
        """Who takes a message sees by it that the run is not over."""
        self.store.write(f"{self.stage}/{_RUN}", b"{}")

    def is_waited_for(self) -> bool:
        """Whether the run is not over, as far as this machine sees."""
        return self._read(_RUN) is not None

    def answer(self) -> bytes | None:
        return self._read(f"{self.token}.json")

    def write(self, answer: Mapping[str, Any]) -> None:
        """Beside the staged file, which is whole by now; not where the run is over."""
        if self.is_waited_for():
            self.store.write(f"{self.stage}/{self.token}.json", json.dumps(answer).encode())

    def is_lost_again(self) -> bool:
        """Whether this was asked before: what takes each worker with it must not go round for ever."""
        mark = f"{self.token}.again"
        if self._read(mark) is not None:
            return True
        self.store.write(f"{self.stage}/{mark}", b"")
        return False

    def _read(self, name: str) -> bytes | None:
        return self.store.read(f"{self.stage}/{name}", _MOST)
