"""Check robots.txt, and which URLs it forbids."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from django_sitemaps09 import protocol
from django_sitemaps09.audit import libraries
from django_sitemaps09.audit.bodies import decoded, limit_size
from django_sitemaps09.audit.readers import Reader
from django_sitemaps09.audit.report import Findings
from django_sitemaps09.entries import reason_of
from django_sitemaps09.exceptions import DocumentError
from django_sitemaps09.protocol import Base
from django_sitemaps09.robots import MAX_BYTES

# A `User-agent` line in the forms that Protego reads. The version of an agent does not count.
_AGENT = re.compile(r"\s*user[ -]?agent(?:\s*:|\s)\s*(\*(?=\s|#|$)|[^\s/*#]*)", re.IGNORECASE)
# The name that stands for all other agents.
_OTHER = "no-agent-of-this-audit"
# A rule that forbids something. Protego also reads several misspellings.
_DISALLOW = re.compile(r"\s*d[a-z]+\s*:\s*[^\s#]", re.IGNORECASE)


class Robots:
    """The rules of one robots.txt for named agents, of which there are none if it forbids nothing.

    `sitemaps` has the URLs of its `Sitemap` lines.
    """

    def __init__(self, base: Base, text: str = "", agents: Sequence[str] = ("*",)) -> None:
        self.base, self._start = base, f"{base}/"
        lines = [*_simplified(text, agents)]
        self._parser: Any = libraries.protego.Protego.parse("\n".join(lines))
        self.agents = agents if any(map(_DISALLOW.match, lines)) else ()
        self._size = len(text) * len(self.agents)
        self.sitemaps = tuple(dict.fromkeys(url.strip() for url in self._parser.sitemaps))

    def blocking_agents(self, url: str) -> Iterator[str]:
        """Yield the agents that must not request a URL. URLs on other hosts have rules of their own."""
        if url.startswith(self._start):
            for agent in self.agents:
                if not self._parser.can_fetch(url, agent):
                    yield agent

    def cost(self, urls: Sequence[str]) -> int:
        """Return the cost of `blocking_agents()` for these URLs: wildcards search whole URLs."""
        return self._size * (100 * len(urls) + sum(map(len, urls))) // 100


def _simplified(text: str, agents: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a robots.txt, in which all agents but these have one name, and none has a version.

    Protego keeps the rules of each agent: with thousands of agents, they would not fit into memory.
    """
    names = {"*"}
    for agent in agents:
        for name in re.findall(r"[\w-]+", agent.lower()):
            parts = name.split("-")
            # A crawler without rules of its own, such as Googlebot-News, uses those of Googlebot.
            names.update("-".join(parts[:count]) for count in range(1, len(parts) + 1))
    for line in text.splitlines():
        match = _AGENT.match(line)
        if match is None:
            yield line
        else:
            name = match[1].lower()
            yield f"User-agent: {name if name in names else _OTHER}"


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
            if response.status >= 500 or response.status == 429:
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
