"""Check the extensions of entries: alternates, which must link back, images, videos and news."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from dataclasses import fields
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any, NamedTuple

from django_sitemaps09.protocol import limits
from django_sitemaps09.protocol.media import NAMESPACES, Image, News, Video
from django_sitemaps09.protocol.urls import Base, normalized
from django_sitemaps09.tools.audit.read_entries import ReadEntry
from django_sitemaps09.tools.audit.rules import Findings, Problem, ReportRule
from django_sitemaps09.tools.audit.scratch import Scratch
from django_sitemaps09.tools.audit.urls import origin, url_problem
from django_sitemaps09.tools.audit.values import LONGEST, is_country, parse_language, parse_lastmod

#: Maximum number of incomplete groups of alternates in memory, and of the alternates of their entries. The
#: entries of a group usually follow each other. Beyond it, the oldest group goes to the temporary database.
_MAX_GROUPS, _MAX_KEPT = 2_000, 50_000
_APP = re.compile(r"(android|ios)-app:", re.IGNORECASE)


class _Group(NamedTuple):
    """URLs with the same alternates: their places and targets, and the targets that are not among them."""

    entries: dict[str, tuple[str, frozenset[str]]]
    missing: set[str]


class LinkRules:
    """The checks of alternates in one audit."""

    def __init__(self, findings: Findings, scratch: Scratch) -> None:
        self._findings, self._scratch, self._size = findings, scratch, 0
        self._groups: OrderedDict[frozenset[str], _Group] = OrderedDict()
        self._bases: set[Base | None] = set()

    def check(self, place: str, entry: ReadEntry, elements: Sequence[Any]) -> None:
        report, url = self._findings.at(place), normalized(entry.url)
        # `hrefs` has all alternates, and `targets` those that must link back.
        languages, hrefs, targets = set[str](), set[str](), set[str]()
        for element in elements:
            language, href = element.get("hreflang"), (element.get("href") or "").strip()
            kinds = (element.get("rel") or "").lower().split()
            is_link = "alternate" in kinds and href and url_problem(href) is None
            is_other = kinds and ("alternate" not in kinds or _APP.match(href))
            if not language or not is_link:
                # A link to a page for phones at a separate URL, to AMP or to an app has no language.
                if language is not None or not (is_other or (element.get("media") and is_link)):
                    report("hreflang-link", f"{href or 'no href'} of {url}", entry.line)
                continue
            href = normalized(href)
            code, rule, reason = parse_language(language[:LONGEST])
            if rule is not None:
                report(rule, f"{language!r} of {url}: {reason}", entry.line)
            if code in languages:
                report("hreflang-repeated", f"{language!r} of {url}", entry.line)
            languages.add(code)
            hrefs.add(href)
            # A page that only chooses a language need not be in a sitemap itself.
            if language.lower() != "x-default":
                targets.add(href)
        all_hrefs = (normalized((element.get("href") or "").strip()) for element in elements)
        if targets and url not in targets and url not in all_hrefs:
            report("hreflang-no-self", url, entry.line)
        if targets and len(url) <= limits.MAX_LOCATION:
            self._add(url, frozenset((*hrefs, url)), frozenset(targets), f"{place}:{entry.line}")

    def _add(self, url: str, key: frozenset[str], targets: frozenset[str], place: str) -> None:
        """Remember a URL with its alternates until all of them have linked to each other."""
        group = self._groups.setdefault(key, _Group({}, set()))
        if url not in group.entries:
            self._size += len(key)
        group.entries[url] = (place, targets)
        group.missing.update(targets)
        group.missing.difference_update(group.entries)
        if not group.missing:
            self._size -= len(key) * len(group.entries)
            del self._groups[key]
            self._scratch.add_group(key)
        while len(self._groups) > _MAX_GROUPS or self._size > _MAX_KEPT:
            self._store(*self._groups.popitem(last=False))

    def _store(self, key: frozenset[str], group: _Group) -> None:
        self._size -= len(key) * len(group.entries)
        # A URL of a complete group can be listed again.
        for url, (place, targets) in () if self._scratch.has_group(key) else group.entries.items():
            self._bases.add(origin(url))
            self._scratch.add_links(url, sorted(key), targets, place)

    def finish(self) -> None:
        """Report alternates that do not link back. Alternates on hosts without entries are not checked."""
        while self._groups:
            self._store(*self._groups.popitem(last=False))
        for source, target, place in self._scratch.one_way_links():
            if origin(target) in self._bases:
                self._findings.add(place, "hreflang-no-return", f"{source} links to {target}")


class _Elements(NamedTuple):
    """The elements of an extension. Google ignores those in `dropped`. Those in `lists` may be repeated."""

    prefix: str
    names: Collection[str]
    dropped: Collection[str] = ()
    lists: Collection[str] = ()

    @property
    def namespace(self) -> str:
        return f"{{{NAMESPACES[self.prefix]}}}"

    def texts(self, parent: Any) -> Generator[Problem, None, dict[str, str]]:
        """Return the text of each child by its name. Yield unknown, repeated and dropped elements."""
        texts: dict[str, str] = {}
        start = self.namespace
        for child in parent:
            name = child.tag.removeprefix(start)
            if name not in self.names:
                yield "element-unknown", f"{name} in {parent.tag}"
            elif name in texts and name not in self.lists:
                yield "element-repeated", f"{name} in {parent.tag}"
            if name in self.dropped:
                yield f"{self.prefix}-dropped", name
            texts[name] = child.text or ""
        return texts


_IMAGE_NAMES = [field.name for field in fields(Image)]
# The information on an uploader is an attribute, and each of the `tags` is an element `tag`.
_VIDEO_NAMES = [field.name for field in fields(Video) if field.name not in ("uploader_info", "tags")]
_IMAGE = _Elements("image", _IMAGE_NAMES, dropped=_IMAGE_NAMES[1:])
_VIDEO = _Elements(
    "video",
    (*_VIDEO_NAMES, "tag", *Video.dropped_tags),
    Video.dropped_tags,
    lists=("tag", "category", "content_segment_loc", "gallery_loc", "price", "id"),
)
_PUBLICATION = _Elements("news", ("name", "language"))
_NEWS_NAMES = ("publication", "publication_date", "title", "geo_locations")
_NEWS = _Elements("news", (*_NEWS_NAMES, *News.dropped_tags), News.dropped_tags)
# Parts of the namespaces of extensions. A namespace with such a part is that extension, or misspelled.
_PARTS = {"sitemap-image": "image", "sitemap-video": "video", "sitemap-news": "news", "/xhtml": "xhtml"}
_NEWS_LANGUAGE = re.compile(r"[a-z]{2,3}|zh-cn|zh-tw")
_ZONE = re.compile(r"(Z|[+-]\d\d:\d\d)$")


def _is_number(text: str, least: int, most: int) -> bool:
    try:
        return least <= Decimal(text.strip()) <= most
    except InvalidOperation:
        return False


def _word(pattern: str) -> Callable[[str], bool]:
    return lambda text: re.fullmatch(pattern, text.strip(), re.IGNORECASE) is not None


#: Checks of the values of a video. https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps
_VIDEO_VALUES: dict[str, Callable[[str], bool]] = {
    "title": lambda text: len(text) <= limits.MAX_VIDEO_TITLE,
    "description": lambda text: len(text) <= limits.MAX_VIDEO_DESCRIPTION,
    "uploader": lambda text: len(text) <= limits.MAX_VIDEO_UPLOADER,
    "duration": partial(_is_number, least=1, most=limits.MAX_DURATION),
    "rating": partial(_is_number, least=0, most=5),
    "view_count": _word("[0-9]+"),
    **dict.fromkeys(("expiration_date", "publication_date"), lambda text: parse_lastmod(text) is not None),
    **dict.fromkeys(("family_friendly", "requires_subscription", "live"), _word("yes|no")),
    "restriction": _word(r"[A-Z]{2}(\s+[A-Z]{2})*"),
    "platform": _word(r"(web|mobile|tv)(\s+(web|mobile|tv))*"),
}


def check_media(report: ReportRule, entry: ReadEntry, now: datetime) -> int:
    """Check the extensions of an entry apart from alternates. Return its number of news articles."""
    problems = [*_namespace_problems(entry.extensions)]
    images, videos, articles = (
        entry.extensions.get(f"{kind.namespace}{kind.prefix}", ()) for kind in (_IMAGE, _VIDEO, _NEWS)
    )
    if len(images) > limits.MAX_IMAGES:
        report("image-too-many", f"{entry.location}: {len(images):,}", entry.line)
    if len(articles) > 1:
        report("news-repeated", entry.location, entry.line)
    for image in images:
        problems += _image_problems(image)
    for video in videos:
        problems += _video_problems(video, entry.url)
    for article in articles:
        problems += _news_problems(article, now)
    for rule, detail in dict.fromkeys(problems):
        report(rule, f"{detail} of {entry.url}", entry.line)
    return len(articles)


def _namespace_problems(tags: Iterable[str]) -> Iterator[Problem]:
    for tag in tags:
        namespace = tag.rpartition("}")[0].removeprefix("{")
        prefix = next((prefix for part, prefix in _PARTS.items() if part in namespace.lower()), None)
        if prefix is not None and namespace != NAMESPACES[prefix]:
            yield "namespace-similar", f"{namespace} instead of {NAMESPACES[prefix]}"


def _image_problems(image: Any) -> Iterator[Problem]:
    texts = yield from _IMAGE.texts(image)
    location = texts.get("loc", "").strip()
    if not location or url_problem(location):
        yield "image-url", repr(location)


def _video_problems(video: Any, page: str) -> Iterator[Problem]:
    texts = yield from _VIDEO.texts(video)
    for name in ("thumbnail_loc", "title", "description"):
        if not texts.get(name, "").strip():
            yield "video-required", name
    has_video = any(texts.get(name, "").strip() for name in ("content_loc", "player_loc"))
    if not has_video:
        yield "video-required", "content_loc or player_loc"
    for name in ("thumbnail_loc", "content_loc", "player_loc"):
        location = texts.get(name, "").strip()
        if location and (url_problem(location) or normalized(location) == normalized(page)):
            yield "video-url", f"{name} {location}"
        elif not location and name in texts and has_video and name != "thumbnail_loc":
            yield "video-url", f"{name} is empty"
    for name, text in texts.items():
        if name in _VIDEO_VALUES and not _VIDEO_VALUES[name](text):
            yield "video-value", f"{name} {text[:100]!r}"
    for name in ("restriction", "platform"):
        for element in video.iterfind(f"{_VIDEO.namespace}{name}"):
            if element.get("relationship") not in ("allow", "deny"):
                yield "video-value", f"relationship of {name}"
    countries = texts.get("restriction", "").split()
    if unknown := [code for code in countries if len(code) == 2 and not is_country(code)]:
        yield "video-country", unknown[0]
    tags = len(video.findall(f"{_VIDEO.namespace}tag"))
    if tags > limits.MAX_VIDEO_TAGS:
        yield "video-too-many-tags", str(tags)


def _news_problems(article: Any, now: datetime) -> Iterator[Problem]:
    texts = yield from _NEWS.texts(article)
    publication = article.find(f"{_NEWS.namespace}publication")
    if publication is not None:
        texts |= yield from _PUBLICATION.texts(publication)
    for name in ("name", "language", "publication_date", "title"):
        if not texts.get(name, "").strip():
            yield "news-required", name
    language = texts.get("language", "").strip()
    if language and not _NEWS_LANGUAGE.fullmatch(language):
        yield "news-language", repr(language)
    if date := texts.get("publication_date", "").strip():
        moment = parse_lastmod(date)
        if moment is None:
            yield "news-date", repr(date)
            return
        if not moment.is_date and _ZONE.search(date) is None:
            yield "news-zone", date
        # A date includes its whole day, in any time zone.
        days = limits.NEWS_DAYS + (2 if moment.is_date else 0)
        if moment.at < now - timedelta(days=days):
            yield "news-old", date
