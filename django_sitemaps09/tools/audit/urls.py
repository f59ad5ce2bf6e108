"""Check URLs: their form, host and directory, the URLconf, and robots.txt, which is checked itself."""

from __future__ import annotations

import codecs
import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, chain
from operator import attrgetter
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from django_sitemaps09.conf import conf
from django_sitemaps09.declare import sections
from django_sitemaps09.declare.locations import resolve_path
from django_sitemaps09.exceptions import DocumentError
from django_sitemaps09.protocol import urls
from django_sitemaps09.protocol.fields import reason_of
from django_sitemaps09.protocol.filenames import parse_page_name
from django_sitemaps09.protocol.limits import MAX_LOCATION, MAX_ROBOTS_BYTES, YANDEX_MAX_LOCATION
from django_sitemaps09.protocol.urls import Base, are_plain, normalized, uri
from django_sitemaps09.tools.audit.read_entries import ReadEntry
from django_sitemaps09.tools.audit.readers import Reader, StoreReader, optional, peek
from django_sitemaps09.tools.audit.rules import Findings, Problem

protego = optional("protego")

#: Rules for URLs that are valid, but unlikely to be meant, in text with one URL on each line.
_SUSPICIOUS = {
    "url-placeholder": re.compile(r"(?m)/(?:None|undefined|null|NaN|%5Bobject%20Object%5D)(?=[/?]|$)"),
    "url-nested": re.compile(r"(?<!:/)/https?:/"),
    "url-session": re.compile(
        r"(?i)[;?&](?:(?:j|php|asp)sess(?:ion)?id\w*=|(?:session_?id|sid)=[\da-z]{16})"
    ),
    "url-encoding-twice": re.compile(r"%25(?:20|[C-Ec-e][0-9A-Fa-f]%25[89ABab])"),
    "url-document": re.compile(r"(?m)/(?:robots\.txt|sitemap[\w.-]*\.xml(?:\.gz)?)$"),
}
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
#: Number of URLs of a document that are all resolved, which takes more time than all other checks together.
#: Of the following URLs, every tenth is.
RESOLVE_ALL, _RESOLVE_EVERY = 1_000, 10
# Maximum cost of comparing the URLs of a document with robots.txt: about half a minute. With 6,000
# characters of rules, 50,000 URLs of usual length are compared.
_MAX_COST = 500_000_000
MAX_HOSTS = 20  #: Maximum number of other hosts whose robots.txt is read.
#: Middleware that answers paths that the URLconf does not match.
_FALLBACKS = ("FlatpageFallbackMiddleware", "RedirectFallbackMiddleware")
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


def origin(url: str) -> Base | None:
    """Return the origin of a URL, or `None` if the URL is invalid."""
    try:
        return urls.origin(url)
    except ValueError:
        return None


def url_problem(url: str) -> Problem | None:
    """Return the rule that the form of a URL breaks, with a detail; `None` if the form is valid."""
    if "#" in url:
        return "url-fragment", ""
    if not _ABSOLUTE.match(url):
        return "url-relative", ""
    if len(url) > MAX_LOCATION:
        return "url-length", f"{len(url):,} characters"
    return _cached_problem(url)


@lru_cache(1_000)
def _cached_problem(url: str) -> Problem | None:
    """Check a URL as a URI. Each alternate occurs once for each language."""
    try:
        encoded = uri(url)
    except ValueError as error:
        return "url-invalid", str(error)
    # A URL that differs only by its case, or by the slash after the host, needs no encoding.
    if encoded.lower().rstrip("/") not in (url.lower().rstrip("/"), url.lower().replace("?", "/?", 1)):
        return "url-encoding", f"write {encoded}"
    return None


def directory(url: str) -> str:
    """Return the URL of the directory that contains a document, with a slash at the end."""
    return normalized(url).partition("?")[0].rpartition("/")[0] + "/"


def is_inside(url: str, scope: str) -> bool:
    """Return whether the path of a URL is in a directory on the same host."""
    return urlsplit(normalized(url)).path.startswith(urlsplit(scope).path)


def is_sitemap_url(value: str) -> bool:
    """Return whether the value of a `Sitemap` line is one absolute URL."""
    return origin(value) is not None and not _SEVERAL.search(value)


class RobotsRules:
    """The rules of one robots.txt for `agents`, of which there are none if it forbids nothing.

    `crawlers` of large engines have rules of their own. `sitemaps` has the URLs of the `Sitemap` lines by
    their normal forms.
    """

    def __init__(self, base: Base, text: str = "", agents: Sequence[str] = ("*",)) -> None:
        self.base, self._start = base, normalized(f"{base}/")
        lines = [*_simplified(text, (*agents, *_CRAWLERS))]
        self._parser: Any = protego.Protego.parse("\n".join(lines))
        self.agents = agents if any(map(_DISALLOW.match, lines)) else ()
        named = {match[1].lower() for match in map(_AGENT.match, lines) if match}
        self.crawlers = [name for name in _CRAWLERS if self.agents and name.lower() in named]
        self._size = len(text) * (len(self.agents) + len(self.crawlers))
        self.sitemaps: dict[str, str] = {}
        for url in map(str.strip, self._parser.sitemaps):
            self.sitemaps.setdefault(normalized(url), url)

    def blocking_agents(self, url: str, agents: Sequence[str]) -> list[str]:
        """Return the agents that must not request a URL. URLs on other hosts have rules of their own."""
        if not agents or not (url := normalized(url)).startswith(self._start):
            return []
        return [agent for agent in agents if not self._parser.can_fetch(url, agent)]

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


def read_robots(
    reader: Reader, base: Base, agents: Sequence[str], findings: Findings, file: Path | None = None
) -> RobotsRules:
    """Read the robots.txt of a host, or else a `file`, and apply the rules that need no other document."""
    url, content = f"{base}/robots.txt", None
    # A folder need not have one.
    report, is_expected = findings.at(reader.label(url)), not isinstance(reader, StoreReader)
    try:
        with reader.open(url) as response:
            if response.status >= 500 or response.status == 429:
                raise DocumentError("robots-unreachable", f"status {response.status}")
            if response.status < 400:
                content, _ = peek(response.decoded(report), MAX_ROBOTS_BYTES + 1)
        if content is None and file is not None and file.is_file():
            with file.open("rb") as opened:
                content = opened.read(MAX_ROBOTS_BYTES + 1)
    except (DocumentError, OSError) as error:
        report("robots-unreachable", error if isinstance(error, DocumentError) else reason_of(error))
        is_expected = False
    is_expected = is_expected or content is not None
    content = content or b""
    if len(content) > MAX_ROBOTS_BYTES:
        report("robots-size", f"more than {MAX_ROBOTS_BYTES:,} bytes")
    content = content[:MAX_ROBOTS_BYTES].removeprefix(codecs.BOM_UTF8)
    if is_html := _HTML.match(content):
        report("robots-type", "it contains HTML")
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        report("robots-encoding", error)
        text = content.decode(errors="replace")
    robots = RobotsRules(base, text, agents)
    if not robots.sitemaps and not is_html and is_expected:
        report("robots-no-sitemap")
    for sitemap in robots.sitemaps.values():
        if not is_sitemap_url(sitemap):
            report("robots-line", sitemap)
    for number, line in enumerate(text.splitlines(), 1):
        if _MISSPELLED.match(line):
            report("robots-misspelled", line.strip(), number)
    return robots


class UrlRules:
    """The checks of the URLs in one audit. `base` is that of this project's URLs; `None` for others."""

    def __init__(self, findings: Findings, base: Base | None, robots: RobotsRules, reader: Reader) -> None:
        self._findings, self._base, self._robots, self._reader = findings, base, robots, reader
        self._hosts = {} if base is None else sections.declared_hosts(sections.mapping(), base)
        self._others: dict[Base, Findings] = {}  # Of the URLs of a document that are on another host.
        # The documents that the robots.txt of each host names.
        self._named = {robots.base: robots.sitemaps}
        middleware = {name.rpartition(".")[2] for name in settings.MIDDLEWARE}
        self._is_resolving = base is not None and middleware.isdisjoint(_FALLBACKS)
        self._left, self._crawlers = _MAX_COST, robots.crawlers

    def check(self, place: str, document_url: str, entries: Sequence[ReadEntry], number: int) -> None:
        """Check the entries of a batch. `number` is the number of URLs before them in the document."""
        scope = directory(document_url)
        locations, urls = [entry.location for entry in entries], [entry.url for entry in entries]
        if not are_plain(locations, scope, YANDEX_MAX_LOCATION):
            hosts = self._declared_hosts(document_url)
            for entry in filter(attrgetter("url"), entries):
                self._check_form(place, entry, scope, hosts)
        content = "\n".join(urls)
        for rule, pattern in _SUSPICIOUS.items():
            # Most batches have none.
            for entry in entries if pattern.search(content) else ():
                if pattern.search(entry.url):
                    self._findings.add(place, rule, entry.url, entry.line)
        self._check_blocked(place, entries, urls, number)
        if self._is_resolving:
            for index, entry in enumerate(entries, number):
                if (index < RESOLVE_ALL or index % _RESOLVE_EVERY == 0) and not self._resolves(entry.url):
                    self._findings.add(place, "url-unresolved", entry.url, entry.line)

    def finish(self, documents: Sequence[str]) -> None:
        """Report the URLs of a document on other hosts, unless robots.txt there names one of `documents`.

        These are the document and its indexes. https://www.sitemaps.org/protocol.html#sitemaps_cross_submits
        """
        for host, findings in self._others.items():
            if host not in self._named and len(self._named) <= MAX_HOSTS:
                self._named[host] = read_robots(self._reader, host, (), Findings()).sitemaps
            if self._named.get(host, {}).keys().isdisjoint(map(normalized, documents)):
                self._findings.add_all(findings)
        self._others.clear()

    def _declared_hosts(self, document_url: str) -> Collection[Base]:
        """Return the hosts that the section in a document's name declares, or else all sections."""
        name = parse_page_name(document_url.partition("?")[0].rpartition("/")[2])
        if name is not None and name.section in self._hosts:
            return self._hosts[name.section]
        return {*chain.from_iterable(self._hosts.values())}

    def _check_blocked(
        self, place: str, entries: Sequence[ReadEntry], urls: Sequence[str], number: int
    ) -> None:
        left, cost = self._left if number else _MAX_COST, self._robots.cost(urls)
        self._left = left - cost
        if self._left < 0:
            entries = entries[: max(left, 0) * len(urls) // cost]
            if left >= 0:
                text = f"robots.txt is long, so it was applied to the first {number + len(entries):,} URLs"
                self._findings.add(place, "document-limit", text)
        for entry, url in zip(entries, urls, strict=False):
            for agent in self.blocking_agents(url):
                self._findings.add(place, "url-blocked", f"{url} is forbidden for {agent}", entry.line)

    def blocking_agents(self, url: str) -> list[str]:
        """Return the forbidden agents. Report the first URL that is only forbidden for large engines."""
        blocking = self._robots.blocking_agents(url, self._robots.agents)
        names = self._robots.blocking_agents(url, self._crawlers) if self._crawlers and not blocking else ()
        if names:
            label, text = self._reader.label(f"{self._robots.base}/robots.txt"), " and ".join(names)
            self._findings.add(label, "robots-blocks-crawler", f"{url} is forbidden for {text}")
            self._crawlers = []
        return blocking

    def _check_form(self, place: str, entry: ReadEntry, scope: str, hosts: Collection[Base]) -> None:
        url = entry.url
        if url != entry.location:
            self._findings.add(place, "url-whitespace", repr(entry.location), entry.line)
        findings, url_origin, document_origin = self._findings, origin(url), origin(scope)
        if (problem := url_problem(url)) is not None:
            rule, detail = problem
        elif len(url) > YANDEX_MAX_LOCATION:
            rule, detail = "url-long", f"{len(url):,} characters"
        elif url_origin is not None and url_origin != document_origin:
            rule, detail = "url-host", f"the document is on {document_origin}"
            if url_origin in hosts:
                return
            if url_origin in self._others or len(self._others) < MAX_HOSTS:
                findings = self._others.setdefault(url_origin, Findings())
        elif is_inside(url, scope):
            return
        else:
            rule, detail = "url-scope", f"the document is in {scope}"
        findings.add(place, rule, f"{url} ({detail})" if detail else url, entry.line)

    def _resolves(self, url: str) -> bool:
        """Return whether the URLconf matches a URL. Those on other hosts are not checked."""
        if not url or origin(url) != self._base:
            return True
        try:
            return resolve_path(urlsplit(normalized(url)).path, conf.urlconf).match is not None
        except Exception:  # noqa: BLE001 a converter of the project can raise anything
            return False
