"""The page about changes of a running site: what is published before and after each of them."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from datetime import timedelta

import pytest
from django.contrib.sites.models import Site
from django.urls import path

from tests.docs.pages import PAGES, run, take
from tests.models import Article
from tests.support.articles import Articles, write_keys
from tests.support.commands import failed, said
from tests.support.configuration import BASE
from tests.support.internals import STATE, manifest
from tests.support.published import indexed, pages, states
from tests.support.search_engines import KEY, engine
from tests.support.sections import Numbers, declare
from tests.support.services import missing
from tests.urls import urlpatterns

__all__ = ["engine"]

pytestmark = pytest.mark.django_db
PAGE, STAGING, NEW = "docs/howto/day-two.md", "https://staging.example.com", "https://www.example.org"
SETTINGS, URLS = (take(PAGE, "Staging beside production", number) for number in range(2))


def commands(heading, page=PAGE):
    return [shlex.split(line)[1:] for line in take(page, heading, language="sh").text.splitlines()]


[REMOVING], [*RESTORING] = commands("Rename or remove a section"), commands("Restore a backup")
[MOVING] = commands("A site that moves to another host", "docs/howto/hosts.md")


def names(*numbers, section="products"):
    return [f"sitemap-{section}-{number}.xml" for number in numbers]


def files(folder):
    return {each.name for each in folder.iterdir()}


def refused(folder, words, *options):
    before = states(folder, hidden=True)
    *_, error = failed("export_sitemaps", *options)
    assert (error.returncode, words in str(error), states(folder, hidden=True)) == (1, True, before)


def is_current(folder, base=BASE):
    return indexed(folder) == {f"{base}/articles/{article.slug}/" for article in Article.objects.all()}


@pytest.fixture
def site(folder, settings, register, clock):
    robots = folder / "robots.txt"
    settings.SITEMAPS09 = {"BASE_URL": BASE, "ROOT": folder, "ROBOTS_TXT": robots, "GZIP": False}
    write_keys(*range(1, 26))
    register(products=Articles)
    said("export_sitemaps")
    assert (pages(folder), is_current(folder)) == (names(1, 2, 3), True)
    return folder


def test_a_section_is_renamed_and_removed(site, register, configure, engine, clock, client):
    old, new, urls = names(1, 2, 3), names(1, 2, 3, section="goods"), sorted(indexed(site))
    configure(SUBMIT=True, INDEXNOW_KEY=KEY, INDEXNOW_URLS=[engine.url])
    register(goods=Articles)
    assert str(failed("export_sitemaps")[2]).endswith("use --remove products")
    assert (pages(site), engine.submitted) == ([*new, *old], urls)
    said(*REMOVING)
    assert (pages(site), {*old} < files(site), client.get(f"/{old[0]}").status_code) == (new, True, 404)
    configure(SERVE_EXPORTED=True)
    assert b"".join(client.get(f"/{old[0]}")) == (site / old[0]).read_bytes()
    refused(site, "not published", *REMOVING[1:])
    refused(site, "still declared", "--remove", "goods")
    clock.time += timedelta(hours=25)
    # An engine that got nothing in the last five minutes is not spared.
    configure(INDEXNOW_URLS=[f"{engine.url}/second"])
    said("export_sitemaps")
    assert (files(site).isdisjoint(old), engine.submitted) == (True, sorted(urls * 2))
    configure(INDEXNOW_URLS=[f"{engine.url}/third"])
    engine.requests.clear()
    register(things=Articles)
    said("export_sitemaps", "--remove", "goods")
    assert (pages(site), engine.requests) == (names(1, 2, 3, section="things"), [])
    register(home=Numbers(1))
    said("export_sitemaps", "--remove", "things")
    assert engine.submitted == sorted([*urls, *indexed(site)])


def test_a_site_moves_to_another_host_and_its_files_to_a_third(site, configure, clock):
    configure(BASE_URL=NEW)
    refused(site, f"pass --moved-from {BASE} once")
    said(*MOVING)
    assert (pages(site), is_current(site, NEW)) == (names(4, 5, 6), True)
    assert {*names(1, 2, 3)} < files(site)
    assert f"{NEW}/sitemap.xml" in (site / "robots.txt").read_text()
    clock.time += timedelta(hours=25)
    before = states(site)
    assert "Nothing was moved" in said(*MOVING)[1]
    assert states(site).items() ^ before.items() == {(name, before[name]) for name in names(1, 2, 3)}
    configure(FILES_URL="https://files.example.org/")
    for arguments in ([], ["products"]):
        refused(site, "remove manifest.json", *arguments)
    (site / STATE / "manifest.json").unlink()
    said("export_sitemaps")
    found = (site / "sitemap.xml").read_text().count("<loc>https://files.example.org/sitemap-products-")
    assert (found, {*names(4, 5, 6, 7, 8, 9)} < files(site)) == (3, True)


def test_staging_announces_nothing_and_forbids_everything(site, settings, monkeypatch, tmp_path, client):
    monkeypatch.delenv("DJANGO_PRODUCTION", raising=False)
    monkeypatch.setenv("DJANGO_STAGING", "1")
    space = {"BASE_DIR": tmp_path, "DEBUG": False}
    for block in (take("docs/reference/settings.md", "Settings"), SETTINGS):
        run(block, space)
    settings.SITEMAPS09, settings.PRODUCTION = space["SITEMAPS09"], space["PRODUCTION"]
    assert {"SUBMIT", "INDEXNOW_KEY", "ROBOTS_TXT"}.isdisjoint(settings.SITEMAPS09)
    # The second one is a robots.txt that allows everything.
    space = {"urlpatterns": urlpatterns[::2], "path": path}
    run(URLS, space)
    settings.ROOT_URLCONF = tuple(space["urlpatterns"])
    before, folder = states(site, hidden=True), tmp_path / "staging"
    said("export_sitemaps")
    assert (is_current(folder, STAGING), states(site, hidden=True)) == (True, before)
    assert client.get("/robots.txt").content.startswith(b"User-agent: *\nDisallow: /\n")
    assert "url-blocked" in failed("audit_sitemaps")[0]
    assert "Nothing is wrong" in said("audit_sitemaps", "--dir", folder)[0]
    refused(site, "contains an export of", "--output", site)
    Site.objects.update(domain="www.example.com")
    Site.objects.clear_cache()
    said("export_sitemaps", "--all-sites")
    assert is_current(folder / "www.example.com")
    disk, options = "django.core.files.storage.FileSystemStorage", {"location": tmp_path / "a"}
    settings.STORAGES = {**settings.STORAGES, "private": {"BACKEND": disk, "OPTIONS": options}}
    settings.SITEMAPS09 = {**settings.SITEMAPS09, "STATE": "private"}
    said("export_sitemaps", "--output", tmp_path / "b")
    refused(tmp_path / "a", "cannot share it", "--output", tmp_path / "c")


@pytest.mark.services
def test_a_committed_line_or_block_of_robots_txt_stays(site, tmp_path):
    if shutil.which("git") is None:
        missing("git is not installed")

    def git(*arguments, status=0):
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)  # noqa: S603
        assert done.returncode == status, done.stderr
        return done.stdout

    robots = site / "robots.txt"
    [line] = re.findall(r"`(Sitemap: .+)`", PAGES[PAGE])
    (tmp_path / ".gitignore").write_text("\n".join(re.findall(r"`(/public/.+?)`", PAGES[PAGE])))
    git("init", "-q")
    for more, change in (("", " M public/robots.txt\n"), (f"{line}\n", ""), (robots.read_text(), "")):
        robots.write_text(f"User-agent: *\nDisallow: /private/\n\n{more}")
        git("add", "-A")
        git("commit", "-qm", "robots.txt")
        said("export_sitemaps")
        assert (git("status", "--porcelain", "-uall"), line in robots.read_text()) == (change, True)
        git("reset", "-q", "--hard")
        assert (line in robots.read_text()) == bool(more)
    git("branch", "next")
    git("reset", "-q", "--hard", "HEAD~2")
    said("export_sitemaps")
    git("pull", "-q", ".", "next", status=1)


@pytest.mark.parametrize(("rows", "written", "state", "verified", "found"), [
    ("old", "new", "new", True, [1, 2, 3]), ("new", "old", "old", True, [1, 2, 3, 4, 5]),
    ("new", "old", "new", False, [1, 2, 3, 4, 5]), ("new", "new", "old", False, [1, 2, 3, 6, 7]),
    ("new", "old", "none", False, [4, 5, 6, 7, 8]), ("new", "none", "none", False, [1, 2, 3, 4, 5]),
])  # fmt: skip
def test_two_commands_complete_what_was_restored(site, tmp_path, rows, written, state, verified, found):
    articles = [*Article.objects.all()]
    shutil.copytree(site, tmp_path / "old")
    Article.objects.filter(pk=14).update(slug="t14")
    write_keys(*range(26, 46))
    said("export_sitemaps")
    site.rename(tmp_path / "new")
    (tmp_path / "none" / STATE).mkdir(parents=True)
    shutil.copytree(tmp_path / written, site, ignore=shutil.ignore_patterns(STATE))
    shutil.copytree(tmp_path / state / STATE, site / STATE)
    if rows == "old":
        Article.objects.all().delete()
        Article.objects.bulk_create(articles)
    (said if verified else failed)("export_sitemaps", "--verify")
    if (written, state) == ("new", "old"):
        refused(site, "Run an export instead", "--verify", "--repair")
    said(*RESTORING[0])
    # The pages of an old copy have the sizes that the new state knows.
    assert is_current(site) == ((written, state) != ("old", "new"))
    said(*RESTORING[1])
    assert (pages(site), is_current(site)) == (names(*found), True)


def test_a_release_is_rolled_back(site, register, monkeypatch):
    register(products=declare(Articles, changefreq="daily"), goods=Articles)
    said("export_sitemaps")
    goods, first = names(1, 2, 3, section="goods"), site / names(1)[0]
    assert (pages(site), b"daily" in first.read_bytes()) == ([*names(1, 2, 3), *goods], True)
    register(products=Articles)
    assert "no longer declared" in str(failed("export_sitemaps", "--changed-only")[2])
    assert (pages(site), b"daily" in first.read_bytes()) == ([*names(1, 2, 3), *goods], False)
    register(goods=Articles)
    said(*REMOVING)
    register(products=Articles, goods=Articles)
    said("export_sitemaps")
    assert pages(site) == [*names(4, 5, 6), *goods]
    with monkeypatch.context() as later:
        later.setattr(manifest, "FORMAT", manifest.FORMAT + 1)
        said("export_sitemaps")
    published = pages(site)
    refused(site, "written by a later version")
    (site / STATE / "manifest.json").unlink()
    said("export_sitemaps")
    assert ({*published}.isdisjoint(pages(site)), {*published} < files(site)) == (True, True)
