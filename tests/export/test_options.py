"""The options of exports and verifications: declared once, with their texts and their types."""

from __future__ import annotations

import inspect
import pydoc
from dataclasses import fields

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import load_command_class

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
#: Options that a command cannot have, since their values are not text, and the one that it reverses.
IN_PYTHON = {"sitemaps", "on_published", "progress", "on_page", "on_plan"}
REVERSED = {"gzip"}
#: What the command adds to a text.
SEVERAL = {"base_url": "; repeat it for several hosts"}


def texts(options_type):
    return {name: text for name, (_, text) in documented_options(options_type).items()}


@pytest.mark.parametrize(("function", "options_type", "has_hosts"), FUNCTIONS)
def test_the_help_and_the_signature_of_a_function_name_each_option(function, options_type, has_hosts):
    expected = texts(options_type)
    assert list(expected) == [each.name for each in fields(options_type) if each.init]
    assert all(text and not text.endswith(".") for text in expected.values())
    parameters = dict(inspect.signature(function).parameters)
    assert list(parameters) == list(expected)
    assert expected.keys() >= {"base_urls" if has_hosts else "base_url"}
    assert list(parameters)[:has_hosts] == ["base_urls"][:has_hosts]
    defaults = {each.name: each.default for each in fields(options_type)}
    for name, parameter in parameters.items():
        assert parameter.default is (parameter.empty if name == "base_urls" else defaults[name])
        assert parameter.annotation is not parameter.empty
        assert (parameter.kind is parameter.KEYWORD_ONLY) == (name not in ("base_urls", "names"))
    help_text = pydoc.render_doc(function, renderer=pydoc.plaintext)
    for name, text in expected.items():
        assert f"* `{name}`: {text}." in help_text
    assert help_text.count("* `") == len(expected)


def test_the_command_has_each_option_with_the_same_text():
    parser = load_command_class("django_sitemaps09", "export_sitemaps").create_parser("", "")
    described = {action.dest: action.help for action in parser._actions}
    described["names"] = described["sections"]
    expected = texts(ExportOptions) | texts(VerifyOptions)
    assert expected.keys() - described.keys() == IN_PYTHON | REVERSED
    assert "no_gzip" in described
    for name in expected.keys() & described.keys():
        assert described[name] == expected[name] + SEVERAL.get(name, "")
    help_text = " ".join(parser.format_help().split())
    for name in expected.keys() - IN_PYTHON - REVERSED - {"names"}:
        assert f"--{name.replace('_', '-')}" in help_text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strict": "yes"}, "strict must be True or False, not 'yes' (str)."),
        ({"dry_run": 1}, "dry_run must be True or False, not 1 (int)."),
        ({"gzip": 0}, "gzip must be True or False, not 0 (int)."),
        ({"submit": "no"}, "submit must be True or False, not 'no' (str)."),
        ({"workers": "2"}, "workers must be a whole number, not '2' (str)."),
        ({"workers": True}, "workers must be a whole number, not True (bool)."),
        ({"engine": 5}, "engine must be a string, not 5 (int)."),
        ({"base_url": 5}, "base_url must be a string, not 5 (int)."),
        ({"names": "a"}, "names must be a list of strings, not 'a' (str)."),
        ({"names": 5}, "names must be a list of strings, not 5 (int)."),
        ({"names": [None]}, "names must be a list of strings, but contains None."),
        ({"force": "a"}, "force must be a list of strings, not 'a' (str)."),
        ({"remove": [1]}, "remove must be a list of strings, but contains 1 (int)."),
    ],
    ids=str,
)
def test_a_wrong_type_is_an_error_that_says_what_is_right(folder, options, message):
    with pytest.raises(ImproperlyConfigured) as raised:
        export(output=folder, sitemaps={"a": Numbers(1)}, **options)
    assert str(raised.value) == message
    assert not folder.exists()


@pytest.mark.parametrize(
    "names", [["a"], ("a",), {"a"}, iter(["a"])], ids=["list", "tuple", "set", "iterator"]
)
def test_names_may_be_any_iterable(folder, names):
    report = export(names, output=folder, sitemaps={"a": Numbers(1), "b": Numbers(1)})
    assert [section.section for section in report.sections] == ["a"]


class Text(str):
    """A text of another type, such as the `SafeString` of a template."""


def test_a_subclass_of_the_type_is_accepted(folder):
    report = export(
        output=folder, sitemaps={"a": Numbers(1)}, base_url=Text("https://a.example"), engine=Text("serial")
    )
    assert report.index_url == "https://a.example/sitemap.xml"


@pytest.mark.parametrize(
    ("base_urls", "message"),
    [
        (BASE, f"base_urls must be a list of strings, not '{BASE}' (str)."),
        (5, "base_urls must be a list of strings, not 5 (int)."),
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


@pytest.mark.parametrize(("function", "options_type", "has_hosts"), FUNCTIONS)
def test_an_option_that_does_not_exist_is_refused(function, options_type, has_hosts):
    for unknown in ("unknown", "base_url" if has_hosts else "base_urls"):
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{unknown}'"):
            function(*[[BASE]] * has_hosts, **{unknown: BASE})
    with pytest.raises(TypeError, match="positional"):
        function(*[[BASE]] * has_hosts, [], "public")
