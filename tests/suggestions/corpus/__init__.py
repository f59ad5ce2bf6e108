"""Methods as projects write them: what each of them is declared as, or why it stays a method.

A table has lines such as `self.path => F("path")`: what a method returns, or its whole body in several
lines, and the expected declaration. Or `Refused: ` with the reason. After `Can be empty:`, it is the
declaration of another hook: columns skip an empty location, which is the home page from a method.
"""

from __future__ import annotations

import functools
import linecache
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from textwrap import dedent, indent
from typing import Any

from tests.suggestions.blog.models import Entry

CASES: list[Case] = []
_CAN_BE_EMPTY = "Can be empty:"
#: A method at the beginning of a line, an arrow, and what is expected. Further lines are indented.
_ROW = re.compile(r"^(?P<body>\S.*?)\s+=> (?P<expected>.*?)(?=^\S|\Z)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, eq=False)
class Case:
    """A method in a form such as `Reverse`: of the model, or of the sitemap if it takes an item."""

    form: str
    body: str
    text: str
    hook: str
    method: Callable[..., Any]
    takes_item: bool
    annotations: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.form}: {self.body}" + (f" as {self.hook}" if self.hook == "changefreq" else "")

    @property
    def expected(self) -> str:
        """The expected declaration, or the reason."""
        if self.can_be_empty and self.hook == "location":
            return "Refused: its text can be empty"
        return self.text.removeprefix(_CAN_BE_EMPTY).strip()

    @property
    def can_be_empty(self) -> bool:
        return self.text.startswith(_CAN_BE_EMPTY)

    @property
    def is_refused(self) -> bool:
        return self.expected.startswith("Refused: ")


class Form:
    """A form in which projects write methods, of the model or of the sitemap. Each row is a case."""

    hook = "location"
    annotations: dict[str, Any] = {}
    of_the_model = ""
    of_the_sitemap = ""

    def __init_subclass__(cls) -> None:
        for arguments, table in (("self", cls.of_the_model), ("self, item", cls.of_the_sitemap)):
            for body, text in _ROW.findall(dedent(table)):
                name, made = " ".join(body.split()), _function(cls, arguments, body)
                expected, takes_item = " ".join(text.split()), "item" in arguments
                case = Case(cls.__name__, name, expected, cls.hook, made, takes_item, cls.annotations)
                CASES.extend([case, replace(case, hook="changefreq")] if case.can_be_empty else [case])


def _function(cls: type[Form], arguments: str, body: str) -> Any:
    """Return the function with this body, whose source `linecache` has, in the module of a form."""
    decorator, line, rest = body.partition("\n") if body.startswith("@") else ("", "", body)
    block = rest if "\n" in rest else f"return {rest.removeprefix('return ')}"
    source = f"{decorator}{line}def method({arguments}):\n{indent(block, '    ')}\n"
    filename, names = f"<{cls.__name__}: {body}>", {}
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    exec(compile(source, filename, "exec", dont_inherit=True), vars(sys.modules[cls.__module__]), names)  # noqa: S102 our own code
    return names["method"]


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
