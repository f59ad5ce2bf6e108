"""Check robots.txt, and which URLs it forbids."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from django_sitemaps09 import protocol
from django_sitemaps09.audit import libraries
from django_sitemaps09.audit.bodies import Reader, decoded, limit_size
from django_sitemaps09.audit.findings import Findings
from django_sitemaps09.entries import reason_of
from django_sitemaps09.exceptions import DocumentError
from django_sitemaps09.protocol import Base
from django_sitemaps09.robots import MAX_BYTES

_DISALLOW = re.compile(r"^\s*disallow\s*:\s*[^\s#]", re.IGNORECASE | re.MULTILINE)


class Robots:
    """The rules of one robots.txt for named agents. `sitemaps` has the URLs of its `Sitemap` lines."""

    def __init__(self, base: Base | None = None, text: str = "", agents: Sequence[str] = ("*",)) -> None:
        self._base = base
        self._start = f"{base}/"
        self._parser: Any = libraries.protego.Protego.parse(text)
        self._agents = agents if _DISALLOW.search(text) else ()
        self.sitemaps = tuple(dict.fromkeys(url.strip() for url in self._parser.sitemaps))
        self._bases = {origin(url) for url in self.sitemaps} - {None}

    def blocking_agents(self, url: str) -> Iterator[str]:
        """Yield the agents that must not request a URL. URLs on other hosts have rules of their own."""
        if self._agents and url.startswith(self._start):
            for agent in self._agents:
                if not self._parser.can_fetch(url, agent):
                    yield agent

    def submits(self, base: Base | None, document_base: Base | None) -> bool:
        """Return whether documents on `document_base` may list URLs on `base` (cross-submission)."""
        return base is not None and base == self._base and document_base in self._bases


def origin(url: str) -> Base | None:
    """Return the origin of a URL, or `None` if the URL is invalid."""
    try:
        return protocol.origin(url)
    except ValueError:
        return None


class RobotsLocation(NamedTuple):
    """Location of a robots.txt: at a base URL, or else in a local `file`.

    If `is_expected` is false, a missing robots.txt is not a finding.
    """

    base: Base
    file: Path | None = None
    is_expected: bool = True

    @property
    def url(self) -> str:
        return f"{self.base}/robots.txt"


def read_robots(reader: Reader, where: RobotsLocation, agents: Sequence[str], findings: Findings) -> Robots:
    """Read a robots.txt, and apply the rules that need no other document."""
    place = reader.label(where.url)
    content: bytes | None = None
    try:
        with reader.open(where.url) as response:
            if response.status >= 500:
                raise DocumentError("robots-unreachable", f"status {response.status}")
            if response.status < 400:
                chunks = decoded(response, lambda rule, detail: findings.add(rule, place, detail))
                content = _content(chunks, place, findings)
        if content is None and where.file is not None and where.file.is_file():
            with where.file.open("rb") as opened:
                content = _content(iter(partial(opened.read, MAX_BYTES), b""), place, findings)
    except OSError as error:
        findings.add("robots-unreachable", place, reason_of(error))
    except DocumentError as error:
        findings.add("robots-unreachable", place, error)
    try:
        text = (content or b"").removeprefix(b"\xef\xbb\xbf").decode()
    except UnicodeDecodeError as error:
        findings.add("robots-encoding", place, error)
        text = (content or b"").decode(errors="replace")
    robots = Robots(where.base, text, agents)
    if not robots.sitemaps and (content is not None or where.is_expected):
        findings.add("robots-no-sitemap", place)
    for sitemap in robots.sitemaps:
        if origin(sitemap) is None:
            findings.add("robots-line", place, sitemap)
    return robots


def _content(chunks: Iterator[bytes], place: str, findings: Findings) -> bytes:
    """Return the part of a robots.txt that Google reads."""
    pieces = []
    try:
        for piece in limit_size(chunks, MAX_BYTES, "robots-size"):
            pieces.append(piece)  # noqa: PERF402 the pieces before the error are used
    except DocumentError as error:
        if error.rule != "robots-size":
            raise
        findings.add(error.rule, place, error)
    return b"".join(pieces)
