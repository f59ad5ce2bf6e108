"""Methods that call helpers: what is followed, and what a helper, cache, setting or manager can hide."""

# ruff: noqa: F401 the tables use the imports
from __future__ import annotations

import os
from functools import cache, cached_property, lru_cache, partialmethod
from typing import Any

from django.conf import settings
from django.core.cache import cache as django_cache
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.translation import get_language, gettext

from tests.suggestions.blog.models import Label, Section
from tests.suggestions.corpus import Form, Post

PREFIX = "/fixed"
LIMIT = 10
CHANGED = "/changed"
COMPUTED = "/" + "computed"
PREFIXES = {"post": "/p"}
lower = "/lower"
_KEPT: dict[int, str] = {}


def set_changed(value: str) -> None:
    global CHANGED
    CHANGED = value


def path_of(item: Any) -> str:
    return f"/{item.slug}/"


class Helpers(Post):
    """A model with helpers, which the methods of the corpus use by the names of this class."""

    root = "/root"
    counted = "/counted"
    labels_root = ("/labels",)

    class Meta:
        proxy = True
        app_label = "blog"

    def get_slug(self) -> Any:
        return self.slug

    def get_root(self) -> Any:
        return self.root

    def get_url(self) -> Any:
        return reverse("entry", kwargs={"slug": self.slug})

    def of_helper(self) -> Any:
        return self.get_slug()

    def get_kind(self, default: str = "post") -> Any:
        return f"{self.kind}"

    def get_default(self, default: str = "post") -> Any:
        return default

    def by_keyword(self, *, name: str) -> Any:
        return self.slug

    @property
    def short(self) -> Any:
        return self.slug

    @cached_property
    def kept(self) -> Any:
        return f"/kept/{self.slug}/"

    @property
    def with_fallback(self) -> Any:
        try:
            return reverse("entry", args=[self.slug])
        except NoReverseMatch:
            return "/"

    def without_errors(self) -> Any:
        if not self.slug:
            return "/empty/"
        return f"/{self.slug}/"

    def from_cache(self) -> Any:
        return django_cache.get_or_set(f"slug-{self.pk}", self.slug)

    @lru_cache(maxsize=10)  # noqa: B019
    def remembered(self) -> Any:
        return self.slug

    @cache  # noqa: B019
    def always_remembered(self) -> Any:
        return self.slug

    def from_setting(self) -> Any:
        return settings.MEDIA_URL

    def from_manager(self) -> Any:
        return Section.objects.filter(pk=self.section_id).values_list("slug", flat=True).first()

    def from_environment(self) -> Any:
        return os.environ.get("ROOT_PATH", "")

    def in_language(self) -> Any:
        return gettext("posts")

    @staticmethod
    def static() -> Any:
        return "/static/"

    @classmethod
    def of_class(cls) -> Any:
        return cls.root

    def count(self) -> None:
        type(self).counted = f"/{self.pk}"

    async def asynchronous(self) -> Any:
        return self.slug

    def generated(self) -> Any:
        yield self.slug

    half = partialmethod(get_kind, default="half")
    anonymous = lambda self: self.slug  # noqa: E731


class Followed(Form):
    """Helpers that are followed."""

    of_the_model = """
    f"/{self.get_slug()}/" => PathTemplate("/{slug}/", slug=F("slug"))
    self.get_url() => Route("entry", slug=F("slug"))
    f"/{self.get_kind()}/{self.slug}/" => PathTemplate("/{kind}/{slug}/", kind=F("kind"), slug=F("slug"))
    f"/{self.short}/" => PathTemplate("/{slug}/", slug=F("slug"))
    self.kept => PathTemplate("/kept/{slug}/", slug=F("slug"))
    f"{PREFIX}/{LIMIT}/{self.slug}/" => PathTemplate("/fixed/10/{slug}/", slug=F("slug"))
    slug = self.get_slug()
    return "/%s/%s/" % (slug, self.kind)
        => PathTemplate("/{slug}/{kind}/", slug=F("slug"), kind=F("kind"))
    """


class HiddenInHelpers(Form):
    """Helpers that hide a condition."""

    of_the_model = """
    f"/{self.of_helper()}/" => Refused: is a helper, and calls another one: `self.get_slug()`
    self.with_fallback => Refused: has `try:`
    self.without_errors() => Refused: has `if not self.slug:`
    f"/{self.from_cache()}/" => Refused: calls `django_cache.get_or_set()`
    _KEPT.get(self.pk, f"/{self.slug}/") => Refused: calls `_KEPT.get()`
    f"{PREFIXES[self.kind]}/{self.slug}/" => Refused: has `PREFIXES[self.kind]`
    f"/{self.remembered()}/" => Refused: calls `self.remembered()`
    f"/{self.always_remembered()}/" => Refused: calls `self.always_remembered()`
    f"{settings.MEDIA_URL}{self.slug}/" => Refused: reads `settings`
    f"{self.from_setting()}{self.slug}/" => Refused: reads `settings`
    f"/{self.slug}/" if settings.DEBUG else f"/{self.pk}/" => Refused: reads `settings`
    f"/{self.from_manager()}/"
        => Refused: calls `Section.objects.filter(pk=self.section_id).values_list('slug',
        flat=True).first()`
    f"/{self.slug}/" if Label.objects.exists() else f"/{self.pk}/"
        => Refused: calls `Label.objects.exists()`
    f"/{self.labels}/" => Refused: reads what is not a plain field or a property of `self`: `self.labels`
    f"/{self.labels.count()}/{self.slug}/" => Refused: calls `self.labels.count()`
    f"/{self.from_environment()}{self.slug}/" => Refused: calls `os.environ.get()`
    f"/{get_language()}/{self.slug}/" => Refused: calls `get_language()`
    f"/{self.in_language()}/{self.slug}/" => Refused: calls `gettext()`
    f"/{timezone.now().year}/{self.slug}/" => Refused: calls `timezone.now()`
    f"/{self.get_default()}/{self.slug}/" => Refused: reads `default`
    f"/{self.get_kind('x')}/{self.slug}/" => Refused: calls `self.get_kind()`
    f"/{self.by_keyword(name='x')}/" => Refused: calls `self.by_keyword()`
    f"/{self.by_keyword()}/" => Refused: takes other arguments
    f"{self.static()}{self.slug}/" => Refused: calls `self.static()`
    f"{self.of_class()}/{self.slug}/" => Refused: calls `self.of_class()`
    f"/{self.half()}/" => Refused: calls `self.half()`
    f"/{self.anonymous()}/" => Refused: Helpers.<lambda>, line 130: is a lambda
    f"/{self.asynchronous()}/" => Refused: is asynchronous
    f"/{self.generated()}/" => Refused: has `yield self.slug`
    path_of(self) => Refused: calls `path_of()`
    "/" + self.author.serializable_value("name") => Refused: calls `self.author.serializable_value()`
    f"{CHANGED}/{self.slug}/" => Refused: reads `CHANGED`
    f"{COMPUTED}/{self.slug}/" => Refused: reads `COMPUTED`
    f"{lower}/{self.slug}/" => Refused: reads `lower`
    f"{self.counted}/{self.slug}/"
        => Refused: reads what is not a plain field or a property of `self`: `self.counted`
    f"{self.labels_root[0]}/{self.slug}/" => Refused: has `self.labels_root[0]`
    reverse = self.get_slug
    return f"/{reverse()}/"
        => Refused: reads what is not a plain field or a property of `self`: `self.get_slug`
    str = self.slug
    return f"/{str}/" + str(self.number)
        => Refused: calls `str()`
    url = reverse("number", args=[self.pk])
    return f"/{self.slug}/"
        => Refused: has `url = reverse('number', args=[self.pk])`
    "/%(slug)s/" % {"slug": self.slug, "url": reverse("entry", args=[self.slug])}
        => Refused: needs the text or the number of `reverse('entry', args=[self.slug])`
    path = self.slug
    path = f"/{path}/"
    return path
        => Refused: has `path = f'/{path}/'`
    first = second = self.slug
    return f"/{first}/{second}/"
        => Refused: has `first = second = self.slug`
    f"/{self.__slug}/" => Refused: reads what is not a plain field or a property of `self`: `self.__slug`
    f"/{self._state.adding}/{self.slug}/"
        => Refused: reads what is not a plain field or a property of `self`: `self._state`
    f"/{self.__class__.__name__}/{self.slug}/"
        => Refused: reads what is not a plain field or a property of `self`: `self.__class__`
    "/draft/" if self.get_slug() == "draft" else f"/{self.slug}/"
        => Case(When(Q(slug="draft"), then=Value("/draft/")), default=Concat(Value("/"), F("slug"),
        Value("/"), output_field=CharField()), output_field=CharField())
    reverse("entry", "tests.urls", [self.slug])
        => Refused: needs a constant name, and plain arguments, for `reverse('entry', 'tests.urls',
        [self.slug])`
    reverse("entry", args=[self.slug], current_app="blog")
        => Refused: needs a constant name, and plain arguments, for `reverse('entry', args=[self.slug],
        current_app='blog')`
    reverse("entry", args=(*[self.slug],)) => Refused: has `*[self.slug]`
    "/" + str(self.code) + "/" => Refused: writes what can be NULL in `str(self.code)`
    f"/{self.number + 1}/" => Refused: has `self.number + 1`
    "/" + self.number => Refused: has `'/' + self.number`
    "/" * 2 + self.slug => Refused: has `'/' * 2`
    f"/{self.slug:>10}/" => Refused: has `f'/{self.slug:>10}/'`
    "/{:{}}/".format(self.slug, self.number)
        => Refused: formats otherwise than by plain fields: `'/{:{}}/'.format(self.slug, self.number)`
    f"/{self.slug=}/" => Refused: has `f'/self.slug={self.slug!r}/'`
    "/%#s/" % self.slug => Refused: formats otherwise than by plain fields: `'/%#s/' % self.slug`
    "/%s/" % {"slug": self.slug}
        => Refused: formats otherwise than by plain fields: `'/%s/' % {'slug': self.slug}`
    "/%s/" % [self.slug] => Refused: has `'/%s/' % [self.slug]`
    "/%s/" % (self.slug, self.pk)
        => Refused: formats otherwise than by plain fields: `'/%s/' % (self.slug, self.pk)`
    "/{}/{1}/".format(self.slug, self.pk)
        => Refused: formats otherwise than by plain fields: `'/{}/{1}/'.format(self.slug, self.pk)`
    """


class HiddenInSitemaps(Form):
    """Methods of sitemaps that hide a condition."""

    hook = "changefreq"
    of_the_sitemap = """
    django_cache.get("freq", "daily") => Refused: calls `django_cache.get()`
    settings.LANGUAGE_CODE => Refused: reads `settings`
    self.freq => Refused: reads what is not a plain field or a property of `self`: `self.freq`
    self.protocol => Refused: reads what is not a plain field or a property of `self`: `self.protocol`
    {"post": "daily"}[item.kind] => Refused: has `{'post': 'daily'}[item.kind]`
    "daily" if item.labels.exists() else "weekly" => Refused: calls `item.labels.exists()`
    """
