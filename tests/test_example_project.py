"""The example project: its commands and pages, in separate processes with its own settings."""

from __future__ import annotations

import gzip
import html
import json
import re
import sys
from types import SimpleNamespace
from urllib.parse import unquote

import pytest
from lxml import etree

import django_sitemaps09
from tests.support.processes import ROOT, ended, environment, started
from tests.support.published import SPACE

EXAMPLE = ROOT / "example_project"
# The package under test is either the checkout or an installed wheel.
PACKAGE = ROOT.joinpath(django_sitemaps09.__file__).parent.parent
BASE = "http://127.0.0.1:8000"
FETCH = """
import django, json
django.setup()
from django.test import Client
client = Client(HTTP_HOST="127.0.0.1:8000")
if {password!r}:
    login = client.get("/sitemaps/").url
    assert client.post(login, dict(username="demo", password={password!r})).status_code == 302
found = {{url: client.get(url.removeprefix("http://127.0.0.1:8000")) for url in {urls!r}}}
print(json.dumps({{url: (answer.status_code, answer.text) for url, answer in found.items()}}))
"""

pytestmark = pytest.mark.slow


def run(database, *command):
    """Return the output of a Python process with the example on its path, and with this database."""
    keys = {"DATABASE_URL": f"sqlite:///{database}", "BASE_URL": BASE, "DEBUG": ""}
    variables = {f"EXAMPLE_{name}": value for name, value in keys.items()}
    environ = environment(EXAMPLE, "example.settings", **variables)
    environ["PYTHONPATH"] = f"{EXAMPLE}:{PACKAGE}:{ROOT}"
    status, out, err = ended(started(*command, environ=environ), 90)
    assert (status, err) == (0, ""), out
    return out


def manage(database, *command):
    return run(database, EXAMPLE / "manage.py", *command)


def dump(database):
    return json.loads(manage(database, "dumpdata", "articles", "products", "legacy", "flatpages", "sites"))


def rows(found, model):
    return {row["pk"]: row["fields"] for row in found if row["model"] == model}


def locations(document, tag=f"{SPACE}loc"):
    return [element.text for element in etree.fromstring(document.encode()).iter(tag)]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Run a small demo. `said` is what it has printed, `titles` the title of each page by its URL."""
    folder = tmp_path_factory.mktemp("example")
    database, public = folder / "db.sqlite3", folder / "public"
    said = manage(database, "demo", "--articles=300", "--products=40", f"--output={public}")
    found = dump(database)
    categories = {pk: row["slug"] for pk, row in rows(found, "articles.category").items()}
    titles = {"/": "Example", "/about/": "About", "/contact/": "Contact"}
    for row in rows(found, "articles.article").values():
        if row["published"]:
            titles[f"/articles/{categories[row['category']]}/{row['slug']}/"] = row["title"]
    for row in rows(found, "products.product").values():
        for prefix, name in (("", "name_en"), ("/de", "name_de")):
            titles[f"{prefix}/products/{row['code']}/"] = row[name]
    titles |= {f"/info{row['url']}": row["title"] for row in rows(found, "flatpages.flatpage").values()}

    def fetch(*urls, password=""):
        return json.loads(run(database, "-c", FETCH.format(urls=urls, password=password)))

    def exported():
        names = [url.removeprefix(f"{BASE}/") for url in locations((public / "sitemap.xml").read_text())]
        pages = {name: gzip.decompress((public / name).read_bytes()).decode() for name in names}
        return {f"{BASE}/{name.removesuffix('.gz')}": page for name, page in pages.items()}

    titles = {f"{BASE}{path}": title for path, title in titles.items()}
    fields = {"database": database, "public": public, "said": said, "rows": found, "titles": titles}
    return SimpleNamespace(**fields, fetch=fetch, exported=exported)


def test_the_exported_pages_are_valid_and_list_what_is_in_the_database(site, schema):
    pages = site.exported()
    named = [url for page in pages.values() for url in locations(page)]
    assert (len(named), sorted(map(unquote, named))) == (3 + 4 + 294 + 2 * 40, sorted(site.titles))
    for document in [*pages.values(), (site.public / "sitemap.xml").read_text()]:
        schema.assertValid(etree.fromstring(document.encode()))
    assert len([*site.public.glob("sitemap*.xml*")]) == 1 + len(pages) == 5
    [products] = [page for url, page in pages.items() if "products" in url]
    links = etree.fromstring(products.encode()).iter("{http://www.w3.org/1999/xhtml}link")
    assert {link.get("href") for link in links} == {*locations(products)}


def test_live_pages_are_the_exported_ones_and_each_url_answers_with_its_title_escaped(site):
    pages = site.exported()
    assert site.fetch(*pages) == {url: [200, page] for url, page in pages.items()}
    urls = [url for page in pages.values() for url in locations(page)]
    for url, (status, body) in site.fetch(*urls).items():
        assert status == 200, url
        assert html.escape(site.titles[unquote(url)]) in body
    [(status, live)] = site.fetch("/robots.txt").values()
    for text in (live, (site.public / "robots.txt").read_text()):
        assert f"Sitemap: {BASE}/sitemap.xml" in text.splitlines()
    assert status == 200


def test_the_demo_exports_again_audits_the_files_and_prints_urls_that_exist(site):
    unchanged = f"\nNothing has changed in {BASE}/sitemap.xml, published to {site.public}\n"
    assert site.said.count(unchanged) == 1
    for words in (
        "products: 1 page not rendered (unchanged)",
        "read 5 documents with 381 URLs in ",
        "\nNothing is wrong with the documents. ",
        "articles: 300, 300 of them new",
        f"{sys.executable} ",
    ):
        assert words in site.said
    # Only a terminal shows a counter of rows.
    assert "of 300" not in site.said
    answers = site.fetch(*re.findall(rf"^    ({BASE}/\S*) ", site.said, re.MULTILINE))
    assert answers.pop(f"{BASE}/sitemaps/")[0] == 302
    assert ([status for status, _ in answers.values()], len(answers) >= 4) == ([200] * len(answers), True)


def test_without_the_extra_the_demo_says_how_to_audit(site, tmp_path):
    code = "import sys; sys.modules['lxml'] = None; sys.argv = ['manage.py', *sys.argv[1:]]; "
    code += "from django.core.management import execute_from_command_line; execute_from_command_line()"
    said = run(site.database, "-c", code, "demo", f"--output={tmp_path / 'public'}")
    assert f"not installed: {sys.executable} -m pip install lxml protego urllib3\n" in said
    assert said.rstrip().endswith("the app written for django.contrib.sitemaps")


def test_a_second_demo_changes_nothing_but_the_password_of_the_inspector(site):
    pages = site.exported()
    said = manage(site.database, "demo", "--articles=500", f"--output={site.public}")
    assert (dump(site.database), site.exported()) == (site.rows, pages)
    [password] = re.findall(r"log in as demo with the password (\S+)$", said, re.MULTILINE)
    found = site.fetch("/sitemaps/", "/sitemaps/url/?url=/about/", password=password)
    [(status, overview), (_, answer)] = found.values()
    assert (status, '<h2 id="sitemaps09-sections">Sections</h2>' in overview) == (200, True)
    assert f'<p class="sitemaps09-url">{BASE}/about/</p>' in answer


def test_the_app_that_came_from_contrib_has_its_pages_and_its_own_templates(site):
    names = ("upcoming.xml", "upcoming.xml?p=2", "archive.xml", "upcoming.xml?p=3")
    *pages, beyond = [f"{BASE}/legacy/sitemap-{name}" for name in names]
    (_, index), (status, _), *answers = site.fetch("/legacy/sitemap.xml", beyond, *pages).values()
    assert "<!-- Events, by the project's own template -->" in index
    assert (locations(index), status) == (pages, 404)
    events = [locations(body) for _, body in answers]
    assert [len(found) for found in events] == [50, 40, 30]
    statuses = [status for status, _ in site.fetch(*(url for found in events for url in found)).values()]
    assert statuses == [200] * 120
    tag = "{http://www.google.com/schemas/sitemap-news/0.9}title"
    titles = [title for _, body in answers for title in locations(body, tag)]
    assert sorted(titles) == sorted(row["title"] for row in rows(site.rows, "legacy.event").values())


@pytest.mark.parametrize("target", ["folder", "live"])
def test_an_audit_finds_nothing_in_the_export_and_in_the_live_views(site, target):
    arguments = [f"--dir={site.public}"] if target == "folder" else []
    said = manage(site.database, "audit_sitemaps", "--strict", "--fetch=all", *arguments)
    read, result = said.splitlines()
    assert "read 5 documents with 381 URLs, 381 pages fetched in " in read
    assert result.startswith("Nothing is wrong with the documents.")


@pytest.mark.parametrize("steps", [[(300, 40)], [(120, 10), (300, 40), (10, 0)]], ids=["once", "topped-up"])
def test_the_same_numbers_give_the_same_rows(site, tmp_path, steps):
    database = tmp_path / "db.sqlite3"
    manage(database, "migrate", "-v0")
    for articles, products in steps:
        manage(database, "populate", f"--articles={articles}", f"--products={products}")
    # Trying to insert an existing row may use up an id.
    kept = ["model", "fields"] + ["pk"] * (len(steps) == 1)
    both = (dump(database), site.rows)
    found, expected = ([{key: row[key] for key in kept} for row in each] for each in both)
    assert found == expected


def test_the_site_is_named_as_its_base_url_says_and_the_checks_have_nothing_to_say(site):
    [row] = rows(site.rows, "sites.site").values()
    assert row["domain"] == "127.0.0.1:8000"
    manage(site.database, "makemigrations", "--check", "--dry-run")
    said = manage(site.database, "check", "--fail-level=DEBUG")
    assert said == "System check identified no issues (0 silenced).\n"
