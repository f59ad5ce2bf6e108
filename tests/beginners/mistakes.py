"""The mistakes: what is done, and what must be said about it."""

from __future__ import annotations

import errno
import os
from typing import Any, NamedTuple

from django.db import connection
from django.urls import include, path

from django_sitemaps09 import StaticViewSitemap, views
from tests.beginners.project import (
    SITEMAPS,
    Make,
    Project,
    command,
    django_setting,
    items,
    module,
    routes,
    section,
    setting,
    without,
)
from tests.urls import nothing


class Mistake(NamedTuple):
    """A mistake, and patterns of which each must be found in what is said about it."""

    what: str
    make: Make
    answer: tuple[str, ...]


def mistake(what: str, make: Make, *answer: str) -> Mistake:
    return Mistake(what, make, answer)


def without_tables(project: Project) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE tests_article RENAME TO gone")
    project.look()


def folder_is_a_file(project: Project) -> None:
    (project.folder / "public").write_text("mine")
    project.look()


def robots_is_a_folder(project: Project) -> None:
    (project.folder / "robots.txt").mkdir()
    project.configure(ROBOTS_TXT=project.folder / "robots.txt")
    project.look()


def without_a_site(project: Project) -> None:
    from django.contrib.sites.models import Site

    project.configure(BASE_URL=None)
    Site.objects.all().delete()
    Site.objects.clear_cache()
    project.get("/sitemap.xml")


def foreign_storage(project: Project) -> None:
    backend = {"BACKEND": "storages.backends.nowhere.Storage"}
    project.settings.STORAGES = {**project.settings.STORAGES, "sitemaps": backend}
    project.look()


def without_site_id(project: Project) -> None:
    project.configure(BASE_URL=None)
    del project.settings.SITE_ID
    project.run("export_sitemaps")


def default_site(project: Project) -> None:
    from django.contrib.sites.models import Site

    Site.objects.clear_cache()
    Site.objects.update_or_create(id=1, defaults={"domain": "example.com", "name": "example.com"})
    project.configure(BASE_URL=None)
    project.look()


def without_any_host(project: Project) -> None:
    project.settings.INSTALLED_APPS = [
        name
        for name in project.settings.INSTALLED_APPS
        if name not in ("django.contrib.sites", "django.contrib.flatpages")
    ]
    project.configure(BASE_URL=None)
    project.look()


def other_name(name: str) -> Make:
    def make(project: Project) -> None:
        setattr(project.settings, name, project.settings.SITEMAPS09)
        del project.settings.SITEMAPS09
        project.look()

    return make


def with_a_lock(project: Project) -> None:
    from django_sitemaps09 import stores

    project.run("export_sitemaps")
    with stores.exclusive_lock(stores.target_store(None, "")):
        project.run("export_sitemaps")


def refused(function: str, number: int) -> Make:
    """Make a mistake that the system answers with an error."""

    def make(project: Project) -> None:
        def refuse(*arguments: object, **options: object) -> None:
            raise OSError(number, os.strerror(number), "public")

        project.patch.setattr(function, refuse)
        project.look()

    return make


def inspector_without_users(project: Project) -> None:
    project.settings.MIDDLEWARE = []
    project.route(*SITEMAPS, path("inspect/", include("django_sitemaps09.inspector.urls")))
    project.look()


def state_of_another_user(project: Project) -> None:
    project.run("export_sitemaps")
    system = os.open

    def refuse(path: Any, *arguments: Any, **options: Any) -> int:
        if ".sitemaps09" in str(path):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return system(path, *arguments, **options)

    project.patch.setattr("os.open", refuse)
    project.run("export_sitemaps")


def after_renaming_a_section(project: Project) -> None:
    project.run("export_sitemaps")
    project.configure(SITEMAPS="tests.beginners.mistakes.OTHER")
    project.run("export_sitemaps")


def after_losing_rows(project: Project) -> None:
    from tests.models import Article

    Article.objects.bulk_create(Article(slug=f"a{number}") for number in range(300))
    project.run("export_sitemaps")
    Article.objects.all().delete()
    project.run("export_sitemaps")


def deployed(**keys: Any) -> Make:
    def make(project: Project) -> None:
        project.configure(**keys)
        project.run("check", "--deploy")

    return make


def refused_host(project: Project) -> None:
    project.settings.ALLOWED_HOSTS = ["localhost"]
    project.settings.MIDDLEWARE = ["django.middleware.common.CommonMiddleware"]
    project.run("audit_sitemaps")


def audited(make: Make) -> Make:
    def decorated(project: Project) -> None:
        make(project)
        project.run("audit_sitemaps")

    return decorated


def without_in_audit(name: str) -> Make:
    def make(project: Project) -> None:
        project.patch.setattr(f"django_sitemaps09.audit.{name}", None)
        project.run("audit_sitemaps")

    return make


class Pages(StaticViewSitemap):
    viewnames = ["about"]


OTHER = {"pages": Pages}
LISTED = [Pages]


# fmt: off
SETTINGS = [
    mistake("SITEMAPS09 is a list", django_setting(SITEMAPS09=[{"ROOT": "x"}]), "SITEMAPS09.*must be a dict"),
    mistake("SITEMAPS09 is misspelled", other_name("SITEMAP09"), "SITEMAP09", "SITEMAPS09"),
    mistake("SITEMAPS09 has an underscore", other_name("SITEMAPS_09"), "SITEMAPS_09", "SITEMAPS09"),
    mistake("a key is a setting of its own", django_setting(SITEMAPS09_BASE_URL="https://x.org"), "SITEMAPS09_BASE_URL", "SITEMAPS09"),
    mistake("a key is misspelled", setting(BASEURL="https://x.org"), "'BASEURL'", "Did you mean 'BASE_URL'"),
    mistake("a key is in lower case", setting(base_url="https://x.org"), "'base_url'", "Did you mean 'BASE_URL'"),
    mistake("a key does not exist", setting(COMPRESSION="gz"), "'COMPRESSION'", "Valid keys: .*GZIP"),
    mistake("BASE_URL has no scheme", setting(BASE_URL="www.example.com"), "BASE_URL.*not of the form https://"),
    mistake("BASE_URL has a path", setting(BASE_URL="https://www.example.com/shop"), "BASE_URL.*may only contain a scheme, a host"),
    mistake("BASE_URL is a list", setting(BASE_URL=["https://www.example.com"]), "BASE_URL.*must be a string"),
    mistake("BASE_URL is localhost", deployed(BASE_URL="http://localhost:8000"), "BASE_URL.*localhost", "Set the URL of the site"),
    mistake("no host is set", without_any_host, "BASE_URL.*https://www.example.com"),
    mistake("example.com is the only site", default_site, r"example\.com", "BASE_URL|domain"),
    mistake("there is no site", without_a_site, "Site matching query does not exist", "create a Site and set SITE_ID"),
    mistake("SITE_ID is missing", without_site_id, "SITE_ID", "[Cc]reate|set"),
    mistake("ROOT is a number", setting(ROOT=1), "ROOT.*must be a path"),
    mistake("ROOT is empty", setting(ROOT=""), "ROOT.*must be a path"),
    mistake("ROOT is relative", setting(ROOT="public"), "ROOT.*relative", "BASE_DIR"),
    mistake("ROOT is a URL", setting(ROOT="s3://bucket/sitemaps"), r"ROOT'\] must be a path on this machine, not the URL", "STORAGE"),
    mistake("ROBOTS_TXT is in the home of nobody", setting(ROBOTS_TXT="~nobody-here/robots.txt"), "ROBOTS_TXT.*~nobody-here is not the home directory of a user", "Set an absolute path"),
    mistake("ROOT is a file", folder_is_a_file, "public is a file, not a folder", "another folder with --output"),
    mistake("ROOT is missing", setting(ROOT=None), "ROOT", "--output"),
    mistake("ROOT is read-only", refused("pathlib.Path.mkdir", errno.EROFS), "Cannot export to .*Read-only file system", "another folder"),
    mistake("ROOT belongs to another user", refused("pathlib.Path.mkdir", errno.EACCES), "public cannot be created .Permission denied", "Or create .*public for the user who exports"),
    mistake("an earlier export ran as another user", state_of_another_user, r"lock cannot be locked .Permission denied.", "belongs to"),
    mistake("the disk is full", refused("pathlib.Path.replace", errno.ENOSPC), "No space left on device"),
    mistake("ROBOTS_TXT is a folder", robots_is_a_folder, "robots.txt was not changed: .* is not a regular file"),
    mistake("STORAGE is not an alias", setting(STORAGE="s3"), "STORAGE.*'s3'", "Use an alias from STORAGES"),
    mistake("LIVE_CACHE is not an alias", setting(LIVE_CACHE="redis"), "LIVE_CACHE.*'redis'", "Use an alias from CACHES"),
    mistake("the storage cannot be imported", foreign_storage, "storages.backends.nowhere", "install the extra `s3`"),
    mistake("ENGINE is misspelled", setting(ENGINE="celry"), "'celry'", "Set 'processes'"),
    mistake("ENGINE is a path that does not exist", setting(ENGINE="store.engines.Mine"), "store.engines", "dotted path"),
    mistake("GZIP is a string", setting(GZIP="false"), "GZIP.*must be True or False"),
    mistake("GZIP_LEVEL is too high", setting(GZIP_LEVEL=11), "GZIP_LEVEL.*from 1 to 9"),
    mistake("MAX_URLS is too high", setting(MAX_URLS=100_000), "MAX_URLS.*from 1 to 50,000"),
    mistake("MAX_SHRINK is a percentage", setting(MAX_SHRINK=50), "MAX_SHRINK.*from 0 to 1"),
    mistake("KEEP_REMOVED is a string", setting(KEEP_REMOVED="1d"), "KEEP_REMOVED.*timedelta or a number of seconds"),
    mistake("CACHE_CONTROL is a string", setting(CACHE_CONTROL="public"), "CACHE_CONTROL.*a dict.*'max_age'"),
    mistake("SERVE_EXPORTED without ROOT", setting(ROOT=None, SERVE_EXPORTED=True), "SERVE_EXPORTED", r"Set SITEMAPS09\['ROOT'\]"),
    mistake("FILES_URL has no slash at its end", setting(FILES_URL="https://cdn.example.com/files"), "FILES_URL.*ends in a slash"),
    mistake("SUBMIT without a key", setting(SUBMIT=True), "SUBMIT.*INDEXNOW_KEY", "documentation|--generate-key"),
    mistake("INDEXNOW_KEY is short", setting(SUBMIT=True, INDEXNOW_KEY="key"), "INDEXNOW_KEY.*8 to 128"),
    mistake("SITEMAPS does not exist", setting(SITEMAPS="store.sitemaps.SECTIONS"), r"SITEMAPS.*store.sitemaps.*SECTIONS", "Fix"),
    mistake("SITEMAPS is a list", setting(SITEMAPS="tests.beginners.mistakes.LISTED"), "SITEMAPS.*LISTED.*not a dict of sections"),
    mistake("ALLOWED_HOSTS lacks the host", refused_host, "www.example.com", "ALLOWED_HOSTS"),
]

NAMES = [
    mistake("a name with a slash", module("@register('shop/products')\nclass P(ModelSitemap): model = Article"), "'shop/products'", "use only letters"),
    mistake("a name with a space", module("@register('my products')\nclass P(ModelSitemap): model = Article"), "'my products'", "use only letters"),
    mistake("a name with an umlaut", module("@register('bücher')\nclass P(ModelSitemap): model = Article"), "'bücher'", "use only letters"),
    mistake("a name that is a number", module("@register(2024)\nclass P(ModelSitemap): model = Article"), r"register\(2024\): a name must be a string, not 2024 \(int\)"),
    mistake("a reserved name", module("@register('index')\nclass P(ModelSitemap): model = Article"), "'index' is reserved", "Choose another name"),
    mistake("a name that is used twice", module("class P(ModelSitemap): model = Article\nregister('a', P)\nregister('a', P)"), "'a' is already registered in store.sitemaps", "Rename one"),
    mistake("names that differ in case", module("class P(ModelSitemap): model = Article\nregister('a', P)\nregister('A', P)"), "'a' is already registered in store.sitemaps", "Rename one"),
    mistake("register without parentheses", module("@register\nclass P(ModelSitemap): model = Article"), r'write @register\("products"\) above P'),
    mistake("register without a name", module("@register()\nclass P(ModelSitemap): model = Article"), "register.*name"),
    mistake("register a model", module("register('products', Article)"), "tests.models.Article .*is not a sitemap", "ModelSitemap"),
    mistake("register a queryset", module("register('products', Article.objects.all())"), "QuerySet.* is not a sitemap", "ModelSitemap"),
    mistake("register a path", module("register('products', '/about/')"), "'/about/' .*is not a sitemap", "StaticViewSitemap"),
    mistake("register a class without a base", module("@register('products')\nclass Products:\n def items(self): return [1]"), "Products .*is not a sitemap", "ModelSitemap"),
    mistake("a class that is not registered", module("class Products(ModelSitemap): model = Article"), "Products", "(?i)register"),
    mistake("sitemap.py instead of sitemaps.py", module("@register('products')\nclass Products(ModelSitemap): model = Article", "sitemap.py"), "sitemaps.py", "(?i)register"),
    mistake("sitemaps.py has a typo", module("@register('products')\nclass Products(ModelSitemap): model = Artcle"), r"sitemaps.py, line \d+: NameError: name 'Artcle'", "Fix"),
    mistake("sitemaps.py has a syntax error", module("@register('products')\nclass Products(ModelSitemap)\n model = Article"), r"sitemaps.py, line \d+: SyntaxError", "Fix"),
    mistake("sitemaps.py imports nothing", module("from store.models import Product"), r"sitemaps.py, line \d+: ModuleNotFoundError: .*store.models", "Fix"),
]

ROWS = [
    mistake("Sitemap with a model", section("model = Article", "Sitemap"), "Sitemap ignores `model`", "Subclass ModelSitemap"),
    mistake("no items", section("def location(self, item): return '/about/'", "Sitemap"), "Products has no items", "items()"),
    mistake("items() returns None", items("def items(self): [1, 2]"), "items", "return|None"),
    mistake("items() returns dicts", section("def items(self): return [{'slug': 'a'}]", "Sitemap"), "Products has no `location`", "define `def location"),
    mistake("items is not a method", section("items = [1, 2]", "Sitemap"), "Products.items must be a method", "def items"),
    mistake("no queryset", section("queryset = None"), "Products has no queryset", "Set `queryset` or `model`"),
    mistake("queryset is a model", section("queryset = Article"), "Products.queryset must be a queryset", "objects"),
    mistake("queryset is not called", section("queryset = Article.objects.all"), "Products.queryset must be a queryset, not a function", "Call the function"),
    mistake("queryset is a list", section("queryset = [1, 2]"), "Products.queryset must be a queryset", "Set `queryset`"),
    mistake("get_queryset() returns None", section("def get_queryset(self): Article.objects.all()"), "queryset", "return|None"),
    mistake("queryset is a slice", section("queryset = Article.objects.all()[:10]"), "paginated by position", "Use a plain queryset"),
    mistake("queryset is a slice in a random order", section("queryset = Article.objects.order_by('?')[:10]"), "Products is read by position, but .* random order", "Order by a column"),
    mistake("queryset has values()", section("queryset = Article.objects.values('slug')"), "paginated by position|get_absolute_url", "Use a plain queryset|location"),
    mistake("model is a string", section("model = 'shop.Product'; queryset = None"), "Products.model must be a model", "Import the model"),
    mistake("model is a list", section("model = [Article]; queryset = None"), r"Products.model must be a model, not \[.*\] \(list\)", "Import the model"),
    mistake("model is in quotes", section("model = 'Article'; queryset = None"), "Products.model must be a model", "Import the model"),
    mistake("an unknown database", section("queryset = Article.objects.using('replica')"), "replica", "DATABASES"),
    mistake("key is not unique", section("key = 'slug'"), "slug", "Set `key` to a field that is unique"),
    mistake("query before the start", module("FIRST = Article.objects.get(slug='nothing')"), r"sitemaps.py, line \d+: .*DoesNotExist", "Fix"),
    mistake("limit is too high", section("limit = 100_000"), "limit is 100,000", "Set 50,000 or less"),
    mistake("limit is a word", section("limit = 'all'"), "Products.limit", "Set a whole number from 1 to 50,000"),
]

LOCATIONS = [
    mistake("no get_absolute_url()", section("queryset = Comment.objects.all()"), "tests.Comment has no get_absolute_url", "Declare `location`"),
    mistake("the name of a route is misspelled", section("location = Route('artcile', slug=F('slug'))"), "'artcile'", "did you mean 'article'"),
    mistake("an argument of a route is missing", section("location = Route('seat', row=F('slug'))"), "'seat' accepts the given arguments", "accepted: row, number"),
    mistake("an argument of a route is misspelled", section("location = Route('article', slgu=F('slug'))"), "'slgu'", "accepted: slug"),
    mistake("an argument of a route has quotes", section("location = Route('article', slug='slug')"), "same URL for every row", r"slug=F\('slug'\)"),
    mistake("a route without F", section("location = Route('article')"), "Products.location", "accepted: slug|F\\("),
    mistake("reverse() in the class", section("location = reverse('article', args=['tools'])"), "same URL for every row|ImproperlyConfigured", "expression|Route"),
    mistake("location is a path with braces", section("location = '/articles/{slug}/'"), "'/articles/{slug}/'", "PathTemplate|expression"),
    mistake("location is an f-string", section("location = PathTemplate('/articles/{slug}')"), "slug.* has no value", "pass slug=F"),
    mistake("location is None", items("def location(self, item): pass"), "location.*None", "skipped|must"),
    mistake("location on another host", items("def location(self, item): return 'https://shop.example.net/'"), "shop.example.net", "hosts|host"),
    mistake("location without a slash", items("def location(self, item): return f'articles/{item}/'"), "articles/1/", "begin|start|slash"),
    mistake("location without the item", section("def location(self): return '/about/'"), "Products.location cannot be called with the item", r"def location\(self, item\)"),
    mistake("location without self", section("def location(item): return '/about/'"), "Products.location cannot be called with the item", r"def location\(self, item\)"),
    mistake("location is a column without a slash", section("location = F('slug')"), "tools", "begin|start|slash"),
    mistake("location is a number", items("location = 7"), r"Products.location must be a path, a Route or an expression, not 7 \(int\)", r"def location\(self, item\)"),
    mistake("viewnames is None", section("viewnames = None", "StaticViewSitemap"), "Products.viewnames must be a list, not None", "Set a list"),
    mistake("viewnames is a string", section("viewnames = 'about'", "StaticViewSitemap"), "Products.viewnames", "list"),
    mistake("a view name is misspelled", section("viewnames = ['abuot']", "StaticViewSitemap"), "'abuot'", "no URL pattern|did you mean"),
    mistake("a view that needs arguments", section("viewnames = ['article']", "StaticViewSitemap"), "'article'", "argument"),
    mistake("the name of an attribute is misspelled", section("last_mod = F('updated')"), "Products.last_mod may be misspelled", "Did you mean 'lastmod'"),
    mistake("the name of viewnames is misspelled", section("view_names = ['about']", "StaticViewSitemap"), "Products.view_names may be misspelled", "Did you mean 'viewnames'"),
]

VALUES = [
    mistake("lastmod is the name of a field", section("lastmod = 'updated'"), "Products.lastmod", r"F\(['\"]updated"),
    mistake("lastmod is a field that does not exist", section("lastmod = F('updatd')"), "Products.lastmod: .*'updatd'", "Choices are: .*updated"),
    mistake("lastmod has a dot", section("lastmod = F('category.slug')"), "category.slug", "Choices are"),
    mistake("lastmod is a column of text", section("lastmod = F('slug')"), "Products.lastmod must be a date", "Use a DateField"),
    mistake("lastmod follows many rows", section("lastmod = F('comments__id')"), "multi-valued relation", "Max()"),
    mistake("lastmod is timezone.now", section("lastmod = timezone.now"), "Products.lastmod", r"def lastmod\(self, item\)"),
    mistake("lastmod() returns text", items("def lastmod(self, item): return '2026-01-01'"), "lastmod.*'2026-01-01'", "date"),
    mistake("lastmod() raises", items("def lastmod(self, item): return item.updated"), "lastmod.*updated"),
    mistake("lastmod is a field of the model", section("lastmod = Article.updated"), "Products.lastmod is tests.Article.updated", r"F\('updated'\)"),
    mistake("priority is 7", section("priority = 7"), "Products.priority", "0.0.*1.0"),
    mistake("priority is a word", section("priority = 'high'"), "Products.priority", "number"),
    mistake("priority() returns 7", items("def priority(self, item): return 7"), "priority", "0.0.*1.0"),
    mistake("changefreq is misspelled", section("changefreq = 'dayly'"), "Products.changefreq.*'dayly'", "daily"),
    mistake("changefreq is a column of numbers", section("changefreq = F('pk')"), "Products.changefreq", "changefreq values"),
    mistake("changefreq() returns another word", items("def changefreq(self, item): return 'often'"), "changefreq.*'often'", "daily"),
    mistake("protocol is a URL", section("protocol = 'https://'"), "Products.protocol must be 'http' or 'https'"),
    mistake("i18n without LANGUAGES", section("i18n = True; languages = ['fr']"), "'fr', which is not in LANGUAGES", "Use a code from LANGUAGES"),
    mistake("languages are numbers", section("i18n = True; languages = [7]"), r"Products.languages .*contains 7 \(int\)", "Use a code from LANGUAGES"),
    mistake("languages is a string", section("i18n = True; languages = 'de'"), "Products.languages must be a list", "Set a list"),
    mistake("alternates without i18n", section("alternates = True"), "no effect without i18n: alternates", "Set i18n = True"),
    mistake("x_default without alternates", section("i18n = True; x_default = True"), "x_default has no effect without alternates", "Set alternates = True"),
    mistake("a language that hreflang does not know", section("i18n = True; alternates = True; languages = ['english']"), "'english'", "ISO 639-1"),
    mistake("i18n without i18n_patterns", audited(section("i18n = True; alternates = True")), "duplicate|same", "languages?|URL"),
    mistake("alternates() returns codes", items("def alternates(self, item): return ['de', 'fr']"), "alternates: .*'de' is not an Alternate", r"such as Alternate\("),
    mistake("hosts is a string", section("hosts = 'shop.example.com'"), "Products.hosts must be a list", "Set a list"),
    mistake("format is HTML", section("format = 'html'"), "Products.format must be 'xml' or 'text'", "Set 'xml' or 'text'"),
    mistake("images is a list", section("images = ['/a.png']"), "Products.images must be a method", r"def images\(self, item\)"),
    mistake("images() returns text", items("def images(self, item): return '/a.png'"), "images: .* is not a list"),
    mistake("images() returns an image", items("def images(self, item): return Image('/a.png')"), "images: .* is not a list"),
    mistake("a video without a title", items("def videos(self, item): return [Video('/a.png')]"), "videos: .*missing .*'title'"),
    mistake("news without a date", section("publication_name = 'Times'; queryset = Article.objects.all()", "NewsSitemap"), "Products.date_field", "publication date"),
    mistake("news without a name", section("date_field = 'updated'; queryset = Article.objects.all()", "NewsSitemap"), "publication_name must be the name", "Set the name"),
    mistake("a sitemap of contrib with columns", section("model = Article\nlastmod = F('updated')\ndef items(self): return Article.objects.all()", "contrib.Sitemap"), "does not support expressions", "Import the base class from django_sitemaps09"),
    mistake("a GenericSitemap of a queryset", module("register('products', GenericSitemap(Article.objects.all()))"), r"sitemaps.py, line \d+: GenericSitemap\(\) needs a dict .* not QuerySet"),
    mistake("a date_field that does not exist", module("register('products', GenericSitemap({'queryset': Article.objects.all(), 'date_field': 'modifed'}))"), "date_field.*'modifed'.*tests.Article has no such field", "Pass the name of a date field"),
    mistake("a date_field that is text", module("register('products', GenericSitemap({'queryset': Article.objects.all(), 'date_field': 'slug'}))"), "date_field.*'slug'.*CharField of tests.Article", "Pass the name of a date field"),
    mistake("a GenericSitemap without a queryset", module("register('products', GenericSitemap({'model': Article}))"), r"sitemaps.py, line \d+", "queryset"),
]

ROUTES = [
    mistake("no URLs", routes(lambda: SITEMAPS[1:]), "robots_txt fails", "Include django_sitemaps09.urls"),
    mistake("URLs of sitemap.xml", routes(lambda: [path("sitemap.xml", include("django_sitemaps09.urls"))]), "/sitemap.xmlsitemap.xml", r'path\(""'),
    mistake("URLs after a pattern that takes all", routes(lambda: [path("<path:page>", nothing), *SITEMAPS]), "/sitemap.xml is answered by tests.urls.nothing", "before others"),
    mistake("URLs that are included twice", routes(lambda: [path("seo/", include("django_sitemaps09.urls")), *SITEMAPS]), "namespace 'django_sitemaps09' isn't unique"),
    mistake("a mapping that is a class", routes(lambda: [path("", include("django_sitemaps09.urls"), {"sitemaps": Pages})]), "`sitemaps` of a view is not a dict", "Pass a dict"),
    mistake("a mapping that is a list", routes(lambda: [path("", include("django_sitemaps09.urls"), {"sitemaps": [Pages]})]), "`sitemaps` of a view is not a dict", "Pass a dict"),
    mistake("an argument that is misspelled", routes(lambda: [path("", include("django_sitemaps09.urls"), {"sitemap": {"a": Pages}})]), "argument 'sitemap'", "Did you mean 'sitemaps'"),
    mistake("a mapping with a number as name", routes(lambda: [path("", include("django_sitemaps09.urls"), {"sitemaps": {2024: Pages}})]), r"The section 2024 has an invalid name: a name must be a string, not 2024 \(int\)", "Rename"),
    mistake("a mapping with a bad name", routes(lambda: [path("", include("django_sitemaps09.urls"), {"sitemaps": {"my pages": Pages}})]), "'my pages'", "Rename"),
    mistake("robots.txt that forbids everything", routes(lambda: [SITEMAPS[0], path("robots.txt", views.robots_txt, {"rules": "User-agent: *\nDisallow: /"})]), "'Disallow: /'.* blocks crawlers", "Allow this URL"),
    mistake("robots.txt as a list of lines", routes(lambda: [SITEMAPS[0], path("robots.txt", views.robots_txt, {"rules": ["User-agent: *"]})]), "`rules` of the view robots_txt must be a string.*list", "one string"),
    mistake("robots.txt in a folder", routes(lambda: [SITEMAPS[0], path("seo/robots.txt", views.robots_txt)]), "No URL pattern answers /robots.txt", "root URLconf"),
    mistake("the inspector without a login", inspector_without_users, "cannot know which user", "AuthenticationMiddleware' to MIDDLEWARE"),
]

COMMANDS = [
    mistake("no tables", without_tables, "no such table: tests_article", "migrate"),
    mistake("two exports at once", with_a_lock, "Another export is writing to"),
    mistake("a section that is misspelled", command("export_sitemaps", "prodcuts"), "'prodcuts'", "Did you mean 'products'"),
    mistake("an option that does not exist", command("export_sitemaps", "--dir", "x"), "--dir"),
    mistake("a number of workers that is not positive", command("export_sitemaps", "--workers", "0"), "at least one worker, not 0"),
    mistake("a base URL without a scheme", command("export_sitemaps", "--base-url", "example.com"), "example.com", "https?://"),
    mistake("robots.txt in a folder that is missing", command("export_sitemaps", "--robots", "missing/robots.txt"), "missing/robots.txt", "(?i)create|does not exist|is missing"),
    mistake("output is a URL", command("export_sitemaps", "--output", "https://www.example.com/"), "--output must be a path.*not the URL", "STORAGE"),
    mistake("output is empty", command("export_sitemaps", "--output", ""), "--output must be a path, not ''"),
    mistake("audit a URL as a folder", command("audit_sitemaps", "--dir", "https://www.example.com/"), "--dir must be a path.*not the URL", "--url"),
    mistake("repair without verify", command("export_sitemaps", "--repair"), "--repair is only valid with --verify"),
    mistake("remove a section that is declared", command("export_sitemaps", "--remove", "products"), "'products' cannot be removed", "still declared"),
    mistake("force a section that does not exist", command("export_sitemaps", "--force", "prodcuts"), "prodcuts", "products"),
    mistake("verify before the first export", command("export_sitemaps", "--verify"), "public", "export"),
    mistake("status before the first export", command("sitemaps_status"), "nothing published"),
    mistake("status of an unknown section", command("sitemaps_status", "prodcuts"), "'prodcuts'", "Did you mean 'products'"),
    mistake("submit before the first export", lambda project: (project.configure(INDEXNOW_KEY="0123456789"), project.run("submit_sitemaps")), "public", "export_sitemaps"),
    mistake("submit without a key", command("submit_sitemaps"), "INDEXNOW_KEY", "--generate-key|Set"),
    mistake("audit before the first export", command("audit_sitemaps", "--dir", "public"), "public is not a directory", "Export to it"),
    mistake("suggest an unknown section", command("suggest_sitemaps", "prodcuts"), "'prodcuts'", "Did you mean 'products'"),
    mistake("a section that is renamed", after_renaming_a_section, "'products' is published but no longer declared", "--remove products"),
    mistake("a table that is empty", after_losing_rows, "products", "--force"),
    mistake("celery is not installed", without("celery", "django_sitemaps09.export.engines.celery")(setting(ENGINE="celery")), "[Cc]elery", r"\[celery\]|extra"),
    mistake("lxml is not installed", without_in_audit("documents.etree"), "lxml", "audit"),
    mistake("protego is not installed", without_in_audit("rules.robots.protego"), "[Pp]rotego", "audit"),
    mistake("urllib3 is not installed", without("urllib3", "django_sitemaps09.notify.client")(setting(SUBMIT=True, INDEXNOW_KEY="0123456789")), "urllib3", "indexnow"),
]
# fmt: on

MISTAKES = [*SETTINGS, *NAMES, *ROWS, *LOCATIONS, *VALUES, *ROUTES, *COMMANDS]
