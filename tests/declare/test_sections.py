"""The registry: names, apps that are imported once at first use, and what starts and checks import."""

from __future__ import annotations

import re
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import partial
from types import MappingProxyType
from unittest import mock

import pytest
from django.contrib import sitemaps as contrib
from django.contrib.sitemaps import views as contrib_views
from django.core import checks
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.urls import include, path
from django.views.decorators.cache import cache_page
from hypothesis import given, strategies as st

import django_sitemaps09
from django_sitemaps09 import GenericSitemap, ModelSitemap, Sitemap, StaticViewSitemap, register, views
from django_sitemaps09.exceptions import SitemapError, UnknownSectionError
from tests.models import Article
from tests.support.checking import MINE, PRODUCTS, apps, ids, registry
from tests.support.internals import checks as own_checks, sections
from tests.support.processes import ROOT, ended, started
from tests.support.sections import declare

__all__ = ["apps", "registry"]
LOOKALIKE, LIST = MappingProxyType(MINE), [("mine", Sitemap)]
GENERIC = GenericSitemap({"queryset": Article.objects.all()})


def refused(function, *arguments):
    with pytest.raises(ImproperlyConfigured) as raised:
        function(*arguments)
    return str(raised.value)


def test_a_class_an_instance_or_a_factory_is_registered_by_a_function_or_a_decorator(registry):
    names = ["a", "0", "-", "_", "news-2026_de", "Index2", "indexes", "a" * 200]
    given = [Sitemap, Sitemap(), GENERIC, partial(Sitemap), list, *"abc"]
    for name, section in zip(names, given, strict=True):
        assert register(name, section) is register(f"twin-{name}")(section) is section
        assert registry[name] is registry[f"twin-{name}"] is section
    assert list(registry) == [each for name in names for each in (name, f"twin-{name}")]


def test_a_name_that_no_url_can_have_is_refused(registry):
    for name in ("", " ", "a b", "a.b", "a/b", "..", "ä", "a\n", "\na", "a%20", "а", "１"):  # noqa: RUF001
        assert "letters (a-z, A-Z), digits, hyphens and underscores" in refused(register, name, Sitemap)
    for name in ("index", "INDEX", "Index"):
        assert "reserved" in refused(register, name, Sitemap)
    for name, said in ((1, "1 (int)"), (None, "None"), (("a",), "('a',) (tuple)"), (b"a", "b'a' (bytes)")):
        assert f"a name must be a string, not {said}." in refused(register, name, Sitemap)
    assert registry == {}


@given(st.text(max_size=5) | st.text("abXY09-_./ \n", max_size=5))
def test_a_name_is_valid_if_the_url_of_its_pages_is(name):
    is_valid = re.fullmatch("[a-zA-Z0-9_-]+", name, re.ASCII) and name.lower() != "index"
    assert (sections.name_problem(name) is None) == bool(is_valid)


@pytest.mark.parametrize("again", ["products", "PRODUCTS"])
@pytest.mark.parametrize("how", [
    "@register({!r})\nclass Own(Sitemap): ...",
    "register({!r}, GenericSitemap({{'queryset': None}}))",
    "register({!r}, Sitemap)",
])  # fmt: skip
def test_a_taken_name_in_any_case_is_refused_with_both_modules(how, again, apps, registry):
    apps.add("shop", how.format("products"))
    apps.add("blog", how.format(again))
    taken = rf"register\({again!r}\) in blog\.sitemaps.* 'products' .* shop\.sitemaps"
    assert re.search(taken, refused(sections.registered))
    assert list(registry) == ["products"]


def test_the_first_use_imports_every_app_once_and_what_is_given_out_is_a_copy(apps):
    apps.add("shop", PRODUCTS)
    apps.add("plain", None)
    apps.add("blog", "register('articles', Sitemap)")
    register("mine", Sitemap)
    assert apps.shared.runs == []
    given_out = sections.registered()
    register("later", Sitemap)
    assert list(given_out) == ["mine", "products", "articles"]
    assert list(sections.registered()) == [*given_out, "later"]
    assert list(sections.mapping()) == list(sections.native_mapping()) == [*given_out, "later"]
    assert apps.shared.runs == ["shop", "blog"]


@pytest.mark.parametrize("name", ["MINE", "LOOKALIKE"])
def test_the_setting_or_a_passed_mapping_imports_no_app(apps, settings, name):
    apps.add("shop", PRODUCTS)
    for passed in (MINE, {}):
        assert sections.mapping(passed) is sections.native_mapping(passed) is passed
    settings.SITEMAPS09 = {"SITEMAPS": f"{__name__}.{name}"}
    assert dict(sections.mapping()) == dict(sections.native_mapping()) == MINE
    assert (sections.mapping({}), apps.shared.runs) == ({}, [])


@pytest.mark.parametrize(("path", "reason"), [
    *((path, "doesn't look like a module path") for path in ("", "nodots")),
    ("no.such.module", "No module named 'no'"), (f"{__name__}.MISSING", 'does not define a "MISSING"'),
    *((f"{__name__}.{name}", f"{name}.*is not a dict of sections") for name in ("LIST", "__name__")),
    ("shop.sitemaps.sitemaps", r"/.*sitemaps\.py, line \d+: ZeroDiv"),
])  # fmt: skip
def test_a_setting_that_leads_nowhere_is_refused_with_its_name_and_the_reason(apps, settings, path, reason):
    apps.add("shop", "sitemaps = {'a': 1 / 0}")
    settings.SITEMAPS09 = {"SITEMAPS": path}
    assert re.search(rf"SITEMAPS09\['SITEMAPS'\].*{reason}", refused(sections.mapping))


FACTORIES = "Sitemap", "lambda: Sitemap()", "GenericSitemap({'queryset': None})", "shared.partial(Sitemap)"
REGISTERING = [PRODUCTS, *(f"register('products', {each})" for each in FACTORIES)]
FAILING = {
    "1 / 0": "ZeroDivisionError", "import shop.nothing": r"ModuleNotFoundError: .*shop\.nothing",
    "raise SystemExit(3)": "SystemExit: 3",
}  # fmt: skip


@pytest.mark.parametrize("registering", REGISTERING)
@pytest.mark.parametrize("failing", FAILING)
def test_a_module_that_fails_raises_its_error_again(apps, registering, failing):
    apps.shared.partial, error = partial, FAILING[failing]
    apps.add("shop", f"{textwrap.dedent(registering)}\n{failing}")
    apps.add("news", "register('news', Sitemap)")
    for _ in range(2):
        with pytest.raises(ImproperlyConfigured, match=rf"sitemaps\.py, line \d+: {error}") as raised:
            sections.registered()
        assert type(raised.value.__cause__).__name__ == error.partition(":")[0]
    apps.write("shop", registering)
    assert list(sections.registered()) == ["products", "news"]
    assert apps.shared.runs == ["shop", "shop", "shop", "news"]


def test_a_module_may_ask_for_the_registry_while_it_registers(apps):
    apps.add("shop", PRODUCTS)
    apps.add("blog", "from django_sitemaps09.declare.sections import *\nshared.seen = list(registered())")
    assert list(sections.registered()) == apps.shared.seen == ["products"]


def at_once(function):
    meeting = threading.Barrier(8)

    def meet(number):
        meeting.wait(10)
        return function(number)

    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(meet, range(8)))


def test_concurrent_threads_all_get_all_sections_of_one_discovery(apps):
    apps.add("shop", f"import time\ntime.sleep(0.05)\n{textwrap.dedent(PRODUCTS)}")
    apps.add("blog", "register('articles', Sitemap)")
    assert at_once(lambda number: list(sections.registered())) == [["products", "articles"]] * 8
    assert apps.shared.runs == ["shop", "blog"]


def test_threads_that_register_at_once_lose_no_section_and_take_no_name_twice(registry):
    def add(number):
        register(f"own-{number}", Sitemap)
        try:
            register("contested", Sitemap)
        except ImproperlyConfigured:
            return "refused"
        return "taken"

    assert sorted(at_once(add)) == ["refused"] * 7 + ["taken"]
    assert {*registry} == {"contested", *(f"own-{number}" for number in range(8))}


def test_a_module_that_another_thread_is_importing_does_not_block_discovery_forever(apps):
    """The discovering thread waits for the module, while the module's own thread registers sections."""
    apps.shared.first, apps.shared.go = threading.Event(), threading.Event()
    apps.add("asked", "shared.discovering = True\nshared.go.set()")
    apps.add("shop", f"shared.first.set()\nshared.go.wait(10)\n{textwrap.dedent(PRODUCTS)}")
    importing = threading.Thread(target=lambda: __import__("shop.sitemaps"), daemon=True)
    importing.start()
    assert apps.shared.first.wait(10)
    discovering = threading.Thread(target=sections.registered, daemon=True)
    discovering.start()
    for thread in (importing, discovering):
        thread.join(5)
        assert not thread.is_alive()
    assert list(sections.registered()) == ["products"]


class Meanwhile:
    """A finder that lets another thread register during the search for an app's `sitemaps` module."""

    asked = False

    def find_spec(self, name, path=None, target=None):
        if name == "plain.sitemaps" and not self.asked:
            self.asked = True
            other = threading.Thread(target=register, args=("other", Sitemap))
            other.start()
            other.join(10)


def test_what_another_thread_registers_while_an_app_is_imported_is_kept(apps, monkeypatch):
    monkeypatch.setattr(sys, "meta_path", [Meanwhile(), *sys.meta_path])
    apps.add("plain", None)
    assert list(sections.registered()) == ["other"]


@pytest.mark.parametrize(("mapping", "problem"), [
    ({"a b": Sitemap}, "'a b' has an invalid name: use only"),
    ({"fine": Sitemap, 7: Sitemap}, "7 has an invalid name: a name must be a string, not 7 (int)"),
    ({"Index": Sitemap}, "reserved"),
    ({"news": Sitemap, "News": Sitemap}, "'news' and 'News' differ only in case"),
])  # fmt: skip
def test_names_that_native_views_cannot_have_are_refused_and_compat_views_take_them(mapping, problem):
    assert problem in refused(sections.native_mapping, mapping)
    assert sections.mapping(mapping) is mapping
    for sitemaps in (Sitemap, Sitemap(), [Sitemap]):
        assert "`sitemaps` of a view is not a dict of sections" in refused(sections.mapping, sitemaps)


def test_a_class_and_a_factory_are_called_each_time_and_an_instance_is_what_it_is():
    assert sections.instance(GENERIC) is GENERIC
    for section in (Sitemap, lambda: Sitemap(), partial(Sitemap)):
        one, other = sections.instance(section), sections.instance(section)
        assert isinstance(one, Sitemap)
        assert one is not other
    with pytest.raises(ZeroDivisionError):
        sections.instance(lambda: 1 / 0)


def test_an_unknown_name_is_reported_with_the_nearest_or_all_names():
    for name, known, advice in (
        ("product", ["products", "news"], "Did you mean 'products'?"),
        ("x", ["products", "news"], "Valid names: news, products."),
        ("x", [], "Valid names: none."),
    ):
        with pytest.raises(UnknownSectionError) as raised:
            sections.check_known([*known, name], dict.fromkeys(known))
        assert isinstance(raised.value, SitemapError)
        assert str(raised.value) == f"There is no section {name!r}. {advice}"


def test_a_class_chooses_its_sitemap_for_each_host():
    chosen = declare(Sitemap, for_host=lambda self, domain: declare(Sitemap, domain=domain)())
    by_class = declare(Sitemap, for_host=classmethod(lambda cls, domain: chosen().for_host(domain)))
    for section in (chosen, chosen(), by_class):
        assert sections.bind(section, "www.example.org").domain == "www.example.org"


@pytest.mark.parametrize("section", ["/about/", {"url": "/"}, list, lambda: Sitemap])
def test_a_section_and_what_it_chooses_must_be_a_sitemap(section):
    problem = refused(sections.bind, section, "www.example.org")
    assert re.match("A section must be a sitemap, not .* Subclass", problem)
    for result in (None, "www.example.org", Sitemap):
        chosen = declare(Sitemap, for_host=lambda self, domain, *, result=result: result)
        says = "Declared.for_host() must return a sitemap, not"
        assert says in refused(sections.bind, chosen, "www.example.org")


def test_only_a_method_of_the_class_that_takes_a_host_chooses_a_sitemap():
    def unrelated(self, request, host):
        raise AssertionError("an unrelated method is called")

    # A class written for Django's package can have any method.
    own = declare(Sitemap, for_host="a value of the project")()
    for section in (declare(contrib.Sitemap, for_host=unrelated)(), own):
        assert sections.bind(section, "www.example.org") is section
    stub = mock.Mock(spec=Sitemap)
    assert sections.bind(lambda: stub, "www.example.org") is stub


def test_rows_of_a_chosen_sitemap_are_those_of_the_site_too():
    chosen = declare(site_field="sites", for_host=lambda self, domain: copy(self))
    assert sections.bind(chosen, "www.example.org")._sitemaps09_domain == "www.example.org"
    own = ModelSitemap()
    own.site_field, own.items = "sites", list
    problem = refused(sections.bind, own, "www.example.org")
    assert "overrides items(), which could list rows of other" in problem
    assert ids(own)[-1:] == ["E055"]


def run(code, *paths):
    environ = {"PYTHONPATH": ":".join(map(str, [ROOT, *paths]))}
    status, out, err = ended(started("-W", "error::DeprecationWarning", "-c", code, environ=environ))
    assert (status, err) == (0, "")
    return out.split()


def test_the_package_can_be_imported_without_settings():
    code = """
import django_sitemaps09
from django_sitemaps09 import *
from django.conf import settings
for name in django_sitemaps09.__all__:
    assert globals()[name] is getattr(django_sitemaps09, name)
register("products", Sitemap)
register("news")(ModelSitemap)
print(settings.configured, *sorted(django_sitemaps09.__all__))
"""
    names = "Alternate Extension GenericSitemap Image ModelSitemap News NewsSitemap PathTemplate Platform "
    names += "Restriction Route Sitemap StaticViewSitemap Video register"
    assert (run(code), sorted(django_sitemaps09.__all__)) == (["False", *names.split()], names.split())


def test_neither_import_nor_start_up_imports_an_app(tmp_path):
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "__init__.py").touch()
    (tmp_path / "shop" / "sitemaps.py").write_text("print('asked')")
    code = """
import sys, django
from django.conf import settings
settings.configure(INSTALLED_APPS=["django_sitemaps09", "shop"])
django.setup()
from django_sitemaps09 import views, export
from django_sitemaps09.declare import sections
print("shop.sitemaps" in sys.modules)
sections.registered()
sections.registered()
"""
    assert run(code, tmp_path) == ["False", "asked"]


PASSED = {"sitemaps": MINE}
STALE = "from django.utils.translation import ugettext_lazy"
INDEX = [path("a", views.index, PASSED)]


@pytest.mark.parametrize(("keys", "patterns", "asked"), [
    # Registered sections are served.
    ({}, [path("", include("django_sitemaps09.urls"))], True),
    ({}, [path("a", views.index)], True),
    ({}, [path("a", cache_page(60)(views.sitemap), PASSED), path("b", views.index)], True),
    # All views are passed a mapping.
    ({}, [*INDEX, path("b", cache_page(60)(views.sitemap), PASSED)], False),
    ({}, [path("", include("django_sitemaps09.urls"), PASSED), path("r", views.robots_txt)], False),
    ({"BASE_URL": "https://www.example.com"}, INDEX, False),
    # Registered sections are exported.
    ({"ROOT": "public"}, INDEX, True),
    ({"ROBOTS_TXT": "robots.txt"}, [], True),
    # The setting SITEMAPS names the exported sections.
    ({"ROOT": "public", "SITEMAPS": f"{__name__}.MINE"}, [path("a", views.index)], False),
    # The project's own views can pass anything, and contrib's views do not use the registry.
    ({}, [], False),
    ({}, [path("a", contrib_views.index, PASSED)], False),
])  # fmt: skip
def test_checks_import_only_what_is_served_or_exported(apps, settings, keys, patterns, asked):
    """An old module that is no longer imported must not stop `migrate`."""
    apps.add("shop", STALE)
    settings.SITEMAPS09, settings.ROOT_URLCONF = keys, tuple(patterns)
    found = [message.id for message in own_checks.check_sections()], apps.shared.runs
    assert found == ((["sitemaps09.E005"], ["shop"]) if asked else ([], []))


def test_checks_see_what_is_registered_already(apps, settings):
    apps.add("shop", STALE)
    settings.ROOT_URLCONF = tuple(INDEX)
    register("mine", declare(StaticViewSitemap, priority=7))
    assert [message.id for message in own_checks.check_sections()] == ["sitemaps09.W012"]
    assert apps.shared.runs == []


def test_the_command_that_exports_the_registered_sections_checks_them(apps, settings, folder, monkeypatch):
    # Django's own checks need apps that this project does not have.
    monkeypatch.setattr(checks.registry.registry, "registered_checks", {own_checks.check_sections})
    apps.add("shop", "register('wrong', type('Wrong', (Sitemap,), {'location': Route('nowhere')}))")
    settings.ROOT_URLCONF = tuple(INDEX)
    assert own_checks.check_sections() == []
    with pytest.raises(SystemCheckError, match=r"sitemaps09\.E021"):
        call_command("export_sitemaps", output=str(folder), skip_checks=False)


MUTE = "from django.core.exceptions import *\nclass Mute({}):\n    __str__ = None\nraise Mute"


@pytest.mark.parametrize("path", [None, "shop.sitemaps.SITEMAPS", "shop.sitemaps.more.SITEMAPS"])
@pytest.mark.parametrize("text", [
    *("raise RuntimeError('X is in no app')", "{}['products']", "import os\nos.nothing", STALE),
    *("class Products(Nothing): ...", "assert False", "import sys\nsys.exit()", "def broken(:"),
    "import textwrap\ntextwrap.dedent(1)",
    *map(MUTE.format, ("Exception", "ImproperlyConfigured")),
])  # fmt: skip
def test_whatever_a_module_raises_is_one_message_with_the_file_and_the_line(apps, settings, text, path):
    apps.add("shop", text)
    settings.SITEMAPS09 = {"SITEMAPS": path}
    [message] = own_checks.check_sections()
    file = apps.folder / "shop" / "sitemaps.py"
    line = len(file.read_text().splitlines())
    assert (message.id, f"{file}, line {line}: " in message.msg) == ("sitemaps09.E005", True)
