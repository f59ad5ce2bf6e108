"""Any value of a hook is written by each way, or skipped and reported once; it affects nothing else."""

from __future__ import annotations

import html
import re
from datetime import date, datetime, timedelta
from xml.etree import ElementTree
from zoneinfo import ZoneInfo

import pytest
from django.db.models import DateTimeField, F, Value
from django.utils.functional import lazy
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

from django_sitemaps09 import Alternate, Extension, Image, News, Platform, Restriction, Route, Video
from django_sitemaps09.export import export, export_hosts
from tests.models import Article
from tests.support.configuration import BASE
from tests.support.documents import NOW, SHOP, texts
from tests.support.factories import ArticleFactory
from tests.support.internals import NAMESPACES
from tests.support.published import unpacked
from tests.support.sections import declare, listing
from tests.support.sources import UTC, in_language, through_get_urls
from tests.support.ways import WAYS, Entry

pytestmark = [pytest.mark.slow, pytest.mark.django_db, pytest.mark.sitemaps09(ENGINE="serial")]
DJANGOS = ("compatible", "contrib", "get_urls")


def opaque(section):
    """Return what is read from the dicts of an opaque sitemap, whose items are named by page and place."""
    found, errors = WAYS["native"](through_get_urls(section))
    return found, [re.sub(r"^item 1/[0-9]+ \((.*?)\)", r"item \1", text) for text in errors]


EACH_WAY = {**WAYS, "opaque": opaque}
#: A namespace with a character that is escaped.
AND = "https://example.org/?a&b"
PREFIXES = {SHOP: "shop", AND: "shop", **{namespace: prefix for prefix, namespace in NAMESPACES.items()}}


def lines(entry):
    """Return what an entry has besides its location: a line for each text and link, `@` for the base."""
    found = [f"{name}={getattr(entry, name)}" for name in ("lastmod", "changefreq", "priority")]
    for other in entry.others:
        for element in ElementTree.fromstring(other).iter():  # noqa: S314 our own output
            namespace, _, name = element.tag[1:].partition("}")
            if name == "link":
                found.append(f"{element.get('hreflang')}={element.get('href')}")
            elif not len(element):
                found.append(f"{PREFIXES[namespace]}:{name}={element.text or ''}")
    return [line.replace(BASE, "@") for line in found if not line.endswith("=None")]


def section_of(hook, value, **attributes):
    """Return a section of three items, of which the second one has this value; functions are called."""

    def given(self, item):
        if item != 2:
            return f"/{item}/" if hook == "location" else None
        return value() if callable(value) else value

    if hook == "shop":
        return listing([1, 2, 3], extensions=[Extension("shop", SHOP, lambda item: given(None, item))])
    return listing([1, 2, 3], **{hook: given}, **attributes)


def raising(*before):
    yield from before
    raise LookupError("in the middle")


def unspeakable():
    class Unspeakable(Exception):
        def __str__(self):
            raise ValueError("there are no words for it")

    raise Unspeakable


def video(**fields):
    return [Video("/t.png", "T", "D", **fields)]


IMAGE, ITSELF = Image("/a.png"), Alternate("en", "/2/")
VIDEO = Video("/t.png", "T", "D", content_loc="/v.mp4")
THE_NEWS = News("The Times", "en", NOW, "Title")
VIDEO_LINES = ["video:thumbnail_loc=@/t.png", "video:title=T", "video:description=D"]
EACH = {
    "images": (IMAGE, ["image:loc=@/a.png"]),
    "videos": (VIDEO, [*VIDEO_LINES, "video:content_loc=@/v.mp4"]), "alternates": (ITSELF, ["en=@/2/"]),
}  # fmt: skip
WRITTEN_NEWS = [
    "news:name=The Times", "news:language=en", f"news:publication_date={NOW:%Y-%m-%dT%H:%M:%SZ}",
]  # fmt: skip


def results_of(hook, one, written):
    """Return rows with all kinds of results of a hook that returns several values."""
    for nothing in (None, [], (), lambda: iter(())):
        yield hook, nothing, [], ""
    for given in ((one,), lambda: (each for each in [one]), lambda: {1: one}.values()):
        yield hook, given, written, ""
    raised = (lambda: raising(one), raising, lambda: 1 / 0, lambda: next(iter(())), unspeakable)
    other = (5, "/a.png", False, THE_NEWS, lambda: type(one), lambda: one.__repr__)
    for bad in (*raised, *other, [None], [5], [[one]]):
        yield hook, bad, [], f"{hook}: "


def several(*pairs):
    return [ITSELF, *pairs]


#: A hook, its value for the second item, the lines that are written, and the beginning of the error.
VALUES = [
    *(row for hook, (one, written) in EACH.items() for row in results_of(hook, one, written)),
    # One bad value of several affects only itself.
    *((hook, [one, None, one], written * 2, f"{hook}: ") for hook, (one, written) in [*EACH.items()][:2]),
    ("images", lambda: [Image("/ä b.png", caption="<&>")],
     ["image:loc=@/%C3%A4%20b.png", "image:caption=<&>"], ""),
    ("images", lambda: [Image("//cdn.example.net/a")], ["image:loc=https://cdn.example.net/a"], ""),
    ("images", lambda: [Image("a.png", license="/terms ä")],
     ["image:loc=@/a.png", "image:license=@/terms%20%C3%A4"], ""),
    ("images", lambda: [Image("/a", license="https://e.org/ä")],
     ["image:loc=@/a", "image:license=https://e.org/%C3%A4"], ""),
    *(("images", lambda url=url: [Image(url)], [], "images: ")
     for url in ("ftp://a/b", "data:image/png;AA==", "http://", " /a.png", "/a.png ")),
    ("videos", lambda: video(content_loc="", player_loc="/p"), [*VIDEO_LINES, "video:player_loc=@/p"], ""),
    ("videos", lambda: video(content_loc="/v", player_loc=""), [*VIDEO_LINES, "video:content_loc=@/v"], ""),
    ("videos", lambda: video(player_loc="//p.example/"),
     [*VIDEO_LINES, "video:player_loc=https://p.example/"], ""),
    # A video of the page itself.
    *(("videos", lambda url=url: [*video(content_loc=url), VIDEO], EACH["videos"][1], "videos: ")
     for url in ("/2/", f"{BASE}/2/", "//www.example.com/2/")),
    ("news", None, [], ""), ("news", THE_NEWS, [*WRITTEN_NEWS, "news:title=Title"], ""),
    ("news", lambda: News("The Times", "en", NOW - timedelta(days=2), "Old"), [], ""),
    *(("news", bad, [], "news: ") for bad in ([THE_NEWS], 5, "news", IMAGE, False, lambda: 1 / 0)),
    ("news", lambda: News("The Times", "en", NOW, ""), [],
     "news: ValueError: News.title must not be empty"),
    *(("shop", nothing, [], "") for nothing in ("", " \n", "<!-- -->", None)),
    ("shop", "<shop:a>1</shop:a><shop:b/>", ["shop:a=1", "shop:b="], ""),
    ("shop", f'<x:a xmlns:x="{SHOP}">1</x:a>', ["shop:a=1"], ""),
    ("shop", "<shop:a>", [], "shop: ValueError: the XML is not well-formed"),
    ("shop", "</url><url><loc>https://evil.example/</loc></url>", [],
     "shop: ValueError: the XML is not well-formed"),
    ("shop", "<loc>https://evil.example/</loc>", [], "shop: ValueError: the element loc of"),
    ("shop", "<shop:a>\x00</shop:a>", [], "shop: ValueError: the XML contains"),
    ("shop", 5, [], "shop: ValueError: the XML must be a string"),
    ("shop", lambda: 1 / 0, [], "shop: ZeroDivisionError"),
    # Links of an item in one language.
    ("alternates", several(("de", "/ü"), ("x-default", "//a.b/?a&b")),
     ["en=@/2/", "de=@/%C3%BC", "x-default=https://a.b/?a&b"], ""),
    ("alternates", [["EN_us", "/2/"], Alternate("de", "https://a.de/")], ["en-US=@/2/", "de=https://a.de/"],
     ""),
    ("alternates", [("en", f"{BASE}/2/")], ["en=@/2/"], ""),
    ("alternates", [("en", "HTTPS://WWW.example.COM/%32/")], [],
     "alternates: ValueError: the links do not include"),
    ("alternates", [("de", "/other/"), ("fr", "https://a.fr/")], [],
     "alternates: ValueError: the links do not include"),
    ("alternates", several(("EN", "/other/")), [],
     "alternates: ValueError: the links contain the language 'en' more than once"),
    ("alternates", several(("x-default", "/"), ("X-Default", "/")), [],
     "alternates: ValueError: the links contain the language 'x-default' more"),
    ("alternates", several(("de", "other/")), [], "alternates: ValueError: 'other/' is neither a path"),
    ("alternates", several(("de", None)), [], "alternates: ValueError: None is neither text"),
    *(("alternates", several((code, "/c/")), [], "alternates: ValueError: ")
     for code in ("ca-valencia", "", None)),
    ("alternates", several("de"), [], "alternates: TypeError: 'de' is not an Alternate"),
    ("alternates", several(("de", "/c/", 1)), [], "alternates: ValueError: too many values"),
    ("alternates", several(None), [], "alternates: TypeError: cannot unpack"),
    *((hook, lambda: 1 / 0, [], f"{hook}: ZeroDivisionError")
      for hook in ("lastmod", "changefreq", "priority")),
    ("location", "//evil.example/", None, "location: "),
    ("location", ".evil.example/", None, "location: "),
    ("location", mark_safe("&period;evil.example/"), None, "location: "),
]  # fmt: skip


@pytest.mark.parametrize("way", EACH_WAY)
@pytest.mark.parametrize(
    ("hook", "value", "written", "error"), VALUES, ids=map("{0[0]}".format, zip(range(len(VALUES))))
)
def test_a_value_is_written_or_skipped_and_reported_once(way, hook, value, written, error):
    found, errors = EACH_WAY[way](section_of(hook, value))
    others = [Entry("/1/"), Entry("/3/")]
    assert (found[:1], found[-1:]) == (others[:1], others[1:])
    assert all(text.startswith(f"item 2, {error}") for text in errors), errors
    if way == "contrib":
        # It writes no other elements, so these are not even checked.
        written = written and [line for line in written if ":" not in line.partition("=")[0]]
        assert len(errors) <= bool(error)
    else:
        assert len(errors) == bool(error), errors
    assert [lines(entry) for entry in found[1:-1]] == ([] if written is None else [written])


#: Values of the protocol's own elements. Contrib's pages write any text, and raise the errors of hooks.
CORE = [
    ("priority", 1.5, "", ["priority=1.5"]), ("priority", "high", "", ["priority=high"]),
    ("changefreq", "often", "", ["changefreq=often"]),
    ("location", lambda: 1 / 0, "ZeroDivisionError", "division by zero"), ("location", None, "", ...),
]  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("hook", "value", "reason", "on_django"), CORE, ids=range(len(CORE)))
def test_an_invalid_element_of_the_protocol_is_as_contrib_has_it_on_its_pages(
    way, hook, value, reason, on_django
):
    found, errors = EACH_WAY[way](section_of(hook, value))
    if way not in DJANGOS:
        assert [lines(entry) for entry in found] == [[], [], []][hook == "location" :]
        assert [error.startswith(f"item 2, {hook}: {reason}") for error in errors] == [True]
    elif isinstance(on_django, str):
        assert (found, errors) == ([], [on_django])
    elif on_django is ...:
        # Contrib writes its host with "None" at the end.
        assert way == "contrib" or [entry.path for entry in found] == ["/1/", "/3/"]
    else:
        assert ([lines(entry) for entry in found], errors) == ([[], on_django, []], [])


KNOWN = [
    ("lastmod", datetime(2026, 7, 1, 12, 30, 15, 999_999, tzinfo=UTC), "2026-07-01T12:30:15Z"),
    ("lastmod", datetime(2026, 7, 1, 12, tzinfo=ZoneInfo("America/New_York")), "2026-07-01T16:00:00Z"),
    ("lastmod", datetime(2026, 7, 1, 12), "2026-07-01T10:00:00Z"),
    ("lastmod", datetime(2026, 1, 1), "2025-12-31T23:00:00Z"), ("lastmod", date(2026, 7, 1), "2026-07-01"),
    ("lastmod", None, None), ("priority", 0.5, "0.5"), ("priority", 1, "1"), ("priority", None, None),
    ("changefreq", "weekly", "weekly"), ("changefreq", "", None),
]  # fmt: skip


@pytest.mark.parametrize("way", EACH_WAY)
@pytest.mark.parametrize(("field", "value", "text"), KNOWN)
@pytest.mark.filterwarnings("ignore:DateTimeField .* received a naive datetime")
def test_a_constant_a_column_and_a_method_write_a_value_the_same_way(way, field, value, text):
    ArticleFactory(slug="a")
    column = Value(value) if value is not None else Value(None, output_field=DateTimeField())
    for given in (value, column, lambda self, item: value):
        section = declare(model=Article, **{"location": Route("article", slug=F("slug")), field: given})
        assert EACH_WAY[way](section) == ([Entry("/articles/a/")._replace(**{field: text})], [])


CODES = ("en", "de", "pt-br")


def of_second(value, other=None):
    """Return a hook with this value for the second item; functions are called."""
    return lambda self, item: (value() if callable(value) else value) if item == 2 else other


def linked(*codes, more=(), **others):
    """Return the entries of the second item in languages that are linked to each other."""
    written = [f"{code.replace('-br', '-BR')}=@/{code}/2/" for code in codes]
    return {f"/{code}/2/": [*written, *more] for code in codes} | others


def x_default(value):
    return {"alternates": True, "x_default": of_second(value, other=True)}


def languages(value, **attributes):
    return {"get_languages_for_item": of_second(value, other=["de"]), **attributes}


def own(*pairs, **attributes):
    return {"alternates": of_second([*pairs], other=[]), **attributes}


def not_translated():
    raise LookupError("not translated")


def without_german(self, item):
    return not_translated() if (item, get_language()) == (2, "de") else in_language(self, item)


FR, BARE, ANY = (
    ("fr", "https://a.fr/"), {f"/{code}/2/": [] for code in CODES}, {"alternates": True, "x_default": True},
)  # fmt: skip
MORE_THAN_ONCE = "item 2, alternates: ValueError: the links contain the language"
#: Attributes of a section, the entries of its second item, and the beginning of the error.
LANGUAGES = [
    ({}, BARE, ""), ({"x_default": True}, BARE, ""),
    ({"alternates": True}, linked(*CODES), ""), (ANY, linked(*CODES, more=["x-default=@/2/"]), ""),
    *((x_default(value), linked(*CODES), "") for value in (False, None, "")),
    (x_default(True), linked(*CODES, more=["x-default=@/2/"]), ""),
    (x_default("/start/"), linked(*CODES, more=["x-default=@/start/"]), ""),
    (x_default("/ü b"), linked(*CODES, more=["x-default=@/%C3%BC%20b"]), ""),
    (x_default("https://a.b/x"), linked(*CODES, more=["x-default=https://a.b/x"]), ""),
    (x_default("http://bücher.a"), linked(*CODES, more=["x-default=http://xn--bcher-kva.a/"]), ""),
    *((x_default(value), linked(*CODES), "item 2, x_default: ")
     for value in ("start", 1, "https://u@x.a/", "/a#b", "/\ud800", f"/{'a' * 2047}", not_translated)),
    # Without the default language, there is no URL for all others.
    ({**x_default(True), "languages": ["de"]}, linked("de"), ""),
    (languages(["de"], **ANY), linked("de"), ""),
    (languages(["en", "de"], **ANY), linked("en", "de", more=["x-default=@/2/"]), ""),
    (languages(["fr"], **ANY), linked("fr"), ""), (languages([], **ANY), {}, ""),
    *((languages(lambda kind=kind: kind(["de", "en"])), {"/en/2/": [], "/de/2/": []}, "")
     for kind in (set, iter)),
    # Links of a method are added to those of the languages.
    (own(FR), linked(*CODES, more=["fr=https://a.fr/"]), ""),
    (own(FR, ("de", "https://a.de/")), linked(*CODES), MORE_THAN_ONCE),
    (own(FR, ("pt_BR", "https://a.br/")), linked(*CODES), MORE_THAN_ONCE),
    (own(FR, ("x-default", "https://a.b/"), x_default=True), linked(*CODES, more=["x-default=@/2/"]),
     MORE_THAN_ONCE),
]  # fmt: skip
#: The same, where contrib's pages raise the error or list what no reader knows.
ONLY_OURS = [
    *((languages(value), {}, "item 2, languages: ")
     for value in (None, 7, ["de", None], ["a b"], [""], ["<>"])),
    ({"alternates": True, "location": without_german}, linked("en", "pt-br"),
     "item 2, location: LookupError"),
    # No link leads to a language that hreflang cannot express, or from its entry.
    ({"languages": ["en", "ca-valencia", "de"], "alternates": True},
     {**linked("en", "de"), "/ca-valencia/2/": []}, "alternates of all items: "),
    ({"languages": ["en", "ca-valencia"], **own(FR)},
     {**linked("en", more=["fr=https://a.fr/"]), "/ca-valencia/2/": []}, "alternates of all items: "),
]  # fmt: skip
CASES = [(way, *row) for row in LANGUAGES for way in EACH_WAY]
CASES += [(way, *row) for row in ONLY_OURS for way in WAYS if way not in DJANGOS]


@pytest.mark.parametrize(("way", "attributes", "written", "error"), CASES, ids=range(len(CASES)))
def test_an_item_is_listed_in_its_languages_and_links_to_them(way, attributes, written, error):
    found, errors = EACH_WAY[way](listing([1, 2], i18n=True, **{"location": in_language, **attributes}))
    entries = {entry.path: lines(entry) for entry in found if entry.path.endswith("/2/")}
    if way in DJANGOS:
        # Each entry of an item is checked on its own, and contrib writes a code of a setting as it is.
        errors = [*dict.fromkeys(errors)]
        written = {key: [line.replace("-BR", "-br") for line in each] for key, each in written.items()}
    assert entries == written
    assert [text.startswith(error) for text in errors] == [True] * bool(error), errors


TEXT = "Fish & \"Chips\" <b>'fried'</b> & more"


class Jinja(str):
    """Like `markupsafe.Markup`, which marks strings for all template engines."""

    def __html__(self):
        return self


class Shown:
    def __init__(self, text):
        self.text = text

    def __str__(self):
        return escape(self.text)


def same(text):
    return text


#: Ways to mark text, and whether the result is a string, which a URL must be.
MARKS = {
    "escape": (escape, True), "format_html": (lambda text: format_html("{}", text), True),
    "jinja": (lambda text: Jinja(html.escape(text)), True), "lazy": (lazy(escape, SafeString), False),
    "lazy str": (lazy(escape, str), False), "str": (Shown, False),
}  # fmt: skip


def marked(mark, mark_url):
    address, place = mark_url("/a/?a=1&copy=2&lt;"), mark_url("/v/?a&b")
    names = {name: mark(TEXT) for name in ("caption", "geo_location", "title")}
    rules = {"platform": Platform("allow", [mark("web")]), "restriction": Restriction("deny", [mark("AT")])}
    places = {"content_loc": place, "player_loc": place, "uploader_info": place}
    text = {"tags": [mark(TEXT), mark("b")], "uploader": mark(TEXT)}
    links = [Alternate("de", mark_url("/de/?a&b")), Alternate("en", address)]
    own = Extension(mark("shop"), mark(AND), lambda item: "<shop:a>&amp;</shop:a>")
    return listing(
        [1, 2], changefreq=mark_url("daily"), priority=mark_url("0.5"), extensions=(own,),
        location=lambda self, item: address if item == 1 else "/b/",
        alternates=lambda self, item: links if item == 1 else [],
        images=lambda self, item: [Image(address, license=address, **names)],
        videos=lambda self, item: [Video(place, mark(TEXT), mark(TEXT), **places, **text, **rules)],
        news=lambda self, item: News(mark(TEXT), mark("en"), NOW, mark(TEXT)),
    )  # fmt: skip


@pytest.mark.parametrize("way", EACH_WAY)
@pytest.mark.parametrize("name", MARKS)
def test_marked_text_is_written_as_the_text_itself(way, name):
    mark, is_str = MARKS[name]
    found = EACH_WAY[way](marked(mark, mark if is_str else same))
    assert found == EACH_WAY[way](marked(same, same))
    written = lines(found[0][0])
    assert way == "contrib" or {f"image:caption={TEXT}", f"news:title={TEXT}", "shop:a=&"} <= {*written}


@pytest.mark.parametrize("way", [way for way in EACH_WAY if way != "contrib"])
@pytest.mark.parametrize(
    ("text", "written"),
    [("<b>", "<b>"), ("a & b &amp b", "a & b &amp b"), ("?a=1&copy=2", "?a=1&copy=2"),
     ("&eacute;&nbsp;&eacute;", "é\xa0é"), ("&unknown;", "&unknown;"),
     ("&#39;&#x27;&lt;loc&gt;", "''<loc>"), ("a&#0;&#1;b", "a\ufffdb"), ("&amp;amp;", "&amp;"),
     ("]]>&#xD800;", "]]>\ufffd")],
)  # fmt: skip
def test_no_marked_text_becomes_markup(way, text, written):
    title = News(mark_safe(text), "en", NOW, mark_safe(text))  # noqa: S308
    found, errors = EACH_WAY[way](listing([1], news=lambda self, item: title))
    assert (lines(found[0])[-1], errors) == (f"news:title={written}", [])


def test_of_too_many_images_the_first_ones_are_written_and_an_item_is_named_once():
    images = [Image(f"/{number}.png") for number in range(1_001)]
    [found], [error] = WAYS["native"](listing([1], images=lambda self, item: images))
    assert lines(found) == [f"image:loc=@/{number}.png" for number in range(1_000)]
    assert error.startswith("item 1, images: ")
    wrong = lambda self, item: 5 if item == 2 else []  # noqa: E731
    found, errors = WAYS["native"](listing([1, 2], i18n=True, images=wrong))
    assert (len(found), [error.partition(": ")[0] for error in errors]) == (6, ["item 2, images"])


@pytest.mark.parametrize("prefix", ["alternates", "images", "videos"])
def test_an_extension_may_have_the_name_of_a_hook_for_a_prefix(prefix):
    own = Extension(prefix, SHOP, lambda item: f"<{prefix}:a/>")
    found, errors = WAYS["native"](listing([1], extensions=[own]))
    assert ([lines(entry) for entry in found], errors) == ([["shop:a="]], [])


@pytest.mark.parametrize("space", [" ", "\u3000", "\u2028"])
def test_space_around_the_url_of_an_image_does_not_change_it(space):
    image = [Image(f"{space}https://cdn.example.net/a.png")]
    [found], errors = WAYS["native"](listing([1], images=lambda self, item: image))
    assert lines(found) == ["image:loc=https://cdn.example.net/a.png"] * (1 - len(errors))


LINKS = [("en", "https://a.example/1/"), ("de", "https://www.example.de/")]


@pytest.mark.parametrize("declared", [
    # Links that do not name the item, and the video of the page itself.
    {"alternates": lambda self, item: LINKS},
    {"videos": lambda self, item: video(content_loc="https://b.example/1/")},
])  # fmt: skip
def test_the_page_itself_is_that_of_its_host(folder, declared):
    """Links and videos are skipped on the host where they are invalid, and on no other."""
    hosts = {f"{name}.example": folder / f"{name}.example" for name in "ab"}
    sections = {"x": listing([1], **declared)}
    export_hosts([f"https://{host}" for host in hosts], output=folder, sitemaps=sections)
    pages = {host: unpacked(path)["sitemap-x-1.xml.gz"] for host, path in hosts.items()}
    assert [texts(page, "loc") for page in pages.values()] == [[f"https://{host}/1/"] for host in hosts]
    assert [b"www.example.de" in page or b"video:video" in page for page in pages.values()] == [True, False]


def test_an_export_counts_what_is_skipped_once_and_a_text_file_is_complete_without_it(folder):
    """If a page is cut, several rows are read twice."""
    images = lambda self, item: [None, None] if item == 2 else []  # noqa: E731
    [found] = export(output=folder, sitemaps={"x": listing([1, 2, 3], images=images)}).sections
    assert (found.skipped_items, found.skipped_elements, found.failure) == (0, 1, None)
    text = listing([1, 2, 3], images=images, format="text")
    report = export(output=folder, sitemaps={"x": text}, strict=True)
    assert (report.published, report.sections[0].errors) == (True, ())


def test_an_export_counts_what_is_skipped_through_get_urls(folder):
    bad = through_get_urls(section_of("lastmod", lambda: 1 / 0))
    report = export(output=folder, sitemaps={"x": bad}, strict=True)
    [found] = report.sections
    assert (found.skipped_items, found.skipped_elements, found.failure) == (0, 1, None)
    assert ([error.field for error in found.errors], report.published) == (["lastmod"], False)
