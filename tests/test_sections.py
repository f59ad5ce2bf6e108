"""The registry: names are unique and valid in URLs, and apps are imported once, at first use."""

from __future__ import annotations

import re
import sys
import textwrap
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import partial
from types import MappingProxyType
from typing import Any
from unittest import mock

import pytest
from django.contrib import sitemaps as contrib
from django.core.exceptions import ImproperlyConfigured
from django.test import override_settings
from hypothesis import given, strategies as st

from django_sitemaps09 import GenericSitemap, ModelSitemap, Sitemap, register, sections
from django_sitemaps09.exceptions import SitemapError, UnknownSectionError
from tests.models import Article
from tests.support.apps import MINE, PRODUCTS, Apps, apps, registry
from tests.support.checking import ids

__all__ = ["apps", "registry"]


# Registering


@pytest.mark.parametrize(
    "section",
    [
        Sitemap,
        Sitemap(),
        GenericSitemap({"queryset": Article.objects.all()}),
        partial(GenericSitemap, {"queryset": Article.objects.all()}),
        lambda: Sitemap(),
    ],
    ids=["class", "instance", "generic", "partial", "factory"],
)
def test_register_as_a_function_or_a_decorator_takes_a_class_an_instance_or_a_factory(
    section: Any, registry: dict[str, Any]
) -> None:
    assert register("products", section) is register("twin")(section) is section
    assert registry == {"products": section, "twin": section}


@pytest.mark.parametrize("name", ["a", "A", "0", "-", "_", "news-2026_de", "Index2", "indexes", "a" * 200])
def test_a_name_of_letters_digits_hyphens_and_underscores_is_taken(
    name: str, registry: dict[str, Any]
) -> None:
    register(name, Sitemap)
    assert list(registry) == [name]


LETTERS = "letters (a-z, A-Z), digits, hyphens and underscores"


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        *((name, LETTERS) for name in ("", " ", "a b", "a.b", "a/b", "..", "ä", "a\n", "\na", "a%20")),
        *((name, LETTERS) for name in ("а", "１")),  # noqa: RUF001
        (1, "a name must be a string, not 1 (int)."),
        (None, "a name must be a string, not None."),
        (("a",), "a name must be a string, not ('a',) (tuple)."),
        (b"a", "a name must be a string, not b'a' (bytes)."),
        *((name, "reserved") for name in ("index", "INDEX", "Index")),
    ],
    ids=ascii,
)
def test_a_name_that_no_url_can_have_is_refused(name: Any, problem: str, registry: dict[str, Any]) -> None:
    with pytest.raises(ImproperlyConfigured, match=re.escape(problem)):
        register(name, Sitemap)
    assert registry == {}


@given(st.text(max_size=5) | st.text("abXY09-_./ \n", max_size=5))
def test_a_name_is_valid_if_the_url_of_its_pages_is(name: str) -> None:
    fine = name != "" and set(name) <= set(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
    )
    assert (sections.name_problem(name) is None) == (fine and name.lower() != "index")


@pytest.mark.parametrize("again", ["products", "PRODUCTS", "Products"])
@pytest.mark.parametrize(
    "how",
    [
        *("@register({!r})\nclass Own(Sitemap): ...", "register({!r}, type('Own', (Sitemap,), {{}}))"),
        *("register({!r}, GenericSitemap({{'queryset': None}}))", "register({!r}, Sitemap)"),
        "register({!r}, Sitemap())",
    ],
    ids=["decorator", "own class", "generic", "class of another module", "instance"],
)
def test_a_name_that_is_taken_is_refused_in_upper_and_lower_case_with_both_modules(
    how: str, again: str, apps: Apps, registry: dict[str, Any]
) -> None:
    apps.add("shop", how.format("products"))
    apps.add("blog", how.format(again))
    with pytest.raises(ImproperlyConfigured) as raised:
        sections.registered()
    found = re.search(
        r"register\((.*?)\) in blog\.sitemaps.* 'products' .* shop\.sitemaps", str(raised.value)
    )
    assert found is not None
    assert found[1] == repr(again)
    assert list(registry) == ["products"]


# Discovery


def test_the_first_use_imports_every_app_once(apps: Apps) -> None:
    apps.add("shop", PRODUCTS)
    apps.add("plain", None)
    apps.add("blog", "register('articles', Sitemap)")
    register("mine", Sitemap)
    assert apps.shared.runs == []
    assert list(sections.registered()) == ["mine", "products", "articles"]
    assert list(sections.mapping()) == list(sections.native_mapping()) == ["mine", "products", "articles"]
    assert apps.shared.runs == ["shop", "blog"]


LOOKALIKE = MappingProxyType(MINE)

LIST = [("mine", Sitemap)]


@pytest.mark.parametrize("name", ["MINE", "LOOKALIKE"])
def test_the_setting_or_a_passed_mapping_imports_no_app(apps: Apps, name: str) -> None:
    apps.add("shop", PRODUCTS)
    for passed in (MINE, {}):
        assert sections.mapping(passed) is sections.native_mapping(passed) is passed
    with override_settings(SITEMAPS09={"SITEMAPS": f"{__name__}.{name}"}):
        assert dict(sections.mapping()) == dict(sections.native_mapping()) == MINE
        assert sections.mapping({}) == {}
    assert apps.shared.runs == []


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        *((path, "doesn't look like a module path") for path in ("", "nodots")),
        ("no.such.module", "No module named 'no'"),
        (f"{__name__}.MISSING", 'does not define a "MISSING"'),
        *((f"{__name__}.{name}", "is not a dict of sections") for name in ("LIST", "Apps", "__name__")),
        ("shop.sitemaps.sitemaps", r"/.*sitemaps\.py, line \d+: ZeroDiv"),
    ],
)
def test_a_setting_that_leads_nowhere_is_refused_with_its_name_and_the_reason(
    apps: Apps, path: str, reason: str
) -> None:
    apps.add("shop", "sitemaps = {'a': 1 / 0}")
    refused = pytest.raises(ImproperlyConfigured, match=rf"SITEMAPS09\['SITEMAPS'\].*{reason}")
    with override_settings(SITEMAPS09={"SITEMAPS": path}), refused:
        sections.mapping()


@pytest.mark.parametrize("sitemaps", [Sitemap, Sitemap(), [Sitemap]])
def test_a_view_needs_sections_by_name(sitemaps: Any) -> None:
    with pytest.raises(ImproperlyConfigured, match="`sitemaps` of a view is not a dict of sections"):
        sections.mapping(sitemaps)


@pytest.mark.parametrize(
    "registering",
    [
        PRODUCTS,
        "register('products', Sitemap)",
        "register('products', lambda: Sitemap())",
        "register('products', GenericSitemap({'queryset': None}))",
        "from functools import partial\nregister('products', partial(Sitemap))",
    ],
    ids=["own class", "class of another module", "factory", "instance", "partial"],
)
@pytest.mark.parametrize(
    ("failing", "message"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("import shop.nothing", r"ModuleNotFoundError: .*shop\.nothing"),
        ("raise SystemExit(3)", "SystemExit: 3"),
    ],
)
def test_a_module_that_fails_after_registering_raises_the_same_error_again(
    apps: Apps, registering: str, failing: str, message: str
) -> None:
    apps.add("shop", f"{textwrap.dedent(registering)}\n{failing}")
    apps.add("news", "register('news', Sitemap)")
    for _ in range(2):
        with pytest.raises(ImproperlyConfigured, match=rf"sitemaps\.py, line \d+: {message}") as raised:
            sections.registered()
        assert isinstance(raised.value.__cause__, ZeroDivisionError | ModuleNotFoundError | SystemExit)
    apps.write("shop", registering)
    assert list(sections.registered()) == ["products", "news"]
    assert apps.shared.runs == ["shop", "shop", "shop", "news"]


def test_a_module_may_ask_for_the_registry_while_it_registers(apps: Apps) -> None:
    apps.add("shop", PRODUCTS)
    apps.add("blog", "from django_sitemaps09 import sections\nshared.seen = list(sections.registered())")
    assert list(sections.registered()) == apps.shared.seen == ["products"]


def test_what_is_given_out_is_a_copy(registry: dict[str, Any]) -> None:
    register("a", Sitemap)
    given_out = sections.registered()
    register("b", Sitemap)
    assert list(given_out) == ["a"]
    assert list(sections.registered()) == ["a", "b"]


def test_concurrent_threads_all_get_all_sections_of_one_discovery(apps: Apps) -> None:
    apps.add("shop", f"import time\ntime.sleep(0.05)\n{textwrap.dedent(PRODUCTS)}")
    apps.add("blog", "register('articles', Sitemap)")
    meeting = threading.Barrier(8)

    def ask(_: int) -> list[str]:
        meeting.wait(10)
        return list(sections.registered())

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(ask, range(8)))
    assert found == [["products", "articles"]] * 8
    assert apps.shared.runs == ["shop", "blog"]


def test_threads_that_register_at_once_lose_no_section_and_take_no_name_twice() -> None:
    meeting = threading.Barrier(8)

    def add(number: int) -> str:
        meeting.wait(10)
        register(f"own-{number}", Sitemap)
        try:
            register("contested", Sitemap)
        except ImproperlyConfigured:
            return "refused"
        return "taken"

    with ThreadPoolExecutor(8) as pool:
        found = sorted(pool.map(add, range(8)))
    assert found == ["refused"] * 7 + ["taken"]
    assert set(sections._registered) == {"contested", *(f"own-{number}" for number in range(8))}


def test_a_module_that_another_thread_is_importing_does_not_block_discovery_forever(apps: Apps) -> None:
    """The discovering thread waits for the module, while the module's own thread registers sections."""
    first, go = threading.Event(), threading.Event()
    apps.shared.first, apps.shared.go = first, go
    apps.add("asked", "shared.discovering = True\nshared.go.set()")
    apps.add("shop", f"shared.first.set()\nshared.go.wait(10)\n{textwrap.dedent(PRODUCTS)}")
    importing = threading.Thread(target=lambda: __import__("shop.sitemaps"), daemon=True)
    importing.start()
    assert first.wait(10)
    discovering = threading.Thread(target=sections.registered, daemon=True)
    discovering.start()
    for thread in (importing, discovering):
        thread.join(5)
        assert not thread.is_alive()
    assert list(sections.registered()) == ["products"]


class Meanwhile:
    """A finder that lets another thread register during the search for an app's `sitemaps` module."""

    asked = False

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "plain.sitemaps" and not self.asked:
            self.asked = True
            other = threading.Thread(target=register, args=("other", Sitemap))
            other.start()
            other.join(10)


def test_what_another_thread_registers_while_an_app_is_imported_is_kept(
    apps: Apps, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "meta_path", [Meanwhile(), *sys.meta_path])
    apps.add("plain", None)
    assert list(sections.registered()) == ["other"]


# Names on the native views


@pytest.mark.parametrize(
    ("mapping", "problem"),
    [
        ({"a b": Sitemap}, "'a b' has an invalid name: use only"),
        ({"fine": Sitemap, 7: Sitemap}, "7 has an invalid name: a name must be a string, not 7 (int)"),
        ({"Index": Sitemap}, "reserved"),
        ({"news": Sitemap, "News": Sitemap}, "'news' and 'News' differ only in case"),
    ],
)
def test_names_that_native_views_cannot_have_are_refused_and_compat_views_take_them(
    mapping: Mapping[Any, Any], problem: str
) -> None:
    with pytest.raises(ImproperlyConfigured) as raised:
        sections.native_mapping(mapping)
    assert problem in str(raised.value)
    assert sections.mapping(mapping) is mapping


# Instances


def test_a_class_and_a_factory_are_called_each_time_and_an_instance_is_what_it_is() -> None:
    made = Sitemap[Any]()
    assert sections.instance(made) is made
    for section in (Sitemap, lambda: Sitemap[Any](), partial(Sitemap)):
        one, other = sections.instance(section), sections.instance(section)
        assert isinstance(one, Sitemap)
        assert one is not other
    with pytest.raises(ZeroDivisionError):
        sections.instance(lambda: 1 / 0)


@pytest.mark.parametrize(
    ("name", "known", "advice"),
    [
        ("product", ["products", "news"], "Did you mean 'products'?"),
        ("x", ["products", "news"], "Valid names: news, products."),
        ("x", [], "Valid names: none."),
    ],
)
def test_an_unknown_name_is_reported_with_the_nearest_or_all_names(
    name: str, known: list[str], advice: str
) -> None:
    with pytest.raises(UnknownSectionError) as raised:
        sections.check_known([*known, name], dict.fromkeys(known))
    assert isinstance(raised.value, SitemapError)
    assert str(raised.value) == f"There is no section {name!r}. {advice}"


# Hosts


def test_a_class_chooses_its_sitemap_for_each_host() -> None:
    class Chosen(Sitemap[str]):
        domain = ""

        def for_host(self, domain: str) -> Sitemap[str]:
            chosen = type(self)()
            chosen.domain = domain
            return chosen

    class ByClass(Chosen):
        @classmethod
        def for_host(cls, domain: str) -> Sitemap[str]:
            return Chosen().for_host(domain)

    for section in (Chosen, Chosen(), ByClass):
        assert sections.bind(section, "www.example.org").domain == "www.example.org"


@pytest.mark.parametrize("result", [None, "www.example.org", Sitemap])
def test_a_class_must_choose_a_sitemap(result: object) -> None:
    chosen = type("Chosen", (Sitemap,), {"for_host": lambda self, domain: result})
    with pytest.raises(ImproperlyConfigured, match=r"Chosen\.for_host\(\) must return a sitemap, not"):
        sections.bind(chosen, "www.example.org")


@pytest.mark.parametrize("section", ["/about/", {"url": "/"}, list, lambda: Sitemap])
def test_a_section_must_be_a_sitemap(section: object) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"^A section must be a sitemap, not .* Subclass"):
        sections.bind(section, "www.example.org")


def test_a_method_with_other_arguments_is_unrelated() -> None:
    """A class written for Django's package can have any method."""

    class Old(contrib.Sitemap):  # type: ignore[type-arg]
        def for_host(self, request: object, host: str) -> None:
            raise AssertionError("an unrelated method is called")

    old = Old()
    assert sections.bind(old, "www.example.org") is old


def test_rows_of_a_chosen_sitemap_are_those_of_the_site_too() -> None:
    class Chosen(ModelSitemap[Any]):
        site_field = "sites"

        def for_host(self, domain: str) -> ModelSitemap[Any]:
            return copy(self)

    assert sections.bind(Chosen, "www.example.org")._sitemaps09_domain == "www.example.org"


def test_only_a_method_of_the_class_chooses_a_sitemap_for_a_host() -> None:
    class Plain(Sitemap[str]):
        for_host = "a value of the project"

    plain = Plain()
    assert sections.bind(plain, "www.example.org") is plain
    stub = mock.Mock(spec=Sitemap)
    assert sections.bind(lambda: stub, "www.example.org") is stub


def test_rows_that_an_instance_lists_itself_could_be_of_any_site() -> None:
    chosen = ModelSitemap[Any]()
    chosen.site_field = "sites"
    chosen.items = list  # type: ignore[method-assign, assignment]
    with pytest.raises(ImproperlyConfigured, match=r"overrides items\(\), which could list rows of other"):
        sections.bind(chosen, "www.example.org")
    assert ids(chosen)[-1:] == ["E055"]
