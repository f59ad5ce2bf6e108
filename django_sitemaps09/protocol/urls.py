"""Locations: what a URL of a sitemap is made of, and how whatever a project has becomes one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from ipaddress import IPv6Address
from typing import NamedTuple
from urllib.parse import quote

# RFC 3986: all that may stand behind the authority, where brackets may not, and "#" ends the URI.
_NOT_IN_A_PATH = re.compile(r"[^A-Za-z0-9\-._~:/?@!$&'()*+,;=%]+|%(?![0-9A-Fa-f]{2})")
_BARE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_PLAIN = (
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"  # unreserved
    b":/?@!$&'()*+,;=%\n"  # reserved, what begins an escape, and what is put between URLs
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_ABSOLUTE = re.compile(r"(https?)://([^/?#]+)(.*)", re.IGNORECASE | re.ASCII | re.DOTALL)
_AUTHORITY = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^:@\\\[\]]+))(?::([1-9][0-9]{0,4})?)?")
# A name as DNS has them, stricter than RFC 3986: a typo is no host. The root's dot may stand.
_NAME = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?")
_DEFAULT_PORTS = {"http": 80, "https": 443}
_MAX_PORT = 65_535
# DNS has 253, in ASCII; to normalize a text takes time that grows with its square.
_LONGEST_NAME = 1_000
# So much of a text as is enough to find it by.
_SHOWN = 200


class Base(NamedTuple):
    """What locations are joined to: `scheme` without colon, `domain` with the port if it has one."""

    scheme: str
    domain: str

    def __str__(self) -> str:
        return f"{self.scheme}://{self.domain}"


def parse_base(url: str) -> Base:
    """`https://www.example.com` as a `Base`; `ValueError` with the reason for anything else."""
    parts = _ABSOLUTE.fullmatch(url)
    if parts is None:
        raise ValueError(f"{url!r} is not of the form https://www.example.com")
    scheme, authority, rest = parts.groups()
    if rest not in ("", "/") or "@" in authority:
        raise ValueError(f"{url!r} may hold a scheme, a host and a port, and nothing else")
    try:
        return Base(scheme.lower(), _domain(*_host_and_port(authority)))
    except ValueError as error:
        raise ValueError(f"{url!r} {error}") from error


def origin(url: str) -> Base:
    """Scheme, host and port of an absolute URI, without the port that its scheme has anyway.

    `ValueError` where it has none of them, or a user: browsers and Python differ on where the host
    begins behind a backslash and a user.
    """
    parts = _ABSOLUTE.fullmatch(url)
    if parts is None or not parts[2].isascii():
        raise ValueError(f"{url[:_SHOWN]!r} is not an absolute URI")
    scheme = parts[1].lower()
    try:
        host, port = _host_and_port(parts[2])
    except ValueError as error:
        raise ValueError(f"{url[:_SHOWN]!r} {error}") from error
    return Base(scheme, _domain(host, None if port == _DEFAULT_PORTS[scheme] else port))


def uri(text: str) -> str:
    """A path or an absolute URL, as a project has it, as a URI; what is one already stays as it is.

    Of a `%` it is not known what it was meant for: with two hexadecimal digits it is an escape,
    otherwise itself. `ValueError` with the reason for what no crawler can ask for.
    """
    if problem := _never_a_uri(text):
        raise ValueError(f"{text[:_SHOWN]!r} {problem}")
    if text.startswith("/"):
        return _quoted(text)
    parts = _ABSOLUTE.fullmatch(text)
    if parts is None:
        raise ValueError(
            f"{text[:_SHOWN]!r} is neither a path that begins with a slash nor an absolute URL"
        )
    scheme, authority, rest = parts.groups()
    try:
        domain = _domain(*_host_and_port(authority))
    except ValueError as error:
        raise ValueError(f"{text[:_SHOWN]!r} {error}") from error
    return f"{scheme.lower()}://{domain}{'' if rest.startswith('/') else '/'}{_quoted(rest)}"


def plain(locations: Sequence[str], start: str, most: int) -> bool:
    """Whether all of a column begin with `start`, have `most` characters at most, and are URIs as they are.

    `start` is a slash, or a base with its slash. To look at the joined column takes a tenth of the
    time of looking at each.
    """
    if not locations:
        return True
    if not locations[0].startswith(start):
        return False
    joined = "\n".join(locations)
    between = len(locations) - 1
    if joined.count("\n") != between or joined.count(f"\n{start}") != between:
        return False
    if max(map(len, locations)) > most or not joined.isascii():
        return False
    # Brackets may stand around the host alone.
    table = _PLAIN + b"[]" if "[" in start else _PLAIN
    if joined.encode().translate(None, table):
        return False
    if "[" in start and not joined.count("[") == joined.count("]") == len(locations):
        return False
    return "%" not in joined or _BARE_PERCENT.search(joined) is None


def _never_a_uri(text: str) -> str | None:
    """Why no quoting makes a URI of a text that a sitemap can hold."""
    if not text:
        return "is empty"
    if _CONTROL.search(text):
        return "holds a control character"
    if _SURROGATE.search(text):
        return "holds half of a character (a lone surrogate)"
    if "#" in text:
        return "holds a fragment, which no crawler asks for: a # in a path is written as %23"
    return None


def _quoted(text: str) -> str:
    """A path with its query, percent-encoded where it has to be and is not yet."""
    return _NOT_IN_A_PATH.sub(lambda found: quote(found[0], safe=""), text)


def _host_and_port(authority: str) -> tuple[str, int | None]:
    """The host as DNS and URIs have it; `ValueError` with the reason, but not with the text."""
    if "@" in authority or "\\" in authority:
        raise ValueError("has a user or a backslash before its path")
    parts = _AUTHORITY.fullmatch(authority)
    if parts is None:
        raise ValueError("has a host or a port that no URL can have")
    address, name, port = parts.groups()
    try:
        host = _ipv6(address) if address else _idna(name)
    except ValueError as error:
        raise ValueError(f"has a host that no URL can have ({error})") from error
    if port and int(port) > _MAX_PORT:
        raise ValueError("has a port that no URL can have")
    return host, int(port) if port else None


def _ipv6(address: str) -> str:
    IPv6Address(address)
    # As it was given: not each Python writes one with an IPv4 address in it alike.
    return f"[{address.lower()}]"


def _idna(name: str) -> str:
    # Of compatible characters first: some of them are dots, which part labels.
    if len(name) > _LONGEST_NAME:
        raise ValueError("its name is too long")
    host = unicodedata.normalize("NFKC", name).encode("idna").decode("ascii").lower()
    if not _NAME.fullmatch(host):
        raise ValueError(f"{host[:_SHOWN]!r} is not the name of a host")
    return host


def _domain(host: str, port: int | None) -> str:
    return host if port is None else f"{host}:{port}"
