"""Engine of Celery workers, on this machine or on others that reach the same files.

A message names a page, and the result is written beside the staged file, so no result backend is needed. A
message that is delivered twice does no harm: each attempt writes its own file, and the first complete one
that is found counts.
"""

from __future__ import annotations

import logging
import secrets
import socket
import time
from collections.abc import Callable
from functools import partial

from celery import shared_task
from kombu.exceptions import OperationalError

from django_sitemaps09.entries import MAX_MESSAGE, excerpt, reason_of
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.engines import messages
from django_sitemaps09.export.engines.messages import Folder
from django_sitemaps09.export.rendering.page import (
    EXPECTED,
    Rendered,
    Renderer,
    Task,
    check_declaration,
    render_page,
)

logger = logging.getLogger(__name__)

_SHORT, _LONG = 0.05, 1.0
# Seconds between two warnings that no worker has taken a page.
_AGAIN = 60.0
# About ten seconds in all. Celery's own policy depends on the project, and can retry for ever.
_RETRIES = {"max_retries": 5, "interval_start": 0.2, "interval_step": 1, "interval_max": 5}


class Celery:
    """Sends pages to the queue of the current Celery app, twice as many at once as there are `workers`.

    A page is sent again if it is not answered within `patience` seconds after it was sent, or after
    another page was answered. The second time, it raises `ExportError`. If nothing was answered meanwhile,
    or if the broker does not accept messages, each later page raises it at once. While no worker has taken
    any page, a warning says so after `notice` seconds, and then each minute.
    """

    default_workers = 8
    patience = 900.0
    notice = 10.0

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._answered_at = time.monotonic()
        self._opened_stage: str | None = None
        self._first_sent_at: float | None = None
        self._notice_at = 0.0
        self._is_taken = False
        self._gave_up_at = 0.0
        self._lost_reason: str | None = None

    def __enter__(self) -> Celery:
        return self

    def __exit__(self, *error: object) -> None:
        """Do nothing: workers that take messages still in the queue find that the run is over."""

    def submit(self, renderer: Renderer, task: Task) -> Callable[[], Rendered]:
        if renderer.stage is None:
            # A dry run has no folder where workers could answer.
            return partial(render_page, renderer, task)
        if self._lost_reason is not None:
            raise ExportError(self._lost_reason)
        message = messages.message_of(renderer, task)
        folder = Folder(message)
        if self._opened_stage != renderer.stage:
            folder.open()
            self._opened_stage = renderer.stage
        signed = messages.sign(message)
        self._send(signed)
        sent = time.monotonic()
        if self._first_sent_at is None:
            self._first_sent_at, self._notice_at = sent, sent + self.notice

        def result() -> Rendered:
            content = self._wait(folder, sent)
            if content is None and sent > self._gave_up_at:
                logger.warning("No worker answered for %s; sending it again.", task.label)
                self._send(signed)
                content = self._wait(folder, time.monotonic())
            if content is None:
                raise self._silence(task, folder, sent)
            return messages.read_answer(folder, content)

        return result

    def _send(self, message: str) -> None:
        if render.app.main == "default" and not render.app.conf.broker_url:
            raise ExportError(_NO_APP)
        try:
            render.apply_async([message], retry=True, retry_policy=_RETRIES)
        except Exception as error:
            # Each broker's client has its own exceptions. Only the text of this one is known not to be the
            # URL, which contains a password.
            detail = f": {error}" if isinstance(error, OperationalError) else ""
            raise self._give_up(
                f"The Celery broker at {_broker()} does not accept messages "
                f"({type(error).__name__}{detail})"
            ) from error

    def _wait(self, folder: Folder, since: float) -> bytes | None:
        """Return the answer; `None` if it is late, or if a page was given up after this one was sent."""
        deadline = max(since, self._answered_at) + self.patience
        pause = _SHORT
        while True:
            content = folder.answer()
            if content is not None:
                self._answered_at, self._lost_reason, self._is_taken = time.monotonic(), None, True
                return content
            self._say_if_nobody_works(folder)
            if since < self._gave_up_at or time.monotonic() > deadline:
                return None
            time.sleep(pause)
            pause = min(2 * pause, _LONG)

    def _say_if_nobody_works(self, folder: Folder) -> None:
        now = time.monotonic()
        if self._is_taken or self._first_sent_at is None or now < self._notice_at:
            return
        self._is_taken = folder.is_taken()
        if not self._is_taken:
            self._notice_at = now + _AGAIN
            logger.warning(
                "No worker has taken a page after %.0f seconds. The pages are in the queue %r of %s. "
                "Start a worker that reads it (celery -A %s worker -Q %s). If one is running, check its "
                "log: SECRET_KEY must be the same on the workers, and they must be able to access %s. "
                "This export waits for up to %.0f minutes.",
                now - self._first_sent_at,
                _queue(),
                _broker(),
                render.app.main,
                _queue(),
                folder.store.label,
                2 * self.patience / 60,
            )

    def _silence(self, task: Task, folder: Folder, sent: float) -> ExportError:
        reason = (
            f"No Celery worker answered for {task.label} within twice {self.patience:g} seconds. Start a "
            f"worker that imports django_sitemaps09.tasks, reads the queue {_queue()!r} of {_broker()}, "
            f"has the same SECRET_KEY, and can access {folder.store.label} as the same user. If one is "
            "running, its log says whether it rejected a page"
        )
        if sent > self._gave_up_at:
            return self._give_up(reason, all_of_them=self._answered_at < sent)
        return ExportError(reason)

    def _give_up(self, reason: str, *, all_of_them: bool = True) -> ExportError:
        """Return an error, and stop waiting for what was sent by now.

        If it concerns `all_of_them`, later pages are refused, too, until something is answered.
        """
        self._gave_up_at = time.monotonic()
        self._lost_reason = reason if all_of_them else None
        return ExportError(reason)


@shared_task(  # type: ignore[untyped-decorator]
    name="django_sitemaps09.render",
    # Independent of the project's settings: a message is JSON, and is read only here.
    serializer="json",
    # The broker delivers a message again if a worker is lost, which does no harm.
    acks_late=True,
    reject_on_worker_lost=True,
    ignore_result=True,
)
def render(message: str) -> None:
    """Render one page of an export in a worker, and write the answer to the folder of the run."""
    try:
        content, key = messages.verify(message)
    except ExportError as error:
        # The folder to answer in would be taken from the message, which is not trusted.
        logger.error("A message was rejected and ignored: %s.", excerpt(error))
        return
    folder = Folder(content, key)
    if not folder.is_waited_for():
        logger.warning("A page was ignored, because no run in %s is waiting for it.", folder.store.label)
        return
    if folder.answer() is not None:
        return
    try:
        _take(folder)
        messages.check(content)
        if (render.request.delivery_info or {}).get("redelivered") and folder.is_lost_again():
            raise ExportError(
                "a page was delivered three times, and two workers were lost while rendering it"
            )
        renderer, task = messages.read(content)
        own_task = task._replace(prefix=f"{secrets.token_hex(4)}-")
        folder.write(messages.answer_of(render_page(renderer, own_task, check=check_declaration)))
    except Exception as error:
        # The coordinator gets any failure, unless another attempt has answered meanwhile.
        reason = excerpt(error, MAX_MESSAGE) if isinstance(error, ExportError) else reason_of(error)
        logger.error("A page could not be rendered: %s", reason, exc_info=not isinstance(error, EXPECTED))
        if folder.answer() is None:
            folder.write({"failure": f"Celery worker on {socket.gethostname()}: {reason}"})


def _take(folder: Folder) -> None:
    """Mark the run as taken, once for each process of a worker."""
    global _last_taken
    if _last_taken != folder.stage:
        folder.take()
        _last_taken = folder.stage


_last_taken: str | None = None


def _queue() -> str:
    queue = render.app.amqp.router.route({}, render.name).get("queue")
    return str(getattr(queue, "name", queue or render.app.conf.task_default_queue))


def _broker() -> str:
    """Return the address of the broker, without credentials."""
    try:
        connection = render.app.connection_for_write()
        port = connection.port or connection.default_port
        return f"{connection.transport_cls}://{connection.hostname}:{port}"
    except Exception:  # noqa: BLE001 the transport decides which exception it is
        return "an unreadable URL"


_NO_APP = (
    "No Celery app with a broker is loaded. Import the project's app in the __init__.py next to its "
    "settings, which Django always imports"
)
