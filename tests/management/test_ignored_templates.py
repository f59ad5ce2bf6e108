"""A warning names what a project's template or `get_urls()` adds to entries and an export ignores."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
from django.contrib import sitemaps as contrib
from django.contrib.sitemaps import views as contrib_views
from django.urls import include, path
from django.views.decorators.cache import cache_page

from django_sitemaps09 import Image, Sitemap, views
from django_sitemaps09.export import export
from django_sitemaps09.management.commands.export_sitemaps import ignored_templates
from tests.support.commands import said
from tests.support.configuration import BASE
from tests.support.published import unpacked
from tests.support.sections import declare, listing

STOCK = Path(contrib_views.__file__).parent / "templates"
ENGINE = "django.template.backends.django.DjangoTemplates"
PAGES = listing([1, 2], contrib.Sitemap)


def adding(keys, **attributes):
    def get_urls(self, *args, **kwargs):
        return [url | keys for url in PAGES.get_urls(self, *args, **kwargs)]

    return declare(PAGES, get_urls=get_urls, **attributes)


SECTIONS, OTHERS = {"pages": PAGES}, {"pages": adding({"image": "/cover.jpg", "loc_mobile": "/m/"})}
OWN = "{% for url in urlset %}{{ url.location }}{{ url.loc_mobile }}{% endfor %}"
EXTENDED = '{% extends "sitemap.xml" %}'
MOBILE = {"sitemaps": SECTIONS, "template_name": "mobile.xml"}
SEVERAL = {**MOBILE, "template_name": ["no", "mobile.xml"]}
NO_NAME, NAMED_ONLY = {"sitemaps": SECTIONS}, {"template_name": "mobile.xml"}


def view(function, arguments):
    return path("old.xml", function, arguments)


#: The names of those templates that are named, the templates of a project, and its URL patterns.
TEMPLATES = [
    (["sitemap.xml"], {"sitemap.xml": OWN}),
    (["sitemap_index.xml"], {"sitemap_index.xml": OWN}),
    # The one that a view of these sections renders
    (["sitemap.xml"], {"sitemap.xml": OWN, "sitemap_index.xml": OWN}, view(contrib_views.sitemap, NO_NAME)),
    # Those that patterns pass to views. Without a mapping, the view has that of the setting.
    (["mobile.xml"], {"mobile.xml": OWN}, view(views.sitemap, MOBILE)),
    (["mobile.xml"], {"mobile.xml": OWN}, view(contrib_views.sitemap, MOBILE)),
    (["mobile.xml"], {"mobile.xml": OWN}, view(cache_page(60)(views.sitemap), MOBILE)),
    (["mobile.xml"], {"mobile.xml": OWN}, path("", include([path("old.xml", views.sitemap)]), SEVERAL)),
    (["mobile.xml"], {"mobile.xml": OWN}, view(views.sitemap, NAMED_ONLY)),
    # Those of other sections or of another view
    ([], {"mobile.xml": OWN}, view(views.sitemap, {**MOBILE, "sitemaps": OTHERS})),
    ([], {"sitemap.xml": OWN}, view(views.sitemap, {"sitemaps": OTHERS}), path("my", lambda _: 0, MOBILE)),
    # Those that add nothing to a stock one, and those that may
    *(([], {name: text}) for name in ("sitemap.xml", "sitemap_index.xml")
      for text in (f'{{% extends "{name}" %}}\n', (STOCK / name).read_text().replace("\n", "\r\n  "))),
    (["sitemap.xml"], {"sitemap.xml": EXTENDED + "{% block urls %}{{ block.super }}{% endblock %}"}),
    *((["sitemap.xml"], {"sitemap.xml": text}) for text in ("{% extends nothing %}", "")),
    (["mobile.xml"], {"sitemap.xml": '{% extends "mobile.xml" %}', "mobile.xml": OWN}),
    # Those that cannot be compiled or do not exist
    ([], {"sitemap.xml": "{% no_such_tag %}"}, view(views.sitemap, {**MOBILE, "template_name": "no.xml"})),
]  # fmt: skip


def engine(*folders):
    return [{"BACKEND": ENGINE, "DIRS": [str(folder) for folder in folders], "APP_DIRS": True}]


@pytest.fixture
def warnings(tmp_path, settings):
    def warned(*patterns, sitemaps="SECTIONS", **changes):
        urlconf = ModuleType("urlconf")
        urlconf.urlpatterns = patterns
        changes = {"SITEMAPS09": {"SITEMAPS": f"{__name__}.{sitemaps}"}, "ROOT_URLCONF": urlconf, **changes}
        for name, value in changes.items():
            setattr(settings, name, value)
        return said("export_sitemaps", output=str(tmp_path / "public"), base_url=[BASE])[1]

    return warned


@pytest.mark.parametrize("row", TEMPLATES)
def test_templates_that_add_to_entries_are_named_in_one_line(row, tmp_path, warnings):
    named, files, *patterns = row
    for file, text in files.items():
        (tmp_path / file).write_text(text)
    output = warnings(*patterns, TEMPLATES=engine(tmp_path))
    assert [file for file in files if output.count(str(tmp_path / file)) == 1] == named
    assert len(output.splitlines()) == (1 if named else 0)
    assert not named or ("do not use these templates" in output and "extensions" in output)


@pytest.mark.parametrize("changes", [
    *({}, {"TEMPLATES": []}, {"TEMPLATES": engine(STOCK)}, {"TEMPLATES": engine(), "ROOT_URLCONF": ""}),
    {"TEMPLATES": [{"BACKEND": "no.such.Engine"}]},
])  # fmt: skip
def test_templates_of_the_stock_or_none_at_all_are_not_named(changes, warnings):
    assert warnings(view(views.sitemap, {**NO_NAME, "template_name": "sitemap.xml"}), **changes) == ""


def test_a_urlconf_that_cannot_be_imported_stops_no_export(tmp_path, settings):
    settings.ROOT_URLCONF, settings.TEMPLATES = "no.such.urls", engine(tmp_path)
    assert ignored_templates() == []


def exported(folder, **sitemaps):
    return export(output=folder, base_url=BASE, sitemaps=sitemaps)


@pytest.mark.usefixtures("cached_site")
def test_keys_that_are_not_written_are_named_once_a_section_but_only_a_few(warnings, tmp_path):
    [line] = warnings(sitemaps="OTHERS").splitlines()
    assert ("'pages'" in line, ": image, loc_mobile." in line) == (True, True)
    many = adding({f"key-{n}" + "x" * n + "\x1b": n for n in range(100)}, limit=1)
    report = exported(tmp_path / "many", pages=many)
    [section] = report.sections
    assert len(section.ignored_keys) == 5
    assert all(len(key) <= 40 and key.isprintable() for key in section.ignored_keys)
    assert (section.errors, report.as_dict()["sections"][0]["ignored_keys"]) == ((), section.ignored_keys)


HOOKED = listing([1], **dict.fromkeys(("i18n", "alternates", "x_default"), True), changefreq="daily",
                 images=lambda self, item: [Image("/cover.jpg")],
                 get_urls=lambda self, *args, **named: Sitemap.get_urls(self, *args, **named))  # fmt: skip


@pytest.mark.usefixtures("cached_site")
def test_keys_of_contrib_and_those_that_a_hook_gave_are_not_named(tmp_path):
    images = adding({"images": [{"loc": "/a.jpg"}], "videos": None})
    assert exported(tmp_path / "a", pages=images).sections[0].ignored_keys == ["images"]
    assert exported(tmp_path / "b", hooked=HOOKED, pages=PAGES).warnings == []
    assert b"image:loc" in unpacked(tmp_path / "b")["sitemap-hooked-1.xml.gz"]


@pytest.mark.usefixtures("cached_site")
def test_a_mapping_that_cannot_be_inspected_is_exported_as_before(tmp_path):
    class Url(dict):
        def __iter__(self):
            raise TypeError("not to be looked through")

    def get_urls(self, *args, **kwargs):
        return [Url(url) for url in PAGES.get_urls(self, *args, **kwargs)]

    report = exported(tmp_path, pages=declare(PAGES, get_urls=get_urls))
    assert (report.urls, report.warnings, report.failures) == (2, [], [])
