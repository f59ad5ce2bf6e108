"""Links between the versions of a page in several languages."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def check_links(
    links: Sequence[tuple[str, str]], others: Sequence[tuple[str, str]], pages: Collection[str]
) -> None:
    """Raise `ValueError` for a set of links, as pairs of language and URL, that crawlers ignore.

    `others` are already in the set, and valid. The set must not name a language twice. It must name the
    `pages` that it is on: "Each language version must list itself as well as all other language versions"
    (Google, "Localized versions of your pages").
    """
    languages: set[str] = set()
    for language, _ in (*others, *links):
        if language in languages:
            raise ValueError(f"the links name {language!r} twice")
        languages.add(language)
    if links and not {*pages} <= {url for _, url in (*others, *links)}:
        raise ValueError("the links do not name the item itself, so crawlers ignore them")
