"""Exports that a queue starts: the exit status of the command and a summary, as a value for JSON."""

from __future__ import annotations

import gzip
import inspect
import json
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import Mock

import pytest
from django.contrib.sites.models import Site
from django.urls import get_script_prefix, get_urlconf, set_script_prefix, set_urlconf

from django_sitemaps09.export.exports import run_export
from tests.support import commands
from tests.support.configuration import BASE
from tests.support.exports import Bad, Failing, content, touched
from tests.support.factories import SiteFactory
from tests.support.internals import LocalStore, exclusive_lock
from tests.support.sections import Numbers, declare

pytestmark = pytest.mark.sitemaps09
A, B = "https://a.example", "https://b.example"


@pytest.fixture
def root(folder, configure, register):
    configure(ROOT=str(folder))
    register(a=Numbers(3), b=Numbers(2))
    return folder


def error_of_command(*names, **options):
    return commands.failed("export_sitemaps", *names, verbosity=0, **options)[2]


def refusal(*names, **options):
    result = run_export(*names, **options)
    [failure] = result["failures"]
    assert (result["status"], result["hosts"]) == (1, [])
    return failure


def test_the_result_has_the_status_and_a_summary_as_json(root, register):
    result = run_export()
    assert json.loads(json.dumps(result)) == result
    assert result["hosts"][0].pop("seconds") > 0
    summary = {"index_url": f"{BASE}/sitemap.xml", "published": True, "urls": 5, "skipped": 0}
    summary |= {"written": 3, "deleted": 0}
    assert result == {"status": 0, "failures": [], "warnings": [], "hosts": [summary]}
    assert content(root).keys() == {"sitemap-a-1.xml.gz", "sitemap-b-1.xml.gz", "sitemap.xml"}
    # Skipped items are counted.
    register(a=Bad(4, [1]), b=Numbers(2))
    result = run_export("a", changed_only=True)
    assert (result["status"], result["hosts"][0]["urls"], result["hosts"][0]["skipped"]) == (0, 3, 2)


@pytest.mark.parametrize("allowed", [[], [A, "https://www.b.example"]])
def test_a_queue_cannot_choose_hosts_that_are_not_allowed(root, settings, allowed):
    settings.ALLOWED_HOSTS = ["a.example", ".b.example"]
    failure = refusal(base_urls=[*allowed, "https://invented.example"])
    assert "https://invented.example, but its host is not in ALLOWED_HOSTS" in failure
    assert not root.exists() or not any(root.iterdir())
    assert run_export(base_urls=allowed)["status"] == 0


@pytest.mark.parametrize(("url", "is_allowed"), [
    (f"{A}:1", False), (f"{A}:80", False), ("http://a.example:443", False), ("https://[::1]:1", False),
    (f"{A}:443", True), ("http://a.example:80", True), (f"{A}:8000", True),
])  # fmt: skip
def test_a_queue_cannot_invent_ports(root, configure, settings, url, is_allowed):
    settings.ALLOWED_HOSTS = ["a.example", "[::1]"]
    configure(BASE_URL="http://www.example.com:8000")
    if is_allowed:
        result = run_export(base_urls=[A, url])
        assert (result["status"], len(result["hosts"])) == (0, 2)
    else:
        words = f"{url}, but its port is neither the default port nor that of"
        assert (words in refusal(base_urls=[A, url]), root.exists()) == (True, False)
    configure(BASE_URL=None)
    refusal(base_urls=[f"{A}:{port}" for port in range(1, 21)])


def test_a_second_export_has_the_status_of_the_lock_and_raises_nothing(root):
    run_export()
    before = touched(root)
    with exclusive_lock(LocalStore(root)):
        result = run_export()
        assert error_of_command().returncode == result["status"] == 75
    failures = [f"Another export is writing to {root}; nothing was changed."]
    assert (result["failures"], result["hosts"], touched(root)) == (failures, [], before)


def test_several_hosts_have_a_summary_each_and_one_that_is_locked_does_not_stop_the_others(root):
    result = run_export(base_urls=[A, B])
    found = [(host["index_url"], host["urls"]) for host in result["hosts"]]
    assert found == [(f"{host}/sitemap.xml", 5) for host in (A, B)]
    with exclusive_lock(LocalStore(root / "a.example")):
        result = run_export(base_urls=[A, B])
    [failure] = result["failures"]
    assert failure.startswith(f"{A}: Another export is writing to {root / 'a.example'};")
    found = [(host["published"], host["urls"]) for host in result["hosts"]]
    assert (result["status"], found) == (75, [(False, 0), (True, 5)])


@pytest.mark.parametrize(("names", "keys"), [
    (["nope"], {}), ([], {"ROOT": None}), ([], {"BASE_URL": "nope"}), (["fails"], {}), (["bad"], {}),
])  # fmt: skip
def test_any_other_failure_has_the_status_of_the_command(root, configure, register, names, keys):
    register(a=Numbers(3), fails=Failing(3, 1), bad=Bad(3, [1]))
    configure(**keys)
    strict = names == ["bad"]
    result = run_export(*names, strict=strict)
    error = error_of_command(*names, strict=strict)
    assert (result["status"], "\n".join(result["failures"]), error.returncode) == (1, str(error), 1)
    assert not any(host["published"] for host in result["hosts"])


def test_a_queue_cannot_choose_paths_or_code_or_confirm_losses(root):
    options = {"sections", "base_urls", "changed_only", "rebalance", "strict"}
    assert {*inspect.signature(run_export).parameters} == options


@pytest.mark.parametrize("urls", [None, 5, False, BASE, [5], [None], [BASE, []]])
def test_a_message_with_a_wrong_type_says_what_is_wrong(root, urls):
    assert refusal(base_urls=urls).startswith("base_urls must be a list of strings")
    assert refusal([urls]).startswith("names must be a list of strings")
    for name in ("changed_only", "rebalance", "strict"):
        assert refusal(**{name: urls or 0}).startswith(f"{name} must be True or False")
    assert not root.exists()


def test_a_mistake_in_code_is_raised_and_a_text_that_a_backend_cannot_store_is_escaped(root, monkeypatch):
    errors = Mock(side_effect=[ZeroDivisionError(), OSError("\0\udcff\n" + 2000 * "x")])
    monkeypatch.setattr("django_sitemaps09.export.exports.run_exports", errors)
    with pytest.raises(ZeroDivisionError):
        run_export()
    failure = refusal()
    assert (failure[:14], len(failure) < 1100) == (r"\x00\udcff\nxx", True)


def test_a_thread_uses_the_script_prefix_of_the_settings(root, register, settings):
    def location(self, item):
        return f"{get_script_prefix()}{get_urlconf()}/{item}/"

    def worker():
        set_script_prefix("/left/")
        set_urlconf("left.urls")
        return run_export("a"), get_script_prefix(), get_urlconf()

    settings.FORCE_SCRIPT_NAME = "/shop"
    register(a=declare(Numbers, location=location)(2), b=Numbers(1))
    with ThreadPoolExecutor(1) as pool:
        result, *left = pool.submit(worker).result()
    assert (result["status"], result["failures"], left) == (0, [], ["/left/", "left.urls"])
    page = gzip.decompress(content(root)["sitemap-a-1.xml.gz"]).decode()
    assert f"<loc>{BASE}/shop/None/1/</loc>" in page


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


class SoftLimitError(Exception):
    """What the handler of a queue's time limit raises."""


def test_a_time_limit_ends_the_export_and_skips_no_item(root, register):
    def location(self, item):
        if item == 1:
            os.kill(os.getpid(), signal.SIGUSR1)
        return f"/{item}/"

    limit = Mock(side_effect=SoftLimitError)
    run_export()
    before = touched(root)
    register(a=declare(Numbers, location=location)(3), b=Numbers(4))
    handler = signal.signal(signal.SIGUSR1, limit)
    try:
        with pytest.raises(SoftLimitError):
            run_export()
        assert (touched(root), signal.getsignal(signal.SIGUSR1)) == (before, limit)
    finally:
        signal.signal(signal.SIGUSR1, handler)
