"""The rules of an audit: what each id means, how to fix it, and how often it is broken."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple, Protocol

from django_sitemaps09.protocol import limits
from django_sitemaps09.protocol.fields import excerpt

MAX_EXAMPLES = 10  #: Maximum number of examples for each rule.
_MAX_EXAMPLE = 600  # Maximum length of an example in characters. A position and two URLs usually fit.

Severity = Literal["error", "warning"]
Problem = tuple[str, str]  #: A broken rule, and the value or details.


class Rule(NamedTuple):
    """One rule. An error can make crawlers ignore a URL or a document; a warning may be intended.

    `project` says where to look in a project with this package. A rule that `is_once` is counted once for
    each document.
    """

    id: str
    severity: Severity
    meaning: str
    fix: str
    project: str = ""
    is_once: bool = False


#: All rules by id, in the order of the reports. Above each family are the modules that see its faults.
RULES = {rule.id: rule for rule in (
    # Documents: `crawl`, `readers`, `parsers`, `urls`
    Rule("document-missing", "error", "robots.txt or an index lists a document that does not exist.", "Publish the document, or remove it from the list.", "Export the index again."),
    Rule("document-status", "error", "A document has an HTTP status other than 200, 404 and 410.", "Make the server return 200 without a login."),
    Rule("document-unreachable", "error", "A document cannot be requested: the connection fails, is too slow, or redirects endlessly.", "Check the URL, the server and its certificate."),
    Rule("document-redirect", "warning", "A document is a redirect. Yandex reports this as an error.", "List the final URL."),
    Rule("document-type", "error", "A document is served as HTML.", "Check the web server's rules for this path: it serves a page instead of the file."),
    Rule("document-empty", "error", "A document has no content.", "Write it again."),
    Rule("document-encoding", "error", "A document is not UTF-8.", "Write it as UTF-8."),
    Rule("content-encoding", "error", "A document is sent with a `Content-Encoding` that the request does not accept.", "Let the server send it unchanged, or with gzip if a request accepts that."),
    Rule("document-too-large", "error", f"A document has more than {limits.MAX_BYTES:,} bytes before compression. The rest is not audited.", "Divide it into several pages."),
    Rule("document-too-many-urls", "error", f"A document has more than {limits.MAX_URLS:,} URLs. The rest is not audited.", "Divide it into several pages."),
    Rule("document-limit", "warning", "There are more documents, levels of indexes, elements of an entry, or rules of robots.txt than an audit reads. The rest is not audited.", "Audit the other indexes one by one, and shorten entries and robots.txt."),
    Rule("gzip-damaged", "error", "The compressed data are damaged.", "Write the document again, and check how it is copied."),
    Rule("gzip-truncated", "error", "The compressed data are truncated.", "Write the document again, and check how it is copied."),
    Rule("gzip-trailing", "error", "Other data follow the compressed data.", "Write the document again."),
    Rule("gzip-missing", "warning", "A document whose name ends in `.gz` is not compressed. Several readers reject it.", "Compress it, or rename it."),
    Rule("gzip-twice", "error", "A document is compressed twice. Several readers see no URLs.", "Turn off compression by the web server or middleware for `.gz` files."),
    Rule("gzip-type", "warning", "Compressed data have the type XML, but no Content-Encoding. Scrapy cannot read them.", "Serve `.xml.gz` files as `application/gzip`."),
    # XML: `parsers`, `extensions`, `read_entries`, `crawl`
    Rule("xml-invalid", "error", "A document is not well-formed XML.", "Escape `&` and `<`, and check what writes the document."),
    Rule("xml-truncated", "error", "A document is truncated.", "Write it again, and check how it is copied."),
    Rule("xml-doctype", "error", "A document has a DOCTYPE. Several readers reject it. The document is not audited.", "Remove the DOCTYPE."),
    Rule("xml-root", "error", "The root element is none of a sitemap, an index, an RSS or an Atom feed. The document is not audited.", "Check what the URL serves."),
    Rule("xml-namespace", "error", "The namespace is not `http://www.sitemaps.org/schemas/sitemap/0.9`.", "Declare this namespace, with `http:`."),
    Rule("namespace-similar", "warning", "A namespace resembles one that crawlers know, so they ignore its elements.", "Write the namespace exactly as documented."),
    Rule("xml-prefix", "warning", "The sitemap namespace has a prefix. Several readers see no URLs.", "Declare it as the default namespace."),
    Rule("element-unknown", "error", "An element is not part of the protocol or of its extension.", "Check its spelling, remove it, or declare its namespace."),
    Rule("element-order", "warning", "Elements are not in the order of the schema. Engines do not mind.", "Write `loc`, `lastmod`, `changefreq`, `priority`, then extensions.", is_once=True),
    Rule("element-text", "warning", "There is text where the schema allows none.", "Remove it.", is_once=True),
    Rule("element-attribute", "warning", "There is an attribute where the schema allows none.", "Remove it, or declare its namespace.", is_once=True),
    Rule("element-repeated", "error", "An element occurs more than once in an entry, an image, a video or an article.", "Keep one of them."),
    Rule("urlset-empty", "warning", "A document lists no URLs. The schema requires one.", "Remove it from the index."),
    # Indexes: `crawl`, `read_entries`
    Rule("index-empty", "error", "An index lists no documents.", "List at least one document.", "Register sections that have rows, and export again."),
    Rule("index-too-many", "error", f"An index lists more than {limits.MAX_URLS:,} documents. The rest is not audited.", "Write several indexes."),
    Rule("index-nested", "warning", "An index lists an index. Google reports this as an error.", "List each index in robots.txt."),
    Rule("index-cycle", "error", "An index lists itself, or an index that leads to it.", "Remove the entry."),
    Rule("index-duplicate", "error", "Indexes list a document more than once.", "List it once."),
    Rule("index-loc", "error", "An entry of an index has no valid absolute URL.", "Write an absolute, percent-encoded URL."),
    Rule("index-host", "error", "A document is on a different scheme, host or port than its index, so it is not audited.", "Move it to the host of the index, or list it in that host's robots.txt.", "Check `BASE_URL` or `FILES_URL`."),
    Rule("index-scope", "warning", "A document is outside the directory of its index.", "Move the index to a directory above."),
    Rule("index-lastmod", "warning", "A document has a newer `lastmod` than its entry in the index.", "Write the time of the document's last change into the index."),
    # Values: `values`, `crawl`
    Rule("lastmod-format", "error", "A `lastmod` is not a W3C date or time, or the date of a feed is not in its format.", "Write `2026-01-31T10:30:00Z`, or in RSS `Sat, 31 Jan 2026 10:30:00 GMT`."),
    Rule("lastmod-ambiguous", "warning", "A `lastmod` is valid in the W3C note or in the schema, but not in both.", "Write `2026-01-31` or `2026-01-31T10:30:00Z`."),
    Rule("lastmod-future", "error", "A `lastmod` is in the future.", "Check the clock, the time zone, and the field."),
    Rule("lastmod-old", "warning", "A `lastmod` is before 1990, such as the zero of a clock.", "Omit it if the time of the last change is unknown."),
    Rule("lastmod-alike", "warning", "Of at least 50 `lastmod` values, 95% are within ten minutes, or the same date.", "Write when each page has changed, not when the sitemap was written."),
    Rule("changefreq-value", "error", "A `changefreq` is not a value of the protocol.", "Use `always`, `hourly`, `daily`, `weekly`, `monthly`, `yearly` or `never`."),
    Rule("priority-value", "error", "A `priority` is not a decimal number from 0.0 to 1.0.", "Write a number such as `0.5`, with a decimal point."),
    # URLs: `urls`, `crawl`, `read_entries`
    Rule("url-missing", "error", "An entry has no `loc`.", "Add it."),
    Rule("url-relative", "error", "A URL is not absolute.", "Write it with its scheme and host."),
    Rule("url-invalid", "error", "A URL has an invalid host or port, a user name, or a scheme other than http and https.", "Fix the URL."),
    Rule("url-encoding", "error", "A URL has characters that must be percent-encoded.", "Percent-encode it as UTF-8."),
    Rule("url-fragment", "error", "A URL has a fragment, which crawlers do not request.", "Remove it."),
    Rule("url-length", "error", f"A URL has more than {limits.MAX_LOCATION:,} characters.", "Shorten it."),
    Rule("url-long", "warning", f"A URL has more than {limits.YANDEX_MAX_LOCATION:,} characters, the limit of Yandex.", "Shorten it."),
    Rule("url-whitespace", "warning", "There is whitespace around a URL. Some readers do not remove it.", "Remove it."),
    Rule("url-host", "error", "A URL is on a different scheme, host or port than its document.", "List it in a document on its host.", "Check `BASE_URL`, the `Site`, or the hook `location`."),
    Rule("url-scope", "warning", "A URL is outside the directory of its document.", "Serve the document from a directory above."),
    Rule("url-duplicate", "error", "A URL occurs more than once in a document.", "List it once."),
    Rule("url-duplicate-across", "error", "A URL occurs in more than one document.", "List it in one of them.", "Exclude the items from one of the sections."),
    Rule("url-slash", "warning", "A URL is listed with a slash at the end and also without it.", "List the form that does not redirect."),
    Rule("url-placeholder", "warning", "A URL has the segment `None` or `undefined`.", "Remove the URL, or set the missing value."),
    Rule("url-nested", "warning", "The path of a URL has another URL in it.", "List the URL without the base before it."),
    Rule("url-session", "warning", "A URL has the id of a session.", "List the URL without it."),
    Rule("url-encoding-twice", "warning", "A URL is percent-encoded twice.", "Encode it once."),
    Rule("url-document", "warning", "A sitemap or robots.txt is listed as a page.", "Remove it."),
    Rule("url-unresolved", "error", "No pattern of the URLconf matches a URL.", "Remove the URL.", "Fix the hook `location`, or add the pattern."),
    Rule("url-blocked", "error", "robots.txt disallows a URL.", "Allow it in robots.txt, or remove it from the sitemap."),
    # robots.txt: `urls`, `audits`, `crawl`
    Rule("robots-unreachable", "error", "robots.txt cannot be requested or has the status 429, or 500 or more. Google then crawls nothing.", "Make the server return 200 or 404."),
    Rule("robots-type", "error", "robots.txt is HTML.", "Check the web server's rules for this path: it serves a page instead of the file."),
    Rule("robots-no-sitemap", "warning", "robots.txt does not exist or lists no sitemap.", "Add a `Sitemap` line.", "Set `ROBOTS_TXT`, or serve the view `robots_txt`."),
    Rule("robots-line", "error", "A `Sitemap` line is not one absolute URL.", "Write `Sitemap: https://www.example.com/sitemap.xml`."),
    Rule("robots-misspelled", "warning", "A line is similar to a `Sitemap` line, but has another name.", "Write `Sitemap: https://www.example.com/sitemap.xml`."),
    Rule("robots-host", "error", "All `Sitemap` lines of this project are on another scheme, host or port.", "Correct the lines.", "Check `BASE_URL`, the `Site`, and the files of another environment."),
    Rule("robots-blocks-crawler", "warning", "robots.txt disallows a URL or a document for Googlebot or Bingbot, but not for other crawlers.", "Remove the rule if it is not meant.", is_once=True),
    Rule("robots-size", "error", f"robots.txt has more than {limits.MAX_ROBOTS_BYTES:,} bytes. Google ignores the rest.", "Shorten it."),
    Rule("robots-encoding", "error", "robots.txt is not UTF-8.", "Save it as UTF-8."),
    Rule("robots-blocks-document", "error", "robots.txt disallows a document. Google and Yandex do not read it.", "Allow it in robots.txt."),
    # Pages: `pages`
    Rule("page-status", "error", "A page has a status other than 200, and does not redirect.", "Remove the URL, or fix the page."),
    Rule("page-redirect", "error", "A page redirects.", "List the final URL."),
    Rule("page-unreachable", "error", "A page cannot be requested.", "Check the server."),
    Rule("page-noindex", "error", "A page forbids indexing, by a header or a meta element.", "Remove the URL, or the `noindex`."),
    Rule("page-canonical", "error", "The canonical URL of a page is a different URL.", "List the canonical URL."),
    Rule("page-canonicals", "warning", "A page has several canonical URLs. Engines may ignore all of them.", "Keep one of them."),
    Rule("page-newer", "warning", "A page says that it changed more than a day after its `lastmod`.", "Change the `lastmod` with the page.", "Declare the field that changes with the page."),
    Rule("page-changed", "warning", "A page has changed since the last audit with this history, but its `lastmod` has not.", "Change the `lastmod` with the page.", "Declare the field that changes with the page."),
    Rule("page-unchanged", "warning", "The `lastmod` of a page is newer than in the last audit with this history, but its text is the same.", "Change the `lastmod` only with the page."),
    Rule("page-language", "warning", "The `lang` of a page is another language than its `hreflang`.", "Check whether languages are swapped."),
    # Alternates: `extensions`, `values`
    Rule("hreflang-code", "error", "An `hreflang` is not a language code.", "Use a code such as `en`, `pt-BR`, `zh-Hant` or `x-default`."),
    Rule("hreflang-unsupported", "warning", "The region of an `hreflang` is not a country, or its language is not in ISO 639-2. Google ignores it.", "Use a language and a country, such as `en-GB`."),
    Rule("hreflang-repeated", "error", "Two alternates of a URL have the same language.", "Keep one of them."),
    Rule("hreflang-link", "error", "An alternate has no `rel=\"alternate\"`, neither `hreflang` nor `media`, or no valid absolute `href`.", "Write all three attributes."),
    Rule("hreflang-no-self", "error", "The alternates of a URL do not include the URL itself.", "Add the URL to its alternates."),
    Rule("hreflang-no-return", "error", "An alternate on the same host does not link back.", "List all languages in the entry of each language."),
    # Images, videos and news: `extensions`, `crawl`
    Rule("image-url", "error", "An image has no valid absolute URL.", "Write an absolute URL."),
    Rule("image-too-many", "error", f"A URL has more than {limits.MAX_IMAGES:,} images.", "Keep the most important ones."),
    Rule("image-dropped", "warning", "An image has elements that Google has ignored since 2022.", "Keep only `image:loc`.", is_once=True),
    Rule("video-required", "error", "A video lacks its thumbnail, title, description, or both its content and its player.", "Add the element."),
    Rule("video-url", "error", "A URL of a video is invalid, or the URL of the page itself.", "Write the absolute URL of the file or the player."),
    Rule("video-value", "error", "A value of a video is invalid or too long.", "See [Images and videos](../howto/media.md)."),
    Rule("video-country", "warning", "A restriction of a video names a country that is not in ISO 3166-1.", "Write the code of the country, such as `GB`."),
    Rule("video-dropped", "warning", "A video has elements that Google no longer supports.", "Remove them."),
    Rule("video-too-many-tags", "error", f"A video has more than {limits.MAX_VIDEO_TAGS} tags.", "Keep the most important ones."),
    Rule("news-required", "error", "An article lacks its publication, name, language, date or title.", "Add the element."),
    Rule("news-language", "error", "The language of a publication is not a code of two or three letters, `zh-cn` or `zh-tw`.", "Write it without a region."),
    Rule("news-date", "error", "The date of an article is not a W3C date or time.", "Write `2026-01-31T10:30:00Z`."),
    Rule("news-zone", "warning", "The time of an article has no time zone.", "Write `2026-01-31T10:30:00Z`."),
    Rule("news-old", "warning", "An article is older than two days. Google News ignores it.", "Remove it from the news section."),
    Rule("news-repeated", "error", "A URL has more than one article.", "Keep one."),
    Rule("news-too-many", "error", f"A document has more than {limits.MAX_NEWS:,} articles.", "Divide it into several pages."),
    Rule("news-dropped", "warning", "An article has elements that Google no longer supports.", "Remove them."),
)}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Finding:
    """A broken rule: how often it is broken, how often a baseline accepts that, and where it is first.

    An example has the form `document:line: text`. Control characters are escaped.
    """

    rule: str
    severity: Severity
    count: int
    examples: tuple[str, ...]
    accepted: int = 0

    @property
    def is_accepted(self) -> bool:
        """Return whether the baseline accepts all occurrences."""
        return self.count <= self.accepted


class ReportRule(Protocol):
    """A function that reports a broken rule in a document, with the value or details and the line."""

    def __call__(self, rule: str, text: object = "", line: int = 0) -> None: ...


class Findings:
    """Findings of one audit so far: the counts and the examples."""

    def __init__(self) -> None:
        self._counts, self._last_places = Counter[str](), dict[str, str]()
        self._examples: defaultdict[str, list[str]] = defaultdict(list)

    def at(self, place: str) -> ReportRule:
        """Return a function that counts findings in the document `place`."""
        return partial(self.add, place)

    def add(self, place: str, rule: str, text: object = "", line: int = 0) -> None:
        if RULES[rule].is_once and self._last_places.get(rule) == place:
            return
        self._last_places[rule] = place
        self._counts[rule] += 1
        examples = self._examples[rule]
        if len(examples) < MAX_EXAMPLES:
            parts = (f"{place}:{line}" if line else place, excerpt(text, _MAX_EXAMPLE))
            examples.append(excerpt(": ".join(filter(None, parts)), _MAX_EXAMPLE))

    def add_all(self, others: Findings) -> None:
        """Add the findings of others, whose examples follow these."""
        self._counts.update(others._counts)
        for rule, examples in others._examples.items():
            self._examples[rule] += examples[: MAX_EXAMPLES - len(self._examples[rule])]

    def result(self) -> tuple[Finding, ...]:
        """Return the broken rules in the order of `RULES`, errors first."""
        return tuple(
            Finding(rule.id, rule.severity, self._counts[rule.id], tuple(self._examples[rule.id]))
            for rule in sorted(RULES.values(), key=lambda rule: rule.severity)
            if self._counts[rule.id]
        )
