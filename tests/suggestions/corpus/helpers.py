"""Methods that call helpers: what is followed, and what a helper, cache, setting or manager can hide."""

# ruff: noqa: UP031, B019, RET504, F504, F507, F525
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

    @lru_cache(maxsize=10)
    def remembered(self) -> Any:
        return self.slug

    @cache
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

    def method(self: Any) -> Any:
        """PathTemplate("/{slug}/", slug=F("slug"))"""
        return f"/{self.get_slug()}/"

    def url(self: Any) -> Any:
        """Route("entry", slug=F("slug"))"""
        return self.get_url()

    def unused_default(self: Any) -> Any:
        """PathTemplate("/{kind}/{slug}/", kind=F("kind"), slug=F("slug"))"""
        return f"/{self.get_kind()}/{self.slug}/"

    def of_property(self: Any) -> Any:
        """PathTemplate("/{slug}/", slug=F("slug"))"""
        return f"/{self.short}/"

    def of_cached_property(self: Any) -> Any:
        """PathTemplate("/kept/{slug}/", slug=F("slug"))"""
        return self.kept

    def constant_of_the_module(self: Any) -> Any:
        """PathTemplate("/fixed/10/{slug}/", slug=F("slug"))"""
        return f"{PREFIX}/{LIMIT}/{self.slug}/"

    def method_and_field(self: Any) -> Any:
        """PathTemplate("/{slug}/{kind}/", slug=F("slug"), kind=F("kind"))"""
        slug = self.get_slug()
        return "/%s/%s/" % (slug, self.kind)


class HiddenInHelpers(Form):
    """Helpers that hide a condition."""

    def helper_of_a_helper(self: Any) -> Any:
        """Refused: is a helper, and calls another one: `self.get_slug()`"""
        return f"/{self.of_helper()}/"

    def fallback(self: Any) -> Any:
        """Refused: has `try:`"""
        return self.with_fallback

    def condition(self: Any) -> Any:
        """Refused: has `if not self.slug:`"""
        return self.without_errors()

    def django_cache(self: Any) -> Any:
        """Refused: calls `django_cache.get_or_set()`"""
        return f"/{self.from_cache()}/"

    def own_cache(self: Any) -> Any:
        """Refused: calls `_KEPT.get()`"""
        return _KEPT.get(self.pk, f"/{self.slug}/")

    def item_of_a_cache(self: Any) -> Any:
        """Refused: has `PREFIXES[self.kind]`"""
        return f"{PREFIXES[self.kind]}/{self.slug}/"

    def remembered_result(self: Any) -> Any:
        """Refused: calls `self.remembered()`"""
        return f"/{self.remembered()}/"

    def always_remembered_result(self: Any) -> Any:
        """Refused: calls `self.always_remembered()`"""
        return f"/{self.always_remembered()}/"

    def setting(self: Any) -> Any:
        """Refused: reads `settings`"""
        return f"{settings.MEDIA_URL}{self.slug}/"

    def setting_in_a_helper(self: Any) -> Any:
        """Refused: reads `settings`"""
        return f"{self.from_setting()}{self.slug}/"

    def setting_in_a_condition(self: Any) -> Any:
        """Refused: reads `settings`"""
        return f"/{self.slug}/" if settings.DEBUG else f"/{self.pk}/"

    def manager(self: Any) -> Any:
        """
        Refused: calls `Section.objects.filter(pk=self.section_id).values_list('slug', flat=True).first()`
        """
        return f"/{self.from_manager()}/"

    def manager_in_a_condition(self: Any) -> Any:
        """Refused: calls `Label.objects.exists()`"""
        return f"/{self.slug}/" if Label.objects.exists() else f"/{self.pk}/"

    def related_manager(self: Any) -> Any:
        """Refused: reads what is not a plain field or a property of `self`: `self.labels`"""
        return f"/{self.labels}/"

    def count_of_a_related_manager(self: Any) -> Any:
        """Refused: calls `self.labels.count()`"""
        return f"/{self.labels.count()}/{self.slug}/"

    def environment(self: Any) -> Any:
        """Refused: calls `os.environ.get()`"""
        return f"/{self.from_environment()}{self.slug}/"

    def language(self: Any) -> Any:
        """Refused: calls `get_language()`"""
        return f"/{get_language()}/{self.slug}/"

    def translation(self: Any) -> Any:
        """Refused: calls `gettext()`"""
        return f"/{self.in_language()}/{self.slug}/"

    def clock(self: Any) -> Any:
        """Refused: calls `timezone.now()`"""
        return f"/{timezone.now().year}/{self.slug}/"

    def used_default(self: Any) -> Any:
        """Refused: reads `default`"""
        return f"/{self.get_default()}/{self.slug}/"

    def argument_of_a_helper(self: Any) -> Any:
        """Refused: calls `self.get_kind()`"""
        return f"/{self.get_kind('x')}/{self.slug}/"

    def keyword_of_a_helper(self: Any) -> Any:
        """Refused: calls `self.by_keyword()`"""
        return f"/{self.by_keyword(name='x')}/"

    def missing_keyword(self: Any) -> Any:
        """Refused: takes other arguments"""
        return f"/{self.by_keyword()}/"

    def static_method(self: Any) -> Any:
        """Refused: calls `self.static()`"""
        return f"{self.static()}{self.slug}/"

    def class_method(self: Any) -> Any:
        """Refused: calls `self.of_class()`"""
        return f"{self.of_class()}/{self.slug}/"

    def partial_method(self: Any) -> Any:
        """Refused: calls `self.half()`"""
        return f"/{self.half()}/"

    def lambda_of_the_class(self: Any) -> Any:
        """Refused: Helpers.<lambda>, line 130: is a lambda"""
        return f"/{self.anonymous()}/"

    def coroutine(self: Any) -> Any:
        """Refused: is asynchronous"""
        return f"/{self.asynchronous()}/"

    def generator(self: Any) -> Any:
        """Refused: has `yield self.slug`"""
        return f"/{self.generated()}/"

    def function(self: Any) -> Any:
        """Refused: calls `path_of()`"""
        return path_of(self)

    def method_of_a_related_object(self: Any) -> Any:
        """Refused: calls `self.author.serializable_value()`"""
        return "/" + self.author.serializable_value("name")

    def changed_global(self: Any) -> Any:
        """Refused: reads `CHANGED`"""
        return f"{CHANGED}/{self.slug}/"

    def computed_global(self: Any) -> Any:
        """Refused: reads `COMPUTED`"""
        return f"{COMPUTED}/{self.slug}/"

    def variable_of_the_module(self: Any) -> Any:
        """Refused: reads `lower`"""
        return f"{lower}/{self.slug}/"

    def attribute_that_a_method_changes(self: Any) -> Any:
        """Refused: reads what is not a plain field or a property of `self`: `self.counted`"""
        return f"{self.counted}/{self.slug}/"

    def tuple_of_the_class(self: Any) -> Any:
        """Refused: has `self.labels_root[0]`"""
        return f"{self.labels_root[0]}/{self.slug}/"

    def shadowed_name(self: Any) -> Any:
        """Refused: reads what is not a plain field or a property of `self`: `self.get_slug`"""
        reverse = self.get_slug
        return f"/{reverse()}/"

    def shadowed_builtin(self: Any) -> Any:
        """Refused: calls `str()`"""
        str = self.slug
        return f"/{str}/" + str(self.number)  # type: ignore[operator]

    def name_that_is_not_used(self: Any) -> Any:
        """Refused: has `url = reverse('number', args=[self.pk])`"""
        url = reverse("number", args=[self.pk])  # noqa: F841
        return f"/{self.slug}/"

    def reverse_in_a_dict(self: Any) -> Any:
        """Refused: needs the text or the number of `reverse('entry', args=[self.slug])`"""
        return "/%(slug)s/" % {"slug": self.slug, "url": reverse("entry", args=[self.slug])}

    def changed_name(self: Any) -> Any:
        """Refused: has `path = f'/{path}/'`"""
        path = self.slug
        path = f"/{path}/"
        return path

    def several_names(self: Any) -> Any:
        """Refused: has `first = second = self.slug`"""
        first = second = self.slug
        return f"/{first}/{second}/"

    def private_name(self: Any) -> Any:
        """Refused: reads what is not a plain field or a property of `self`: `self.__slug`"""
        return f"/{self.__slug}/"

    def state(self: Any) -> Any:
        """Refused: reads what is not a plain field or a property of `self`: `self._state`"""
        return f"/{self._state.adding}/{self.slug}/"

    def constructor(self: Any) -> Any:
        """Refused: reads what is not a plain field or a property of `self`: `self.__class__`"""
        return f"/{self.__class__.__name__}/{self.slug}/"

    def comparison_of_a_helper(self: Any) -> Any:
        """
        Case(When(Q(slug="draft"), then=Value("/draft/")), default=Concat(Value("/"), F("slug"),
        Value("/"), output_field=CharField()), output_field=CharField())
        """
        return "/draft/" if self.get_slug() == "draft" else f"/{self.slug}/"

    def other_urlconf(self: Any) -> Any:
        """
        Refused: needs a constant name, and plain arguments, for `reverse('entry', 'tests.urls',
        [self.slug])`
        """
        return reverse("entry", "tests.urls", [self.slug])

    def current_app(self: Any) -> Any:
        """
        Refused: needs a constant name, and plain arguments, for `reverse('entry', args=[self.slug],
        current_app='blog')`
        """
        return reverse("entry", args=[self.slug], current_app="blog")

    def arguments_of_a_tuple(self: Any) -> Any:
        """Refused: has `*[self.slug]`"""
        return reverse("entry", args=(*[self.slug],))

    def text_of_null(self: Any) -> Any:
        """Refused: writes what can be NULL in `str(self.code)`"""
        return "/" + str(self.code) + "/"

    def sum_of_numbers(self: Any) -> Any:
        """Refused: has `self.number + 1`"""
        return f"/{self.number + 1}/"

    def number_after_text(self: Any) -> Any:
        """Refused: has `'/' + self.number`"""
        return "/" + self.number

    def repeated(self: Any) -> Any:
        """Refused: has `'/' * 2`"""
        return "/" * 2 + self.slug

    def width_of_a_format(self: Any) -> Any:
        """Refused: has `f'/{self.slug:>10}/'`"""
        return f"/{self.slug:>10}/"

    def nested_width(self: Any) -> Any:
        """Refused: formats otherwise than by plain fields: `'/{:{}}/'.format(self.slug, self.number)`"""
        return "/{:{}}/".format(self.slug, self.number)

    def debug_format(self: Any) -> Any:
        """Refused: has `f'/self.slug={self.slug!r}/'`"""
        return f"/{self.slug=}/"

    def hash_of_a_format(self: Any) -> Any:
        """Refused: formats otherwise than by plain fields: `'/%#s/' % self.slug`"""
        return "/%#s/" % self.slug

    def format_of_a_dict(self: Any) -> Any:
        """Refused: formats otherwise than by plain fields: `'/%s/' % {'slug': self.slug}`"""
        return "/%s/" % {"slug": self.slug}

    def format_of_a_list(self: Any) -> Any:
        """Refused: has `'/%s/' % [self.slug]`"""
        return "/%s/" % [self.slug]

    def format_of_too_many(self: Any) -> Any:
        """Refused: formats otherwise than by plain fields: `'/%s/' % (self.slug, self.pk)`"""
        return "/%s/" % (self.slug, self.pk)

    def mixed_format(self: Any) -> Any:
        """Refused: formats otherwise than by plain fields: `'/{}/{1}/'.format(self.slug, self.pk)`"""
        return "/{}/{1}/".format(self.slug, self.pk)


class HiddenInSitemaps(Form):
    """Methods of sitemaps that hide a condition."""

    hook = "changefreq"

    def _helper(self, item: Any) -> Any:
        return item.freq

    def cache(self: Any, item: Any) -> Any:
        """Refused: calls `django_cache.get()`"""
        return django_cache.get("freq", "daily")

    def setting(self: Any, item: Any) -> Any:
        """Refused: reads `settings`"""
        return settings.LANGUAGE_CODE

    def instance(self: Any, item: Any) -> Any:
        """Refused: reads what is not a plain field or a property of `self`: `self.freq`"""
        return self.freq

    def class_attribute(self: Any, item: Any) -> Any:
        """Refused: reads what is not a plain field or a property of `self`: `self.protocol`"""
        return self.protocol

    def subscript(self: Any, item: Any) -> Any:
        """Refused: has `{'post': 'daily'}[item.kind]`"""
        return {"post": "daily"}[item.kind]

    def by_manager(self: Any, item: Any) -> Any:
        """Refused: calls `item.labels.exists()`"""
        return "daily" if item.labels.exists() else "weekly"
