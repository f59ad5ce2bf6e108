"""Small documents that could cost an audit much time or memory, and a program that measures their audit."""

from __future__ import annotations

import gzip
import json
import sys
import time
from pathlib import Path

from tests.support.configuration import BASE, EXAMPLES
from tests.support.site_files import ALL, HEAD, PAGE, SPACE, index, sound, url, urlset

_MOST = 52_400_000
#: Size of the documents whose entries differ in their elements alone, which the time grows with.
_PART = _MOST if EXAMPLES > 30 else _MOST // 8


def filled(start, unit, end, most=_MOST):
    return f"{start}{unit * ((most - len(start) - len(end)) // len(unit))}{end}"


def page(start, unit, end):
    return lambda: {PAGE: filled(start, unit, end)}


def entries(unit, most=_MOST):
    return lambda: {PAGE: filled(f"{HEAD}<urlset {ALL}>", unit, "</urlset>", most)}


def entry(rest):
    return f"<url><loc>{BASE}/words/a/</loc>{rest}</url>"


def many(element, most=_PART):
    return entries(entry(element * 4_990), most)


def numbered(text, count):
    return "".join(text.replace("N", str(number)) for number in range(count))


def rules(line):
    text = f"Sitemap: {BASE}/sitemap.xml\nUser-agent: *\n{line}"
    listed = urlset(*(url(f"/words/{number}/{'a' * 1_000}/") for number in range(3_000)))
    return {"robots.txt": text[:508_000], PAGE: listed}


def documents_of_names(unit):
    """Return an index of documents in which all names are different. Shorter names fill the last gaps."""
    sizes, pages = [(40_000, 1_200)] * 5 + [(400, 45_000)] * 2 + [(1, 45_000)], {}
    for number, (length, count) in enumerate(sizes):
        name = unit.replace("A", f"a{number}x{'a' * length}xN")
        pages[f"names-{number}.xml.gz"] = urlset(numbered(entry(name), count))
    return {"sitemap.xml": index(*pages), **pages}


AGENT = "User-agent: aN\n"
INNER, ENTITY, LONG = "<image:a/>", "<!ENTITY eN ''>", "a" * 900_000
LINKS = numbered(f"<xhtml:link rel='alternate' hreflang='en' href='{BASE}/N'/>", 4_900)
LONG_LINKS = f"<url><loc>{BASE}/words/{'a' * 1_900}/</loc>{LINKS}</url>"
# fmt: off
SITES = {
    "200,000 locs in an entry": lambda: {PAGE: urlset(f"<url>{'<loc/>' * 200_000}</url>")},
    "elements in an entry": page(f"<urlset {ALL}><url>", "<a/>", "</url></urlset>"),
    "elements in an element": page(f"<urlset {ALL}><url><b>", "<a/>", "</b></url></urlset>"),
    "elements in the root": entries("<a/>"),
    "empty entries": entries("<url/>"),
    "empty entries of an index": page(f"{HEAD}<sitemapindex {ALL}>", "<sitemap/>", "</sitemapindex>"),
    "entries of unknown elements": many("<a/>"),
    "entries of locs": many("<loc/>"),
    "entries of images": many("<image:image/>"),
    "entries of an image of elements": entries(entry(f"<image:image>{INNER * 49_900}</image:image>")),
    "entries of deep elements": entries(entry(f"<image:image><a>{'<a/>' * 49_900}</a></image:image>")),
    "entries of videos": many("<video:video/>", _MOST),
    "entries of tags": entries(entry(f"<video:video>{'<video:tag/>' * 4_990}</video:video>"), _PART),
    "entries of news": many("<news:news/>"),
    "links of a long URL": entries(LONG_LINKS, _PART),
    "entries of links": many("<xhtml:link/>"),
    "different elements": lambda: {PAGE: urlset(numbered("<url><aN/></url>", 1_000_000))},
    "documents of names": lambda: documents_of_names("<A/>"),
    "documents of instructions": lambda: documents_of_names("<?A?>"),
    "long names": entries(entry(f"<{'a' * 40_000}/>")),
    "attributes": lambda: {PAGE: urlset("<url " + numbered("aN='' ", 900_000) + "/>")},
    "entities": lambda: {PAGE: f"<!DOCTYPE urlset [{numbered(ENTITY, 2_000_000)}]><urlset {SPACE}/>"},
    "a long value": lambda: {PAGE: urlset(url(f"/{'a' * 4_000_000}", "<image:image/>" * 4_000), root=ALL)},
    "lines of text": lambda: {"sitemap.xml": index("a.txt"), "a.txt": filled("", "a\n", "")},
    "a long namespace": lambda: {PAGE: urlset(entry("<i:a/>" * 4_990), root=f"{SPACE} xmlns:i='{LONG}'")},
    "a robots.txt of line endings": lambda: {"robots.txt": "\n" * 500_000, PAGE: urlset(url())},
    "rules with wildcards": lambda: rules(numbered("Disallow:*aN\n", 30_000)),
    "rules with many wildcards": lambda: rules(f"Disallow: {'*a' * 25}b\n" * 8_000),
    "rules of many agents": lambda: rules(numbered(AGENT, 12_000) + numbered("Disallow: /N\n", 15_000)),
}
# fmt: on


def write_site(name, folder):
    for path, content in {**sound(), **SITES[name]()}.items():
        data = content.encode()
        (folder / path).write_bytes(data if path == "robots.txt" else gzip.compress(data, 1))


def main():
    """Audit folders, and print the rules of each, the seconds of CPU time, and the megabytes at most."""
    import django
    from django.test import override_settings

    django.setup()
    from django_sitemaps09.tools.audit import audit

    costs = []
    for folder in sys.argv[1:]:
        # Count anew. `ru_maxrss` would include the memory of the process that started this one.
        Path("/proc/self/clear_refs").write_text("5")
        started = time.process_time()
        with override_settings(SITEMAPS09={"BASE_URL": BASE}):
            found = [finding.rule for finding in audit(directory=folder).findings]
        memory = int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) // 1_000
        costs.append([found, time.process_time() - started, memory])
    print(json.dumps(costs))  # noqa: T201


if __name__ == "__main__":
    main()
