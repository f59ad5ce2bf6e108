"""Random URLs and hosts, for tests of the protocol's values."""

from __future__ import annotations

from hypothesis import strategies as st

PIECES = [
    *("https://", "http://", "HTTPS://", "//", "/", "\\", "?", "#", "@", ":", "[", "]", "::1", ".", "-"),
    *("example.com", "EXAMPLE.com", "evil.com", "ä", "a", "_", "%", "%2e", "80", "443", "0", "&", "<", " "),
    *("\t", "\r\n", "\x00", "\u3000", "\u00ad", "。", "／", "１", "x-", "user:pass"),  # noqa: RUF001
    *("\u2024", "\u2025", "\ud800", "%zz", "%C3", "^", "`", "{", "}", "|", '"', ">", "~", "é=1", "'"),
]

#: Mostly invalid strings, most of them similar to valid ones.
urls = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)

hosts = st.sampled_from(["https://", "http://", "HTTPS://", "https://example.com"]).flatmap(
    lambda head: urls.map(head.__add__)
)
