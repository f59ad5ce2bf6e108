"""Storages in memory, and what they hold."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import django
from django.test import override_settings

from django_sitemaps09.stores import LocalStore, RemoteStore, only_one
from django_sitemaps09.stores import lease as leases
from tests.support.stores import Overwriting, in_redis, storage


def die(*arguments: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def killed(folder: Path) -> None:
    """A write that ends as by a power cut, before its file is moved in."""
    Path.replace = die  # type: ignore[method-assign,assignment]
    LocalStore(folder).write("sitemap.xml", b"after")


def limited(folder: Path) -> None:
    """A write under a system that lets no file grow over 4 kB."""
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (4_096, 4_096))
    try:
        LocalStore(folder).write("sitemap.xml", b"x" * 10_000)
    except OSError as error:
        sys.stdout.write(type(error).__name__)


def killed_with_the_lock(folder: Path) -> None:
    with only_one(LocalStore(folder)):
        die()


def killed_with_the_lease(prefix: Path) -> None:
    leases.LEASE = 2
    declared = {"sitemaps": storage(Overwriting)}
    caches = in_redis(str(prefix))
    with override_settings(STORAGES=declared, CACHES=caches), only_one(RemoteStore("sitemaps")):
        die()


if __name__ == "__main__":
    django.setup()
    functions = [killed, limited, killed_with_the_lock, killed_with_the_lease]
    {function.__name__: function for function in functions}[sys.argv[1]](Path(sys.argv[2]))
