"""Exported files that the native views serve with `SERVE_EXPORTED`."""

from __future__ import annotations

import errno
import os
import time
from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from wsgiref.util import FileWrapper

import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.http import FileResponse
from django.test import Client, RequestFactory
from django.urls import include, path

from django_sitemaps09.export import export, export_hosts
from tests.models import Article
from tests.support.articles import Articles, write_keys
from tests.support.configuration import BASE, SecondsClock
from tests.support.exports import fails_with
from tests.support.internals import STATE, LocalStore, exported, manifest
from tests.support.native_views import export_elsewhere, get, locations, of_keys, slugs
from tests.support.sections import Numbers, declare as sitemap
from tests.support.stores import Overwriting, saved, storage

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09(SERVE_EXPORTED=True, STYLESHEET=True)]
PAGE, SECOND, TEXT = "/sitemap-articles-1.xml.gz", "/sitemap-articles-2.xml.gz", "/sitemap-text-1.txt"
NAMES = {"sitemap.xml", "sitemap.css", PAGE[1:], SECOND[1:], TEXT[1:]}
FIRST_ROWS = of_keys(*range(1, 11))
SECTIONS = {"articles": Articles, "text": sitemap(Numbers, format="text")(3)}


@pytest.fixture(autouse=True)
def _sections(register):
    register(**SECTIONS)
    write_keys(*range(1, 16))


@pytest.fixture
def public(configure, folder):
    configure(ROOT=folder)
    export()
    return folder


@pytest.fixture
def memory(declare, monkeypatch):
    """An export to a storage in memory. Its lock would need a service."""
    no_lock = lambda store: nullcontext(lambda: None)  # noqa: E731
    monkeypatch.setattr("django_sitemaps09.export.host_export.exclusive_lock", no_lock)
    declare(sitemaps=storage(Overwriting))
    export()


@pytest.fixture(params=["public", "memory"])
def files(request):
    folder = request.getfixturevalue(request.param)
    if folder is not None:
        return lambda: {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}
    return lambda: {name: content for name, content in saved("sitemaps").items() if "/" not in name}


def is_file(url):
    return isinstance(get(url), FileResponse)


class TestAFile:
    def test_is_served_as_the_export_wrote_it_without_a_query(self, files, django_assert_num_queries):
        Article.objects.all().delete()
        assert files().keys() == NAMES
        for name, content in files().items():
            with django_assert_num_queries(0):
                response = get(f"/{name}")
            assert (response.status_code, response.body) == (200, content)

    def test_has_an_etag_that_lasts_until_it_changes(self, files):
        etags = {f"/{name}": get(f"/{name}")["ETag"] for name in files()}
        assert len({*etags.values()}) == len(NAMES)
        export()
        Article.objects.filter(pk=1).update(slug="t1")
        assert {url: get(url)["ETag"] for url in etags} == etags
        for url, etag in etags.items():
            response = get(url, If_None_Match=f'"other", {etag}')
            assert (response.status_code, response.body, response["ETag"]) == (304, b"", etag)
        export()
        assert slugs(PAGE)[0] == "t1"
        assert [get(url, If_None_Match=etags[url]).status_code for url in (PAGE, SECOND)] == [200, 304]

    def test_has_another_etag_after_a_change_even_if_all_times_are_alike(self, folder, configure):
        """Reproducible builds of container images set one time for all files."""
        configure(ROOT=folder, GZIP=False)
        changed = ("/sitemap-articles-2.xml", "/sitemap.xml")

        def build():
            export_elsewhere()
            for file in folder.iterdir():
                if file.is_file():
                    os.utime(file, (0, 0))
            return {url: get(url) for url in (*changed, TEXT)}

        before = build()
        Article.objects.filter(slug="s15").update(slug="s16")
        assert len(build()[changed[0]].body) == len(before[changed[0]].body)
        for url, old in before.items():
            assert get(url, If_None_Match=old["ETag"]).status_code == (200 if url in changed else 304)

    def test_is_sent_by_the_server_if_it_can_send_files_and_closed(self, public, monkeypatch):
        request = RequestFactory().get(PAGE)
        request.environ["wsgi.file_wrapper"] = FileWrapper
        sent = WSGIHandler()(request.environ, lambda status, headers: None)
        assert isinstance(sent, FileWrapper)
        assert os.fstat(sent.filelike.fileno()).st_ino == (public / PAGE[1:]).stat().st_ino
        assert b"".join(sent) == (public / PAGE[1:]).read_bytes()
        sent.close()
        # It is closed at once if the client has it.
        opened, open_, etag = [sent.filelike], LocalStore.open, get(PAGE)["ETag"]
        monkeypatch.setattr(LocalStore, "open", lambda *args: opened.append(open_(*args)) or opened[-1])
        assert get(PAGE, If_None_Match=etag).status_code == 304
        assert [file.closed for file in opened] == [True, True]


class TestTheLiveView:
    def test_answers_where_the_export_has_no_such_file(self, public):
        for url in ("/sitemap-articles-1.xml", "/sitemap-articles-1.txt", "/sitemap-text-1.xml"):
            assert (is_file(url), get(url).status_code) == (False, 200)
        (public / PAGE[1:]).unlink()
        assert (slugs(PAGE), get("/sitemap-articles-3.xml.gz").status_code) == (FIRST_ROWS, 404)

    def test_answers_for_what_no_export_wrote(self, public, monkeypatch):
        for name in ("sitemap-mine-1.xml.gz", "sitemap-mine-1.txt", "sitemap-99.xml"):
            (public / name).write_bytes(b"of another program")
            assert get(f"/{name}").status_code == 404
        monkeypatch.setattr(LocalStore, "open", lambda *args: pytest.fail("opened"))
        for name in (
            f"{STATE}/manifest.json sitemap-articles-1.xml.gz/ sitemap-../articles-1.xml "
            "sitemap-articles-..%2f1.xml.gz %2e%2e/public/sitemap.xml sitemap-articles-1.xml.gz%00 "
            "sitemap-articles-0000000001.xml.gz"
        ).split():
            assert get(f"/{name}").status_code == 404

    @pytest.mark.parametrize("obstacle", ["folder", "link", "forbidden"])
    def test_answers_for_an_unreadable_file_and_logs_that_once(self, public, caplog, monkeypatch, obstacle):
        file = public / PAGE[1:]
        content = file.rename(public / "elsewhere")
        if obstacle == "folder":
            file.mkdir()
        elif obstacle == "link":
            file.symlink_to(content)
        else:
            monkeypatch.setattr(LocalStore, "open", fails_with(errno.EACCES))
        assert [slugs(PAGE) for _ in range(3)] == [FIRST_ROWS] * 3
        [record] = caplog.records
        assert record.getMessage().startswith("Live pages are served, because an exported file cannot be")
        # The other files are not affected.
        assert obstacle == "forbidden" or (is_file("/sitemap.xml") and is_file(SECOND))

    @pytest.mark.parametrize("content", ["{", '{"format": 99}', ""])
    def test_answers_for_an_unreadable_export_and_logs_that_once(self, public, caplog, content):
        (public / STATE / manifest.ROOT).write_text(content)
        for url in ("/sitemap.xml", TEXT) * 2:
            assert (get(url).status_code, is_file(url)) == (200, False)
        assert len([message for message in caplog.messages if "Live pages are served" in message]) == 1

    def test_answers_for_a_storage_that_fails(self, memory, monkeypatch, caplog):
        assert get(PAGE).status_code == 200
        monkeypatch.setattr(Overwriting, "_open", fails_with(errno.EACCES))
        assert slugs(locations(get("/sitemap.xml").body)[0].removeprefix(BASE)) == FIRST_ROWS
        assert "Live pages are served" in caplog.text
        # Nobody knows which keys page 1 has.
        assert get(PAGE).status_code == 503

    def test_answers_for_another_host_path_or_setting(self, folder, configure, route):
        configure(ROOT=folder)
        assert not is_file(PAGE)
        export_elsewhere()
        other = {"BASE_URL": "https://other.example.com"}
        for keys in ({}, {"SERVE_EXPORTED": False}, {"ROOT": None}, other):
            configure(**{"BASE_URL": BASE, "ROOT": folder, "SERVE_EXPORTED": True, **keys})
            assert is_file(PAGE) is (keys == {})
        bases = {url.rpartition("/")[0] for url in locations(get("/sitemap.xml").body)}
        configure(BASE_URL=BASE)
        route(path("maps/", include("django_sitemaps09.urls")))
        assert not is_file("/maps/sitemap.xml")
        bases |= {url.rpartition("/")[0] for url in locations(get("/maps/sitemap.xml").body)}
        assert bases == {"https://other.example.com", f"{BASE}/maps"}

    def test_answers_for_sections_that_the_export_does_not_have(self, public, route, configure):
        route(path("", include("django_sitemaps09.urls"), {"sitemaps": {"articles": Numbers(1)}}))
        assert slugs(PAGE) == ["0"]
        route(path("", include("django_sitemaps09.urls"), {"sitemaps": SECTIONS}))
        assert not is_file(PAGE)
        configure(SITEMAPS=f"{__name__}.SECTIONS")
        assert is_file(PAGE)


class TestDuringAPublication:
    def test_bytes_never_have_the_etag_of_other_bytes(self, public):
        """The manifest is replaced last, so it describes the files from before."""
        state = public / STATE / manifest.ROOT
        before, etag = state.read_bytes(), get(TEXT)["ETag"]
        file = public / TEXT[1:]
        file.rename(public / "old")
        file.write_bytes((public / "old").read_bytes().replace(b"/0/", b"/7/"))
        assert state.read_bytes() == before
        response = get(TEXT, If_None_Match=etag)
        assert (response.status_code, response.body) == (200, file.read_bytes())
        assert response["ETag"] != etag
        # The next export takes the change back.
        (public / "old").rename(file)
        back = get(TEXT, If_None_Match=response["ETag"])
        assert (back.status_code, back["ETag"]) == (200, etag)

    def test_a_response_has_the_bytes_that_it_began_with(self, public):
        content, response = (public / PAGE[1:]).read_bytes(), Client().get(PAGE)
        Article.objects.filter(pk=1).update(slug="t1")
        export()
        assert b"".join(response.streaming_content) == content
        assert get(PAGE, If_None_Match=response["ETag"]).status_code == 200

    @pytest.mark.parametrize("is_new_section", [False, True])
    def test_a_new_page_is_served_before_the_manifest_lists_it(self, public, register, is_new_section):
        """A run that is killed before it writes the manifest leaves this state until the next run."""
        before = (public / STATE / manifest.ROOT).read_bytes()
        if is_new_section:
            register(**SECTIONS, new=sitemap(Articles, limit=5))
        else:
            write_keys(*range(16, 40))
        export()
        (public / STATE / manifest.ROOT).write_bytes(before)
        exported._exports.clear()
        names = [url.rpartition("/")[2] for url in locations(get("/sitemap.xml").body)]
        assert len(names) == (6 if is_new_section else 5)
        assert all(is_file(f"/{name}") for name in names)

    def test_a_file_that_no_index_lists_is_served_until_it_is_deleted(self, public, configure, register):
        content = (public / TEXT[1:]).read_bytes()
        register(articles=Articles)
        export(remove=["text"])
        register(**SECTIONS)
        exported._exports.clear()
        assert get(TEXT).body == content
        configure(KEEP_REMOVED=0)
        export(names=["articles"])
        assert not (public / TEXT[1:]).exists()
        assert (get(TEXT).status_code, is_file(TEXT)) == (200, False)


def test_a_manifest_is_read_every_ten_seconds(public, monkeypatch):
    reads, read = [], LocalStore.read
    noting = lambda store, name, most: reads.append(name) or read(store, name, most)  # noqa: E731
    monkeypatch.setattr(LocalStore, "read", noting)
    assert all(map(is_file, (PAGE, "/sitemap.xml", TEXT, SECOND, PAGE)))
    # In the folder of the host, then in the folder of the export.
    assert reads == [manifest.ROOT, manifest.ROOT]
    monkeypatch.setattr("django.core.cache.backends.locmem.time", SecondsClock(time.time() + 11))
    assert (is_file(PAGE), len(reads)) == (True, 4)


@pytest.mark.parametrize("hosts", [["https://a.example", "https://b.example"], ["https://a.example"]])
def test_files_of_several_hosts_are_those_of_the_newest_run(folder, configure, clock, caplog, hosts):
    configure(ROOT=folder, BASE_URL=hosts[0])
    both = lambda: export_hosts(hosts)  # noqa: E731
    for run, slug in ((both, "t1"), (export, "t2"), (both, "t3")):
        Article.objects.filter(pk=1).update(slug=slug)
        run()
        clock.time += timedelta(hours=1)
        exported._exports.clear()
        assert [slugs(PAGE)[0] for _ in range(3)] == [slug] * 3
        assert is_file(PAGE)
    configure(BASE_URL="https://b.example")
    assert is_file(PAGE) == (len(hosts) > 1)
    # Once for each of the two exports that was the newer one.
    assert len([message for message in caplog.messages if "has two exports" in message]) == 2


#: URLs of files, and hosts that must not redirect to them.
OWN = [("https://files.example.com/", f"files.example.com{end}") for end in (":443", ":80", ".")]
for _host in ("www.example.com", "internal.example.com"):
    OWN += [(url, _host) for url in (f"{BASE}/", f"{BASE}:443/", "http://www.example.com/")]


class TestFilesOnAnotherHost:
    @pytest.fixture(autouse=True)
    def _elsewhere(self, configure):
        configure(FILES_URL="https://cdn.example.com/maps/", CACHE_CONTROL={"max_age": 60})

    def test_are_redirected_to(self, files):
        for name in files():
            response = get(f"/{name}")
            assert (response.status_code, {**response.headers}) == (302, {
                "Location": f"https://cdn.example.com/maps/{name}", "Cache-Control": "max-age=60",
                "X-Robots-Tag": "noindex, noodp, noarchive", "Content-Type": "text/html; charset=utf-8",
            })  # fmt: skip
        assert get("/sitemap-articles-1.xml").status_code == 200
        assert get("/sitemap-articles-3.xml.gz").status_code == 404

    def test_are_served_by_a_server_that_gets_requests_for_that_host(self, files, route):
        """A CDN that fetches the files from Django must not be redirected to itself."""
        route(path("maps/", include("django_sitemaps09.urls")))
        assert get(f"/maps{PAGE}", Host="CDN.example.com").body == files()[PAGE[1:]]

    @pytest.mark.parametrize(("url", "host"), OWN)
    def test_are_not_redirected_to_by_their_own_host(self, folder, configure, url, host):
        """A proxy can change the scheme of a request, and a client does not send the default port."""
        configure(ROOT=folder, FILES_URL=url)
        export()
        assert get(PAGE, Host=host).body == (folder / PAGE[1:]).read_bytes()


class TestAnotherUser:
    """Someone who can write in the folder, but is neither this user nor its owner."""

    @pytest.mark.parametrize(
        "url",
        ["javascript:alert(1)//", "//evil.example/", "https://evil.example/", f"{BASE}@evil.example/", ""],
    )
    def test_leads_nobody_to_another_site(self, public, url):
        state = LocalStore(public / STATE, 0o600, own="")
        state.write(manifest.ROOT, replace(manifest.read_root(state), url=url).root())
        for name in NAMES:
            assert (get(f"/{name}").status_code, is_file(f"/{name}")) == (200, False)
        assert get("/robots.txt").status_code in (200, 404)

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
    @pytest.mark.parametrize("name", [PAGE[1:], f"{STATE}/{manifest.ROOT}"])
    def test_has_no_files_and_no_folder_of_a_host_served(self, public, name):
        assert is_file(PAGE)
        os.chown(public / name, 1234, 2345)
        exported._exports.clear()
        assert (get(PAGE).status_code, is_file(PAGE)) == (200 if name == PAGE[1:] else 503, False)
        # The owner of the folder can replace all files anyway.
        os.chown(public, 1234, 2345)
        exported._exports.clear()
        assert is_file(PAGE)
        # Whoever creates the folder of a host owns it, but not the target.
        for path_ in (public, public / name):
            os.chown(path_, os.geteuid(), -1)
        own = public / "www.example.com"
        export_hosts([BASE])
        assert get(PAGE).body == (own / PAGE[1:]).read_bytes()
        for path_ in (own, *own.rglob("*")):
            os.chown(path_, 1234, 2345)
        exported._exports.clear()
        assert not is_file(PAGE)
