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
    except:
        return False


def wrapped(path: str) -> str:
    return MOVED.get(path, path)


class HiddenInText(Form):
    def match(self: Any) -> Any:
        r"""Refused: has `if re.match('^\\d', str(self.slug)):`"""
        if re.match(r"^\d", str(self.slug)):
            return reverse("number", args=[self.pk])
        return reverse("entry", args=[self.slug])

    def search(self: Any) -> Any:
        """Refused: calls `re.search()`"""
        name = "number" if re.search("draft", "%s" % self.title) else "author-entry"
        return reverse(name, args=["a", self.pk])

    def compiled_pattern(self: Any) -> Any:
        """Refused: calls `DIGITS.match()`"""
        return "/digits/" if DIGITS.match(f"{self.slug}") else f"/{self.slug}/"

    def joined_and_stripped(self: Any) -> Any:
        """Refused: calls `' '.join([str(self.title), str(self.slug)]).strip()`"""
        name = " ".join([str(self.title), str(self.slug)]).strip()
        return f"/{self.pk}/" if name else "/none/"

    def attribute_name(self: Any) -> Any:
        """Refused: calls `getattr()`"""
        return reverse(getattr(self, "view_%s" % self.kind, "entry"), args=[self.slug])

    def part_of_a_text(self: Any) -> Any:
        """Refused: compares, maybe not as the database does, `str(self.kind) in 'note,page'`"""
        return "/special/" if str(self.kind) in "note,page" else reverse("entry", args=[self.slug])

    def comparison(self: Any) -> Any:
        """Refused: has `if f'{self.slug}' == 'draft':`"""
        if f"{self.slug}" == "draft":
            return "/draft/"
        return f"/{self.slug}/"

    def comparison_of_a_variable(self: Any) -> Any:
        """Refused: has `if path == '/posts/draft/':`"""
        path = f"/posts/{self.slug}/"
        if path == "/posts/draft/":
            return "/draft/"
        return path

    def lookup(self: Any) -> Any:
        """Refused: calls `MOVED.get()`"""
        path = "/posts/%s/" % self.slug
        return MOVED.get(path, path)

    def lookup_of_the_same_text(self: Any) -> Any:
        """Refused: calls `MOVED.get()`"""
        return MOVED.get(f"/posts/{self.slug}/", f"/posts/{self.slug}/")

    def beginning(self: Any) -> Any:
        """Refused: has `if not path.endswith('/'):`"""
        path = "/posts/" + self.slug
        if not path.endswith("/"):
            path += "/"
        return path

    def truth(self: Any) -> Any:
        """
        Case(When(Q(slug=""), then=Concat(Value("/posts/"), Cast(F("pk"), CharField()), Value("/"),
        output_field=CharField())), default=Concat(Value("/posts/"), F("slug"), Value("/"),
        output_field=CharField()), output_field=CharField())
        """
        slug = str(self.slug)
        return f"/posts/{slug}/" if slug else f"/posts/{self.pk}/"

    def truth_of_or(self: Any) -> Any:
        """Can be empty:
        Case(When(Q(path=""), then=Concat(Value("/posts/"), Cast(F("pk"), CharField()), Value("/"),
        output_field=CharField())), default=F("path"), output_field=CharField())"""
        return str(self.path) or f"/posts/{self.pk}/"

    def replaced(self: Any) -> Any:
        """Refused: calls `f'/{self.path}/{self.slug}/'.replace()`"""
        return f"/{self.path}/{self.slug}/".replace("//", "/")

    def sliced(self: Any) -> Any:
        """Refused: has `str(self.slug)[:20]`"""
        return "/%s/" % str(self.slug)[:20]

    def helper_that_returns_a_path(self: Any) -> Any:
        """Refused: calls `wrapped()`"""
        return wrapped(f"/posts/{self.slug}/")

    def method_of_the_item(self: Any) -> Any:
        """Refused: has `'draft' in f'{self.slug}'`"""
        return "/draft/" if self.is_draft() else reverse("entry", args=[self.slug])

    def property_of_the_item(self: Any) -> Any:
        """Refused: compares, maybe not as the database does, `self.path_of_kind != '/note/'`"""
        return self.path_of_kind if self.path_of_kind != "/note/" else "/notes/"

    def lowered_property(self: Any) -> Any:
        """Refused: calls `self.path_of_kind.lower()`"""
        return self.path_of_kind.lower()

    def looked_up_property(self: Any) -> Any:
        """Refused: calls `MOVED.get()`"""
        return f"{MOVED.get(self.path_of_kind, '/')}{self.slug}/"

    def looped(self: Any) -> Any:
        """Refused: has `for part in [str(self.slug), str(self.title)]:`"""
        path = ""
        for part in [str(self.slug), str(self.title)]:
            path += f"/{part}" if part else ""
        return path

    def comprehension(self: Any) -> Any:
        """Refused: calls `'/'.join()`"""
        return "/".join([part for part in ["", str(self.path), str(self.slug)] if part != "x"])

    def filtered(self: Any) -> Any:
        """Refused: calls `'/'.join()`"""
        return "/" + "/".join(filter(None, [str(self.path), str(self.slug)]))

    def named_expression(self: Any) -> Any:
        """Refused: has `(path := f'/{self.slug}/')`"""
        return path if (path := f"/{self.slug}/") != "/draft/" else "/"

    def kept_on_the_item(self: Any) -> Any:
        """Refused: has `self.kept = f'/{self.slug}/'`"""
        self.kept = f"/{self.slug}/"
        return "/draft/" if self.kept == "/draft/" else self.kept

    def kept_in_a_list(self: Any) -> Any:
        """Refused: has `parts.append(str(self.slug))`"""
        parts = ["/posts"]
        parts.append(str(self.slug))
        return "/".join(parts) if parts != ["/posts", "draft"] else "/"

    def nested_function(self: Any) -> Any:
        """Refused: has `def moved() -> str:`"""
        path = f"/{self.slug}/"

        def moved() -> str:
            return path if path != "/draft/" else "/"

        return moved()

    def template(self: Any) -> Any:
        """Refused: calls `string.Template('/$slug/').substitute()`"""
        return string.Template("/$slug/").substitute(slug=str(self.slug))

    def one_line(self: Any) -> Any:
        """Refused: has `if f'/{self.slug}/' == '/draft/':`"""
        # fmt: off
        if f"/{self.slug}/" == "/draft/": return f"/{self.pk}/"
        # fmt: on
        return f"/{self.slug}/"

    def pattern_match(self: Any) -> Any:
        """Refused: has `match f'{self.kind}':`"""
        match f"{self.kind}":
            case "note":
                return "/note/"
        return f"/{self.slug}/"

    def text_that_is_not_used(self: Any) -> Any:
        """Refused: calls `''.join()`"""
        kind = "note" if "".join(map(str, [self.kind])) == "note" else "post"
        return f"/{kind}/{self.slug}/"

    @moved
    def decorated(self: Any) -> Any:
        """Refused: has a decorator"""
        return f"/posts/{self.slug}/"

    def all_variables(self: Any) -> Any:
        """Refused: has `locals()['path']`"""
        path = f"/posts/{self.slug}/"
        return path if locals()["path"] != "/posts/draft/" else "/"

    def evaluated(self: Any) -> Any:
        """Refused: has `path = f'/posts/{self.slug}/'`"""
        path = f"/posts/{self.slug}/"
        return eval("path if path != '/posts/draft/' else '/'")

    def format_of_a_text(self: Any) -> Any:
        """Refused: calls `('/' + str(self.slug) + '/{}/').format()`"""
        return ("/" + str(self.slug) + "/{}/").format(self.pk)

    def percent_of_a_text(self: Any) -> Any:
        """Refused: formats `('/' + str(self.slug) + '/%s/') % self.pk`"""
        return ("/" + str(self.slug) + "/%s/") % self.pk

    def cut_by_a_format(self: Any) -> Any:
        """Refused: formats otherwise than by plain fields: `'/{:.255}/'.format(str(self.title))`"""
        return "/{:.255}/".format(str(self.title))

    def padded_to_one(self: Any) -> Any:
        """Refused: formats otherwise than by plain fields: `'/%1s/' % self.slug`"""
        return "/%1s/" % self.slug

    def added_to_a_special_text(self: Any) -> Any:
        """Refused: reads `CLEAN`"""
        return CLEAN + f"{self.path}"

    def special_format(self: Any) -> Any:
        """Refused: reads `CLEAN_FORMAT`"""
        return CLEAN_FORMAT % f"{self.path}"

    def lambda_on_a_later_line(self: Any) -> Any:
        """Refused: calls `re.sub()`"""
        # fmt: off
        return (
            "/%s/" % re.sub(r"\d+", lambda found: f"n{found[0]}", f"{self.slug}")
        )
        # fmt: on

    def method_by_name(self: Any) -> Any:
        """Refused: calls `MOVED.get()`"""
        return MOVED.get(p := getattr(self, "get_path")(), p) if self.pk else self.get_path()


class HiddenElsewhere(Form):
    def identity(self: Any) -> Any:
        """Refused: compares, maybe not as the database does, `self.public is False`"""
        return "/hidden/" if self.public is False else reverse("entry", args=[self.slug])

    def pattern_of_a_singleton(self: Any) -> Any:
        """Refused: has `match self.public:`"""
        match self.public:
            case False:
                return "/hidden/"
        return reverse("entry", args=[self.slug])

    def type_of_a_value(self: Any) -> Any:
        """Refused: compares, maybe not as the database does, `type(self.rank) in (str,)`"""
        return f"/{self.slug}/" if type(self.rank) in (str,) else "/rank/"

    def identity_of_a_result(self: Any) -> Any:
        """Refused: compares, maybe not as the database does, `self.public is False`"""
        return reverse("entry", args=["hidden"]) if self.public is False else f"/{self.public}/"

    def identity_with_a_name(self: Any) -> Any:
        """Refused: compares, maybe not as the database does, `self.path is ROOT`"""
        return "/top/" if self.path is ROOT else f"/{self.path}/"

    def identity_of_a_part(self: Any) -> Any:
        """Refused: compares, maybe not as the database does, `self.day.month is not MAY`"""
        return f"/{self.day.year}/" if self.day.month is not MAY else f"/may/{self.day.month}/"

    def global_that_is_updated(self: Any) -> Any:
        """Refused: reads `UPDATED`"""
        return f"{UPDATED}/{self.slug}/"

    def identity_function(self: Any) -> Any:
        """Refused: calls `operator.is_()`"""
        return "/top/" if operator.is_(self.public, False) else f"/{self.public}/"

    def identity_in_evaluated_code(self: Any) -> Any:
        """Refused: calls `eval()`"""
        return "/top/" if eval("self.public is False") else f"/{self.slug}/"

    def equality_method(self: Any) -> Any:
        """Refused: calls `'draft'.__ne__()`"""
        return f"/{self.slug}/" if "draft".__ne__(self.slug) else "/draft/"

    def pattern_of_a_singleton_in_the_result(self: Any) -> Any:
        """Refused: has `match self.public:`"""
        match self.public:
            case False:
                return "/hidden/"
        return f"/{self.public}/{self.slug}/"

    def callable_value(self: Any) -> Any:
        """Refused: calls `callable()`"""
        return f"/{self.slug}/" if not callable(self.slug) else "/x/"

    def name_of_the_class(self: Any) -> Any:
        """Refused: calls `type()`"""
        return f"/{self.slug}/" if type(self).__name__ != "Post" else "/post/"

    def options_of_the_class(self: Any) -> Any:
        """Refused: calls `type()`"""
        return f"/{type(self)._meta.model_name}/{self.slug}/"

    def reversed_for_its_error(self: Any) -> Any:
        """Refused: has `reverse('entry', args=[self.slug])`"""
        reverse("entry", args=[self.slug])
        return f"/{self.path}/{self.slug}/"

    def caught_match(self: Any) -> Any:
        """Refused: has `try:`"""
        try:
            if DIGITS.match(self.slug):
                return "/digits/"
        except TypeError:
            pass
        return f"/{self.slug}/"

    def caught_membership(self: Any) -> Any:
        """Refused: has `try:`"""
        try:
            if self.slug in "draft,1st":
                return "/drafts/"
        except (TypeError, AttributeError):
            pass
        return f"/{self.slug}/"

    def caught_number(self: Any) -> Any:
        """Refused: has `try:`"""
        try:
            return f"/number/{Decimal(self.slug)}/"
        except Exception:
            return f"/{self.slug}/"

    def suppressed_membership(self: Any) -> Any:
        """Refused: has `with suppress(TypeError):`"""
        with suppress(TypeError):
            if self.slug in "draft,1st":
                return "/drafts/"
        return reverse("entry", args=[self.slug])

    def caught_in_a_helper(self: Any) -> Any:
        """Refused: calls `has_digits()`"""
        return "/digits/" if has_digits(self.slug) else f"/{self.slug}/"

    def returned_finally(self: Any) -> Any:
        """Refused: has `try:`"""
        try:
            path = "/x/" if "draft".startswith(self.slug) else ""
        finally:
            return f"/{self.slug}/"

    def other_view_for_a_text(self: Any) -> Any:
        """Refused: has `try:`"""
        try:
            return reverse("number", args=[str(self.pk)])
        except NoReverseMatch:
            return reverse("entry", args=[str(self.slug)])

    def attributes(self: Any) -> Any:
        """Refused: has `if self.__dict__.get('public') == 'no':`"""
        if self.__dict__.get("public") == "no":
            return "/hidden/"
        return reverse("entry", args=[self.slug])

    def variables(self: Any) -> Any:
        """Refused: calls `vars(self).get()`"""
        return "/hidden/" if vars(self).get("kept") else reverse("entry", args=[self.slug])

    def other_view(self: Any) -> Any:
        """Refused: has `try:`"""
        try:
            return reverse("entry", args=[self.slug])
        except NoReverseMatch:
            return reverse("number", args=[self.pk])

    def match_of_a_field(self: Any) -> Any:
        """Refused: has `if self.section is None and re.match('draft', self.slug):`"""
        if self.section is None and re.match("draft", self.slug):
            return "/draft/"
        return f"/{self.section.slug}/"

    def in_a_set(self: Any) -> Any:
        """Refused: compares, maybe not as the database does, `self in {1, 2}`"""
        return "/a/" if self in {1, 2} else f"/{self.slug}/"

    def branch(self: Any) -> Any:
        """
        Case(When(Q(kind="note"), then=Value("/note/")), default=Concat(Value("/"), F("slug"), Value("/"),
        output_field=CharField()), output_field=CharField())
        """
        return "/note/" if self.kind == "note" else f"/{self.slug}/"

    def truth(self: Any) -> Any:
        """
        Case(When(Q(public=False), then=Value("/hidden/")), default=Concat(Value("/"), F("slug"),
        Value("/"), output_field=CharField()), output_field=CharField())
        """
        return f"/{self.slug}/" if self.public else "/hidden/"

    def key_of_a_dict(self: Any) -> Any:
        """Refused: calls `VIEWS.get()`"""
        return f"/{VIEWS.get(self.kind, 'entry')}/{self.slug}/"

    def beginning(self: Any) -> Any:
        """Refused: calls `self.slug.startswith()`"""
        return "/" if self.slug.startswith("draft") else f"/{self.slug}/"
