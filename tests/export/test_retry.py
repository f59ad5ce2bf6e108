"""Reads of an export, through a forwarder that loses connections at each statement or for a second."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, nullcontext, suppress
from datetime import datetime, timedelta, timezone

import pytest
from django.db import DatabaseError, connections, transaction
from django.db.models import F

from django_sitemaps09 import Route, Sitemap
from django_sitemaps09.export import export
from tests.models import Article, Word
from tests.support.configuration import BASE
from tests.support.databases import SERVERS, parameter, require
from tests.support.processes import environment, started
from tests.support.published import quick_folder
from tests.support.sections import declare

pytestmark = pytest.mark.slow
OLD = datetime(2026, 1, 1, tzinfo=timezone.utc)
HOUR, ROWS, PAGE = timedelta(hours=1), 60, 20
#: Timeout in seconds.
DEADLINE = 20.0
#: How the session of a client's port is found and ended.
STATEMENTS = {
    "postgresql": ("SELECT pid FROM pg_stat_activity WHERE client_port=%s",
                   "SELECT pg_terminate_backend(%s)"),
    "mysql": ("SELECT id FROM information_schema.processlist WHERE host LIKE CONCAT('%%:', %s)", "KILL %s"),
}  # fmt: skip


#: Sections that are read as columns by key ranges, as instances by ranges of a key with a collation, and by
#: position through a server-side cursor.
SECTIONS = {
    "articles": declare(model=Article, location=Route("article", slug=F("slug")), lastmod=F("updated")),
    "words": declare(model=Word, location=lambda self, item: f"/words/{item.pk}/"),
    "listed": declare(Sitemap, items=lambda self: Article.objects.order_by("-slug", "pk")[:30],
                      location=lambda self, item: f"/listed/{item.slug}/"),
}  # fmt: skip


def serve():
    """Run an export for each line of standard input, and write its failures as a line."""
    for line in sys.stdin:
        # Workers are forked only if no connection is open.
        connections.close_all()
        wanted = json.loads(line)
        # The transaction cannot be committed after an error.
        with suppress(DatabaseError), transaction.atomic() if wanted.pop("atomic") else nullcontext():
            failures = export(**wanted).failures
        print(json.dumps(failures), flush=True)  # noqa: T201


class Forwarder:
    """Forwards connections to a server, each by two threads.

    The server itself is not changed, since others may use it: before the statement number `fatal`, counted
    from 1 over all connections, `end` is called with the port by which the server knows the session, or no
    connection is accepted while the `outage` lasts.
    """

    def __init__(self, vendor, server, end):
        self.vendor, self.server, self.end, self.refused_until = vendor, server, end, 0.0
        self.lock, self.open = threading.Lock(), set()
        self.arm()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def arm(self, fatal=None, outage=0.0):
        """Count from 1 again. Before the statement `fatal`, end its session, or start an `outage`."""
        with self.lock:
            self.statements, self.ended, self.fatal, self.outage = 0, 0, fatal, outage

    def drop(self):
        with self.lock:
            found, self.open = self.open, set()
        for connection in found:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.listener.close()
        self.drop()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                if time.monotonic() < self.refused_until:
                    raise OSError
                server = socket.create_connection(self.server, timeout=DEADLINE)
            except OSError:
                client.close()
                continue
            for connection in (client, server):
                connection.settimeout(None)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.lock:
                self.open |= {client, server}
            for pair in ((client, server, True), (server, client, False)):
                threading.Thread(target=self.forward, args=pair, daemon=True).start()

    def forward(self, source, sink, from_client):
        try:
            while data := source.recv(65_536):
                # A packet of these starts a statement: Query or Parse, or COM_QUERY.
                start = data[:1] in (b"Q", b"P") if self.vendor == "postgresql" else data[3:5] == b"\0\3"
                if from_client and start:
                    self.before_a_statement(sink)
                sink.sendall(data)
        except OSError:
            pass
        finally:
            for connection in (source, sink):
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            with self.lock:
                self.open -= {source, sink}
            source.close()

    def before_a_statement(self, server):
        with self.lock:
            self.statements += 1
            is_hit = self.statements == self.fatal
            self.ended += is_hit
        if is_hit and self.outage:
            self.refused_until = time.monotonic() + self.outage
            self.drop()
        elif is_hit:
            self.end(server.getsockname()[1])


class Lab:
    def __init__(self, alias, folder, stack):
        self.folder, self.alias, self.count, self.lock = folder, alias, 0, threading.Lock()
        rows = (Article(pk=10 * n, slug=f"a{n:03}", updated=OLD + n * HOUR) for n in range(1, ROWS + 1))
        Article.objects.using(alias).bulk_create(rows)
        Word.objects.using(alias).bulk_create(Word(word=f"w{n:03}") for n in range(ROWS))
        known, self.admin = connections[alias].settings_dict, connections[alias].copy()
        self.admin.inc_thread_sharing()
        stack.callback(self.admin.close)
        self.forwarder = Forwarder(self.admin.vendor, (known["HOST"], int(known["PORT"])), self.end)
        stack.callback(self.forwarder.close)
        database = {key: known[key] for key in ("ENGINE", "NAME", "USER", "PASSWORD")}
        database |= {"HOST": "127.0.0.1", "PORT": str(self.forwarder.port), "CONN_MAX_AGE": 600}
        given = {
            "DATABASES": {"default": database},
            "SITEMAPS09": {"BASE_URL": BASE, "SITEMAPS": f"{__name__}.SECTIONS", "MAX_URLS": PAGE},
            "LOGGING": {"version": 1, "disable_existing_loggers": False},
        }
        settings = {"SITEMAPS09_TESTS_SETTINGS": json.dumps(given)}
        self.errors = stack.enter_context((folder / "errors.txt").open("w+"))
        self.process = started(
            *("-c", f"import django; django.setup(); from {__name__} import serve; serve()"),
            environ=environment(folder, "tests.support.engine_settings", **settings),
            stdin=subprocess.PIPE,
            stderr=self.errors,
        )
        stack.callback(self.process.communicate, timeout=DEADLINE)
        stack.callback(self.process.kill)

    def end(self, port):
        find, kill = STATEMENTS[self.admin.vendor]
        with self.lock, self.admin.cursor() as cursor:
            cursor.execute(find, [port])
            cursor.execute(kill, cursor.fetchone())
            deadline = time.monotonic() + DEADLINE
            while cursor.execute(find, [port]) and cursor.fetchone() and time.monotonic() < deadline:
                time.sleep(0.005)

    def run(self, workers, start=None, *, atomic=False, folder=None):
        """Export to a new folder, or a copy of `start` if `changed_only`. Return failures and folder."""
        self.count += 1
        output = folder or self.folder / f"public-{self.count}"
        if start is not None:
            shutil.copytree(start, output)
        wanted = {"output": str(output), "workers": workers, "atomic": atomic}
        timer = threading.Timer(2 * DEADLINE, self.process.kill)
        timer.start()
        try:
            self.process.stdin.write(json.dumps(wanted | {"changed_only": start is not None}) + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        finally:
            timer.cancel()
        self.errors.seek(0)
        assert answer, self.errors.read()
        return json.loads(answer), output


def published(folder):
    found = {path.name: gzip.decompress(path.read_bytes()) for path in folder.glob("*.gz")}
    index = (folder / "sitemap.xml").read_bytes()
    return found | {"sitemap.xml": b"".join(sorted(re.findall(rb"<loc>.*?</loc>", index)))}


@pytest.fixture(params=[parameter(alias, transaction=True) for alias in SERVERS])
def lab(request):
    require(request.param)
    with quick_folder() as folder, ExitStack() as stack:
        yield Lab(request.param, folder, stack)


@pytest.mark.parametrize(("workers", "changed_only"), [(1, False), (1, True), (2, True)])
def test_a_session_that_ends_before_any_statement_changes_nothing(lab, workers, changed_only):
    start = None
    if changed_only:
        failures, start = lab.run(1)
        assert (failures, lab.run(1, folder=start)[0]) == ([], [])
        Article.objects.using(lab.alias).filter(pk=10).update(updated=OLD - 24 * HOUR)
        Word.objects.using(lab.alias).create(word="zzz")
    # Values that are queried once per process, such as the version of the server, are not queried again.
    assert lab.run(workers, start)[0] == []
    lab.forwarder.arm()
    failures, folder = lab.run(workers, start)
    wanted, count = published(folder), lab.forwarder.statements
    assert (failures, count > 10) == ([], True)
    failed, ended = {}, 0
    for fatal in range(1, count + 1):
        lab.forwarder.arm(fatal)
        failures, folder = lab.run(workers, start)
        ended += lab.forwarder.ended
        if failures or published(folder) != wanted:
            failed[fatal] = failures
        shutil.rmtree(folder)
    assert failed == {}
    # How many pages each worker takes, and whether it opens a session for them, is random.
    assert ended == count if workers == 1 else ended > count / 2


@pytest.mark.parametrize("workers", [1, 2])
def test_a_server_that_is_gone_for_a_second_fails_no_section(lab, workers):
    failures, folder = lab.run(workers)
    wanted = published(folder)
    assert failures == []
    for fatal in (3, 20):
        lab.forwarder.arm(fatal, outage=1.0)
        failures, folder = lab.run(workers)
        assert (failures, published(folder), lab.forwarder.ended) == ([], wanted, 1)


@pytest.mark.parametrize(("fatal", "outage", "atomic", "reason"), [
    (10, DEADLINE, False, "Error: "), (8, 0.0, True, "runs in a transaction of its caller"),
], ids=["server that stays away", "transaction of the caller"])  # fmt: skip
def test_what_cannot_be_retried_fails_all_sections_and_publishes_none(lab, fatal, outage, atomic, reason):
    lab.forwarder.arm(fatal, outage)
    failures, folder = lab.run(1, atomic=atomic)
    # The connection is lost for all sections.
    assert (len(failures), lab.forwarder.ended) == (len(SECTIONS), 1)
    assert all(reason in failure for failure in failures)
    assert [path.name for path in folder.iterdir()] == [".sitemaps09"]
