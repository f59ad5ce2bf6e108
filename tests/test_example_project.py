"""The example project: its commands and pages, in separate processes with its own settings."""

from __future__ import annotations

import gzip
import html
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
from lxml import etree

import django_sitemaps09
from tests.support.schemas import Schemas

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "example_project"
BASE = "http://127.0.0.1:8000"
LOC = "{http://www.sitemaps.org/schemas/sitemap/0.9}loc"
LINK = "{http://www.w3.org/1999/xhtml}link"
NEWS_TITLE = "{http://www.google.com/schemas/sitemap-news/0.9}title"

pytestmark = pytest.mark.slow


# These four functions run inside the example, each in a separate process: `python -m
# tests.test_example_project`.


def fetch(paths: str) -> dict[str, tuple[int, str]]:
    """Return status and body of each URL in a JSON file."""
    from django.test import Client

    client = Client(HTTP_HOST="127.0.0.1:8000")
    found = {}
    for url in json.loads(Path(paths).read_text()):
        response = client.get(url.removeprefix(BASE))
        found[url] = (response.status_code, response.content.decode())
    return found


def inspect(password: str, *paths: str) -> list[tuple[int, str]]:
    """Return status and body of pages of the inspector, for the user of the demo with this password."""
    from django.test import Client

    client = Client(HTTP_HOST="127.0.0.1:8000")
    anonymous = client.get("/sitemaps/")
    login = client.post(anonymous.url, {"username": "demo", "password": password})
    assert login.status_code == 302, login.content
    responses = [client.get(path) for path in [login.url, *paths]]
    return [(response.status_code, response.content.decode()) for response in responses]


def listed() -> list[tuple[str, str]]:
    """Return each URL that the main sitemaps must list, unquoted, and the title that its page must show."""
    from django.contrib.flatpages.models import FlatPage

    from articles.models import Article
    from products.models import Product

    pages = [("/", "Example"), ("/about/", "About"), ("/contact/", "Contact")]
    pages += [
        (f"/articles/{article.category.slug}/{article.slug}/", article.title)
        for article in Article.objects.exclude(published=False).select_related("category")
    ]
    for product in Product.objects.all():
        pages.append((f"/products/{product.code}/", product.name_en))
        pages.append((f"/de/products/{product.code}/", product.name_de))
    pages += [(f"/info{page.url}", page.title) for page in FlatPage.objects.all()]
    return [(f"{BASE}{path}", title) for path, title in pages]


def dump() -> dict[str, list[dict[str, Any]]]:
    """Return all rows of all tables except Django's internal ones."""
    from django.apps import apps

    labels = ["articles", "products", "legacy", "flatpages", "sites"]
    models = [model for label in labels for model in apps.get_app_config(label).get_models()]
    return {model.__name__: list(model.objects.order_by("pk").values()) for model in models}


def run(database: Path, *command: str) -> str:
    """Return the output of a Python process with the example on its path, and with this database."""
    # The package under test is either the checkout or an installed wheel.
    package = Path(django_sitemaps09.__file__).parent.parent
    environ = os.environ | {
        "PYTHONPATH": os.pathsep.join(map(str, [EXAMPLE, package, ROOT])),
        "DJANGO_SETTINGS_MODULE": "example.settings",
        "EXAMPLE_DATABASE_URL": f"sqlite:///{database}",
        "EXAMPLE_BASE_URL": BASE,
        "EXAMPLE_DEBUG": "",
    }
    done = subprocess.run(  # noqa: S603 - our own interpreter and arguments
        [sys.executable, *command], env=environ, capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    return done.stdout


def manage(database: Path, *command: str) -> str:
    return run(database, str(EXAMPLE / "manage.py"), *command)


def inside(database: Path, function: str, *arguments: str) -> Any:
    """Run one of the functions above in the example project, and return its result."""
    return json.loads(run(database, "-m", "tests.test_example_project", function, *arguments))


class Site(NamedTuple):
    """The files that a small demo creates."""

    folder: Path
    said: str

    @property
    def database(self) -> Path:
        return self.folder / "db.sqlite3"

    @property
    def public(self) -> Path:
        return self.folder / "public"

    def fetch(self, urls: Iterable[str]) -> dict[str, tuple[int, str]]:
        (self.folder / "urls.json").write_text(json.dumps(list(urls)))
        return inside(self.database, "fetch", str(self.folder / "urls.json"))

    def exported(self) -> dict[str, str]:
        """Return the text of each page in the exported index, by the URL of the uncompressed page."""
        named = locations((self.public / "sitemap.xml").read_text())
        assert all(url.startswith(f"{BASE}/") for url in named)
        return {
            url.removesuffix(".gz"): gzip.decompress((self.public / Path(url).name).read_bytes()).decode()
            for url in named
        }


def locations(document: str) -> list[str]:
    return [str(loc.text) for loc in ElementTree.fromstring(document).iter(LOC)]  # noqa: S314


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    folder = tmp_path_factory.mktemp("example")
    command = ["demo", "--articles=300", "--products=40", f"--output={folder / 'public'}"]
    return Site(folder, manage(folder / "db.sqlite3", *command))


def test_the_export_lists_what_is_in_the_database_and_nothing_twice(site: Site) -> None:
    named = [url for page in site.exported().values() for url in locations(page)]
    expected = [url for url, _ in inside(site.database, "listed")]
    assert len(named) == 3 + 4 + 294 + 2 * 40
    assert sorted(map(unquote, named)) == sorted(expected)


def test_every_url_that_an_exported_sitemap_names_answers_with_its_title_escaped(site: Site) -> None:
    titles = dict(inside(site.database, "listed"))
    named = [url for page in site.exported().values() for url in locations(page)]
    for url, (status, body) in site.fetch(named).items():
        assert status == 200, url
        assert html.escape(titles[unquote(url)]) in body


def test_every_file_of_the_demo_is_valid_by_the_schemas(site: Site, schema: Schemas) -> None:
    files = sorted(site.public.glob("sitemap*.xml*"))
    assert len(files) == 5
    for file in files:
        content = file.read_bytes()
        document = gzip.decompress(content) if file.suffix == ".gz" else content
        schema.assertValid(etree.fromstring(document))


def test_every_alternate_is_one_of_the_listed_urls(site: Site) -> None:
    (products,) = [text for url, text in site.exported().items() if "products" in url]
    links = ElementTree.fromstring(products).iter(LINK)  # noqa: S314
    assert {link.attrib["href"] for link in links} == set(locations(products))


def test_the_live_pages_are_the_exported_ones(site: Site) -> None:
    exported = site.exported()
    live = site.fetch(exported)
    assert {url: (200, text) for url, text in exported.items()} == {u: tuple(f) for u, f in live.items()}


def test_robots_txt_names_the_index_in_the_folder_and_live(site: Site) -> None:
    line = f"Sitemap: {BASE}/sitemap.xml"
    ((status, live),) = site.fetch(["/robots.txt"]).values()
    assert status == 200
    assert line in live.splitlines()
    assert line in (site.public / "robots.txt").read_text().splitlines()


def test_the_urls_that_the_demo_prints_exist(site: Site) -> None:
    urls = re.findall(rf"^    ({BASE}/\S*) ", site.said, re.MULTILINE)
    assert len(urls) >= 5
    responses = site.fetch(urls)
    assert responses.pop(f"{BASE}/sitemaps/")[0] == 302
    assert {status for status, _ in responses.values()} == {200}
    assert f"{sys.executable} " in site.said
    assert str(site.public) in site.said


def test_the_demo_exports_again_and_audits_the_files(site: Site) -> None:
    assert "products: 1 page not rendered (unchanged)" in site.said
    unchanged = f"\nNothing has changed in {BASE}/sitemap.xml, published to {site.public}\n"
    assert site.said.count(unchanged) == 1
    assert "read 5 documents with 381 URLs in " in site.said
    assert "\nNothing is wrong with the documents. " in site.said


def test_without_the_extra_the_demo_says_how_to_audit(site: Site, tmp_path: Path) -> None:
    code = "import sys; sys.modules['lxml'] = None; sys.argv = ['manage.py', *sys.argv[1:]]; "
    code += "from django.core.management import execute_from_command_line; execute_from_command_line()"
    said = run(site.database, "-c", code, "demo", f"--output={tmp_path / 'public'}")
    assert f"not installed: {sys.executable} -m pip install lxml protego urllib3\n" in said
    assert said.rstrip().endswith("the app written for django.contrib.sitemaps")


def test_only_a_terminal_shows_a_counter_of_rows(site: Site, tmp_path: Path) -> None:
    pytest.importorskip("pty", reason="needs pseudo-terminals, which this system does not have")
    # `run()` would read a carriage return as the end of a line.
    read = "os.read(terminal, 99).replace(b'\\r', b'<CR>')"
    code = f"import os, pty, sys; pty.spawn(sys.argv[1:], lambda terminal: {read})"
    demo = [str(EXAMPLE / "manage.py"), "demo", "--articles=3000", f"--output={tmp_path / 'public'}"]
    said = run(tmp_path / "db.sqlite3", "-c", code, sys.executable, *demo)
    assert "articles: 2,000 of 3,000<CR>articles: 3,000 of 3,000<CR>articles: 3,000, 3,000 of" in said
    assert "articles: 300, 300 of them new" in site.said
    assert "of 300" not in site.said


def test_the_inspector_accepts_the_last_password_that_was_printed(site: Site) -> None:
    said = manage(site.database, "demo", f"--output={site.public}")
    [password] = re.findall(r"log in as demo with the password (\S+)$", said, re.MULTILINE)
    pages = inside(site.database, "inspect", password, "/sitemaps/url/?url=/about/")
    (status, overview), (_, answer) = pages
    assert status == 200
    assert '<h2 id="sitemaps09-sections">Sections</h2>' in overview
    assert f'<p class="sitemaps09-url">{BASE}/about/</p>' in answer


def test_the_app_that_came_from_contrib_has_its_pages_and_its_own_templates(site: Site) -> None:
    ((_, index),) = site.fetch(["/legacy/sitemap.xml"]).values()
    assert "<!-- Events, by the project's own template -->" in index
    pages = [
        f"{BASE}/legacy/sitemap-{name}" for name in ("upcoming.xml", "upcoming.xml?p=2", "archive.xml")
    ]
    assert locations(index) == pages
    bodies = [body for _, body in site.fetch(pages).values()]
    assert [len(locations(body)) for body in bodies] == [50, 40, 30]
    events = [url for body in bodies for url in locations(body)]
    assert len(set(events)) == len(events) == 120
    assert {status for status, _ in site.fetch(events).values()} == {200}
    titles = [str(e.text) for b in bodies for e in ElementTree.fromstring(b).iter(NEWS_TITLE)]  # noqa: S314
    assert sorted(titles) == sorted(event["title"] for event in inside(site.database, "dump")["Event"])
    ((status, _),) = site.fetch(["/legacy/sitemap-upcoming.xml?p=3"]).values()
    assert status == 404


def test_a_second_demo_adds_no_row_and_changes_no_page(site: Site) -> None:
    before, pages = inside(site.database, "dump"), site.exported()
    manage(site.database, "demo", "--articles=500", f"--output={site.public}")
    assert inside(site.database, "dump") == before
    assert site.exported() == pages


@pytest.mark.parametrize("target", ["folder", "live"])
def test_an_audit_finds_nothing_in_the_export_and_in_the_live_views(site: Site, target: str) -> None:
    arguments = [f"--dir={site.public}"] if target == "folder" else []
    said = manage(site.database, "audit_sitemaps", "--strict", "--fetch=all", *arguments)
    read, result = said.splitlines()
    assert "read 5 documents with 381 URLs, 381 pages fetched in " in read
    assert result.startswith("Nothing is wrong with the documents.")


@pytest.mark.parametrize("steps", [[(300, 40)], [(120, 10), (300, 40), (10, 0)]], ids=["once", "topped-up"])
def test_the_same_numbers_give_the_same_rows(
    site: Site, tmp_path: Path, steps: list[tuple[int, int]]
) -> None:
    database = tmp_path / "db.sqlite3"
    manage(database, "migrate", "-v0")
    for articles, products in steps:
        manage(database, "populate", f"--articles={articles}", f"--products={products}")
    found, expected = inside(database, "dump"), inside(site.database, "dump")
    if len(steps) > 1:
        # Trying to insert an existing row may use up an id.
        for row in (row for rows in [*found.values(), *expected.values()] for row in rows):
            del row["id"]
    assert found == expected


def test_the_site_is_named_as_its_base_url_says(site: Site) -> None:
    (row,) = inside(site.database, "dump")["Site"]
    assert row["domain"] == "127.0.0.1:8000"


def test_the_migrations_are_those_of_the_models_and_the_checks_have_nothing_to_say(site: Site) -> None:
    manage(site.database, "makemigrations", "--check", "--dry-run")
    said = manage(site.database, "check", "--fail-level=DEBUG")
    assert said == "System check identified no issues (0 silenced).\n"


if __name__ == "__main__":
    import django
    from django.core.serializers.json import DjangoJSONEncoder
    from django.db import connections

    django.setup()
    functions = {"fetch": fetch, "inspect": inspect, "listed": listed, "dump": dump}
    answer: Any = functions[sys.argv[1]](*sys.argv[2:])
    connections.close_all()
    sys.stdout.write(json.dumps(answer, cls=DjangoJSONEncoder))
