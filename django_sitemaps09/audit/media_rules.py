"""Check the images, videos and news of entries."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

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

_IMAGE_DROPPED = {"caption", "geo_location", "title", "license"}
_NEWS_DROPPED = {"access", "genres", "keywords", "stock_tickers"}
_VIDEO_DROPPED = {"category", "gallery_loc", "price", "tvshow", "content_segment_loc", "id"}
#: The elements of a video in the order of the XSD.
_VIDEO_ORDER = (
    *("thumbnail_loc", "title", "description", "content_loc", "player_loc", "duration", "expiration_date"),
    *("rating", "content_segment_loc", "view_count", "publication_date", "tag", "category"),
    *("family_friendly", "restriction", "gallery_loc", "price", "requires_subscription", "uploader"),
    *("tvshow", "platform", "live", "id"),
)
# The elements that may occur more than once in a video.
_VIDEO_LISTS = {"tag", "category", "content_segment_loc", "gallery_loc", "price", "id"}
_NEWS_ORDER = ("publication", "publication_date", "title", "geo_locations", *_NEWS_DROPPED)
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
        links, images, videos, news = (
            [element for element in entry.extensions if element.tag == tag]
            for tag in (LINK, f"{IMAGE}image", f"{VIDEO}video", f"{NEWS}news")
        )
        if links:
            self._links.check(place, entry, links)
        if len(images) > MAX_IMAGES:
            self._findings.add("image-too-many", place, f"{entry.location}: {len(images):,}", entry.line)
        if len(news) > 1:
            self._findings.add("news-repeated", place, entry.location, entry.line)
        problems: list[tuple[str, str]] = [*_namespace_problems(entry.extensions)]
        for image in images:
            problems += _image_problems(image)
        for video in videos:
            problems += _video_problems(video, entry.location.strip())
        for article in news:
            problems += self._news_problems(article)
        for rule, detail in dict.fromkeys(problems):
            self._findings.add(rule, place, f"{detail} of {entry.location.strip()}", entry.line)
        return len(news)

    def _news_problems(self, article: Any) -> Iterator[tuple[str, str]]:
        texts = _texts(article, NEWS)
        yield from _name_problems(article, NEWS, _NEWS_ORDER)
        publication = article.find(f"{NEWS}publication")
        if publication is not None:
            yield from _name_problems(publication, NEWS, ("name", "language"))
        texts |= {} if publication is None else _texts(publication, NEWS)
        for name in ("name", "language", "publication_date", "title"):
            if not texts.get(name, "").strip():
                yield "news-required", name
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
        for name in sorted(texts.keys() & _NEWS_DROPPED):
            yield "news-dropped", name


def _image_problems(image: Any) -> Iterator[tuple[str, str]]:
    texts = _texts(image, IMAGE)
    yield from _name_problems(image, IMAGE, ("loc", *_IMAGE_DROPPED))
    location = texts.get("loc", "").strip()
    if not location or url_problem(location):
        yield "image-url", repr(location)
    for name in sorted(texts.keys() & _IMAGE_DROPPED):
        yield "image-dropped", name


def _video_problems(video: Any, page: str) -> Iterator[tuple[str, str]]:
    texts = _texts(video, VIDEO)
    yield from _name_problems(video, VIDEO, _VIDEO_ORDER, _VIDEO_LISTS)
    for name in ("thumbnail_loc", "title", "description"):
        if not texts.get(name, "").strip():
            yield "video-required", name
    if "content_loc" not in texts and "player_loc" not in texts:
        yield "video-required", "content_loc or player_loc"
    for name in ("thumbnail_loc", "content_loc", "player_loc"):
        location = texts.get(name, "").strip()
        if location and (url_problem(location) or location == page):
            yield "video-url", f"{name} {location}"
    for name, is_valid in _VIDEO_VALUES.items():
        if name in texts and not is_valid(texts[name]):
            yield "video-value", f"{name} {texts[name][:100]!r}"
    for name in ("restriction", "platform"):
        for element in video.iterfind(f"{VIDEO}{name}"):
            if element.get("relationship") not in ("allow", "deny"):
                yield "video-value", f"relationship of {name}"
    names = [element.tag.removeprefix(VIDEO) for element in video]
    ranks = [_VIDEO_ORDER.index(name) for name in names if name in _VIDEO_ORDER]
    if ranks != sorted(ranks):
        yield "video-order", " ".join(names)
    if Counter(names)["tag"] > MAX_VIDEO_TAGS:
        yield "video-too-many-tags", str(Counter(names)["tag"])
    for name in sorted(texts.keys() & _VIDEO_DROPPED):
        yield "video-dropped", name


def _namespace_problems(elements: Sequence[Any]) -> Iterator[tuple[str, str]]:
    for tag in sorted({element.tag for element in elements}):
        namespace = tag.rpartition("}")[0] + "}"
        right = next((known for part, known in _PARTS.items() if part in namespace.lower()), namespace)
        if right != namespace:
            yield "namespace-similar", f"{namespace[1:-1]} instead of {right[1:-1]}"


def _name_problems(
    element: Any, namespace: str, names: Collection[str], lists: Collection[str] = ()
) -> Iterator[tuple[str, str]]:
    """Yield unknown and repeated elements of an extension."""
    for name, count in Counter(child.tag.removeprefix(namespace) for child in element).items():
        if name not in names:
            yield "element-unknown", f"{name} in {element.tag}"
        elif count > 1 and name not in lists:
            yield "element-repeated", f"{name} in {element.tag}"


def _texts(element: Any, namespace: str) -> dict[str, str]:
    """Return the text of each child, by its name without the namespace."""
    return {child.tag.removeprefix(namespace): child.text or "" for child in element}
