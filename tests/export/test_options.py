"""The options of exports and verifications: declared once, with their texts and their types."""

from __future__ import annotations

import inspect
import pydoc
from dataclasses import fields

import pytest
from django.core.exceptions import ImproperlyConfigured

from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export import export, export_hosts, verify, verify_hosts
from django_sitemaps09.export.options import (
    ExportHostsOptions,
    ExportOptions,
    VerifyHostsOptions,
    VerifyOptions,
    documented_options,
)
from tests.support.configuration import BASE
from tests.support.sections import Numbers

pytestmark = pytest.mark.sitemaps09

FUNCTIONS = [
    (export, ExportOptions, False),
    (export_hosts, ExportHostsOptions, True),
    (verify, VerifyOptions, False),
    (verify_hosts, VerifyHostsOptions, True),
]


@pytest.mark.parametrize(("function", "options_type", "has_hosts"), FUNCTIONS)
def test_the_help_and_the_signature_of_a_function_name_each_option(function, options_type, has_hosts):
    texts = {name: text for name, (_, text) in documented_options(options_type).items()}
    parameters = dict(inspect.signature(function).parameters)
    assert [*texts] == [*parameters] == [each.name for each in fields(options_type) if each.init]
    assert [*texts][:has_hosts] == ["base_urls"][:has_hosts]
    assert ("base_urls" if has_hosts else "base_url") in texts
    help_text = pydoc.render_doc(function, renderer=pydoc.plaintext)
    defaults = {each.name: each.default for each in fields(options_type)}
    for name, parameter in parameters.items():
        assert parameter.default is (parameter.empty if name == "base_urls" else defaults[name])
        assert parameter.annotation is not parameter.empty
        assert (parameter.kind is parameter.KEYWORD_ONLY) == (name not in ("base_urls", "names"))
        assert (bool(texts[name]), texts[name][-1:] == ".") == (True, False)
        assert f"* `{name}`: {texts[name]}." in help_text
    assert help_text.count("* `") == len(texts)
    for unknown in ("unknown", "base_url" if has_hosts else "base_urls"):
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{unknown}'"):
            function(*[[BASE]] * has_hosts, **{unknown: BASE})
    with pytest.raises(TypeError, match="positional"):
        function(*[[BASE]] * has_hosts, [], "public")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strict": "yes"}, "strict must be True or False, not 'yes' (str)."),
        ({"dry_run": 1}, "dry_run must be True or False, not 1 (int)."),
        ({"gzip": 0}, "gzip must be True or False, not 0 (int)."),
        ({"workers": "2"}, "workers must be a whole number, not '2' (str)."),
        ({"workers": True}, "workers must be a whole number, not True (bool)."),
        ({"engine": 5}, "engine must be a string, not 5 (int)."),
        ({"names": "a"}, "names must be a list of strings, not 'a' (str)."),
        ({"names": [None]}, "names must be a list of strings, but contains None."),
        ({"remove": [1]}, "remove must be a list of strings, but contains 1 (int)."),
    ],
    ids=str,
)
def test_a_wrong_type_is_an_error_that_says_what_is_right(folder, options, message):
    with pytest.raises(ImproperlyConfigured) as raised:
        export(output=folder, sitemaps={"a": Numbers(1)}, **options)
    assert (str(raised.value), folder.exists()) == (message, False)


@pytest.mark.parametrize(
    ("base_urls", "message"),
    [
        (BASE, f"base_urls must be a list of strings, not '{BASE}' (str)."),
        ([None], "base_urls must be a list of strings, but contains None."),
        ([], "base_urls must be a list of at least one base URL."),
    ],
    ids=str,
)
@pytest.mark.parametrize("function", [export_hosts, verify_hosts])
def test_base_urls_are_a_list_of_strings(folder, function, base_urls, message):
    with pytest.raises((ExportError, ImproperlyConfigured)) as raised:
        function(base_urls, output=folder, sitemaps={"a": Numbers(1)})
    assert str(raised.value) == message


class Text(str):
    """A text of another type, such as the `SafeString` of a template."""


@pytest.mark.parametrize("kind", [list, tuple, set, iter])
def test_names_may_be_any_iterable_and_a_text_any_subclass(folder, kind):
    options = {"base_url": Text("https://a.example"), "engine": Text("serial")}
    report = export(kind(["a"]), output=folder, sitemaps={"a": Numbers(1), "b": Numbers(1)}, **options)
    assert [section.section for section in report.sections] == ["a"]
    assert report.index_url == "https://a.example/sitemap.xml"
