"""Links between pages that say the same in several languages."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def check_links(
    links: Sequence[tuple[str, str]], others: Sequence[tuple[str, str]], pages: Collection[str]
) -> None:
    """`ValueError` for a set of links, languages with URLs, that crawlers ignore.

    `others` are in the set already, and right. It may name no language twice, and has to name the `pages`
    that it is on: "Each language version must list itself as well as all other language versions" (Google,
    "Localized versions of your pages").
    """
    languages: set[str] = set()
    for language, _ in (*others, *links):
        if language in languages:
            raise ValueError(f"name {language!r} twice")
        languages.add(language)
    if links and not {*pages} <= {url for _, url in (*others, *links)}:
        raise ValueError("do not name the item itself, so that crawlers ignore them")
