"""Arguments, names, values and paths of a wrong type or form are named; none is a bare `TypeError`."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db.models import F
from django.test import RequestFactory
from django.utils import timezone
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext_lazy

from django_sitemaps09 import ModelSitemap, NewsSitemap, PathTemplate, Route, Sitemap, StaticViewSitemap
from django_sitemaps09.exceptions import SitemapError
from django_sitemaps09.export import export, export_hosts, verify, verify_hosts
from django_sitemaps09.export.notify import submit, submit_hosts
from django_sitemaps09.tools import audit
from django_sitemaps09.tools.audit import last_report
from django_sitemaps09.views import page, sitemap
from tests.models import Article
from tests.support.commands import failed, said
from tests.support.configuration import BASE
from tests.support.internals import checks, conf, conf_checks, status
from tests.support.sections import Numbers, declare

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.urls")]
pytestmark += [pytest.mark.sitemaps09(ENGINE="serial", INDEXNOW_KEY="0123456789")]
SECTIONS = {"s": Numbers(2), "t": Numbers(2)}
LISTS = (7, None, b"s", "s", [7], [b"s"], [["s"]], [None], [gettext_lazy("s")])
BYTES = b"https://www.example.com"


def kind_of(value):
    """Return what a message says about a value: its type, or that of the first item of a list."""
    item = value[0] if isinstance(value, list) and value else value
    return "None" if item is None else type(item).__name__


def exporting(name):
    return name, lambda value, folder: export(**{"sitemaps": SECTIONS, "output": folder, name: value})


@pytest.mark.parametrize(("name", "call", "values"), [
    *((*exporting(name), LISTS) for name in ("names", "force", "remove")), (*exporting("gzip"), (1, "no")),
    *((*exporting(name), (1, "false", [])) for name in ("strict", "dry_run", "changed_only")),
    *((*exporting(name), (1, "false")) for name in ("rebalance", "changes", "submit")),
    (*exporting("engine"), (7, True, b"serial")), (*exporting("workers"), (True, 1.5, "2", b"2")),
    (*exporting("sitemaps"), (7, True, b"s", "s", object())),
    (*exporting("base_url"), (7, BYTES, gettext_lazy("s"))),
    ("base_urls", lambda urls, folder: export_hosts(urls, output=folder), LISTS),
    ("base_urls", lambda urls, folder: submit_hosts(urls, output=folder), LISTS),
    ("names", lambda names, folder: verify(names, output=folder), LISTS),
    ("names", lambda names, folder: status(names), LISTS),
    ("base", lambda url, folder: status((), url), (7, BYTES)),
    ("URL", lambda url, folder: audit.audit(url), (7, BYTES)),
    ("agents", lambda agents, folder: audit.audit(agents=agents), LISTS),
    ("fetch", lambda fetch, folder: audit.audit(fetch=fetch), ("5", True, 1.5, None, b"all")),
    ("second", lambda rate, folder: audit.audit(rate=rate), ("5", True, None)),
])  # fmt: skip
def test_an_argument_of_a_wrong_type_is_named_with_its_type(name, call, values, tmp_path):
    for value in values:
        with pytest.raises((ImproperlyConfigured, SitemapError)) as raised:
            call(value, tmp_path)
        message = str(raised.value).replace("base-url", "base_url")
        assert (name in message, kind_of(value) in message) == (True, True), (value, message)


def test_names_can_be_any_iterable(tmp_path):
    report = export(iter(["s"]), sitemaps=SECTIONS, output=tmp_path)
    assert [section.section for section in report.sections] == ["s"]
    checked = verify((name for name in ["s"]), sitemaps=SECTIONS, output=tmp_path)
    assert checked.files == verify(["s"], sitemaps=SECTIONS, output=tmp_path).files == 2


@pytest.mark.parametrize(("base", "name", "values"), [
    (Sitemap, "limit", (b"x", ["x"], "x", None)), (Sitemap, "languages", (7, b"de", [7], "de")),
    (Sitemap, "items", (7, ["x"], None, "x")), (ModelSitemap, "model", (7, "Article", int, ["x"], b"x")),
    (ModelSitemap, "key", (7, ["pk"], b"pk")),
    (StaticViewSitemap, "viewnames", (7, "about", b"about", None)),
    (NewsSitemap, "date_field", (7, ["updated"], b"updated")),
])  # fmt: skip
def test_an_attribute_of_a_wrong_type_is_named_by_a_check_and_in_each_way(base, name, values, tmp_path):
    Article.objects.create(slug="a", updated=timezone.now())
    declared = {"location": lambda self, item: "/a/", "items": lambda self: [1], "model": Article}
    declared.pop("model" if base is Sitemap else "items")
    request = RequestFactory().get("/")
    for value in values:
        section = {"s": declare(base, **declared | {"i18n": name == "languages", name: value})}
        kind = kind_of(value) if name == "languages" or value is None else type(value).__name__
        assert any(name in message.msg for message in checks.check_declarations(section.values()))
        [failure] = export(sitemaps=section, output=tmp_path).failures
        for text in ("ImproperlyConfigured", name, "int" if value is int else kind):
            assert text in failure
        with pytest.raises(ImproperlyConfigured, match=name):
            page(request, section="s", page="1", sitemaps=section)
        if name != "key":
            with pytest.raises(ImproperlyConfigured, match=name):
                sitemap(request, sitemaps=section).render()


def test_a_location_of_a_wrong_type_is_named(tmp_path):
    for template, value, kind in (
        *((Route, value, type(value).__name__) for value in (7, ["article"], None)),
        (PathTemplate, b"/{a}/", "bytes"),
        (lambda value: PathTemplate("/{a}/", a=value), b"x", r"the argument a is b'x' \(bytes\)"),
        (lambda value: PathTemplate("/{a}/", a=value), ["x"], r"the argument a is \['x'\] \(list\)"),
    ):
        with pytest.raises(ValueError, match=kind):
            template(value)
    wrong = {r"contains 7 \(int\)": {7: F("slug")}, "value for 'en' must be a Route.*not int": {"en": 7}}
    for text, location in wrong.items():
        section = declare(model=Article, location=location, i18n=True)
        [failure] = export(sitemaps={"s": section}, output=tmp_path).failures
        assert re.search(text, failure)


#: The name of an argument in messages, and functions with this argument.
ARGUMENTS = [
    *(("--output", use) for use in (export, export_hosts, verify, verify_hosts, submit, submit_hosts)),
    *(("--robots", use) for use in (export, verify)),
    *(("--dir", use) for use in (audit.audit, last_report)),
]
OPTIONS = [
    *(("export_sitemaps", "--robots"), ("export_sitemaps", "--output"), ("submit_sitemaps", "--output")),
    *(("audit_sitemaps", option) for option in ("--dir", "--baseline", "--write-baseline")),
]
BAD_TEXTS = [
    ("", "must be a path, not ''"),
    ("https://www.example.com/sitemaps/", "must be a path on this machine, not the URL"),
    ("/srv/app/gs://bucket", "must be a path on this machine, not the URL"),
    ("file:///srv/public", "must be a path on this machine, not the URL"),
    ("~nobody-is-called-this/public", "~nobody-is-called-this is not the home directory of a user"),
    ("public\0", "must be a path, not 'public"),
]
BAD_VALUES = [
    *BAD_TEXTS,
    (Path("https://www.example.com"), "must be a path on this machine, not the URL"),
    (7, "must be a path, not 7 (int)"),
    (True, "must be a path, not True (bool)"),
    (b"public", "must be a path, not b'public' (bytes)"),
    (["public"], "must be a path, not ['public'] (list)"),
]


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch, register):
    """Yield the home directory. In the current one, nothing may be created, not even an empty export."""
    register(s=Numbers(2))
    for name in ("here", "home"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    yield tmp_path / "home"
    assert not list((tmp_path / "here").iterdir())


@pytest.mark.parametrize(("value", "problem"), BAD_VALUES)
@pytest.mark.parametrize("name", ["ROOT", "ROBOTS_TXT"])
def test_a_setting_that_is_not_a_path_is_named(name, value, problem, settings):
    settings.SITEMAPS09 = {name: value}
    with pytest.raises(ImproperlyConfigured, match=re.escape(problem)) as raised:
        getattr(conf, name.lower())
    assert str(raised.value).startswith(f"SITEMAPS09['{name}']")
    assert str(raised.value) in [message.msg for message in conf_checks.check_settings()]


@pytest.mark.parametrize(("value", "problem"), BAD_VALUES)
@pytest.mark.parametrize(("option", "use"), ARGUMENTS)
def test_an_argument_that_is_not_a_path_is_named(option, use, value, problem):
    name, hosts = {"--dir": "directory"}.get(option, option[2:]), [[BASE]] * use.__name__.endswith("_hosts")
    with pytest.raises(ImproperlyConfigured, match=f"^{option} (.* )?{re.escape(problem)}"):
        use(*hosts, **{name: value})


@pytest.mark.parametrize(("value", "problem"), BAD_TEXTS)
@pytest.mark.parametrize(("command", "option"), OPTIONS)
def test_an_option_that_is_not_a_path_is_named(command, option, value, problem):
    *_, error = failed(command, f"{option}={value}", verbosity=0)
    assert (str(error).startswith(f"{option} "), problem in str(error)) == (True, True)


def test_a_tilde_is_the_home_directory(home, settings):
    keys = {"BASE_URL": BASE, "ROOT": "~/public", "ROBOTS_TXT": Path("~/{host}/robots.txt")}
    settings.SITEMAPS09 = {**settings.SITEMAPS09, **keys}
    assert (conf.root, conf.robots_txt) == (home / "public", home / "{host}" / "robots.txt")
    assert not conf_checks.check_settings()
    (home / "www.example.com").mkdir()
    said("export_sitemaps")
    said("export_sitemaps", "--output=~/other", "--robots=~/robots.txt")
    assert audit.audit(directory="~/other").documents
    assert last_report(directory=PurePosixPath("~/other"))
    said("audit_sitemaps", "--dir=~/other", "--write-baseline=~/accepted.json")
    said("audit_sitemaps", "--dir=~/other", "--baseline=~/accepted.json")
    written = {str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()}
    names = {"public/sitemap.xml", "other/sitemap.xml", "robots.txt", "www.example.com/robots.txt"}
    assert {*names, "accepted.json"} <= written


@pytest.mark.parametrize("path", ["~public", "C:/public", "C:\\public", "a:b", "c:", "//host/a", "/a/~"])
def test_other_paths_are_not_urls_nor_home_directories(path, settings):
    settings.SITEMAPS09 = {"ROOT": f"./{path}" if path[0] == "~" else path}
    assert conf.root == Path(path)


def test_a_path_can_be_lazy(settings):
    for root in (Path("/srv/public"), "/srv/public"):
        settings.SITEMAPS09 = {"ROOT": SimpleLazyObject(lambda root=root: root)}
        assert conf.root == Path("/srv/public")
    settings.SITEMAPS09 = {"ROOT": SimpleLazyObject(lambda: 7)}
    with pytest.raises(ImproperlyConfigured, match="must be a path, not <SimpleLazyObject: 7>"):
        assert conf.root
