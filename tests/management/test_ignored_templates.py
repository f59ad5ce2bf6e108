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
OWN = "{% for url in urlset %}{{ url.location }}{{ url.loc_mobile }}{% endfor %}"
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
            output = str(tmp_path / "public")
            call_command(
                "export_sitemaps", output=output, base_url=[BASE], stdout=StringIO(), stderr=stderr
            )
        return stderr.getvalue()

    return warned


EXTENDED = '{% extends "sitemap.xml" %}'
#: The templates of a project, its URL patterns, and the names of those templates that are named.
TEMPLATES: dict[str, tuple[dict[str, str], list[Any], list[str]]] = {
    "one of entries": ({"sitemap.xml": OWN}, [], ["sitemap.xml"]),
    "one of an index": ({"sitemap_index.xml": OWN}, [], ["sitemap_index.xml"]),
    "the one that a view of these sections renders": (
        {"sitemap.xml": OWN, "sitemap_index.xml": OWN},
        [path("old.xml", contrib_views.sitemap, {"sitemaps": SECTIONS})],
        ["sitemap.xml"],
    ),
    **{
        f"the one that a pattern passes to {view}": ({"mobile.xml": OWN}, [pattern], ["mobile.xml"])
        for view, pattern in {
            "ours": path("old.xml", views.sitemap, MOBILE),
            "contrib's": path("old.xml", contrib_views.sitemap, MOBILE),
            "a cached one": path("old.xml", cache_page(60)(views.sitemap), MOBILE),
            "an included one": path(
                "",
                include([path("old.xml", views.sitemap)]),
                {**MOBILE, "template_name": ["no", "mobile.xml"]},
            ),
            # The view has the mapping of the setting.
            "one without a mapping": path("old.xml", views.sitemap, {"template_name": "mobile.xml"}),
        }.items()
    },
    "none of other sections or of another view": (
        {"mobile.xml": OWN, "sitemap.xml": OWN},
        [
            path("old.xml", views.sitemap, {"sitemaps": OTHERS, "template_name": "mobile.xml"}),
            path("older.xml", views.sitemap, {"sitemaps": OTHERS}),
            path("my.xml", lambda request: None, MOBILE),
        ],
        [],
    ),
    **{
        f"none that adds nothing to {name}": ({name: text}, [], [])
        for name in ("sitemap.xml", "sitemap_index.xml")
        for text in (f'{{% extends "{name}" %}}\n', (STOCK / name).read_text().replace("\n", "\r\n  "))
    },
    **{
        f"one that may add to a stock one: {text!r}": ({"sitemap.xml": text}, [], ["sitemap.xml"])
        for text in (
            EXTENDED + "{% block urls %}{{ block.super }}{% endblock %}",
            "{% extends nothing %}",
            "",
        )
    },
    "the one that is extended": (
        {"sitemap.xml": '{% extends "mobile.xml" %}', "mobile.xml": OWN},
        [],
        ["mobile.xml"],
    ),
    "none that cannot be compiled or does not exist": (
        {"sitemap.xml": "{% no_such_tag %}"},
        [path("old.xml", views.sitemap, {"sitemaps": SECTIONS, "template_name": "no-such.xml"})],
        [],
    ),
}


class TestTemplates:
    @pytest.mark.parametrize("name", TEMPLATES)
    def test_that_add_to_entries_are_named_in_one_line(
        self, name: str, tmp_path: Path, warnings: Callable[..., str]
    ) -> None:
        files, patterns, named = TEMPLATES[name]
        for file, text in files.items():
            (tmp_path / file).write_text(text)
        said = warnings(*patterns, TEMPLATES=engine(tmp_path))
        assert [file for file in files if said.count(str(tmp_path / file)) == 1] == named
        assert len(said.splitlines()) == (1 if named else 0)
        assert not named or ("do not use these templates" in said and "extensions" in said)

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
    def test_of_the_stock_and_none_at_all_are_not_named(
        self, settings: Mapping[str, Any], warnings: Callable[..., str]
    ) -> None:
        given = {"sitemaps": SECTIONS, "template_name": "sitemap.xml"}
        assert warnings(path("old.xml", views.sitemap, given), **settings) == ""

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
