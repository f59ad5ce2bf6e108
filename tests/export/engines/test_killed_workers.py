"""One of two workers is killed at random moments, with real queues, and with S3 as the target.

`SITEMAPS09_KILLS` is the number of kills for each queue and target. If it is set, claims expire as they do
by default. Otherwise, they expire sooner, because each kill costs as much time. 30 kills take half an
hour, so add `-o faulthandler_timeout=0`, and `-s` to see each loss.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from django_sitemaps09.export.engines import workers as worker_side
from tests.support.celery_project import Site, result
from tests.support.celery_sections import HASTY
from tests.support.engine_project import ROWS, content
from tests.support.services import REDIS
from tests.support.waiting import DEADLINE, until

pytestmark = [pytest.mark.slow, pytest.mark.services]

KILLS = int(os.environ.get("SITEMAPS09_KILLS", "0"))
#: Seconds between renewals, and until a claim expires.
RENEWAL, EXPIRY = (worker_side.RENEWAL, worker_side.EXPIRY) if KILLS else (1.0, 6.0)
#: Maximum seconds in which nobody renders anything: 45 by default.
MOST_LOST = EXPIRY + 15
CLAIMS = {"SITEMAPS09_TESTS_CLAIMS": f"{RENEWAL} {EXPIRY}"}


def lost(site: Site, killed_at: float) -> float:
    """Return the seconds after a kill in which no process rendered an item, except between two pages."""
    files = site.gate().glob("steady-*")
    times = [float(line) for file in files for line in file.read_text().splitlines()]
    moments = [killed_at, *sorted(moment for moment in times if moment > killed_at)]
    pauses = [after - before for before, after in pairwise(moments)]
    return sum(pause for pause in pauses if pause > EXPIRY / 4)


def began(site: Site) -> bool:
    return any(file.stat().st_size for file in site.gate().glob("steady-worker-*"))


@pytest.mark.timeout(100 + 90 * KILLS)
@pytest.mark.parametrize("target", ["folder", "s3"])
@pytest.mark.parametrize("queue", ["redis", "tasks"])
def test_a_killed_worker_costs_seconds_and_changes_no_file(
    queue: str, target: str, request: pytest.FixtureRequest, tmp_path: Path, settings: Any
) -> None:
    keys: dict[str, Any] = {}
    given: dict[str, Any] = {}
    published: Callable[[Path], dict[str, bytes]] = content
    if target == "s3":
        bucket = request.getfixturevalue("bucket")()
        keys["STORAGE"] = "sitemaps"
        cache = "django.core.cache.backends.redis.RedisCache"
        given = {
            "STORAGES": settings.STORAGES,
            "CACHES": {
                "default": {"BACKEND": cache, "LOCATION": f"redis://{REDIS}", "KEY_PREFIX": bucket.name}
            },
        }

        def published(folder: Path) -> dict[str, bytes]:
            keys = [found.key for found in bucket.objects.all() if "/" not in found.key]
            found = {key: bucket.Object(key).get()["Body"].read() for key in keys}
            bucket.objects.all().delete()
            return found

    def command(folder: Path, engine: str) -> list[str]:
        what = ["stored"] if target == "s3" else ["exported", str(folder)]
        return ["tests.support.celery_sections", *what, engine, "steady"]

    if queue == "tasks":
        site = request.getfixturevalue("make_tasks_site")(**given)
    else:
        site = request.getfixturevalue("make_site")(queue, **given)
    serial, _ = result(site.start(*command(tmp_path / "serial", "serial"), **keys))
    expected = published(tmp_path / "serial")
    figures: list[tuple[float, int]] = []
    # With S3, all processes need more time.
    kills = KILLS or (1 if target == "s3" else 2)
    with ExitStack() as stack:
        workers: list[subprocess.Popen[str]] = []
        for number in range(kills):
            for file in site.gate().glob("steady-*"):
                file.unlink()
            fresh = site.working(2 - len(workers), environ=CLAIMS, **keys)
            workers += stack.enter_context(fresh)
            folder = tmp_path / f"public-{number}"
            process = site.start(*command(folder, HASTY), environ=CLAIMS, **keys)
            until(lambda: began(site), "no worker took a page")
            # Two workers need half of the time, and half a second more.
            time.sleep(random.uniform(0, 0.01 * ROWS / 2 + 0.5))  # noqa: S311 no secret
            victim = workers.pop(random.randrange(2))  # noqa: S311
            os.killpg(victim.pid, signal.SIGKILL)
            killed_at = time.time()
            victim.wait()
            report, warned = result(process, DEADLINE + MOST_LOST)
            seconds = lost(site, killed_at)
            said = [
                line
                for line in warned.splitlines()
                if "has died" in line or "export itself rendered" in line
            ]
            figures.append((round(seconds, 1), len(said)))
            print(f"{queue}, {target}: {figures[-1]} {warned.strip()}", flush=True)  # noqa: T201 with -s
            assert seconds < MOST_LOST, warned
            assert warned.splitlines() == said
            # Some kills cost nothing: the other worker had other pages, or the killed one had no page.
            assert len(said) == 1 or (not said and seconds < EXPIRY / 2), (seconds, warned)
            assert report == serial
            assert published(folder) == expected
    print(f"\n{queue}, {target}: most seconds lost {max(figures)[0]}, {figures}")  # noqa: T201 with -s
    assert len(figures) == kills


class TestTheOnlyWorker:
    """A worker that runs a whole export cannot take pages."""

    def test_of_django_tasks_renders_the_pages_itself(
        self, make_tasks_site: Callable[..., Site], tmp_path: Path
    ) -> None:
        site = make_tasks_site()
        keys = {"ENGINE": "tasks", "ROOT": str(tmp_path / "public")}
        environ = {"SITEMAPS09_TESTS_CLAIMS": "0.2 1"}
        with site.working(1, environ=environ, **keys):
            status, returned = site.run("enqueued", "a", environ=environ, **keys)
        assert status == "SUCCESSFUL"
        assert (returned["status"], returned["failures"]) == (0, [])
        assert returned["hosts"][0]["urls"] == ROWS
        [line] = [line for line in site.said().splitlines() if "The export itself rendered" in line]
        assert "pages: no worker of Django Tasks took one for 1 seconds" in line

    def test_of_celery_renders_the_pages_itself(
        self, make_site: Callable[..., Site], tmp_path: Path
    ) -> None:
        site = make_site("redis")
        keys = {"ENGINE": "celery", "ROOT": str(tmp_path / "public")}
        environ = {"SITEMAPS09_TESTS_CLAIMS": "0.2 1"}
        with site.working(1, environ=environ, **keys):
            command = ["tests.support.celery_sections", "ordered", "a"]
            result(site.start(*command, environ=environ, **keys))
            until((tmp_path / "public" / "sitemap.xml").exists, "nothing was published")
            until(lambda: "export[" in site.said() and "'status': 0" in site.said(), "the task never ended")
        assert "pages: no Celery worker took one for 1 seconds" in site.said()


def test_no_worker_ends_the_command_with_1_and_says_what_it_did_and_why(
    make_site: Callable[..., Site], tmp_path: Path
) -> None:
    site = make_site("redis")
    serial = tmp_path / "serial"
    site.run("exported", str(serial), "serial", "a", "one")
    environ = {"SITEMAPS09_TESTS_CLAIMS": "0.2 2", "SITEMAPS09_TESTS_NOTICE": "1"}
    folder = tmp_path / "public"
    command = ["export_sitemaps", "a", "one", "--engine", HASTY, "--output", str(folder)]
    with site.start("django", *command, environ=environ) as process:
        _, warned = process.communicate(timeout=60)
    assert process.returncode == 1
    notice, failure = warned.splitlines()
    assert notice.startswith("No worker has taken a page after 1 seconds. ")
    assert failure.startswith("CommandError: The export itself rendered ")
    assert "pages: no Celery worker took one for 2 seconds. Start a worker that reads" in failure
    assert "has the same SECRET_KEY" in failure
    assert content(folder) == content(serial)
