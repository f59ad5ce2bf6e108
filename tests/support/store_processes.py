"""Storages in memory, and readers of their files."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import django
from django.test import override_settings

from django_sitemaps09.stores import LocalStore, RemoteStore, exclusive_lock
from tests.support.stores import Overwriting, in_redis, storage


def die(*arguments: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def killed(folder: Path) -> None:
    """Write, and die before the file is moved, as in a power cut."""
    Path.replace = die  # type: ignore[method-assign,assignment]
    LocalStore(folder).write("sitemap.xml", b"after")


def limited(folder: Path) -> None:
    """Write with a limit of 4 kB for each file."""
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (4_096, 4_096))
    try:
        LocalStore(folder).write("sitemap.xml", b"x" * 10_000)
    except OSError as error:
        sys.stdout.write(type(error).__name__)


def killed_with_the_lock(folder: Path) -> None:
    with exclusive_lock(LocalStore(folder)):
        die()


def killed_with_the_lease(prefix: Path) -> None:
    declared = {"sitemaps": storage(Overwriting)}
    caches = in_redis(str(prefix))
    with override_settings(STORAGES=declared, CACHES=caches), exclusive_lock(RemoteStore("sitemaps")):
        die()


if __name__ == "__main__":
    django.setup()
    functions = [killed, limited, killed_with_the_lock, killed_with_the_lease]
    {function.__name__: function for function in functions}[sys.argv[1]](Path(sys.argv[2]))
