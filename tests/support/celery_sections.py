"""Sections that workers of queues render, and functions for `python -m tests.support.celery_sections`."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from tests.support import engine_project
from tests.support.engine_project import PAGE, ROWS, articles, gate
from tests.support.waiting import until

HASTY, DOUBLING = "shop.engine.Hasty", "shop.engine.Doubling"
WORKER = "SITEMAPS09_TESTS_WORKER"


def in_worker() -> bool:
    return WORKER in os.environ


def meet(name: str) -> None:
    """Wait until two processes have arrived."""
    if in_worker():
        gate(name).mkdir(exist_ok=True)
        gate(f"{name}/{os.getpid()}").touch()
        until(lambda: len([*gate(name).iterdir()]) > 1, "nobody came")


def wait_for(name: str) -> None:
    if in_worker():
        gate(f"{name}-{os.getpid()}").touch()
        until(gate(name).exists, f"nobody said {name}")


def meeting(self: Any, item: Any) -> str:
    """Wait at the first page of each of two workers."""
    if item.pk % PAGE == 1:
        meet("all")
    return f"/{os.getpid()}/{item.pk}/"


def twice_at_once(self: Any, item: Any) -> str:
    """Wait until two workers render the same page."""
    if item.pk % PAGE == 1:
        meet(f"page-{item.pk}")
    return f"/{item.slug}/"


def odd(self: Any, item: Any) -> str:
    """Raise errors with texts that are difficult for logs and JSON."""
    if item.pk % 50 == 7:
        raise ValueError(f"\u2028 \x1b[31m \U0001f600 \ud800 % {{}} \0 {item.pk}")
    return "https://elsewhere.example.net/" if item.pk % 50 == 8 else f"/{item.slug}/"


def broken(self: Any, item: Any) -> str:
    if item.pk == ROWS // 2 and in_worker():
        raise ImproperlyConfigured("the project is broken")
    return f"/{item.slug}/"


def deadly(self: Any, item: Any) -> str:
    """Kills the process that renders it, as the system does if memory runs out."""
    if item.pk == ROWS // 2 and in_worker():
        os.kill(os.getpid(), signal.SIGKILL)
    return f"/{item.slug}/"


def held(self: Any, item: Any) -> str:
    if item.pk == ROWS // 2:
        wait_for("killed")
    return f"/{item.slug}/"


def late(self: Any, item: Any) -> str:
    if item.pk % PAGE == 1:
        wait_for("published")
    return f"/{item.slug}/"


def steady(self: Any, item: Any) -> str:
    """Take 10 ms in a worker, and record when each process has rendered an item."""
    if in_worker():
        time.sleep(0.01)
    with gate(f"steady-{'worker' if in_worker() else 'command'}-{os.getpid()}").open("a") as file:
        print(time.time(), file=file)
    return f"/{item.slug}/"


#: The sections that the setting SITEMAPS names in all processes.
SECTIONS = {
    "a": articles(),
    "b": articles(),
    "one": articles(pks=5),
    **{
        hook.__name__: articles(location=hook)
        for hook in (meeting, odd, broken, deadly, held, late, steady)
    },
    "doubled": articles(location=twice_at_once),
}


def exported(folder: str, engine: str, *names: str, **options: Any) -> dict[str, Any]:
    return engine_project.exported(folder, names=names, engine=engine, **options)


def stored(engine: str, *names: str) -> dict[str, Any]:
    """Export to the storage of the settings."""
    return exported(None, engine, *names)  # type: ignore[arg-type]


def again(folder: str, engine: str) -> list[dict[str, Any]]:
    """Export twice; the second export has nothing to render."""
    return [exported(folder, engine, "a", changed_only=True) for _ in range(2)]


def dry(folder: str) -> dict[str, Any]:
    return exported(folder, HASTY, "a", dry_run=True)


def elsewhere(folder: str, engine: str) -> dict[str, Any]:
    """Export under a prefix and a URLconf that only this process has."""
    from django.urls import set_script_prefix, set_urlconf

    set_script_prefix("/shop/")
    set_urlconf("tests.support.engine_project")
    return exported(folder, engine, "a")


def send_again() -> None:
    """Return the last message, after the export has ended."""
    from shop.engine import Hasty

    Hasty(1)._send(json.loads(gate("sent").read_text().splitlines()[-1]))


def enqueued(*names: str) -> list[Any]:
    """Run an export in a worker of Django Tasks, and return the status and the result of its task."""
    from django_sitemaps09.django_tasks import export

    result = export.enqueue(*names)

    def is_finished() -> bool:
        result.refresh()
        return bool(result.is_finished)

    until(is_finished, "no worker completed the export")
    return [str(result.status), result.return_value]


def ordered(*names: str) -> None:
    """Run an export in a worker of Celery, which has no result backend."""
    from django_sitemaps09.tasks import export

    export.delay(*names)


def modules() -> list[str]:
    from django_sitemaps09.export import export

    assert export
    return [name for name in sys.modules if name.partition(".")[0] in ("celery", "kombu")]


def without_celery() -> str:
    from django_sitemaps09.export import engines

    sys.modules["celery"] = None  # type: ignore[assignment]
    try:
        engines.engine("celery", 2, elsewhere=True)
    except ImproperlyConfigured as error:
        return str(error)
    return ""


if __name__ == "__main__":
    import django

    django.setup()
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])))  # noqa: T201
