"""Messages of `manage.py` for typical mistakes in a new project."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db.models import F
from django.test import Client

from django_sitemaps09 import ModelSitemap, Route, Sitemap
from django_sitemaps09.checks import check_declarations
from django_sitemaps09.export import export
from tests.docs.pages import ROOT, blocks
from tests.models import Article
from tests.support.sections import Numbers

#: In seconds.
DEADLINE = 60
MANAGE = """
import os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "site_settings"
from django.core.management import execute_from_command_line
execute_from_command_line(sys.argv)
"""
SETTINGS = """
from pathlib import Path
BASE_DIR = Path(__file__).parent
SECRET_KEY = "first steps"
DEBUG = True
ROOT_URLCONF = "site_urls"
ALLOWED_HOSTS = ["*"]
INSTALLED_APPS = ["django_sitemaps09", "shop"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": BASE_DIR / "db.sqlite3"}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
SITEMAPS09 = {"BASE_URL": "https://www.example.com"}
"""
URLS = """
from django.http import HttpResponse
from django.urls import include, path
urlpatterns = [
    path("", include("django_sitemaps09.urls")),
    path("<slug:category>/<slug:slug>/", lambda request, **given: HttpResponse(), name="product-detail"),
]
"""
MODELS = """
from django.db import models
class Product(models.Model):
    category = models.CharField(max_length=20)
    slug = models.CharField(max_length=20)
"""
HEAD = """
from django.db.models import F
from django_sitemaps09 import ModelSitemap, Route, Sitemap, StaticViewSitemap, register
from shop.models import Product
"""


class Project:
    """A new project with one app."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "shop").mkdir()
        for name, text in {
            "manage.py": MANAGE,
            "site_settings.py": SETTINGS,
            "site_urls.py": URLS,
            "shop/__init__.py": "",
            "shop/models.py": MODELS,
        }.items():
            (folder / name).write_text(text)

    @property
    def sitemaps(self) -> Path:
        return self.folder / "shop" / "sitemaps.py"

    def declare(self, text: str) -> int:
        """Write the app's `sitemaps.py`, and return the number of its last line."""
        content = f"{HEAD}{text}\n"
        self.sitemaps.write_text(content)
        return len(content.splitlines())

    def manage(self, *arguments: object) -> tuple[int, str, str]:
        """Run `manage.py`, and return exit status, standard output and standard error."""
        paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        done = subprocess.run(  # noqa: S603 our own interpreter and arguments
            [sys.executable, "manage.py", *map(str, arguments)],
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            encoding="utf-8",
            timeout=DEADLINE,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    def is_refused(self, *arguments: object) -> str:
        """Run a command that must fail, and return its errors, which have no traceback."""
        status, out, err = self.manage(*arguments)
        assert status == 1, (out, err)
        assert "Traceback" not in err
        return err


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_a_module_that_cannot_be_imported_is_named_with_its_line(project: Project) -> None:
    line = project.declare("Prodcut.objects.all()")
    words = f"{project.sitemaps}, line {line}: NameError: name 'Prodcut' is not defined"
    said = project.is_refused("check")
    assert "(sitemaps09.E005)" in said
    assert words in said
    assert words in project.is_refused("export_sitemaps", "--output", "public")


def test_an_import_that_fails_elsewhere_is_named_with_the_line_of_the_module(project: Project) -> None:
    (project.folder / "shop" / "helpers.py").write_text("\n\n1 / 0\n")
    line = project.declare("from shop import helpers")
    assert f"{project.sitemaps}, line {line}: ZeroDivisionError: " in project.is_refused("check")


def declared(base: type = ModelSitemap, **attributes: Any) -> Any:
    return type("Products", (base,), attributes)


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        pytest.param(
            {"location": Route("seat", F("pk"))},
            "accepts the given arguments (1 positional); accepted: row, number.",
            id="a missing positional argument",
        ),
        pytest.param(
            {"location": Route(Article, slug=F("slug"))},  # type: ignore[arg-type]
            "but its first argument is not the name of a URL pattern.",
            id="not a name",
        ),
    ],
)
def test_a_wrong_declaration_says_what_to_do(attributes: dict[str, Any], words: str) -> None:
    messages = check_declarations([declared(**{"model": Article, **attributes})])
    assert words in "".join(f"{message.msg}\n{message.hint}" for message in messages)


def test_a_wrong_declaration_is_reported_before_anything_is_exported(project: Project) -> None:
    project.declare('@register("products")\nclass Products(Sitemap):\n model = Product')
    said = project.is_refused("export_sitemaps", "--output", "public")
    assert "SystemCheckError" in said
    assert "Products has no items, because Sitemap ignores `model`.\n\tHINT: Subclass ModelSitemap" in said
    assert not (project.folder / "public").exists()


@pytest.mark.sitemaps09
@pytest.mark.parametrize(
    ("item", "words"),
    [
        ({"slug": "x"}, "Products has no `location`: define `def location(self, item)`"),
        ("home", "`def location(self, item)`, or use StaticViewSitemap for view names"),
    ],
)
def test_a_missing_location_is_reported(tmp_path: Path, item: object, words: str) -> None:
    sitemaps = {"products": declared(Sitemap, items=lambda self: [item])}
    [failure] = export(output=tmp_path, sitemaps=sitemaps).failures
    assert words in failure


@pytest.mark.sitemaps09
@pytest.mark.parametrize("below", ["", "/www", "/www/public"])
def test_an_output_folder_that_is_a_file_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, register: Callable[..., None], below: str
) -> None:
    register(home=Numbers(1))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(CommandError) as raised:
        call_command("export_sitemaps", output=f"taken{below}")
    assert str(raised.value) == (
        f"Cannot export to taken{below}: taken is a file, not a folder. Choose "
        "another folder with --output, SITEMAPS09['ROOT'] or SITEMAPS09['STORAGE']."
    )
    assert (tmp_path / "taken").read_text() == "mine"


@pytest.fixture
def use(settings: Any, register: Callable[..., None], tmp_path: Path) -> Callable[..., None]:
    """Register one section, and use the settings of a block."""

    def change(*place: str) -> None:
        [block] = blocks("python", *place)
        space: dict[str, Any] = {"BASE_DIR": tmp_path}
        exec(block.text, space)  # noqa: S102 our own page
        register(home=Numbers(1))
        settings.SITEMAPS09 = space["SITEMAPS09"]

    return change


@pytest.mark.usefixtures("cached_site")
def test_the_header_of_the_settings_page_is_sent(use: Callable[..., None]) -> None:
    use("docs/reference/settings.md", "`CACHE_CONTROL: dict[str, bool | int] = {}`")
    header = Client().get("/sitemap.xml").headers["Cache-Control"]
    assert header == "public, max-age=3600, stale-while-revalidate=86400"


@pytest.mark.usefixtures("cached_site")
def test_the_settings_for_serving_files_by_django_serve_them(
    use: Callable[..., None], tmp_path: Path
) -> None:
    use("docs/howto/serve.md", "Django")
    call_command("export_sitemaps", verbosity=0)
    file = tmp_path / "public" / "sitemap.xml"
    assert "/sitemap-home-1.xml.gz" in file.read_text()
    file.write_text("the file")
    response: Any = Client().get("/sitemap.xml")
    assert response.getvalue() == b"the file"


def test_urls_of_an_app_that_is_not_installed_are_an_error(project: Project) -> None:
    settings = project.folder / "site_settings.py"
    settings.write_text(SETTINGS.replace('"django_sitemaps09", ', ""))
    status, _, err = project.manage("check")
    assert status == 1
    assert err.rstrip().splitlines()[-1] == (
        "django.core.exceptions.ImproperlyConfigured: django_sitemaps09.urls is included in a URLconf, "
        "but the app is not installed. Add 'django_sitemaps09' to INSTALLED_APPS. This also makes "
        "the command export_sitemaps available."
    )
