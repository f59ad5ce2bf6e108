"""Rows with several kinds of keys, which tests add and delete."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Any

from django.db.models import Model

from tests.models import Article, Document, Name, Seat, Word

MODELS: dict[str, tuple[type[Model], str, Callable[[int], dict[str, Any]]]] = {
    "integer": (Article, "pk", lambda n: {"pk": 7 * n - 300, "slug": f"s{n}"}),
    "UUID": (Document, "pk", lambda n: {"pk": uuid.UUID(int=n * 2**115 + n), "number": n}),
    "text": (Word, "pk", lambda n: {"word": f"Wörd {n:04}"}),
    "text without case": (Name, "pk", lambda n: {"name": f"{'nN'[n % 2]}ame {n:04}"}),
    "two columns": (Seat, "pk", lambda n: {"row": f"r{n // 50:03}", "number": n % 50}),
}


def write(name: str, using: str, numbers: Sequence[int]) -> None:
    model, _, row = MODELS[name]
    model._default_manager.using(using).bulk_create(model(**row(n)) for n in numbers)


def delete(name: str, using: str, numbers: Sequence[int]) -> None:
    model, _, row = MODELS[name]
    for n in numbers:
        key = {field: value for field, value in row(n).items() if field != "slug"}
        model._default_manager.using(using).filter(**key).delete()
