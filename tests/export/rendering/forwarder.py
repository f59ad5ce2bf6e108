"""A TCP forwarder for a database server that counts statements, ends sessions and refuses connections.

The server itself is not changed, since others may use it. Sessions are ended by an administrative
statement, and connections are refused by the forwarder.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress

_CHUNK = 65_536
#: Timeout in seconds.
DEADLINE = 20.0


def is_statement(vendor: str, data: bytes) -> bool:
    """Return whether a client's packet starts a statement: Query or Parse, or COM_QUERY."""
    if vendor == "postgresql":
        return data[:1] in (b"Q", b"P")
    return len(data) > 4 and data[3:5] == b"\x00\x03"


class Forwarder:
    """Forwards connections to a server, each by two threads.

    Before the statement number `fatal`, counted from 1 over all connections, `end` is called with the
    port by which the server knows the session. No connection is accepted while `refuse` lasts.
    """

    def __init__(self, vendor: str, server: tuple[str, int], end: Callable[[int], None]) -> None:
        self.vendor, self.server, self.end = vendor, server, end
        self.statements, self.ended = 0, 0
        self.fatal: int | None = None
        self.outage = 0.0
        self._refused_until = 0.0
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()
        self.drop()

    def arm(self, fatal: int | None = None, outage: float = 0.0) -> None:
        """Count from 1 again. Before the statement `fatal`, end its session, or start an `outage`."""
        with self._lock:
            self.statements, self.ended, self.fatal, self.outage = 0, 0, fatal, outage

    def drop(self) -> None:
        """Close all connections."""
        with self._lock:
            found, self._open = self._open, set()
        for one in found:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if time.monotonic() < self._refused_until:
                client.close()
                continue
            try:
                server = socket.create_connection(self.server, timeout=DEADLINE)
            except OSError:
                client.close()
                continue
            for one in (client, server):
                one.settimeout(None)
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._open |= {client, server}
            for pair in ((client, server, True), (server, client, False)):
                threading.Thread(target=self._forward, args=pair, daemon=True).start()

    def _forward(self, source: socket.socket, sink: socket.socket, from_client: bool) -> None:
        try:
            while data := source.recv(_CHUNK):
                if from_client and is_statement(self.vendor, data):
                    self._before_a_statement(sink)
                sink.sendall(data)
        except OSError:
            pass
        finally:
            for one in (source, sink):
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
            with self._lock:
                self._open -= {source, sink}
            source.close()

    def _before_a_statement(self, server: socket.socket) -> None:
        with self._lock:
            self.statements += 1
            hit = self.statements == self.fatal
            self.ended += hit
        if hit and self.outage:
            self._refused_until = time.monotonic() + self.outage
            self.drop()
        elif hit:
            self.end(server.getsockname()[1])
