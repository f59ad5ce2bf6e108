"""Small documents that could cost an audit much time or memory, and a program that measures their audit."""

from __future__ import annotations

import gzip
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.support.configuration import BASE
from tests.support.examples import EXAMPLES
from tests.support.site_files import ALL, HEAD, PAGE, SPACE, index, sound, url, urlset

_MOST = 52_400_000
#: Size of the documents whose entries differ in their elements alone, which the time grows with.
_PART = _MOST if EXAMPLES > 30 else _MOST // 8


def filled(start: str, unit: str, end: str, most: int = _MOST) -> str:
    """Repeat a part up to the limit of the protocol."""
    return f"{start}{unit * ((most - len(start) - len(end)) // len(unit))}{end}"


def entries(unit: str, most: int = _MOST) -> str:
    return filled(f"{HEAD}<urlset {ALL}>", unit, "</urlset>", most)


def entry(rest: str) -> str:
    return f"<url><loc>{BASE}/words/a/</loc>{rest}</url>"


def numbered(text: str, count: int) -> str:
    return "".join(text.replace("N", str(number)) for number in range(count))


def rules(line: str) -> dict[str, str]:
    text = f"Sitemap: {BASE}/sitemap.xml\nUser-agent: *\n{line}"
    page = urlset(*(url(f"/words/{number}/{'a' * 1_000}/") for number in range(3_000)))
    return {"robots.txt": text[:508_000], PAGE: page}


def documents_of_names(unit: str) -> dict[str, str]:
    """Return an index of documents in which all names are different. Shorter names fill the last gaps."""
    sizes = [(40_000, 1_200)] * 5 + [(400, 45_000)] * 2 + [(1, 45_000)]
    pages = {
        f"names-{number}.xml.gz": urlset(
            numbered(entry(unit.replace("A", f"a{number}x{'a' * length}xN")), count)
        )
        for number, (length, count) in enumerate(sizes)
    }
    return {"sitemap.xml": index(*pages), **pages}


SITES: dict[str, Callable[[], dict[str, str]]] = {
    "200,000 locs in an entry": lambda: {PAGE: urlset(f"<url>{'<loc/>' * 200_000}</url>")},
    "elements in an entry": lambda: {PAGE: filled(f"<urlset {ALL}><url>", "<a/>", "</url></urlset>")},
    "elements in an element": lambda: {
        PAGE: filled(f"<urlset {ALL}><url><b>", "<a/>", "</b></url></urlset>")
    },
    "elements in the root": lambda: {PAGE: entries("<a/>")},
    "empty entries": lambda: {PAGE: entries("<url/>")},
    "empty entries of an index": lambda: {PAGE: entries("<sitemap/>").replace("urlset", "sitemapindex")},
    "entries of unknown elements": lambda: {PAGE: entries(entry("<a/>" * 4_990), _PART)},
    "entries of locs": lambda: {PAGE: entries(entry("<loc/>" * 4_990), _PART)},
    "entries of images": lambda: {PAGE: entries(entry("<image:image/>" * 4_990), _PART)},
    "entries of an image of elements": lambda: {
        PAGE: entries(entry(f"<image:image>{'<image:a/>' * 49_900}</image:image>"))
    },
    "entries of deep elements": lambda: {
        PAGE: entries(entry(f"<image:image><a>{'<a/>' * 49_900}</a></image:image>"))
    },
    "entries of videos": lambda: {PAGE: entries(entry("<video:video/>" * 4_990))},
    "entries of tags": lambda: {
        PAGE: entries(entry(f"<video:video>{'<video:tag/>' * 4_990}</video:video>"), _PART)
    },
    "entries of news": lambda: {PAGE: entries(entry("<news:news/>" * 4_990), _PART)},
    "links of a long URL": lambda: {
        PAGE: entries(
            entry("").replace("/a/", f"/{'a' * 1_900}/").removesuffix("</url>")
            + numbered(f"<xhtml:link rel='alternate' hreflang='en' href='{BASE}/N'/>", 4_900)
            + "</url>",
            _PART,
        )
    },
    "entries of links": lambda: {PAGE: entries(entry("<xhtml:link/>" * 4_990), _PART)},
    "different elements": lambda: {PAGE: urlset(numbered("<url><aN/></url>", 1_000_000))},
    "documents of names": lambda: documents_of_names("<A/>"),
    "documents of instructions": lambda: documents_of_names("<?A?>"),
    "long names": lambda: {PAGE: entries(entry(f"<{'a' * 40_000}/>"))},
    "attributes": lambda: {PAGE: urlset("<url " + numbered("aN='' ", 900_000) + "/>")},
    "entities": lambda: {
        PAGE: "<!DOCTYPE urlset [" + numbered("<!ENTITY eN ''>", 2_000_000) + f"]><urlset {SPACE}/>"
    },
    "a long value": lambda: {
        PAGE: urlset(
            f"<url><loc>{BASE}/{'a' * 4_000_000}</loc>{'<image:image/>' * 4_000}</url>", root=ALL
        )
    },
    "lines of text": lambda: {
        "sitemap.xml": index("a.txt"), "a.txt": filled("", "a\n", ""), PAGE: urlset(url())
    },
    "a long namespace": lambda: {
        PAGE: urlset(entry("<i:a/>" * 4_990), root=f"{SPACE} xmlns:i='{'a' * 900_000}'")
    },
    "a robots.txt of line endings": lambda: {"robots.txt": "\n" * 500_000, PAGE: urlset(url())},
    "rules with wildcards": lambda: rules(numbered("Disallow:*aN\n", 30_000)),
    "rules with many wildcards": lambda: rules(f"Disallow: {'*a' * 25}b\n" * 8_000),
    "rules of many agents": lambda: rules(
        numbered("User-agent: aN\n", 12_000) + numbered("Disallow: /N\n", 15_000)
    ),
}  # fmt: skip


def write_site(name: str, folder: Path) -> None:
    for path, content in {**sound(), **SITES[name]()}.items():
        data = content.encode() if isinstance(content, str) else content or b""
        (folder / path).write_bytes(data if path == "robots.txt" else gzip.compress(data, 1))


def main() -> None:
    """Audit folders, and print the rules of each, the seconds of CPU time, and the megabytes at most."""
    import django
    from django.test import override_settings

    django.setup()
    from django_sitemaps09.audit import audit

    costs = []
    for folder in sys.argv[1:]:
        # Count anew. `ru_maxrss` would include the memory of the process that started this one.
        Path("/proc/self/clear_refs").write_text("5")
        started = time.process_time()
        with override_settings(SITEMAPS09={"BASE_URL": BASE}):
            rules = [finding.rule for finding in audit(directory=folder).findings]
        status = Path("/proc/self/status").read_text()
        memory = int(status.partition("VmHWM:")[2].split()[0]) // 1_000
        costs.append([rules, time.process_time() - started, memory])
    print(json.dumps(costs))  # noqa: T201


if __name__ == "__main__":
    main()
