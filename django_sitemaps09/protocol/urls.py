"""Parse base URLs, and convert paths and URLs to locations."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from ipaddress import IPv6Address, ip_address
from string import ascii_letters, digits
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from django_sitemaps09.protocol.fields import short_repr, typed_repr
from django_sitemaps09.protocol.limits import MAX_LOCATION

# RFC 3986: the characters that are allowed after the authority, besides letters, digits and `_.-~`.
_SAFE = ":/?@!$&'()*+,;=%"
_BARE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
# Unreserved and reserved characters, the start of an escape, and the separator between URLs.
_PLAIN = f"{ascii_letters}{digits}-._~{_SAFE}\n".encode()
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
# The characters that are percent-encoded, unlike those that make a location invalid.
_QUOTABLE = re.compile(r"([^\x00-\x1f\x7f-\x9f\ud800-\udfff#A-Za-z0-9_.~:/?@!$&'()*+,;=%-]+)")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_ABSOLUTE = re.compile(r"(https?)://([^/?#]*)(.*)", re.IGNORECASE | re.ASCII | re.DOTALL)
_AUTHORITY = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^:@\\\[\]]+))(?::([1-9][0-9]{0,4}))?")
# A scheme, and no port.
_SCHEME = re.compile(r"https?:(?![0-9])", re.IGNORECASE)
# A DNS name with an optional dot at the end. RFC 3986 allows more characters, but they are likely typos.
_NAME = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?")
_DEFAULT_PORTS = {"http": 80, "https": 443}
_MAX_PORT = 65_535
# Maximum length, in characters, of a string before conversion. Normalizing accents in a host shortens it.
_LONGEST = 2 * MAX_LOCATION
_TOO_LONG = f"has {{:,}} characters; at most {MAX_LOCATION:,} are allowed"
# IDNA 2003: the separators of labels. NFKC converts further separators to a dot.
_DOTS = re.compile("[.\u3002]")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
# The beginning of a URL with a usual host, and what may not be normal in a URL: an escape, a dot segment.
_USUAL = re.compile(r"https?://[^/?A-Z:]+/")
_UNUSUAL = re.compile(r"%(?:[0-9A-F]?[a-f]|2[DE]|3[0-9]|[46][1-9A-F]|[57][0-9A]|5F|7E)|/\.")
# RFC 1035: the maximum number of characters in a name and in a label. Longer names are rejected early: the
# time to normalize a name, or to encode a label, grows with the square of the length.
_MAX_NAME, _MAX_LABEL = 253, 63
# Before NFKC, letters and accents can be separate characters.
_MAX_NOT_NORMALIZED = 2 * _MAX_NAME


class Base(NamedTuple):
    """The scheme and the domain of URLs. `scheme` has no colon, and `domain` can include a port."""

    scheme: str
    domain: str

    def __str__(self) -> str:
        return f"{self.scheme}://{self.domain}"


def parse_base(url: str) -> Base:
    """Parse a URL of the form `https://www.example.com`. Raise `ValueError` for any other string."""
    parts = _ABSOLUTE.fullmatch(url) if isinstance(url, str) else None
    if parts is None:
        raise ValueError(f"{typed_repr(url, expected=str)} is not of the form https://www.example.com")
    scheme, authority, rest = parts.groups()
    base = Base(scheme.lower(), _domain(authority, url))
    if rest not in ("", "/"):
        raise ValueError(f"{short_repr(url)} may only contain a scheme, a host and a port")
    return base


def origin(url: str) -> Base:
    """Return the scheme, host and port, unless it is the default one, of an absolute URI.

    Raise `ValueError` for any other string, and for a user or a backslash before the path: browsers and
    Python disagree about the host in such a URL.
    """
    parts = _ABSOLUTE.fullmatch(url)
    if parts is None or not parts[2].isascii():
        raise ValueError(f"{short_repr(url)} is not an absolute URI")
    scheme = parts[1].lower()
    return Base(scheme, _domain(parts[2], url, default_port=_DEFAULT_PORTS[scheme]))


def uri(text: str) -> str:
    """Convert a path or an absolute URL to a URI. Escapes are kept, and any other `%` is encoded.

    Raise `ValueError` if the result would not be a URL that crawlers can request, and for two slashes at
    the beginning: in RFC 3986, a host follows them.
    """
    if problem := _uri_problem(text):
        raise ValueError(f"{short_repr(text)} {problem}")
    if text.startswith("/") and not text.startswith("//"):
        return _quote(text)
    parts = _ABSOLUTE.fullmatch(text)
    if parts is None:
        problem = "is neither a path that begins with a slash nor an absolute URL"
        raise ValueError(f"{short_repr(text)} {problem}")
    scheme, authority, rest = parts.groups()
    slash = "" if rest.startswith("/") else "/"
    return f"{scheme.lower()}://{_domain(authority, text)}{slash}{_quote(rest)}"


def normalized(url: str) -> str:
    """Return the same string for equivalent URLs (RFC 3986, section 6.2.2 and 6.2.3)."""
    if _USUAL.match(url) and not (("%" in url or "/." in url) and _UNUSUAL.search(url)):
        return url
    try:
        url_origin = origin(url)
    except ValueError:
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


def join(base: str, location: str) -> str:
    """Return a path with the base before it, or a URL unchanged."""
    return f"{base}{location}" if location[:1] == "/" else location


def are_plain(locations: Sequence[str], start: str, most: int) -> bool:
    """Return whether all locations are URIs of at most `most` characters that begin with `start`.

    `start` is a slash, or a base with a slash after it, and no second slash follows. Checking the joined
    column takes a tenth of the time of checking each location.
    """
    if not locations:
        return True
    if not locations[0].startswith(start) or max(map(len, locations)) > most:
        return False
    content = "\n".join(locations)
    is_aligned = content.count("\n") == content.count(f"\n{start}") == len(locations) - 1
    if not is_aligned or not content.isascii():
        return False
    if start and (f"\n{start}/" in content or content.startswith(f"{start}/")):
        return False
    # Brackets are allowed only around the host.
    has_address = "[" in start
    if content.encode().translate(None, _PLAIN + b"[]" if has_address else _PLAIN):
        return False
    if has_address and not content.count("[") == content.count("]") == len(locations):
        return False
    return "%" not in content or _BARE_PERCENT.search(content) is None


def quote_all(locations: Sequence[str]) -> list[str] | None:
    """Percent-encode a column as `uri()` does, without its checks.

    Return `None` if a string has a line ending or is too long.
    """
    if max(map(len, locations), default=0) > MAX_LOCATION:
        return None
    content = _BARE_PERCENT.sub("%25", "\n".join(locations))
    results = quote_matches(_QUOTABLE, content).split("\n")
    return results if len(results) == len(locations) else None


def quote_matches(pattern: re.Pattern[str], text: str) -> str:
    """Percent-encode all matches at once. The pattern is one group, and matches no line feed."""
    parts = pattern.split(text)
    if len(parts) > 1:
        octets = "\n".join(parts[1::2]).encode()
        parts[1::2] = f"%{octets.hex('%')}".upper().split("%0A")
    return "".join(parts)


def _uri_problem(text: str) -> str | None:
    if not text:
        return "is empty"
    if len(text) > _LONGEST:
        return _TOO_LONG.format(len(text))
    if _CONTROL.search(text):
        return "contains a control character"
    if _SURROGATE.search(text):
        return "contains half of a character (a lone surrogate)"
    if "#" in text:
        return "contains a fragment, which crawlers do not request; write a # in a path as %23"
    return None


def _quote(text: str) -> str:
    """Percent-encode a path and its query, except for existing escapes."""
    # Encoding never shortens a string.
    if len(text) > MAX_LOCATION:
        raise ValueError(f"{short_repr(text)} {_TOO_LONG.format(len(text))}")
    return quote(_BARE_PERCENT.sub("%25", text), safe=_SAFE)


def _domain(authority: str, url: str, *, default_port: int | None = None) -> str:
    """Return the host of an authority, encoded as in DNS, and any port other than the default."""
    parts = _AUTHORITY.fullmatch(authority)
    if parts is None:
        raise ValueError(f"{short_repr(url)} {_authority_problem(authority)}")
    address, name, port = parts.groups()
    try:
        if address:
            IPv6Address(address)
        # Addresses are not normalized: Python versions differ for IPv6 addresses that contain IPv4.
        host = f"[{address.lower()}]" if address else _idna(name)
    except ValueError as error:
        raise ValueError(f"{short_repr(url)} has an invalid host ({error})") from error
    if port and int(port) > _MAX_PORT:
        raise ValueError(f"{short_repr(url)} has an invalid port")
    return host if not port or int(port) == default_port else f"{host}:{port}"


def _authority_problem(authority: str) -> str:
    if not authority:
        return "has no host"
    if "@" in authority or "\\" in authority:
        return "contains a user name or a backslash before the path"
    # A base before a complete URL, such as a `Site` whose domain is a URL.
    if _SCHEME.search(authority):
        return "contains a second scheme before the path"
    if authority.endswith(":"):
        return "has a colon after its host, but no port"
    return "has an invalid host or port"


def _idna(name: str) -> str:
    if name.isascii():
        host = name.lower()
    elif len(name) > _MAX_NOT_NORMALIZED:
        raise ValueError("its name is too long")
    else:
        # NFKC first, because it converts several characters to dots, and dots separate labels.
        normalized = unicodedata.normalize("NFKC", name)
        _check_lengths(normalized)
        host = ".".join(label.encode("idna").decode().lower() for label in _DOTS.split(normalized))
    _check_lengths(host)
    if host in _DEFAULT_PORTS:
        raise ValueError(f"{host!r} is a scheme")
    if not _NAME.fullmatch(host):
        raise ValueError(f"{short_repr(host)} is not a valid host name")
    return host


def _check_lengths(name: str) -> None:
    # A dot at the end does not count.
    if len(name.removesuffix(".")) > _MAX_NAME:
        raise ValueError("its name is too long")
    if max(map(len, _DOTS.split(name))) > _MAX_LABEL:
        raise ValueError("a part of its name is too long")


def is_local(domain: str) -> bool:
    """Return whether a host, which may have a port, is the machine itself."""
    host = urlsplit(f"//{domain}").hostname or ""
    with suppress(ValueError):
        return host == "localhost" or ip_address(host).is_loopback
    return False
