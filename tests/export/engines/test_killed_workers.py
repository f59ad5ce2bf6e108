"""One of two workers is killed or frozen at random moments, with real queues, and with S3 as the target.

`SITEMAPS09_KILLS` is the number of faults for each queue and target, also for Django Tasks with S3; add
`-s` to see what each has cost. By default, each queue and each target gets one or two.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.support.celery_project import Site, result
from tests.support.celery_sections import HASTY, STEADY
from tests.support.engine_project import ROWS, content
from tests.support.published import states
from tests.support.services import REDIS
from tests.support.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.services]

KILL, STOP = signal.SIGKILL, signal.SIGSTOP
FAULTS = {
    ("redis", "folder"): [KILL, STOP],
    ("rabbitmq", "folder"): [KILL],
    ("tasks", "folder"): [STOP],
    ("redis", "s3"): [KILL],
}
if KILLS := int(os.environ.get("SITEMAPS09_KILLS", "0")):
    FAULTS = {way: ([KILL, STOP] * KILLS)[:KILLS] for way in [*FAULTS, ("tasks", "s3")]}
#: Seconds that a fault may cost beyond a run without faults.
MOST_LOST = 30


@pytest.mark.timeout(120 + 60 * max(2, KILLS))
@pytest.mark.parametrize(("queue", "target"), FAULTS)
def test_a_lost_worker_costs_seconds_and_changes_no_file(
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

    def export(folder: Path, engine: str) -> subprocess.Popen[str]:
        what = ["stored"] if target == "s3" else ["exported", str(folder)]
        return site.start("tests.support.celery_sections", *what, engine, "steady", **keys)

    if queue == "tasks":
        site: Site = request.getfixturevalue("make_tasks_site")(**given)
    else:
        site = request.getfixturevalue("make_site")(queue, **given)
    serial, _ = result(export(tmp_path / "serial", "serial"))
    expected = published(tmp_path / "serial")
    with ExitStack() as stack:
        workers: list[subprocess.Popen[str]] = stack.enter_context(site.working(2, **keys))
        begun = time.monotonic()
        result(export(tmp_path / "faultless", HASTY))
        usual = time.monotonic() - begun
        published(tmp_path / "faultless")
        for number, fault in enumerate(FAULTS[queue, target]):
            for file in site.gate().glob("steady-*"):
                file.unlink()
            if len(workers) < 2:
                workers += stack.enter_context(site.working(1, **keys))
            folder = tmp_path / f"public-{number}"
            begun = time.monotonic()
            process = export(folder, HASTY)
            until(lambda: [*site.gate().glob("steady-*")], "no worker took a page")
            # Three processes need a third of the time.
            time.sleep(random.uniform(0, STEADY * ROWS / 3))  # noqa: S311 no secret
            victim = workers[random.randrange(2)]  # noqa: S311
            os.killpg(victim.pid, fault)
            report, _ = result(process, usual + MOST_LOST + 30)
            lost = time.monotonic() - begun - usual
            print(f"{queue}, {target}: {fault.name} cost {lost:.1f} s")  # noqa: T201 with -s
            assert report == serial
            assert lost < MOST_LOST
            if fault == KILL:
                victim.wait()
                workers.remove(victim)
            elif target == "folder":
                before = states(folder, hidden=True)
                os.killpg(victim.pid, signal.SIGCONT)
                # Longer than the page that it had begun.
                time.sleep(2)
                assert states(folder, hidden=True) == before
            assert published(folder) == expected


class TestTheOnlyWorker:
    """A worker that runs a whole export cannot take pages."""

    def test_of_django_tasks_renders_the_pages_itself(
        self, make_tasks_site: Callable[..., Site], tmp_path: Path
    ) -> None:
        site = make_tasks_site()
        keys = {"ENGINE": "tasks", "ROOT": str(tmp_path / "public")}
        with site.working(1, **keys):
            status, returned = site.run("enqueued", "a", **keys)
        assert status == "SUCCESSFUL"
        assert (returned["status"], returned["failures"]) == (0, [])
        assert returned["hosts"][0]["urls"] == ROWS

    def test_of_celery_renders_the_pages_itself(
        self, make_site: Callable[..., Site], tmp_path: Path
    ) -> None:
        site = make_site("redis")
        keys = {"ENGINE": "celery", "ROOT": str(tmp_path / "public")}
        with site.working(1, **keys):
            result(site.start("tests.support.celery_sections", "ordered", "a", **keys))
            until((tmp_path / "public" / "sitemap.xml").exists, "nothing was published")
            until(lambda: "export[" in site.said() and "'status': 0" in site.said(), "the task never ended")
