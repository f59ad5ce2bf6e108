"""The side of the workers: render the page of a message, and claim it meanwhile.

A claim is a small signed file in the folder of the run, by which the command notices within seconds that a
worker has died. A worker writes it before it renders a page, and changes it every few seconds. The command
only checks whether it has changed since it last read it, so the clocks of the machines do not matter.
"""

from __future__ import annotations

import logging
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from django_sitemaps09.entries import MAX_MESSAGE, excerpt, reason_of
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.engines import messages
from django_sitemaps09.export.engines.messages import Claim, Folder
from django_sitemaps09.export.interrupts import time_limited
from django_sitemaps09.export.rendering.page import EXPECTED, check_declaration, render_page
from django_sitemaps09.stores.lock import renewed

logger = logging.getLogger(__name__)

#: Seconds between two renewals of a claim.
RENEWAL = 5.0
#: Seconds without a change after which a worker counts as dead. Several times `RENEWAL`, so a few may fail.
EXPIRY = 30.0


def handle_message(message: object, worker_name: str, *, is_redelivered: bool) -> None:
    """Render the page of a message in a worker, and write the reply to the run's folder.

    `is_redelivered` is true if the queue delivers the message again because a worker was lost.
    """
    try:
        content, key = messages.unsign(message)
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
    attempt = secrets.token_hex(4)
    try:
        with _claimed(folder, attempt):
            messages.check_version(content)
            if is_redelivered and folder.is_lost_again():
                raise ExportError(
                    "a page was delivered three times, and two workers were lost while rendering it"
                )
            renderer, task = messages.read(content)
            with time_limited():
                own_task = task._replace(prefix=f"{attempt}-")
                rendered = render_page(renderer, own_task, check=check_declaration)
            folder.write(messages.build_reply(rendered))
    except Exception as error:
        # Report any failure to the command, unless another attempt has replied in the meantime.
        reason = excerpt(error, MAX_MESSAGE) if isinstance(error, ExportError) else reason_of(error)
        logger.error("A page could not be rendered: %s", reason, exc_info=not isinstance(error, EXPECTED))
        if folder.reply() is None:
            folder.write({"failure": f"{worker_name} on {socket.gethostname()}: {reason}"})


@contextmanager
def _claimed(folder: Folder, attempt: str) -> Iterator[None]:
    """Claim a page for an attempt to render it, and renew the claim until the block or the run ends.

    The first claim is written before the block starts. Otherwise, a page that kills its worker at once
    would look like a page that no worker has taken.
    """
    claim = Claim(attempt, 0, socket.gethostname())
    try:
        folder.write_claim(claim)
    except (ExportError, OSError) as error:
        # The page can still be rendered.
        logger.warning("A claim in %s could not be written: %s", folder.store.label, reason_of(error))

    def renew() -> bool:
        nonlocal claim
        claim = claim._replace(number=claim.number + 1)
        # A late worker must not create the folder of its run again.
        is_active = folder.is_active()
        if is_active:
            folder.write_claim(claim)
        return is_active

    with renewed(renew, RENEWAL, "sitemap-claim", f"A claim in {folder.store.label}"):
        yield
