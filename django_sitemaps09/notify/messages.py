"""Messages to search engines, each for one host, as they are stored until they are submitted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple

from django_sitemaps09 import protocol

#: `indexnow`: URLs that were added, changed or removed. `ping`: the URL of a sitemap that has changed.
Kind = Literal["indexnow", "ping"]
#: Maximum number of URLs in a message.
MAX_URLS: dict[Kind, int] = {"indexnow": protocol.MAX_MESSAGE_URLS, "ping": 1}
# Maximum number of URLs in memory. If there are many hosts, some messages are not full.
_MAX_BUFFERED = 10 * protocol.MAX_MESSAGE_URLS


class Message(NamedTuple):
    """URLs of one host. `endpoints` has the ids of the endpoints that still need them; `None`: all."""

    kind: Kind
    host: str
    urls: tuple[str, ...]
    endpoints: tuple[str, ...] | None = None


def host_of(url: str) -> str | None:
    """Return the host of a URL, with its port if that is not the default; `None` if it is not a URL.

    A URL has no control characters and no surrogates: these could end or deceive what prints or sends it.
    """
    try:
        return protocol.origin(url).domain if url.isprintable() else None
    except ValueError:
        return None


def pings(urls: Iterable[str]) -> Iterator[Message]:
    """Yield a message for the URL of each sitemap."""
    for url in urls:
        if host := host_of(url):
            yield Message("ping", host, (url,))


def changes(
    urls: Iterable[str], has_key: Callable[[str], bool], without_key: Counter[str]
) -> Iterator[Message]:
    """Yield messages of at most 10,000 URLs for each host.

    URLs on hosts without a key are counted in `without_key` instead.
    """
    buffers: defaultdict[str, list[str]] = defaultdict(list)
    buffered = 0
    for url in urls:
        host = host_of(url)
        if host is None or not has_key(host):
            without_key[host or "no valid host"] += 1
            continue
        buffers[host].append(url)
        buffered += 1
        fullest = host if buffered < _MAX_BUFFERED else max(buffers, key=lambda name: len(buffers[name]))
        if len(buffers[fullest]) == protocol.MAX_MESSAGE_URLS or buffered == _MAX_BUFFERED:
            buffered -= len(buffers[fullest])
            yield Message("indexnow", fullest, tuple(buffers.pop(fullest)))
    for host, rest in buffers.items():
        yield Message("indexnow", host, tuple(rest))
