"""The side of the workers: claim the page of a message, render it, and reply.

A claim is a small signed file in the folder of the run, written once. It is advice, not a lock: if two
processes render the same page, that costs a page, since each stages a file of its own.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import socket
import subprocess
import sys
import time
from contextlib import suppress

import django
from django.conf import settings

from django_sitemaps09.entries import MAX_MESSAGE, excerpt, reason_of
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.engines import database_addresses, messages, use_addresses
from django_sitemaps09.export.engines.messages import Folder
from django_sitemaps09.export.interrupts import time_limited
from django_sitemaps09.export.rendering.page import EXPECTED, render_page

logger = logging.getLogger(__name__)

#: Seconds that a worker waits after each message that it refuses, so that other workers get their share.
PAUSE = 1.0
#: Exit status of a process of `start_alone()` that has handled its message. Code of the project that ends
#: the process has another one, such as 0.
SURVIVED = 87
_RENDER = f"from {__name__} import render_alone; render_alone()"


def handle_message(message: object, *, is_awaited: bool = False) -> None:
    """Render the page of a message in a worker, and write the reply to the run's folder.

    A page that is claimed or has a reply is left alone, unless it `is_awaited`.
    """
    folder = None
    try:
        content, key = messages.unsign(message)
        folder = Folder(content, key)
        if not folder.is_active():
            # It is normal that messages are left when a run ends, for pages that the command rendered.
            logger.warning("A message was ignored: no export in %s is waiting for it.", folder.store.label)
            # But a worker that does not see the target must leave messages to those that see it.
            if not folder.is_visible():
                time.sleep(PAUSE)
            return
        if folder.is_taken() and not is_awaited:
            folder.drop()
            return
        renderer, task = messages.read(content)
        folder.claim()
        own_task = task._replace(prefix=f"{secrets.token_hex(4)}-")
        with time_limited():
            rendered = render_page(renderer, own_task, before_staging=folder.check)
        folder.reply(messages.build_reply(rendered))
    except Exception as error:
        reason = excerpt(error, MAX_MESSAGE) if isinstance(error, ExportError) else reason_of(error)
        if isinstance(error, OSError) and error.strerror:
            # The command names each reason once, so without the name of the file.
            reason = f"{type(error).__name__}: {error.strerror}"
        logger.error("A message was refused: %s", reason, exc_info=not isinstance(error, EXPECTED))
        # Without a valid message, there is no folder that can be trusted. It may also be missing or full.
        if folder is not None:
            with suppress(Exception):
                if not folder.has_reply():
                    folder.reply({"failure": f"{socket.gethostname()}: {reason}"})
        time.sleep(PAUSE)


def start_alone(message: str) -> subprocess.Popen[bytes]:
    """Start a process of this machine that handles one message, and return it.

    Raise `OSError` if it cannot be started. It does not use `multiprocessing`, because a worker of Celery,
    which can run the export, must not start processes with that.
    """
    if not sys.executable:
        raise OSError("the Python that runs this process is unknown")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, filter(None, sys.path)))}
    # A project can have configured its settings without a module.
    environment["DJANGO_SETTINGS_MODULE"] = getattr(settings, "SETTINGS_MODULE", None) or ""
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", _RENDER],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env=environment,
        start_new_session=True,
    )
    with suppress(BrokenPipeError), process.stdin as stdin:  # type: ignore[union-attr]
        # The name of a database can be a path.
        stdin.write(json.dumps([message, database_addresses()], default=str).encode())
    return process


def render_alone() -> None:
    """Handle the message on standard input: what `start_alone()` runs."""
    message, addresses = json.load(sys.stdin)
    django.setup(set_prefix=False)
    use_addresses(addresses)
    handle_message(message, is_awaited=True)
    sys.exit(SURVIVED)
