"""Check the attributes and methods that the classes of sections declare."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from django.core.checks import CheckMessage

from django_sitemaps09.checks.constants import check_constants
from django_sitemaps09.checks.documents import check_documents
from django_sitemaps09.checks.hooks import check_hooks
from django_sitemaps09.checks.languages import check_languages
from django_sitemaps09.checks.locations import check_locations
from django_sitemaps09.checks.querysets import check_rows
from django_sitemaps09.checks.subjects import is_declaration, is_ours

#: Checks for all sitemap classes, including classes that do not subclass ours.
_ALL: tuple[Callable[[Any], Iterable[CheckMessage]], ...] = (
    check_constants,
    check_languages,
    check_locations,
    check_rows,
)
#: Checks for attributes that only our classes have.
_OURS: tuple[Callable[[Any], Iterable[CheckMessage]], ...] = (check_hooks, check_documents)


def check_declarations(sections: Iterable[Any]) -> list[CheckMessage]:
    """Check each sitemap class and instance once, even if several sections use it.

    Do not call factories.
    """
    # Compared by identity, because equality would call the project's own __eq__().
    subjects = {id(section): section for section in sections if is_declaration(section)}
    messages: list[CheckMessage] = []
    for subject in subjects.values():
        for check in (*_ALL, *_OURS) if is_ours(subject) else _ALL:
            messages += check(subject)
    # Several instances of one class can have the same problem.
    return [message for position, message in enumerate(messages) if message not in messages[:position]]
