"""A path or a URL becomes a URI, a base is scheme, host and port; the rest is refused with a reason."""

from __future__ import annotations

import re
import unicodedata
from stringprep import in_table_b1
from urllib.parse import unquote_to_bytes, urlsplit

import pytest
from django.utils.encoding import iri_to_uri
from hypothesis import example, given, strategies as st

from django_sitemaps09.conf import check_endpoints, check_keys
from django_sitemaps09.protocol import limits, values
from django_sitemaps09.protocol.urls import are_plain, origin, quote_all
from tests.support.internals import MAX_LOCATION, SITEMAP_NAMESPACE, parse_base, uri
from tests.support.memory import traced

PIECES = [
    *("https://", "http://", "HTTPS://", "//", "/", "\\", "?", "#", "@", ":", "[", "]", "::1", ".", "-"),
    *("example.com", "EXAMPLE.com", "evil.com", "ä", "a", "_", "%", "%2e", "80", "443", "0", "&", "<", " "),
    *("\t", "\r\n", "\x00", "\u3000", "\u00ad", "。", "／", "１", "x-", "user:pass"),  # noqa: RUF001
    *("\u2024", "\u2025", "\ud800", "%zz", "%C3", "^", "`", "{", "}", "|", '"', ">", "~", "é=1", "'"),
]
#: Mostly invalid strings, most of them similar to valid ones.
urls = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)
schemes = st.sampled_from(["https://", "http://", "HTTPS://", "https://example.com"])
hosts = schemes.flatmap(lambda head: urls.map(head.__add__))
paths = (urls | st.text(max_size=20)).map("/".__add__)
BASE = r"https?://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[1-9][0-9]*)?"
#: The path and query that RFC 3986 allows after an authority.
URI = re.compile(rf"({BASE})?/([A-Za-z0-9\-._~:/?@!$&'()*+,;=]|%[0-9A-Fa-f]{{2}})*")


def accepted(text, read=uri):
    try:
        return read(text)
    except ValueError:
        return None


PLAIN = ["http://localhost:8000", "https://example.com:443", "https://under_score.example"]
PLAIN += ["http://192.0.2.1:80", "http://[::ffff:192.0.2.1]", "https://www.example.com."]


@pytest.mark.parametrize(("url", "expected"), [
    *((url, url) for url in PLAIN),
    ("https://www.example.com/", "https://www.example.com"),
    ("HTTPS://WWW.Example.COM", "https://www.example.com"),
    ("https://exämple.com", "https://xn--exmple-cua.com"),
    ("https://EXÄMPLE.com:8443/", "https://xn--exmple-cua.com:8443"),
    ("https://例え。テスト", "https://xn--r8jz45g.xn--zckzah"),
    ("http://[2001:DB8::1]", "http://[2001:db8::1]"),
    ("http://[::1]:8000/", "http://[::1]:8000"),
    # Another Unicode dot besides the ideographic one. It also separates labels.
    ("https://www\u2024exämple.com", "https://www.xn--exmple-cua.com"),
])  # fmt: skip
def test_a_base_is_scheme_host_and_port(url, expected):
    assert str(parse_base(url)) == str(parse_base(expected)) == expected


#: Reasons why some of the texts below are not bases.
REASONS = {
    "https://https://example.com": "contains a second scheme",
    "https://www.example.comhttps://www.example.com": "contains a second scheme",
    "https://example.com:": "has a colon after its host, but no port",
    "https://user@example.com": "contains a user name", "https://": "has no host",
}  # fmt: skip


@pytest.mark.parametrize("url", [
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
    *("https://\u2024\u2024", "https://\u2025", "https://a\u2025b", "https://ä\u2025b", "https://\u2026"),
    *("https://[1:2]", "https://[::1::]", "https://[1.2.3.4]", "https://[:::]", "https://[::1%25eth0]"),
    *("https://example.com:", "https://https://example.com", "https://http", "https://HTTPS:80"),
    *("https://www.example.comhttps://www.example.com", "https://https:"),
    *("https://a:08", "http\u017f://a.b", "https://a／b", "https://" + "a" * 64 + ".com"),  # noqa: RUF001
    "https://example.com\u3000",
])  # fmt: skip
def test_what_is_more_or_less_than_a_base_is_refused_with_a_reason(url):
    with pytest.raises(ValueError, match=f"^{re.escape(repr(url))} {REASONS.get(url, '')}"):
        parse_base(url)


@pytest.mark.parametrize(
    "url", ["{}https://ab", "https{}://ab", "https:/{}/ab", "https://a{}b", "https://ab{}", "https://ab/{}"]
)
def test_a_base_with_a_control_character_or_a_space_is_refused_anywhere(url):
    """Python's `urlsplit()` silently removes them."""
    for character in ("\t", "\r", "\n", "\r\n", "\x00", " ", "\x1f", "\x7f", "\x85"):
        with pytest.raises(ValueError, match="https"):
            parse_base(url.format(character))


@given(hosts | urls | st.text(max_size=20))
def test_every_base_that_is_accepted_reads_as_itself_and_is_a_uri_but_for_its_slash(url):
    base = accepted(url, parse_base)
    if base is None:
        return
    assert parse_base(str(base)) == base
    assert re.fullmatch(BASE, str(base))
    assert all(base.domain.removesuffix(".").split("."))
    parts = urlsplit(f"{base}/path")
    assert (parts.scheme, parts.netloc, parts.path) == (*base, "/path")
    # IDNA leaves out what is in the table B.1, such as a soft hyphen.
    assert all(each.isprintable() or in_table_b1(each) for each in url)
    assert uri(url) == f"{base}/"


@pytest.mark.parametrize(
    ("url", "expected"),
    [("https://www.example.com", "https://www.example.com"),
     ("HTTPS://WWW.example.COM:443/A?b", "https://www.example.com"),
     ("http://example.com:80?x=//y:81/", "http://example.com"),
     ("http://example.com:443/", "http://example.com:443"),
     ("https://example.com:8443/a@b", "https://example.com:8443"),
     ("http://[2001:DB8::1]:80/", "http://[2001:db8::1]"), ("http://[::1]:8000/", "http://[::1]:8000")],
)  # fmt: skip
def test_an_origin_is_a_base_without_the_port_that_its_scheme_has_anyway(url, expected):
    assert str(origin(url)) == expected
    assert origin(expected) == origin(url) == parse_base(expected)


@pytest.mark.parametrize(
    "url",
    [*("", "/", "/a", "//example.com/", "example.com", "ftp://example.com/", "https:/a", "https://"),
     *("https://user@example.com/", "https://@a/", "https://a\\@b/", "https://a\\b/", "https://a b/"),
     *("https://a:0/", "https://a:65536/", "https://a:x/", "https://[::1/", "https://../", "https://ä/"),
     *("https://example.com:/", "https://https://a/", "https://http/a", "https://a.bhttp://c.d/"),
     *("https://exa\tmple.com/", "https://%41/", "https://a:1:2/", "https:///a", "https://a\u3002b/")],
    ids=ascii,
)  # fmt: skip
def test_what_leads_to_no_single_host_has_no_origin(url):
    with pytest.raises(ValueError, match=re.escape(repr(url))):
        origin(url)


def test_a_host_is_as_long_as_it_is_when_it_is_normalized_and_refused_before_if_it_is_too_long():
    longest = ".".join(["a" * 63, "b" * 63, "c" * 63, "d" * 61])
    assert uri(f"https://{longest}/") == f"https://{longest}/"
    long_names = (
        f"a{chr(0x300) * 1_000}", "\ufdfa" * 56, f"{'a' * 64}.example", f"{'a.' * 126}ab", f"{longest}d",
    )  # fmt: skip
    for name in long_names:
        with pytest.raises(ValueError, match="too long"):
            uri(f"https://{name}/")
    accents = ".".join([unicodedata.normalize("NFD", "\u1e09" * 8)] * 12)
    assert len(accents) > 253 > len(uri(f"https://{accents}/"))


#: The case of an escape is kept.
URIS = ["/", "/a/B?c=D&e=f", "/a//b", "/-._~:/?@!$&'()*+,;=", "/%20%c3%A4", "/?a?b//c", "https://a.b:443/"]


@pytest.mark.parametrize(("text", "expected"), [
    *((text, text) for text in URIS),
    ("/käse/日本?ö=ü", "/k%C3%A4se/%E6%97%A5%E6%9C%AC?%C3%B6=%C3%BC"),
    ("/😀", "/%F0%9F%98%80"),
    # A percent sign without two digits is encoded.
    ("/100%", "/100%25"),
    ("/%2", "/%252"),
    ("/%zz%%20", "/%25zz%25%20"),
    ("/%é2", "/%25%C3%A92"),
    ("/a b ", "/a%20b%20"),
    ("/[a]?b[]=1", "/%5Ba%5D?b%5B%5D=1"),
    ('/\\evil.com/^`{|}"<>', "/%5Cevil.com/%5E%60%7B%7C%7D%22%3C%3E"),
    ("/\u2028\u3000\u00ad", "/%E2%80%A8%E3%80%80%C2%AD"),
    ("https://a.example", "https://a.example/"),
    ("https://a.example?x=1", "https://a.example/?x=1"),
    ("HTTPS://WWW.Example.COM/Path?Query=A", "https://www.example.com/Path?Query=A"),
    ("https://EXÄMPLE.com:8443/ä", "https://xn--exmple-cua.com:8443/%C3%A4"),
    ("https://例え。テスト/[x]", "https://xn--r8jz45g.xn--zckzah/%5Bx%5D"),
    ("http://[2001:DB8::1]:80/[", "http://[2001:db8::1]:80/%5B"),
    ("https://a.example/@b\\c", "https://a.example/@b%5Cc"),
    ("https://a.example?x=a@b", "https://a.example/?x=a@b"),
], ids=ascii)  # fmt: skip
def test_a_path_or_an_absolute_url_becomes_a_uri_and_a_uri_stays_as_it_is(text, expected):
    assert uri(text) == uri(expected) == expected


#: What is refused, where `{}` is what each of several texts has instead.
REFUSED = [
    ("{}", "is empty", [""]),
    ("/a{}b", "control character", "\x00\t\n\r\x1f\x7f\x80\x85\x9f"),
    ("https://a{}b/", "control character", "\x00\t\n\r\x7f\x85"),
    ("{}", "a fragment",
     ["/a#b", "#", "https://a.example#b", "https://a.example/#", "https://a#@b.example/"]),
    ("https://{}@a.example/", "a user", ["", "user", "user:pass", "b.example:80"]),
    ("https://{}/", "backslash", ["evil.com\\@a.example", "a\\b", "\\a.example"]),
    ("https://{}/", "an invalid host", ["a..b", "..", "\u2025", "a b", "*", "%41", "a,b", "[::1", "[::g]"]),
    ("https://{}/", "an invalid host", ["[1:2]", "[::1]a", ":80", "a\uff0fb"]),
    ("https://a:{}/", "an invalid (host or )?port", ["0", "65536", "99999", "x", "-1", "1:2", "\uff11"]),
    ("{}", "surrogate", ["/\ud800", "https://\udfff/", "/\ud83d\ude00"]),
    ("{}", "is neither a path", ["a", "a/b", " /a", "?a", "www.example.com/", "\\a", "://a/", "https:"]),
    ("{}", "is neither a path", ["https:/a", "//", "//a/b", "https:https//a/", "ftp://a/", "mailto:a@b"]),
    ("{}", "is neither a path", ["xhttps://a/", "http\u017f://a/"]),
    ("{}", "has no host", ["https://", "https:///a", "https://?a"]),
    ("https://{}/", "a colon after its host, but no port", ["a.b:", "[::1]:"]),
    ("https://{}/", "a second scheme",
     ["https://a.b", "HTTP:", "http:a.b", "a.bhttps://a.b", "a.b:80http://a.b"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "reason"), [(form.format(each), reason) for form, reason, texts in REFUSED for each in texts],
    ids=ascii,
)  # fmt: skip
def test_what_no_crawler_can_request_is_refused_with_the_reason_and_the_text(text, reason):
    with pytest.raises(ValueError, match=reason) as raised:
        uri(text)
    assert repr(text) in str(raised.value)


def test_of_a_long_text_a_reason_shows_the_beginning():
    for text in ("a" * 10**5, "/" + "a" * 10**5 + "#", "https://" + "a" * 10**5 + "/"):
        with pytest.raises(ValueError, match=text[:90]) as raised:
            uri(text)
        assert len(str(raised.value)) < 200


@given(hosts | paths | urls | st.text(max_size=20))
@example("/%2%35")
@example("https://例え。テスト:1?%")
def test_a_uri_is_converted_once_and_has_only_valid_characters(text):
    found = accepted(text)
    if found is not None:
        assert URI.fullmatch(found)
        assert uri(found) == found
        assert found.startswith("/") or f"{found}/".startswith(f"{origin(found).scheme}://")


@given(paths)
def test_a_path_means_what_it_meant_and_is_quoted_as_django_does_but_for_brackets_and_bare_percents(path):
    found = accepted(path)
    assert found is None or unquote_to_bytes(found) == unquote_to_bytes(path)
    # Two slashes are a path only after a host.
    if not path.startswith("//"):
        assert accepted(f"https://example.com{path}") == (found and f"https://example.com{found}")
    path = re.sub(r"[\[\]]|%(?![0-9A-Fa-f]{2})", "", path)
    found = accepted(path)
    assert found is None or found == iri_to_uri(path)


STARTS = ["/", "https://example.com/", "http://localhost:8000/", "http://[::1]:8000/"]
plain_parts = st.lists(st.sampled_from(["a", "/b", "?c=d", "%20", "-._~:@!$&'()*+,;="])).map("".join)


@given(
    start=st.sampled_from(STARTS), texts=st.lists(plain_parts), odd=st.none() | urls | st.text(max_size=5),
    position=st.integers(0, 5), most=st.integers(20, 100), headless=st.booleans(),
)  # fmt: skip
@example(start="/", texts=["%2", "0"], odd=None, position=0, most=20, headless=False)
@example(start="/", texts=["a"], odd="b\n/c", position=1, most=20, headless=False)
@example(start="http://[::1]:8000/", texts=["a", "[b"], odd="]", position=0, most=99, headless=False)
def test_a_column_is_plain_if_each_value_is_a_short_uri_with_the_right_start(
    start, texts, odd, position, most, headless
):
    column = [f"{start}{text}" for text in texts]
    if odd is not None:
        column.insert(position, odd if headless else f"{start}{odd}")
    short = [text for text in column if len(text) <= most and accepted(text) == text]
    # Two slashes after a start may be the beginning of another host.
    each = [text for text in short if text.startswith(start) and not text.startswith(f"{start}/")]
    assert are_plain(column, start, most) == (each == column)


@pytest.mark.parametrize("start", STARTS)
def test_one_text_that_is_not_plain_or_too_long_is_found_anywhere(start):
    good = f"{start}a?b=%C3%A4"
    odd_ones = [
        "\n", "a\n/b", "ä", "a b", "%", "%2", "%2\n", "#", "[", "]", "[]", "\\", "^", "\x7f", "\x00",
    ]  # fmt: skip
    for odd in ("", "a", *odd_ones):
        for column in ([odd], [good, odd], [odd, good], [good, odd, good]):
            assert not are_plain(column, start, MAX_LOCATION)
            within = [text if text == good else f"{start}{odd}" for text in column]
            assert are_plain(within, start, MAX_LOCATION) == (odd in ("", "a"))
    column = [start, start.ljust(50, "a")]
    assert [are_plain(column, start, most) for most in (50, 49)] == [True, False]
    assert are_plain([], start, 0)


@given(st.sampled_from(STARTS), st.lists(st.text(max_size=8) | st.text("ü%4 a\n[#/", max_size=8)))
@example("/", ["%", "41", "%4", "1"])
@example("/", ["\x85", "ü"])
@example("/", ["\ud800", "ü"])
def test_a_column_is_quoted_as_each_value(start, texts):
    column = [f"{start}{text}" for text in texts]
    quoted, each = quote_all(column), [accepted(text) for text in column]
    if quoted is not None and are_plain(quoted, start, MAX_LOCATION):
        assert quoted == each
    # Otherwise, each value of each column would be quoted on its own.
    if column and None not in each and "[" not in start:
        assert quoted == each


def test_quoted_texts_are_not_kept_in_memory_and_long_ones_are_not_quoted():
    quote_all(["/ü/"])
    with traced() as memory:
        for number in range(200):
            assert quote_all([f"/{chr(0x4E00 + number) * 2_000}/"])
    assert memory.held < 100_000
    assert quote_all(["ü", "ü" * (MAX_LOCATION + 1)]) is None
    assert quote_all(["a\nb"]) is None


HTTPS = ["https://api.indexnow.org/indexnow", "https://a.b:8443/?token=x", "https://[2001:db8::1]/"]
LOOPBACK = ["http://127.0.0.1:8000/", "http://127.8.8.8/", "http://[::1]/x", "http://localhost/x?y=z"]
INVALID = [
    *("http://a.b/", "http://localhost.a.b/", "http://127.0.0.1.a.b/", "http://10.0.0.1/"),
    *("http://0.0.0.0/", "ftp://a.b/", "//a.b/", "/indexnow", "https://", "https://u:p@a.b/"),
    *("https://a.b/#x", "https://a.b/ x", "https://a.b/\r\nX: y", "https://a.b\\@c.d/", "https://a.b/é"),
    *("", b"https://a.b/", None),
]


def test_endpoints_are_a_list_of_https_urls_or_on_this_machine_and_any_other_one_is_not_quoted():
    assert check_endpoints([*HTTPS, *LOOPBACK]) == (*HTTPS, *LOOPBACK)
    for url in INVALID:
        problem = f"a string, not {type(url).__name__}"
        if isinstance(url, str):
            problem = "an absolute, percent-encoded https URL"
        with pytest.raises(ValueError, match=f"URL 2 must be {problem}") as raised:
            check_endpoints([HTTPS[0], url])
        assert not url or str(url) not in str(raised.value)
    for value in ("https://a.b/", None, {"https://a.b/"}, 7):
        with pytest.raises(ValueError, match="list of URLs"):
            check_endpoints(value)


def test_an_invalid_key_and_an_invalid_host_of_a_key_are_not_quoted():
    for key in ("a" * 7, "a" * 129, "a" * 8 + "_", "a" * 8 + "\n", "ä" * 8, "../../etc/a"):
        for value in (key, {"a.b": key}):
            with pytest.raises(ValueError, match="8 to 128 letters") as raised:
                check_keys(value)
            assert key not in str(raised.value)
    # It is the key, if it has the place of the host.
    for host in ("ABCDEFGH", "ABC DEFGH", "a.b/", 7):
        with pytest.raises(ValueError, match=r"host 2 must be a host name in lower case") as raised:
            check_keys({"a.b": "a" * 8, host: "localhost"})
        assert str(host) not in str(raised.value).removeprefix("host 2")


def test_limits_are_those_of_the_protocol_and_links_of_any_number_are_checked_once():
    assert (limits.MAX_URLS, limits.MAX_BYTES) == limits.INDEX_LIMITS == (50_000, 50 * 2**20)
    assert limits.OLD_MAX_BYTES == 10 * 2**20
    assert SITEMAP_NAMESPACE == "http://www.sitemaps.org/schemas/sitemap/0.9"
    links = [(f"l{number}", f"/{number}/") for number in range(20_000)]
    values.check_links(links, [], ["/7/"])
    with pytest.raises(ValueError, match="more than once"):
        values.check_links([*links, links[0]], [], ["/7/"])
