"""Check the images, videos and news of entries."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from dataclasses import fields
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any, NamedTuple

from django_sitemaps09.protocol import (
    MAX_IMAGES,
    NAMESPACES,
    NEWS_DAYS,
    Image,
    News,
    Video,
    media,
    normalized,
)
from django_sitemaps09.protocol.fields import MAX_DURATION
from django_sitemaps09.tools.audit.parsers import ReadEntry
from django_sitemaps09.tools.audit.readers import ReportRule
from django_sitemaps09.tools.audit.rules.links import is_country
from django_sitemaps09.tools.audit.rules.urls import url_problem
from django_sitemaps09.tools.audit.rules.values import parse_lastmod

Problem = tuple[str, str]


class _Elements(NamedTuple):
    """The elements of an extension. Google ignores those in `dropped`. Those in `lists` may be repeated."""

    prefix: str
    names: Collection[str]
    dropped: Collection[str] = ()
    lists: Collection[str] = ()

    @property
    def namespace(self) -> str:
        return f"{{{NAMESPACES[self.prefix]}}}"


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
# Google also accepts times without seconds here.
_NEWS_DATES = (None, "lastmod-ambiguous")


def _is_number(text: str, least: int, most: int) -> bool:
    try:
        return least <= Decimal(text.strip()) <= most
    except InvalidOperation:
        return False


def _word(pattern: str) -> Callable[[str], bool]:
    return lambda text: re.fullmatch(pattern, text.strip(), re.IGNORECASE) is not None


#: Checks of the values of a video. https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps
_VIDEO_VALUES: dict[str, Callable[[str], bool]] = {
    "title": lambda text: len(text) <= media.MAX_VIDEO_TITLE,
    "description": lambda text: len(text) <= media.MAX_VIDEO_DESCRIPTION,
    "uploader": lambda text: len(text) <= media.MAX_VIDEO_UPLOADER,
    "duration": partial(_is_number, least=1, most=MAX_DURATION),
    "rating": partial(_is_number, least=0, most=5),
    "view_count": _word("[0-9]+"),
    **dict.fromkeys(
        ("expiration_date", "publication_date"), lambda text: parse_lastmod(text).rule in _NEWS_DATES
    ),
    **dict.fromkeys(("family_friendly", "requires_subscription", "live"), _word("yes|no")),
    "restriction": _word(r"[A-Z]{2}(\s+[A-Z]{2})*"),
    "platform": _word(r"(web|mobile|tv)(\s+(web|mobile|tv))*"),
}


def check_media(report: ReportRule, entry: ReadEntry, now: datetime) -> int:
    """Check the extensions of an entry. Return its number of news articles."""
    problems: list[Problem] = [*_namespace_problems(entry.extensions)]
    images, videos, articles = (
        entry.extensions.get(f"{kind.namespace}{kind.prefix}", ()) for kind in (_IMAGE, _VIDEO, _NEWS)
    )
    if len(images) > MAX_IMAGES:
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


def _news_problems(article: Any, now: datetime) -> Iterator[Problem]:
    texts = yield from _texts(article, _NEWS)
    publication = article.find(f"{_NEWS.namespace}publication")
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
            if not moment.is_date and _ZONE.search(date) is None:
                yield "news-zone", date
            # A date includes its whole day, in any time zone.
            slack = timedelta(days=2) if moment.is_date else timedelta(0)
            if moment.at + slack < now - timedelta(days=NEWS_DAYS):
                yield "news-old", date


def _image_problems(image: Any) -> Iterator[Problem]:
    texts = yield from _texts(image, _IMAGE)
    location = texts.get("loc", "").strip()
    if not location or url_problem(location):
        yield "image-url", repr(location)


def _video_problems(video: Any, page: str) -> Iterator[Problem]:
    texts = yield from _texts(video, _VIDEO)
    yield from _missing(texts, "video", ("thumbnail_loc", "title", "description"))
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
    if tags > media.MAX_VIDEO_TAGS:
        yield "video-too-many-tags", str(tags)


def _namespace_problems(tags: Iterable[str]) -> Iterator[Problem]:
    for tag in tags:
        namespace = tag.rpartition("}")[0].removeprefix("{")
        prefix = next((prefix for part, prefix in _PARTS.items() if part in namespace.lower()), None)
        if prefix is not None and namespace != NAMESPACES[prefix]:
            yield "namespace-similar", f"{namespace} instead of {NAMESPACES[prefix]}"


def _texts(element: Any, kind: _Elements) -> Generator[Problem, None, dict[str, str]]:
    """Return the text of each child by its name. Yield unknown, repeated and dropped elements."""
    texts: dict[str, str] = {}
    start = kind.namespace
    for child in element:
        name = child.tag.removeprefix(start)
        if name not in kind.names:
            yield "element-unknown", f"{name} in {element.tag}"
        elif name in texts and name not in kind.lists:
            yield "element-repeated", f"{name} in {element.tag}"
        if name in kind.dropped:
            yield f"{kind.prefix}-dropped", name
        texts[name] = child.text or ""
    return texts


def _missing(texts: Mapping[str, str], rules: str, names: Iterable[str]) -> Iterator[Problem]:
    return ((f"{rules}-required", name) for name in names if not texts.get(name, "").strip())
