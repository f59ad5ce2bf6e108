"""Each setting, option and argument with a path expands `~`, and refuses URLs and other types."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.utils.functional import SimpleLazyObject

from django_sitemaps09 import audit
from django_sitemaps09.audit.api import last_report
from django_sitemaps09.checks import check_settings
from django_sitemaps09.conf import conf
from django_sitemaps09.export import export, export_hosts, verify, verify_hosts
from django_sitemaps09.notify import submit, submit_hosts
from tests.support.commands import failed, said
from tests.support.configuration import BASE
from tests.support.sections import Numbers

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09]

#: The name of an argument in messages, and functions with this argument.
ARGUMENTS = [
    *(("--output", use) for use in (export, export_hosts, verify, verify_hosts, submit, submit_hosts)),
    *(("--robots", use) for use in (export, verify)),
    *(("--dir", use) for use in (audit.audit, last_report)),
]
OPTIONS = [
    ("export_sitemaps", "--robots"),
    *((f"{name}_sitemaps", "--output") for name in ("export", "submit")),
]
OPTIONS += [("audit_sitemaps", option) for option in ("--dir", "--baseline", "--write-baseline")]
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
def home(tmp_path, monkeypatch, settings, register):
    """Yield the home directory, which is not the current one. Nothing may be created in the current one.

    A valid path would be an empty export.
    """
    settings.SITEMAPS09 = {**settings.SITEMAPS09, "ENGINE": "serial", "INDEXNOW_KEY": "0123456789"}
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
    messages = [message.msg for message in check_settings() if message.id == "sitemaps09.E003"]
    assert messages == [str(raised.value)]


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
    assert str(error).startswith(f"{option} ")
    assert problem in str(error)


def test_a_tilde_is_the_home_directory(home, settings):
    keys = {"BASE_URL": BASE, "ROOT": "~/public", "ROBOTS_TXT": Path("~/{host}/robots.txt")}
    settings.SITEMAPS09 = {**settings.SITEMAPS09, **keys}
    assert (conf.root, conf.robots_txt) == (home / "public", home / "{host}" / "robots.txt")
    assert not check_settings()
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


@pytest.mark.parametrize(
    "path", ["~public", "C:/public", "C:\\public", "a:b", "c:", "//host/share", "/a/~"]
)
def test_other_paths_are_not_urls_nor_home_directories(path, settings):
    settings.SITEMAPS09 = {"ROOT": f"./{path}" if path[0] == "~" else path}
    assert conf.root == Path(path)


def test_a_path_can_be_lazy(settings):
    for path in (Path("/srv/public"), "/srv/public"):
        settings.SITEMAPS09 = {"ROOT": SimpleLazyObject(lambda path=path: path)}
        assert conf.root == Path("/srv/public")
    settings.SITEMAPS09 = {"ROOT": SimpleLazyObject(lambda: 7)}
    with pytest.raises(ImproperlyConfigured, match="must be a path, not <SimpleLazyObject: 7>"):
        assert conf.root
