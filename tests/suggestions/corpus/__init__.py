"""Methods as projects write them: what each of them is declared as, or why it stays a method.

A table has lines such as `self.path => F("path")`: what a method returns, or its whole body in several
statements, and the expected declaration. Or `! ` with the reason, where `it` is all that is returned.
After `Empty:`, it is the declaration of another hook: columns skip an empty location, which is the home
page from a method. Declarations and reasons are written as `shortened()` writes them.
"""

from __future__ import annotations

import ast
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
_CAN_BE_EMPTY = "Empty: "
#: A method at the beginning of a line, an arrow, and what is expected. Further lines are indented.
_ROW = re.compile(r"^(?P<body>\S.*?)\s+=> (?P<expected>.*?)(?=^\S|\Z)", re.DOTALL | re.MULTILINE)
_SHORT = {
    **{f"output_field={name}Field()": text for name, text in {
        "Char": "TEXT", "DateTime": "TIME", "Float": "FLOAT", "Integer": "INT", "Date": "DATE",
    }.items()},
    "CharField()": "str",
    "Value(": "V(",
    "__isnull=True": " NULL",
    'Concat(V("/"), F("slug"), V("/"), TEXT)': "SLUG",
    'ZoneInfo("UTC")': "UTC",
    'PathTemplate("': 'Path("',
    "Case(When(": "If(",
    "), then=": ") then ",
    "), default=": ") else ",
    "compares, maybe not as the database does, ": "compares ",
    "reads what is not a plain field or a property of `self`: ": "reads otherwise ",
    "needs the text or the number of ": "writes ",
    "formats otherwise than by plain fields: ": "formats otherwise ",
    "needs a constant name, and plain arguments, for ": "reverses ",
    "writes what can be NULL in ": "writes NULL in ",
    "reads an attribute of what can be NULL: ": "reads of NULL ",
    "needs a Route in Case(), which is not possible, for ": "routes ",
    "passes what can be NULL to ": "passes NULL to ",
}  # fmt: skip


def shortened(text):
    """Return a declaration or a reason with short words for what many of them have."""
    for long, short in _SHORT.items():
        text = text.replace(long, short)
    return re.sub(r'\b(\w+)=F\("\1"\)', r"\1", text)


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

    def __str__(self):
        return f"{self.form}: {self.body}" + (f" as {self.hook}" if self.hook == "changefreq" else "")

    @property
    def reason(self):
        """The reason why a method is refused, or `None`."""
        if self.can_be_empty and self.hook == "location":
            return "its text can be empty"
        if not self.text.startswith("! "):
            return None
        reason = self.text.removeprefix("! ")
        if reason.endswith(" it"):
            reason = f"{reason[:-3]} `{ast.unparse(ast.parse(self.body, mode='eval'))}`"
        return reason

    @property
    def can_be_empty(self):
        return self.text.startswith(_CAN_BE_EMPTY)


class Form:
    """A form in which projects write methods, of the model or of the sitemap. Each row is a case."""

    hook = "location"
    annotations: dict[str, Any] = {}
    of_the_model = ""
    of_the_sitemap = ""

    def __init_subclass__(cls):
        for arguments, table in (("self", cls.of_the_model), ("self, item", cls.of_the_sitemap)):
            for body, text in _ROW.findall(dedent(table)):
                name, made = " ".join(body.split()), _method(cls, arguments, body)
                expected, takes_item = " ".join(text.split()), "item" in arguments
                case = Case(cls.__name__, name, expected, cls.hook, made, takes_item, cls.annotations)
                CASES.extend([case, replace(case, hook="changefreq")] if case.can_be_empty else [case])


def _method(cls, arguments, body):
    decorator, line, rest = body.partition("\n") if body.startswith("@") else ("", "", body)
    is_block = "\n" in rest or "; " in rest
    block = rest if is_block else f"return {rest.removeprefix('return ')}"
    source = f"{decorator}{line}def method({arguments}):\n{indent(block, '    ')}\n"
    return body_of(cls.__module__, source)["method"]


def body_of(module, source):
    """Return the names that a source defines in a module. `linecache` has the source."""
    filename, names = f"<{module}: {source}>", {}
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    exec(compile(source, filename, "exec", dont_inherit=True), vars(sys.modules[module]), names)  # noqa: S102 our own code
    return names


def kept(method):
    """Decorate a method without an effect."""

    @functools.wraps(method)
    def wrapper(*args):
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
    def url_kwargs(self):
        return {"slug": str(self.slug)}

    @property
    def path_of_kind(self):
        return f"/{self.kind}/"

    @property
    def returned(self):
        path = "/%s/" % self.kind  # noqa: UP031 as projects do
        path += "all/"
        return path

    def get_path(self):
        return "/posts/" + self.slug + "/"

    def is_draft(self):
        return "draft" in f"{self.slug}"

    def get_absolute_url(self):
        return f"/posts/{self.slug}/"
