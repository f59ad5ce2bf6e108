"""Warnings about robots.txt: sitemaps that crawlers cannot find or read, or must not fetch."""

from __future__ import annotations

import re
from contextlib import suppress
from time import process_time

import pytest
from hypothesis import assume, given, strategies as st

from django_sitemaps09.exceptions import RobotsError
from django_sitemaps09.robots import MAX_SITEMAPS, update, warnings
from tests.support.robots import OTHER, OWNER, URL


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


@given(
    st.text("/ab*$?[.", max_size=9).map("/{}".format),
    st.text("/ab$?[.", max_size=9).map("/{}".format),
)
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
