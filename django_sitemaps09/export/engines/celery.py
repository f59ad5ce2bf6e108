"""Render pages in Celery workers, on this machine or on other machines with access to the same files."""

from __future__ import annotations

from importlib import import_module

from celery import shared_task
from kombu.exceptions import OperationalError

from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.engines.messages import handle_message
from django_sitemaps09.export.engines.queues import QueueEngine

# Retries take about ten seconds in total. Celery's default depends on the project and can be endless.
_RETRIES = {"max_retries": 5, "interval_start": 0.2, "interval_step": 1, "interval_max": 5}
# Seconds after which RabbitMQ drops a message, by its own clock. `expires` would depend on the workers'.
_EXPIRATION = 900


class Celery(QueueEngine):
    """Engine that sends pages to the queue of the current Celery app."""

    worker_name = "Celery worker"
    shown_errors = (OperationalError,)

    def put(self, message: str) -> None:
        if render.app.main == "default" and not render.app.conf.broker_url:
            raise ExportError(
                "No Celery app with a broker is loaded. Import the project's Celery app in the __init__.py "
                "beside the settings module, as Celery's Django guide describes"
            )
        try:
            render.apply_async([message], retry=True, retry_policy=_RETRIES, expiration=_EXPIRATION)
        except AttributeError:
            # Without the package redis, kombu fails with this error when it imports its transport.
            if str(render.app.conf.broker_write_url).startswith(("redis:", "rediss:", "sentinel:")):
                import_module("redis")
            raise

    def describe(self) -> tuple[str, str]:
        queue = render.app.amqp.router.route({}, render.name).get("queue")
        name = getattr(queue, "name", queue or render.app.conf.task_default_queue)
        try:
            connection = render.app.connection_for_write()
            port = connection.port or connection.default_port
            broker = f"{connection.transport_cls}://{connection.hostname}:{port}"
        except Exception:  # noqa: BLE001 each transport has its own exceptions
            broker = "an unknown address"
        return f"the queue {name!r} of {broker}", f"celery -A {render.app.main} worker -Q {name}"


@shared_task(  # type: ignore[untyped-decorator]
    name="django_sitemaps09.render",
    # Messages are JSON, regardless of the project's settings.
    serializer="json",
    # The command renders a page again if its worker is lost, so no message is delivered again.
    acks_late=False,
    ignore_result=True,
)
def render(message: str) -> None:
    """Render one page of an export in a worker."""
    handle_message(message)
