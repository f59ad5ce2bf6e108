"""Celery workers that have another key or are missing, and a project without Celery."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import services
from tests.support.celery_project import BROKERS, RABBITMQ, Site, runs
from tests.support.celery_sections import HASTY, HURRIED
from tests.support.engine_project import content
from tests.support.waiting import DEADLINE

pytestmark = [pytest.mark.slow, pytest.mark.services]


class TestAWorkerWithAnotherSecretKey:
    def test_refuses_pages_and_the_export_renders_them(
        self, make_site: Callable[..., Site], tmp_path: Path
    ) -> None:
        site = make_site("redis")
        serial, files = site.serial("a")
        with site.working(1, celery={"SECRET_KEY": "another"}):
            report = site.run("exported", str(tmp_path / "celery"), HASTY, "a")
            site.are_idle()
        assert "A message was refused: it is not signed with the SECRET_KEY of this process" in site.said()
        assert report | {"warnings": []} == serial
        assert content(tmp_path / "celery") == files
        assert runs(tmp_path / "celery") == []


class TestNobody:
    @pytest.mark.parametrize("broker", BROKERS)
    def test_at_work_ends_the_command_with_1_and_names_the_queue_and_the_broker(
        self, make_site: Callable[..., Site], tmp_path: Path, broker: str
    ) -> None:
        site = make_site(broker)
        # Half a minute by its clock is over at once.
        options = ["--engine", HURRIED, "--output", str(tmp_path / "public")]
        with site.start("django", "export_sitemaps", "a", "one", *options) as process:
            _, warned = process.communicate(timeout=DEADLINE)
        assert process.returncode == 1
        [line] = warned.splitlines()
        assert line.startswith("CommandError: No Celery worker took a page, so the export itself rendered")
        place = {"redis": f"redis://{services.REDIS}", "rabbitmq": f"amqp://{RABBITMQ.rpartition('@')[2]}"}
        assert f"a worker that reads the queue '{site.queue}' of {place[broker]} (celery -A shop" in line
        assert f"worker -Q {site.queue})" in line
        assert RABBITMQ.rpartition("@")[0] not in warned
        assert content(tmp_path / "public") == site.serial("a", "one")[1]

    @pytest.mark.parametrize(
        ("url", "named"),
        [
            ("redis://me:secret@127.0.0.1:1/0", "redis://127.0.0.1:1 does not accept messages"),
            ("amqp://me:secret@127.0.0.1:1//", "amqp://127.0.0.1:1 does not accept messages"),
            ("redis://me:sec/ret@127.0.0.1:1/0", "an unknown address does not accept messages"),
            ("mongodb://me:secret@127.0.0.1:1/", "No module named 'pymongo'"),
        ],
    )
    def test_at_the_broker_is_one_warning_without_its_password(
        self, make_site: Callable[..., Site], tmp_path: Path, url: str, named: str
    ) -> None:
        site = make_site(CELERY_BROKER_URL=url)
        serial, files = site.serial("a", "b")
        report = site.run("exported", str(tmp_path / "celery"), HASTY, "a", "b")
        [warning] = report["warnings"]
        assert named in warning
        assert "sec" not in warning
        assert (report | {"warnings": []}, content(tmp_path / "celery")) == (serial, files)

    def test_at_redis_without_its_module_is_a_warning_that_names_it(
        self, make_site: Callable[..., Site], tmp_path: Path
    ) -> None:
        site = make_site(CELERY_BROKER_URL="redis://me:secret@127.0.0.1:1/0")
        # The project's folder comes before installed packages.
        message = "No module named 'redis'"
        (site.folder / "redis.py").write_text(f"raise ModuleNotFoundError({message!r})")
        [warning] = site.run("exported", str(tmp_path), HASTY, "a")["warnings"]
        assert f"does not accept messages (ModuleNotFoundError: {message})" in warning
        assert "secret" not in warning

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
