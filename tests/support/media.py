"""Images, videos and news, and readers of them."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from typing import Any

from lxml import etree

from django_sitemaps09.entries import NAMESPACES, Image, News, Platform, Restriction, Video
from django_sitemaps09.protocol import SITEMAP_NAMESPACE
from django_sitemaps09.writer.media import image_elements, news_element, video_elements
from tests.support.configuration import BASE

MOMENT = datetime(2026, 1, 31, 12, 30, 5, 999_999, tzinfo=timezone(timedelta(hours=2)))

LEAST_VIDEO: dict[str, Any] = {
    "thumbnail_loc": "/thumbnail.png",
    "title": "Title",
    "description": "Description",
    "content_loc": "/video.mp4",
}

FULL_VIDEO: dict[str, Any] = {
    **LEAST_VIDEO,
    "player_loc": "https://player.example.org/?v=1&w=2",
    "duration": timedelta(minutes=10, milliseconds=700),
    "expiration_date": MOMENT,
    "rating": 4.5,
    "view_count": 12_345,
    "publication_date": date(2026, 1, 31),
    "tags": ["steak", "a & b"],
    "family_friendly": True,
    "restriction": Restriction("allow", ["at", "DE"]),
    "requires_subscription": False,
    "uploader": "Grill & Co",
    "uploader_info": "/users/1?a=b&c=d",
    "platform": Platform("deny", ["web", "tv"]),
    "live": False,
}

NEWS: dict[str, Any] = {
    "publication_name": "The Example Times",
    "language": "en",
    "publication_date": MOMENT,
    "title": "Companies A, B in merger talks",
}

IMAGE: dict[str, Any] = {
    "loc": "/image.jpg",
    "caption": "A & B",
    "geo_location": "Limerick, Ireland",
    "title": "<Title>",
    "license": "/license?a=1&b=2",
}


def document(elements: str) -> bytes:
    prefixes = "".join(f' xmlns:{prefix}="{name}"' for prefix, name in NAMESPACES.items())
    url = f"<url><loc>{BASE}/page</loc>{elements}</url>"
    return f'<urlset xmlns="{SITEMAP_NAMESPACE}"{prefixes}>{url}</urlset>'.encode()


def read(elements: str) -> Any:
    """Return the elements after `loc`."""
    assert not set("\n\r\t") & set(elements)
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    root = etree.fromstring(document(elements), parser)
    assert len(root) == 1
    return root[0][1:]


def pairs(element: Any) -> list[tuple[str, str]]:
    """Return names and texts of all descendants of an element, in order."""
    return [(etree.QName(child).localname, child.text or "") for child in element.iterdescendants()]


def written(value: Image | Video | News) -> str:
    if isinstance(value, Image):
        return image_elements([value], BASE, 1)
    if isinstance(value, Video):
        return video_elements([value], BASE, 1)
    return news_element(value, 1)
