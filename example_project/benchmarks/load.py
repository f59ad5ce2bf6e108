"""Send crawlers' requests to gunicorn and to uvicorn for a minute each, with the load tool `wrk`.

`python example_project/benchmarks/load.py --rows 1000000` needs wrk, and gunicorn, uvicorn, psycopg and
redis in its own environment. Run `live.py` with the same number of rows first: it creates the database.
Each of eight connections sends one request after another. A fifth of them are conditional.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path
from secrets import token_hex

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import live

SERVERS = {
    "gunicorn": live.GUNICORN,
    "uvicorn": ["uvicorn", "--workers=2", "--log-level=warning", "django.core.asgi:get_asgi_application"],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--server", default=live.POSTGRESQL, help="without a database")
    parser.add_argument("--kept", action="store_true", help="with LIVE_CACHE")
    arguments = parser.parse_args()
    database = live.database_url(arguments.server, arguments.rows)
    cache = token_hex(8) + ("+pages" if arguments.kept else "")
    for name, command in SERVERS.items():
        with live.server(live.OURS, database, cache, 60, command) as port:
            index = live.request(port, "/sitemap.xml")[1].decode()
            paths = re.findall(r"<loc>https?://[^/]+([^<]+)\.xml(?:\.gz)?</loc>", index)
            _, _, etag = live.request(port, f"{paths[0]}.xml")
            wrk = ["wrk", "-t2", "-c8", f"-d{arguments.seconds}s", "--timeout=60s", "-s", "crawlers.lua"]
            result = subprocess.run(  # noqa: S603 our own command
                [*wrk, f"http://127.0.0.1:{port}", "--", *paths],
                env={**os.environ, "PAGE_ETAG": etag},
                cwd=Path(__file__).parent,
                capture_output=True,
                text=True,
                check=True,
            )
        sys.stdout.write(f"{name}\n{result.stdout}\n")


if __name__ == "__main__":
    main()
