"""Methods `get_absolute_url()` and `location()` that return a field, a URL by `reverse()`, or a path."""

# ruff: noqa: UP030, UP031, UP032, C408
from __future__ import annotations

from typing import Any

from django.shortcuts import resolve_url
from django.urls import reverse, reverse_lazy
from django.utils.encoding import iri_to_uri
from django.utils.html import format_html
from django.utils.safestring import mark_safe
from django.utils.text import slugify

from tests.suggestions.corpus import Form, kept

PATTERN = "/posts/%s/"
TEMPLATE = "/posts/{slug}/"


class Chains(Form):
    def field(self: Any) -> Any:
        """Can be empty: F("path")"""
        return self.path

    def text_of_field(self: Any) -> Any:
        """Can be empty: F("path")"""
        return str(self.path)

    def only_a_field_in_a_format(self: Any) -> Any:
        """Can be empty: F("path")"""
        return f"{self.path}"

    def nullable_field(self: Any) -> Any:
        """Can be empty: F("code")"""
        return self.code

    def related(self: Any) -> Any:
        """Can be empty: F("author__name")"""
        return self.author.name

    def nullable_relation_or_none(self: Any) -> Any:
        """Can be empty: Case(When(Q(section__isnull=True), then=Value(None)), default=F("section__slug"),
        output_field=CharField())"""
        return self.section.slug if self.section else None

    def two_relations(self: Any) -> Any:
        """Can be empty: F("author__team__slug")"""
        team = self.author.team
        return team.slug

    def fallback(self: Any) -> Any:
        """Can be empty:
        Case(When(Q(code__isnull=True), then=F("path")), default=F("code"), output_field=CharField())"""
        return self.code if self.code is not None else self.path

    def text_fallback(self: Any) -> Any:
        """Can be empty: Case(When(Q(code__isnull=True), then=Value("/none/")), default=F("code"),
        output_field=CharField())"""
        return "/none/" if self.code is None else self.code


class Reverse(Form):
    def by_slug(self: Any) -> Any:
        """Route("entry", slug=F("slug"))"""
        return reverse("entry", kwargs={"slug": self.slug})

    def by_key(self: Any) -> Any:
        """Route("number", F("pk"))"""
        return reverse("number", args=[self.pk])

    def by_text_of_key(self: Any) -> Any:
        """Route("number", F("id"))"""
        return reverse("number", args=[str(self.id)])

    def by_percent_format_of_key(self: Any) -> Any:
        """Route("number", F("id"))"""
        return reverse("number", args=("%s" % self.id,))

    def by_f_string_of_key(self: Any) -> Any:
        """Refused: calls `dict()`"""
        return reverse("number", kwargs=dict(pk=self.id))

    def by_argument_in_an_f_string(self: Any) -> Any:
        """Route("entry", F("slug"))"""
        return reverse("entry", args=[f"{self.slug}"])

    def by_variable(self: Any) -> Any:
        """Route("entry", slug=F("slug"))"""
        kwargs = {"slug": str(self.slug)}
        return reverse("entry", kwargs=kwargs)

    def by_position(self: Any) -> Any:
        """Route("entry", slug=F("slug"))"""
        return reverse("entry", None, (), {"slug": self.slug})

    def lazy(self: Any) -> Any:
        """Route("entry", slug=F("slug"))"""
        return reverse_lazy("entry", kwargs={"slug": self.slug})

    def namespaced(self: Any) -> Any:
        """Route("blog:entry", slug=F("slug"))"""
        return reverse("blog:entry", kwargs={"slug": self.slug})

    def constant(self: Any) -> Any:
        """Route("kind-entry", "news", F("slug"))"""
        return reverse("kind-entry", args=["news", self.slug])

    def related(self: Any) -> Any:
        """Route("author-entry", F("author__name"), F("pk"))"""
        return reverse("author-entry", args=[self.author.name, self.pk])

    def two_relations(self: Any) -> Any:
        """Route("team-entry", team=F("author__team__slug"), pk=F("pk"))"""
        return reverse("team-entry", kwargs={"team": self.author.team.slug, "pk": self.pk})

    def key_of_relation(self: Any) -> Any:
        """Route("number", F("author_id"))"""
        return reverse("number", args=[self.author_id])

    def by_uuid(self: Any) -> Any:
        """Route("uid", uid=F("uid"))"""
        return reverse("uid", kwargs={"uid": self.uid})

    def by_date(self: Any) -> Any:
        """Route("day", day=F("day"), slug=F("slug"))"""
        return reverse("day", kwargs={"day": self.day, "slug": self.slug})

    def by_parts_of_a_date(self: Any) -> Any:
        """Route("archive", ExtractYear("day"), ExtractMonth("day"), ExtractDay("day"), F("slug"))"""
        return reverse("archive", args=[self.day.year, self.day.month, self.day.day, self.slug])

    def by_parts_of_a_time(self: Any) -> Any:
        """Refused: has `{**parts, 'slug': self.slug}`"""
        time = self.created
        parts = {"year": time.year, "month": time.month, "day": time.day}
        return reverse("archive", kwargs={**parts, "slug": self.slug})

    def by_text_of_parts(self: Any) -> Any:
        """Route("archive", ExtractYear("day"), "1", ExtractDay("day"), F("slug"))"""
        return reverse("archive", args=[str(self.day.year), "1", str(self.day.day), self.slug])

    def key_and_slug(self: Any) -> Any:
        """
        Route("entry", Concat(Cast(F("pk"), CharField()), Value("-"), F("slug"),
        output_field=CharField()))
        """
        return reverse("entry", args=[f"{self.pk}-{self.slug}"])


class Formats(Form):
    def f_string(self: Any) -> Any:
        """PathTemplate("/posts/{slug}/", slug=F("slug"))"""
        return f"/posts/{self.slug}/"

    def two_fields(self: Any) -> Any:
        """PathTemplate("/{pk}-{slug}.html", pk=F("pk"), slug=F("slug"))"""
        return f"/{self.pk}-{self.slug}.html"

    def same_field_twice(self: Any) -> Any:
        """PathTemplate("/{slug}/{slug}/", slug=F("slug"))"""
        return f"/{self.slug}/{self.slug}/"

    def names_of_relations(self: Any) -> Any:
        """
        PathTemplate("/{author__name}/{author__pk}/{author__team__slug}/", author__name=F("author__name"),
        author__pk=F("author__pk"), author__team__slug=F("author__team__slug"))
        """
        return f"/{self.author.name}/{self.author.pk}/{self.author.team.slug}/"

    def percent(self: Any) -> Any:
        """PathTemplate("/posts/{slug}/", slug=F("slug"))"""
        return "/posts/%s/" % self.slug

    def percent_of_a_tuple(self: Any) -> Any:
        """PathTemplate("/posts/{pk}/{slug}/", pk=F("pk"), slug=F("slug"))"""
        return "/posts/%s/%s/" % (self.pk, self.slug)

    def percent_of_a_dict(self: Any) -> Any:
        """PathTemplate("/posts/{slug}/", slug=F("slug"))"""
        return "/posts/%(slug)s/" % {"slug": self.slug}

    def percent_sign(self: Any) -> Any:
        """PathTemplate("/100%/{slug}/", slug=F("slug"))"""
        return "/100%%/%s/" % self.slug

    def percent_of_a_module_constant(self: Any) -> Any:
        """PathTemplate("/posts/{slug}/", slug=F("slug"))"""
        return PATTERN % self.slug

    def format_method(self: Any) -> Any:
        """PathTemplate("/posts/{slug}/", slug=F("slug"))"""
        return "/posts/{}/".format(self.slug)

    def format_by_position(self: Any) -> Any:
        """PathTemplate("/posts/{pk}/{slug}/", pk=F("pk"), slug=F("slug"))"""
        return "/posts/{1}/{0}/".format(self.slug, self.pk)

    def format_by_name(self: Any) -> Any:
        """PathTemplate("/posts/{slug}/", slug=F("slug"))"""
        return TEMPLATE.format(slug=self.slug)

    def text_conversion(self: Any) -> Any:
        """PathTemplate("/posts/{slug}/", slug=F("slug"))"""
        return f"/posts/{self.slug!s}/"

    def braces(self: Any) -> Any:
        """PathTemplate("/posts/{{{slug}}}/", slug=F("slug"))"""
        return f"/posts/{{{self.slug}}}/"

    def concatenated(self: Any) -> Any:
        """PathTemplate("/posts/{slug}/", slug=F("slug"))"""
        return "/posts/" + self.slug + "/"

    def concatenated_text(self: Any) -> Any:
        """PathTemplate("/posts/{pk}/", pk=F("pk"))"""
        return "/posts/" + str(self.pk) + "/"

    def method(self: Any) -> Any:
        """PathTemplate("/posts/{slug}/", slug=F("slug"))"""
        return self.get_path()

    def property_in_a_format(self: Any) -> Any:
        """PathTemplate("/{kind}/{slug}/", kind=F("kind"), slug=F("slug"))"""
        return f"{self.path_of_kind}{self.slug}/"

    def absolute(self: Any) -> Any:
        """PathTemplate("https://www.example.com/{slug}/", slug=F("slug"))"""
        return f"https://www.example.com/{self.slug}/"

    def year(self: Any) -> Any:
        """PathTemplate("/{value_0}/{slug}/", value_0=ExtractYear("day"), slug=F("slug"))"""
        return f"/{self.day.year}/{self.slug}/"

    def parts_of_a_time(self: Any) -> Any:
        """
        PathTemplate("/{value_0}/{value_1}/", value_0=ExtractYear("created", tzinfo=ZoneInfo("UTC")),
        value_1=ExtractMonth("created", tzinfo=ZoneInfo("UTC")))
        """
        return f"/{self.created.year}/{self.created.month}/"

    def lines(self: Any) -> Any:
        """PathTemplate("/posts/{slug}/", slug=F("slug"))"""
        return "/posts/{slug}/".format(
            slug=self.slug,
        )

    def field_first(self: Any) -> Any:
        """Can be empty: Concat(F("path"), Value("print/"), output_field=CharField())"""
        return f"{self.path}print/"


class Computed(Form):
    def fallback_for_empty(self: Any) -> Any:
        """Can be empty:
        Case(When(Q(path=""), then=Value("/none/")), default=F("path"), output_field=CharField())"""
        return self.path or "/none/"

    def stripped(self: Any) -> Any:
        """Refused: calls `self.path.strip()`"""
        return self.path.strip()

    def formatted_date(self: Any) -> Any:
        """Refused: has `f'{self.day:%Y}'`"""
        return reverse("kind-entry", args=[f"{self.day:%Y}", self.slug])

    def month_name(self: Any) -> Any:
        """Refused: calls `self.day.strftime('%b').lower()`"""
        return reverse("kind-entry", args=[self.day.strftime("%b").lower(), self.slug])

    def two_digits(self: Any) -> Any:
        """Refused: formats otherwise than by plain fields: `'%02d' % self.day.month`"""
        return reverse("archive", args=[self.day.year, "%02d" % self.day.month, 1, self.slug])

    def anchor(self: Any) -> Any:
        """Refused: needs the text or the number of `reverse('entry', args=[self.slug])`"""
        return reverse("entry", args=[self.slug]) + "#comments"

    def query(self: Any) -> Any:
        """Refused: needs the text or the number of `reverse('entry', args=[self.slug])`"""
        return f"{reverse('entry', args=[self.slug])}?page=1"

    def slugified(self: Any) -> Any:
        """Refused: calls `slugify()`"""
        return reverse("entry", args=[slugify(self.title)])

    def whole_object(self: Any) -> Any:
        """Refused: needs the text or the number of `self.author`"""
        return reverse("author-entry", args=[self.author, self.pk])

    def view_of_field(self: Any) -> Any:
        """
        Refused: needs a constant name, and plain arguments, for `reverse(f'{self.kind}-detail',
        args=[self.slug])`
        """
        return reverse(f"{self.kind}-detail", args=[self.slug])

    def two_digits_in_a_format(self: Any) -> Any:
        """
        Refused: formats otherwise than by plain fields: `'/%s/%02d/%s/' % (self.day.year, self.day.month,
        self.slug)`
        """
        return "/%s/%02d/%s/" % (self.day.year, self.day.month, self.slug)

    def digits(self: Any) -> Any:
        """PathTemplate("/{number}/", number=F("number"))"""
        return "/%d/" % self.number

    def two_digits_in_an_f_string(self: Any) -> Any:
        """Refused: has `f'/{self.day.year}/{self.day.month:02d}/'`"""
        return f"/{self.day.year}/{self.day.month:02d}/"

    def date_in_an_f_string(self: Any) -> Any:
        """Refused: has `f'/{self.day:%Y/%m}/{self.slug}/'`"""
        return f"/{self.day:%Y/%m}/{self.slug}/"

    def representation(self: Any) -> Any:
        """Refused: has `f'/{self.slug!r}/'`"""
        return f"/{self.slug!r}/"

    def padded(self: Any) -> Any:
        """Refused: formats otherwise than by plain fields: `'/%20s/' % self.slug`"""
        return "/%20s/" % self.slug

    def cut(self: Any) -> Any:
        """Refused: formats otherwise than by plain fields: `'/%.5s/' % self.slug`"""
        return "/%.5s/" % self.slug

    def null_branch(self: Any) -> Any:
        """Refused: has `if self.section:`"""
        if self.section:
            return f"/{self.section.slug}/{self.slug}/"
        return f"/{self.slug}/"

    def null_branch_in_a_format(self: Any) -> Any:
        """
        PathTemplate("/{value_0}/{slug}/", value_0=Case(When(Q(section__isnull=True), then=Value("none")),
        default=F("section__slug"), output_field=CharField()), slug=F("slug"))
        """
        return f"/{self.section.slug if self.section else 'none'}/{self.slug}/"

    def or_in_a_format(self: Any) -> Any:
        """
        PathTemplate("/{value_0}/", value_0=Case(When(Q(path=""), then=F("slug")), default=F("path"),
        output_field=CharField()))
        """
        return f"/{self.path or self.slug}/"

    def quoted(self: Any) -> Any:
        """Refused: calls `iri_to_uri()`"""
        return iri_to_uri(f"/posts/{self.slug}/")

    def marked(self: Any) -> Any:
        """Refused: calls `mark_safe()`"""
        return mark_safe(f"/posts/{self.slug}/")  # noqa: S308 as projects do

    def html(self: Any) -> Any:
        """Refused: calls `format_html()`"""
        return format_html("/posts/{}/", self.slug)

    def text_of_relation(self: Any) -> Any:
        """Refused: needs the text or the number of `self.author`"""
        return f"/{self.author}/"


class NotLiteral(Form):
    """Methods that columns could express, but that are not read, because they need more than is written."""

    def nullable_relation_chains(self: Any) -> Any:
        """Refused: reads an attribute of what can be NULL: `self.section.slug`"""
        return self.section.slug

    def by_item_of_a_dict(self: Any) -> Any:
        """Refused: has `kwargs['slug'] = self.slug`"""
        kwargs = {}
        kwargs["slug"] = self.slug
        return reverse("entry", kwargs=kwargs)

    def resolved(self: Any) -> Any:
        """Refused: calls `resolve_url()`"""
        return resolve_url("entry", self.slug)

    def text_of_url(self: Any) -> Any:
        """Refused: needs the text or the number of `reverse_lazy('entry', args=[self.slug])`"""
        return str(reverse_lazy("entry", args=[self.slug]))

    def nullable_relation_reverse(self: Any) -> Any:
        """Refused: reads an attribute of what can be NULL: `self.section.slug`"""
        return reverse("section-entry", args=[self.section.slug, self.slug])

    def nullable_argument(self: Any) -> Any:
        """Refused: passes what can be NULL to `reverse('rank', args=[self.rank])`"""
        return reverse("rank", args=[self.rank])

    def nullable_number(self: Any) -> Any:
        """Refused: passes what can be NULL to `reverse('number', kwargs={'pk': self.rank})`"""
        return reverse("number", kwargs={"pk": self.rank})

    def guarded(self: Any) -> Any:
        """Refused: has `if not self.pk:`"""
        if not self.pk:
            return None
        return reverse("entry", kwargs={"slug": self.slug})

    def guarded_by_none(self: Any) -> Any:
        """Refused: has `if self.pk is None:`"""
        if self.pk is None:
            return ""
        return reverse("entry", kwargs={"slug": self.slug})

    def relation(self: Any) -> Any:
        """Refused: reads an attribute of what can be NULL: `self.section.slug`"""
        return f"/{self.section.slug}/{self.slug}/"

    def relation_or_none(self: Any) -> Any:
        """Refused: has `if self.section is None:`"""
        if self.section is None:
            return None
        return f"/{self.section.slug}/{self.slug}/"

    def relation_guarded_by_its_key(self: Any) -> Any:
        """Refused: has `if self.section_id is None:`"""
        if self.section_id is None:
            return None
        return f"/{self.section.slug}/{self.slug}/"

    def format_of_the_item(self: Any) -> Any:
        """Refused: needs the text or the number of `self`"""
        return "/posts/{item.slug}/".format(item=self)

    def joined(self: Any) -> Any:
        """Refused: calls `'/'.join()`"""
        return "/".join(["", str(self.author.name), str(self.slug)])

    def appended(self: Any) -> Any:
        """Refused: has `path += '/print/'`"""
        path = "/posts/%s" % self.slug
        path += "/print/"
        return path

    def appended_field(self: Any) -> Any:
        """Refused: has `path += self.slug`"""
        path = "/posts/"
        path += self.slug
        path += "/"
        return path

    def names_of_variables(self: Any) -> Any:
        """Refused: has `slug = self.slug`"""
        slug = self.slug
        return "/posts/%(slug)s/" % locals()

    @kept
    def decorated(self: Any) -> Any:
        """Refused: has a decorator"""
        return f"/posts/{self.slug}/"

    def property_in_a_concatenation(self: Any) -> Any:
        """Refused: has `path += 'all/'`"""
        path = self.returned
        return path + str(self.pk)

    def other_types(self: Any) -> Any:
        """Refused: writes uuid in `f'/{self.uid}/{self.number}/{self.public}/'`"""
        return f"/{self.uid}/{self.number}/{self.public}/"

    def dates(self: Any) -> Any:
        """Refused: writes date in `f'/{self.day}/{self.created}/'`"""
        return f"/{self.day}/{self.created}/"

    def none(self: Any) -> Any:
        """Refused: writes what can be NULL in `f'/{self.rank}/'`"""
        return f"/{self.rank}/"

    def by_text_of_uuid(self: Any) -> Any:
        """Refused: writes uuid in `str(self.uid)`"""
        return reverse("uid", args=[str(self.uid)])

    def by_property(self: Any) -> Any:
        """Refused: reads what is not a plain field or a property of `self`: `self.viewname`"""
        return reverse(self.viewname, kwargs=self.url_kwargs)

    def format_of_a_class_attribute(self: Any) -> Any:
        """Refused: reads what is not a plain field or a property of `self`: `self.pattern`"""
        return self.pattern.format(self.slug)

    def prefix_of_the_class(self: Any) -> Any:
        """Refused: reads what is not a plain field or a property of `self`: `self.prefix`"""
        return f"{self.prefix}/{self.slug}/"

    def uuid(self: Any) -> Any:
        """Refused: writes uuid in `f'/{self.uid}/'`"""
        return f"/{self.uid}/"

    def uuid_and_number(self: Any) -> Any:
        """Refused: writes uuid in `'/%s/%s/' % (self.uid, self.number)`"""
        return "/%s/%s/" % (self.uid, self.number)

    def attribute_of_the_class_in_a_helper(self: Any) -> Any:
        """Refused: reads what is not a plain field or a property of `self`: `self.root`"""
        return f"{self.get_root()}/{self.slug}/"

    def attribute_of_the_class(self: Any) -> Any:
        """Refused: reads what is not a plain field or a property of `self`: `self.root`"""
        return f"{self.root}/{self.slug}/"
