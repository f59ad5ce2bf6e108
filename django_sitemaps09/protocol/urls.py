"""Locations: the URLs of a sitemap, and how the paths and URLs of a project are converted to them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from ipaddress import IPv6Address
from typing import NamedTuple
from urllib.parse import quote

from django_sitemaps09.entries import short_repr
from django_sitemaps09.protocol.limits import MAX_LOCATION

# RFC 3986: the characters that are allowed after the authority, besides letters, digits and `_.-~`.
# Brackets are not, and "#" ends the URI.
_SAFE = ":/?@!$&'()*+,;=%"
_BARE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_PLAIN = (
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"  # unreserved
    b":/?@!$&'()*+,;=%\n"  # reserved, the start of an escape, and the separator between URLs
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_ABSOLUTE = re.compile(r"(https?)://([^/?#]+)(.*)", re.IGNORECASE | re.ASCII | re.DOTALL)
_AUTHORITY = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^:@\\\[\]]+))(?::([1-9][0-9]{0,4})?)?")
# A DNS name, which is stricter than RFC 3986, to detect typos. It may end with the dot of the root.
_NAME = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?")
_DEFAULT_PORTS = {"http": 80, "https": 443}
_MAX_PORT = 65_535
# The longest text that can become a location: accents in its host are composed to fewer characters.
_LONGEST = 2 * MAX_LOCATION
# IDNA 2003: the separators of labels, besides those that NFKC turns into a dot.
_DOTS = re.compile("[.\u3002]")
# Characters of a name and of a label, RFC 1035. Longer ones are refused before any costly step: the time
# to normalize a text, or to encode a label, grows with the square of its length.
_MAX_NAME = 253
_MAX_LABEL = 63
# Accents can be separate from their letters until NFKC composes them.
_MAX_NOT_NORMALIZED = 2 * _MAX_NAME


class Base(NamedTuple):
    """The base that locations are joined to: `scheme` without colon, `domain` with its port, if any."""

    scheme: str
    domain: str

    def __str__(self) -> str:
        return f"{self.scheme}://{self.domain}"


def parse_base(url: str) -> Base:
    """Parse a URL of the form `https://www.example.com`. Raise `ValueError` with the reason for others."""
    parts = _ABSOLUTE.fullmatch(url)
    if parts is None:
        raise ValueError(f"{short_repr(url)} is not of the form https://www.example.com")
    scheme, authority, rest = parts.groups()
    if rest not in ("", "/") or "@" in authority:
        raise ValueError(f"{short_repr(url)} may only contain a scheme, a host and a port")
    try:
        return Base(scheme.lower(), _domain(*_host_and_port(authority)))
    except ValueError as error:
        raise ValueError(f"{short_repr(url)} {error}") from error


def origin(url: str) -> Base:
    """Return the scheme, host and port of an absolute URI, without the default port of its scheme.

    Raise `ValueError` for anything else, and for a user or a backslash before the path. Browsers and
    Python differ on where the host begins after these.
    """
    parts = _ABSOLUTE.fullmatch(url)
    if parts is None or not parts[2].isascii():
        raise ValueError(f"{short_repr(url)} is not an absolute URI")
    scheme = parts[1].lower()
    try:
        host, port = _host_and_port(parts[2])
    except ValueError as error:
        raise ValueError(f"{short_repr(url)} {error}") from error
    return Base(scheme, _domain(host, None if port == _DEFAULT_PORTS[scheme] else port))


def uri(text: str) -> str:
    """Return the URI for a project's path or absolute URL. Text that is already encoded stays as it is.

    A `%` before two hexadecimal digits is taken for an escape, any other for the character itself.
    Raise `ValueError` with the reason for a text that no crawler can request.
    """
    if problem := _uri_problem(text):
        raise ValueError(f"{short_repr(text)} {problem}")
    if text.startswith("/"):
        return _quote(text)
    parts = _ABSOLUTE.fullmatch(text)
    if parts is None:
        raise ValueError(
            f"{short_repr(text)} is neither a path that begins with a slash nor an absolute URL"
        )
    scheme, authority, rest = parts.groups()
    try:
        domain = _domain(*_host_and_port(authority))
    except ValueError as error:
        raise ValueError(f"{short_repr(text)} {error}") from error
    return f"{scheme.lower()}://{domain}{'' if rest.startswith('/') else '/'}{_quote(rest)}"


def join(base: str, location: str) -> str:
    """Join a location to a base: a path to all of it, a text that begins with a colon to its scheme."""
    if location[:1] == "/":
        return f"{base}{location}"
    return f"{base.partition(':')[0]}{location}" if location[:1] == ":" else location


def are_plain(locations: Sequence[str], start: str, most: int) -> bool:
    """Return whether all locations begin with `start`, have at most `most` characters, and are URIs.

    `start` is a slash, or a base that ends in a slash. Checking the joined column takes a tenth of the
    time of checking each location.
    """
    if not locations:
        return True
    if not locations[0].startswith(start) or max(map(len, locations)) > most:
        return False
    content = "\n".join(locations)
    separators = len(locations) - 1
    if content.count("\n") != separators or content.count(f"\n{start}") != separators:
        return False
    if not content.isascii():
        return False
    # Brackets are allowed only around the host.
    table = _PLAIN + b"[]" if "[" in start else _PLAIN
    if content.encode().translate(None, table):
        return False
    if "[" in start and not content.count("[") == content.count("]") == len(locations):
        return False
    return "%" not in content or _BARE_PERCENT.search(content) is None


def _uri_problem(text: str) -> str | None:
    """Return the reason why quoting cannot turn a text into a URI for a sitemap, or `None`."""
    if not text:
        return "is empty"
    if len(text) > _LONGEST:
        return f"has {len(text):,} characters; at most {MAX_LOCATION:,} are allowed"
    if _CONTROL.search(text):
        return "contains a control character"
    if _SURROGATE.search(text):
        return "contains half of a character (a lone surrogate)"
    if "#" in text:
        return "contains a fragment, which crawlers do not request; write a # in a path as %23"
    return None


def _quote(text: str) -> str:
    """Percent-encode a path with its query, except for the escapes that it already contains."""
    if len(text) > MAX_LOCATION:
        # Quoting never makes it shorter.
        raise ValueError(
            f"{short_repr(text)} has {len(text):,} characters; at most {MAX_LOCATION:,} are allowed"
        )
    return quote(_BARE_PERCENT.sub("%25", text), safe=_SAFE)


def _host_and_port(authority: str) -> tuple[str, int | None]:
    """Return the host as in DNS and URIs, and the port. A `ValueError` does not repeat the text."""
    if "@" in authority or "\\" in authority:
        raise ValueError("has a user or a backslash before its path")
    parts = _AUTHORITY.fullmatch(authority)
    if parts is None:
        raise ValueError("has an invalid host or port")
    address, name, port = parts.groups()
    try:
        host = _ipv6(address) if address else _idna(name)
    except ValueError as error:
        raise ValueError(f"has an invalid host ({error})") from error
    if port and int(port) > _MAX_PORT:
        raise ValueError("has an invalid port")
    return host, int(port) if port else None


def _ipv6(address: str) -> str:
    IPv6Address(address)
    # Kept as given: Python versions differ in how they write one that contains an IPv4 address.
    return f"[{address.lower()}]"


def _idna(name: str) -> str:
    if name.isascii():
        host = name.lower()
    elif len(name) > _MAX_NOT_NORMALIZED:
        raise ValueError("its name is too long")
    else:
        # Compatibility characters are replaced first: some of them are dots, which separate labels.
        host = _ascii(unicodedata.normalize("NFKC", name))
    _check_lengths(host)
    if not _NAME.fullmatch(host):
        raise ValueError(f"{short_repr(host)} is not a valid host name")
    return host


def _ascii(name: str) -> str:
    """Encode a name label by label, and no more labels than a name can have."""
    _check_lengths(name)
    labels: list[str] = []
    for label in _DOTS.split(name):
        labels.append(label.encode("idna").decode("ascii").lower())
        if sum(map(len, labels)) > _MAX_NAME:
            raise ValueError("its name is too long")
    return ".".join(labels)


def _check_lengths(name: str) -> None:
    # The final dot, of the root, does not count.
    if len(name.removesuffix(".")) > _MAX_NAME:
        raise ValueError("its name is too long")
    if max(map(len, _DOTS.split(name))) > _MAX_LABEL:
        raise ValueError("a part of its name is too long")


def _domain(host: str, port: int | None) -> str:
    return host if port is None else f"{host}:{port}"
