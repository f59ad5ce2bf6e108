"""Methods as projects write them: what each of them is declared as, or why it stays a method."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.suggestions.blog.models import Entry, Proxy

CASES: list[Case] = []


@dataclass(frozen=True)
class Case:
    """A method in a form such as `Reverse`, with the suggested code or the reason for its refusal.

    The command says that a suggestion is only right if `assumed` is never NULL.
    """

    form: str
    name: str
    hook: str
    method: Callable[[Any], Any]
    code: str | None
    reason: str
    assumed: str = ""

    def __str__(self) -> str:
        return f"{self.form}.{self.name}"


def declares(code: str, *, assumed: str = "") -> Callable[[Callable[..., Any]], Any]:
    """Expect a declaration."""
    return lambda method: (method, code, "", assumed)


def refuses(reason: str) -> Callable[[Callable[..., Any]], Any]:
    """Expect that the method stays a method."""
    return lambda method: (method, None, reason)


class Form:
    """A form in which projects write methods. Each attribute of a subclass is a case."""

    hook = "location"

    def __init_subclass__(cls) -> None:
        CASES.extend(
            Case(cls.__name__, name, cls.hook, *value)
            for name, value in vars(cls).items()
            if name[0] != "_" and isinstance(value, tuple)
        )


def kept(method: Any) -> Any:
    """Decorate a method without an effect."""

    @functools.wraps(method)
    def wrapper(*args: Any) -> Any:
        return method(*args)

    return wrapper


class Post(Entry, metaclass=Proxy):
    """The model of all methods, with properties and methods that these use."""

    viewname = "entry"
    pattern = "/posts/{}/"
    prefix = "/posts"

    @property
    def url_kwargs(self) -> dict[str, Any]:
        return {"slug": str(self.slug)}

    @property
    def path_of_kind(self) -> str:
        return f"/{self.kind}/"

    @property
    def returned(self) -> str:
        path = "/%s/" % self.kind  # noqa: UP031 as projects do
        path += "all/"
        return path

    def get_path(self) -> str:
        return "/posts/" + self.slug + "/"

    def is_draft(self) -> bool:
        return "draft" in f"{self.slug}"

    def get_absolute_url(self) -> str:
        return f"/posts/{self.slug}/"
