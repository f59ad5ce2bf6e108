"""Render pages in workers that receive messages from a queue, and have access to the same files.

A message requests a page. The worker writes its reply beside the staged file, so the queue needs no result
backend. Messages can be delivered twice: each attempt stages a file, and the first complete reply is used.
"""

from __future__ import annotations

import logging
import secrets
import socket
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from django_sitemaps09.entries import MAX_MESSAGE, excerpt, reason_of
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.engines import messages
from django_sitemaps09.export.engines.messages import Folder
from django_sitemaps09.export.interrupts import time_limited
from django_sitemaps09.export.rendering.page import (
    EXPECTED,
    RenderedPage,
    Renderer,
    Task,
    check_declaration,
    render_page,
)

logger = logging.getLogger(__name__)

QueueEngineT = TypeVar("QueueEngineT", bound="QueueEngine")

_SHORT, _LONG = 0.05, 1.0
# Seconds between warnings that no worker has taken a page.
_WARNING_INTERVAL = 60.0


class QueueEngine:
    """Base class of engines that send pages to a queue, two at once for each worker.

    A page is sent again if no worker replies within `patience` seconds after it was sent, or after the last
    reply for any page if that is later. After a second wait without a reply, the page fails with
    `ExportError`. Later pages fail at once if no page has received a reply since then, or if the queue does
    not accept messages. If no worker takes a page, a warning is logged after `notice` seconds, and then
    every minute.
    """

    default_workers = 8
    patience = 900.0
    notice = 10.0
    #: What log messages and errors call a worker.
    worker_name: str
    #: Exceptions of the queue whose texts contain no credentials.
    shown_errors: tuple[type[Exception], ...] = ()

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._replied_at = time.monotonic()
        self._opened_stage: str | None = None
        self._first_sent_at: float | None = None
        self._notice_at = 0.0
        self._is_taken = False
        self._gave_up_at = 0.0
        self._lost_reason: str | None = None

    def __enter__(self: QueueEngineT) -> QueueEngineT:
        return self

    def __exit__(self, *error: object) -> None:
        """Leave messages in the queue: workers ignore them, since the run's folder is gone."""

    def put(self, message: str) -> None:
        """Add a message to the queue."""
        raise NotImplementedError

    def queue_label(self) -> str:
        """Return the name and the address of the queue, without credentials."""
        raise NotImplementedError

    def worker_command(self) -> str:
        """Return the command that starts a worker for the queue."""
        raise NotImplementedError

    def submit(self, renderer: Renderer, task: Task) -> Callable[[], RenderedPage]:
        if renderer.stage is None:
            # A dry run has no folder for replies from workers.
            return partial(render_page, renderer, task)
        if self._lost_reason is not None:
            raise ExportError(self._lost_reason)
        message = messages.build_message(renderer, task)
        folder = Folder(message)
        if self._opened_stage != renderer.stage:
            folder.open()
            self._opened_stage = renderer.stage
        signed = messages.sign(message)
        self._send(signed)
        sent = time.monotonic()
        if self._first_sent_at is None:
            self._first_sent_at, self._notice_at = sent, sent + self.notice

        def result() -> RenderedPage:
            content = self._wait(folder, sent)
            if content is None and sent > self._gave_up_at:
                logger.warning(
                    "No %s has returned %s; sending the task again.", self.worker_name, task.label
                )
                self._send(signed)
                content = self._wait(folder, time.monotonic())
            if content is None:
                raise self._no_reply_error(task, folder, sent)
            return messages.read_reply(folder, content)

        return result

    def _send(self, message: str) -> None:
        try:
            self.put(message)
        except Exception as error:
            # Each queue has its own exceptions. Their messages could contain the URL with a password.
            detail = f": {error}" if isinstance(error, self.shown_errors) else ""
            raise self._give_up(
                f"Pages cannot be sent: {self.queue_label()} does not accept messages "
                f"({type(error).__name__}{detail})"
            ) from error

    def _wait(self, folder: Folder, since: float) -> bytes | None:
        """Return the reply; `None` if it is late, or if the engine gave up after this page was sent."""
        deadline = max(since, self._replied_at) + self.patience
        pause = _SHORT
        while True:
            content = folder.reply()
            if content is not None:
                self._replied_at, self._lost_reason, self._is_taken = time.monotonic(), None, True
                return content
            self._warn_if_not_taken(folder)
            if since < self._gave_up_at or time.monotonic() > deadline:
                return None
            time.sleep(pause)
            pause = min(2 * pause, _LONG)

    def _warn_if_not_taken(self, folder: Folder) -> None:
        now = time.monotonic()
        if self._is_taken or self._first_sent_at is None or now < self._notice_at:
            return
        self._is_taken = folder.is_taken()
        if not self._is_taken:
            self._notice_at = now + _WARNING_INTERVAL
            logger.warning(
                "No worker has taken a page after %.0f seconds. The pages are in %s. Start a worker that "
                "reads it (%s). If one is running, check its log: SECRET_KEY must be the same on the "
                "workers, and they must be able to access %s. This export waits for up to %.0f minutes.",
                now - self._first_sent_at,
                self.queue_label(),
                self.worker_command(),
                folder.store.label,
                2 * self.patience / 60,
            )

    def _no_reply_error(self, task: Task, folder: Folder, sent: float) -> ExportError:
        reason = (
            f"No {self.worker_name} returned {task.label} within {2 * self.patience / 60:.0f} minutes. "
            f"Start a worker that reads {self.queue_label()} ({self.worker_command()}), has the same "
            f"SECRET_KEY, and can access {folder.store.label} as the same user. If one is running, its log "
            "says whether it rejected a page"
        )
        if sent > self._gave_up_at:
            return self._give_up(reason, is_lasting=self._replied_at < sent)
        return ExportError(reason)

    def _give_up(self, reason: str, *, is_lasting: bool = True) -> ExportError:
        """Return an error, and stop waiting for pages that were already sent.

        If `is_lasting` is true, later pages also raise the error, until a reply for any page arrives.
        """
        self._gave_up_at = time.monotonic()
        self._lost_reason = reason if is_lasting else None
        return ExportError(reason)


def handle_message(message: object, worker_name: str, *, is_redelivered: bool) -> None:
    """Render the page of a message in a worker, and write the reply to the run's folder.

    `is_redelivered` is true if the queue delivers the message again because a worker was lost.
    """
    try:
        content, key = messages.verify(message)
    except ExportError as error:
        # Do not reply: the folder for the reply comes from the message, which cannot be trusted.
        logger.error("A message was rejected and ignored: %s.", excerpt(error))
        return
    folder = Folder(content, key)
    if not folder.is_active():
        logger.warning(
            "A rendering task was ignored, because no export in %s is waiting for it.", folder.store.label
        )
        return
    if folder.reply() is not None:
        return
    try:
        _take(folder)
        messages.check(content)
        if is_redelivered and folder.is_lost_again():
            raise ExportError(
                "a page was delivered three times, and two workers were lost while rendering it"
            )
        renderer, task = messages.read(content)
        own_task = task._replace(prefix=f"{secrets.token_hex(4)}-")
        with time_limited():
            rendered = render_page(renderer, own_task, check=check_declaration)
        folder.write(messages.build_reply(rendered))
    except Exception as error:
        # Report any failure to the command, unless another attempt has replied in the meantime.
        reason = excerpt(error, MAX_MESSAGE) if isinstance(error, ExportError) else reason_of(error)
        logger.error("A page could not be rendered: %s", reason, exc_info=not isinstance(error, EXPECTED))
        if folder.reply() is None:
            folder.write({"failure": f"{worker_name} on {socket.gethostname()}: {reason}"})


def _take(folder: Folder) -> None:
    """Record that this worker process has taken a page of the run. Each process records this only once."""
    global _last_taken
    if _last_taken != folder.stage:
        folder.take()
        _last_taken = folder.stage


_last_taken: str | None = None
