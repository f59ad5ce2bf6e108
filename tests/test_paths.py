"""Each setting, option and argument with a path expands `~`, and refuses URLs and other types."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.utils.functional import SimpleLazyObject

from django_sitemaps09 import audit
from django_sitemaps09.audit.api import last_report
from django_sitemaps09.checks import check_settings
from django_sitemaps09.conf import conf
from django_sitemaps09.export import export, export_hosts, verify, verify_hosts
from django_sitemaps09.notify import submit, submit_hosts
from tests.support.configuration import BASE
from tests.support.sections import Numbers

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09]
Use = Callable[[Any], object]

#: Each place for a path, with its name in messages.
SETTINGS: dict[str, Use] = {
    "SITEMAPS09['ROOT']": lambda path: conf.root,
    "SITEMAPS09['ROBOTS_TXT']": lambda path: conf.robots_txt,
}
ARGUMENTS: dict[str, tuple[str, Use]] = {
    "export to": ("--output", lambda path: export(output=path)),
    "export with": ("--robots", lambda path: export(robots=path)),
    "export_hosts to": ("--output", lambda path: export_hosts([BASE], output=path)),
    "verify in": ("--output", lambda path: verify(output=path)),
    "verify with": ("--robots", lambda path: verify(robots=path)),
    "verify_hosts in": ("--output", lambda path: verify_hosts([BASE], output=path)),
    "submit from": ("--output", lambda path: submit(output=path)),
    "submit_hosts from": ("--output", lambda path: submit_hosts([BASE], output=path)),
    "audit in": ("--dir", lambda path: audit.audit(directory=path)),
    "last_report of": ("--dir", lambda path: last_report(directory=path)),
}
OPTIONS = {
    "export_sitemaps": ("--output", "--robots"),
    "submit_sitemaps": ("--output",),
    "audit_sitemaps": ("--dir", "--baseline", "--write-baseline"),
}
BAD_TEXTS = {
    "": "must be a path, not ''",
    "https://www.example.com/sitemaps/": "must be a path on this machine, not the URL",
    "s3://bucket/sitemaps": "must be a path on this machine, not the URL",
    "/srv/app/gs://bucket": "must be a path on this machine, not the URL",
    "file:///srv/public": "must be a path on this machine, not the URL",
    "~nobody-is-called-this/public": "~nobody-is-called-this is not the home directory of a user",
    "public\0": "must be a path, not 'public",
}
BAD_VALUES: list[tuple[Any, str]] = [
    *BAD_TEXTS.items(),
    (Path("https://www.example.com"), "must be a path on this machine, not the URL"),
    (7, r"must be a path, not 7 \(int\)"),
    (True, r"must be a path, not True \(bool\)"),
    (b"public", r"must be a path, not b'public' \(bytes\)"),
    (["public"], r"must be a path, not \['public'\] \(list\)"),
]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any, register: Any) -> Path:
    """Return the home directory, which is not the current one. A valid path would be an empty export."""
    settings.SITEMAPS09 = {**settings.SITEMAPS09, "ENGINE": "serial", "INDEXNOW_KEY": "0123456789"}
    register(s=Numbers(2))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture(autouse=True)
def _nothing_is_created(tmp_path: Path, home: Path) -> Any:
    yield
    assert not list((tmp_path / "here").iterdir())


@pytest.mark.parametrize(("value", "problem"), BAD_VALUES)
@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_that_is_no_path_is_named(name: str, value: Any, problem: str, settings: Any) -> None:
    settings.SITEMAPS09 = {name.split("'")[1]: value}
    with pytest.raises(ImproperlyConfigured, match=problem) as raised:
        SETTINGS[name](value)
    assert str(raised.value).startswith(name)
    assert [message.msg for message in check_settings() if message.id == "sitemaps09.E003"] == [
        str(raised.value)
    ]


@pytest.mark.parametrize(("value", "problem"), BAD_VALUES)
@pytest.mark.parametrize("place", ARGUMENTS)
def test_an_argument_that_is_no_path_is_named(place: str, value: Any, problem: str) -> None:
    name, use = ARGUMENTS[place]
    with pytest.raises(ImproperlyConfigured, match=f"^{name} .*{problem}|^{name} {problem}"):
        use(value)


@pytest.mark.parametrize(("value", "problem"), BAD_TEXTS.items())
@pytest.mark.parametrize(
    ("command", "option"), [(name, each) for name in OPTIONS for each in OPTIONS[name]]
)
def test_an_option_that_is_no_path_is_named(command: str, option: str, value: str, problem: str) -> None:
    with pytest.raises(CommandError, match=problem) as raised:
        call_command(command, f"{option}={value}", verbosity=0)
    assert str(raised.value).startswith(f"{option} ")


def test_a_tilde_is_the_home_directory(home: Path, settings: Any) -> None:
    robots = {"ROBOTS_TXT": Path("~/{host}/robots.txt")}
    settings.SITEMAPS09 = {**settings.SITEMAPS09, "BASE_URL": BASE, "ROOT": "~/public", **robots}
    assert (conf.root, conf.robots_txt) == (home / "public", home / "{host}" / "robots.txt")
    assert not check_settings()
    host = home / BASE.removeprefix("https://")
    host.mkdir()
    call_command("export_sitemaps", verbosity=0)
    call_command("export_sitemaps", "--output=~/other", "--robots=~/robots.txt", verbosity=0)
    for name in ("public/sitemap.xml", "other/sitemap.xml", "robots.txt", f"{host.name}/robots.txt"):
        assert (home / name).exists()
    assert audit.audit(directory="~/other").documents
    assert last_report(directory=PurePosixPath("~/other"))  # type: ignore[arg-type]
    call_command("audit_sitemaps", "--dir=~/other", "--write-baseline=~/accepted.json", verbosity=0)
    call_command("audit_sitemaps", "--dir=~/other", "--baseline=~/accepted.json", verbosity=0)
    assert (home / "accepted.json").exists()


def test_a_directory_can_have_a_tilde_in_its_name(tmp_path: Path, settings: Any) -> None:
    settings.SITEMAPS09 = {"ROOT": "./~public"}
    assert conf.root == Path("~public")
    settings.SITEMAPS09 = {"ROOT": str(tmp_path / "~")}
    assert conf.root == tmp_path / "~"


def test_a_path_can_be_lazy(settings: Any) -> None:
    for path in (Path("/srv/public"), "/srv/public"):
        settings.SITEMAPS09 = {"ROOT": SimpleLazyObject(lambda path=path: path)}
        assert conf.root == Path("/srv/public")
    settings.SITEMAPS09 = {"ROOT": SimpleLazyObject(lambda: 7)}
    with pytest.raises(ImproperlyConfigured, match="must be a path, not <SimpleLazyObject: 7>"):
        assert conf.root


@pytest.mark.parametrize("path", ["C:/public", "C:\\public", "a:b", "c:", "//server/share"])
def test_other_paths_are_not_urls(path: str, settings: Any) -> None:
    settings.SITEMAPS09 = {"ROOT": path}
    assert conf.root == Path(path)
