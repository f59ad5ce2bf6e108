"""Interface of engines that render pages outside of this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from django_sitemaps09.export.rendering.page import RenderedPage, Renderer, Task


class Engine(Protocol):
    """Engine that renders pages outside of this process, created with the number of workers.

    It is entered as a context manager before the first page. The optional attribute `default_workers` is
    the default number of workers. The optional static method `check` is called by system checks. It returns
    a warning or `None`, and raises `ImproperlyConfigured` if the engine cannot be used. The optional
    attribute `failures` lists messages, which are added to the report after the last page.
    """

    workers: int

    def __enter__(self) -> Engine: ...

    def __exit__(self, *error: object) -> None: ...

    def submit(self, renderer: Renderer, task: Task) -> Callable[[], RenderedPage]:
        """Submit a page, and return a function that waits for the result and raises errors.

        Workers call `render_page(renderer, task, check=check_declaration)`. This call finds the section by
        name, and raises `ExportError` if the worker's declaration differs.
        """
