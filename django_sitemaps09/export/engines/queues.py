"""Send pages to workers that read a queue, and render here what none of them has claimed.

The export is a worker, too: it takes the next result if it is there, and otherwise renders a page that
nobody has claimed. So it need not know whether workers exist, and waits only for pages that are claimed.
Messages can be delivered twice: each attempt stages a file, and the first complete reply is used.
"""

from __future__ import annotations

import logging
import time
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from math import inf

from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.engines import Engine, messages
from django_sitemaps09.export.engines.messages import CLAIM, HANDLED, OWN, REPLY, Folder, start_alone
from django_sitemaps09.export.page import RenderedPage, Renderer, Task
from django_sitemaps09.protocol.fields import pluralize, reason_of

logger = logging.getLogger(__name__)

# Seconds between two looks at the folder of the run, and the share of the time that they may take.
_PAUSE, _SHARE = 0.05, 0.2
# The share of the time since a claim that may pass before the next look.
_WAITED = 0.05
# Seconds within which a worker that is free takes the next message.
_READY = 0.5
# Seconds after which a claim is old: at least, and as long as no page of the section is rendered. If no
# worker takes the first message for so long, that is a warning, and a failure.
_OLD, _OLDEST = 5.0, 30.0


@dataclass(slots=True, eq=False)
class _Page:
    """A page of the window. `is_sent` is true while a worker can claim or return it.

    `number` is the place of its message among those of the run. `claimed_at` is `None` while the page is
    free: it is neither claimed nor rendered.
    """

    task: Task
    message: str
    folder: Folder
    is_sent: bool = False
    number: int = 0
    claimed_at: float | None = None
    rendered: RenderedPage | None = None


class QueueEngine(Engine):
    """Base class of engines that send each page to a queue, once.

    They leave messages in the queue: workers ignore them after the run, because its folder is gone.
    """

    default_workers = 8
    #: What log messages and errors call a worker.
    worker_name: str
    #: Exceptions of the queue whose texts contain no credentials.
    shown_errors: tuple[type[Exception], ...] = ()
    #: Whether the export itself runs in a worker. If this is the only one, it has to render all pages.
    in_worker = False
    #: The clock, and how to wait; for tests.
    clock: Callable[[], float] = staticmethod(time.monotonic)
    sleep: Callable[[float], None] = staticmethod(time.sleep)

    def __init__(self, workers: int) -> None:
        # Workers need enough to do while the command renders a page, even if it is slower than they.
        super().__init__(workers)
        self.ahead = 8 * workers
        # Pages that are not returned yet, and those of them that were not sent yet, in their order.
        self._pages: list[_Page] = []
        self._unsent: deque[_Page] = deque()
        self._begin_run(None)

    def put(self, message: str) -> None:
        """Add a message to the queue. An `ExportError` is a failure of the section; no other error is."""
        raise NotImplementedError

    def describe(self) -> tuple[str, str]:
        """Return the name and the address of the queue, without credentials, and how to start a worker."""
        raise NotImplementedError

    def _begin_run(self, folder: Folder | None) -> None:
        self._folder = folder
        # The tokens of all messages, when the first was sent, and how many have left the queue.
        self._tokens: list[str] = []
        self._begun, self._taken = inf, 0
        # Since when a worker that has replied has claimed no page, and how many claims were in vain.
        self._next_look, self._free_since, self._lost = 0.0, inf, 0
        # Why nothing more is sent, and why workers refused pages, with the numbers of pages.
        self._problem, self._refusals = "", Counter[str]()

    def begin_section(self, render: Callable[..., Callable[[], RenderedPage]]) -> None:
        super().begin_section(render)
        # A section that failed leaves pages.
        self._pages.clear()
        self._unsent.clear()
        # The last page that was rendered here is completed by a thread.
        self._complete: Callable[[], None] = lambda: None
        self._slowest = 0.0

    def submit(self, renderer: Renderer, task: Task) -> Callable[[], RenderedPage]:
        if renderer.stage is None:
            # A dry run has no folder for replies from workers.
            return self._sitemaps09_render(task)
        message = messages.build_message(renderer, task)
        page = _Page(task, messages.sign(message), Folder(message))
        if self._folder is None or self._folder.stage != renderer.stage:
            page.folder.open()
            self._begin_run(page.folder)
        self._pages.append(page)
        self._unsent.append(page)
        self._send()
        result = partial(self._result, page)
        result.abandon = partial(self._abandon, page)  # type: ignore[attr-defined]
        return result

    def _abandon(self, page: _Page) -> None:
        """Let workers drop the page. The section waits for those that are rendered here."""
        if page.is_sent and page.claimed_at is None:
            page.folder.write(OWN)

    def _result(self, page: _Page) -> RenderedPage:
        """Return a page from whoever has rendered it. Meanwhile, render pages that nobody has claimed."""
        self._look()
        while page.rendered is None:
            # The awaited page, or else that which is needed last.
            free = next((each for each in (page, *reversed(self._pages)) if each.claimed_at is None), None)
            if free is not None:
                self._render_here(free)
            elif page.is_sent:
                self._check_claim(page)
            else:
                self._complete()
            self._look()
        self._pages.remove(page)
        return page.rendered

    def end_run(self) -> None:
        """Set the messages for the report of the run."""
        self.failures: list[str] = []
        self.warnings: list[str] = [
            f"{reason}. The export itself rendered {pluralize(pages, 'page')}."
            for reason, pages in self._refusals.most_common(5)
        ]
        if (others := len(self._refusals) - len(self.warnings)) > 0:
            reasons = pluralize(others, "other reason")
            self.warnings.append(f"Pages were refused for {reasons}; see the log.")
        if self._problem:
            self.warnings.append(f"{self._problem}. The export itself rendered the pages.")
        self._unsent.clear()
        self._next_look = 0.0
        self._look()
        waited = self.clock() - self._begun
        # A short run can be over before a worker asks the queue for the first time.
        if waited >= _OLD and not self._taken:
            queue, command = self.describe()
            is_failure = waited >= _OLDEST and not self.in_worker
            (self.failures if is_failure else self.warnings).append(
                f"No {self.worker_name} took a page, so the export itself rendered all. Start a worker "
                f"that reads {queue} ({command}), has the same SECRET_KEY, and can access the files as the "
                "same user. If one is running, its log says whether it refused a page."
            )
        self._begin_run(None)

    def _send(self) -> None:
        """Send pages in their order, while few messages are in the queue."""
        # If a worker is free but takes none, all may have vanished in others. One more shows if that is so.
        most = 2 * self.workers + (self.clock() - self._free_since > _READY)
        while self._unsent and not self._problem and len(self._tokens) - self._taken < most:
            page = self._unsent.popleft()
            if page.claimed_at is not None:
                continue
            try:
                self.put(page.message)
            except ExportError:
                raise
            except Exception as error:  # noqa: BLE001 each queue has its own exceptions
                # The message could contain the URL with a password.
                detail = f": {error}" if isinstance(error, (ImportError, *self.shown_errors)) else ""
                self._problem = (
                    f"Pages cannot be sent: {self.describe()[0]} does not accept messages "
                    f"({type(error).__name__}{detail})"
                )
                logger.warning("%s", self._problem)
                return
            self._tokens.append(page.folder.token)
            page.is_sent, page.number = True, len(self._tokens)
            self._begun = min(self._begun, self.clock())

    def _look(self) -> None:
        """Notice what workers have claimed, answered or dropped, and send further pages.

        One listing is enough for all pages. It can take long in a large run, so it is repeated only after
        it has taken a small share of the time.
        """
        begun = self.clock()
        if self._folder is None or not self._tokens or begun < self._next_look:
            return
        names = self._folder.names()
        now = self.clock()
        self._next_look = now + (1.0 if names is None else max(_PAUSE, (now - begun) / _SHARE))
        if names is None:
            return
        for page in self._pages:
            endings = (REPLY,) if page.claimed_at else (REPLY, CLAIM)
            if page.is_sent and any(f"{page.folder.token}{ending}" in names for ending in endings):
                self._notice(page)
        for number, token in enumerate(self._tokens[self._taken :], self._taken + 1):
            if not names.isdisjoint((f"{token}{CLAIM}", f"{token}{REPLY}")):
                # A queue is in order: earlier messages were taken, too.
                self._taken = number
        self._send()

    def _notice(self, page: _Page) -> None:
        """Notice the reply or the claim of a worker, even if a listing does not have it yet."""
        try:
            rendered = page.folder.read_reply(page.task)
        except ExportError as error:
            reason = f"A {self.worker_name} refused a page: {error}".rstrip(".")
            if reason not in self._refusals:
                logger.warning("%s", reason)
            self._refusals[reason] += 1
            page.is_sent, page.claimed_at, self._free_since = False, None, self.clock()
            return
        if rendered is not None:
            self._free_since = self.clock()
            self._return(page, rendered)
        elif page.claimed_at is None and page.folder.has(CLAIM):
            page.claimed_at, self._free_since = self.clock(), inf
        if page.claimed_at is not None:
            self._taken = max(self._taken, page.number)

    def _return(self, page: _Page, rendered: RenderedPage) -> None:
        page.is_sent, page.claimed_at, page.rendered = False, self.clock(), rendered
        self._slowest = max(self._slowest, rendered.costs.seconds)

    def _render_here(self, page: _Page) -> None:
        if page.is_sent:
            # A listing can be late.
            self._notice(page)
            if page.claimed_at is not None:
                self._next_look = 0.0
                return
            # This lets workers drop the message. It is advice, so the page can be rendered without it.
            with suppress(ExportError, OSError):
                page.folder.write(OWN)
        page.is_sent, page.claimed_at = False, self.clock()
        wait = self._sitemaps09_render(page.task, self._look)
        # As if there were no workers, a thread completes one page while the next one is read.
        self._complete()
        self._complete = lambda: self._return(page, wait())

    def _check_claim(self, page: _Page) -> None:
        """Wait for a page. If its claim is old, render it in a process: it may have killed its worker."""
        age = self.clock() - (page.claimed_at or 0.0)
        if age <= (max(_OLD, 2 * self._slowest) if self._slowest else _OLDEST):
            self.sleep(max(_PAUSE, min(1.0, _WAITED * age)))
            return
        label = f"{page.task.label}: the worker that claimed it did not return it"
        logger.warning("%s within %.0f seconds, so it is rendered here.", label, age)
        self._lost += 1
        if self._lost > self.workers and not self._problem:
            self._problem = (
                f"No more pages were sent, since workers did not return {self._lost} that they claimed"
            )
        try:
            child = start_alone(page.message)
        except OSError as error:
            problem = f"no process can be started here to render it: {reason_of(error)}"
            raise ExportError(f"{label}, and {problem}") from error
        try:
            # The worker may return it, too.
            while page.rendered is None and child.poll() is None:
                self.sleep(_PAUSE)
                self._look()
        finally:
            child.kill()
            status = child.wait()
        if page.rendered is None and page.is_sent:
            # A listing can be late.
            self._notice(page)
        if page.rendered is None:
            if status != HANDLED:
                raise ExportError(
                    f"{label}, and the process that then rendered it here died (exit status {status}); the "
                    "system may have killed it for lack of memory"
                )
            # The reply could not be written or read.
            page.is_sent, page.claimed_at = False, None
