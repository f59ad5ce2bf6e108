"""A path or a URL is converted to a URI, or rejected with a reason."""

from __future__ import annotations

import re
from urllib.parse import unquote_to_bytes

import pytest
from django.utils.encoding import iri_to_uri
from hypothesis import example, given, strategies as st

from django_sitemaps09.protocol import MAX_LOCATION, are_plain, origin, quote_all, uri
from tests.support.memory import traced
from tests.support.protocol import hosts, urls


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/", "/"),
        ("/a/B?c=D&e=f", "/a/B?c=D&e=f"),
        ("/a//b", "/a//b"),
        ("/-._~:/?@!$&'()*+,;=", "/-._~:/?@!$&'()*+,;="),
        ("/käse/日本?ö=ü", "/k%C3%A4se/%E6%97%A5%E6%9C%AC?%C3%B6=%C3%BC"),
        ("/😀", "/%F0%9F%98%80"),
        # An escape is kept with its case. A percent sign without two digits is encoded.
        ("/%20%c3%A4", "/%20%c3%A4"),
        ("/100%", "/100%25"),
        ("/%2", "/%252"),
        ("/%zz%%20", "/%25zz%25%20"),
        ("/%é2", "/%25%C3%A92"),
        ("/a b ", "/a%20b%20"),
        ("/[a]?b[]=1", "/%5Ba%5D?b%5B%5D=1"),
        ('/\\evil.com/^`{|}"<>', "/%5Cevil.com/%5E%60%7B%7C%7D%22%3C%3E"),
        ("/\u2028\u3000\u00ad", "/%E2%80%A8%E3%80%80%C2%AD"),
        ("/?a?b//c", "/?a?b//c"),
        ("https://a.example", "https://a.example/"),
        ("https://a.example?x=1", "https://a.example/?x=1"),
        ("HTTPS://WWW.Example.COM/Path?Query=A", "https://www.example.com/Path?Query=A"),
        ("https://EXÄMPLE.com:8443/ä", "https://xn--exmple-cua.com:8443/%C3%A4"),
        ("https://例え。テスト/[x]", "https://xn--r8jz45g.xn--zckzah/%5Bx%5D"),
        ("https://a.example:443/", "https://a.example:443/"),
        ("http://[2001:DB8::1]:80/[", "http://[2001:db8::1]:80/%5B"),
        ("https://a.example/@b\\c", "https://a.example/@b%5Cc"),
        ("https://a.example?x=a@b", "https://a.example/?x=a@b"),
    ],
    ids=ascii,
)
def test_a_path_or_an_absolute_url_becomes_a_uri_and_a_uri_stays_as_it_is(text: str, expected: str) -> None:
    assert uri(text) == expected
    assert uri(expected) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is empty"),
        *((f"/a{character}b", "control character") for character in "\x00\t\n\r\x1f\x7f\x80\x85\x9f"),
        *((f"https://a{character}b/", "control character") for character in "\x00\t\n\r\x7f\x85"),
        *(("/a#b", "a fragment"), ("#", "a fragment"), ("https://a.example#b", "a fragment")),
        *(("https://a.example/#", "a fragment"), ("https://a#@b.example/", "a fragment")),
        *((f"https://{user}@a.example/", "a user") for user in ("", "user", "user:pass", "b.example:80")),
        *((f"https://{host}/", "backslash") for host in ("evil.com\\@a.example", "a\\b", "\\a.example")),
        *(
            (f"https://{host}/", "an invalid host")
            for host in ("a..b", "..", "\u2025", "a b", "*", "%41", "a,b")
        ),
        *(
            (f"https://{host}/", "an invalid host")
            for host in ("[::1", "[::g]", "[1:2]", "[::1]a", ":80", "a\uff0fb")
        ),
        *(
            (f"https://a.example:{port}/", "an invalid (host or )?port")
            for port in ("0", "65536", "99999", "x", "-1", "1:2", "\uff11")
        ),
        *(("/\ud800", "surrogate"), ("https://\udfff/", "surrogate"), ("/\ud83d\ude00", "surrogate")),
        *(
            (text, "is neither a path")
            for text in ("a", "a/b", " /a", "?a", "www.example.com/", "\\a", "://a/")
        ),
        *((text, "is neither a path") for text in ("https:", "https:/a", "//", "//a/b", "https:https//a/")),
        *((text, "has no host") for text in ("https://", "https:///a", "https://?a")),
        *((f"https://{host}/", "a colon after its host, but no port") for host in ("a.b:", "[::1]:")),
        *(
            (f"https://{host}/", "a second scheme")
            for host in ("https://a.b", "HTTP:", "http:a.b", "a.bhttps://a.b", "a.b:80http://a.b")
        ),
        *(
            (text, "is neither a path")
            for text in ("ftp://a/", "mailto:a@b", "xhttps://a/", "http\u017f://a/")
        ),
    ],
    ids=ascii,
)
def test_what_no_crawler_can_request_is_refused_with_the_reason_and_the_text(
    text: str, reason: str
) -> None:
    with pytest.raises(ValueError, match=reason) as raised:
        uri(text)
    assert repr(text) in str(raised.value)


@pytest.mark.parametrize("text", ["a" * 10**5, "/" + "a" * 10**5 + "#", "https://" + "a" * 10**5 + "/"])
def test_of_a_long_text_a_reason_shows_the_beginning(text: str) -> None:
    with pytest.raises(ValueError, match=text[:90]) as raised:
        uri(text)
    assert len(str(raised.value)) < 200


#: The path and query that RFC 3986 allows after an authority.
URI = re.compile(
    r"(https?://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[1-9][0-9]*)?)?/([A-Za-z0-9\-._~:/?@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*"
)

paths = (urls | st.text(max_size=20)).map("/".__add__)


def accepted(text: str) -> str | None:
    """Return the URI of a text, or `None`."""
    try:
        return uri(text)
    except ValueError:
        return None


@given(hosts | paths | urls | st.text(max_size=20))
@example("/%2%35")
@example("https://例え。テスト:1?%")
def test_a_uri_is_converted_once_and_has_only_valid_characters(text: str) -> None:
    found = accepted(text)
    if found is None:
        return
    assert URI.fullmatch(found)
    assert uri(found) == found
    assert found.startswith("/") or f"{found}/".startswith(f"{origin(found).scheme}://")


@given(paths)
def test_quoting_changes_no_byte_of_what_a_path_means(path: str) -> None:
    found = accepted(path)
    if found is not None:
        assert unquote_to_bytes(found) == unquote_to_bytes(path)


@given(paths)
def test_a_path_is_quoted_as_django_does_but_for_brackets_and_bare_percent_signs(path: str) -> None:
    path = re.sub(r"[\[\]]|%(?![0-9A-Fa-f]{2})", "", path)
    found = accepted(path)
    assert found is None or found == iri_to_uri(path)


@given(path=paths)
def test_a_path_means_the_same_after_a_base_as_alone(path: str) -> None:
    found = accepted(path)
    assert accepted(f"https://example.com{path}") == (found and f"https://example.com{found}")


STARTS = ["/", "https://example.com/", "http://localhost:8000/", "http://[::1]:8000/"]


@given(
    start=st.sampled_from(STARTS),
    texts=st.lists(st.lists(st.sampled_from(["a", "/b", "?c=d", "%20", "-._~:@!$&'()*+,;="])).map("".join)),
    odd=st.none() | urls | st.text(max_size=5),
    position=st.integers(0, 5),
    most=st.integers(20, 100),
    headless=st.booleans(),
)
@example(start="/", texts=["%2", "0"], odd=None, position=0, most=20, headless=False)
@example(start="/", texts=["a"], odd="b\n/c", position=1, most=20, headless=False)
@example(start="http://[::1]:8000/", texts=["a", "[b"], odd="]", position=0, most=99, headless=False)
def test_a_column_is_plain_if_each_value_is_a_short_uri_with_the_right_start(
    start: str, texts: list[str], odd: str | None, position: int, most: int, headless: bool
) -> None:
    column = [f"{start}{text}" for text in texts]
    if odd is not None:
        column.insert(position, odd if headless else f"{start}{odd}")
    each = all(text.startswith(start) and len(text) <= most and accepted(text) == text for text in column)
    assert are_plain(column, start, most) == each


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize(
    "odd",
    ["", "a", "\n", "a\n/b", "ä", "a b", "%", "%2", "%2\n", "#", "[", "]", "[]", "\\", "^", "\x7f", "\x00"],
)
def test_one_text_that_is_not_plain_is_found_anywhere(start: str, odd: str) -> None:
    good = f"{start}a?b=%C3%A4"
    for column in ([odd], [good, odd], [odd, good], [good, odd, good]):
        assert not are_plain(column, start, MAX_LOCATION)
        within = [text if text == good else f"{start}{odd}" for text in column]
        assert are_plain(within, start, MAX_LOCATION) == (odd in ("", "a"))


@given(
    start=st.sampled_from(STARTS), texts=st.lists(st.text(max_size=8) | st.text("ü%4 a\n[#/", max_size=8))
)
@example(start="/", texts=["%", "41", "%4", "1"])
@example(start="/", texts=["\x85", "ü"])
@example(start="/", texts=["\ud800", "ü"])
def test_a_column_is_quoted_as_each_value(start: str, texts: list[str]) -> None:
    column = [f"{start}{text}" for text in texts]
    quoted, each = quote_all(column), [accepted(text) for text in column]
    if quoted is not None and are_plain(quoted, start, MAX_LOCATION):
        assert quoted == each
    # Otherwise, each value of each column would be quoted on its own.
    if column and None not in each and "[" not in start:
        assert quoted == each


def test_quoted_texts_are_not_kept_in_memory() -> None:
    quote_all(["/ü/"])
    with traced() as memory:
        for number in range(200):
            assert quote_all([f"/{chr(0x4E00 + number) * 2_000}/"])
    assert memory.held < 100_000


def test_long_texts_are_not_quoted() -> None:
    assert quote_all(["ü", "ü" * (MAX_LOCATION + 1)]) is None
    assert quote_all(["a\nb"]) is None


@pytest.mark.parametrize("start", STARTS)
def test_a_plain_text_has_so_many_characters_at_most(start: str) -> None:
    column = [start, start.ljust(50, "a")]
    assert are_plain(column, start, 50)
    assert not are_plain(column, start, 49)
    assert are_plain([], start, 0)
