"""Methods whose helpers, strings, caches, settings and identities hide conditions, and what is followed.

Only some uses of a string are known to pass it on. For each kind of use that is not, there is one method.
"""

# ruff: noqa: F401 the tables use the imports
from __future__ import annotations

import functools
import operator
import os
import re
import string
from contextlib import suppress
from functools import cache, cached_property, lru_cache, partialmethod

from django.conf import settings
from django.core.cache import cache as django_cache
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.translation import get_language, gettext

from tests.suggestions.blog.models import Label, Section
from tests.suggestions.corpus import Form, Post, body_of

PREFIX = "/fixed"
LIMIT = 10
CHANGED = "/changed"
COMPUTED = "/" + "computed"
PREFIXES = {"post": "/p"}
MOVED = {"/posts/old/": "/posts/new/"}
DIGITS = re.compile(r"^\d")
ROOT = ""
MAY = 5
UPDATED = "/updated"
lower = "/lower"
_KEPT: dict = {}


def set_changed(value):
    global CHANGED
    CHANGED = value


def update():
    globals().update(UPDATED="/other")


def path_of(item):
    return f"/{item.slug}/"


class Clean(str):
    __slots__ = ()

    def __add__(self, other):
        return str.__add__(self, other).replace("//", "/")


CLEAN = Clean("/posts/")


def moved(method):
    @functools.wraps(method)
    def wrapper(item):
        return MOVED.get(path := method(item), path)

    return wrapper


class Helpers(Post):
    """A model with helpers, which the methods of the corpus use by the names of this class."""

    root = "/root"
    counted = "/counted"
    labels_root = ("/labels",)
    locals().update(
        body_of(
            __name__,
            """
def get_slug(self): return self.slug
def get_root(self): return self.root
def get_url(self): return reverse("entry", kwargs={"slug": self.slug})
def of_helper(self): return self.get_slug()
def get_kind(self, default="post"): return f"{self.kind}"
def get_default(self, default="post"): return default
def by_keyword(self, *, name): return self.slug
@property
def short(self): return self.slug
@cached_property
def kept(self): return f"/kept/{self.slug}/"
@property
def with_fallback(self):
    try: return reverse("entry", args=[self.slug])
    except NoReverseMatch: return "/"
def without_errors(self):
    if not self.slug: return "/empty/"
    return f"/{self.slug}/"
def from_cache(self): return django_cache.get_or_set(f"slug-{self.pk}", self.slug)
@lru_cache(maxsize=10)
def remembered(self): return self.slug
@cache
def always_remembered(self): return self.slug
def from_setting(self): return settings.MEDIA_URL
def from_manager(self): return Section.objects.filter(pk=self.section_id).first()
def from_environment(self): return os.environ.get("ROOT_PATH", "")
def in_language(self): return gettext("posts")
@staticmethod
def static(): return "/static/"
@classmethod
def of_class(cls): return cls.root
def count(self): type(self).counted = f"/{self.pk}"
async def asynchronous(self): return self.slug
def generated(self): yield self.slug
half = partialmethod(get_kind, default="half")
anonymous = lambda self: self.slug
""",
        )
    )

    class Meta:
        proxy = True
        app_label = "blog"


class Followed(Form):
    of_the_model = """
    f"/{self.get_slug()}/" => Path("/{slug}/", slug)
    self.get_url() => Route("entry", slug)
    f"/{self.get_kind()}/{self.slug}/" => Path("/{kind}/{slug}/", kind, slug)
    f"/{self.short}/" => Path("/{slug}/", slug)
    self.kept => Path("/kept/{slug}/", slug)
    f"{PREFIX}/{LIMIT}/{self.slug}/" => Path("/fixed/10/{slug}/", slug)
    slug = self.get_slug(); return "/%s/%s/" % (slug, self.kind) => Path("/{slug}/{kind}/", slug, kind)
    """


class HiddenInHelpers(Form):
    of_the_model = """
    f"/{self.of_helper()}/" => ! is a helper, and calls another one: `self.get_slug()`
    self.with_fallback => ! has `try:`
    self.without_errors() => ! has `if not self.slug:`
    f"/{self.from_cache()}/" => ! calls `django_cache.get_or_set()`
    _KEPT.get(self.pk, f"/{self.slug}/") => ! calls `_KEPT.get()`
    f"{PREFIXES[self.kind]}/{self.slug}/" => ! has `PREFIXES[self.kind]`
    f"/{self.remembered()}/" => ! calls `self.remembered()`
    f"/{self.from_manager()}/"
        => ! calls `Section.objects.filter(pk=self.section_id).first()`
    f"/{self.slug}/" if Label.objects.exists() else f"/{self.pk}/" => ! calls `Label.objects.exists()`
    f"/{self.labels}/" => ! reads otherwise `self.labels`
    f"/{self.labels.count()}/{self.slug}/" => ! calls `self.labels.count()`
    f"/{self.from_environment()}{self.slug}/" => ! calls `os.environ.get()`
    f"/{self.in_language()}/{self.slug}/" => ! calls `gettext()`
    f"/{timezone.now().year}/{self.slug}/" => ! calls `timezone.now()`
    f"/{self.get_default()}/{self.slug}/" => ! reads `default`
    f"/{self.get_kind('x')}/{self.slug}/" => ! calls `self.get_kind()`
    f"/{self.by_keyword(name='x')}/" => ! calls `self.by_keyword()`
    f"/{self.by_keyword()}/" => ! takes other arguments
    f"{self.static()}{self.slug}/" => ! calls `self.static()`
    f"{self.of_class()}/{self.slug}/" => ! calls `self.of_class()`
    f"/{self.half()}/" => ! calls `self.half()`
    f"/{self.anonymous()}/" => ! <lambda>, line 37: is a lambda
    f"/{self.asynchronous()}/" => ! is asynchronous
    f"/{self.generated()}/" => ! has `yield self.slug`
    path_of(self) => ! calls `path_of()`
    "/" + self.author.serializable_value("name") => ! calls `self.author.serializable_value()`
    f"{CHANGED}/{self.slug}/" => ! reads `CHANGED`
    f"{lower}/{self.slug}/" => ! reads `lower`
    f"{self.counted}/{self.slug}/" => ! reads otherwise `self.counted`
    f"{self.labels_root[0]}/{self.slug}/" => ! has `self.labels_root[0]`
    reverse = self.get_slug; return f"/{reverse()}/" => ! reads otherwise `self.get_slug`
    str = self.slug; return f"/{str}/" + str(self.number) => ! calls `str()`
    url = reverse("number", args=[self.pk]); return f"/{self.slug}/"
        => ! has `url = reverse('number', args=[self.pk])`
    path = self.slug; path = f"/{path}/"; return path => ! has `path = f'/{path}/'`
    first = second = self.slug; return f"/{first}/{second}/" => ! has `first = second = self.slug`
    f"/{self.__slug}/" => ! reads otherwise `self.__slug`
    f"/{self.__class__.__name__}/{self.slug}/" => ! reads otherwise `self.__class__`
    "/draft/" if self.get_slug() == "draft" else f"/{self.slug}/"
        => If(Q(slug="draft") then V("/draft/")) else SLUG, TEXT)
    reverse("entry", "tests.urls", [self.slug]) => ! reverses it
    reverse("entry", args=[self.slug], current_app="blog") => ! reverses it
    reverse("entry", args=(*[self.slug],)) => ! has `*[self.slug]`
    "/" + str(self.code) + "/" => ! writes NULL in `str(self.code)`
    f"/{self.number + 1}/" => ! has `self.number + 1`
    "/" + self.number => ! has it
    f"/{self.slug:>10}/" => ! has it
    "/{:{}}/".format(self.slug, self.number) => ! formats otherwise it
    f"/{self.slug=}/" => ! has it
    "/%#s/" % self.slug => ! formats otherwise it
    "/%s/" % {"slug": self.slug} => ! formats otherwise it
    "/{}/{1}/".format(self.slug, self.pk) => ! formats otherwise it
    """


class HiddenInSitemaps(Form):
    hook = "changefreq"
    of_the_sitemap = """
    django_cache.get("freq", "daily") => ! calls `django_cache.get()`
    settings.LANGUAGE_CODE => ! reads `settings`
    self.freq => ! reads otherwise it
    self.protocol => ! reads otherwise it
    {"post": "daily"}[item.kind] => ! has it
    "daily" if item.labels.exists() else "weekly" => ! calls `item.labels.exists()`
    """


class HiddenInText(Form):
    of_the_model = r"""
    if re.match(r"^\d", str(self.slug)): return reverse("number", args=[self.pk])
    return reverse("entry", args=[self.slug]) => ! has `if re.match('^\\d', str(self.slug)):`
    name = "number" if re.search("draft", "%s" % self.title) else "author-entry"
    return reverse(name, args=["a", self.pk]) => ! calls `re.search()`
    "/digits/" if DIGITS.match(f"{self.slug}") else f"/{self.slug}/" => ! calls `DIGITS.match()`
    name = " ".join([str(self.title), str(self.slug)]).strip(); return f"/{self.pk}/" if name else "/none/"
        => ! calls `' '.join([str(self.title), str(self.slug)]).strip()`
    reverse(getattr(self, "view_%s" % self.kind, "entry"), args=[self.slug]) => ! calls `getattr()`
    "/special/" if str(self.kind) in "note,page" else reverse("entry", args=[self.slug])
        => ! compares `str(self.kind) in 'note,page'`
    path = f"/posts/{self.slug}/"
    if path == "/posts/draft/": return "/draft/"
    return path => ! has `if path == '/posts/draft/':`
    MOVED.get(f"/posts/{self.slug}/", f"/posts/{self.slug}/") => ! calls `MOVED.get()`
    path = "/posts/" + self.slug
    if not path.endswith("/"): path += "/"
    return path => ! has `if not path.endswith('/'):`
    slug = str(self.slug); return f"/posts/{slug}/" if slug else f"/posts/{self.pk}/"
        => If(Q(slug="") then Concat(V("/posts/"), Cast(F("pk"), str), V("/"), TEXT)) else
        Concat(V("/posts/"), F("slug"), V("/"), TEXT), TEXT)
    str(self.path) or f"/posts/{self.pk}/"
        => Empty: If(Q(path="") then Concat(V("/posts/"), Cast(F("pk"), str), V("/"), TEXT)) else
        F("path"), TEXT)
    f"/{self.path}/{self.slug}/".replace("//", "/") => ! calls `f'/{self.path}/{self.slug}/'.replace()`
    "/draft/" if self.is_draft() else reverse("entry", args=[self.slug])
        => ! has `'draft' in f'{self.slug}'`
    self.path_of_kind if self.path_of_kind != "/note/" else "/notes/"
        => ! compares `self.path_of_kind != '/note/'`
    self.path_of_kind.lower() => ! calls it
    path = ""
    for part in [str(self.slug), str(self.title)]: path += f"/{part}" if part else ""
    return path => ! has `for part in [str(self.slug), str(self.title)]:`
    "/".join([part for part in ["", str(self.path), str(self.slug)] if part != "x"])
        => ! calls `'/'.join()`
    path if (path := f"/{self.slug}/") != "/draft/" else "/" => ! has `(path := f'/{self.slug}/')`
    self.kept = f"/{self.slug}/"; return "/draft/" if self.kept == "/draft/" else self.kept
        => ! has `self.kept = f'/{self.slug}/'`
    parts = ["/posts"]
    parts.append(str(self.slug))
    return "/".join(parts) if parts != ["/posts", "draft"] else "/" => ! has `parts.append(str(self.slug))`
    path = f"/{self.slug}/"
    def moved() -> str: return path if path != "/draft/" else "/"
    return moved() => ! has `def moved() -> str:`
    string.Template("/$slug/").substitute(slug=str(self.slug))
        => ! calls `string.Template('/$slug/').substitute()`
    match f"{self.kind}":
        case "note": return "/note/"
    return f"/{self.slug}/" => ! has `match f'{self.kind}':`
    kind = "note" if "".join(map(str, [self.kind])) == "note" else "post"; return f"/{kind}/{self.slug}/"
        => ! calls `''.join()`
    @moved
    return f"/posts/{self.slug}/" => ! has a decorator
    path = f"/posts/{self.slug}/"; return path if locals()["path"] != "/posts/draft/" else "/"
        => ! has `locals()['path']`
    ("/" + str(self.slug) + "/{}/").format(self.pk) => ! calls `('/' + str(self.slug) + '/{}/').format()`
    ("/" + str(self.slug) + "/%s/") % self.pk => ! formats it
    "/{:.255}/".format(str(self.title)) => ! formats otherwise it
    CLEAN + f"{self.path}" => ! reads `CLEAN`
    MOVED.get(p := getattr(self, "get_path")(), p) if self.pk else self.get_path() => ! calls `MOVED.get()`
    """


class HiddenElsewhere(Form):
    of_the_model = """
    "/hidden/" if self.public is False else reverse("entry", args=[self.slug])
        => ! compares `self.public is False`
    f"/{self.slug}/" if type(self.rank) in (str,) else "/rank/" => ! compares `type(self.rank) in (str,)`
    "/top/" if self.path is ROOT else f"/{self.path}/" => ! compares `self.path is ROOT`
    f"/{self.day.year}/" if self.day.month is not MAY else f"/may/{self.day.month}/"
        => ! compares `self.day.month is not MAY`
    f"{UPDATED}/{self.slug}/" => ! reads `UPDATED`
    "/top/" if operator.is_(self.public, False) else f"/{self.public}/" => ! calls `operator.is_()`
    "/top/" if eval("self.public is False") else f"/{self.slug}/" => ! calls `eval()`
    f"/{self.slug}/" if "draft".__ne__(self.slug) else "/draft/" => ! calls `'draft'.__ne__()`
    f"/{self.slug}/" if not callable(self.slug) else "/x/" => ! calls `callable()`
    f"/{type(self)._meta.model_name}/{self.slug}/" => ! calls `type()`
    reverse("entry", args=[self.slug]); return f"/{self.path}/{self.slug}/"
        => ! has `reverse('entry', args=[self.slug])`
    with suppress(TypeError):
        if self.slug in "draft,1st":
            return "/drafts/"
    return reverse("entry", args=[self.slug]) => ! has `with suppress(TypeError):`
    try:
        path = "/x/" if "draft".startswith(self.slug) else ""
    finally:
        return f"/{self.slug}/" => ! has `try:`
    "/hidden/" if vars(self).get("kept") else reverse("entry", args=[self.slug])
        => ! calls `vars(self).get()`
    "/a/" if self in {1, 2} else f"/{self.slug}/" => ! compares `self in {1, 2}`
    "/note/" if self.kind == "note" else f"/{self.slug}/"
        => If(Q(kind="note") then V("/note/")) else SLUG, TEXT)
    "/" if self.slug.startswith("draft") else f"/{self.slug}/" => ! calls `self.slug.startswith()`
    """
