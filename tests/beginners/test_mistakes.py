"""Each mistake that a beginner makes is answered with what is wrong and what to do.

These need a whole project. Those that a check finds are rows in `tests/tools/checks`, and invalid settings are in `tests/test_conf.py`.
"""

from __future__ import annotations

import html
import io
import logging
import re
import sys
import textwrap

import pytest
from django.contrib.sites.models import Site
from django.core import checks
from django.core.checks.model_checks import check_all_models
from django.core.management import call_command
from django.core.management.base import CommandError, SystemCheckError
from django.test import Client
from django.urls import include, path

from django_sitemaps09 import views
from tests.models import Article
from tests.support.checking import registry
from tests.support.configuration import BASE
from tests.urls import nothing

__all__ = ["registry"]
HEAD = """
from datetime import *
from django.contrib import sitemaps as contrib
from django.db.models import *
from django.urls import reverse
from django.utils import timezone
from django_sitemaps09 import *
from tests.models import *
"""
PAGES = (
    path("articles/<slug:slug>/", nothing, name="article"), path("about/", nothing, name="about"),
    path("seats/<str:row>/<int:number>/", nothing, name="seat"),
)  # fmt: skip
SITEMAPS = (path("", include("django_sitemaps09.urls")), path("robots.txt", views.robots_txt))


class Project:
    def __init__(self, settings, patch, folder, log):
        self.settings, self.folder, self.log, self.output = settings, folder, log, []
        (folder / "store").mkdir()
        (folder / "store" / "__init__.py").touch()
        self.declare("@register('products')\nclass Products(ModelSitemap): model = Article")
        # The tests have many models, whose checks take long and have nothing to do with sitemaps.
        registered = checks.registry.registry.registered_checks - {check_all_models}
        patch.setattr(checks.registry.registry, "registered_checks", registered)
        settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, "store"]
        settings.DEBUG = True
        settings.SITEMAPS09 = {"BASE_URL": BASE, "ROOT": folder / "public", "ENGINE": "serial"}
        settings.ROOT_URLCONF = (*SITEMAPS, *PAGES)
        Article.objects.bulk_create([Article(slug="tools"), Article(slug="watering")])

    def declare(self, code, name="sitemaps.py"):
        (self.folder / "store" / name).write_text(f"{HEAD}{code}\n", encoding="utf-8")

    def configure(self, **keys):
        changed = {**self.settings.SITEMAPS09, **keys}
        self.settings.SITEMAPS09 = {key: value for key, value in changed.items() if value is not None}

    def run(self, command, *arguments):
        stream, error = io.StringIO(), None
        try:
            call_command(command, *arguments, stdout=stream, stderr=stream)
        except (CommandError, SystemCheckError) as caught:
            error = caught
        self.output += [stream.getvalue(), str(error or "")]
        return error is None

    def look(self):
        """Do what the tutorial says: check the project, export it and look at the pages."""
        if self.run("check"):
            self.run("export_sitemaps")
            for address in ("/sitemap.xml", "/sitemap-products-1.xml", "/robots.txt"):
                self.get(address)

    def get(self, address):
        try:
            response = Client().get(address)
        except Exception as error:  # noqa: BLE001 shown by the debug page
            self.output.append(f"{type(error).__name__}: {error}")
            return
        if response.status_code != 200:
            reason = re.search('exception_value">(.*?)</pre>', response.content.decode())
            self.output.append(f"{response.status_code} {html.unescape(reason[1]) if reason else ''}")


def module(code, name="sitemaps.py"):
    def make(project):
        (project.folder / "store" / "sitemaps.py").unlink()
        project.declare(code, name)
        project.look()

    return make


def section(body, base="ModelSitemap"):
    rows = "model = Article\n" if base == "ModelSitemap" and "queryset" not in body else ""
    return module(f"@register('products')\nclass Products({base}):\n{textwrap.indent(rows + body, ' ')}")


def items(body):
    location = "" if "location" in body else "def location(self, item): return f'/articles/{item}/'\n"
    listing = "" if "def items" in body else "def items(self): return [1, 2]\n"
    return section(listing + location + body, "Sitemap")


def setting(**keys):
    return lambda project: (project.configure(**keys), project.look())


def command(name, *arguments):
    return lambda project: project.run(name, *arguments)


def without_a_site(project):
    project.configure(BASE_URL=None)
    Site.objects.all().delete()
    Site.objects.clear_cache()
    project.get("/sitemap.xml")


def without_site_id(project):
    project.configure(BASE_URL=None)
    del project.settings.SITE_ID
    project.run("export_sitemaps")


def exporting_to(root):
    def make(project):
        (project.folder / "taken").write_text("mine")
        project.configure(ROOT=root)
        project.look()
        assert (project.folder / "taken").read_text() == "mine"

    return make


def included_twice(project):
    project.settings.ROOT_URLCONF = (path("seo/", include("django_sitemaps09.urls")), *SITEMAPS, *PAGES)
    project.look()


def after_losing_rows(project):
    Article.objects.bulk_create(Article(slug=f"a{number}") for number in range(300))
    project.run("export_sitemaps")
    Article.objects.all().delete()
    project.run("export_sitemaps")


def same_urls_in_all_languages(project):
    section("i18n = True; alternates = True")(project)
    project.run("audit_sitemaps")


def submit_first(project):
    project.configure(INDEXNOW_KEY="0123456789")
    project.run("submit_sitemaps")


# fmt: off
#: What is wrong, how to make the mistake, and patterns of which each must be found in what is said about it.
MISTAKES = [
    ("there is no site", without_a_site, "Site matching query does not exist", "create a Site and set SITE_ID"),
    ("SITE_ID is missing", without_site_id, "SITE_ID", "[Cc]reate|set"),
    *((f"ROOT is {root}", exporting_to(root), f"{root}: (\\S*/)?taken is a file, not a folder", "another folder with --output") for root in ("taken", "taken/www/public")),
    ("ROOT is missing", setting(ROOT=None), "ROOT", "--output"),
    ("SITEMAPS does not exist", setting(SITEMAPS="store.sitemaps.SECTIONS"), r"SITEMAPS.*store.sitemaps.*SECTIONS", "Fix"),
    ("a reserved name", module("@register('index')\nclass P(ModelSitemap): model = Article"), "'index' is reserved", "Choose another name"),
    ("a name that is used twice", module("class P(ModelSitemap): model = Article\nregister('a', P)\nregister('a', P)"), "'a' is already registered in store.sitemaps", "Rename one"),
    ("register without parentheses", module("@register\nclass P(ModelSitemap): model = Article"), r'write @register\("products"\) above P'),
    ("register a model", module("register('products', Article)"), "tests.models.Article .*is not a sitemap", "ModelSitemap"),
    ("sitemap.py instead of sitemaps.py", module("@register('products')\nclass Products(ModelSitemap): model = Article", "sitemap.py"), r"sitemaps\.py.*'SITEMAPS'.*does not see .* URLconf", "(?i)register"),
    ("sitemaps.py has a syntax error", module("@register('products')\nclass Products(ModelSitemap)\n model = Article"), r"sitemaps.py, line \d+: SyntaxError", "Fix"),
    ("query before the start", module("FIRST = Article.objects.get(slug='nothing')"), r"sitemaps.py, line \d+: .*DoesNotExist", "Fix"),
    ("a GenericSitemap of a queryset", module("register('products', GenericSitemap(Article.objects.all()))"), r"sitemaps.py, line \d+: GenericSitemap\(\) needs a dict .*'queryset', not QuerySet"),
    ("a GenericSitemap without a queryset", module("register('products', GenericSitemap({'model': Article}))"), r"sitemaps.py, line \d+", "queryset"),
    ("a path without a value", section("location = PathTemplate('/articles/{slug}')"), "slug.* has no value", "pass slug=F"),
    ("reverse() in the class", section("location = reverse('article', args=['tools'])"), "same URL for every row|ImproperlyConfigured", "expression|Route"),
    ("URLs that are included twice", included_twice, "namespace 'django_sitemaps09' isn't unique"),
    ("items() returns None", items("def items(self): [1, 2]"), "items", "return|None"),
    ("items() returns dicts", section("def items(self): return [{'slug': 'a'}]", "Sitemap"), "Products has no `location`", "define `def location"),
    ("get_queryset() returns None", section("def get_queryset(self): Article.objects.all()"), "queryset", "return|None"),
    ("location is None", items("def location(self, item): pass"), "location.*None", "skipped|must"),
    ("location without a slash", items("def location(self, item): return f'articles/{item}/'"), "articles/1/", "begin|start|slash"),
    ("location is a column without a slash", section("location = F('slug')"), "tools", "begin|start|slash"),
    ("lastmod() returns text", items("def lastmod(self, item): return '2026-01-01'"), "lastmod.*'2026-01-01'", "date"),
    ("lastmod() raises", items("def lastmod(self, item): return item.updated"), "lastmod.*updated"),
    ("changefreq() returns another word", items("def changefreq(self, item): return 'often'"), "changefreq.*'often'", "daily"),
    ("i18n without i18n_patterns", same_urls_in_all_languages, "duplicate|same", "languages?|URL"),
    ("a video without a title", items("def videos(self, item): return [Video('/a.png')]"), "videos: .*missing .*'title'"),
    ("a section that is misspelled", command("export_sitemaps", "prodcuts"), "'prodcuts'", "Did you mean 'products'"),
    ("a base URL without a scheme", command("export_sitemaps", "--base-url", "example.com"), "example.com", "https?://"),
    ("robots.txt in a folder that is missing", command("export_sitemaps", "--robots", "missing/robots.txt"), "missing/robots.txt", "(?i)create|does not exist|is missing"),
    ("repair without verify", command("export_sitemaps", "--repair"), "--repair is only valid with --verify"),
    ("verify before the first export", command("export_sitemaps", "--verify"), "public", "export"),
    ("submit before the first export", submit_first, "public", "export_sitemaps"),
    ("audit before the first export", command("audit_sitemaps", "--dir", "public"), "public is not a directory", "Export to it"),
    ("a table that is empty", after_losing_rows, "products", "--force"),
]
# fmt: on


@pytest.fixture
def project(db, settings, monkeypatch, tmp_path, caplog):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    caplog.set_level(logging.WARNING)
    yield Project(settings, monkeypatch, tmp_path, caplog)
    for name in [name for name in sys.modules if name.partition(".")[0] == "store"]:
        del sys.modules[name]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake[0])
def test_a_mistake_is_answered_with_what_to_do(mistake, project):
    _, make, *answer = mistake
    make(project)
    said = "\n".join([*project.output, *(record.getMessage() for record in project.log.records)])
    assert [words for words in answer if not re.search(words, said)] == [], said
