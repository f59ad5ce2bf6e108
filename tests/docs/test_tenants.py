"""The how-to for django-tenants, followed on a site with three schemas that have the same tables."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from contextlib import ExitStack
from pathlib import Path

import pytest
from django.db import connection

from tests.docs.pages import PAGES, take
from tests.neighbours.published import entries, get, live
from tests.settings import SERVERS
from tests.support import services
from tests.support.databases import require
from tests.support.processes import ended, environment, started, until
from tests.support.published import indexed, states

pytestmark = pytest.mark.services
PAGE = "docs/howto/tenants.md"
SETTINGS, COMMAND = take(PAGE, "Tenants").text, take(PAGE, "Tenants", 1).text
ALL, ONE, STATUS, LIVE = re.findall(r"`manage\.py ([^`]+)`", PAGES[PAGE])
CALL = "shell -v 0 -c 'from tests.docs import test_tenants; test_tenants.{}()'"
DATABASE = {"ENGINE": "django_tenants.postgresql_backend", "NAME": f"test_sitemaps09_tenants_{os.getpid()}"}
SITE = {
    "mysite/settings.py": f"""
from pathlib import Path
from django.conf.global_settings import CACHES
from tests.settings import ALLOWED_HOSTS, SECRET_KEY, SERVERS
BASE_DIR, ROOT_URLCONF = Path(__file__).parents[1], "mysite.urls"
DATABASES = {{"default": SERVERS["postgresql"] | {DATABASE}}}
DATABASE_ROUTERS = ["django_tenants.routers.TenantSyncRouter"]
MIDDLEWARE = ["django_tenants.middleware.main.TenantMainMiddleware"]
TENANT_MODEL, TENANT_DOMAIN_MODEL, TENANT_APPS = "customers.Client", "customers.Domain", ["shop"]
SHARED_APPS = ["django_tenants", "django_sitemaps09", "django.contrib.contenttypes", "customers", "shop"]
INSTALLED_APPS = SHARED_APPS
{SETTINGS}""",
    "mysite/urls.py": """
from django.urls import include, path
urlpatterns = [path("", include("django_sitemaps09.urls"))]""",
    "customers/models.py": """
from django_tenants.models import DomainMixin, TenantMixin
class Client(TenantMixin): ...
class Domain(DomainMixin): ...""",
    "shop/models.py": """
from django.db import models
class Product(models.Model):
    path = models.CharField(max_length=50)""",
    "shop/sitemaps.py": """
from django.db.models import F
from django_sitemaps09 import ModelSitemap, register
from shop.models import Product
from tests.docs import test_tenants
class Columns(ModelSitemap[Product]):
    model, limit, location = Product, 10, F("path")
class Methods(Columns): location = test_tenants.location
register("columns", Columns), register("methods", Methods)""",
    "shop/management/commands/export_tenants.py": COMMAND,
}


def location(sitemap, item):
    """Return a URL. If exports are to meet, wait until those of both tenants have begun."""
    if folder := os.environ.get("MEETING"):
        Path(folder, connection.schema_name).touch()
        until(lambda: len([*Path(folder).iterdir()]) == 2, "the exports never met")
    return f"/methods{item.path}"


def urls_of(schema, cursor):
    cursor.execute(f"SELECT path FROM {schema}.shop_product")  # noqa: S608 our own
    paths = [f"{prefix}{path}" for (path,) in cursor.fetchall() for prefix in ("", "/methods")]
    return sorted(f"https://{schema}.example.com{path}" for path in paths)


def create():
    from customers.models import Client, Domain
    from django.core.management import call_command

    call_command("migrate_schemas", shared=True, run_syncdb=True, verbosity=0)
    for name in ("a", "b", "public"):
        Domain.objects.create(tenant=Client.objects.create(schema_name=name), domain=f"{name}.example.com")
    call_command("migrate_schemas", tenant=True, run_syncdb=True, verbosity=0)
    for name, count in {"a": 25, "b": 12, "public": 34}.items():
        paths = f"SELECT '/{name}/' || generate_series(1, {count})"
        connection.cursor().execute(f"INSERT INTO {name}.shop_product (path) {paths}")


def ask_each_host_in_turn():
    for change in ("INSERT INTO a.shop_product (path) SELECT '/a/' || generate_series(91, 99)", "SELECT 1"):
        for name in ["a", "b", "public"] * 2:
            host = f"{name}.example.com"
            assert [entry.url for entry in live(host)] == urls_of(name, connection.cursor())
            pages = [page.url.partition(host)[2] for page in entries(get(host, "/sitemap.xml"))]
            assert all(entries(get(host, page)) for page in pages), f"{host} lists pages of another tenant"
        connection.cursor().execute(change)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return the folder of exports, a cursor, and a function that starts a command on the site."""
    services.require_packages("django_tenants")
    require("postgresql")
    import psycopg

    folder, name = tmp_path_factory.mktemp("site"), DATABASE["NAME"]
    for path, text in SITE.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    options = {key: SERVERS["postgresql"][key.upper()] for key in ("user", "password", "host", "port")}

    def start(line, **variables):
        environ = environment(folder, "mysite.settings", **variables)
        return started("-m", "django", *shlex.split(line), environ=environ, cwd=folder)

    with psycopg.connect(dbname="postgres", autocommit=True, **options) as admin, ExitStack() as stack:
        admin.execute(f"CREATE DATABASE {name}")
        stack.callback(admin.execute, f"DROP DATABASE {name} WITH (FORCE)")
        assert ended(start(CALL.format("create")))[::2] == (0, "")
        with psycopg.connect(dbname=name, autocommit=True, **options) as own:
            yield folder / "public", own.cursor(), start


def test_each_host_lists_the_rows_of_its_schema_before_and_after_a_change(site):
    shutil.rmtree(site[0], ignore_errors=True)
    assert ended(site[2](CALL.format("ask_each_host_in_turn"))) == (0, "", "")


def test_each_tenant_is_exported_to_its_folder_before_and_after_a_change(site, tmp_path):
    public, cursor, start = site
    a, b = folders = [public / f"{name}.example.com" for name in "ab"]
    public.mkdir()
    a.touch()
    assert f"CommandError: https://{a.name}: Cannot export to {a}" in ended(start(ALL))[2]
    a.unlink()
    one, found = f"{ONE} --workers 2", [states(b)]  # The settings of the page allow no workers.
    both = one, one.replace("a.example", "b.example").replace("=a ", "=b ")
    for schema, path, lines in (("a", "/none", [ALL]), ("a", "/a/7", [ALL]), ("b", "/b/7", both)):
        cursor.execute(f"DELETE FROM {schema}.shop_product WHERE path = '{path}'")  # noqa: S608 our own
        exports = [start(line, **({"MEETING": tmp_path} if lines is both else {})) for line in lines]
        assert [ended(each)[::2] for each in exports] == [(0, "")] * len(lines)
        assert [sorted(indexed(folder)) for folder in folders] == [urls_of(name, cursor) for name in "ab"]
        found.append(states(b))
    assert found[0] == found[1] == found[2] != found[3]
    assert f"Sitemap: https://{b.name}/sitemap.xml\n" in (b / "robots.txt").read_text()
    assert f"Export: {b}" in ended(start(STATUS))[1]
    assert ended(start(LIVE))[::2] == (0, "")
