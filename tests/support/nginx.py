"""A real nginx, with the configuration of a test."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.services import missing

SECONDS = 30
#: What configurations name as the port to listen on.
LISTEN = "listen 80;"


def server(recipe: str) -> str:
    """Return a server with this recipe."""
    return f"server {{\n{LISTEN}\n{recipe}}}\n"


@contextmanager
def nginx(http: str, folder: Path) -> Iterator[str]:
    """Run nginx with this content of the block `http`, and yield the address."""
    program = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    if program is None:
        missing("nginx is not installed")
        raise AssertionError
    assert http.count(LISTEN) == 1
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder.mkdir()
    temporary = "".join(
        f"{name}_temp_path {folder}/{name};\n"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    # The types of a stock installation, as far as they concern sitemaps, and compression switched on.
    configuration = folder / "nginx.conf"
    configuration.write_text(
        f"daemon off;\nmaster_process off;\npid {folder}/nginx.pid;\nerror_log stderr;\nevents {{}}\n"
        f'http {{\nlog_format statuses "$upstream_cache_status $uri";\n'
        f"access_log {folder}/access.log statuses;\nlog_subrequest on;\n{temporary}"
        "types { text/html html; text/xml xml; text/plain txt; }\ndefault_type application/octet-stream;\n"
        "gzip on; gzip_proxied any; gzip_types text/plain text/xml application/xml application/gzip;\n"
        f"{http.replace(LISTEN, f'listen 127.0.0.1:{port};')}}}\n",
        encoding="utf-8",
    )
    with (folder / "errors.log").open("w+") as errors:
        process = subprocess.Popen([program, "-p", folder, "-c", configuration], stderr=errors)  # noqa: S603
        try:
            until = time.monotonic() + SECONDS
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except OSError:
                    assert process.poll() is None, (folder / "errors.log").read_text()
                    assert time.monotonic() < until, "nginx does not answer"
                    time.sleep(0.05)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()
            process.wait(SECONDS)
