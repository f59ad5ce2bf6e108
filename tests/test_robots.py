"""Updates of robots.txt change only our block; warnings name what keeps crawlers from a sitemap."""

from __future__ import annotations

import re
from contextlib import suppress
from time import process_time
from urllib.parse import unquote
from urllib.robotparser import RobotFileParser

import pytest
from hypothesis import assume, given, reject, strategies as st

from django_sitemaps09.exceptions import RobotsError
from django_sitemaps09.robots import MAX_BYTES, MAX_SITEMAPS, sitemap_line, update, warnings

URL = "https://www.example.com/sitemap.xml"
OTHER = "https://www.example.com/sitemap-2.xml"
OWNER = b"User-agent: *\nDisallow: /private/\nAllow: /private/open\n\nUser-agent: bad\nDisallow: /\n"


BOM = b"\xef\xbb\xbf"

BEGIN = b"# BEGIN django-sitemaps09"

END = b"# END django-sitemaps09"

NOTE = b"# Written by the export of sitemaps; changes inside this block are lost."


def block(*urls: str, eol: bytes = b"\n") -> bytes:
    return eol.join([BEGIN, NOTE, *(b"Sitemap: " + url.encode() for url in urls), END])


@pytest.mark.parametrize(
    ("content", "urls", "expected"),
    [
        (None, [URL, OTHER], block(URL, OTHER) + b"\n"),
        (b"", [URL], block(URL) + b"\n"),
        (None, [URL, OTHER, URL], block(URL, OTHER) + b"\n"),
        (None, [], b""),
        (b"User-agent: *", [], b"User-agent: *"),
        # A block that lists nothing keeps its place.
        (b"# a\n" + block(URL) + b"\n# b\n", [], b"# a\n" + block() + b"\n# b\n"),
        (b"# a\n" + block() + b"\n# b\n", [URL], b"# a\n" + block(URL) + b"\n# b\n"),
    ],
)
def test_the_block_lists_each_url_once(content: bytes | None, urls: list[str], expected: bytes) -> None:
    assert update(content, urls) == update(expected, urls) == expected


def cut(content: bytes) -> tuple[bytes, bytes, bool]:
    """Return the content before and after our block, and whether there is a block.

    This is an independent oracle.
    """
    lines: list[bytes] = []
    line = b""
    for at in range(len(content)):
        line += content[at : at + 1]
        crlf = content[at : at + 2] == b"\r\n"
        if line[-1:] == b"\n" or (line[-1:] == b"\r" and not crlf):
            lines.append(line)
            line = b""
    lines.append(line)
    outside: tuple[list[bytes], list[bytes]] = ([], [])
    state = "before"
    for number, line in enumerate(lines):
        bom = BOM if number == 0 and line.startswith(BOM) else b""
        body = line[len(bom) :].rstrip(b"\r\n")
        words = re.sub(rb"[ \t]+", b" ", body.replace(b"#", b"# ", 1)).strip(b" \t").lower()
        if words == b"# begin django-sitemaps09":
            assert state == "before"
            state = "in"
            outside[0].append(bom)
        elif words == b"# end django-sitemaps09":
            assert state == "in"
            state = "after"
            outside[1].append(line[len(bom) + len(body) :])
        elif state != "in":
            outside[state == "after"].append(line)
    assert state != "in"
    return b"".join(outside[0]), b"".join(outside[1]), state == "after"


def groups(content: bytes) -> list[tuple[tuple[str, ...], tuple[tuple[str, str], ...]]]:
    """Return the groups according to RFC 9309."""
    found: list[tuple[list[str], list[tuple[str, str]]]] = []
    for line in re.split(rb"\r\n|\r|\n", content.removeprefix(BOM)):
        name, _, value = line.split(b"#")[0].decode().partition(":")
        field = (name.strip().lower(), value.strip())
        if field[0] == "user-agent":
            if not found or found[-1][1]:
                found.append(([], []))
            found[-1][0].append(field[1])
        elif field[0] in ("allow", "disallow") and found:
            found[-1][1].append(field)
    return [(tuple(agents), tuple(rules)) for agents, rules in found]


def parsed(content: bytes) -> RobotFileParser:
    parser = RobotFileParser()
    parser.parse(content.decode("utf-8-sig").splitlines())
    return parser


eols = st.sampled_from([b"\n", b"\r\n", b"\r"])

urls = st.lists(
    st.builds(
        "{}://{}/{}".format,
        st.sampled_from(["http", "https", "HTTPS"]),
        st.sampled_from(["www.example.com", "example.org:8000", "[::1]", "bücher.example"]),
        st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="#"))
        | st.sampled_from(["sitemap.xml", "ä/日本.xml", "%C3%A4"]),
    )
    | st.sampled_from([URL, OTHER]),
    max_size=4,
)


# Pieces of valid and invalid files. A line can have any line end, or none.
pieces = st.sampled_from(
    [
        BEGIN,
        END,
        BEGIN + b" ",
        b"\t#END  django-sitemaps09",
        b"# begin DJANGO-SITEMAPS09",
        BEGIN + b"x",
        b"x" + END,
        b"Sitemap: " + URL.encode(),
        b"sitemap :" + URL.encode() + b" # ours",
        b"SITEMAP:" + OTHER.encode(),
        b"User-agent: *",
        b"Disallow: /",
        b"Allow: /a$",
        b"# a comment",
        b" ",
        b"",
        "ä\x85\u2028".encode(),
        b"\x0b\x0c",
        BOM,
        b"\xff",
        b"\0",
    ]
)

lines = st.tuples(pieces | st.binary(max_size=6), eols | st.just(b"")).map(b"".join)

junk = st.lists(lines, max_size=10).map(b"".join)

pairs = st.tuples(junk, eols, st.lists(lines, max_size=3).map(b"".join), eols, junk).map(
    lambda p: p[0] + p[1] + BEGIN + p[1] + p[2] + p[3] + END + p[3] + p[4]
)

files = st.tuples(st.sampled_from([b"", b"", BOM]), junk | pairs | st.binary(max_size=200)).map(b"".join)


# Files without typos, so that few are rejected.
clean = st.lists(
    st.sampled_from(
        [
            *(b"User-agent: *", b"User-agent: bad", b"Disallow: /", b"Disallow: /a", b"Allow: /a/b"),
            *(b"Crawl-delay: 5", b"# note", b"Sitemap: " + OTHER.encode(), b""),
        ]
    ),
    max_size=12,
)


@st.composite
def owned(draw: st.DrawFn) -> bytes:
    """Draw a valid file, with or without our block somewhere between its lines."""
    owner, eol = draw(clean), draw(eols)
    text = eol.join(owner) + draw(st.sampled_from([b"", eol]))
    if draw(st.booleans()):
        starts = [0, *(match.end() for match in re.finditer(re.escape(eol), text))]
        at = draw(st.sampled_from(starts))
        text = text[:at] + block(*draw(urls), eol=draw(eols)) + draw(eols) + text[at:]
    return draw(st.sampled_from([b"", BOM])) + text


def accepted(content: bytes | None, urls: list[str]) -> bytes:
    try:
        return update(content, urls)
    except RobotsError:
        reject()


@given(files | owned(), urls)
def test_any_file_is_refused_or_all_outside_the_block_is_kept(content: bytes, urls: list[str]) -> None:
    result = accepted(content, urls)
    assert update(result, urls) == result
    before, after, had_block = cut(content)
    kept_before, kept_after, has_block = cut(result)
    assert kept_before.startswith(before)
    added = kept_before.removeprefix(before)
    if had_block:
        assert kept_after == after
        assert added in ([b"\n", b"\r\n", b"\r"] if before == BOM else [b""])
    elif has_block:
        # At most one line end each for the last line, the blank line and the END line.
        assert re.fullmatch(rb"(\n|\r\n|\r)?\1?", added)
        assert kept_after in (b"\n", b"\r\n", b"\r")
    else:
        assert result == content


@given(owned(), urls, urls)
def test_other_urls_replace_the_block_and_nothing_else(
    content: bytes, first: list[str], second: list[str]
) -> None:
    one = accepted(content, first)
    assume(BEGIN in one)
    two = update(one, second)
    assert cut(two) == cut(one)
    assert update(two, first) == one


@given(owned(), urls)
def test_a_valid_file_is_never_refused_and_then_lists_each_url_once(
    content: bytes, urls: list[str]
) -> None:
    listed = parsed(update(content, urls)).site_maps() or []
    owners = parsed(b"".join(cut(content)[:2])).site_maps() or []
    assert sorted(listed) == sorted([*owners, *(unquote(u) for u in {*urls} - {*owners})])


@given(owned(), urls)
def test_the_rules_of_the_owner_are_the_same_to_every_reader(content: bytes, urls: list[str]) -> None:
    result = update(content, urls)
    assert groups(result) == groups(content)
    assert str(parsed(result)) == str(parsed(content))


@given(owned(), urls)
def test_the_block_has_one_kind_of_line_end(content: bytes, urls: list[str]) -> None:
    result = update(content, urls)
    assume(BEGIN in result)
    start, stop = result.index(BEGIN), result.index(END)
    assert len({*re.findall(rb"\r\n|\r|\n", result[start:stop])}) == 1


@given(st.text() | st.text().map("https://www.example.com/{}".format))
def test_a_url_is_refused_or_written_unchanged_on_one_line(url: str) -> None:
    try:
        result = update(None, [url])
    except RobotsError:
        return
    lines = result.decode().splitlines()
    assert lines[2] == f"Sitemap: {url}"
    assert len(lines) == 4


CRLF_BLOCK = block(URL, eol=b"\r\n")
BLOCKS: dict[str, tuple[bytes, bytes]] = {
    "LF": (b"# a\n", b"# a\n\n" + block(URL) + b"\n"),
    "CRLF": (b"# a\r\n", b"# a\r\n\r\n" + CRLF_BLOCK + b"\r\n"),
    "CR": (b"# a\r", b"# a\r\r" + block(URL, eol=b"\r") + b"\r"),
    "no line end at all": (b"# a", b"# a\n\n" + block(URL) + b"\n"),
    "no final newline": (b"# a\r\n# b", b"# a\r\n# b\r\n\r\n" + CRLF_BLOCK + b"\r\n"),
    "a blank line is there": (b"# a\n\n", b"# a\n\n" + block(URL) + b"\n"),
    "blanks are blank": (b"# a\n \t\n", b"# a\n \t\n" + block(URL) + b"\n"),
    "the dominant line end": (b"# a\n# b\r\n# c\r\n", b"# a\n# b\r\n# c\r\n\r\n" + CRLF_BLOCK + b"\r\n"),
    "LF where two are equally frequent": (b"# a\r\n# b\n", b"# a\r\n# b\n\n" + block(URL) + b"\n"),
    "a stray CR at the end does not swallow the blank line": (
        b"# a\n# b\n# c\r",
        b"# a\n# b\n# c\r\n\n" + block(URL) + b"\n",
    ),
    "BOM": (BOM + b"# a\n", BOM + b"# a\n\n" + block(URL) + b"\n"),
    "BOM alone": (BOM, BOM + b"\n\n" + block(URL) + b"\n"),
    "BOM before our block": (BOM + block(OTHER) + b"\n", BOM + b"\n" + block(URL) + b"\n"),
    "our block alone, converted to CRLF": (block(OTHER, eol=b"\r\n") + b"\r\n", CRLF_BLOCK + b"\r\n"),
    "our block alone, no newline": (block(OTHER, eol=b"\r\n"), CRLF_BLOCK),
    "a block inside a group keeps its place, without blank lines": (
        b"User-agent: *\n" + block(OTHER) + b"\nDisallow: /a\n",
        b"User-agent: *\n" + block(URL) + b"\nDisallow: /a\n",
    ),
    "a CR block does not swallow the LF behind it": (
        b"# a\r# b\r# c\r" + block(OTHER) + b"\n\n# d",
        b"# a\r# b\r# c\r" + block(URL, eol=b"\r") + b"\n\n# d",
    ),
    "marks with other blanks and letters": (
        b"\t#begin  Django-Sitemaps09 \nSitemap: x\n#END django-sitemaps09\t\n# a\n",
        block(URL) + b"\n# a\n",
    ),
    "an empty block": (BEGIN + b"\n\n" + END + b"\n", block(URL) + b"\n"),
    "somebody else's mark": (BEGIN + b"-extra\n", BEGIN + b"-extra\n\n" + block(URL) + b"\n"),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_the_block_and_nothing_else_is_written(name: str) -> None:
    content, expected = BLOCKS[name]
    assert update(content, [URL]) == update(expected, [URL]) == expected


@pytest.mark.parametrize(
    "line",
    [
        *(f"Sitemap: {URL}", f"sitemap:{URL}", f"SITEMAP : {URL}", f"\t Sitemap:\t{URL}  "),
        *(f"Sitemap: {URL} # by hand", f"Sitemap: {URL}#by-hand"),
        f"Sitemap: {URL.replace('https://www.', 'HTTPS://WWW.')}",
        f"Sitemap: {URL.replace('.com', '.com:443')}",
    ],
)
@pytest.mark.parametrize("eol", ["\n", "\r\n", "\r", ""])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_what_the_owner_lists_is_not_repeated(line: str, eol: str, bom: str) -> None:
    content = f"{bom}{line}{eol}".encode()
    assert update(content, [URL]) == content
    assert OTHER.encode() in update(content, [URL, OTHER])
    assert update(content, [URL, OTHER]) == update(content, [OTHER])


@pytest.mark.parametrize(
    "line",
    [
        *(f"Sitemap: {URL.upper()}", f"Sitemap: {URL}?a", f"Sitemap: {URL} {URL}", f"# Sitemap: {URL}"),
        *(f"Site-map: {URL}", f"Disallow: {URL}"),
    ],
)
def test_what_is_not_exactly_the_same_line_does_not_list_it(line: str) -> None:
    assert update(line.encode(), [URL]) == line.encode() + b"\n\n" + block(URL) + b"\n"


def test_a_url_that_the_owner_takes_over_leaves_the_block() -> None:
    content = update(OWNER, [URL, OTHER]) + b"Sitemap: " + URL.encode() + b"\n"
    assert block(OTHER) in update(content, [URL, OTHER])


@pytest.mark.parametrize("eol", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize(
    ("marks", "where"),
    [
        ([BEGIN], "BEGIN on line 2"),
        ([END], "END on line 2"),
        ([END, BEGIN], "END on line 2, BEGIN on line 3"),
        ([BEGIN, BEGIN, END], "BEGIN on line 2, BEGIN on line 3, END on line 4"),
        ([BEGIN, END, END], "BEGIN on line 2, END on line 3, END on line 4"),
        ([BEGIN, END, BEGIN, END], "BEGIN on line 2, END on line 3, BEGIN on line 4, END on line 5"),
        ([BEGIN + b" edited", END], "END on line 3"),
        ([END] * 9, ", ".join(f"END on line {line}" for line in range(2, 7))),
    ],
)
def test_marks_out_of_order_are_refused_with_their_lines(
    marks: list[bytes], where: str, eol: bytes
) -> None:
    with pytest.raises(RobotsError, match=re.escape(f"({where}). Keep one line")):
        update(eol.join([b"# a", *marks]), [URL])


def test_a_rule_of_the_owner_inside_our_block_is_refused_not_lost() -> None:
    content = b"# a\n" + BEGIN + b"\nSitemap: x\nDisallow: /secret\n" + END
    with pytest.raises(RobotsError, match=r"'Disallow: /secret' on line 4, inside the generated block"):
        update(content, [URL])


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (OWNER.decode().encode("utf-16"), "byte 0xff on line 1"),
        (OWNER.decode().encode("utf-16-le"), "byte 0x00 on line 1"),
        (OWNER.decode().encode("utf-16-be"), "byte 0x00 on line 1"),
        (OWNER.decode().encode("utf-32"), "byte 0xff on line 1"),
        (b"# a\r# b\r\n# caf\xe9\n", "byte 0xe9 on line 3"),
        (b"# a\n\x00", "byte 0x00 on line 2"),
        (b"\x1f\x8b\x08\x00", "byte 0x8b on line 1"),
        (b"# \xed\xa0\x80", "byte 0xed on line 1"),
        (b"\xef\xbb", "byte 0xef on line 1"),
    ],
)
def test_what_is_not_utf_8_is_refused_with_its_line(content: bytes, what: str) -> None:
    with pytest.raises(RobotsError, match=what):
        update(content, [URL])


def test_the_largest_file_is_500_kib_and_no_byte_more() -> None:
    room = MAX_BYTES - len(b"\n" + block(URL) + b"\n")
    assert len(update(b"#" * (room - 1) + b"\n", [URL])) == MAX_BYTES == 500 * 1024
    with pytest.raises(RobotsError, match=r"512,001 bytes.*512,000"):
        update(b"#" * room + b"\n", [URL])


def test_a_huge_file_that_needs_nothing_is_returned_and_warned_about() -> None:
    content = b"Sitemap: " + URL.encode() + b"\n" + b"#" * MAX_BYTES
    assert update(content, [URL]) is content
    assert warnings(content, [URL]) == [
        f"crawlers may read only 512,000 of the {len(content):,} bytes in the file."
    ]


@pytest.mark.parametrize(
    "url",
    [
        "",
        "/sitemap.xml",
        "//www.example.com/sitemap.xml",
        "www.example.com/sitemap.xml",
        "ftp://www.example.com/sitemap.xml",
        "file:///sitemap.xml",
        "javascript:alert(1)",
        "https:sitemap.xml",
        "https:///sitemap.xml",
        "https://https://www.example.com/sitemap.xml",
        "https://www.example.com:/sitemap.xml",
        "https://:80/sitemap.xml",
        "https://[::1/sitemap.xml",
        "https://www.example.com:port/sitemap.xml",
        "https://www.example.com:99999/sitemap.xml",
        " https://www.example.com/sitemap.xml",
        "https://www.example.com/site map.xml",
        "https://www.example.com/a.xml#part",
        *(
            f"https://www.example.com/a{bad}User-agent: *"
            for bad in "\n\r\t\0\x0b\x0c\x1c\x7f\x85\xa0\u2028\u2029\u200b\ufeff\ud800"
        ),
    ],
)
def test_a_url_that_no_line_can_hold_is_refused_by_name(url: str) -> None:
    with pytest.raises(RobotsError, match=re.escape(repr(url))):
        update(OWNER, [URL, url])


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:8000/sitemap.xml",
        "https://[2001:db8::1]/sitemap.xml",
        "https://cdn.example.net/a/b/sitemap.xml.gz?v=1&w=%20",
        "https://bücher.example/übersicht.xml",
    ],
)
def test_any_absolute_url_on_any_host_is_a_line(url: str) -> None:
    assert sitemap_line(url) == f"Sitemap: {url}"
    assert parsed(update(OWNER, [url])).site_maps() == [unquote(url)]


def test_a_valid_file_has_no_warnings() -> None:
    assert warnings(update(OWNER, [URL]), [URL]) == []
    assert warnings(b"", [URL]) == []


def test_more_lines_than_seznam_reads_are_warned_about() -> None:
    urls = [f"https://www.example.com/sitemap-{number}.xml" for number in range(MAX_SITEMAPS + 1)]
    assert warnings(update(None, urls[1:]), urls[1:]) == []
    assert warnings(update(None, urls), urls) == [
        "Seznam reads only 100 of the 101 Sitemap lines in the file."
    ]


@pytest.mark.parametrize(
    ("rules", "line"),
    [
        ("User-agent: *\nDisallow: /", 2),
        ("User-agent: *\nDisallow:", None),
        ("User-agent: *\nDisallow: /other", None),
        ("User-agent: *\nDisallow: /sitemap", 2),
        ("User-agent: *\nDisallow: /Sitemap", None),
        ("User-agent: *\nDisallow: sitemap", None),
        ("User-agent: *\nDisallow: /sitemap.xml$", 2),
        ("User-agent: *\nDisallow: /sitemap$", None),
        ("User-agent: *\nDisallow: /*.xml", 2),
        ("User-agent: *\nDisallow: /*.xml$", 2),
        ("User-agent: *\nDisallow: *map*l$", 2),
        ("User-agent: *\nDisallow: /?itemap", None),
        ("User-agent: *\nDisallow: /[s]itemap", None),
        ("User-agent: *\nDisallow: /\nAllow: /sitemap.xml", None),
        ("User-agent: *\nAllow: /s\nDisallow: /sitemap", 3),
        ("User-agent: *\nDisallow: /s\nAllow: /s", None),
        ("User-agent: bad\nDisallow: /", None),
        ("User-agent: bad\nUser-agent: *\nDisallow: /", 3),
        ("User-agent: *\nUser-agent: bad\nDisallow: /", 3),
        ("User-agent: *\nAllow: /a\nUser-agent: bad\nDisallow: /", None),
        ("User-agent: *\nAllow: /a\n\nUser-agent: *\nDisallow: /", 5),
        ("user-AGENT : *\n\nCrawl-delay: 5\n# note\nDISALLOW:/ # all", 5),
        ("\ufeffUser-agent: *\rDisallow: /", 2),
        ("Disallow: /", None),
    ],
)
def test_a_sitemap_that_the_rules_for_all_forbid_is_warned_about(rules: str, line: int | None) -> None:
    found = warnings(update(rules.encode(), [URL]), [URL])
    assert len(found) == (line is not None)
    assert all(f"line {line} (" in warning and URL in warning for warning in found)


@pytest.mark.parametrize(
    ("path", "rule", "forbidden"),
    [
        ("", "/", True),
        ("/a?p=1", "/*?p=", True),
        ("/a?p=1", "/a$", False),
        ("/a?p=1", "/a?p", True),
        ("/ü.xml", "/ü", True),
        ("/%C3%BC.xml", "/ü", True),
    ],
)
def test_rules_are_compared_with_the_path_and_query_as_they_are_sent(
    path: str, rule: str, forbidden: bool
) -> None:
    content = f"User-agent: *\nDisallow: {rule}\n".encode()
    assert bool(warnings(content, [f"https://www.example.com{path}"])) is forbidden


@pytest.mark.parametrize(
    ("content", "warned"),
    [
        (f"Sitemap: {URL}\n", False),
        (f" SITEMAP:{URL} \n", False),
        (f"Sitemap : {URL}\n", True),
        (f"Sitemap: {URL} # by hand\n", True),
        (f"\ufeffSitemap: {URL}\n", True),
        (f"\ufeff\nSitemap: {URL}\n", False),
        (f"Sitemap : {URL}\nSitemap: {URL}\n", False),
    ],
)
def test_an_owners_line_that_some_clients_cannot_read_is_warned_about(content: str, warned: bool) -> None:
    found = warnings(content.encode(), [URL])
    assert len(found) == warned
    assert all("line 1 (" in warning and f"Write it as 'Sitemap: {URL}'" in warning for warning in found)


@given(st.binary(), st.lists(st.sampled_from([URL, OTHER])))
def test_warnings_never_fail(content: bytes, urls: list[str]) -> None:
    warnings(content, urls)


@given(st.text("/ab*$?[.", max_size=9).map("/{}".format), st.text("/ab$?[.", max_size=9).map("/{}".format))
def test_a_rule_covers_what_its_pattern_says(rule: str, path: str) -> None:
    anchored = rule.endswith("$")
    pattern = ".*".join(map(re.escape, rule.removesuffix("$").split("*"))) + ("" if anchored else ".*")
    content = f"User-agent: *\nDisallow: {rule}\n".encode()
    url = f"https://www.example.com{path}"
    covered = re.fullmatch(pattern, path, re.DOTALL) is not None
    # A final question mark begins an empty query, which is not sent.
    assume(not path.endswith("?"))
    assert bool(warnings(content, [url])) == covered


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [b"Disallow: /%07d*b\n", b"Disallow: /*s*%07d\n", b"Sitemap: https://a/%07d\n", b"%07d\n"],
    ids=["rules", "patterns", "sitemaps", "lines"],
)
def test_five_megabytes_cost_a_few_seconds_at_most(line: bytes) -> None:
    """Once, patterns took 20 seconds, in which no other export could run."""
    content = b"User-agent: *\n" + b"".join(line % number for number in range(5_000_000 // len(line % 0)))
    before = process_time()
    with suppress(RobotsError):
        update(content, [URL])
    assert warnings(content, [URL])
    assert process_time() - before < 6


def test_the_cost_of_a_pattern_is_linear_in_its_length() -> None:
    content = b"User-agent: *\nDisallow: /" + b"*s*i" * 100_000 + b"\n"
    before = process_time()
    assert warnings(content, [URL]) == []
    assert process_time() - before < 3
