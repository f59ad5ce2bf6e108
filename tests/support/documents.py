"""Use these for whole documents: `section` declares a `Combination`, `entries` reads what was written."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from itertools import product
from typing import NamedTuple

import pytest
from django.test import RequestFactory
from django.utils import translation
from lxml import etree

from django_sitemaps09 import Alternate, Extension, Image, News, Platform, Restriction, Video, views
from django_sitemaps09.export import export
from tests.models import Article
from tests.support.exports import plain
from tests.support.internals import NAMESPACES, SITEMAP_NAMESPACE, uri
from tests.support.native_views import document
from tests.support.sections import declare
from tests.support.writing import parse

#: News articles must be from the last two days.
NOW = datetime.now(timezone.utc).replace(microsecond=0) - timedelta(hours=1)
SHOP = "https://example.org/shop"
SPACES = {SITEMAP_NAMESPACE: "", SHOP: "shop", **{space: prefix for prefix, space in NAMESPACES.items()}}
#: Characters in paths and in texts.
SLUGS = ["plain", "käse & brot", "a'b\"c<d>", "日本-😀", "100%", "a+b;c=d,e", "a[1]", "?q=ä&copy=2"]
TEXTS = "A & B", "<b>\"c\"</b> 'd' ]]>", "tab\tline\nend", "&amp; &#65; %41", "😀 käse\u2028 日本", "a\r\nb"


class Combination(NamedTuple):
    """The declaration of a section."""

    core: bool = False
    alternates: str = "none"
    images: bool = False
    videos: bool = False
    news: bool = False

    @property
    def namespaces(self):
        """Return exactly the namespaces that a document must declare."""
        prefixes = ["xhtml"] * (self.alternates != "none")
        prefixes += ["image"] * self.images + ["video"] * self.videos + ["news"] * self.news
        return {None: SITEMAP_NAMESPACE, **{prefix: NAMESPACES[prefix] for prefix in prefixes}}


ALTERNATES = ("none", "i18n", "method")
COMBINATIONS = [Combination(*given) for given in product([0, 1], ALTERNATES, [0, 1], [0, 1], [0, 1])]
EVERYTHING = Combination(True, "i18n", True, True, True)


def text_of(item):
    return TEXTS[item.pk % len(TEXTS)]


def localized(self, item):
    return f"/{translation.get_language()}{item.get_absolute_url()}"


def alternates(self, item):
    path = item.get_absolute_url()
    return [Alternate("en", path), ("de_AT", f"https://www.example.at{path}"), ("x-default", f"/any{path}")]


def images(self, item):
    text, terms = text_of(item), "https://example.org/terms?a=1&b=2"
    yield Image(f"https://cdn.example.net/{item.slug.replace('?', '')}.jpg?a=1&b=2")
    yield Image("covers/ä b.png", caption=text, geo_location="Zürich & more", title=text, license=terms)


def videos(self, item):
    text = text_of(item)
    full = Video(*("//cdn.example.net/t.png", "Second", text * 3),
                 player_loc="https://player.example.net/?v=1&w=ä", duration=timedelta(minutes=2),
                 expiration_date=date(2099, 12, 31), rating=4.5, view_count=0,
                 publication_date=datetime(2026, 1, 31, 8), tags=[text, "b & c"], family_friendly=True,
                 restriction=Restriction("allow", ["at", "DE"]), requires_subscription=False,
                 uploader=text, uploader_info="https://example.org/potter?a=1&b=2",
                 platform=Platform("deny", ["tv"]), live=False)  # fmt: skip
    return [Video("/t.png", text, text, content_loc=f"/v/{item.pk} ä.mp4"), full]


def news(self, item):
    return News("The <Example> & Times", "de-at", NOW, text_of(item))


CORE = {
    "lastmod": lambda self, item: item.updated,
    "changefreq": lambda self, item: "weekly" if item.published else None,
    "priority": lambda self, item: item.weight,
}
LINKED = {"i18n": True, "alternates": True, "x_default": True}


def section(of, **more):
    declared = {"queryset": Article.objects.all(), **(CORE if of.core else {})}
    if of.alternates == "i18n":
        declared |= {**LINKED, "location": localized}
    elif of.alternates == "method":
        declared |= {"alternates": alternates}
    hooks = {"images": images, "videos": videos, "news": news}
    declared |= {name: hook for name, hook in hooks.items() if getattr(of, name)}
    return declare(**declared | more)


def shop(xml, *others):
    return {"extensions": [Extension("shop", SHOP, xml), *others]}


@pytest.fixture
def articles(db):
    Article.objects.bulk_create(
        Article(pk=number, slug=slug, updated=NOW - timedelta(days=number) if number != 3 else None,
                published=number % 2 == 0, weight=Decimal(number) / 10 if number != 4 else None)
        for number, slug in enumerate(SLUGS, 1)
    )  # fmt: skip


@pytest.fixture
def serve(register):
    return lambda declared: register(x=declared)


def live(suffix="xml"):
    return document(f"/sitemap-x-1.{suffix}")


def exported(declared, folder, name="sitemap-x-1.xml.gz"):
    report = export(output=folder, sitemaps={"x": declared})
    assert [section.errors for section in report.sections] == [()]
    return plain(folder, name)


def by_contrib(*declared):
    """Return the document of the compatibility view for sections."""
    named = {str(number): one for number, one in enumerate(declared)}
    return views.sitemap(RequestFactory().get("/"), named).render().content


def name_of(element):
    """Return a name such as `loc` or `image:loc`, with the prefix derived from the namespace."""
    found = etree.QName(element)
    prefix = SPACES[found.namespace]
    return f"{prefix}:{found.localname}" if prefix else found.localname


def entries(document):
    """Return all elements of each entry with their texts and attributes, in order."""
    return [
        [(name_of(each), each.text or "", tuple(sorted(each.items()))) for each in url.iterdescendants()]
        for url in parse(document)
    ]


def texts(document, name):
    return [text for entry in entries(document) for found, text, _ in entry if found == name]


def canonical(entry):
    """Return an entry with quoted URLs and lower-case languages."""
    found = []
    for name, text, attributes in entry:
        pairs = dict(attributes)
        if name == "xhtml:link":
            pairs |= {"href": uri(pairs["href"]), "hreflang": pairs["hreflang"].lower()}
        found.append((name, uri(text) if name == "loc" else text, tuple(sorted(pairs.items()))))
    return found
