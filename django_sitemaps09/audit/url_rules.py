"""Check the URLs of entries: their form, host and directory, the URLconf, and robots.txt."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.urls import get_script_prefix, resolve
from django.utils import translation

from django_sitemaps09 import protocol, sections
from django_sitemaps09.audit.bodies import Reader
from django_sitemaps09.audit.documents import Entry
from django_sitemaps09.audit.findings import Findings
from django_sitemaps09.audit.robots_rules import Robots, RobotsLocation, origin, read_robots
from django_sitemaps09.conf import conf
from django_sitemaps09.hooks.hosts import AllowedHosts
from django_sitemaps09.protocol import MAX_LOCATION, Base

#: The limit that Yandex documents.
_LONG = 1_024
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
# Finds each URL that may not be normal: an escape, a dot segment, no path, or an unusual host.
_UNUSUAL = re.compile(r"%|/\.|^(?!https?://[^/?A-Z:]+/)")
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
#: Number of URLs of a document that are all resolved; of the following URLs, every tenth is. `resolve()`
#: takes more time than all other checks together.
RESOLVE_ALL = 1_000
_RESOLVE_EVERY = 10
# Maximum cost of comparing the URLs of a document with robots.txt: about half a minute. With 6,000
# characters of rules, 50,000 URLs of usual length are compared.
_MAX_COST = 500_000_000
#: Maximum number of other hosts whose robots.txt is read.
MAX_HOSTS = 20
#: Middleware that answers paths that the URLconf does not match.
_FALLBACKS = ("FlatpageFallbackMiddleware", "RedirectFallbackMiddleware")


def url_problem(url: str) -> tuple[str, str] | None:
    """Return the rule that the form of a URL breaks, with a detail; `None` if the form is valid."""
    if "#" in url:
        return "url-fragment", ""
    if not _ABSOLUTE.match(url):
        return "url-relative", ""
    if len(url) > MAX_LOCATION:
        return "url-length", f"{len(url):,} characters"
    return _uri_problem(url)


@lru_cache(1_000)
def _uri_problem(url: str) -> tuple[str, str] | None:
    """Check a URL as a URI. Results are cached, because each alternate occurs once for each language."""
    try:
        normalized = protocol.uri(url)
    except ValueError as error:
        return "url-invalid", str(error)
    # A URL that differs only by its case, or by the slash after the host, needs no encoding.
    if normalized.lower().rstrip("/") not in (url.lower().rstrip("/"), url.lower().replace("?", "/?", 1)):
        return "url-encoding", f"write {normalized}"
    return None


def normalized(url: str) -> str:
    """Return the same string for equivalent URLs (RFC 3986, section 6.2.2 and 6.2.3)."""
    if not _UNUSUAL.search(url):
        return url
    url_origin = origin(url)
    if url_origin is None:
        return url
    _, _, rest = url.partition("://")
    path, mark, query = rest[len(re.split("[/?]", rest, maxsplit=1)[0]) :].partition("?")
    segments: list[str] = []
    parts = _ESCAPE.sub(_unescaped, path).split("/")[1:] or [""]
    for segment in parts:
        if segment == "..":
            del segments[-1:]
        elif segment != ".":
            segments.append(segment)
    if parts[-1] in (".", ".."):
        segments.append("")
    return f"{url_origin}/{'/'.join(segments)}{mark}{_ESCAPE.sub(_unescaped, query)}"


def _unescaped(escape: re.Match[str]) -> str:
    character = chr(int(escape[1], 16))
    is_unreserved = character.isascii() and (character.isalnum() or character in "-._~")
    return character if is_unreserved else escape[0].upper()


def directory(url: str) -> str:
    """Return the URL of the directory that contains a document, with a slash at the end."""
    return url.partition("?")[0].rpartition("/")[0] + "/"


def is_inside(url: str, scope: str) -> bool:
    """Return whether the path of a URL is in a directory on the same host."""
    return (urlsplit(url).path or "/").startswith(urlsplit(scope).path)


def _section_hosts(base: Base) -> set[Base]:
    """Return the further hosts that sections declare."""
    hosts: set[Base] = set()
    for section in sections.mapping().values():
        # Classes of the project can raise anything; the section itself then cannot be read either.
        with suppress(Exception):
            hosts.update(AllowedHosts.from_sitemap(sections.instance(section), (base,)).others)
    return hosts


class UrlRules:
    """The checks of the URLs in one audit.

    `base` is the base of this project's URLs, or `None` if the URLs are those of another project.
    """

    def __init__(self, findings: Findings, base: Base | None, robots: Robots, reader: Reader) -> None:
        self._findings = findings
        self._robots, self._reader = robots, reader
        self._hosts = set() if base is None else _section_hosts(base)
        # Findings for hosts whose robots.txt may allow them, by the hosts of the URL and of the document.
        self._others: dict[tuple[Base, Base], Findings] = {}
        self._base = base
        self._is_resolving = base is not None and not any(
            name.rpartition(".")[2] in _FALLBACKS for name in settings.MIDDLEWARE
        )
        self._languages = {code for code, _ in settings.LANGUAGES}
        self._prefix = get_script_prefix()
        self._cost = 0

    def check(self, place: str, document_url: str, entries: Sequence[Entry], number: int) -> None:
        """Check the entries of a batch. `number` is the number of URLs before them in the document."""
        scope = directory(document_url)
        locations = [entry.location for entry in entries]
        if not protocol.are_plain(locations, scope, _LONG):
            document_origin = origin(document_url)
            for entry in entries:
                self._check_form(place, entry, scope, document_origin)
        self._check_blocked(place, entries, number)
        if self._is_resolving:
            for index, entry in enumerate(entries, number):
                if index < RESOLVE_ALL or index % _RESOLVE_EVERY == 0:
                    self._check_resolving(place, entry)

    def _check_blocked(self, place: str, entries: Sequence[Entry], number: int) -> None:
        cost = self._cost if number else 0
        for index, entry in enumerate(entries, number):
            if cost > _MAX_COST:
                break
            url = entry.location.strip()
            cost += self._robots.cost(url)
            if cost > _MAX_COST:
                text = f"robots.txt is long, so it was applied to the first {index:,} URLs"
                self._findings.add("document-limit", place, text)
                break
            for agent in self._robots.blocking_agents(url):
                self._findings.add("url-blocked", place, f"{url} is forbidden for {agent}", entry.line)
        self._cost = cost

    def _check_form(self, place: str, entry: Entry, scope: str, document_origin: Base | None) -> None:
        url = entry.location.strip()
        if not url:
            return
        if url != entry.location:
            self._findings.add("url-whitespace", place, repr(entry.location), entry.line)
        problem = url_problem(url) or self._place_problem(url, scope, document_origin)
        if problem is not None:
            rule, detail = problem
            findings = self._host_findings(url, document_origin) if rule == "url-host" else self._findings
            findings.add(rule, place, f"{url} ({detail})" if detail else url, entry.line)

    def _host_findings(self, url: str, document_origin: Base | None) -> Findings:
        """Return where to report a URL on another host."""
        url_origin = origin(url)
        if url_origin is None or document_origin is None:
            return self._findings
        pair = (url_origin, document_origin)
        if pair not in self._others and len(self._others) >= MAX_HOSTS:
            return self._findings
        return self._others.setdefault(pair, Findings())

    def finish(self) -> None:
        """Report URLs on other hosts, unless the robots.txt of such a host submits the document's host."""
        for (host, document_origin), findings in self._others.items():
            robots = read_robots(self._reader, RobotsLocation(host), (), Findings())
            if not robots.submits(host, document_origin):
                self._findings.add_all(findings)

    def _place_problem(self, url: str, scope: str, document_origin: Base | None) -> tuple[str, str] | None:
        if len(url) > _LONG:
            return "url-long", f"{len(url):,} characters"
        url_origin = origin(url)
        if url_origin != document_origin:
            is_submitted = url_origin in self._hosts or self._robots.submits(url_origin, document_origin)
            return None if is_submitted else ("url-host", f"the document is on {document_origin}")
        if not is_inside(url, scope):
            return "url-scope", f"the document is in {scope}"
        return None

    def _check_resolving(self, place: str, entry: Entry) -> None:
        url = entry.location.strip()
        if not url or origin(url) != self._base:
            return
        path = unquote(urlsplit(url).path or "/")
        if not path.startswith(self._prefix):
            self._findings.add("url-unresolved", place, url, entry.line)
            return
        path = path[len(self._prefix) :]
        # `i18n_patterns()` only matches the active language.
        code = path.partition("/")[0]
        with translation.override(code if code in self._languages else conf.language):
            try:
                resolve(f"/{path}", conf.urlconf)
            except Exception:  # noqa: BLE001 a converter of the project can raise anything
                self._findings.add("url-unresolved", place, url, entry.line)
