"""Workers of Celery that render pages, on this machine or on others that reach the same files.

A message says which page; what comes of it is written beside the staged file, so that no result
backend is needed and a message that is delivered twice does no harm: each attempt has a file of its own,
and the first whole one that is found counts.
"""

from __future__ import annotations

import logging
import secrets
import socket
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from celery import shared_task
from kombu.exceptions import OperationalError

from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.engines import messages
from django_sitemaps09.export.engines.messages import Folder
from django_sitemaps09.export.render import (
    EXPECTED,
    Rendered,
    Renderer,
    Task,
    render_page,
    same_declaration,
)

logger = logging.getLogger(__name__)

_SHORT, _LONG = 0.05, 1.0
# About ten seconds in all. Celery's own would be what the project has set, which can be for ever.
_RETRIES = {"max_retries": 5, "interval_start": 0.2, "interval_step": 1, "interval_max": 5}


class Celery:
    """Sends pages to the queue of the current Celery app, twice as many at once as there are `workers`.

    A page that is not answered in `patience` seconds after it was sent, or after another page was
    answered, is sent once more, and then is an `ExportError`. So is each later one at once, if nobody has
    answered anything meanwhile, or if the broker takes no messages.
    """

    default_workers = 8
    patience = 900.0

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._answered = time.monotonic()
        self._begun: str | None = None
        self._gave_up = 0.0
        self._lost: str | None = None

    def __enter__(self) -> Celery:
        return self

    def __exit__(self, *error: object) -> None:
        """What is still in the queue finds its run gone."""

    def begin(self, renderer: Renderer, task: Task) -> Callable[[], Rendered]:
        if renderer.stage is None:
            # A dry run has no folder that workers could answer in.
            return partial(render_page, renderer, task)
        if self._lost is not None:
            raise ExportError(self._lost)
        message = messages.message_of(renderer, task)
        folder = Folder(message)
        if self._begun != renderer.stage:
            folder.open()
            self._begun = renderer.stage
        self._send(message)
        sent = time.monotonic()

        def answer() -> Rendered:
            found = self._wait(folder, sent)
            if found is None and sent > self._gave_up:
                logger.warning("No worker has answered for %s; it is sent again.", task.label)
                self._send(message)
                found = self._wait(folder, time.monotonic())
            if found is None:
                raise self._silence(task, folder, sent)
            return messages.read_answer(found)

        return answer

    def _send(self, message: Mapping[str, Any]) -> None:
        if render.app.main == "default" and not render.app.conf.broker_url:
            raise ExportError(_NO_APP)
        try:
            render.apply_async([message], retry=True, retry_policy=_RETRIES)
        except Exception as error:
            # Each broker's client has errors of its own; only of this one it is known that its text is
            # not the URL, which has a password in it.
            why = f": {error}" if isinstance(error, OperationalError) else ""
            raise self._give_up(
                f"The broker of Celery at {_broker()} takes no messages ({type(error).__name__}{why})"
            ) from error

    def _wait(self, folder: Folder, since: float) -> bytes | None:
        """An answer; not waited for where it was sent before a page that was given up."""
        deadline = max(since, self._answered) + self.patience
        pause = _SHORT
        while True:
            found = folder.answer()
            if found is not None:
                self._answered, self._lost = time.monotonic(), None
                return found
            if since < self._gave_up or time.monotonic() > deadline:
                return None
            time.sleep(pause)
            pause = min(2 * pause, _LONG)

    def _silence(self, task: Task, folder: Folder, sent: float) -> ExportError:
        why = (
            f"No worker of Celery has answered for {task.label} within twice {self.patience:g} seconds: "
            "none is running that imports django_sitemaps09.tasks, on the same broker and queue, and that "
            f"reaches {folder.store.label} as the same user"
        )
        if sent > self._gave_up:
            return self._give_up(why, all_of_them=self._answered < sent)
        return ExportError(why)

    def _give_up(self, why: str, *, all_of_them: bool = True) -> ExportError:
        """What was sent by now is not waited for; nor is what comes later, until something is answered."""
        self._gave_up = time.monotonic()
        self._lost = why if all_of_them else None
        return ExportError(why)


@shared_task(  # type: ignore[untyped-decorator]
    name="django_sitemaps09.render",
    # Whatever the project has set: a message is JSON, and is read nowhere but here.
    serializer="json",
    # The broker delivers it again where a worker is lost; twice does no harm.
    acks_late=True,
    reject_on_worker_lost=True,
    ignore_result=True,
)
def render(message: dict[str, Any]) -> None:
    """One page of an export, by a worker. What it answers is in the folder of the run."""
    folder = Folder(message)
    if not folder.is_waited_for():
        logger.warning("A page came too late, or is of a run in another %s.", folder.store.label)
        return
    if folder.answer() is not None:
        return
    try:
        messages.check(message)
        if (render.request.delivery_info or {}).get("redelivered") and folder.is_lost_again():
            raise ExportError("a page was delivered three times, and each worker before was lost with it")
        renderer, task = messages.read(message)
        own = task._replace(prefix=f"{secrets.token_hex(4)}-")
        folder.write(messages.answer_of(render_page(renderer, own, check=same_declaration)))
    except Exception as error:
        # Whatever it is, the coordinator is told; but another attempt may have done better meanwhile.
        what = str(error) if isinstance(error, ExportError) else f"{type(error).__name__}: {error}"
        logger.error("A page was not rendered: %s", what, exc_info=not isinstance(error, EXPECTED))
        if folder.answer() is None:
            folder.write({"failure": f"A worker of Celery on {socket.gethostname()}: {what}"})


def _broker() -> str:
    """Without a word of how one gets in there."""
    try:
        connection = render.app.connection_for_write()
        port = connection.port or connection.default_port
        return f"{connection.transport_cls}://{connection.hostname}:{port}"
    except Exception:  # noqa: BLE001 which it is depends on what cannot be read
        return "a URL that cannot be read"


_NO_APP = (
    "No Celery app is loaded that knows a broker: import the project's own where Django always does, in "
    "the __init__.py beside its settings"
)
