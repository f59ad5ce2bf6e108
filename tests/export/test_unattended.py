"""Exports that a queue starts: the exit status of the command and a summary, as a value for JSON."""

from __future__ import annotations

import gzip
import json
import os
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.contrib.sites.models import Site
from django.urls import get_script_prefix, get_urlconf, set_script_prefix, set_urlconf

from django_sitemaps09.export.unattended import run_export
from django_sitemaps09.stores import LocalStore, exclusive_lock
from tests.support import commands
from tests.support.configuration import BASE
from tests.support.exports import Bad, Failing, content, touched
from tests.support.sections import Numbers
from tests.support.site_factories import SiteFactory

pytestmark = pytest.mark.sitemaps09


@pytest.fixture
def root(folder, configure, register):
    """The configured folder of two sections."""
    configure(ROOT=str(folder))
    register(a=Numbers(3), b=Numbers(2))
    return folder


def error_of_command(*names, **options):
    return commands.failed("export_sitemaps", *names, verbosity=0, **options)[2]


def test_the_result_has_the_status_and_a_summary_as_json(root):
    result = run_export()
    assert json.loads(json.dumps(result)) == result
    assert result["hosts"][0].pop("seconds") > 0
    summary = {"index_url": f"{BASE}/sitemap.xml", "published": True, "urls": 5, "skipped": 0}
    summary |= {"written": 3, "deleted": 0}
    assert result == {"status": 0, "failures": [], "warnings": [], "hosts": [summary]}
    assert {"sitemap-a-1.xml.gz", "sitemap-b-1.xml.gz", "sitemap.xml"} <= content(root).keys()


def test_skipped_items_are_counted(root, register):
    register(bad=Bad(4, [1]))
    result = run_export("bad")
    assert (result["status"], result["hosts"][0]["urls"], result["hosts"][0]["skipped"]) == (0, 3, 2)


def test_only_the_named_sections_are_exported(root):
    assert run_export("b", changed_only=True)["status"] == 0
    assert "sitemap-a-1.xml.gz" not in content(root)


@pytest.mark.parametrize("is_first_allowed", [False, True])
def test_a_queue_cannot_choose_hosts_that_are_not_allowed(root, settings, is_first_allowed):
    settings.ALLOWED_HOSTS = ["a.example", ".b.example"]
    allowed = ["https://a.example", "https://www.b.example"] if is_first_allowed else []
    result = run_export(base_urls=[*allowed, "https://invented.example"])
    [failure] = result["failures"]
    assert (result["status"], result["hosts"]) == (1, [])
    assert "https://invented.example, but its host is not in ALLOWED_HOSTS" in failure
    assert not root.exists() or not any(root.iterdir())
    assert run_export(base_urls=allowed)["status"] == 0


@pytest.mark.parametrize(
    ("url", "is_allowed"),
    [
        ("https://a.example:1", False),
        ("https://a.example:80", False),
        ("http://a.example:443", False),
        ("https://[::1]:1", False),
        ("https://a.example:443", True),
        ("http://a.example:80", True),
        ("https://a.example:8000", True),
    ],
)
def test_a_queue_cannot_invent_ports(root, configure, settings, url, is_allowed):
    settings.ALLOWED_HOSTS = ["a.example", "[::1]"]
    configure(BASE_URL="http://www.example.com:8000")
    result = run_export(base_urls=["https://a.example", url])
    assert (result["status"], len(result["hosts"])) == ((0, 2) if is_allowed else (1, 0))
    if not is_allowed:
        [failure] = result["failures"]
        assert f"{url}, but its port is neither the default port nor that of" in failure
        assert not root.exists()


def test_a_queue_cannot_invent_ports_without_a_base_url(root, configure):
    configure(BASE_URL=None)
    result = run_export(base_urls=[f"https://www.example.com:{port}" for port in range(1, 21)])
    assert (result["status"], result["hosts"], root.exists()) == (1, [], False)


def test_a_second_export_has_the_status_of_the_lock_and_raises_nothing(root):
    run_export()
    before = touched(root)
    with exclusive_lock(LocalStore(root)):
        result = run_export()
        assert error_of_command().returncode == result["status"] == 75
    assert result["failures"] == [f"Another export is writing to {root}; nothing was changed."]
    assert result["hosts"] == []
    assert touched(root) == before


def test_several_hosts_have_a_summary_each_and_one_that_is_locked_does_not_stop_the_others(root):
    hosts = ["https://a.example", "https://b.example"]
    result = run_export(base_urls=hosts)
    assert [(host["index_url"], host["urls"]) for host in result["hosts"]] == [
        (f"{host}/sitemap.xml", 5) for host in hosts
    ]
    assert (root / "a.example" / "sitemap.xml").exists()
    with exclusive_lock(LocalStore(root / "a.example")):
        result = run_export(base_urls=hosts)
    assert result["status"] == 75
    assert [(host["published"], host["urls"]) for host in result["hosts"]] == [(False, 0), (True, 5)]
    [failure] = result["failures"]
    assert failure.startswith(f"https://a.example: Another export is writing to {root / 'a.example'};")


@pytest.mark.parametrize(
    ("names", "keys"),
    [(["nope"], {}), ([], {"ROOT": None}), ([], {"BASE_URL": "nope"}), (["fails"], {}), (["bad"], {})],
)
def test_any_other_failure_has_the_status_of_the_command(root, configure, register, names, keys):
    register(a=Numbers(3), fails=Failing(3, 1), bad=Bad(3, [1]))
    configure(**keys)
    strict = names == ["bad"]
    result = run_export(*names, strict=strict)
    error = error_of_command(*names, strict=strict)
    assert (result["status"], "\n".join(result["failures"])) == (error.returncode, str(error))
    assert result["status"] == 1
    assert not any(host["published"] for host in result["hosts"])


@pytest.mark.parametrize(
    "name", ["output", "robots", "engine", "force", "remove", "moved_from", "sitemaps", "on_published"]
)
def test_a_queue_cannot_choose_paths_or_code_or_confirm_losses(root, name):
    with pytest.raises(TypeError, match=name):
        run_export(**{name: "x"})
    assert not root.exists()


@pytest.mark.parametrize(
    ("names", "options", "expected"),
    [
        *(([name], {}, "names must be a list of strings") for name in (None, 5, True, [], {})),
        *(
            ([], {"base_urls": urls}, "base_urls must be a list of strings")
            for urls in (None, 5, False, BASE, [5], [None], [BASE, []])
        ),
        *(
            ([], {name: value}, f"{name} must be True or False")
            for name in ("changed_only", "rebalance", "strict")
            for value in (0, "no", [], {})
        ),
    ],
)
def test_a_message_with_a_wrong_type_has_the_status_1_and_says_what_is_wrong(
    root, names, options, expected
):
    result = run_export(*names, **options)
    [failure] = result["failures"]
    assert (result["status"], result["hosts"]) == (1, [])
    assert failure.startswith(expected)
    assert not root.exists()


def test_a_mistake_in_code_is_raised(root, monkeypatch):
    def broken(*arguments, **options):
        raise ZeroDivisionError

    monkeypatch.setattr("django_sitemaps09.export.unattended.export", broken)
    with pytest.raises(ZeroDivisionError):
        run_export()


class Placed(Numbers):
    """Section whose URLs have the script prefix and the URLconf."""

    def location(self, item):
        return f"{get_script_prefix()}{get_urlconf()}/{item}/"


def test_a_thread_uses_the_script_prefix_of_the_settings_and_not_what_another_task_left(
    root, register, settings
):
    settings.FORCE_SCRIPT_NAME = "/shop"
    register(a=Placed(2), b=Numbers(1))

    def worker():
        set_script_prefix("/left/")
        set_urlconf("left.urls")
        return run_export("a"), get_script_prefix(), get_urlconf()

    with ThreadPoolExecutor(1) as pool:
        result, *left = pool.submit(worker).result()
    assert (result["status"], result["failures"]) == (0, [])
    assert (
        f"<loc>{BASE}/shop/None/1/</loc>" in gzip.decompress(content(root)["sitemap-a-1.xml.gz"]).decode()
    )
    assert left == ["/left/", "left.urls"]


@pytest.mark.django_db
def test_a_domain_that_another_process_has_changed_is_used(root, configure, settings):
    configure(BASE_URL=None)
    settings.SITE_ID = SiteFactory(domain="old.example").pk
    assert run_export()["hosts"][0]["index_url"] == "https://old.example/sitemap.xml"
    # This sends no signal, so the site stays in the cache of this process.
    Site.objects.filter(pk=settings.SITE_ID).update(domain="new.example")
    assert Site.objects.get_current().domain == "old.example"
    configure(ROOT=str(root.with_name("moved")))
    assert run_export()["hosts"][0]["index_url"] == "https://new.example/sitemap.xml"
    Site.objects.clear_cache()


def test_a_text_that_a_backend_cannot_store_is_escaped(root, monkeypatch):
    def broken(*arguments, **options):
        raise OSError("\0\udcff\n" + 2000 * "x")

    monkeypatch.setattr("django_sitemaps09.export.unattended.export", broken)
    [failure] = run_export()["failures"]
    assert failure.startswith(r"\x00\udcff\nxxx")
    assert len(failure) < 1100


class SoftLimitError(Exception):
    """What the handler of a queue's time limit raises."""


class Limited(Numbers):
    """Section whose time limit is reached at an item."""

    def location(self, item):
        if item == 1:
            os.kill(os.getpid(), signal.SIGUSR1)
        return super().location(item)


@pytest.fixture
def limit():
    def handle(*signal_and_frame):
        raise SoftLimitError

    before = signal.signal(signal.SIGUSR1, handle)
    yield handle
    signal.signal(signal.SIGUSR1, before)


def test_a_time_limit_ends_the_export_and_skips_no_item(root, register, limit):
    run_export()
    before = touched(root)
    register(a=Limited(3), b=Numbers(4))
    with pytest.raises(SoftLimitError):
        run_export()
    assert touched(root) == before
    assert signal.getsignal(signal.SIGUSR1) is limit
