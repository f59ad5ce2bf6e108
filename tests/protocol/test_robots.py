"""Updates of robots.txt change only our block; warnings name what keeps crawlers from a sitemap."""

from __future__ import annotations

import re
from contextlib import suppress
from time import process_time
from urllib.robotparser import RobotFileParser

import pytest
from hypothesis import assume, given, reject, strategies as st

from django_sitemaps09.exceptions import RobotsError
from django_sitemaps09.protocol.limits import MAX_ROBOTS_BYTES, MAX_ROBOTS_SITEMAPS
from django_sitemaps09.protocol.robots import update, warnings

URL, OTHER = "https://www.example.com/sitemap.xml", "https://www.example.com/sitemap-2.xml"
OWNER = b"User-agent: *\nDisallow: /private/\nAllow: /private/open\n\nUser-agent: bad\nDisallow: /\n"
BOM = b"\xef\xbb\xbf"
BEGIN, END = b"# BEGIN django-sitemaps09", b"# END django-sitemaps09"
NOTE = b"# Written by the export of sitemaps; changes inside this block are lost."
EOLS = [b"\n", b"\r\n", b"\r"]


def block(*urls, eol=b"\n"):
    return eol.join([BEGIN, NOTE, *(b"Sitemap: " + url.encode() for url in urls), END])


LF, CRLF, CR = (block(URL, eol=eol) for eol in EOLS)


@pytest.mark.parametrize(("content", "urls", "expected"), [
    (None, [URL, OTHER, URL], block(URL, OTHER) + b"\n"), (b"", [URL], LF + b"\n"), (None, [], b""),
    (b"User-agent: *", [], b"User-agent: *"),
    # A block that lists nothing keeps its place.
    (b"# a\n" + LF + b"\n# b\n", [], b"# a\n" + block() + b"\n# b\n"),
    (b"# a\n" + block() + b"\n# b\n", [URL], b"# a\n" + LF + b"\n# b\n"),
    # The block has the line end of the file, and a blank line before it.
    (b"# a\n", [URL], b"# a\n\n" + LF + b"\n"), (b"# a\r\n", [URL], b"# a\r\n\r\n" + CRLF + b"\r\n"),
    (b"# a\r", [URL], b"# a\r\r" + CR + b"\r"), (b"# a", [URL], b"# a\n\n" + LF + b"\n"),
    (b"# a\r\n# b", [URL], b"# a\r\n# b\r\n\r\n" + CRLF + b"\r\n"),
    (b"# a\n\n", [URL], b"# a\n\n" + LF + b"\n"), (b"# a\n \t\n", [URL], b"# a\n \t\n" + LF + b"\n"),
    # That is the most frequent one, LF if two are equally frequent. A last CR and LF are two line ends.
    (b"# a\n# b\r\n# c\r\n", [URL], b"# a\n# b\r\n# c\r\n\r\n" + CRLF + b"\r\n"),
    (b"# a\r\n# b\n", [URL], b"# a\r\n# b\n\n" + LF + b"\n"),
    (b"# a\n# b\n# c\r", [URL], b"# a\n# b\n# c\r\n\n" + LF + b"\n"),
    # Many clients cannot read a line that begins with a BOM.
    (BOM + b"# a\n", [URL], BOM + b"# a\n\n" + LF + b"\n"), (BOM, [URL], BOM + b"\n\n" + LF + b"\n"),
    (BOM + block(OTHER) + b"\n", [URL], BOM + b"\n" + LF + b"\n"),
    # A block is replaced in its place, by one with the line end of the rest, if there is a rest.
    (block(OTHER, eol=b"\r\n") + b"\r\n", [URL], CRLF + b"\r\n"), (block(OTHER, eol=b"\r\n"), [URL], CRLF),
    (b"Allow: /\n" + block(OTHER) + b"\nDisallow: /\n", [URL], b"Allow: /\n" + LF + b"\nDisallow: /\n"),
    (b"# a\r# b\r# c\r" + block(OTHER) + b"\n\n# d", [URL], b"# a\r# b\r# c\r" + CR + b"\n\n# d"),
    # Marks may have other blanks and letters, but no more than that.
    (b"\t#begin  Django-Sitemaps09 \nSitemap: x\n#END django-sitemaps09\t\n# a", [URL], LF + b"\n# a"),
    (BEGIN + b"\n\n" + END + b"\n", [URL], LF + b"\n"),
    (BEGIN + b"-extra\n", [URL], BEGIN + b"-extra\n\n" + LF + b"\n"),
])  # fmt: skip
def test_an_update_writes_the_block_and_nothing_else(content, urls, expected):
    assert update(content, urls) == update(expected, urls) == expected


def cut(content):
    """Return the content before and after our block, and whether there is a block.

    This is an independent oracle.
    """
    outside, state = ([], []), "before"
    for number, line in enumerate(content.splitlines(keepends=True)):
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


def groups(content):
    """Return the groups according to RFC 9309."""
    found = []
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


def parsed(content):
    parser = RobotFileParser()
    parser.parse(content.decode("utf-8-sig").splitlines())
    return parser


eols, schemes = st.sampled_from(EOLS), st.sampled_from(["http", "https", "HTTPS"])
hosts = st.sampled_from(["www.example.com", "localhost:8000", "[2001:db8::1]", "bücher.example"])
paths = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="#"))
paths |= st.sampled_from(["sitemap.xml", "ä/日本.xml", "%C3%A4", "a/sitemap.xml.gz?v=1&w=%20"])
any_url = st.builds("{}://{}/{}".format, schemes, hosts, paths) | st.sampled_from([URL, OTHER])
urls = st.lists(any_url, max_size=4)
# Pieces of valid and invalid files. A line can have any line end, or none.
pieces = st.sampled_from([
    BEGIN, END, BEGIN + b" ", b"\t#END  django-sitemaps09", b"# begin DJANGO-SITEMAPS09", BEGIN + b"x",
    b"x" + END, b"Sitemap: " + URL.encode(), b"sitemap :" + URL.encode() + b" # ours",
    b"SITEMAP:" + OTHER.encode(), b"User-agent: *", b"Disallow: /", b"Allow: /a$", b"# a comment",
    b" ", b"", "ä\x85\u2028".encode(), b"\x0b\x0c", BOM, b"\xff", b"\0",
])  # fmt: skip
lines = st.tuples(pieces | st.binary(max_size=6), eols | st.just(b"")).map(b"".join)
junk = st.lists(lines, max_size=10).map(b"".join)
pairs = st.tuples(junk, eols, st.lists(lines, max_size=3).map(b"".join), eols, junk).map(
    lambda p: p[0] + p[1] + BEGIN + p[1] + p[2] + p[3] + END + p[3] + p[4]
)
files = st.tuples(st.sampled_from([b"", b"", BOM]), junk | pairs | st.binary(max_size=200)).map(b"".join)
# Lines without typos, so that few files are rejected.
clean = [
    *(b"User-agent: *", b"User-agent: bad", b"Disallow: /", b"Disallow: /a", b"Allow: /a/b"),
    *(b"Crawl-delay: 5", b"# note", b"Sitemap: " + OTHER.encode(), b""),
]


@st.composite
def owned(draw):
    """Draw a valid file, with or without our block somewhere between its lines."""
    owner, eol = draw(st.lists(st.sampled_from(clean), max_size=12)), draw(eols)
    text = eol.join(owner) + draw(st.sampled_from([b"", eol]))
    if draw(st.booleans()):
        at = draw(st.sampled_from([0, *(match.end() for match in re.finditer(re.escape(eol), text))]))
        text = text[:at] + block(*draw(urls), eol=draw(eols)) + draw(eols) + text[at:]
    return draw(st.sampled_from([b"", BOM])) + text


@given(files | owned(), urls)
def test_any_file_is_refused_or_all_outside_the_block_is_kept(content, urls):
    try:
        result = update(content, urls)
    except RobotsError:
        reject()
    assert update(result, urls) == result
    before, after, had_block = cut(content)
    kept_before, kept_after, has_block = cut(result)
    assert kept_before.startswith(before)
    added = kept_before.removeprefix(before)
    if had_block:
        assert kept_after == after
        assert added in (EOLS if before == BOM else [b""])
    elif has_block:
        # At most one line end each for the last line, the blank line and the END line.
        assert re.fullmatch(rb"(\n|\r\n|\r)?\1?", added)
        assert kept_after in EOLS
    else:
        assert result == content


@given(owned(), urls, urls)
def test_a_valid_file_lists_each_url_once_and_has_the_same_rules_for_every_reader(content, urls, second):
    result = update(content, urls)
    # A URL is the same in both spellings of its scheme.
    listed, owners, added = (
        [url.replace("HTTPS:", "https:") for url in found or ()]
        for found in (parsed(result).site_maps(), parsed(b"".join(cut(content)[:2])).site_maps(), urls)
    )
    read = (parsed(block(url)).site_maps() for url in {*added} - {*owners})
    assert (sorted(listed), groups(result)) == (sorted(sum(read, owners)), groups(content))
    assert str(parsed(result)) == str(parsed(content))
    if BEGIN in result:
        start, stop = result.index(BEGIN), result.index(END)
        assert len({*re.findall(rb"\r\n|\r|\n", result[start:stop])}) == 1
        # Other URLs replace the block and nothing else.
        other = update(result, second)
        assert (cut(other), update(other, urls)) == (cut(result), result)


@given(st.text() | st.text().map("https://www.example.com/{}".format))
def test_a_url_is_refused_or_written_unchanged_on_one_line(url):
    with suppress(RobotsError):
        lines = update(None, [url]).decode().splitlines()
        assert (lines[2], len(lines)) == (f"Sitemap: {url}", 4)


@pytest.mark.parametrize("line", [
    f"sitemap:{URL}", f"SITEMAP : {URL}", f"\t Sitemap:\t{URL}  ", f"Sitemap: {URL}#by-hand",
    f"Sitemap: {URL.replace('https://www.', 'HTTPS://WWW.')} # by hand",
    f"Sitemap: {URL.replace('.com', '.com:443')}",
])  # fmt: skip
def test_an_update_does_not_repeat_what_the_owner_lists(line):
    ends = ("\n", "\r\n", "\r", "")
    for content in (f"{bom}{line}{end}".encode() for bom in ("", "\ufeff") for end in ends):
        assert update(content, [URL]) == content
        assert OTHER.encode() in update(content, [URL, OTHER]) == update(content, [OTHER])
    # A URL that the owner takes over leaves the block.
    assert block(OTHER) in update(update(OWNER, [URL, OTHER]) + line.encode(), [URL, OTHER])


@pytest.mark.parametrize(
    "line", ["Sitemap: {}?a", "Sitemap: {0} {0}", "# Sitemap: {}", "Site-map: {}", "Disallow: {}"]
)
def test_a_line_that_is_not_exactly_the_same_does_not_list_a_url(line):
    for content in (line.format(URL).encode(), f"Sitemap: {URL.upper()}".encode()):
        assert update(content, [URL]) == content + b"\n\n" + LF + b"\n"


TOO_LARGE = b"#" * (MAX_ROBOTS_BYTES - len(b"\n" + LF + b"\n"))


@pytest.mark.parametrize(("content", "message"), [
    ([b"# a", BEGIN], "(BEGIN on line 2). Keep one line"),
    ([b"# a", END], "(END on line 2). Keep one line"),
    ([b"# a", END, BEGIN], "(END on line 2, BEGIN on line 3). Keep one line"),
    ([b"# a", BEGIN, BEGIN, END], "(BEGIN on line 2, BEGIN on line 3, END on line 4). Keep one line"),
    ([b"# a", BEGIN, END, END], "(BEGIN on line 2, END on line 3, END on line 4). Keep one line"),
    ([BEGIN, END] * 2, "(BEGIN on line 1, END on line 2, BEGIN on line 3, END on line 4). Keep"),
    ([b"# a", BEGIN + b" edited", END], "(END on line 3). Keep one line"),
    ([END] * 9, f"({', '.join(f'END on line {line}' for line in range(1, 6))}). Keep one line"),
    ([BEGIN, b"Sitemap: x", b"Disallow: /s", END], "'Disallow: /s' on line 3, inside the generated"),
    ([OWNER.decode().encode("utf-16")], "byte 0xff on line 1"),
    ([OWNER.decode().encode("utf-16-le")], "byte 0x00 on line 1"),
    ([b"# a", b"# b", b"# caf\xe9", b""], "byte 0xe9 on line 3"),
    ([b"# a", b"\x00"], "byte 0x00 on line 2"), ([b"\x1f\x8b\x08\x00"], "byte 0x8b on line 1"),
    ([b"\xef\xbb"], "byte 0xef on line 1"),
    ([TOO_LARGE + b"\n"], "512,001 bytes, but crawlers may stop reading after 512,000"),
])  # fmt: skip
def test_a_file_that_cannot_be_updated_is_refused_with_the_line(content, message):
    for eol in EOLS:
        with pytest.raises(RobotsError, match=re.escape(message)):
            update(eol.join(content), [URL])
    # The largest file has 500 KiB.
    assert len(update(TOO_LARGE[1:] + b"\n", [URL])) == MAX_ROBOTS_BYTES == 500 * 1024


@pytest.mark.parametrize("url", [
    "", " https://www.example.com/sitemap.xml", "https://www.example.com/site map.xml", "/sitemap.xml",
    "//example.com/s.xml", "www.example.com/s.xml", "ftp://example.com/s.xml", "javascript:alert(1)",
    "https:sitemap.xml", "https:///s.xml", "https://https://example.com/s.xml", "https://:80/s.xml",
    "https://[::1/s.xml", "https://a.example:port/s", "https://a.example:99999/s",
    "https://example.com:/sitemap.xml", "https://www.example.com/a.xml#part",
    *map("https://a.example/a{}User".format, "\n\r\t\0\x0b\x1c\x7f\x85\xa0\u2028\u200b\ufeff\ud800"),
])  # fmt: skip
def test_a_url_that_no_line_can_hold_is_refused_by_name(url):
    with pytest.raises(RobotsError, match=re.escape(repr(url))):
        update(OWNER, [URL, url])


def test_warnings_are_about_too_many_bytes_and_lines():
    assert warnings(update(OWNER, [URL]), [URL]) == warnings(b"", [URL]) == []
    # A huge file that needs nothing is returned as it is.
    huge = b"Sitemap: " + URL.encode() + b"\n" + b"#" * MAX_ROBOTS_BYTES
    assert update(huge, [URL]) is huge
    [warning] = warnings(huge, [URL])
    assert warning == f"crawlers may read only 512,000 of the {len(huge):,} bytes in the file."
    urls = [f"https://www.example.com/sitemap-{number}.xml" for number in range(MAX_ROBOTS_SITEMAPS + 1)]
    assert warnings(update(None, urls[1:]), urls[1:]) == []
    [warning] = warnings(update(None, urls), urls)
    assert warning == "Seznam reads only 100 of the 101 Sitemap lines in the file."


@pytest.mark.parametrize(("rules", "line"), [
    *((f"User-agent: *\nDisallow: {rule}", 2) for rule in ("/", "/sitemap", "/*.xml$", "*map*l$")),
    *((f"User-agent: *\nDisallow: {rule}", None) for rule in ("", "/Sitemap", "sitemap", "/sitemap$")),
    ("User-agent: *\nDisallow: /\nAllow: /sitemap.xml", None),
    ("User-agent: *\nAllow: /s\nDisallow: /sitemap", 3), ("User-agent: *\nDisallow: /s\nAllow: /s", None),
    ("User-agent: bad\nDisallow: /", None), ("User-agent: bad\nUser-agent: *\nDisallow: /", 3),
    ("User-agent: *\nUser-agent: bad\nDisallow: /", 3),
    ("User-agent: *\nAllow: /a\nUser-agent: bad\nDisallow: /", None),
    ("User-agent: *\nAllow: /a\n\nUser-agent: *\nDisallow: /", 5),
    ("user-AGENT : *\n\nCrawl-delay: 5\n# note\nDISALLOW:/ # all", 5),
    ("\ufeffUser-agent: *\rDisallow: /", 2), ("Disallow: /", None),
])  # fmt: skip
def test_a_sitemap_that_the_rules_for_all_forbid_is_warned_about(rules, line):
    found = warnings(update(rules.encode(), [URL]), [URL])
    assert len(found) == (line is not None)
    assert all(f"line {line} (" in warning and URL in warning for warning in found)


@pytest.mark.parametrize(("path", "rule", "forbidden"), [
    ("", "/", True), ("/a?p=1", "/*?p=", True), ("/a?p=1", "/a$", False), ("/a?p=1", "/a?p", True),
    ("/ü.xml", "/ü", True), ("/%C3%BC.xml", "/ü", True),
])  # fmt: skip
def test_rules_are_compared_with_the_path_and_query_as_they_are_sent(path, rule, forbidden):
    content = f"User-agent: *\nDisallow: {rule}\n".encode()
    assert bool(warnings(content, [f"https://www.example.com{path}"])) is forbidden


@pytest.mark.parametrize(("content", "warned"), [
    (f"Sitemap: {URL}\n", 0), (f" SITEMAP:{URL} \n", 0), (f"\ufeff\nSitemap: {URL}\n", 0),
    (f"Sitemap : {URL}\n", 1), (f"Sitemap: {URL} # by hand\n", 1), (f"\ufeffSitemap: {URL}\n", 1),
    (f"Sitemap : {URL}\nSitemap: {URL}\n", 0),
])  # fmt: skip
def test_an_owners_line_that_some_clients_cannot_read_is_warned_about(content, warned):
    found = warnings(content.encode(), [URL])
    assert len(found) == warned
    assert all("line 1 (" in warning and f"Write it as 'Sitemap: {URL}'" in warning for warning in found)


@given(st.binary(), st.lists(st.sampled_from([URL, OTHER])))
def test_warnings_never_fail(content, urls):
    warnings(content, urls)


@given(st.text("/ab*$?[.", max_size=9).map("/{}".format), st.text("/ab$?[.", max_size=9).map("/{}".format))
def test_a_rule_covers_what_its_pattern_says(rule, path):
    anchored = rule.endswith("$")
    pattern = ".*".join(map(re.escape, rule.removesuffix("$").split("*"))) + ("" if anchored else ".*")
    content, url = f"User-agent: *\nDisallow: {rule}\n".encode(), f"https://www.example.com{path}"
    covered = re.fullmatch(pattern, path, re.DOTALL) is not None
    # A final question mark begins an empty query, which is not sent.
    assume(not path.endswith("?"))
    assert bool(warnings(content, [url])) == covered


@pytest.mark.slow
@pytest.mark.parametrize("line", [
    b"Disallow: /%07d*b\n", b"Disallow: /*s*%07d\n", b"Sitemap: https://a/%07d\n", b"%07d\n",
], ids=["rules", "patterns", "sitemaps", "lines"])  # fmt: skip
def test_five_megabytes_cost_a_few_seconds_at_most(line):
    """Once, patterns took 20 seconds, in which no other export could run."""
    content = b"User-agent: *\n" + b"".join(line % number for number in range(5_000_000 // len(line % 0)))
    before = process_time()
    with suppress(RobotsError):
        update(content, [URL])
    assert warnings(content, [URL])
    assert process_time() - before < 6


def test_the_cost_of_a_pattern_is_linear_in_its_length():
    content, before = b"User-agent: *\nDisallow: /" + b"*s*i" * 100_000 + b"\n", process_time()
    assert warnings(content, [URL]) == []
    assert process_time() - before < 3
