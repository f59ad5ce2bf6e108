"""The task of Django Tasks that runs a whole export: `export.enqueue()`."""

from __future__ import annotations

from typing import Any

from django_sitemaps09.export.exports import run_export

try:
    from django_sitemaps09.export.engines.django_tasks import route, tasks
except ModuleNotFoundError as error:
    raise ImportError(f"{__name__} needs Django 6.0 or the extra `tasks` ({error}).") from error

__all__ = ["export"]


# Unlike page tasks, an export prefers `default`, so that it does not block a worker that its pages need.
@tasks.task(**route("default", "sitemaps"))  # type: ignore[untyped-decorator]
def export(*sections: str, **options: Any) -> dict[str, Any]:
    """Export the named sections, or all of them, and return the result of `run_export()`."""
    return run_export(*sections, **options)
