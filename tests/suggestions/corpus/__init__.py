"""Methods as projects write them: what each of them is declared as, or why it stays a method.

The docstring of a method is the expected declaration, or `Refused: ` with the reason. After
`Can be empty:`, it is that of another hook: columns skip an empty location, which is the home page
from a method.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from inspect import getdoc
from typing import Any

from tests.suggestions.blog.models import Entry

CASES: list[Case] = []
_CAN_BE_EMPTY = "Can be empty:"


@dataclass(frozen=True, eq=False)
class Case:
    """A method in a form such as `Reverse`: of the model, or of the sitemap if it takes an item."""

    form: str
    name: str
    hook: str
    method: Callable[..., Any]
    annotations: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.form}.{self.name}" + (f" as {self.hook}" if self.hook == "changefreq" else "")

    @property
    def expected(self) -> str:
        """The expected declaration, or the reason."""
        text = " ".join(str(getdoc(self.method)).split())
        if self.can_be_empty and self.hook == "location":
            return "Refused: its text can be empty"
        return text.removeprefix(_CAN_BE_EMPTY).strip()

    @property
    def takes_item(self) -> bool:
        function: Any = self.method
        return bool(function.__code__.co_argcount == 2)

    @property
    def can_be_empty(self) -> bool:
        return str(getdoc(self.method)).startswith(_CAN_BE_EMPTY)

    @property
    def is_refused(self) -> bool:
        return self.expected.startswith("Refused: ")


class Form:
    """A form in which projects write methods. Each public method of a subclass is a case."""

    hook = "location"
    annotations: dict[str, Any] = {}

    def __init_subclass__(cls) -> None:
        for name, method in vars(cls).items():
            if name[0] != "_" and callable(method):
                case = Case(cls.__name__, name, cls.hook, method, cls.annotations)
                CASES.extend([case, replace(case, hook="changefreq")] if case.can_be_empty else [case])


def kept(method: Any) -> Any:
    """Decorate a method without an effect."""

    @functools.wraps(method)
    def wrapper(*args: Any) -> Any:
        return method(*args)

    return wrapper


class Post(Entry):
    """The model of all methods, with properties and methods that these use."""

    viewname = "entry"
    pattern = "/posts/{}/"
    prefix = "/posts"

    class Meta:
        proxy = True
        app_label = "blog"

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
