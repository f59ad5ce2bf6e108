"""The documentation of features: each snippet is run in the project that the pages describe."""

from __future__ import annotations

import copy
import gzip
import inspect
import logging.config
import re
import shlex
import shutil
import subprocess
import sys
from ast import literal_eval
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from importlib import import_module
from types import ModuleType
from typing import NamedTuple

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.contrib.sites.models import Site
from django.core import checks
from django.core.cache import caches
from django.db import connection
from django.db.models import F
from django.db.models.signals import post_delete, post_save
from django.http import HttpResponse
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import include, path, reverse
from django.views.generic import RedirectView
from lxml import etree

import django_sitemaps09
import tests.shop
from django_sitemaps09 import ModelSitemap, StaticViewSitemap, register
from django_sitemaps09.export import UrlChange, export
from django_sitemaps09.signals import published
from django_sitemaps09.tools.audit import audit
from django_sitemaps09.tools.inspector import PERMISSION
from django_sitemaps09.tools.inspector.exported_files import MAX_FILES
from django_sitemaps09.tools.inspector.lookup import HEADINGS
from tests.docs.pages import PAGES, README, run, take
from tests.shop import models
from tests.shop.models import Article, Category, Film, Photo, Product, Review
from tests.support.checking import registry
from tests.support.commands import failed, said
from tests.support.inspector import client_of, site, superuser
from tests.support.internals import MAX_RUNS, conf, index_document, sections, stylesheet
from tests.support.search_engines import KEY, engine
from tests.support.sections import declare
from tests.support.services import missing, require_packages
from tests.support.site_files import DUPLICATE, sound, write
from tests.support.writing import schemas

__all__ = ["engine", "registry"]

BASE = "https://www.example.com"
CAN = f"{BASE}/garden/watering-can/"
MOMENT = datetime(2026, 11, 19, 8, 15, tzinfo=timezone.utc)
SPACES = {
    "s": "http://www.sitemaps.org/schemas/sitemap/0.9",
    "xhtml": "http://www.w3.org/1999/xhtml",
    "image": "http://www.google.com/schemas/sitemap-image/1.1",
    "video": "http://www.google.com/schemas/sitemap-video/1.1",
    "news": "http://www.google.com/schemas/sitemap-news/0.9",
    "shop": "https://www.example.com/schemas/shop/1.0",
}
QUICK_START = ("README.md", "Quick start")
SETTINGS, SITEMAP, URLS = (take(*QUICK_START, number) for number in range(3))
PRODUCTS = "sitemap-products-1.xml.gz"
PATHS = {"article": "articles/<slug:slug>/", "home": "", "about": "about/", "imprint": "imprint/"}
PATHS["product-detail"] = "<slug:category>/<slug:slug>/"
PATTERNS = [path(text, lambda request, **kwargs: HttpResponse(), name=name) for name, text in PATHS.items()]
PRODUCT = PATTERNS[-1]


def block_of(page, heading, number=0):
    """Pass a block of Python to a test, which has to run it."""
    return pytest.mark.parametrize("snippet", [row(page, heading, number)])


def row(page, heading, number=0, more=()):
    block = take(page, heading, number)
    return pytest.param(block, *more, id=str(block))


class Shown(NamedTuple):
    content: bytes
    urls: list[str]

    def find(self, *queries):
        root = etree.fromstring(self.content)
        return [str(each) for query in queries for each in root.xpath(f"s:url/{query}", namespaces=SPACES)]


def shown(content):
    root = etree.fromstring(content)
    known = copy.deepcopy(root)
    # The protocol allows elements of other namespaces if their schemas are available. The shop has none.
    etree.strip_elements(known, f"{{{SPACES['shop']}}}*")
    schemas().assertValid(known)
    return Shown(content, list(map(str, root.xpath("*/s:loc/text()", namespaces=SPACES))))


def live(address, **headers):
    response = Client().get(address, **headers)
    assert response.status_code == 200
    content = b"".join(response) if response.streaming else response.content
    return gzip.decompress(content) if address.endswith(".gz") else content


def checked():
    return [str(message) for message in checks.run_checks(databases=["default"])]


def declared(body="pass"):
    space = {**vars(django_sitemaps09), "F": F, "Product": Product}
    exec(f"class Declared(ModelSitemap):\n    model = Product\n    {body}\n", space)  # noqa: S102 our own
    assert issubclass(space["Declared"], ModelSitemap)
    return space["Declared"]


def inline(page, start):
    [found] = {code for code in re.findall(r"`([^`\n]+)`", PAGES[page]) if code.startswith(start)}
    return found


@pytest.fixture(autouse=True)
def _project(registry, settings, monkeypatch, tmp_path, use_urls):
    """Use the quick start's settings and URLs, and let snippets import the test app as `shop`."""
    monkeypatch.setattr(sections, "_modules", {})
    monkeypatch.setattr(sections, "_discovered", True)
    package = ModuleType("shop")
    package.__path__ = []
    monkeypatch.setitem(sys.modules, "shop", package)
    monkeypatch.setitem(sys.modules, "shop.models", models)
    settings.SITEMAPS09, settings.MEDIA_URL = run(SETTINGS, BASE_DIR=tmp_path).SITEMAPS09, "/media/"
    use_urls(*run(URLS).urlpatterns, *PATTERNS)
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "shop"]:
        del sys.modules[name]


@pytest.fixture
def use_urls(settings):
    def change(*patterns):
        settings.ROOT_URLCONF = patterns

    return change


@pytest.fixture
def can(db):
    category, price = Category.objects.create(slug="garden"), Decimal("19.90")
    return Product.objects.create(category=category, slug="watering-can", updated_at=MOMENT, price=price)


@pytest.fixture
def both(folder):
    """Return page 1 of a section, and check that the live and the exported page are the same."""

    def read(name, sitemap=None):
        if sitemap is not None:
            register(name, sitemap)
        assert checked() == []
        served = live(f"/sitemap-{name}-1.xml")
        assert live(f"/sitemap-{name}-1.xml.gz") == served
        report = export(output=folder)
        errors = [section.errors for section in report.sections if section.errors]
        assert (report.failures, report.warnings, errors) == ([], [], [])
        assert gzip.decompress((folder / f"sitemap-{name}-1.xml.gz").read_bytes()) == served
        # The page map of the export differs from that of the rows, but the documents do not.
        assert live(f"/sitemap-{name}-1.xml") == served
        return shown(served)

    return read


CONTRIB = "docs/howto/from-contrib.md"
INDEX, PAGE = (take(*QUICK_START, number, "xml").text.encode() for number in (0, 1))
SUGGESTED = take(CONTRIB, "Replace methods with columns")
SUGGESTIONS = take(CONTRIB, "Replace methods with columns", language="text").text


def test_the_quick_start_passes_the_checks_and_produces_the_index_and_the_page(
    can, both, folder, tmp_path, monkeypatch, settings, use_urls
):
    others = [app for app in settings.INSTALLED_APPS if app != "django_sitemaps09"]
    settings.INSTALLED_APPS = [*others, *run(SETTINGS, BASE_DIR=tmp_path).INSTALLED_APPS]
    use_urls(*run(URLS).urlpatterns, PRODUCT)
    Product.objects.create(category=can.category, slug="secret", published=False, updated_at=MOMENT)
    # The app has that module now.
    (tmp_path / "sitemaps.py").write_text(SITEMAP.text)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(tests.shop, "__path__", [*tests.shop.__path__, str(tmp_path)])
    monkeypatch.setattr(sections, "_discovered", False)
    try:
        assert (str(conf.base_url), live(reverse("django_sitemaps09:index"))) == (BASE, INDEX)
        assert both("products").content == PAGE
    finally:
        sys.modules.pop("tests.shop.sitemaps", None)
    assert (folder / "sitemap.xml").read_bytes() == INDEX == live("/sitemap.xml")
    assert shown(INDEX).urls == [f"{BASE}/{PRODUCTS}"]
    assert f"Sitemap: {BASE}/sitemap.xml" in live("/robots.txt").decode().splitlines()
    assert [*sections.registered()] == ["products"]


def test_the_command_of_the_quick_start_writes_the_same_documents(can, folder, monkeypatch, tmp_path):
    [command] = re.findall(r"`manage\.py (export_sitemaps)` writes the same documents", README)
    run(SITEMAP)
    monkeypatch.chdir(tmp_path)
    said(command)
    written = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    written[PRODUCTS] = gzip.decompress(written[PRODUCTS])
    assert written == {"sitemap.xml": INDEX, PRODUCTS: PAGE}


@block_of("docs/reference/settings.md", "Settings")
@pytest.mark.parametrize(("flag", "base"), [("", "http://localhost:8000"), ("1", BASE)])
def test_only_production_has_urls_and_submits(snippet, can, settings, flag, base, monkeypatch, tmp_path):
    monkeypatch.setenv("DJANGO_PRODUCTION", flag)
    monkeypatch.setenv("INDEXNOW_KEY", "0123456789abcdef")
    settings.SITEMAPS09 = run(snippet, BASE_DIR=tmp_path).SITEMAPS09
    assert conf.submit == bool(flag)
    # The site of this test also has the view robots_txt.
    assert [each for each in checked() if "W094" not in each] == []
    Site.objects.update(domain="localhost:8000")
    Site.objects.clear_cache()
    register("products", declared())
    assert shown(live("/sitemap.xml")).urls == [f"{base}/sitemap-products-1.xml.gz"]


@block_of(CONTRIB, "Add the native views")
def test_old_pages_stay_or_are_redirected(snippet, can, use_urls, settings, both, monkeypatch):
    module = ModuleType("shop.sitemaps")
    module.sitemaps = {"products": declared()}
    monkeypatch.setitem(sys.modules, "shop.sitemaps", module)
    use_urls(*run(snippet).urlpatterns, PRODUCT)
    assert checked() == []
    old = reverse("django.contrib.sitemaps.views.sitemap", kwargs={"section": "products"})
    paths = (old, "/sitemap-products-1.xml", "/sitemap.xml")
    assert old == "/sitemap-products.xml"
    assert [shown(live(path)).urls for path in paths] == [[CAN], [CAN], [f"{BASE}/{PRODUCTS}"]]
    [pattern] = re.findall(r'^`(path\("sitemap-<section>.+)`', PAGES[CONTRIB], re.MULTILINE)
    redirect = eval(pattern, {"path": path, "RedirectView": RedirectView})  # noqa: S307 our own
    use_urls(path("", include("django_sitemaps09.urls")), redirect, PRODUCT)
    response = Client().get(old)
    assert (response.status_code, response.headers["Location"]) == (301, "/sitemap.xml")
    # An export and the views find the dict that the setting names.
    setting = inline(CONTRIB, '"SITEMAPS": ')
    settings.SITEMAPS09 = {"BASE_URL": BASE, **literal_eval(f"{{{setting}}}")}
    assert both("products").urls == [CAN]


def test_the_columns_of_the_example_are_suggested(can, monkeypatch, tmp_path):
    """The command reads the source of the class, so the block becomes a file."""
    (tmp_path / "shop_sitemaps.py").write_text(SUGGESTED.text)
    monkeypatch.syspath_prepend(tmp_path)
    register("products", import_module("shop_sitemaps").Products)
    del sys.modules["shop_sitemaps"]
    assert said("suggest_sitemaps") == (SUGGESTIONS, "")


@block_of("docs/reference/commands.md", "`manage.py suggest_sitemaps [section ...]`")
def test_suggestions_can_be_used_in_python(snippet, can):
    class Daily(ModelSitemap):
        model = Product

        def changefreq(self, item):
            return "daily"

    register("products", Daily)
    assert 'changefreq = "daily"' in run(snippet).suggestions["products"]


@pytest.mark.parametrize("module", ["", ".views"])
def test_names_of_contrib_exist_here_too(module):
    theirs = import_module(f"django.contrib.sitemaps{module}")
    own = {
        name
        for name, value in vars(theirs).items()
        if name[0] != "_" and getattr(value, "__module__", None) == theirs.__name__ and callable(value)
    }
    assert own >= ({"index", "sitemap"} if module else {"Sitemap", "GenericSitemap"})
    assert own - {*dir(import_module(f"django_sitemaps09{module}"))} == set()


REFERENCE, ELEMENTS = "docs/reference/sitemaps.md", "docs/howto/media.md"
LANGUAGES = ("docs/howto/languages.md", "Languages")
MEDIA = ("docs/howto/media.md", "Images and videos")
HOSTS_PAGE = "docs/howto/hosts.md"
HOST_ROWS = ("Choose rows and locations by host", "Rows that belong to a site")
EXPORT_HOSTS = take(HOSTS_PAGE, "Export for several hosts", language="sh")
IN_LANGUAGES, WITH_MEDIA = (take(*place, language="xml").text.encode() for place in (LANGUAGES, MEDIA))
HOSTS = {"www.example.com": ["english", "both"], "www.example.de": ["german", "both"]}

LOC, LASTMOD, CHANGEFREQ = "s:loc/text()", "s:lastmod/text()", "s:changefreq/text()"
PRICE, IMAGE = ["shop:price/@*", "shop:price/text()"], "image:image/image:loc/text()"
RULES = f"{inline(MEDIA[0], 'restriction=')}, {inline(MEDIA[0], 'platform=')}"
VIDEO = f'videos = lambda self, item: [Video("/a.png", "A", "B", player_loc="/player", {RULES})]'
NAMES = literal_eval(inline(REFERENCE, "viewnames = ").partition(" = ")[2])


@pytest.mark.parametrize(("line", "query", "found"), [
    (inline(REFERENCE, "def location(self, item):"), LOC, [CAN]),
    (inline(REFERENCE, "lastmod = F("), LASTMOD, ["2026-11-19T08:15:00Z"]),
    (inline(REFERENCE, "changefreq = "), CHANGEFREQ, ["weekly"]),
    ("images = lambda self, item: [Image('can.jpg')]", IMAGE, [f"{BASE}/media/can.jpg"]),
    (VIDEO, "video:video/video:restriction/text()", ["DE AT"]),
    (VIDEO, "video:video/video:platform/text()", ["tv"]),
    (VIDEO, "video:video/*/@relationship", ["allow", "deny"]),
    (declare(StaticViewSitemap, viewnames=NAMES), LOC, [f"{BASE}/", f"{BASE}/about/"]),
])  # fmt: skip
def test_a_class_with_a_line_of_the_page_gives_what_the_page_says(line, query, found, can, both):
    assert sorted(both("products", declared(line) if isinstance(line, str) else line).find(query)) == found


@block_of(*LANGUAGES)
def test_languages_give_the_document_shown(snippet, can, both, use_urls):
    use_urls(path("", include("django_sitemaps09.urls")), *i18n_patterns(PRODUCT))
    assert both("products", run(snippet).ProductSitemap).content == IN_LANGUAGES


GERMAN = "https://www.example.de/garden/watering-can/"
LINKS = ["alternate", "en", CAN, "alternate", "de", GERMAN]
OTHERS = (LANGUAGES[0], "Link to other hosts or models")
BLOGS = ["https://blog.example.com/", "https://shop.example.com/", f"{BASE}/blog/"]
ARTICLE = [f"{BASE}/articles/news/", "weekly", "2026-11-19T08:15:00Z"]


@pytest.mark.parametrize(("snippet", "name", "queries", "found"), [
    row(*OTHERS, more=["ProductSitemap", [LOC, "xhtml:link/@*"], [CAN, *LINKS]]),
    row(ELEMENTS, "Elements of your own", more=["ProductSitemap", PRICE, ["EUR", "19.90"]]),
    row(REFERENCE, "PathTemplate", more=["GuideSitemap", [LOC], [f"{BASE}/guides{CAN[len(BASE) :]}"]]),
    row(REFERENCE, "Classes and hooks", more=["ArticleSitemap", [LOC, CHANGEFREQ, LASTMOD], ARTICLE]),
    row(HOSTS_PAGE, "URLs on other hosts", more=["BlogSitemap", [LOC], BLOGS]),
])  # fmt: skip
def test_the_section_of_a_page_lists_what_the_page_says(snippet, name, queries, found, can, both):
    Article.objects.create(slug="news", title="News", published_at=MOMENT)
    assert both("section", getattr(run(snippet), name)).find(*queries) == found


@block_of(*MEDIA)
def test_images_and_videos_give_the_document_shown(snippet, can, both):
    Photo.objects.create(product=can, file="can.jpg")
    texts = {"title": "Watering", "summary": "How to water & what not to."}
    Film.objects.create(product=can, still="can.png", file="can.mp4", length=90, **texts)
    assert both("products", run(snippet).ProductSitemap).content == WITH_MEDIA


@block_of(MEDIA[0], "News")
def test_news_are_the_articles_of_two_days_the_newest_first(snippet, db, both):
    now = datetime.now(timezone.utc).replace(microsecond=0)
    for slug, age in {"yesterday": 30, "last-week": 7 * 24, "today": 1, "hidden": 2}.items():
        fields = {"title": f"{slug} & more", "public": slug != "hidden"}
        Article.objects.create(slug=slug, published_at=now - timedelta(hours=age), **fields)
    run(snippet)
    page = both("news")
    names = ("publication/news:name", "publication/news:language", "publication_date", "title")
    assert page.urls == [f"{BASE}/articles/today/", f"{BASE}/articles/yesterday/"]
    assert [page.find(f"news:news/news:{name}/text()") for name in names] == [
        ["The Example Times"] * 2,
        ["en"] * 2,
        [f"{now - timedelta(hours=age):%Y-%m-%dT%H:%M:%SZ}" for age in (1, 30)],
        ["today & more", "yesterday & more"],
    ]


def test_a_text_page_has_one_url_on_each_line(can):
    register("products", declared(inline(ELEMENTS, "format = ")))
    assert live("/sitemap-products-1.txt") == f"{CAN}\n".encode()


@block_of("docs/howto/large-sites.md", "Keep a date of related rows as a column")
def test_a_column_keeps_the_newest_date_of_related_rows(snippet, can, both):
    receive, section = run(snippet).update_reviewed_at, declare(model=Product, lastmod=F("reviewed_at"))
    try:
        days = [Review.objects.create(product=can, created_at=MOMENT + timedelta(day)) for day in (3, 9, 5)]
        assert both("before", section).find(LASTMOD) == ["2026-11-28T08:15:00Z"]
        days[1].delete()
        assert both("after", section).find(LASTMOD) == ["2026-11-24T08:15:00Z"]
    finally:
        for signal in (post_save, post_delete):
            signal.disconnect(receive, sender=Review)


DATES = ("docs/howto/dates.md", "Dates of static pages")
BUILD = take(*DATES, language="sh").text


@block_of(*DATES)
@pytest.mark.services
def test_static_pages_have_dates_of_rows_and_commits(snippet, db, both, settings, tmp_path):
    if shutil.which("git") is None:
        missing("git is not installed")
    settings.BASE_DIR = tmp_path / "site"
    (settings.BASE_DIR / "templates").mkdir(parents=True)

    def shell(script, folder=settings.BASE_DIR):
        return subprocess.run(["/bin/sh", "-c", script], cwd=folder, timeout=30).returncode  # noqa: S603

    shell("git init -q; git config user.name x; git config user.email x; touch templates/imprint.html")
    for day in (2, 3):
        Article.objects.create(slug=f"a{day}", title="A", published_at=MOMENT + timedelta(day))
        commit = f"GIT_COMMITTER_DATE=2026-11-0{day}T08:00:00+01:00 git commit -qm x"
        assert shell(f"echo {day} > templates/about.html; git add templates; {commit}") == 0
        assert shell(BUILD) == 0
        sections._registered.pop("pages", None)
        section = run(snippet)
        dates = [f"2026-11-{19 + day}T08:15:00Z", f"2026-11-0{day}T07:00:00Z", "2026-11-02T07:00:00Z"]
        assert both(f"pages{day}", section.PageSitemap).find(LASTMOD) == dates
    with CaptureQueriesContext(connection) as queries:
        live("/sitemap-pages3-1.xml")
    assert len(queries) == 2
    assert shell(f"git clone -q --depth 1 file://{settings.BASE_DIR} shallow", tmp_path) == 0
    assert (shell(BUILD, tmp_path / "shallow"), [*tmp_path.glob("shallow/*.json")]) == (1, [])


@pytest.fixture
def _articles(db, settings):
    settings.SITEMAPS09 = {}
    Site.objects.all().delete()
    Site.objects.clear_cache()
    found = [Site.objects.create(domain=host, name=host) for host in HOSTS]
    for slug, places in {"english": found[:1], "german": found[1:], "both": found}.items():
        Article.objects.create(slug=slug, title=slug, published_at=MOMENT).sites.set(places)
    yield
    Site.objects.clear_cache()


@pytest.mark.usefixtures("_articles")
@pytest.mark.parametrize("snippet", [row(HOSTS_PAGE, heading) for heading in HOST_ROWS])
def test_a_host_lists_its_own_rows_live_and_exported(snippet, can, tmp_path, folder, monkeypatch, settings):
    del settings.SITE_ID
    register("articles", run(snippet).ArticleSitemap)
    assert checked() == []
    for host, slugs in HOSTS.items():
        page = shown(live("/sitemap-articles-1.xml", headers={"host": host}))
        assert page.urls == [f"http://{host}/articles/{slug}/" for slug in slugs]
    run(SITEMAP)
    program, *arguments = shlex.split(EXPORT_HOSTS.text.replace("\\\n", ""))
    assert (program, "public/{host}/robots.txt" in arguments) == ("manage.py", True)
    monkeypatch.chdir(tmp_path)
    said(*arguments)
    assert {path.name for path in folder.iterdir() if not path.name.startswith(".")} == {*HOSTS}
    for host, slugs in HOSTS.items():
        base = f"https://{host}"
        files = {path.name: path.read_bytes() for path in (folder / host).iterdir() if path.is_file()}
        robots = files.pop("robots.txt").decode().splitlines()
        assert [line for line in robots if line.startswith("Sitemap")] == [f"Sitemap: {base}/sitemap.xml"]
        packed = {name: gzip.decompress(files[name]) for name in files if name.endswith(".gz")}
        assert {name: shown(content).urls for name, content in (files | packed).items()} == {
            "sitemap.xml": [f"{base}/sitemap-articles-1.xml.gz", f"{base}/sitemap-products-1.xml.gz"],
            "sitemap-articles-1.xml.gz": [f"{base}/articles/{slug}/" for slug in slugs],
            PRODUCTS: [f"{base}/garden/watering-can/"],
        }


NOTIFYING = "docs/howto/notify.md"
S3 = ("docs/howto/s3.md", "Export to S3 and other storages")
CHECKING, INSPECTOR = "docs/howto/check.md", "docs/howto/inspector.md"
BROWSER = "docs/howto/readable-in-a-browser.md"
REDIS = "redis://127.0.0.1:6379"
HEADLESS, API_MEDIA = "docs/howto/headless.md", "https://api.example.com/media/"
AUDIT_TABLE = take(CHECKING, "Validate a sitemap", language="text").text
STYLED = take(BROWSER, "Readable in a browser", language="xml").text.encode()
ADMIN_INDEX = take(INSPECTOR, "Link to it from the admin", language="django").text


@pytest.fixture
def products(can, settings, tmp_path, monkeypatch):
    register("products", declared())
    settings.SITEMAPS09 = {"BASE_URL": BASE, "ROOT": "public"}
    monkeypatch.chdir(tmp_path)
    return tmp_path / "public"


def use(settings, module):
    found = {name: value for name, value in vars(module).items() if name.isupper()}
    for name, value in found.items():
        setattr(settings, name, {**settings.STORAGES, **value} if name == "STORAGES" else value)
    assert found
    assert checked() == []


@pytest.mark.parametrize(("snippet", "read", "value"), [
    row(*S3, more=[lambda: (str(conf.base_url), conf.state), (BASE, "private")]),
    row(S3[0], "Share a cache", more=[lambda: caches.settings["default"]["LOCATION"], REDIS]),
    row(NOTIFYING, "IndexNow", more=[lambda: conf.submit, True]),
    row(HEADLESS, "A front end on another host", 1, [lambda: conf.media_url, API_MEDIA]),
    row(NOTIFYING, "A feed of recent changes", more=[lambda: conf.feed, 1_000]),
])  # fmt: skip
def test_settings_of_a_page_pass_the_checks_and_are_read(snippet, read, value, settings, monkeypatch):
    monkeypatch.setenv("DJANGO_PRODUCTION", "1")
    use(settings, run(snippet))
    assert read() == value


@block_of("docs/howto/schedule.md", "With Django Tasks")
@pytest.mark.django_db  # Django's own check of a JSONField asks SQLite once
@pytest.mark.services
def test_the_settings_of_django_tasks_pass_the_checks(snippet, settings):
    require_packages("django_tasks_db")
    settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, "django_tasks_db"]
    use(settings, run(snippet))


@block_of(NOTIFYING, "IndexNow")
def test_the_key_of_the_settings_is_served(snippet, settings, use_urls):
    use_urls(path("", include("django_sitemaps09.urls")))
    use(settings, run(snippet))
    assert live(f"/{conf.indexnow_key}.txt") == str(conf.indexnow_key).encode()
    # The variable that the live site has is missing.
    assert not conf.submit


@block_of("docs/howto/schedule.md", "In a worker")
@pytest.mark.services
def test_the_schedule_of_celery_beat_exports(snippet, products):
    require_packages("celery")
    from django_sitemaps09 import tasks

    for entry in run(snippet).CELERY_BEAT_SCHEDULE.values():
        assert entry["task"] == tasks.export.name
        assert tasks.export(*entry.get("args", ()), **entry.get("kwargs", {}))["status"] == 0
    assert (products / "sitemap.xml").exists()


@block_of("docs/howto/schedule.md", "In a worker", 1)
@pytest.mark.services
def test_django_tasks_export(snippet, products, settings, backends):
    require_packages("django_tasks_db")
    settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, "django_tasks_db"]
    backends(default="Immediate")
    run(snippet)
    assert (products / "sitemap.xml").exists()


REPORT, VERIFY, LAST_AUDIT, NOTIFY = (
    take("docs/reference/commands.md", "Report"),
    take(CHECKING, "In Python"),
    take(CHECKING, "The last report"),
    take(NOTIFYING, "Run your own code"),
)


def test_an_export_is_called_verified_and_audited_from_python(products, capsys):
    report = run(REPORT).report
    assert (report.published, report.urls, (products / "sitemap.xml").exists()) == (True, 1, True)
    (products / PRODUCTS).unlink()
    audit(directory=products)
    capsys.readouterr()
    assert [finding.rule for finding in run(LAST_AUDIT).report.findings] == ["document-missing"]
    assert f" document-missing error 1 ('{PRODUCTS}: " in capsys.readouterr().out
    assert (run(VERIFY).result.failures, (products / PRODUCTS).exists()) == ([], True)
    assert capsys.readouterr().out.startswith(f"{PRODUCTS} it is missing")


def test_receivers_get_the_files_that_were_written_and_removed_and_the_changes(products):
    purged, changed = [], []
    receiver = run(NOTIFY, purge=purged.append).purge_changed_files
    try:
        export(changes=True, on_published=lambda event: changed.extend(event.urls()))
        export()
    finally:
        assert published.disconnect(receiver)
    assert [sorted(urls) for urls in purged] == [[f"{BASE}/{PRODUCTS}", f"{BASE}/sitemap.xml"]]
    assert changed == [UrlChange("added", "products", CAN)]


@block_of(NOTIFYING, "Submit to Google Search Console")
@pytest.mark.services
def test_a_receiver_submits_the_index_to_the_search_console(snippet, products, monkeypatch):
    require_packages("google", "responses")
    import google.auth
    import responses
    from google.auth.credentials import AnonymousCredentials

    monkeypatch.setattr(google.auth, "default", lambda scopes: (AnonymousCredentials(), None))
    receiver = run(snippet).submit_index
    address = "/sites/sc-domain%3Aexample.com/sitemaps/https%3A%2F%2Fwww.example.com%2Fsitemap.xml"
    try:
        with responses.RequestsMock() as api:
            api.put(f"https://www.googleapis.com/webmasters/v3{address}", status=204)
            assert export().warnings == []
            api.replace("PUT", api.registered()[0].url, status=403)
            Product.objects.update(slug="can")
            refused = export()
    finally:
        assert published.disconnect(receiver)
    assert (refused.published, "403" in str(refused.warnings)) == (True, True)


@block_of(REFERENCE, "Skipped items")
def test_a_file_has_the_warnings_of_the_logger_alone(snippet, products, settings):
    configured = run(snippet, BASE_DIR=products.parent).LOGGING
    logger = logging.getLogger("django_sitemaps09")
    register("broken", declared("location = '/a#b'"))
    try:
        logging.config.dictConfig(configured)
        export()
        logging.getLogger("another").warning("of another app")
    finally:
        for handler in [*logger.handlers]:
            logger.removeHandler(handler)
            handler.close()
        logger.setLevel(logging.NOTSET)
    [line, *_] = (products.parent / "sitemaps.log").read_text().splitlines()
    assert "another" not in line
    assert "/a#b" in line


@block_of(CHECKING, "In continuous integration")
def test_a_project_can_test_its_export(snippet, products):
    test = run(snippet).test_the_sitemap_is_complete
    test(None, products)
    register("broken", declared("location = '/a#b'"))
    with pytest.raises(AssertionError):
        test(None, products)


@block_of(NOTIFYING, "In Python")
def test_pending_changes_are_submitted_from_python(snippet, products, settings, engine, capsys):
    settings.SITEMAPS09 = {"BASE_URL": BASE, "INDEXNOW_KEY": KEY, "INDEXNOW_URLS": [engine.url]}
    export(output="public/", submit=True)
    Product.objects.update(slug="can")
    engine.answer(403)
    export(output="public/", submit=True)
    engine.answer(200)
    run(snippet)
    assert capsys.readouterr().out == "[('www.example.com', 2, 0)]\n"
    urls = [f"{BASE}/garden/can/", f"{BASE}/garden/watering-can/"]
    assert engine.requests[-1].document["urlList"] == urls


@pytest.mark.sitemaps09
def test_the_table_that_is_shown_is_the_one_that_is_printed(tmp_path, monkeypatch, use_urls):
    use_urls(path("", include("tests.urls")))  # It has the view of the words.
    write(tmp_path / "public", sound() | DUPLICATE)
    monkeypatch.chdir(tmp_path)
    out, *_ = failed("audit_sitemaps", "--dir=public")
    assert re.sub(r"\d+\.\d+", "N", out) == re.sub(r"\d+\.\d+", "N", AUDIT_TABLE)


@block_of(CHECKING, "In continuous integration")
def test_a_project_can_test_its_sitemaps(snippet, products, use_urls):
    use_urls(path("", include("django_sitemaps09.urls")))
    with pytest.raises(AssertionError):
        run(snippet).test_the_sitemaps_are_valid(None)


@block_of("docs/howto/robots.md", "Serve robots.txt live")
def test_a_robots_txt_is_served_with_rules(snippet, db, use_urls):
    use_urls(path("", include("django_sitemaps09.urls")), *run(snippet).urlpatterns)
    first, second, *_, last = live("/robots.txt").decode().splitlines()
    assert (first, second, last) == ("User-agent: *", "Disallow: /private/", f"Sitemap: {BASE}/sitemap.xml")


@block_of(BROWSER, "Readable in a browser")
def test_the_document_shown_is_served_and_exported_beside_the_stylesheet(snippet, settings, can, folder):
    use(settings, run(snippet))
    run(SITEMAP)
    assert export(output=folder).failures == []
    assert live("/sitemap-products-1.xml") == (folder / "sitemap-products-1.xml").read_bytes() == STYLED
    assert live("/sitemap.css") == (folder / "sitemap.css").read_bytes() == stylesheet()


@block_of(BROWSER, "Use a stylesheet of your own")
def test_a_view_in_front_of_the_include_serves_another_stylesheet(snippet, settings, use_urls, tmp_path):
    (tmp_path / "sitemap.css").write_text("url { display: block; }")
    settings.TEMPLATES = [{**settings.TEMPLATES[0], "DIRS": [tmp_path]}]
    use_urls(*run(snippet).urlpatterns)
    assert live("/sitemap.css") == b"url { display: block; }"


def test_the_documented_cost_of_the_stylesheet_is_the_length_of_the_instruction():
    plain, styled = (len(index_document([], styled=styled)) for styled in (False, True))
    assert f"{styled - plain} bytes to each document" in PAGES[BROWSER]
    assert f"{styled - plain} bytes" in PAGES["docs/reference/settings.md"]


@block_of(INSPECTOR, "Inspect sitemaps in the admin")
def test_the_include_shows_the_inspector_in_the_admin(snippet, db):
    with site(admin=True), override_settings(ROOT_URLCONF=run(snippet)):
        response = superuser().get("/admin/sitemaps/")
    assert (response.status_code, b"Django administration" in response.content) == (200, True)


def test_the_template_links_to_the_inspector_for_those_who_may_use_it(tmp_path, db, settings):
    (tmp_path / "admin").mkdir()
    (tmp_path / "admin" / "index.html").write_text(ADMIN_INDEX)
    columns = "id action_time user_id content_type_id object_id object_repr action_flag change_message"
    with connection.cursor() as cursor:
        # The admin's index reads its log, which the project of the tests does not have.
        cursor.execute(f"CREATE TABLE django_admin_log ({columns.replace(' ', ' integer, ')} integer)")
    with site(admin=True), override_settings(TEMPLATES=[{**settings.TEMPLATES[0], "DIRS": [tmp_path]}]):
        clients = (superuser(), client_of("ann", is_staff=True))
        pages = [client.get("/admin/").content.decode() for client in clients]
    assert ['<a href="/admin/sitemaps/">Sitemaps</a>' in page for page in pages] == [True, False]
    assert all("Recent actions" in page for page in pages)


@block_of(INSPECTOR, "Who may use it")
def test_a_permission_of_the_project_lets_staff_in(snippet, db):
    clients = ("ann", "shop.view_product"), ("bob",)
    with site(admin=False), override_settings(ROOT_URLCONF=run(snippet)):
        answers = [client_of(*names, is_staff=True).get("/sitemaps/").status_code for names in clients]
    assert answers == [200, 403]


def test_every_answer_and_every_bound_of_the_inspector_is_described():
    texts = [f"`{PERMISSION}`", f"last {MAX_RUNS} runs", f"at most {MAX_FILES};"]
    texts += [f"\n| {heading} |" for heading in HEADINGS.values()]
    assert [text for text in texts if text not in PAGES[INSPECTOR]] == []


def test_each_snippet_that_a_test_takes_is_run():
    functions = {name: value for name, value in globals().items() if inspect.isfunction(value)}
    takers = {name: each for name, each in functions.items() if "snippet" in each.__code__.co_varnames}
    assert len(takers) > 20
    assert [name for name, each in takers.items() if "run(snippet" not in inspect.getsource(each)] == []
