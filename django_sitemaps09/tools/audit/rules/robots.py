"""Check robots.txt, and which URLs it forbids."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from django_sitemaps09 import protocol
from django_sitemaps09.exceptions import DocumentError
from django_sitemaps09.protocol import Base, reason_of
from django_sitemaps09.protocol.robots import MAX_BYTES
from django_sitemaps09.tools.audit.readers import Reader, optional, read_start
from django_sitemaps09.tools.audit.rules import Findings

protego = optional("protego")

# A `User-agent` line in the forms that Protego reads. The version of an agent does not count.
_AGENT = re.compile(r"\s*user[ -]?agent(?:\s*:|\s)\s*(\*(?=\s|#|$)|[^\s/*#]*)", re.IGNORECASE)
_OTHER = "no-agent-of-this-audit"  # The name that stands for all other agents.
# A rule that forbids something. Protego also reads several misspellings.
_DISALLOW = re.compile(r"\s*d[a-z]+(?:\s*:\s*|\s+)[^\s#:]", re.IGNORECASE)
_CRAWLERS = ("Googlebot", "Bingbot")  # Crawlers whose rules are checked by default.
# The name of a field that Google ignores, and several URLs, or a tag, in the value of a field.
_MISSPELLED = re.compile(r"\s*(?:sitemaps|site[ _]map|sitemap[-_]url)\s*:", re.IGNORECASE)
_SEVERAL = re.compile(r"[\s<>]|[,;]\s*https?:", re.IGNORECASE)
_HTML = re.compile(rb"\s*<(?:!doctype|html|head|body)\b", re.IGNORECASE)


class RobotsRules:
    """The rules of one robots.txt for `agents`, of which there are none if it forbids nothing.

    `crawlers` of large engines have rules of their own. `sitemaps` has the URLs of the `Sitemap` lines.
    """

    def __init__(self, base: Base, text: str = "", agents: Sequence[str] = ("*",)) -> None:
        self.base, self._start = base, protocol.normalized(f"{base}/")
        lines = [*_simplified(text, (*agents, *_CRAWLERS))]
        self._parser: Any = protego.Protego.parse("\n".join(lines))
        self.agents = agents if any(map(_DISALLOW.match, lines)) else ()
        named = {match[1].lower() for match in map(_AGENT.match, lines) if match}
        self.crawlers = [name for name in _CRAWLERS if self.agents and name.lower() in named]
        self._size = len(text) * (len(self.agents) + len(self.crawlers))
        sitemaps: dict[str, str] = {}
        for url in map(str.strip, self._parser.sitemaps):
            sitemaps.setdefault(protocol.normalized(url), url)
        self.sitemaps = tuple(sitemaps.values())

    def blocking_agents(self, url: str, agents: Sequence[str] | None = None) -> Iterator[str]:
        """Yield the agents that must not request a URL. URLs on other hosts have rules of their own."""
        agents = self.agents if agents is None else agents
        if agents and (url := protocol.normalized(url)).startswith(self._start):
            for agent in agents:
                if not self._parser.can_fetch(url, agent):
                    yield agent

    def cost(self, urls: Sequence[str]) -> int:
        """Return the cost of `blocking_agents()` for these URLs: wildcards search whole URLs."""
        return self._size * (100 * len(urls) + sum(map(len, urls))) // 100


def _simplified(text: str, agents: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a robots.txt, with one name for all agents but these, and without versions."""
    # Protego keeps the rules of each agent: with thousands of agents, they would not fit into memory.
    names = {"*"}
    for agent in agents:
        for name in re.findall(r"[\w-]+", agent.lower()):
            # A crawler without rules of its own, such as Googlebot-News, uses those of Googlebot.
            names.update(accumulate(name.split("-"), "{}-{}".format))
    for line in text.splitlines():
        match = _AGENT.match(line)
        name = match[1].lower() if match else ""
        yield f"User-agent: {name if name in names else _OTHER}" if match else line


def origin(url: str) -> Base | None:
    """Return the origin of a URL, or `None` if the URL is invalid."""
    try:
        return protocol.origin(url)
    except ValueError:
        return None


def is_url(sitemap: str) -> bool:
    """Return whether the value of a `Sitemap` line is one absolute URL."""
    return origin(sitemap) is not None and not _SEVERAL.search(sitemap)


class RobotsLocation(NamedTuple):
    """Location of a robots.txt: at a base URL, or else in `file`. It may be missing unless expected."""

    base: Base
    file: Path | None = None
    is_expected: bool = True

    @property
    def url(self) -> str:
        return f"{self.base}/robots.txt"


def read_robots(
    reader: Reader, where: RobotsLocation, agents: Sequence[str], findings: Findings
) -> RobotsRules:
    """Read a robots.txt, and apply the rules that need no other document."""
    report, is_expected = findings.at(reader.label(where.url)), where.is_expected
    start: tuple[bytes, bool] | None = None
    try:
        with reader.open(where.url) as response:
            if response.status >= 500 or response.status == 429:
                raise DocumentError("robots-unreachable", f"status {response.status}")
            if response.status < 400:
                start = read_start(response.decoded(report), MAX_BYTES)
        if start is None and where.file is not None and where.file.is_file():
            with where.file.open("rb") as file:
                start = read_start(iter(partial(file.read, MAX_BYTES), b""), MAX_BYTES)
    except (DocumentError, OSError) as error:
        report("robots-unreachable", error if isinstance(error, DocumentError) else reason_of(error))
        is_expected = False
    content, is_longer = start or (b"", False)
    if is_longer:
        report("robots-size", f"more than {MAX_BYTES:,} bytes")
    content = content.removeprefix(codecs.BOM_UTF8)
    if is_html := _HTML.match(content):
        report("robots-type", "it contains HTML")
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        report("robots-encoding", error)
        text = content.decode(errors="replace")
    robots = RobotsRules(where.base, text, agents)
    if not robots.sitemaps and not is_html and (is_expected or start is not None):
        report("robots-no-sitemap")
    for sitemap in robots.sitemaps:
        if not is_url(sitemap):
            report("robots-line", sitemap)
    for number, line in enumerate(text.splitlines(), 1):
        if _MISSPELLED.match(line):
            report("robots-misspelled", line.strip(), number)
    return robots
