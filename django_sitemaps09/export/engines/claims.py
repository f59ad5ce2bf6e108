"""Claims of workers, by which the command notices within seconds that the worker of a page has died.

A claim is a small signed file in the folder of the run. A worker writes it before it renders a page, and
changes it every few seconds. The command only checks whether it has changed since it last read it, so the
clocks of the machines do not matter.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from threading import Event, Thread

from django.core.cache import caches
from django.db import connections

from django_sitemaps09.entries import reason_of
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.engines.messages import Claim, Folder

logger = logging.getLogger(__name__)

#: Seconds between two renewals of a claim.
RENEWAL = 5.0
#: Seconds without a change after which a worker counts as dead. Several times `RENEWAL`, so a few may fail.
EXPIRY = 30.0


@contextmanager
def claimed(folder: Folder, attempt: str) -> Iterator[None]:
    """Claim a page for an attempt to render it, and renew the claim until the block ends.

    The first claim is written before the block starts. Otherwise, a page that kills its worker at once
    would look like a page that no worker has taken.
    """
    claim = Claim(attempt, 0, socket.gethostname())
    try:
        folder.write_claim(claim)
    except (ExportError, OSError) as error:
        # The page can still be rendered.
        logger.warning("A claim in %s could not be written: %s", folder.store.label, reason_of(error))
    end_event = Event()
    thread = Thread(target=_renew, args=[folder, claim, end_event], name="sitemap-claim", daemon=True)
    thread.start()
    try:
        yield
    finally:
        end_event.set()
        thread.join()


def _renew(folder: Folder, claim: Claim, end_event: Event) -> None:
    """Renew a claim at intervals until the run ends: a late worker must not create its folder again."""
    try:
        for number in count(1):
            if end_event.wait(RENEWAL):
                return
            try:
                if not folder.is_active():
                    return
                folder.write_claim(claim._replace(number=number))
            except Exception:
                logger.warning("A claim in %s could not be renewed", folder.store.label, exc_info=True)
    finally:
        # Storages and caches have separate connections in each thread.
        caches.close_all()
        connections.close_all()
