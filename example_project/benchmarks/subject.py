"""Measure one subject in this process, and print a line of JSON.

`python -m benchmarks.subject PAGES`, where `PAGES` is the folder of uncompressed pages. An environment
variable names the subject.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from benchmarks import subjects
from benchmarks.measuring import Measured

_SUBJECT = subjects.current()
if _SUBJECT is None or not _SUBJECT.isal:
    # Before other imports, and also in worker processes, which import this module again.
    sys.modules["isal"] = None  # type: ignore[assignment]


def main(pages: Path) -> None:
    import django

    django.setup()
    measured = measure(subjects.find(os.environ[subjects.SUBJECT]), pages)
    sys.stdout.write(f"{json.dumps(measured._asdict())}\n")


def measure(subject: subjects.Subject, folder: Path) -> Measured:
    """Measure a subject."""
    # These modules need Django to be set up.
    from benchmarks import exports, floor, pages, readings

    warm_up()
    if subject.kind == "page":
        return pages.measure(subject)
    if subject.kind in subjects.READINGS:
        return readings.measure(subject)
    if subject.kind == "export":
        return exports.measure(subject, Path(os.environ[subjects.OUTPUT]))
    if subject in (subjects.DRIVER, subjects.DRIVER_PAGES):
        return floor.driver(None if subject == subjects.DRIVER else subjects.PAGE_URLS)
    return floor.compression(folder, isal=subject.isal)


def warm_up() -> None:
    """Do what a process does only once: connect, read the site, load the URLconf and the translations."""
    from django.conf import settings
    from django.contrib.sites.models import Site
    from django.urls import reverse
    from django.utils import translation

    Site.objects.get_current()
    reverse("article", kwargs={"category": "some", "slug": "article"})
    with translation.override(settings.LANGUAGE_CODE):
        translation.gettext("Yes")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
