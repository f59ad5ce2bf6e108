"""Bases and origins: scheme, host and port, and which URLs are allowed for a base."""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import urlsplit

import pytest
from hypothesis import given, strategies as st

from django_sitemaps09.protocol import origin, parse_base, uri
from tests.support.protocol import hosts, urls


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://www.example.com", "https://www.example.com"),
        ("https://www.example.com/", "https://www.example.com"),
        ("http://localhost:8000", "http://localhost:8000"),
        ("HTTPS://WWW.Example.COM", "https://www.example.com"),
        ("https://example.com:443", "https://example.com:443"),
        ("https://under_score.example", "https://under_score.example"),
        ("https://exämple.com", "https://xn--exmple-cua.com"),
        ("https://EXÄMPLE.com:8443/", "https://xn--exmple-cua.com:8443"),
        ("https://xn--exmple-cua.com", "https://xn--exmple-cua.com"),
        ("https://例え。テスト", "https://xn--r8jz45g.xn--zckzah"),
        ("http://192.0.2.1:80", "http://192.0.2.1:80"),
        ("http://[2001:DB8::1]", "http://[2001:db8::1]"),
        ("http://[::1]:8000/", "http://[::1]:8000"),
        ("http://[::ffff:192.0.2.1]", "http://[::ffff:192.0.2.1]"),
        ("https://www.example.com.", "https://www.example.com."),
        # Another Unicode dot besides the ideographic one. It also separates labels.
        ("https://www\u2024exämple.com", "https://www.xn--exmple-cua.com"),
    ],
)
def test_a_base_is_scheme_host_and_port(url: str, expected: str) -> None:
    assert str(parse_base(url)) == expected


@pytest.mark.parametrize(
    "url",
    [
        *("", " ", "/", "//example.com", "example.com", "www.example.com:80", "https:", "https://"),
        *("https:///", "https:/example.com", "https:example.com", "https://:80", "://example.com"),
        *("ftp://example.com", "file:///etc", "javascript://example.com", "httpss://example.com"),
        *("https://example.com/shop", "https://example.com//", "https://example.com/?a", "https://a/#b"),
        *("https://user@example.com", "https://user:secret@example.com", "https://@example.com"),
        *("https://example.com@evil.com", "https://example.com:80@evil.com", "https://evil.com\\@a.b"),
        *("https://example.com:99999", "https://example.com:http", "https://example.com:-1"),
        *("https://example.com:0", "https://example.com:8 0", "https://example.com:80:80"),
        *("https://[::1", "https://::1]", "https://::1", "https://[::1]junk", "https://junk[::1]"),
        *("https://[example.com]", "https://[::g]", "https://[]", "https://[v1.a]", "https://e[x]"),
        *("https://a b", "https://a..b", "https://.a", "https://a\\b", "https://a|b", "https://a<b>"),
        *('https://a"b', "https://a,b", "https://*", "https://%0d%0a", "https://a%20b", "https://$a"),
        # A host becomes the name of a folder, and several Unicode characters stand for more than one dot.
        *("https://..", "https://.", "https://...:80", "https://a.b..", "https://../", "https://..a"),
        *(
            "https://\u2024\u2024",
            "https://\u2025",
            "https://a\u2025b",
            "https://ä\u2025b",
            "https://\u2026",
        ),
        *("https://[1:2]", "https://[::1::]", "https://[1.2.3.4]", "https://[:::]", "https://[::1%25eth0]"),
        *("https://example.com:", "https://https://example.com", "https://http", "https://HTTPS:80"),
        *("https://www.example.comhttps://www.example.com", "https://https:"),
        *("https://a:08", "http\u017f://a.b", "https://a／b", "https://" + "a" * 64 + ".com"),  # noqa: RUF001
        "https://example.com\u3000",
    ],
)
def test_what_is_more_or_less_than_a_base_is_refused_with_a_reason(url: str) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(url))):
        parse_base(url)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("https://https://example.com", "contains a second scheme"),
        ("https://example.comhttps://example.com/", "contains a second scheme"),
        ("https://example.com:", "has a colon after its host, but no port"),
        ("https://user@example.com/shop", "contains a user name"),
        ("https://", "has no host"),
    ],
)
def test_the_reason_names_what_is_wrong_with_the_host(url: str, reason: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(repr(url))} {reason}"):
        parse_base(url)


#: Characters that Python's `urlsplit()` silently removes.
SILENT = ["\t", "\r", "\n", "\r\n", "\x00", " ", "\x1f", "\x7f", "\x85"]


@pytest.mark.parametrize("character", SILENT, ids=repr)
@pytest.mark.parametrize(
    "url", ["{}https://ab", "https{}://ab", "https:/{}/ab", "https://a{}b", "https://ab{}", "https://ab/{}"]
)
def test_a_base_with_a_control_character_or_a_space_is_refused_anywhere(url: str, character: str) -> None:
    with pytest.raises(ValueError, match="https"):
        parse_base(url.format(character))


@given(hosts | urls | st.text(max_size=20))
def test_every_base_that_is_accepted_reads_as_itself(url: str) -> None:
    try:
        base = parse_base(url)
    except ValueError:
        return
    assert parse_base(str(base)) == base
    assert re.fullmatch(r"https?://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[1-9][0-9]*)?", str(base))
    assert all(base.domain.removesuffix(".").split("."))
    parts = urlsplit(f"{base}/path")
    assert (parts.scheme, parts.netloc, parts.path) == (*base, "/path")
    assert url.isprintable()


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://www.example.com", "https://www.example.com"),
        ("HTTPS://WWW.example.com:443/A?b", "https://www.example.com"),
        ("http://example.com:80?x=//y:81/", "http://example.com"),
        ("http://example.com:443/", "http://example.com:443"),
        ("https://example.com:8443/a@b", "https://example.com:8443"),
        ("http://[2001:DB8::1]:80/", "http://[2001:db8::1]"),
        ("http://[::1]:8000/", "http://[::1]:8000"),
    ],
)
def test_an_origin_is_a_base_without_the_port_that_its_scheme_has_anyway(url: str, expected: str) -> None:
    assert str(origin(url)) == expected
    assert origin(expected) == origin(url) == parse_base(expected)


@pytest.mark.parametrize(
    "url",
    [
        *("", "/", "/a", "//example.com/", "example.com", "ftp://example.com/", "https:/a", "https://"),
        *("https://user@example.com/", "https://@a/", "https://a\\@b/", "https://a\\b/", "https://a b/"),
        *("https://a:0/", "https://a:65536/", "https://a:x/", "https://[::1/", "https://../", "https://ä/"),
        *("https://example.com:/", "https://https://a/", "https://http/a", "https://a.bhttp://c.d/"),
        *("https://exa\tmple.com/", "https://%41/", "https://a:1:2/", "https:///a", "https://a\u3002b/"),
    ],
    ids=ascii,
)
def test_what_leads_to_no_single_host_has_no_origin(url: str) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(url))):
        origin(url)


@given(hosts)
def test_a_base_is_a_uri_but_for_its_slash_and_a_uri_has_a_base(url: str) -> None:
    try:
        base = parse_base(url)
    except ValueError:
        return
    assert uri(url) == f"{base}/"


def test_a_host_that_is_too_long_is_refused_before_it_is_parsed() -> None:
    for name in (f"a{chr(0x300) * 1_000}", "\ufdfa" * 56, f"{'a' * 64}.example", f"{'a.' * 126}ab"):
        with pytest.raises(ValueError, match="too long"):
            uri(f"https://{name}/")


def test_a_host_is_as_long_as_it_is_when_it_is_normalized() -> None:
    longest = ".".join(["a" * 63, "b" * 63, "c" * 63, "d" * 61])
    assert uri(f"https://{longest}/") == f"https://{longest}/"
    with pytest.raises(ValueError, match="too long"):
        uri(f"https://{longest}d/")
    accents = ".".join([unicodedata.normalize("NFD", "\u1e09" * 8)] * 12)
    assert len(accents) > 253 > len(uri(f"https://{accents}/"))
