"""Celery workers that are killed, have another key, or are missing; and a project without Celery."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import services
from tests.support.celery_project import BROKERS, NOBODY, RABBITMQ, Site, result, runs
from tests.support.celery_sections import HASTY
from tests.support.engine_project import content
from tests.support.waiting import DEADLINE, until

pytestmark = [pytest.mark.slow, pytest.mark.services]


class TestAWorkerThatIsKilled:
    @pytest.mark.parametrize("broker", BROKERS)
    def test_leaves_its_page_to_another_one(
        self, make_site: Callable[..., Site], tmp_path: Path, broker: str
    ) -> None:
        site = make_site(broker)
        serial = site.run("exported", str(tmp_path / "serial"), "serial", "held")
        # RabbitMQ detects a lost worker at once. Redis delivers the message again after an hour.
        patience = {"SITEMAPS09_TESTS_PATIENCE": "1.5" if broker == "redis" else str(DEADLINE)}
        with site.working(2):
            command = ["tests.support.celery_sections", "exported", str(tmp_path / "celery"), HASTY, "held"]
            process = site.start(*command, environ=patience)
            until(lambda: [*site.gate().glob("killed-*")], "no worker took the page")
            [taken] = site.gate().glob("killed-*")
            os.killpg(os.getpgid(int(taken.name.rpartition("-")[2])), signal.SIGKILL)
            site.gate("killed").touch()
            report, warned = result(process)
        assert report == serial
        assert content(tmp_path / "celery") == content(tmp_path / "serial")
        assert ("sending the task again" in warned) == (broker == "redis")
        assert len([*site.gate().glob("killed-*")]) == 2


class TestAWorkerWithAnotherSecretKey:
    def test_refuses_pages_and_the_command_says_what_must_be_the_same(
        self, make_site: Callable[..., Site], tmp_path: Path
    ) -> None:
        site = make_site("redis")
        hasty = {"SITEMAPS09_TESTS_PATIENCE": "1.5", "SITEMAPS09_TESTS_NOTICE": "0.5"}
        command = ["tests.support.celery_sections", "exported", str(tmp_path), HASTY, "a"]
        with site.working(1, celery={"SECRET_KEY": "another"}):
            report, warned = result(site.start(*command, environ=hasty))
            site.are_idle()
        [failure] = report["failures"]
        assert "its log says whether it rejected a page" in failure
        assert NOBODY in warned
        assert "SECRET_KEY must be the same on the workers" in warned
        assert "A message was rejected and ignored: it is not signed with the SECRET_KEY of" in (
            site.said()
        )
        assert not report["published"]
        assert content(tmp_path) == {}
        assert runs(tmp_path) == []


class TestNobody:
    @pytest.mark.parametrize("broker", BROKERS)
    def test_at_work_is_reported_once_with_the_queue_and_the_broker(
        self, make_site: Callable[..., Site], tmp_path: Path, broker: str
    ) -> None:
        site = make_site(broker)
        hasty = {"SITEMAPS09_TESTS_PATIENCE": "1.5", "SITEMAPS09_TESTS_NOTICE": "0.3"}
        options = ["--engine", HASTY, "--output", str(tmp_path / "public")]
        with site.start("django", "export_sitemaps", "a", *options, environ=hasty) as process:
            _, warned = process.communicate(timeout=DEADLINE)
        assert process.returncode == 1
        [line] = [line for line in warned.splitlines() if line.startswith(NOBODY)]
        place = {"redis": f"redis://{services.REDIS}", "rabbitmq": f"amqp://{RABBITMQ.rpartition('@')[2]}"}
        assert f"in the queue '{site.queue}' of {place[broker]}. Start a worker" in line
        assert f"(celery -A shop worker -Q {site.queue})" in line
        assert RABBITMQ.rpartition("@")[0] not in warned

    @pytest.mark.parametrize(
        ("url", "named"),
        [
            ("redis://me:secret@127.0.0.1:1/0", "redis://127.0.0.1:1 does not accept messages"),
            ("amqp://me:secret@127.0.0.1:1//", "amqp://127.0.0.1:1 does not accept messages"),
            ("redis://me:sec/ret@127.0.0.1:1/0", "an unknown address does not accept messages"),
        ],
    )
    def test_at_the_broker_is_an_error_without_its_password(
        self, make_site: Callable[..., Site], tmp_path: Path, url: str, named: str
    ) -> None:
        site = make_site(CELERY_BROKER_URL=url)
        report = site.run("exported", str(tmp_path), HASTY, "a", "b")
        for failure in report["failures"]:
            assert named in failure
            assert "sec" not in failure.replace("Section", "")
        assert len(report["failures"]) == 2
        assert content(tmp_path) == {}

    @pytest.mark.parametrize(("scheme", "module"), [("redis", "redis"), ("mongodb", "pymongo")])
    def test_at_a_broker_whose_module_is_missing_is_an_error_that_names_it(
        self, make_site: Callable[..., Site], tmp_path: Path, scheme: str, module: str
    ) -> None:
        site = make_site(CELERY_BROKER_URL=f"{scheme}://me:secret@127.0.0.1:1/0")
        # The project's folder comes before installed packages.
        message = f"No module named {module!r}"
        (site.folder / f"{module}.py").write_text(f"raise ModuleNotFoundError({message!r})")
        [failure] = site.run("exported", str(tmp_path), HASTY, "a")["failures"]
        assert f"does not accept messages (ModuleNotFoundError: {message})" in failure
        assert "secret" not in failure

    def test_without_a_loaded_celery_app_is_a_clear_error(
        self, make_site: Callable[..., Site], tmp_path: Path
    ) -> None:
        site = make_site()
        (site.folder / "shop" / "__init__.py").write_text("")
        report = site.run("exported", str(tmp_path), HASTY, "a")
        assert "No Celery app with a broker is loaded" in report["failures"][0]


class TestWithoutCelery:
    """Celery is an optional dependency."""

    def test_an_export_is_imported(self, make_site: Callable[..., Site]) -> None:
        site = make_site()
        (site.folder / "shop" / "__init__.py").write_text("")
        assert site.run("modules") == []

    def test_the_engine_says_what_it_needs(self, make_site: Callable[..., Site]) -> None:
        site = make_site()
        (site.folder / "shop" / "__init__.py").write_text("")
        assert "'celery' (which needs the extra `celery`)" in site.run("without_celery")
