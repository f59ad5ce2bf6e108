"""Methods with conditions that no operator of a field can see: in strings, in caches, in identities.

Only some uses of a string are known to pass it on. For each kind of use that is not, there is one method.
"""

# ruff: noqa: S307, F841, UP031, E701, E722, B009, UP032, B012, BLE001
from __future__ import annotations

import functools
import operator
import re
import string
from contextlib import suppress
from decimal import Decimal
from typing import Any

from django.urls import NoReverseMatch, reverse

from tests.suggestions.corpus import Form, refuses

VIEWS = {"news-view": "number"}
MOVED = {"/posts/old/": "/posts/new/"}
DIGITS = re.compile(r"^\d")
ROOT = ""
MAY = 5
MORE = "for more than its result"


class Clean(str):
    __slots__ = ()

    def __add__(self, other: str) -> Any:
        return str.__add__(self, other).replace("//", "/")

    def __mod__(self, other: Any) -> Any:
        return str.__mod__(self, other).replace(" ", "-")


CLEAN = Clean("/posts/")
CLEAN_FORMAT = Clean("/posts/%s/")


def moved(method: Any) -> Any:
    @functools.wraps(method)
    def wrapper(item: Any) -> Any:
        path = method(item)
        return MOVED.get(path, path)

    return wrapper


def has_digits(text: Any) -> bool:
    try:
        return bool(DIGITS.match(text))
    except:
        return False


def wrapped(path: str) -> str:
    return MOVED.get(path, path)


class HiddenInText(Form):
    @refuses(MORE)
    def match(self: Any) -> Any:
        if re.match(r"^\d", str(self.slug)):
            return reverse("number", args=[self.pk])
        return reverse("entry", args=[self.slug])

    @refuses(MORE)
    def search(self: Any) -> Any:
        name = "number" if re.search("draft", "%s" % self.title) else "author-entry"
        return reverse(name, args=["a", self.pk])

    @refuses(MORE)
    def compiled_pattern(self: Any) -> Any:
        return "/digits/" if DIGITS.match(f"{self.slug}") else f"/{self.slug}/"

    @refuses(MORE)
    def joined_and_stripped(self: Any) -> Any:
        name = " ".join([str(self.title), str(self.slug)]).strip()
        return f"/{self.pk}/" if name else "/none/"

    @refuses(MORE)
    def attribute_name(self: Any) -> Any:
        return reverse(getattr(self, "view_%s" % self.kind, "entry"), args=[self.slug])

    @refuses(MORE)
    def part_of_a_text(self: Any) -> Any:
        return "/special/" if str(self.kind) in "note,page" else reverse("entry", args=[self.slug])

    @refuses(MORE)
    def comparison(self: Any) -> Any:
        if f"{self.slug}" == "draft":
            return "/draft/"
        return f"/{self.slug}/"

    @refuses(MORE)
    def comparison_of_a_variable(self: Any) -> Any:
        path = f"/posts/{self.slug}/"
        if path == "/posts/draft/":
            return "/draft/"
        return path

    @refuses(MORE)
    def lookup(self: Any) -> Any:
        path = "/posts/%s/" % self.slug
        return MOVED.get(path, path)

    @refuses(MORE)
    def lookup_of_the_same_text(self: Any) -> Any:
        return MOVED.get(f"/posts/{self.slug}/", f"/posts/{self.slug}/")

    @refuses(MORE)
    def beginning(self: Any) -> Any:
        path = "/posts/" + self.slug
        if not path.endswith("/"):
            path += "/"
        return path

    @refuses(MORE)
    def truth(self: Any) -> Any:
        slug = str(self.slug)
        return f"/posts/{slug}/" if slug else f"/posts/{self.pk}/"

    @refuses(MORE)
    def truth_of_or(self: Any) -> Any:
        return str(self.path) or f"/posts/{self.pk}/"

    @refuses(MORE)
    def replaced(self: Any) -> Any:
        return f"/{self.path}/{self.slug}/".replace("//", "/")

    @refuses(MORE)
    def sliced(self: Any) -> Any:
        return "/%s/" % str(self.slug)[:20]

    @refuses(MORE)
    def helper_that_returns_a_path(self: Any) -> Any:
        return wrapped(f"/posts/{self.slug}/")

    @refuses(MORE)
    def method_of_the_item(self: Any) -> Any:
        return "/draft/" if self.is_draft() else reverse("entry", args=[self.slug])

    @refuses(MORE)
    def property_of_the_item(self: Any) -> Any:
        return self.path_of_kind if self.path_of_kind != "/note/" else "/notes/"

    @refuses(MORE)
    def lowered_property(self: Any) -> Any:
        return self.path_of_kind.lower()

    @refuses(MORE)
    def looked_up_property(self: Any) -> Any:
        return f"{MOVED.get(self.path_of_kind, '/')}{self.slug}/"

    @refuses(MORE)
    def looped(self: Any) -> Any:
        path = ""
        for part in [str(self.slug), str(self.title)]:
            path += f"/{part}" if part else ""
        return path

    @refuses(MORE)
    def comprehension(self: Any) -> Any:
        return "/".join([part for part in ["", str(self.path), str(self.slug)] if part != "x"])

    @refuses(MORE)
    def filtered(self: Any) -> Any:
        return "/" + "/".join(filter(None, [str(self.path), str(self.slug)]))

    @refuses(MORE)
    def named_expression(self: Any) -> Any:
        return path if (path := f"/{self.slug}/") != "/draft/" else "/"

    @refuses(MORE)
    def kept_on_the_item(self: Any) -> Any:
        self.kept = f"/{self.slug}/"
        return "/draft/" if self.kept == "/draft/" else self.kept

    @refuses(MORE)
    def kept_in_a_list(self: Any) -> Any:
        parts = ["/posts"]
        parts.append(str(self.slug))
        return "/".join(parts) if parts != ["/posts", "draft"] else "/"

    @refuses(MORE)
    def nested_function(self: Any) -> Any:
        path = f"/{self.slug}/"

        def moved() -> str:
            return path if path != "/draft/" else "/"

        return moved()

    @refuses(MORE)
    def template(self: Any) -> Any:
        return string.Template("/$slug/").substitute(slug=str(self.slug))

    @refuses(MORE)
    def one_line(self: Any) -> Any:
        # fmt: off
        if f"/{self.slug}/" == "/draft/": return f"/{self.pk}/"
        # fmt: on
        return f"/{self.slug}/"

    @refuses(MORE)
    def pattern_match(self: Any) -> Any:
        match f"{self.kind}":
            case "note":
                return "/note/"
        return f"/{self.slug}/"

    @refuses(MORE)
    def text_that_is_not_used(self: Any) -> Any:
        kind = "note" if "".join(map(str, [self.kind])) == "note" else "post"
        return f"/{kind}/{self.slug}/"

    @refuses(MORE)
    @moved
    def decorated(self: Any) -> Any:
        return f"/posts/{self.slug}/"

    @refuses(MORE)
    def all_variables(self: Any) -> Any:
        path = f"/posts/{self.slug}/"
        return path if locals()["path"] != "/posts/draft/" else "/"

    @refuses(MORE)
    def evaluated(self: Any) -> Any:
        path = f"/posts/{self.slug}/"
        return eval("path if path != '/posts/draft/' else '/'")

    @refuses(MORE)
    def format_of_a_text(self: Any) -> Any:
        return ("/" + str(self.slug) + "/{}/").format(self.pk)

    @refuses(MORE)
    def percent_of_a_text(self: Any) -> Any:
        return ("/" + str(self.slug) + "/%s/") % self.pk

    @refuses(MORE)
    def cut_by_a_format(self: Any) -> Any:
        return "/{:.255}/".format(str(self.title))

    @refuses(MORE)
    def padded_to_one(self: Any) -> Any:
        return "/%1s/" % self.slug

    @refuses(MORE)
    def added_to_a_special_text(self: Any) -> Any:
        return CLEAN + f"{self.path}"

    @refuses(MORE)
    def special_format(self: Any) -> Any:
        return CLEAN_FORMAT % f"{self.path}"

    @refuses(MORE)
    def lambda_on_a_later_line(self: Any) -> Any:
        # fmt: off
        return (
            "/%s/" % re.sub(r"\d+", lambda found: f"n{found[0]}", f"{self.slug}")
        )
        # fmt: on

    @refuses(MORE)
    def method_by_name(self: Any) -> Any:
        return MOVED.get(p := getattr(self, "get_path")(), p) if self.pk else self.get_path()


class HiddenElsewhere(Form):
    @refuses("compares with `is`")
    def identity(self: Any) -> Any:
        return "/hidden/" if self.public is False else reverse("entry", args=[self.slug])

    @refuses("uses `match`")
    def pattern_of_a_singleton(self: Any) -> Any:
        match self.public:
            case False:
                return "/hidden/"
        return reverse("entry", args=[self.slug])

    @refuses("uses `type()`")
    def type_of_a_value(self: Any) -> Any:
        return f"/{self.slug}/" if type(self.rank) in (str,) else "/rank/"

    @refuses("compares with `is`")
    def identity_of_a_result(self: Any) -> Any:
        return reverse("entry", args=["hidden"]) if self.public is False else f"/{self.public}/"

    @refuses("compares with `is`")
    def identity_with_a_name(self: Any) -> Any:
        return "/top/" if self.path is ROOT else f"/{self.path}/"

    @refuses("compares with `is`")
    def identity_of_a_part(self: Any) -> Any:
        return f"/{self.day.year}/" if self.day.month is not MAY else f"/may/{self.day.month}/"

    @refuses("uses `is_()`")
    def identity_function(self: Any) -> Any:
        return "/top/" if operator.is_(self.public, False) else f"/{self.public}/"

    @refuses("uses `eval()`")
    def identity_in_evaluated_code(self: Any) -> Any:
        return "/top/" if eval("self.public is False") else f"/{self.slug}/"

    @refuses("uses `__ne__()`")
    def equality_method(self: Any) -> Any:
        return f"/{self.slug}/" if "draft".__ne__(self.slug) else "/draft/"

    @refuses("uses `match`")
    def pattern_of_a_singleton_in_the_result(self: Any) -> Any:
        match self.public:
            case False:
                return "/hidden/"
        return f"/{self.public}/{self.slug}/"

    @refuses("uses `callable()`")
    def callable_value(self: Any) -> Any:
        return f"/{self.slug}/" if not callable(self.slug) else "/x/"

    @refuses("uses `type()`")
    def name_of_the_class(self: Any) -> Any:
        return f"/{self.slug}/" if type(self).__name__ != "Post" else "/post/"

    @refuses("uses `type()`")
    def options_of_the_class(self: Any) -> Any:
        return f"/{type(self)._meta.model_name}/{self.slug}/"

    @refuses("uses a URL from reverse() for more than its result")
    def reversed_for_its_error(self: Any) -> Any:
        reverse("entry", args=[self.slug])
        return f"/{self.path}/{self.slug}/"

    @refuses("catches errors of type TypeError")
    def caught_match(self: Any) -> Any:
        try:
            if DIGITS.match(self.slug):
                return "/digits/"
        except TypeError:
            pass
        return f"/{self.slug}/"

    @refuses("catches errors of type (TypeError, AttributeError)")
    def caught_membership(self: Any) -> Any:
        try:
            if self.slug in "draft,1st":
                return "/drafts/"
        except (TypeError, AttributeError):
            pass
        return f"/{self.slug}/"

    @refuses("catches errors of type Exception")
    def caught_number(self: Any) -> Any:
        try:
            return f"/number/{Decimal(self.slug)}/"
        except Exception:
            return f"/{self.slug}/"

    @refuses("can catch errors")
    def suppressed_membership(self: Any) -> Any:
        with suppress(TypeError):
            if self.slug in "draft,1st":
                return "/drafts/"
        return reverse("entry", args=[self.slug])

    @refuses("catches errors of type BaseException")
    def caught_in_a_helper(self: Any) -> Any:
        return "/digits/" if has_digits(self.slug) else f"/{self.slug}/"

    @refuses("catches all errors")
    def returned_finally(self: Any) -> Any:
        try:
            path = "/x/" if "draft".startswith(self.slug) else ""
        finally:
            return f"/{self.slug}/"

    @refuses("catches errors from reverse()")
    def other_view_for_a_text(self: Any) -> Any:
        try:
            return reverse("number", args=[str(self.pk)])
        except NoReverseMatch:
            return reverse("entry", args=[str(self.slug)])

    @refuses("uses all attributes of `self`")
    def attributes(self: Any) -> Any:
        if self.__dict__.get("public") == "no":
            return "/hidden/"
        return reverse("entry", args=[self.slug])

    @refuses("uses all attributes of `self`")
    def variables(self: Any) -> Any:
        return "/hidden/" if vars(self).get("kept") else reverse("entry", args=[self.slug])

    @refuses("catches errors from reverse()")
    def other_view(self: Any) -> Any:
        try:
            return reverse("entry", args=[self.slug])
        except NoReverseMatch:
            return reverse("number", args=[self.pk])

    @refuses("needs the value of a field")
    def match_of_a_field(self: Any) -> Any:
        if self.section is None and re.match("draft", self.slug):
            return "/draft/"
        return f"/{self.section.slug}/"

    @refuses("compares `self`")
    def in_a_set(self: Any) -> Any:
        return "/a/" if self in {1, 2} else f"/{self.slug}/"

    @refuses("depends on the value of `self.kind`")
    def branch(self: Any) -> Any:
        return "/note/" if self.kind == "note" else f"/{self.slug}/"

    @refuses("depends on the value of `self.public`")
    def truth(self: Any) -> Any:
        return f"/{self.slug}/" if self.public else "/hidden/"

    @refuses("depends on the value of `self.kind`")
    def key_of_a_dict(self: Any) -> Any:
        return f"/{VIEWS.get(self.kind, 'entry')}/{self.slug}/"

    @refuses("uses `self.slug.startswith`")
    def beginning(self: Any) -> Any:
        return "/" if self.slug.startswith("draft") else f"/{self.slug}/"
