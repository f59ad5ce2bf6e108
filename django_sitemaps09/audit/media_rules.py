"""Check the images, videos and news of entries."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

from django_sitemaps09.audit.documents import Entry
from django_sitemaps09.audit.link_rules import LINK, LinkRules
from django_sitemaps09.audit.report import Findings
from django_sitemaps09.audit.url_rules import url_problem
from django_sitemaps09.audit.value_rules import parse_lastmod
from django_sitemaps09.entries.media import (
    MAX_VIDEO_DESCRIPTION,
    MAX_VIDEO_TAGS,
    MAX_VIDEO_TITLE,
    MAX_VIDEO_UPLOADER,
)
from django_sitemaps09.protocol import MAX_IMAGES, NEWS_DAYS

IMAGE = "{http://www.google.com/schemas/sitemap-image/1.1}"
VIDEO = "{http://www.google.com/schemas/sitemap-video/1.1}"
NEWS = "{http://www.google.com/schemas/sitemap-news/0.9}"

Problem = tuple[str, str]


class _Kind(NamedTuple):
    """The elements of an extension, in the order of its XSD.

    Google has dropped those in `dropped`. Those in `lists` may occur more than once.
    """

    rules: str
    namespace: str
    names: Collection[str]
    dropped: Collection[str] = ()
    lists: Collection[str] = ()


_IMAGE_DROPPED = ("caption", "geo_location", "title", "license")
_NEWS_DROPPED = ("access", "genres", "keywords", "stock_tickers")
_VIDEO_ORDER = (
    *("thumbnail_loc", "title", "description", "content_loc", "player_loc", "duration", "expiration_date"),
    *("rating", "content_segment_loc", "view_count", "publication_date", "tag", "category"),
    *("family_friendly", "restriction", "gallery_loc", "price", "requires_subscription", "uploader"),
    *("tvshow", "platform", "live", "id"),
)
_IMAGE = _Kind("image", IMAGE, ("loc", *_IMAGE_DROPPED), _IMAGE_DROPPED)
_VIDEO = _Kind(
    "video",
    VIDEO,
    _VIDEO_ORDER,
    dropped=("category", "gallery_loc", "price", "tvshow", "content_segment_loc", "id"),
    lists=("tag", "category", "content_segment_loc", "gallery_loc", "price", "id"),
)
_PUBLICATION = _Kind("news", NEWS, ("name", "language"))
_NEWS = _Kind(
    "news",
    NEWS,
    ("publication", "publication_date", "title", "geo_locations", *_NEWS_DROPPED),
    _NEWS_DROPPED,
)
# Parts of the namespaces of extensions. A namespace with such a part is that extension, or misspelled.
_PARTS = {"sitemap-image": IMAGE, "sitemap-video": VIDEO, "sitemap-news": NEWS, "/xhtml": LINK[:-4]}
_NEWS_LANGUAGE = re.compile(r"[a-z]{2,3}|zh-cn|zh-tw")
# Google also accepts times without seconds here.
_NEWS_DATES = (None, "lastmod-ambiguous")


def _number(least: int, most: float) -> Callable[[str], bool]:
    def is_valid(text: str) -> bool:
        try:
            return least <= Decimal(text.strip()) <= Decimal(most)
        except InvalidOperation:
            return False

    return is_valid


def _up_to(most: int) -> Callable[[str], bool]:
    return lambda text: len(text) <= most


def _word(pattern: str) -> Callable[[str], bool]:
    return lambda text: re.fullmatch(pattern, text.strip(), re.IGNORECASE) is not None


def _is_date(text: str) -> bool:
    return parse_lastmod(text.strip()).rule in _NEWS_DATES


#: Checks of the values of a video. https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps
_VIDEO_VALUES: dict[str, Callable[[str], bool]] = {
    "title": _up_to(MAX_VIDEO_TITLE),
    "description": _up_to(MAX_VIDEO_DESCRIPTION),
    "uploader": _up_to(MAX_VIDEO_UPLOADER),
    "duration": _number(1, 28_800),
    "rating": _number(0, 5),
    "view_count": _word("[0-9]+"),
    "expiration_date": _is_date,
    "publication_date": _is_date,
    "family_friendly": _word("yes|no"),
    "requires_subscription": _word("yes|no"),
    "live": _word("yes|no"),
    "restriction": _word(r"[A-Z]{2}(\s+[A-Z]{2})*"),
    "platform": _word(r"(web|mobile|tv)(\s+(web|mobile|tv))*"),
}


class MediaRules:
    """The checks of extensions in one audit."""

    def __init__(self, findings: Findings, links: LinkRules, now: datetime) -> None:
        self._findings, self._links = findings, links
        self._oldest_news = now - timedelta(days=NEWS_DAYS)

    def check(self, place: str, entry: Entry) -> int:
        """Check the extensions of an entry. Return its number of news articles."""
        elements = defaultdict(list)
        for element in entry.extensions:
            elements[element.tag].append(element)
        problems: list[Problem] = [*_namespace_problems(elements)]
        images, videos, articles = (
            elements.get(tag, []) for tag in (f"{IMAGE}image", f"{VIDEO}video", f"{NEWS}news")
        )
        if LINK in elements:
            self._links.check(place, entry, elements[LINK])
        if len(images) > MAX_IMAGES:
            self._findings.add("image-too-many", place, f"{entry.location}: {len(images):,}", entry.line)
        if len(articles) > 1:
            self._findings.add("news-repeated", place, entry.location, entry.line)
        for image in images:
            problems += _image_problems(image)
        for video in videos:
            problems += _video_problems(video, entry.location.strip())
        for article in articles:
            problems += self._news_problems(article)
        for rule, detail in dict.fromkeys(problems):
            self._findings.add(rule, place, f"{detail} of {entry.location.strip()}", entry.line)
        return len(articles)

    def _news_problems(self, article: Any) -> Iterator[Problem]:
        texts = yield from _texts(article, _NEWS)
        publication = article.find(f"{NEWS}publication")
        if publication is not None:
            texts |= yield from _texts(publication, _PUBLICATION)
        yield from _missing(texts, "news", ("name", "language", "publication_date", "title"))
        language = texts.get("language", "").strip()
        if language and not _NEWS_LANGUAGE.fullmatch(language):
            yield "news-language", repr(language)
        if date := texts.get("publication_date", "").strip():
            moment, rule = parse_lastmod(date)
            if rule not in _NEWS_DATES:
                yield "news-date", repr(date)
            elif moment is not None:
                # A date includes its whole day, in any time zone.
                slack = timedelta(days=2) if moment.is_date else timedelta(0)
                if moment.at + slack < self._oldest_news:
                    yield "news-old", date


def _image_problems(image: Any) -> Iterator[Problem]:
    texts = yield from _texts(image, _IMAGE)
    location = texts.get("loc", "").strip()
    if not location or url_problem(location):
        yield "image-url", repr(location)


def _video_problems(video: Any, page: str) -> Iterator[Problem]:
    texts = yield from _texts(video, _VIDEO)
    yield from _missing(texts, "video", ("thumbnail_loc", "title", "description"))
    if "content_loc" not in texts and "player_loc" not in texts:
        yield "video-required", "content_loc or player_loc"
    for name in ("thumbnail_loc", "content_loc", "player_loc"):
        location = texts.get(name, "").strip()
        if location and (url_problem(location) or location == page):
            yield "video-url", f"{name} {location}"
    for name, text in texts.items():
        if name in _VIDEO_VALUES and not _VIDEO_VALUES[name](text):
            yield "video-value", f"{name} {text[:100]!r}"
    for name in ("restriction", "platform"):
        for element in video.iterfind(f"{VIDEO}{name}"):
            if element.get("relationship") not in ("allow", "deny"):
                yield "video-value", f"relationship of {name}"
    names = [element.tag.removeprefix(VIDEO) for element in video]
    ranks = [_VIDEO_ORDER.index(name) for name in names if name in _VIDEO_ORDER]
    if ranks != sorted(ranks):
        yield "video-order", " ".join(names)
    if names.count("tag") > MAX_VIDEO_TAGS:
        yield "video-too-many-tags", str(names.count("tag"))


def _namespace_problems(tags: Iterable[str]) -> Iterator[Problem]:
    for tag in tags:
        namespace = tag.rpartition("}")[0] + "}"
        right = next((known for part, known in _PARTS.items() if part in namespace.lower()), namespace)
        if right != namespace:
            yield "namespace-similar", f"{namespace[1:-1]} instead of {right[1:-1]}"


def _texts(element: Any, kind: _Kind) -> Generator[Problem, None, dict[str, str]]:
    """Return the text of each child by its name. Yield unknown, repeated and dropped elements."""
    texts: dict[str, str] = {}
    for child in element:
        name = child.tag.removeprefix(kind.namespace)
        if name not in kind.names:
            yield "element-unknown", f"{name} in {element.tag}"
        elif name in texts and name not in kind.lists:
            yield "element-repeated", f"{name} in {element.tag}"
        if name in kind.dropped:
            yield f"{kind.rules}-dropped", name
        texts[name] = child.text or ""
    return texts


def _missing(texts: Mapping[str, str], rules: str, names: Iterable[str]) -> Iterator[Problem]:
    return ((f"{rules}-required", name) for name in names if not texts.get(name, "").strip())
