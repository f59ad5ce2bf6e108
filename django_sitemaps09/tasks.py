"""The Celery tasks. Celery's `autodiscover_tasks()` imports this module. Without Celery, there are none."""

from __future__ import annotations

from importlib.util import find_spec

__all__ = ["export", "render"]

if find_spec("celery"):
    from celery import shared_task

    from django_sitemaps09.export.engines.celery import render
    from django_sitemaps09.export.exports import run_export

    #: Exports the named sections, or all of them, and returns the result of `run_export()`.
    export = shared_task(name="django_sitemaps09.export", serializer="json")(run_export)


def __getattr__(name: str) -> object:
    if name in __all__:
        raise ImportError(
            f"{__name__}.{name} is a Celery task. Install the extra `celery`. The task of Django Tasks is "
            "django_sitemaps09.django_tasks.export."
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
