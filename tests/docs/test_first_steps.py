"""Messages of `manage.py` for typical mistakes in a new project."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, blocks

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
LOCATION = 'location = Route("product-detail", category=F("category"), slug=F("slug"))'


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

    def fill(self) -> None:
        code = (
            "from django.db import connection; from shop.models import Product\n"
            "with connection.schema_editor() as editor: editor.create_model(Product)\n"
            "Product.objects.create(category='garden', slug='can')"
        )
        status, _, err = self.manage("shell", "-c", code)
        assert status == 0, err


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_the_declaration_without_mistakes_is_exported(project: Project) -> None:
    project.declare(f'@register("products")\nclass Products(ModelSitemap):\n model = Product\n {LOCATION}')
    project.fill()
    status, out, err = project.manage("export_sitemaps", "--output", "public")
    assert (status, err) == (0, "")
    assert "products: 1 URL\n" in out


class TestASitemapsModule:
    @pytest.mark.parametrize(
        ("text", "words"),
        [
            (
                "@register\nclass Products(ModelSitemap): model = Product",
                "register() needs the name of a section as its first argument: write "
                '@register("products") above Products, or register("products", Products).',
            ),
            ("Prodcut.objects.all()", "NameError: name 'Prodcut' is not defined"),
            ("from shop.nowhere import x", "ModuleNotFoundError: No module named 'shop.nowhere'"),
            ("class Products(ModelSitemap)", "SyntaxError: expected ':'"),
            (
                'Route("product-detail", F("category"), slug=F("slug"))',
                "ValueError: Route('product-detail'): reverse() takes positional or keyword arguments",
            ),
        ],
    )
    def test_that_cannot_be_imported_is_named_with_its_line(
        self, project: Project, text: str, words: str
    ) -> None:
        line = project.declare(text)
        if text.startswith("@"):
            # The decorator's line, or the class's, as this Python counts.
            line -= 1
        said = project.is_refused("check")
        assert "(sitemaps09.E005)" in said
        lines = (line, line + 1) if text.startswith("@") else (line,)
        assert any(f"{project.sitemaps}, line {at}: {words}" in said for at in lines), said
        assert words in project.is_refused("export_sitemaps", "--output", "public")

    def test_says_so_if_its_own_import_fails_elsewhere(self, project: Project) -> None:
        (project.folder / "shop" / "helpers.py").write_text("\n\n1 / 0\n")
        line = project.declare("from shop import helpers")
        assert f"{project.sitemaps}, line {line}: ZeroDivisionError: " in project.is_refused("check")

    def test_that_is_named_in_the_settings_is_named_with_its_line(self, project: Project) -> None:
        line = project.declare('SITEMAPS = {"products": Prodcuts}')
        settings = project.folder / "site_settings.py"
        settings.write_text(f'{SETTINGS}SITEMAPS09["SITEMAPS"] = "shop.sitemaps.SITEMAPS"\n')
        said = project.is_refused("check")
        assert f"SITEMAPS09['SITEMAPS']: {project.sitemaps}, line {line}: NameError: " in said


class TestADeclaration:
    @pytest.mark.parametrize(
        ("body", "words"),
        [
            (
                f"Model\n queryset = Product.objects.all\n {LOCATION}",
                "Products.queryset must be a queryset, not a function. "
                "Call the function, as in `Article.objects.all()`",
            ),
            (f"Model\n queryset = Product\n {LOCATION}", "Products.queryset must be a queryset, such as"),
            (f"Model\n queryset = [1, 2]\n {LOCATION}", "Products.queryset must be a queryset, such as"),
            (
                "\n model = Product",
                "Products has no items, because Sitemap ignores `model`.\n\t"
                "HINT: Subclass ModelSitemap instead",
            ),
            (
                'Model\n model = Product\n location = Route("product-detail", slug=F("slug"))',
                "accepts the given arguments (['slug']); accepted: category, slug.",
            ),
            (
                'Model\n model = Product\n location = Route("product-detail", F("slug"))',
                "accepts the given arguments (1 positional); accepted: category, slug.",
            ),
            (
                'Model\n model = Product\n location = Route("product-detial", slug=F("slug"))',
                "there is no URL pattern named 'product-detial' (did you mean 'product-detail'?).",
            ),
            (
                'Model\n model = Product\n location = Route(Product, slug=F("slug"))',
                "but its first argument is not the name of a URL pattern.",
            ),
        ],
    )
    def test_that_is_wrong_says_what_to_do_before_anything_is_exported(
        self, project: Project, body: str, words: str
    ) -> None:
        kind, _, body = body.partition("\n")
        project.declare(f'@register("products")\nclass Products({kind}Sitemap):\n{body}')
        said = project.is_refused("export_sitemaps", "--output", "public")
        assert "SystemCheckError" in said
        assert words in said
        assert not (project.folder / "public").exists()

    @pytest.mark.parametrize(
        ("items", "words"),
        [
            (
                '[{"slug": "x"}]',
                "Products has no `location`: define `def location(self, item)`",
            ),
            ('["home"]', "`def location(self, item)`, or use StaticViewSitemap for view names"),
        ],
    )
    def test_without_a_location_is_reported(self, project: Project, items: str, words: str) -> None:
        project.declare(
            f'@register("products")\nclass Products(Sitemap):\n def items(self): return {items}'
        )
        said = project.is_refused("export_sitemaps", "--output", "public")
        assert words in said


class TestAnOutputFolder:
    @pytest.fixture(autouse=True)
    def _declared(self, project: Project) -> None:
        project.declare(
            '@register("home")\nclass Home(Sitemap):\n'
            ' def items(self): return ["/"]\n def location(self, item): return item'
        )

    @pytest.mark.parametrize("below", ["", "/www", "/www/public"])
    def test_that_is_a_file_is_named(self, project: Project, below: str) -> None:
        (project.folder / "taken").write_text("mine")
        said = project.is_refused("export_sitemaps", "--output", f"taken{below}")
        assert said == (
            f"CommandError: Cannot export to taken{below}: taken is a file, not a folder. Choose "
            "another folder with --output, SITEMAPS09['ROOT'] or SITEMAPS09['STORAGE'].\n"
        )
        assert (project.folder / "taken").read_text() == "mine"


def test_the_header_of_the_settings_page_is_sent(project: Project) -> None:
    [block] = blocks("python", "docs/reference/settings.md", "`CACHE_CONTROL: dict[str, bool | int] = {}`")
    (project.folder / "site_settings.py").write_text(f"{SETTINGS}{block.text}\n")
    project.declare(
        '@register("home")\nclass Home(Sitemap):\n'
        ' def items(self): return ["/"]\n def location(self, item): return item'
    )
    code = "from django.test import Client; print(Client().get('/sitemap.xml').headers['Cache-Control'])"
    status, out, err = project.manage("shell", "-c", code)
    assert status == 0, err
    assert out.splitlines()[-1] == "public, max-age=3600, stale-while-revalidate=86400"


def test_the_settings_for_serving_files_by_django_serve_them(project: Project) -> None:
    [block] = blocks("python", "docs/howto/serve.md", "Django")
    base_dir = "from pathlib import Path\nBASE_DIR = Path(__file__).parent\n"
    (project.folder / "site_settings.py").write_text(f"{SETTINGS}{base_dir}{block.text}\n")
    project.declare(
        '@register("home")\nclass Home(Sitemap):\n'
        ' def items(self): return ["/"]\n def location(self, item): return item'
    )
    status, _, err = project.manage("export_sitemaps")
    assert status == 0, err
    file = project.folder / "sitemaps" / "sitemap.xml"
    assert "/sitemap-home-1.xml.gz" in file.read_text()
    file.write_text("the file")
    code = "from django.test import Client; print(Client().get('/sitemap.xml').getvalue())"
    status, out, err = project.manage("shell", "-c", code)
    assert status == 0, err
    assert out.splitlines()[-1] == "b'the file'"


class TestBaseUrl:
    @pytest.mark.parametrize(
        ("debug", "host"), [(True, "http://127.0.0.1:8000"), (False, "https://www.example.com")]
    )
    def test_of_the_recipe_is_omitted_only_in_development(
        self, project: Project, host: str, *, debug: bool
    ) -> None:
        [block] = blocks("python", "docs/reference/settings.md", "Settings")
        [recipe] = [line for line in block.text.splitlines() if "if DEBUG else" in line]
        (project.folder / "site_settings.py").write_text(f"{SETTINGS}DEBUG = {debug}\n{recipe}\n")
        project.declare(
            '@register("home")\nclass Home(Sitemap):\n'
            ' def items(self): return ["/"]\n def location(self, item): return item'
        )
        code = (
            "from django.test import Client\n"
            "for path in ('/sitemap.xml', '/sitemap-home-1.xml'):\n"
            "    print(Client().get(path, SERVER_NAME='127.0.0.1', SERVER_PORT='8000').text)"
        )
        status, out, err = project.manage("shell", "-c", code)
        assert status == 0, err
        assert f"<loc>{host}/sitemap-home-1.xml.gz</loc>" in out
        assert f"<loc>{host}/</loc>" in out


class TestInstalledApps:
    def test_without_ours_are_an_error_if_our_urls_are_included(self, project: Project) -> None:
        settings = project.folder / "site_settings.py"
        settings.write_text(SETTINGS.replace('"django_sitemaps09", ', ""))
        status, _, err = project.manage("check")
        assert status == 1
        assert err.rstrip().splitlines()[-1] == (
            "django.core.exceptions.ImproperlyConfigured: django_sitemaps09.urls is included in a URLconf, "
            "but the app is not installed. Add 'django_sitemaps09' to INSTALLED_APPS. This also makes "
            "the command export_sitemaps available."
        )
