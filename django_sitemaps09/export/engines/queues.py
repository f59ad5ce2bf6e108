"""Send pages to workers that read a queue, and render here what none of them has claimed.

The export is a worker, too: it takes the next result if it is there, and otherwise renders a page that
nobody has claimed. So it need not know whether workers exist, and waits only for pages that are claimed.
A message requests a page. The worker writes its reply beside the staged file, so the queue needs no result
backend. Messages can be delivered twice: each attempt stages a file, and the first complete reply is used.
"""

from __future__ import annotations

import logging
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from math import inf

from django_sitemaps09.entries import pluralize, reason_of
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.engines import messages
from django_sitemaps09.export.engines.messages import ENDINGS, Folder
from django_sitemaps09.export.engines.workers import SURVIVED, start_alone
from django_sitemaps09.export.rendering.page import RenderedPage, Renderer, Task

logger = logging.getLogger(__name__)


#: Whether the export itself runs in a worker. If this is the only one, it has to render all pages alone.
in_worker = ContextVar("django_sitemaps09_in_worker", default=False)

# Seconds between two looks at the folder of the run, and the share of the time that they may take.
_SHORT, _LONG, _SHARE = 0.05, 1.0, 0.2
# Seconds after which a claim is old, at least and as long as no page of the section is rendered.
_OLD, _OLD_FIRST = 5.0, 30.0
# Seconds within which a worker that is free takes the next message.
_READY = 0.5
# Seconds after which a message that no worker has taken shows that there is no worker.
_UNCLAIMED = 30.0
# Maximum number of reasons for refusals in a report.
_MOST_REASONS = 5


@dataclass(slots=True, eq=False)
class _Page:
    """A page of the window. It is also the function that waits for its result.

    `claimed_at` is when the claim of a worker was first seen. `is_own` is true if the page is rendered
    here, `is_refused` if a worker could not do so. `finish` returns the page, once somebody has rendered
    it. `child` is a process of this machine that renders a page whose claim is old.
    """

    engine: QueueEngine
    task: Task
    message: str
    folder: Folder
    sent_at: float = inf
    claimed_at: float | None = None
    is_own: bool = False
    is_refused: bool = False
    finish: Callable[[], RenderedPage] | None = None
    child: subprocess.Popen[bytes] | None = None

    @property
    def is_free(self) -> bool:
        return not self.is_own and self.claimed_at is None and self.finish is None

    def __call__(self) -> RenderedPage:
        return self.engine.result(self)

    def abandon(self) -> None:
        """Let workers ignore the page, and wait until it is no longer rendered on this machine."""
        self.end_child()
        if self.finish is not None:
            self.finish()
        elif self.is_free and self.sent_at < inf:
            self.is_own = True
            self.folder.claim()

    def refuse(self) -> None:
        """Let the page be rendered here: whoever has claimed it cannot render it."""
        self.is_refused, self.claimed_at = True, None

    def end_child(self) -> None:
        if self.child is not None:
            self.child.kill()
            self.child.wait()


class QueueEngine:
    """Base class of engines that send pages to a queue.

    Each page is sent once. `ahead` is so large that workers have enough to do while the command renders a
    page, even if it is slower than they.
    """

    default_workers = 8
    #: What log messages and errors call a worker.
    worker_name: str
    #: Exceptions of the queue whose texts contain no credentials.
    shown_errors: tuple[type[Exception], ...] = ()
    #: The clock, and how to wait; for tests.
    clock: Callable[[], float] = staticmethod(time.monotonic)
    sleep: Callable[[float], None] = staticmethod(time.sleep)

    def __init__(self, workers: int) -> None:
        self.workers, self.ahead = workers, 8 * workers
        # Pages that are not returned yet, and pages whose messages no worker has taken, in their order.
        self._pages: list[_Page] = []
        self._waiting: list[_Page] = []
        self._begin_run("")

    def __enter__(self) -> QueueEngine:
        return self

    def __exit__(self, *error: object) -> None:
        """Leave messages in the queue: workers ignore them, since the run's folder is gone."""
        self._forget_pages()

    def put(self, message: str) -> None:
        """Add a message to the queue."""
        raise NotImplementedError

    def queue_label(self) -> str:
        """Return the name and the address of the queue, without credentials."""
        raise NotImplementedError

    def worker_command(self) -> str:
        """Return the command that starts a worker for the queue."""
        raise NotImplementedError

    def _forget_pages(self) -> None:
        for page in self._pages:
            page.end_child()
        self._pages.clear()

    def _begin_run(self, stage: str) -> None:
        self._stage = stage
        self._forget_pages()
        self._waiting.clear()
        self._next_look, self._has_workers = 0.0, False
        # Since when a worker has replied, and no worker has claimed a page.
        self._free_since = inf
        self._lost = 0
        # Why nothing more is sent, and why workers refused pages, with the numbers of pages.
        self._problem: str | None = None
        self._refusals: Counter[str] = Counter()
        self._finishing: _Page | None = None

    def begin_section(self, render: Callable[..., Callable[[], RenderedPage]]) -> None:
        self._render, self._slowest = render, 0.0
        self._forget_pages()

    def submit(self, renderer: Renderer, task: Task) -> Callable[[], RenderedPage]:
        if renderer.stage is None:
            # A dry run has no folder for replies from workers.
            return self._render(task)
        message = messages.build_message(renderer, task)
        page = _Page(self, task, messages.sign(message), Folder(message))
        if renderer.stage != self._stage:
            page.folder.open()
            self._begin_run(renderer.stage)
        self._pages.append(page)
        self._send()
        return page

    def result(self, page: _Page) -> RenderedPage:
        """Return a page from whoever has rendered it. Meanwhile, render pages that nobody has claimed."""
        pause = _SHORT
        while True:
            self._look()
            # The awaited page, or else that which is needed last.
            other = next((each for each in (page, *reversed(self._pages)) if each.is_free), None)
            # As if there were no workers, a thread finishes one page while the next one is read.
            if page.finish is not None and (page is not self._finishing or other is None):
                page.end_child()
                self._pages.remove(page)
                return self._finish(page.finish)
            if other is not None:
                self._render_here(other)
                pause = _SHORT
                continue
            self._check_claim(page)
            self.sleep(pause)
            pause = min(2 * pause, _LONG)

    def end_run(self) -> None:
        """Set the messages for the report of the run."""
        self.failures: list[str] = []
        self.warnings: list[str] = []
        if self._problem is not None:
            self.warnings.append(f"{self._problem}. The export itself rendered the pages.")
        for reason, pages in self._refusals.items():
            self.warnings.append(f"{reason}. The export itself rendered {pluralize(pages, 'page')}.")
        # A section that failed leaves pages, which must not be sent.
        self._forget_pages()
        self._next_look = 0.0
        with suppress(ExportError, OSError):
            self._look()
        waited = self.clock() - self._waiting[0].sent_at if self._waiting else 0.0
        # A short run can be over before a worker asks the queue for the first time.
        if waited >= _OLD and not self._has_workers:
            is_failure = waited >= _UNCLAIMED
            (self.failures if is_failure and not in_worker.get() else self.warnings).append(
                f"No {self.worker_name} took a page, so the export itself rendered all. Start a worker "
                f"that reads {self.queue_label()} ({self.worker_command()}), has the same SECRET_KEY, and "
                "can access the files as the same user. If one is running, its log says whether it refused "
                "a page."
            )
        self._begin_run("")

    def _send(self) -> None:
        """Send pages that nobody has claimed, in their order, while few messages wait for a worker."""
        # Workers that claim pages and do not return them must not get all of them.
        claimed = sum(page.claimed_at is not None and page.finish is None for page in self._pages)
        for page in self._pages:
            waiting = len(self._waiting)
            if self._problem or waiting >= 2 * self.workers or waiting + claimed >= 3 * self.workers:
                return
            if page.sent_at == inf and page.is_free:
                try:
                    self.put(page.message)
                except Exception as error:  # noqa: BLE001 each queue has its own exceptions
                    # The message could contain the URL with a password.
                    detail = f": {error}" if isinstance(error, (ImportError, *self.shown_errors)) else ""
                    self._problem = (
                        f"Pages cannot be sent: {self.queue_label()} does not accept messages "
                        f"({type(error).__name__}{detail})"
                    )
                    logger.warning("%s", self._problem)
                    return
                page.sent_at = self.clock()
                self._waiting.append(page)

    def _look(self) -> None:
        """Notice what workers have claimed, answered or dropped, and send further pages.

        One listing is enough for all pages. It can take long in a large run, so it is repeated only after
        it has taken a small share of the time.
        """
        begun = self.clock()
        sent = [page for page in {*self._waiting, *self._pages} if page.sent_at < inf]
        if not sent or begun < self._next_look:
            return
        try:
            names = sent[0].folder.names()
        except (ExportError, OSError) as error:
            # The next one may succeed. Until then, pages are rendered here.
            logger.warning("The folder of the run cannot be read: %s", reason_of(error))
            self._next_look = begun + _LONG
            return
        now = self.clock()
        self._next_look = now + max(_SHORT, (now - begun) / _SHARE)
        claims = replies = taken = 0
        for page in sent:
            claim, reply, dropped = (f"{page.folder.token}{ending}" in names for ending in ENDINGS)
            if reply and page.finish is None and not (page.is_own or page.is_refused):
                self._take_reply(page)
                replies += 1
            elif claim and page.is_free and not page.is_refused and page.folder.claimed_by() is not None:
                page.claimed_at = now
                claims += 1
            if page in self._waiting and (reply or dropped or page.claimed_at is not None):
                self._has_workers, taken = True, max(taken, self._waiting.index(page) + 1)
        # A queue is in order: what was sent before a message that was taken was taken, too. If a worker is
        # free but takes none, the messages may have vanished in others. Then one more shows if that is so.
        if claims or replies:
            self._free_since = inf if claims else now
        if not taken and now - self._free_since > _READY:
            self._free_since, taken = inf, 1
        del self._waiting[:taken]
        self._send()

    @property
    def _old(self) -> float:
        """Seconds after which a claim is old."""
        return max(_OLD, 2 * self._slowest) if self._slowest else _OLD_FIRST

    def _take_reply(self, page: _Page) -> None:
        try:
            rendered = page.folder.read_reply(page.task)
        except (ExportError, OSError) as error:
            what = error if isinstance(error, ExportError) else reason_of(error)
            reason = f"A {self.worker_name} refused a page: {what}".rstrip(".")
            if reason not in self._refusals:
                logger.warning("%s", reason)
                if len(self._refusals) >= _MOST_REASONS:
                    reason = f"A {self.worker_name} refused a page for another reason, which the log has"
            self._refusals[reason] += 1
            page.refuse()
        else:
            if page.child is not None and rendered.worker.endswith(f"(pid {page.child.pid})"):
                rendered = rendered._replace(worker="")
            page.finish = lambda: rendered
        self._has_workers = True

    def _render_here(self, page: _Page) -> None:
        if page.sent_at < inf and not page.is_refused:
            # A worker may have claimed it since the last look, and a listing can be late.
            if page.folder.has_reply():
                self._take_reply(page)
            elif page.folder.claimed_by() is not None:
                page.claimed_at = self.clock()
            if not page.is_free or page.is_refused:
                self._next_look = 0.0
                return
            # It is advice, so the page can be rendered without it.
            with suppress(ExportError, OSError):
                page.folder.claim()
        page.is_own = True
        page.finish = self._render(page.task, self._look)
        previous, self._finishing = self._finishing, page
        if previous is not None and previous.finish is not None:
            rendered = self._finish(previous.finish)
            previous.finish = lambda: rendered

    def _finish(self, finish: Callable[[], RenderedPage]) -> RenderedPage:
        rendered = finish()
        self._slowest = max(self._slowest, rendered.costs.seconds)
        return rendered

    def _check_claim(self, page: _Page) -> None:
        """Render a page whose claim is old in a process of its own: it may have killed its worker."""
        label = f"{page.task.label}: the worker that claimed it did not return it"
        if page.child is not None:
            status = page.child.poll()
            if status is None or page.folder.has_reply():
                return
            if status != SURVIVED:
                raise ExportError(
                    f"{label}, and the process that then rendered it here died (exit status {status}); the "
                    "system may have killed it for lack of memory"
                )
            # The page did not kill the process, but the reply could not be written.
            page.refuse()
            return
        age = self.clock() - (page.claimed_at or 0.0)
        if age > self._old:
            logger.warning("%s within %.0f seconds, so it is rendered here.", label, age)
            self._lost += 1
            if self._lost > self.workers and self._problem is None:
                self._problem = (
                    f"A {self.worker_name} claimed a page and did not return it, {self._lost} times, so no "
                    "more pages were sent. The log of the workers may say why they end"
                )
            try:
                page.child = start_alone(page.message)
            except OSError as error:
                raise ExportError(
                    f"{label}, and no process can be started here to render it: {reason_of(error)}"
                ) from error
