"""Bodies of responses as streams: decompressed, and limited in size."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from django_sitemaps09.compression import GZIP_MAGIC
from django_sitemaps09.exceptions import DocumentError
from django_sitemaps09.protocol import MAX_BYTES

#: Maximum number of bytes to read or decompress at a time.
CHUNK = 262_144
#: Maximum seconds for reading one document.
DOCUMENT_SECONDS = 300.0
_MAX_LAYERS = 3


class Response(NamedTuple):
    """A response to a request. Header names are lower case. `redirects` has the URLs that led to `url`."""

    url: str
    status: int
    headers: Mapping[str, str]
    chunks: Iterator[bytes]
    redirects: tuple[str, ...] = ()


#: A function that reports a broken rule with details.
Report = Callable[[str, str], None]


def decoded(response: Response, report: Report) -> Iterator[bytes]:
    """Return the content without its Content-Encoding."""
    return _layer(response.chunks, report) if _is_encoded(response) else response.chunks


def _is_encoded(response: Response) -> bool:
    return response.headers.get("content-encoding", "").strip().lower() in ("gzip", "x-gzip")


def content(response: Response, report: Report) -> Iterator[bytes]:
    """Return the content without its layers of gzip. Raise `DocumentError` if the data are damaged."""
    is_encoded = _is_encoded(response)
    layers = int(is_encoded)
    chunks = decoded(response, report)
    while True:
        head, chunks = peek(chunks, len(GZIP_MAGIC))
        if not head.startswith(GZIP_MAGIC):
            return chunks
        layers += 1
        if layers > _MAX_LAYERS:
            raise DocumentError("gzip-damaged", f"there are more than {_MAX_LAYERS} layers of gzip")
        if layers == 2:
            report("gzip-twice", "Content-Encoding and content" if is_encoded else "gzip inside gzip")
        elif "xml" in response.headers.get("content-type", "") and not is_encoded:
            report("gzip-type", response.headers["content-type"])
        chunks = _layer(chunks, report)


def _layer(chunks: Iterable[bytes], report: Report) -> Iterator[bytes]:
    """Decompress one layer of gzip, up to a limit: a layer of terabytes can have no content inside."""
    return limit_size(_gunzip(chunks, report), 2 * MAX_BYTES, "document-too-large")


def limit_size(chunks: Iterable[bytes], most: int, rule: str) -> Iterator[bytes]:
    """Yield chunks of at most `most` bytes in total. Raise `DocumentError` if there are more."""
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > most:
            yield chunk[: most - size]
            raise DocumentError(rule, f"more than {most:,} bytes")
        yield chunk


def peek(chunks: Iterator[bytes], size: int) -> tuple[bytes, Iterator[bytes]]:
    """Return the first `size` or more bytes (fewer at the end), and an iterator over all chunks."""
    head = b""
    for chunk in chunks:
        head += chunk
        if len(head) >= size:
            break
    return head, chain([head] if head else [], chunks)


def _gunzip(chunks: Iterable[bytes], report: Report) -> Iterator[bytes]:
    """Decompress a gzip file, which can have several members."""
    stream = zlib.decompressobj(31)
    for chunk in chunks:
        data = chunk
        while data:
            if stream.eof:
                if not data.startswith(GZIP_MAGIC[:1]):
                    report("gzip-trailing", f"{data[:20]!r}")
                    return
                stream = zlib.decompressobj(31)
            try:
                if piece := stream.decompress(data, CHUNK):
                    yield piece
            except zlib.error as error:
                raise DocumentError("gzip-damaged", str(error)) from error
            data = stream.unused_data if stream.eof else stream.unconsumed_tail
    if not stream.eof:
        if rest := stream.flush():
            yield rest
        if not stream.eof:
            raise DocumentError("gzip-truncated", "the end of the gzip stream is missing")
