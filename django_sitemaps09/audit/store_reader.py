"""Read documents from a folder or a storage, as a web server would serve them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from urllib.parse import unquote

from django_sitemaps09.audit.bodies import CHUNK, Response
from django_sitemaps09.exceptions import DocumentError, ExportError
from django_sitemaps09.stores import Store


class StoreReader:
    """Reads files whose URLs begin with `prefix`, which ends in a slash."""

    def __init__(self, store: Store, prefix: str) -> None:
        self._store, self._prefix = store, prefix

    @contextmanager
    def open(self, url: str, *, redirects: bool = True) -> Iterator[Response]:
        """Open a file. The status is 404 if it does not exist, or if the URL has another prefix."""
        name = self.name(url)
        try:
            file = None if name is None else self._store.open(name)
        except ValueError:
            file = None
        except (ExportError, OSError) as error:
            raise DocumentError("document-unreachable", str(error)) from error
        if file is None:
            yield Response(url, 404, {}, iter(()))
            return
        with file:
            yield Response(url, 200, {}, iter(partial(file.read, CHUNK), b""))

    def label(self, url: str) -> str:
        return self.name(url) or url

    def name(self, url: str) -> str | None:
        """Return the name of the file at a URL, or `None` if the URL has another prefix."""
        return unquote(url[len(self._prefix) :]) if url.startswith(self._prefix) else None
