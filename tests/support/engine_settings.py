"""Settings of processes of `tests.support.engine_project`, from the environment, and their Celery app."""

from __future__ import annotations

import json
import os
import signal
from threading import Thread

from tests.settings import *  # noqa: F403

globals().update(json.loads(os.environ["SITEMAPS09_TESTS_SETTINGS"]))


def end_with_the_tests():
    """End a worker with its processes when the tests close its standard input, even if they crash."""
    os.read(0, 1)
    os.killpg(0, signal.SIGKILL)


if "SITEMAPS09_TESTS_WORKER" in os.environ:
    Thread(target=end_with_the_tests, daemon=True).start()
if "CELERY_BROKER_URL" in globals():
    from celery import Celery

    app = Celery("shop")
    app.config_from_object("django.conf:settings", namespace="CELERY")
    app.autodiscover_tasks()
