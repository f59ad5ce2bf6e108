"""Methods with conditions that no operator of a field can see: in strings, in caches, in identities.

Only some uses of a string are known to pass it on. For each kind of use that is not, there is one method.
"""

# ruff: noqa: F401 the tables use the imports
from __future__ import annotations

import functools
import operator
import re
import string
from contextlib import suppress
from decimal import Decimal
from typing import Any

from django.urls import NoReverseMatch, reverse

from tests.suggestions.corpus import Form

VIEWS = {"news-view": "number"}
MOVED = {"/posts/old/": "/posts/new/"}
DIGITS = re.compile(r"^\d")
ROOT = ""
MAY = 5
UPDATED = "/updated"


class Clean(str):
    __slots__ = ()

    def __add__(self, other: str) -> Any:
        return str.__add__(self, other).replace("//", "/")

    def __mod__(self, other: Any) -> Any:
        return str.__mod__(self, other).replace(" ", "-")


CLEAN = Clean("/posts/")
CLEAN_FORMAT = Clean("/posts/%s/")


def update() -> None:
    globals().update(UPDATED="/other")


def moved(method: Any) -> Any:
    @functools.wraps(method)
    def wrapper(item: Any) -> Any:
        path = method(item)
        return MOVED.get(path, path)

    return wrapper


def has_digits(text: Any) -> bool:
    try:
        return bool(DIGITS.match(text))
    except:  # noqa: E722
        return False


def wrapped(path: str) -> str:
    return MOVED.get(path, path)


class HiddenInText(Form):
    of_the_model = r"""
    if re.match(r"^\d", str(self.slug)):
        return reverse("number", args=[self.pk])
    return reverse("entry", args=[self.slug])
        => Refused: has `if re.match('^\\d', str(self.slug)):`
    name = "number" if re.search("draft", "%s" % self.title) else "author-entry"
    return reverse(name, args=["a", self.pk])
        => Refused: calls `re.search()`
    "/digits/" if DIGITS.match(f"{self.slug}") else f"/{self.slug}/" => Refused: calls `DIGITS.match()`
    name = " ".join([str(self.title), str(self.slug)]).strip()
    return f"/{self.pk}/" if name else "/none/"
        => Refused: calls `' '.join([str(self.title), str(self.slug)]).strip()`
    reverse(getattr(self, "view_%s" % self.kind, "entry"), args=[self.slug]) => Refused: calls `getattr()`
    "/special/" if str(self.kind) in "note,page" else reverse("entry", args=[self.slug])
        => Refused: compares, maybe not as the database does, `str(self.kind) in 'note,page'`
    if f"{self.slug}" == "draft":
        return "/draft/"
    return f"/{self.slug}/"
        => Refused: has `if f'{self.slug}' == 'draft':`
    path = f"/posts/{self.slug}/"
    if path == "/posts/draft/":
        return "/draft/"
    return path
        => Refused: has `if path == '/posts/draft/':`
    path = "/posts/%s/" % self.slug
    return MOVED.get(path, path)
        => Refused: calls `MOVED.get()`
    MOVED.get(f"/posts/{self.slug}/", f"/posts/{self.slug}/") => Refused: calls `MOVED.get()`
    path = "/posts/" + self.slug
    if not path.endswith("/"):
        path += "/"
    return path
        => Refused: has `if not path.endswith('/'):`
    slug = str(self.slug)
    return f"/posts/{slug}/" if slug else f"/posts/{self.pk}/"
        => Case(When(Q(slug=""), then=Concat(Value("/posts/"), Cast(F("pk"), CharField()), Value("/"),
        output_field=CharField())), default=Concat(Value("/posts/"), F("slug"), Value("/"),
        output_field=CharField()), output_field=CharField())
    str(self.path) or f"/posts/{self.pk}/"
        => Can be empty: Case(When(Q(path=""), then=Concat(Value("/posts/"), Cast(F("pk"), CharField()),
        Value("/"), output_field=CharField())), default=F("path"), output_field=CharField())
    f"/{self.path}/{self.slug}/".replace("//", "/")
        => Refused: calls `f'/{self.path}/{self.slug}/'.replace()`
    "/%s/" % str(self.slug)[:20] => Refused: has `str(self.slug)[:20]`
    wrapped(f"/posts/{self.slug}/") => Refused: calls `wrapped()`
    "/draft/" if self.is_draft() else reverse("entry", args=[self.slug])
        => Refused: has `'draft' in f'{self.slug}'`
    self.path_of_kind if self.path_of_kind != "/note/" else "/notes/"
        => Refused: compares, maybe not as the database does, `self.path_of_kind != '/note/'`
    self.path_of_kind.lower() => Refused: calls `self.path_of_kind.lower()`
    f"{MOVED.get(self.path_of_kind, '/')}{self.slug}/" => Refused: calls `MOVED.get()`
    path = ""
    for part in [str(self.slug), str(self.title)]:
        path += f"/{part}" if part else ""
    return path
        => Refused: has `for part in [str(self.slug), str(self.title)]:`
    "/".join([part for part in ["", str(self.path), str(self.slug)] if part != "x"])
        => Refused: calls `'/'.join()`
    "/" + "/".join(filter(None, [str(self.path), str(self.slug)])) => Refused: calls `'/'.join()`
    path if (path := f"/{self.slug}/") != "/draft/" else "/" => Refused: has `(path := f'/{self.slug}/')`
    self.kept = f"/{self.slug}/"
    return "/draft/" if self.kept == "/draft/" else self.kept
        => Refused: has `self.kept = f'/{self.slug}/'`
    parts = ["/posts"]
    parts.append(str(self.slug))
    return "/".join(parts) if parts != ["/posts", "draft"] else "/"
        => Refused: has `parts.append(str(self.slug))`
    path = f"/{self.slug}/"
    def moved() -> str:
        return path if path != "/draft/" else "/"
    return moved()
        => Refused: has `def moved() -> str:`
    string.Template("/$slug/").substitute(slug=str(self.slug))
        => Refused: calls `string.Template('/$slug/').substitute()`
    if f"/{self.slug}/" == "/draft/": return f"/{self.pk}/"
    return f"/{self.slug}/"
        => Refused: has `if f'/{self.slug}/' == '/draft/':`
    match f"{self.kind}":
        case "note":
            return "/note/"
    return f"/{self.slug}/"
        => Refused: has `match f'{self.kind}':`
    kind = "note" if "".join(map(str, [self.kind])) == "note" else "post"
    return f"/{kind}/{self.slug}/"
        => Refused: calls `''.join()`
    @moved
    return f"/posts/{self.slug}/"
        => Refused: has a decorator
    path = f"/posts/{self.slug}/"
    return path if locals()["path"] != "/posts/draft/" else "/"
        => Refused: has `locals()['path']`
    path = f"/posts/{self.slug}/"
    return eval("path if path != '/posts/draft/' else '/'")
        => Refused: has `path = f'/posts/{self.slug}/'`
    ("/" + str(self.slug) + "/{}/").format(self.pk)
        => Refused: calls `('/' + str(self.slug) + '/{}/').format()`
    ("/" + str(self.slug) + "/%s/") % self.pk
        => Refused: formats `('/' + str(self.slug) + '/%s/') % self.pk`
    "/{:.255}/".format(str(self.title))
        => Refused: formats otherwise than by plain fields: `'/{:.255}/'.format(str(self.title))`
    "/%1s/" % self.slug => Refused: formats otherwise than by plain fields: `'/%1s/' % self.slug`
    CLEAN + f"{self.path}" => Refused: reads `CLEAN`
    CLEAN_FORMAT % f"{self.path}" => Refused: reads `CLEAN_FORMAT`
    ("/%s/" % re.sub(r"\d+", lambda found: f"n{found[0]}", f"{self.slug}")) => Refused: calls `re.sub()`
    MOVED.get(p := getattr(self, "get_path")(), p) if self.pk else self.get_path()
        => Refused: calls `MOVED.get()`
    """


class HiddenElsewhere(Form):
    of_the_model = """
    "/hidden/" if self.public is False else reverse("entry", args=[self.slug])
        => Refused: compares, maybe not as the database does, `self.public is False`
    match self.public:
        case False:
            return "/hidden/"
    return reverse("entry", args=[self.slug])
        => Refused: has `match self.public:`
    f"/{self.slug}/" if type(self.rank) in (str,) else "/rank/"
        => Refused: compares, maybe not as the database does, `type(self.rank) in (str,)`
    reverse("entry", args=["hidden"]) if self.public is False else f"/{self.public}/"
        => Refused: compares, maybe not as the database does, `self.public is False`
    "/top/" if self.path is ROOT else f"/{self.path}/"
        => Refused: compares, maybe not as the database does, `self.path is ROOT`
    f"/{self.day.year}/" if self.day.month is not MAY else f"/may/{self.day.month}/"
        => Refused: compares, maybe not as the database does, `self.day.month is not MAY`
    f"{UPDATED}/{self.slug}/" => Refused: reads `UPDATED`
    "/top/" if operator.is_(self.public, False) else f"/{self.public}/" => Refused: calls `operator.is_()`
    "/top/" if eval("self.public is False") else f"/{self.slug}/" => Refused: calls `eval()`
    f"/{self.slug}/" if "draft".__ne__(self.slug) else "/draft/" => Refused: calls `'draft'.__ne__()`
    match self.public:
        case False:
            return "/hidden/"
    return f"/{self.public}/{self.slug}/"
        => Refused: has `match self.public:`
    f"/{self.slug}/" if not callable(self.slug) else "/x/" => Refused: calls `callable()`
    f"/{self.slug}/" if type(self).__name__ != "Post" else "/post/" => Refused: calls `type()`
    f"/{type(self)._meta.model_name}/{self.slug}/" => Refused: calls `type()`
    reverse("entry", args=[self.slug])
    return f"/{self.path}/{self.slug}/"
        => Refused: has `reverse('entry', args=[self.slug])`
    try:
        if DIGITS.match(self.slug):
            return "/digits/"
    except TypeError:
        pass
    return f"/{self.slug}/"
        => Refused: has `try:`
    try:
        if self.slug in "draft,1st":
            return "/drafts/"
    except (TypeError, AttributeError):
        pass
    return f"/{self.slug}/"
        => Refused: has `try:`
    try:
        return f"/number/{Decimal(self.slug)}/"
    except Exception:
        return f"/{self.slug}/"
        => Refused: has `try:`
    with suppress(TypeError):
        if self.slug in "draft,1st":
            return "/drafts/"
    return reverse("entry", args=[self.slug])
        => Refused: has `with suppress(TypeError):`
    "/digits/" if has_digits(self.slug) else f"/{self.slug}/" => Refused: calls `has_digits()`
    try:
        path = "/x/" if "draft".startswith(self.slug) else ""
    finally:
        return f"/{self.slug}/"
        => Refused: has `try:`
    try:
        return reverse("number", args=[str(self.pk)])
    except NoReverseMatch:
        return reverse("entry", args=[str(self.slug)])
        => Refused: has `try:`
    if self.__dict__.get("public") == "no":
        return "/hidden/"
    return reverse("entry", args=[self.slug])
        => Refused: has `if self.__dict__.get('public') == 'no':`
    "/hidden/" if vars(self).get("kept") else reverse("entry", args=[self.slug])
        => Refused: calls `vars(self).get()`
    try:
        return reverse("entry", args=[self.slug])
    except NoReverseMatch:
        return reverse("number", args=[self.pk])
        => Refused: has `try:`
    if self.section is None and re.match("draft", self.slug):
        return "/draft/"
    return f"/{self.section.slug}/"
        => Refused: has `if self.section is None and re.match('draft', self.slug):`
    "/a/" if self in {1, 2} else f"/{self.slug}/"
        => Refused: compares, maybe not as the database does, `self in {1, 2}`
    "/note/" if self.kind == "note" else f"/{self.slug}/"
        => Case(When(Q(kind="note"), then=Value("/note/")), default=Concat(Value("/"), F("slug"),
        Value("/"), output_field=CharField()), output_field=CharField())
    f"/{self.slug}/" if self.public else "/hidden/"
        => Case(When(Q(public=False), then=Value("/hidden/")), default=Concat(Value("/"), F("slug"),
        Value("/"), output_field=CharField()), output_field=CharField())
    f"/{VIEWS.get(self.kind, 'entry')}/{self.slug}/" => Refused: calls `VIEWS.get()`
    "/" if self.slug.startswith("draft") else f"/{self.slug}/" => Refused: calls `self.slug.startswith()`
    """
