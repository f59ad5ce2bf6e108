"""How far an export is, on a terminal that can show a bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django_sitemaps09.export.report import PageFile

try:
    from tqdm import tqdm
except ImportError:
    # The extra `progress`.
    tqdm = None


@contextmanager
def bar(stream: Any, *, wanted: bool) -> Iterator[Callable[[str, PageFile], None]]:
    """What to call for each page that was rendered; nothing is shown in cron, in a pipe, without tqdm."""
    if tqdm is None or not wanted or not stream.isatty():
        yield lambda section, file: None
        return
    with tqdm(unit=" URLs", unit_scale=True, file=stream, leave=False) as shown:

        def page(section: str, file: PageFile) -> None:
            shown.set_description(section, refresh=False)
            shown.update(file.urls)
            shown.refresh()

        yield page
