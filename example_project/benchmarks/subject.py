"""One subject in a process of its own: one line of JSON on standard output.

`python -m benchmarks.subject PAGES`; the environment tells the subject, `PAGES` is the folder of our pages
that are not compressed.
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
    # First of all, and in worker processes too, which import this module anew.
    sys.modules["isal"] = None  # type: ignore[assignment]


def main(pages: Path) -> None:
    import django

    django.setup()
    measured = measure(subjects.find(os.environ[subjects.SUBJECT]), pages)
    sys.stdout.write(f"{json.dumps(measured._asdict())}\n")


def measure(subject: subjects.Subject, folder: Path) -> Measured:
    """What the subject came to, with the modules that need Django imported only here."""
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
    """What a process does once in its life: connect, read its site, its routes and its language."""
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
