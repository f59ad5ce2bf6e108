"""The recording of one call to a hook: which fields it uses, and where it cannot be traced."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, NoReturn

from django.db.models import Model

from django_sitemaps09.suggestions.places import (
    UntraceableError,
    callers,
    describe,
    is_django,
    project_frame,
)


@dataclass
class Recording:
    """One call to a hook with a stand-in whose fields and relations in `nulls` are `None`.

    `annotations` has the names of the queryset's annotations. `attributes` has the names of all other
    attributes that an instance has, and its class does not. `entry` is the frame that calls the hook.
    `uses` has the line of code that first uses each field, by path or key. `nullable` has a message with
    that line for each nullable field, by key. `text_place` is the message for a symbol's last `str()`.
    """

    model: type[Model]
    annotations: frozenset[str]
    attributes: frozenset[str]
    nulls: frozenset[str]
    entry: FrameType
    failure: UntraceableError | None = None
    text_place: str = ""
    uses: dict[str, str] = field(default_factory=dict)
    nullable: dict[str, str] = field(default_factory=dict)
    stand_ins: dict[str, Any] = field(default_factory=dict)

    def place(self) -> str:
        """Return the function and line of the project's code that is running."""
        found = project_frame(callers(sys._getframe(1), self.entry))
        return describe(found[0].f_code, found[1]) if found else self.model.__name__

    def refuse(self, problem: str) -> NoReturn:
        """End the call. The error is kept, since the project's code may catch every exception."""
        error = UntraceableError(f"{self.place()}: {problem}")
        self.failure = self.failure or error
        raise error

    def name(self, owner: Any, attribute: str) -> str:
        """Return an attribute as it is written in the code that is running, such as `self.category`."""
        found = project_frame(callers(sys._getframe(1), self.entry))
        local_names: Mapping[str, Any] = found[0].f_locals if found else {}
        path = vars(owner)["_sitemaps09_path"]
        parts, trail = path.split("__") if path else [], [attribute]
        while True:
            stand_in = self.stand_ins["__".join(parts)]
            name = next((name for name, value in local_names.items() if value is stand_in), None)
            if name or not parts:
                return f"`{'.'.join([name or 'item', *trail])}`"
            trail.insert(0, parts.pop())

    def refuse_use(self, name: str, problem: str) -> NoReturn:
        """End the call because the project's code uses a value, or passes it to Django's code."""
        frames = [frame for frame, _ in callers(sys._getframe(1), self.entry)]
        found = project_frame((frame, frame.f_lineno) for frame in frames)
        called = frames[: frames.index(found[0])] if found else []
        self.refuse(f"passes {name} to Django" if called and is_django(called[-1]) else problem)

    def use(self, owner: Any, attribute: str, key: str, *, is_nullable: bool) -> None:
        """Record where a field or a relation is first used."""
        self.uses.setdefault(key, self.place())
        if is_nullable:
            self.nullable.setdefault(
                key, f"{self.place()}: depends on whether {self.name(owner, attribute)} is None"
            )
