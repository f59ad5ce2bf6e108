"""A warning names what a project's template or `get_urls()` adds to entries and an export ignores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pytest
from django.contrib.sitemaps import Sitemap as ContribSitemap, views as contrib_views
from django.core.management import call_command
from django.test import override_settings
from django.urls import include, path
from django.views.decorators.cache import cache_page

from django_sitemaps09 import Image, Sitemap, views
from django_sitemaps09.export import export
from django_sitemaps09.management.commands.export_sitemaps import ignored_templates
from tests.support.configuration import BASE

STOCK = Path(contrib_views.__file__).parent / "templates"
ENGINE = "django.template.backends.django.DjangoTemplates"


class Pages(ContribSitemap):
    """A third-party sitemap."""

    def items(self) -> list[int]:
        return [1, 2]

    def location(self, item: int) -> str:
        return f"/pages/{item}/"


class Decorated(Pages):
    """A sitemap that adds keys for its template."""

    added: ClassVar[dict[Any, Any]] = {}

    def get_urls(self, *args: Any, **kwargs: Any) -> list[dict[str, Any]]:
        return [url | self.added for url in super().get_urls(*args, **kwargs)]


class Mobile(Decorated):
    added: ClassVar[dict[Any, Any]] = {"image": "/cover.jpg", "loc_mobile": "/m/"}


SECTIONS: dict[str, Any] = {"pages": Pages}
OTHERS: dict[str, Any] = {"pages": Mobile}
MOBILE = {"sitemaps": SECTIONS, "template_name": "mobile.xml"}


def urlconf(*urlpatterns: Any) -> ModuleType:
    module = ModuleType("urlconf")
    module.urlpatterns = urlpatterns  # type: ignore[attr-defined]
    return module


def engine(*folders: Path) -> list[dict[str, Any]]:
    return [{"BACKEND": ENGINE, "DIRS": [str(folder) for folder in folders], "APP_DIRS": True}]


@pytest.fixture
def warnings(tmp_path: Path) -> Callable[..., str]:
    """Return the standard error of the command."""

    def warned(*urlpatterns: Any, sitemaps: str = "SECTIONS", **settings: Any) -> str:
        settings["SITEMAPS09"] = {"SITEMAPS": f"{__name__}.{sitemaps}"}
        settings.setdefault("ROOT_URLCONF", urlconf(*urlpatterns))
        stderr = StringIO()
        with override_settings(**settings):
            call_command(
                "export_sitemaps",
                output=str(tmp_path / "public"),
                base_url=[BASE],
                stdout=StringIO(),
                stderr=stderr,
            )
        return stderr.getvalue()

    return warned


def written(folder: Path, name: str = "sitemap.xml") -> Path:
    file = folder / name
    file.write_text("{% for url in urlset %}{{ url.location }}{{ url.loc_mobile }}{% endfor %}")
    return file


class TestTemplates:
    @pytest.mark.parametrize("name", ["sitemap.xml", "sitemap_index.xml"])
    def test_one_of_the_project_is_named_once(
        self, name: str, tmp_path: Path, warnings: Callable[..., str]
    ) -> None:
        file = written(tmp_path, name)
        said = warnings(TEMPLATES=engine(tmp_path))
        assert said.count(str(file)) == 1
        assert "do not use these templates" in said
        assert "extensions" in said
        assert len(said.splitlines()) == 1

    def test_one_of_the_name_that_a_view_of_these_sections_renders_is_named(
        self, tmp_path: Path, warnings: Callable[..., str]
    ) -> None:
        file, index = written(tmp_path), written(tmp_path, "sitemap_index.xml")
        patterns = path("old.xml", contrib_views.sitemap, {"sitemaps": SECTIONS})
        said = warnings(patterns, TEMPLATES=engine(tmp_path))
        assert str(file) in said
        assert str(index) not in said

    @pytest.mark.parametrize(
        "pattern",
        [
            path("old.xml", views.sitemap, MOBILE),
            path("old.xml", contrib_views.sitemap, MOBILE),
            path("old.xml", cache_page(60)(views.sitemap), MOBILE),
            path(
                "",
                include([path("old.xml", views.sitemap)]),
                {**MOBILE, "template_name": ["no", "mobile.xml"]},
            ),
            # The view has the mapping of the setting.
            path("old.xml", views.sitemap, {"template_name": "mobile.xml"}),
        ],
        ids=["ours", "contrib", "cached", "included", "no mapping"],
    )
    def test_one_that_a_pattern_passes_is_named(
        self, pattern: Any, tmp_path: Path, warnings: Callable[..., str]
    ) -> None:
        file = written(tmp_path, "mobile.xml")
        assert str(file) in warnings(pattern, TEMPLATES=engine(tmp_path))

    def test_one_of_other_sections_or_of_another_view_is_not_named(
        self, tmp_path: Path, warnings: Callable[..., str]
    ) -> None:
        written(tmp_path, "mobile.xml")
        written(tmp_path)
        given = {"sitemaps": OTHERS, "template_name": "mobile.xml"}
        patterns = [
            path("old.xml", views.sitemap, given),
            path("older.xml", views.sitemap, {"sitemaps": OTHERS}),
            path("my.xml", lambda request: None, MOBILE),
        ]
        assert warnings(*patterns, TEMPLATES=engine(tmp_path)) == ""

    @pytest.mark.parametrize(
        "settings",
        [
            {},
            {"TEMPLATES": []},
            {"TEMPLATES": engine(STOCK)},
            {"TEMPLATES": engine(), "ROOT_URLCONF": ""},
            {"TEMPLATES": [{"BACKEND": "no.such.Engine"}]},
        ],
        ids=["ours", "no setting", "contrib", "no URLconf", "no engine"],
    )
    def test_stock_templates_and_none_at_all_are_not_named(
        self, settings: Mapping[str, Any], warnings: Callable[..., str]
    ) -> None:
        given = {"sitemaps": SECTIONS, "template_name": "sitemap.xml"}
        assert warnings(path("old.xml", views.sitemap, given), **settings) == ""

    @pytest.mark.parametrize("name", ["sitemap.xml", "sitemap_index.xml"])
    def test_one_that_adds_nothing_to_a_stock_one_is_not_named(
        self, name: str, tmp_path: Path, warnings: Callable[..., str]
    ) -> None:
        (tmp_path / name).write_text(f'{{% extends "{name}" %}}\n')
        assert warnings(TEMPLATES=engine(tmp_path)) == ""
        (tmp_path / name).write_text((STOCK / name).read_text().replace("\n", "\r\n  "))
        assert warnings(TEMPLATES=engine(tmp_path)) == ""

    @pytest.mark.parametrize(
        "text",
        [
            '{% extends "sitemap.xml" %}{% block urls %}{{ block.super }}{% endblock %}',
            "{% extends nothing %}",
            "",
        ],
        ids=["blocks", "a variable", "empty"],
    )
    def test_one_that_may_add_to_a_stock_one_is_named(
        self, text: str, tmp_path: Path, warnings: Callable[..., str]
    ) -> None:
        (tmp_path / "sitemap.xml").write_text(text)
        assert str(tmp_path / "sitemap.xml") in warnings(TEMPLATES=engine(tmp_path))

    def test_the_one_that_is_extended_is_named(self, tmp_path: Path, warnings: Callable[..., str]) -> None:
        (tmp_path / "sitemap.xml").write_text('{% extends "mobile.xml" %}')
        file = written(tmp_path, "mobile.xml")
        assert str(file) in warnings(TEMPLATES=engine(tmp_path))

    def test_a_template_that_cannot_be_compiled_or_does_not_exist_stops_no_export(
        self, tmp_path: Path, warnings: Callable[..., str]
    ) -> None:
        (tmp_path / "sitemap.xml").write_text("{% no_such_tag %}")
        given = {"sitemaps": SECTIONS, "template_name": "no-such.xml"}
        assert warnings(path("old.xml", views.sitemap, given), TEMPLATES=engine(tmp_path)) == ""

    def test_a_urlconf_that_cannot_be_imported_stops_no_export(self, tmp_path: Path) -> None:
        with override_settings(ROOT_URLCONF="no.such.urls", TEMPLATES=engine(tmp_path)):
            assert ignored_templates() == []


@pytest.mark.usefixtures("cached_site")
class TestKeys:
    def test_those_that_are_not_written_are_named_once_a_section(
        self, warnings: Callable[..., str]
    ) -> None:
        [line] = warnings(sitemaps="OTHERS").splitlines()
        assert "'pages'" in line
        assert ": image, loc_mobile." in line

    def test_only_a_few_are_kept_and_shown(self, tmp_path: Path) -> None:
        class Many(Decorated):
            limit = 1
            added: ClassVar[dict[Any, Any]] = {f"key-{n}" + "x" * n + "\x1b": n for n in range(100)}

        report = export(output=tmp_path, base_url=BASE, sitemaps={"pages": Many})
        [section] = report.sections
        assert len(section.ignored_keys) == 5
        assert all(len(key) <= 40 and key.isprintable() for key in section.ignored_keys)
        assert section.errors == ()
        assert report.as_dict()["sections"][0]["ignored_keys"] == section.ignored_keys

    def test_keys_of_hooks_are_named_if_no_hook_gave_the_value(self, tmp_path: Path) -> None:
        class Images(Decorated):
            added: ClassVar[dict[Any, Any]] = {"images": [{"loc": "/a.jpg"}], "videos": None}

        report = export(output=tmp_path, base_url=BASE, sitemaps={"pages": Images})
        assert report.sections[0].ignored_keys == ["images"]

    def test_contribs_keys_and_those_of_hooks_are_not_named(self, tmp_path: Path) -> None:
        class Hooked(Sitemap[int]):
            i18n = True
            alternates = True
            x_default = True
            changefreq = "daily"

            def items(self) -> list[int]:
                return [1]

            def location(self, item: int) -> str:
                return f"/pages/{item}/"

            def images(self, item: int) -> list[Image]:
                return [Image("/cover.jpg")]

            def get_urls(self, *args: Any, **kwargs: Any) -> list[dict[str, Any]]:
                return super().get_urls(*args, **kwargs)

        report = export(output=tmp_path, base_url=BASE, sitemaps={"hooked": Hooked, "pages": Pages})
        assert report.warnings == []
        assert "image:loc" in _document(tmp_path, "sitemap-hooked-1.xml.gz")

    def test_a_mapping_that_cannot_be_inspected_is_exported_as_before(self, tmp_path: Path) -> None:
        class Url(dict[str, Any]):
            def __iter__(self) -> Any:
                raise TypeError("not to be looked through")

        class Strange(Decorated):
            def get_urls(self, *args: Any, **kwargs: Any) -> list[dict[str, Any]]:
                return [Url(url) for url in super().get_urls(*args, **kwargs)]

        report = export(output=tmp_path, base_url=BASE, sitemaps={"pages": Strange})
        assert (report.urls, report.warnings, report.failures) == (2, [], [])


def _document(folder: Path, name: str) -> str:
    import gzip

    return gzip.decompress((folder / name).read_bytes()).decode()
