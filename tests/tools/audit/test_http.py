"""Audits over HTTP, of real local servers: what is requested, slow servers, pages and their history."""

from __future__ import annotations

import json
import os
import socket
import stat
import threading
import time
from contextlib import closing, contextmanager, suppress
from datetime import datetime, timezone
from itertools import count
from unittest.mock import Mock

import pytest
from django.http import HttpResponse
from django.urls import path
from urllib3 import Timeout
from urllib3.exceptions import HTTPError

from django_sitemaps09 import views
from django_sitemaps09.exceptions import AuditError
from django_sitemaps09.tools.audit import AuditInterrupted, audit, pages as page_rules, readers
from tests.support.commands import failed, said
from tests.support.internals import Client, Connections
from tests.support.site_files import OTHER, PAGE, Answer, rules, site, sound, url, urlset, write


@pytest.mark.parametrize("path", ["", "/", "/robots.txt", "/sitemap.xml"])
def test_an_audit_starts_from_a_site_a_robots_txt_or_an_index(path):
    with site() as base:
        report = audit(f"{base}{path}")
        assert (report.target, report.documents, report.urls) == (f"{base}{path}", 3, 3)
        assert (report.findings, audit(f"{base}/{OTHER}").documents) == ((), 1)


def test_a_site_can_redirect_to_another_host():
    with site() as base:
        names = ("robots.txt", "sitemap.xml")
        answers = {name: Answer("", 301, {"Location": f"{base}/{name}"}) for name in names}
        with site(lambda _: answers) as typed:
            for address in (typed, f"{typed}/sitemap.xml"):
                report = audit(address)
                assert (report.findings, report.urls, report.target) == ((), 3, address)


def test_the_robots_txt_of_a_host_that_documents_redirect_to_does_not_count():
    with site() as base, site(lambda typed: answers) as typed:
        robots = f"User-agent: *\nDisallow: /words/a/\nSitemap: {typed}/sitemap.xml"
        files = base.replace("127.0.0.1", "localhost")
        answers = {"robots.txt": robots, "sitemap.xml": Answer("", 301, {"Location": f"{files}/{PAGE}"})}
        assert "document-redirect" in rules(audit(f"{typed}/sitemap.xml"))


def test_redirects_never_lead_from_https_to_http(monkeypatch):
    """A local server has no certificate, so the answers are those of a pool."""
    redirect = type("Redirect", (), {"status": 302, "close": lambda self: None})()
    redirect.headers = {"Location": "http://www.example.com/sitemap.xml"}
    monkeypatch.setattr(readers.HttpReader, "_request", lambda self, url: redirect)
    assert "redirects to http://www" in str(audit("https://www.example.com/sitemap.xml").findings)


def test_urls_of_another_host_are_valid_if_its_robots_txt_lists_the_document():
    """Cross-submission: https://www.sitemaps.org/protocol.html#location"""
    documents = {}
    with (
        site(lambda base: documents) as files,
        site(lambda base: {"robots.txt": f"Sitemap: {files}/files.xml"}) as own,
        site() as other,
    ):
        documents["files.xml"] = urlset(url(base=own))
        assert rules(audit(f"{files}/files.xml")) == rules(audit(own)) == set()
        # Its robots.txt lists another sitemap.
        documents["files.xml"] = urlset(url(base=other))
        assert rules(audit(f"{files}/files.xml")) == {"url-host"}


def test_only_http_urls_are_accepted_and_a_user_agent_is_sent_over_http():
    for start in ("ftp://example.com/", "sitemap.xml", "https://", "file:///etc/hostname"):
        with pytest.raises(AuditError, match="is not a URL"):
            audit(start)
    names = []
    with site(on_request=lambda environ: names.append(environ["HTTP_USER_AGENT"])) as base:
        audit(base, user_agent="Examplebot/1.0")
        assert {*names} == {"Examplebot/1.0"}
        with pytest.raises(AuditError, match="ASCII text"):
            audit(base, user_agent="a\r\nCookie: b")
    with pytest.raises(AuditError, match="only sent over HTTP"):
        audit(user_agent="Examplebot")


OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
#: What a server sends at once, and what it then repeats.
SLOW = {
    "nothing": (b"", b""),
    "a status line": (b"HTTP/1.1 200 ", b"O"),
    "a header": (OK + b"X-Slow: ", b"a"),
    "endless 100 Continue": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "a body": (OK + b"Content-Length: 1000000\r\n\r\n<", b" "),
    "a body without a length": (OK + b"\r\n<", b" "),
    "the size of a chunk": (CHUNKED, b"0"),
    "a trailer": (CHUNKED + b"1\r\n<\r\n0\r\nX-Slow: ", b"a"),
    "endless trailers": (CHUNKED + b"1\r\n<\r\n0\r\n", b"X-Slow: a\r\n"),
}


@contextmanager
def slow_server(start, repeated):
    """Send to each connection until it is closed, and check that the client leaves no thread, and ends."""
    is_over = threading.Event()

    def send(connection):
        with connection, suppress(OSError):
            connection.recv(65_536)
            connection.sendall(start)
            while not is_over.wait(0.01):
                connection.sendall(repeated)

    def accept():
        with suppress(OSError):
            while True:
                threading.Thread(target=send, args=[server.accept()[0]], name="server").start()

    before, started = threads(), time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=accept, name="server")
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}"
            assert threads() == before
        finally:
            is_over.set()
            server.shutdown(socket.SHUT_RDWR)
            thread.join(10)
    assert time.monotonic() - started < 5


def threads():
    return [thread.name for thread in threading.enumerate() if thread.name != "server"]


@pytest.fixture
def connections():
    with closing(Connections()) as made:
        yield made


def get(connections, url, seconds=0.1):
    with connections.deadline(seconds):
        return connections.request("GET", url, wait=Timeout(10))


def refused(connections, url):
    started = time.monotonic()
    with pytest.raises(HTTPError):
        get(connections, url)
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("name", SLOW)
def test_an_audit_of_a_slow_server_ends(name, monkeypatch):
    monkeypatch.setattr(readers, "DOCUMENT_SECONDS", 0.05)
    with slow_server(*SLOW[name]) as base:
        report = audit(f"{base}/sitemap.xml")
    assert rules(report) >= {"robots-unreachable", "document-unreachable"}
    assert "it takes more than 0 seconds" in str(report.findings)


@pytest.mark.parametrize("name", [*SLOW][:4])
def test_a_submission_to_a_slow_server_ends(name):
    with slow_server(*SLOW[name]) as base, closing(Client(0.2, 0.1)) as client:
        assert client.request(base).failure == "it did not respond in time"


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_all_addresses_of_a_host_share_the_deadline(scheme, monkeypatch, connections):
    """The queue of the server is full, so that no connection is accepted."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server:
        address = server.getsockname()
        with socket.create_connection(address), socket.socket() as other:
            other.setblocking(False)
            other.connect_ex(address)
            found = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", address)] * 100
            monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
            refused(connections, f"{scheme}://www.example.com/")


def test_a_slow_tls_handshake_ends(connections):
    # The header of a TLS record of 16 KB, whose content never ends.
    with slow_server(b"\x16\x03\x03\x40\x00", b"\0") as base:
        refused(connections, base.replace("http:", "https:"))


@pytest.mark.parametrize("problem", [socket.gaierror(socket.EAI_NONAME, "not known"), UnicodeError()])
def test_a_host_that_does_not_exist_is_an_error(problem, monkeypatch, connections):
    def missing(*arguments, **options):
        raise problem

    monkeypatch.setattr(socket, "getaddrinfo", missing)
    refused(connections, "http://www.example.com/")


def test_the_deadline_applies_to_a_connection_that_is_used_again(connections):
    accepted = []

    def serve(server):
        accepted.append(server.accept()[0])
        accepted[0].recv(65_536)
        accepted[0].sendall(OK + b"Content-Length: 1\r\n\r\na")

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, args=[server], name="server")
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        assert get(connections, url, 10).read() == b"a"
        refused(connections, url)
        thread.join(10)
        accepted[0].close()


def test_a_server_or_a_document_that_does_not_respond_in_time_is_unreachable(monkeypatch):
    with site(lambda base: {OTHER: Answer("", seconds=0.3)}) as base:
        monkeypatch.setattr(readers, "READ_SECONDS", 0.1)
        assert rules(audit(base)) == {"document-unreachable"}
        monkeypatch.setattr(readers, "DOCUMENT_SECONDS", 0.0)
        assert rules(audit(f"{base}/{PAGE}")) == {"robots-unreachable", "document-unreachable"}
    assert "document-unreachable" in rules(audit(base))


def test_a_sample_has_the_requested_size_and_pages_are_requested_at_the_rate(monkeypatch):
    pauses = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    with site() as base:
        assert [audit(base, fetch=number, rate=0).pages for number in (2, 20, 0)] == [2, 3, 0]
        pauses.clear()
        audit(base, fetch="all", rate=0.5)
    # Each page after the first one waits for the rest of two seconds, counted from the last request.
    waits = [pause for pause in pauses if pause]
    assert len(waits) == 2
    assert all(pause <= 2 for pause in waits)


def answer(request, word):
    if word == "b":
        raise RuntimeError("the view is broken")
    response = HttpResponse(f'<link rel="canonical" href="{request.build_absolute_uri()}">')
    response.set_cookie("seen", word)
    assert "seen" not in request.COOKIES
    return response


urlpatterns = [
    path("robots.txt", views.robots_txt),
    path("words/<str:word>/", answer),
    path("about/", lambda request: HttpResponse("text")),
]


@pytest.mark.sitemaps09
@pytest.mark.urls("tests.tools.audit.test_http")
def test_pages_of_a_folder_are_requested_from_this_project(tmp_path):
    report = audit(directory=write(tmp_path, sound()), fetch="all")
    assert [(finding.rule, finding.count) for finding in report.findings] == [("page-status", 1)]
    assert ("words/b/ (500)" in report.findings[0].examples[0], report.pages) == (True, 3)


NUMBERS = count()


class ChangingSite:
    def __init__(self, path):
        self.path, self.text, self.lastmod, self.varies = path, "<main>A text</main>", "2026-01-31", False

    def answers(self, base):
        text = f"{self.text}<p>{next(NUMBERS)}</p>" if self.varies else self.text
        body = f"<html><body><nav>{next(NUMBERS)}</nav>{text}</body></html>"
        page = Answer(body, 200, {"Content-Type": "text/html"})
        about = Answer("text", 200, {"Content-Type": "text/plain"})
        listed = urlset(url("/words/a/", f"<lastmod>{self.lastmod}</lastmod>", base=base))
        return {"words/a/": page, "about/": about, PAGE: listed}

    def audit(self, **options):
        return audit(self.base, **{"fetch": "all", "rate": 0, "history": self.path, **options})


@pytest.fixture
def changing(tmp_path):
    made = ChangingSite(tmp_path / "history.json")
    with site(made.answers) as made.base:
        yield made


@pytest.mark.parametrize(("text", "lastmod", "expected"), [
    ("<main>A text</main>", "2026-01-31", set()),
    ("<main>A \n text</main><footer>2027</footer>", "2026-01-31", set()),
    ("<main>Another text</main>", "2026-01-31", {"page-changed"}),
    ("<p>Another text</p>", "2026-01-31", {"page-changed"}),
    ("<main>Another text</main>", "2026-02-01", set()),
    ("<main>A text</main>", "2026-02-01", {"page-unchanged"}),
    # One that is equivalent, older, or missing is not newer.
    ("<main>A text</main>", "2026-01-31T00:00:00+00:00", set()),
    ("<main>A text</main>", "2026-01-31T09:00:00Z", set()),
    ("<main>A text</main>", "2026-01-30", set()), ("<main>A text</main>", "", {"lastmod-format"}),
])  # fmt: skip
def test_lastmods_are_compared_with_changes(text, lastmod, expected, changing):
    first = changing.audit()
    assert (first.findings, first.compared, first.varying) == ((), 0, 0)
    changing.text, changing.lastmod = text, lastmod
    second = changing.audit()
    assert (rules(second), second.compared, second.varying) == (expected, 1 if lastmod else 0, 0)


def test_a_date_includes_the_changes_of_its_day_and_a_history_can_be_a_link(changing, tmp_path):
    link = tmp_path / "link.json"
    link.symlink_to(changing.path)
    changing.lastmod = f"{datetime.now(timezone.utc):%Y-%m-%d}"
    changing.audit(history=link)
    changing.text = "<main>Another text</main>"
    report = changing.audit(history=link)
    assert (report.findings, report.compared, link.is_symlink()) == ((), 1, True)


def test_a_page_that_varies_is_not_judged(changing):
    changing.audit()
    changing.text, changing.varies = "Text", True
    arguments = {"url": changing.base, "fetch": "all", "rate": 0, "history": str(changing.path)}
    assert "Compared 0 pages with the history; not judged: 1 page" in said("audit_sitemaps", **arguments)[0]
    changing.text, changing.varies = "<main>Another text</main>", False
    # The text from before is still known.
    assert rules(changing.audit()) == {"page-changed"}


def test_a_history_changes_nothing_else_in_its_folder(changing, tmp_path, monkeypatch):
    tmp_path.chmod(0o755)
    path = tmp_path / "2026-01-31T10:30.json"
    for error in (None, None, OSError, KeyboardInterrupt):
        monkeypatch.setattr(os, "fsync", Mock(side_effect=error))
        with suppress(KeyboardInterrupt):
            changing.audit(history=path)
        assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert [stat.S_IMODE(each.stat().st_mode) for each in (tmp_path, path)] == [0o755, 0o600]


def test_what_cannot_be_a_history_is_refused_and_kept(changing, tmp_path):
    for content in ("", "[]", '{"format": 2, "pages": {}}', '{"format": 1, "pages": [1]}'):
        changing.path.write_text(content)
        with pytest.raises(AuditError, match=r"history\.json is not a history"):
            changing.audit(fetch=1)
        assert changing.path.read_text() == content
    with pytest.raises(AuditError, match="number of pages to fetch"):
        changing.audit(fetch=0)
    with pytest.raises(AuditError, match="cannot be written"):
        changing.audit(history=tmp_path / "missing" / "history.json")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(AuditError, match=r"is not a regular file\. Name another file"):
        changing.audit(history=tmp_path / "pipe")


def test_an_interrupted_audit_has_a_partial_report(changing, tmp_path, monkeypatch):
    def interrupt(number):
        raise KeyboardInterrupt

    with pytest.raises(AuditInterrupted) as caught:
        changing.audit(on_page=interrupt)
    assert (caught.value.report.is_partial, caught.value.report.pages) == (True, 1)
    monkeypatch.setattr(page_rules, "_html", interrupt)
    options = {"url": changing.base, "fetch": "all", "rate": 0, "history": str(changing.path)}
    options["write_baseline"] = str(tmp_path / "baseline.json")
    output, _, error = failed("audit_sitemaps", **options)
    assert error.returncode == 130
    assert output.startswith(f"PARTIAL, interrupted: {changing.base}: read 3 documents with 2 URLs")
    assert json.loads(failed("audit_sitemaps", **options, format="json")[0])["is_partial"] is True
    assert [*tmp_path.iterdir()] == []
