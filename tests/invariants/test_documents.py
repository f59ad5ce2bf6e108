"""Complete documents: everything that a sitemap can declare, in any combination and with any value."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from urllib.parse import unquote
from zoneinfo import ZoneInfo

import pytest
from django.contrib import sitemaps as contrib
from django.core.exceptions import ImproperlyConfigured
from django.test import RequestFactory
from hypothesis import event, example, given, strategies as st
from lxml import etree

from django_sitemaps09 import (
    Alternate,
    Extension,
    Image,
    News,
    NewsSitemap,
    Platform,
    Restriction,
    Sitemap,
    Video,
    views,
)
from tests.models import Article
from tests.support.configuration import BASE
from tests.support.documents import (
    COMBINATIONS,
    CORE,
    EVERYTHING,
    LINKED,
    NOW,
    SHOP,
    SLUGS,
    TEXTS,
    Combination,
    alternates,
    by_contrib,
    canonical,
    entries,
    exported,
    images,
    live,
    localized,
    name_of,
    news,
    section,
    shop,
    text_of,
    texts,
    videos,
)
from tests.support.internals import NAMESPACES, SITEMAP_NAMESPACE
from tests.support.sections import declare, listing
from tests.support.sources import compiled, rendered
from tests.support.writing import anything, parse

pytestmark = [pytest.mark.slow, pytest.mark.sitemaps09]


def comparable(document):
    return [*map(canonical, entries(document))]


@pytest.mark.usefixtures("articles")
@pytest.mark.parametrize("declared", COMBINATIONS)
def test_a_combination_is_one_valid_document_by_each_way(declared, schema, serve, tmp_path):
    found = section(declared)
    serve(found)
    document = live()
    assert document == live("xml.gz") == exported(found, tmp_path)
    root = parse(document)
    schema.assertValid(root)
    # No namespaces but those of what is declared.
    assert root.nsmap == declared.namespaces
    assert len(root) == len(SLUGS) * (3 if declared.alternates == "i18n" else 1)
    # One line for each entry makes the difference of two documents readable.
    head, first, *lines, tail = document.splitlines()
    assert (head[:5], first[:7], tail) == (b"<?xml", b"<urlset", b"</urlset>")
    assert all(re.fullmatch(rb"<url><loc>.*</url>", line) for line in lines)
    assert b"\r" not in document
    # As text, it is exactly its locations.
    assert live("txt").decode().split("\n") == [*texts(document, "loc"), ""]
    assert exported(section(declared, format="text"), tmp_path, "sitemap-x-1.txt") == live("txt")
    # On Django's pages, locations and codes of `i18n` are as contrib writes them, which quotes nothing.
    found.queryset = Article.objects.exclude(slug__in=["100%", "a[1]"])
    if declared.alternates == "method":
        # Such links are compared with unquoted locations.
        found.queryset = Article.objects.filter(slug__in=["plain", "a+b;c=d,e"])
    root = parse(by_contrib(found))
    schema.assertValid(root)
    # Contrib's template always declares the namespace of links.
    assert root.nsmap == declared.namespaces | {"xhtml": NAMESPACES["xhtml"]}
    assert comparable(by_contrib(found)) == comparable(live())


@pytest.mark.usefixtures("articles")
def test_items_may_have_languages_of_their_own_and_news_all_other_elements(schema, serve, tmp_path):
    counts = [pk % 3 + 1 for pk in range(1, len(SLUGS) + 1)]
    of_item = lambda self, item: ["en", "de", "pt-br"][: item.pk % 3 + 1]  # noqa: E731
    declared = section(EVERYTHING, get_languages_for_item=of_item)
    serve(declared)
    schema.assertValid(parse(live()))
    # The languages of each item, and the link for all others, in each of its entries.
    links = [sum(name == "xhtml:link" for name, _, _ in entry) for entry in entries(live())]
    assert links == [count + 1 for count in counts for _ in range(count)]
    assert live("txt").decode().split("\n") == [*texts(live(), "loc"), ""]
    assert exported(declared, tmp_path) == live()
    hooks = {
        "title": lambda self, item: text_of(item), "images": images, "videos": videos,
        "location": localized,
    }  # fmt: skip
    facts = {"model": Article, "date_field": "updated", "publication_name": "The <Example> & Times"}
    newest = declare(NewsSitemap, **facts, **hooks, **LINKED)
    serve(newest)
    schema.assertValid(parse(live()))
    assert (parse(live()).nsmap, texts(live(), "news:title")) == (EVERYTHING.namespaces, [TEXTS[1]] * 3)
    assert comparable(by_contrib(newest)) == comparable(live())


@pytest.mark.usefixtures("articles")
def test_an_extension_is_the_last_element_in_every_output(schema, serve, tmp_path):
    price = lambda item: f'<shop:price currency="CHF">{item.pk}\n</shop:price>'  # noqa: E731
    declared = section(EVERYTHING, **shop(price))
    serve(declared)
    document = live()
    schema.assertValid(without(document))
    assert parse(document).nsmap == EVERYTHING.namespaces | {"shop": SHOP}
    assert {name_of(url[-1]) for url in parse(document)} == {"shop:price"}
    assert texts(document, "shop:price") == [f"{n}\n" for n in range(1, len(SLUGS) + 1) for _ in "123"]
    assert exported(declared, tmp_path) == document
    assert comparable(by_contrib(declared)) == comparable(document)


@pytest.mark.usefixtures("articles")
def test_sitemap_js_accepts_any_combination(sitemap_js, serve):
    documents = []
    for declared in COMBINATIONS:
        serve(section(declared))
        documents.append(live())
    items = sitemap_js.strictly(documents)
    assert [[item["url"] for item in each] for each in items] == [texts(one, "loc") for one in documents]
    full = items[COMBINATIONS.index(EVERYTHING)][0]
    assert [len(full[name]) for name in ("links", "img", "video")] == [4, 2, 2]


OTHER = "https://example.org/other"


def without(document):
    root = parse(document)
    for child in [child for url in root for child in url]:
        if etree.QName(child).namespace in (SHOP, OTHER):
            child.getparent().remove(child)
    return root


def page_of(section):
    [page] = rendered(compiled(section))
    return page.text.encode(), [(error.key, error.field) for error in page.written.errors]


def with_extension(xml, *others):
    """Return a document of three items. Only the second item, which is `True`, has the extension."""
    return page_of(listing([False, True, False], **shop(xml, *others)))


def test_an_extension_declares_its_namespace_once_and_can_follow_another_one(schema):
    foreign = f'<other:a xmlns:other="{SHOP}" other:b="c"/>'
    document, errors = with_extension(lambda item: foreign if item else '<shop:a shop:b="c"/>')
    assert (errors, document.count(b"xmlns:"), document.count(SHOP.encode())) == ([], 1, 1)
    assert parse(document).nsmap == {None: SITEMAP_NAMESPACE, "shop": SHOP}
    assert document.count(b'<shop:a shop:b="c"/>') == 3
    other = Extension("other", OTHER, lambda item: "<other:a/>" if item else "")
    document, errors = with_extension(lambda item: "<shop:b/>" if item else "<shop:c/>", other)
    names = [[etree.QName(child).localname for child in url] for url in parse(document)]
    assert (errors, names) == ([], [["loc", "c"], ["loc", "b", "a"], ["loc", "c"]])
    schema.assertValid(without(document))
    # One that fails does not affect another one.
    document, errors = with_extension(lambda item: 1 / 0, other)
    assert (errors, document.count(b"<other:a/>")) == ([(key, "shop") for key in "123"], 1)


def test_an_extension_with_line_ends_stays_on_the_line_of_its_entry():
    xml = '\n<shop:a b="c\nd&#10;e">\r\nf\tg\n<!-- \n -->\n</shop:a\n>\n<shop:b/>\n'
    document, errors = with_extension(lambda item: xml)
    assert (errors, len(document.split(b"\n")), b"\r" in document) == ([], 2 + 3 + 1 + 1, False)
    found = {(each.text, each.get("b")) for each in parse(document).iter(f"{{{SHOP}}}a")}
    assert found == {("\nf\tg\n\n", "c d\ne")}


pieces = st.sampled_from(["<shop:a>", "</shop:a>", "<shop:b c='", "'/>", "</url>"])


@given(st.lists(pieces | anything).map("".join))
@example("<shop:a>]]&gt;&#13;</shop:a>")
def test_an_extension_of_any_text_breaks_nothing(schema, text):
    document, errors = with_extension(lambda item: text if item else "<shop:ok/>")
    root = parse(document)
    assert (len(root), root.nsmap) == (3, {None: SITEMAP_NAMESPACE, "shop": SHOP})
    assert len(document.split(b"\n")) == 7
    schema.assertValid(without(document))
    assert {etree.QName(element).namespace for element in root.iter("*")} == {SITEMAP_NAMESPACE, SHOP}
    assert errors in ([], [("2", "shop")])
    assert not errors or len(root[1]) == 1


#: Characters that are allowed in XML.
readable = st.text(st.sampled_from("aZ09 &<>\"'äß日😀\t\n\r\x85\u2028"), min_size=1, max_size=8)


def mostly(good, other):
    """Draw mostly valid values, because one invalid value is enough to skip all."""
    return st.integers(0, 9).flatmap(lambda number: other if number == 9 else good)


prose = mostly(readable.filter(lambda text: not text.isspace()), anything)
good_urls = st.text("aZ09-._~ &<\"'äß日😀+;=,", max_size=8).map(str.strip)
starts = ["/", "https://example.net/"]
urls = mostly(
    st.sampled_from(starts).flatmap(lambda start: good_urls.map(start.__add__))
    | good_urls.filter(bool)
    | st.sampled_from(["//cdn.example.net/a", "http://käse.example/ä", "HTTP://EXAMPLE.ORG"]),
    st.sampled_from(["", *starts, "http://"]).flatmap(lambda start: anything.map(start.__add__))
    | st.sampled_from(["ftp://a/b", "/" + "ä" * 400, "https://[::1/", "http://a.example:99999/"]),
)
offsets = [
    timezone.utc, timezone(timedelta(hours=14)), timezone(-timedelta(hours=12)), ZoneInfo("Asia/Tokyo"),
]  # fmt: skip
zones = st.sampled_from(offsets)
ends = st.sampled_from([datetime.min, datetime.max])
moments = (
    st.dates()
    | st.datetimes()
    | st.datetimes(timezones=zones)
    | st.sampled_from([date.min, date.max])
    | st.builds(lambda moment, zone: moment.replace(tzinfo=zone), ends, st.none() | zones)
)
earliest = NOW.replace(tzinfo=None) - timedelta(hours=40)
recent = st.datetimes(earliest, datetime(9999, 12, 30), timezones=zones)
codes = ["en", "de-at", "pt_BR", "zh-hans", "zh_TW", "sr@latin", "es-419", "x-default", "fil", "gsw-CH"]
languages = mostly(
    st.sampled_from(codes),
    st.sampled_from(["zh", "no language", "", "i-klingon"]) | st.text("abzXZ-_@.19", max_size=8) | anything,
)


def same_url(written, given_url):
    assert re.fullmatch(r"https?://[a-z0-9.\-:\[\]_]+/[A-Za-z0-9\-._~:/?@!$&'()*+,;=%]*", written)
    if re.match("[A-Za-z]+:", given_url) and not re.match("https?://[^/?#]", given_url, re.IGNORECASE):
        # This is interpreted as a file name.
        return written.startswith(f"{BASE}/")
    if given_url.startswith("//"):
        given_url = f"https:{given_url}"
    elif not re.match("https?://", given_url, re.IGNORECASE):
        given_url = f"{BASE}/{given_url.removeprefix('/')}"
    scheme, _, rest = given_url.partition("://")
    host, _, path = rest.partition("/")
    found_scheme, _, found_rest = written.partition("://")
    found_host, _, found_path = found_rest.partition("/")
    assert found_scheme == scheme.lower()
    # The tests of the protocol cover the result for other hosts. A percent sign is ambiguous.
    is_plain = re.fullmatch(r"[A-Za-z0-9.\-]+", host)
    return not is_plain or (found_host == host.lower() and ("%" in path or unquote(found_path) == path))


def same_moment(written, given_moment):
    """Return whether a text is this day, or this second in UTC. Naive times are in the zone of Zurich."""
    if not isinstance(given_moment, datetime):
        return written == given_moment.isoformat()
    if given_moment.tzinfo is None:
        given_moment = given_moment.replace(tzinfo=ZoneInfo("Europe/Zurich"))
    assert re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z", written)
    found = datetime.fromisoformat(written.replace("Z", "+00:00"))
    return found == given_moment.astimezone(timezone.utc).replace(microsecond=0)


def rendered_item(schema, prefix=None, location="/2/", **hooks):
    """Return the texts and links of the second of three items with these hooks, and its errors by field."""
    declared = {
        name: lambda self, item, value=value: value() if item == 2 and callable(value) else None
        for name, value in hooks.items()
    }
    place = lambda self, item: location if item == 2 else f"/{item}/"  # noqa: E731
    document, errors = page_of(listing([1, 2, 3], location=place, **declared))
    schema.assertValid(parse(document))
    first, *second, last = entries(document)
    assert [first[0][1], last[0][1]] == [f"{BASE}/1/", f"{BASE}/3/"]
    assert {key for key, _ in errors} <= {"2"}
    fields = [field for _, field in errors]
    assert (len(fields), len(second)) == (len(set(fields)), 0 if "location" in fields else 1)
    found = second[0] if second else []
    event("skipped" if fields else "written")
    if prefix:
        assert len([name for name, _, _ in found if name == f"{prefix}:{prefix}"]) <= 1
        found = [(n[len(prefix) + 1 :], *rest) for n, *rest in found if n.startswith(f"{prefix}:")]
    return found, fields


class TestAnyValue:
    @given(url=urls, caption=prose, title=prose)
    @example(url="a.png", caption="\r\n", title="\x85")
    def test_of_an_image_is_written_or_skipped(self, schema, url, caption, title):
        image = lambda: [Image(url, caption=caption, title=title)]  # noqa: E731
        found, fields = rendered_item(schema, "image", images=image)
        assert fields == ([] if found else ["images"])
        if found:
            texts = {name: text for name, text, _ in found[1:]}
            assert same_url(texts.pop("loc"), url)
            assert texts == {name: text for name, text in (("caption", caption), ("title", title)) if text}

    @given(
        st.fixed_dictionaries(
            {"thumbnail_loc": urls, "title": prose, "description": prose, "content_loc": urls | st.none()},
            optional={
                "player_loc": urls | st.none(),
                "publication_date": moments | st.none(),
                "expiration_date": moments | st.none(),
                "tags": st.lists(prose, max_size=3),
                "duration": st.integers(-1, 30_000) | st.timedeltas(timedelta(0), timedelta(hours=9)),
                "rating": st.floats(0, 5) | st.integers(-1, 6) | st.decimals(0, 5),
                "view_count": st.integers(0),
                "family_friendly": st.booleans(),
                "live": st.booleans(),
                "uploader": prose,
                "uploader_info": urls,
                "restriction": st.builds(
                    Restriction, st.sampled_from(["allow", "deny"]),
                    st.lists(st.from_regex("[A-Za-z]{2}", fullmatch=True), min_size=1),
                ),
                "platform": st.builds(Platform, st.just("deny"), st.just(["web", "tv"])),
            },
        )
    )  # fmt: skip
    def test_of_a_video_is_written_or_skipped(self, schema, values):
        found, fields = rendered_item(schema, "video", videos=lambda: [Video(**values)])
        assert fields == ([] if found else ["videos"])
        if not found:
            return
        texts = {name: text for name, text, _ in found}
        for name in ("title", "description", "uploader"):
            assert texts.get(name, "") == values.get(name, "")
        for name in ("thumbnail_loc", "content_loc", "player_loc"):
            assert (name in texts) == bool(values.get(name))
            assert name not in texts or values[name].startswith("//") or same_url(texts[name], values[name])
        for name in ("publication_date", "expiration_date"):
            assert (name in texts) == (values.get(name) is not None)
            assert name not in texts or same_moment(texts[name], values[name])
        assert [text for name, text, _ in found if name == "tag"] == values.get("tags", [])
        for name in ("family_friendly", "live"):
            assert {"yes": True, "no": False, None: None}[texts.get(name)] == values.get(name)
        if "rating" in values:
            assert Decimal(texts["rating"]) == Decimal(str(values["rating"]))
            assert set(texts["rating"]) <= set("0123456789.")

    @given(name=prose, language=languages, published=mostly(recent, moments), title=prose)
    @example(name="a", language="en", published=NOW, title="t")
    @example(name="a", language="zh", published=NOW, title="t")
    def test_of_news_is_written_or_skipped(self, schema, name, language, published, title):
        """News older than two days are omitted without an error."""
        found, fields = rendered_item(schema, "news", news=lambda: News(name, language, published, title))
        assert fields in ([], ["news"])
        if found:
            texts = {each: text for each, text, _ in found}
            assert (fields, texts["name"], texts["title"]) == ([], name, title)
            assert same_moment(texts["publication_date"], published)
            assert language.lower().startswith(texts["language"][:2])
        elif not fields:
            day = date(published.year, published.month, published.day)
            assert day <= (datetime.now(timezone.utc) - timedelta(days=1)).date()

    @given(code=languages, url=urls)
    @example(code="de_AT", url="/")
    def test_of_an_alternate_is_written_or_skipped(self, schema, code, url):
        pairs = lambda: [("en", "/2/"), Alternate(code, url)]  # noqa: E731
        found, fields = rendered_item(schema, "xhtml", alternates=pairs)
        assert (fields, len(found) in (0, 2)) == ([] if found else ["alternates"], True)
        for _, _, attributes in found[1:]:
            link = dict(attributes)
            assert url.startswith("//") or same_url(link["href"], url)
            assert "@" in code or link["hreflang"].lower() == code.replace("_", "-").lower()

    @given(location=urls, moment=moments | anything | st.integers() | st.none(), word=anything)
    @example(location="/a/", moment=None, word="never")
    def test_of_the_elements_of_the_protocol_is_written_or_skipped(self, schema, location, moment, word):
        """Only here, the whole item can be skipped: if it has no valid location."""
        hooks = {"lastmod": lambda: moment, "changefreq": lambda: word, "priority": lambda: "0.1"}
        found, fields = rendered_item(schema, location=location, **hooks)
        assert set(fields) <= {"location", "lastmod", "changefreq"}
        if found:
            texts = {name: text for name, text, _ in found}
            assert location.startswith("//") or same_url(texts["loc"], location)
            assert ("lastmod" in texts) == ("lastmod" not in fields and moment not in (None, ""))
            assert "lastmod" not in texts or same_moment(texts["lastmod"], moment)
            assert ("changefreq" in texts) == ("changefreq" not in fields and word != "")
            assert texts.get("changefreq", word) == word or "changefreq" in fields
            assert texts["priority"] == "0.1"


def simple(declared):
    return section(Combination(), **declared)


def hook(value):
    return lambda self, item: value


@pytest.mark.django_db
def test_dicts_of_others_may_have_keys_of_our_names():
    """A project's template may use these keys, but contrib's does not."""
    dicts = [{"images": iter("a"), "videos": 5, "extensions": "jpg"}, {"extensions": ["jpg", "png"]}]
    urls = [{"location": f"{BASE}/{number}/", "item": 1} | own for number, own in enumerate(dicts)]
    others = declare(contrib.Sitemap, get_urls=lambda self, *args, **options: urls)
    assert texts(by_contrib(others), "loc") == [f"{BASE}/0/", f"{BASE}/1/"]


@pytest.mark.usefixtures("articles")
@pytest.mark.parametrize("protocols", [("https", "http"), ("http", "https")])
def test_paths_of_media_are_on_the_host_of_their_section(protocols):
    declared = {"hosts": ("shop.example.org",), "location": lambda self, item: item}
    paths = ["//shop.example.org/a/", "/a/"]
    sections = [listing(paths, images=hook([Image("/a.png")]), protocol=p, **declared) for p in protocols]
    found = texts(by_contrib(*sections), "image:loc")
    assert found == [f"{protocol}://www.example.com/a.png" for protocol in protocols for _ in paths]


@pytest.mark.usefixtures("articles")
def test_sections_of_one_document_can_share_a_namespace_but_not_a_prefix_for_two():
    a, b = (simple(shop(lambda item, name=name: f"<shop:{name}/>")) for name in "ab")
    document = by_contrib(a, b)
    assert (b"<shop:a/>" in document, b"<shop:b/>" in document) == (True, True)
    other = Extension("shop", "https://example.org/other", lambda item: "<shop:b/>")
    with pytest.raises(ImproperlyConfigured, match="prefix 'shop'"):
        by_contrib(a, simple({"extensions": [other]}))
    pair = [Extension("p", f"urn:{name}:x", lambda item: "<p:a/>") for name in "ab"]
    with pytest.raises(ImproperlyConfigured, match="must have unique prefixes and unique namespaces"):
        by_contrib(declare(Sitemap, items=lambda self: [1], location="/", extensions=pair))


@pytest.mark.usefixtures("articles")
@pytest.mark.parametrize(
    "declared",
    [{}, {**CORE, "images": images, "videos": videos, "news": news}, {"alternates": alternates},
     shop(lambda item: "<shop:a/>"), {"images": hook([])}, {"alternates": hook([("de", "/de/")])},
     {"x_default": hook("/any/")}],
)  # fmt: skip
def test_the_bytes_are_the_same_whether_the_urlset_is_read_or_not(declared):
    response = views.sitemap(RequestFactory().get("/"), {"0": simple(declared)})
    assert len(response.context_data["urlset"]) > 0
    assert response.render().content == by_contrib(simple(declared))
