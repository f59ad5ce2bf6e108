"""The interface of engines, which render pages elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from django_sitemaps09.export.rendering.page import Rendered, Renderer, Task


class Engine(Protocol):
    """Renders pages elsewhere. Created with the number of workers, entered before the first page.

    An attribute `default_workers` is the number of workers used if none is given.
    """

    workers: int

    def __enter__(self) -> Engine: ...

    def __exit__(self, *error: object) -> None: ...

    def submit(self, renderer: Renderer, task: Task) -> Callable[[], Rendered]:
        """Submit a page; return a function that waits for it, and raises what has gone wrong.

        The page is rendered by `render_page(renderer, task, check=check_declaration)`, which finds the
        section by its name, and refuses it if this process would render another one.
        """
