"""Send pages to workers that read a queue, and have access to the same files.

A message requests a page. The worker writes its reply beside the staged file, so the queue needs no result
backend. Messages can be delivered twice: each attempt stages a file, and the first complete reply is used.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

from django_sitemaps09.entries import excerpt, pluralize, reason_of
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.engines import messages, workers
from django_sitemaps09.export.engines.messages import Claim, Folder
from django_sitemaps09.export.rendering.page import RenderedPage, Renderer, Task, render_page

logger = logging.getLogger(__name__)


#: Whether the export itself runs in a worker. If this is the only one, it has to render all pages alone.
in_worker = ContextVar("django_sitemaps09_in_worker", default=False)

_SHORT, _LONG = 0.05, 1.0
# Maximum number of messages for a page. Without a limit, a page could kill one worker after the other.
_MAX_SENT = 2
_NO_CLAIM = Claim("", 0, "")


class _Phase(NamedTuple):
    """Knowledge of an engine about its workers, and the time since when it has it.

    * `unseen`: no worker has taken a page yet. `warned`: the same, and a warning was logged.
    * `served`: a worker has taken or returned a page.
    * `alone`: no worker took a page in time, so the command renders the pages that no worker has taken.
    * `late`: a page was not returned in time. Pages that were sent earlier also fail, for this `reason`.
    * `lost`: no page was returned in time, or the queue accepts no messages. Later pages also fail.

    A reply from a worker ends every phase, but `alone` only if it cannot be older.
    """

    name: Literal["unseen", "warned", "served", "alone", "late", "lost"]
    since: float = 0.0
    reason: str = ""


#: Why a page has no reply: no worker has taken it, its worker has died, or it is late.
_Silence = Literal["unclaimed", "died", "late"]


@dataclass(slots=True, eq=False)
class _SentPage:
    """A page in the queue. `is_taken` is true if a worker has claimed it since it was last sent.

    `changed_at` is when its claim was last seen to have changed. `returned_before` is how many pages the
    engine had returned when it sent this one.
    """

    renderer: Renderer
    task: Task
    folder: Folder
    message: str
    sent_at: float
    returned_before: int
    times_sent: int = 1
    claim: Claim = _NO_CLAIM
    is_taken: bool = False
    changed_at: float = 0.0

    def has_new_claim(self) -> bool:
        """Return whether a worker has taken the page, or renewed its claim, since the last call."""
        claim = self.folder.claim()
        if claim is None or claim == self.claim:
            return False
        self.claim, self.is_taken, self.changed_at = claim, True, time.monotonic()
        return True


class QueueEngine:
    """Base class of engines that send pages to a queue, two at once for each worker.

    The command watches the page that it needs next. If its worker dies, or does not reply within `patience`
    seconds, the page is sent once more. After a second time, it fails with `ExportError`. If no worker
    takes it in time, the command renders it, and other pages that no worker has taken. If no worker has
    returned a page so far, few pages are then sent. If no worker takes the first page, a warning is logged
    after `notice` seconds.
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
        #: A message for the report if no worker has returned a page.
        self.failures: list[str] = []
        self._phase = _Phase("unseen")
        self._open_stages: set[str] = set()
        self._sent_at = self._looked_at = 0.0
        # Pages that the command does not await yet.
        self._open_pages: deque[_SentPage] = deque(maxlen=2 * workers)
        # How many pages were returned, and how many of these the command has rendered itself.
        self._returned = self._rendered = 0

    def __enter__(self) -> QueueEngine:
        return self

    def __exit__(self, *error: object) -> None:
        """Leave messages in the queue: workers ignore them, since the run's folder is gone."""
        if self._rendered:
            message = (
                f"The export itself rendered {self._rendered:,} of {pluralize(self._returned, 'page')}: "
                f"no {self.worker_name} took one for {workers.EXPIRY:.0f} seconds. "
                f"{self._advice('the files')}."
            )
            if self._rendered == self._returned and not in_worker.get():
                self.failures.append(message)
            else:
                logger.warning("%s", message)

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
        if self._phase.name == "lost":
            raise ExportError(self._phase.reason)
        is_alone = self._phase.name == "alone" and self._rendered == self._returned
        if is_alone and time.monotonic() - self._sent_at < workers.EXPIRY:
            # If no worker reads the queue, it must not grow without limit.
            return partial(self._render, renderer, task)
        message = messages.build_message(renderer, task)
        folder = Folder(message)
        if renderer.stage not in self._open_stages:
            folder.open()
            self._open_stages.add(renderer.stage)
        signed = messages.sign(message)
        self._send(signed)
        page = _SentPage(renderer, task, folder, signed, self._sent_at, self._returned)
        self._open_pages.append(page)
        return partial(self._result, page)

    def _render(self, renderer: Renderer, task: Task) -> RenderedPage:
        rendered = render_page(renderer, task)
        self._rendered += 1
        self._returned += 1
        return rendered

    def _send(self, message: str) -> None:
        try:
            self.put(message)
            self._sent_at = time.monotonic()
        except Exception as error:
            # Each queue has its own exceptions. Their messages could contain the URL with a password.
            detail = f": {error}" if isinstance(error, self.shown_errors) else ""
            reason = (
                f"Pages cannot be sent: {self.queue_label()} does not accept messages "
                f"({type(error).__name__}{detail})"
            )
            self._phase = _Phase("lost", time.monotonic(), reason)
            raise ExportError(reason) from error

    def _result(self, page: _SentPage) -> RenderedPage:
        """Return a page from its worker. If there is no reply, send it again, render it here, or fail."""
        with suppress(ValueError):
            self._open_pages.remove(page)
        while isinstance(outcome := self._watch(page), str):
            if outcome == "unclaimed":
                if self._phase.name != "alone":
                    self._phase = _Phase("alone", time.monotonic())
                try:
                    page.folder.withdraw()
                except (ExportError, OSError) as error:
                    logger.warning("%s cannot be withdrawn: %s", page.task.label, reason_of(error))
                return self._render(page.renderer, page.task)
            if not page.is_taken or page.times_sent == _MAX_SENT:
                raise self._error(page, outcome)
            problem = f"No {self.worker_name} has returned {page.task.label}"
            if outcome == "died":
                problem = (
                    f"The {self.worker_name} on {excerpt(page.claim.host)} that rendered {page.task.label} "
                    f"has died: it gave no sign of life for {workers.EXPIRY:.0f} seconds"
                )
            logger.warning("%s; sending the task again.", problem)
            self._send(page.message)
            page.sent_at, page.is_taken = self._sent_at, False
            page.times_sent += 1
        self._returned += 1
        return messages.read_reply(page.folder, outcome)

    def _watch(self, page: _SentPage) -> bytes | _Silence:
        """Wait for the reply to a page, and return it or why there is none. Raise an earlier error."""
        # A reply or a claim that exists at the first look can be old.
        first_look = now = time.monotonic()
        pause = _SHORT
        while True:
            reply = page.folder.reply()
            is_given_up = bool(self._phase.reason) and page.sent_at < self._phase.since
            is_first = now == first_look
            # At the first look, an earlier look at all claims may have seen the claim.
            has_sign = reply is not None or (
                not is_given_up and (page.has_new_claim() or (is_first and page.is_taken))
            )
            is_new = self._phase.name != "alone" or not is_first or page.sent_at >= self._phase.since
            if has_sign and is_new:
                self._phase = _Phase("served", now)
            if reply is not None:
                return reply
            if is_given_up:
                raise ExportError(self._phase.reason)
            if not page.is_taken and self._phase.name == "alone":
                return "unclaimed"
            # A page that waits behind others in a busy queue has as long as the first one.
            if now - (page.changed_at if page.is_taken else first_look) > workers.EXPIRY:
                return "died" if page.is_taken else "unclaimed"
            if now - first_look > self.patience:
                return "late"
            if self._phase.name == "unseen" and now - first_look >= self.notice:
                self._phase = self._warned(page.folder)
            if now - self._looked_at >= workers.RENEWAL:
                # Look at the claims of all other pages, too: workers that die together cost one wait.
                self._looked_at = now
                for other_page in self._open_pages:
                    other_page.has_new_claim()
            time.sleep(pause)
            pause = min(2 * pause, _LONG)
            now = time.monotonic()

    def _warned(self, folder: Folder) -> _Phase:
        """Log a warning if no worker has taken any page, and return the new phase."""
        if any(name.endswith(".claim") for name in folder.store.names(folder.stage)):
            return _Phase("served")
        logger.warning(
            "No worker has taken a page after %.0f seconds. The pages are in %s. Start a worker that "
            "reads it (%s). If one is running, check its log: SECRET_KEY must be the same on the "
            "workers, and they must be able to access %s. If no worker takes a page within %.0f seconds, "
            "the export renders the pages itself.",
            self.notice,
            self.queue_label(),
            self.worker_command(),
            folder.store.label,
            workers.EXPIRY,
        )
        return _Phase("warned")

    def _error(self, page: _SentPage, silence: _Silence) -> ExportError:
        if silence == "died":
            return ExportError(
                f"{page.task.label}: two workers in a row died unexpectedly, the last one on "
                f"{excerpt(page.claim.host)}; the system may have killed them for lack of memory"
            )
        reason = (
            f"No {self.worker_name} returned {page.task.label} within "
            f"{page.times_sent * self.patience / 60:.0f} minutes. {self._advice(page.folder.store.label)}"
        )
        is_lost = self._returned == page.returned_before
        self._phase = _Phase("lost" if is_lost else "late", time.monotonic(), reason)
        return ExportError(reason)

    def _advice(self, files: str) -> str:
        return (
            f"Start a worker that reads {self.queue_label()} ({self.worker_command()}), has the same "
            f"SECRET_KEY, and can access {files} as the same user. If one is running, its log says whether "
            "it rejected a page"
        )
