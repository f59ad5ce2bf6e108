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

from tests.suggestions.corpus import Form, declares, kept, refuses

PATTERN = "/posts/%s/"
TEMPLATE = "/posts/{slug}/"


class Chains(Form):
    @declares('F("path")')
    def field(self: Any) -> Any:
        return self.path

    @declares('F("path")')
    def text_of_field(self: Any) -> Any:
        return str(self.path)

    @declares('F("path")')
    def only_a_field_in_a_format(self: Any) -> Any:
        return f"{self.path}"

    @declares('F("code")')
    def nullable_field(self: Any) -> Any:
        return self.code

    @declares('F("author__name")')
    def related(self: Any) -> Any:
        return self.author.name

    @declares('F("section__slug")')
    def nullable_relation(self: Any) -> Any:
        return self.section.slug

    @declares('F("section__slug")')
    def nullable_relation_or_none(self: Any) -> Any:
        return self.section.slug if self.section else None

    @declares('F("author__team__slug")')
    def two_relations(self: Any) -> Any:
        team = self.author.team
        return team.slug

    @declares('Coalesce(F("code"), F("path"))')
    def fallback(self: Any) -> Any:
        return self.code if self.code is not None else self.path

    @declares('Coalesce(F("code"), Value("/none/"))')
    def text_fallback(self: Any) -> Any:
        return "/none/" if self.code is None else self.code


class Reverse(Form):
    @declares('Route("entry", slug=F("slug"))')
    def by_slug(self: Any) -> Any:
        return reverse("entry", kwargs={"slug": self.slug})

    @declares('Route("number", F("pk"))')
    def by_key(self: Any) -> Any:
        return reverse("number", args=[self.pk])

    @declares('Route("number", F("id"))')
    def by_text_of_key(self: Any) -> Any:
        return reverse("number", args=[str(self.id)])

    @declares('Route("number", F("id"))')
    def by_percent_format_of_key(self: Any) -> Any:
        return reverse("number", args=("%s" % self.id,))

    @declares('Route("number", pk=F("id"))')
    def by_f_string_of_key(self: Any) -> Any:
        return reverse("number", kwargs=dict(pk=self.id))

    @declares('Route("entry", F("slug"))')
    def by_argument_in_an_f_string(self: Any) -> Any:
        return reverse("entry", args=[f"{self.slug}"])

    @declares('Route("entry", slug=F("slug"))')
    def by_variable(self: Any) -> Any:
        kwargs = {"slug": str(self.slug)}
        return reverse("entry", kwargs=kwargs)

    @declares('Route("entry", slug=F("slug"))')
    def by_item_of_a_dict(self: Any) -> Any:
        kwargs = {}
        kwargs["slug"] = self.slug
        return reverse("entry", kwargs=kwargs)

    @declares('Route("entry", slug=F("slug"))')
    def by_property(self: Any) -> Any:
        return reverse(self.viewname, kwargs=self.url_kwargs)

    @declares('Route("entry", slug=F("slug"))')
    def by_position(self: Any) -> Any:
        return reverse("entry", None, (), {"slug": self.slug})

    @declares('Route("entry", slug=F("slug"))')
    def lazy(self: Any) -> Any:
        return reverse_lazy("entry", kwargs={"slug": self.slug})

    @declares('Route("entry", F("slug"))')
    def resolved(self: Any) -> Any:
        return resolve_url("entry", self.slug)

    @declares('Route("entry", F("slug"))')
    def text_of_url(self: Any) -> Any:
        return str(reverse_lazy("entry", args=[self.slug]))

    @declares('Route("blog:entry", slug=F("slug"))')
    def namespaced(self: Any) -> Any:
        return reverse("blog:entry", kwargs={"slug": self.slug})

    @declares('Route("kind-entry", "news", F("slug"))')
    def constant(self: Any) -> Any:
        return reverse("kind-entry", args=["news", self.slug])

    @declares('Route("author-entry", F("author__name"), F("pk"))')
    def related(self: Any) -> Any:
        return reverse("author-entry", args=[self.author.name, self.pk])

    @declares('Route("team-entry", team=F("author__team__slug"), pk=F("pk"))')
    def two_relations(self: Any) -> Any:
        return reverse("team-entry", kwargs={"team": self.author.team.slug, "pk": self.pk})

    @declares('Route("section-entry", F("section__slug"), F("slug"))', assumed="section")
    def nullable_relation(self: Any) -> Any:
        return reverse("section-entry", args=[self.section.slug, self.slug])

    @declares('Route("number", F("author_id"))')
    def key_of_relation(self: Any) -> Any:
        return reverse("number", args=[self.author_id])

    @declares('Route("rank", F("rank"))')
    def nullable_argument(self: Any) -> Any:
        return reverse("rank", args=[self.rank])

    @declares('Route("number", pk=F("rank"))')
    def nullable_number(self: Any) -> Any:
        return reverse("number", kwargs={"pk": self.rank})

    @declares('Route("uid", uid=F("uid"))')
    def by_uuid(self: Any) -> Any:
        return reverse("uid", kwargs={"uid": self.uid})

    @declares('Route("uid", F("uid"))')
    def by_text_of_uuid(self: Any) -> Any:
        return reverse("uid", args=[str(self.uid)])

    @declares('Route("day", day=F("day"), slug=F("slug"))')
    def by_date(self: Any) -> Any:
        return reverse("day", kwargs={"day": self.day, "slug": self.slug})

    @declares('Route("archive", ExtractYear("day"), ExtractMonth("day"), ExtractDay("day"), F("slug"))')
    def by_parts_of_a_date(self: Any) -> Any:
        return reverse("archive", args=[self.day.year, self.day.month, self.day.day, self.slug])

    @declares(
        'Route("archive", year=ExtractYear("created", tzinfo=ZoneInfo("UTC")), '
        'month=ExtractMonth("created", tzinfo=ZoneInfo("UTC")), '
        'day=ExtractDay("created", tzinfo=ZoneInfo("UTC")), slug=F("slug"))'
    )
    def by_parts_of_a_time(self: Any) -> Any:
        time = self.created
        parts = {"year": time.year, "month": time.month, "day": time.day}
        return reverse("archive", kwargs={**parts, "slug": self.slug})

    @declares('Route("archive", ExtractYear("day"), "1", ExtractDay("day"), F("slug"))')
    def by_text_of_parts(self: Any) -> Any:
        return reverse("archive", args=[str(self.day.year), "1", str(self.day.day), self.slug])

    @declares('Route("entry", slug=F("slug"))')
    def guarded(self: Any) -> Any:
        if not self.pk:
            return None
        return reverse("entry", kwargs={"slug": self.slug})

    @declares('Route("entry", slug=F("slug"))')
    def guarded_by_none(self: Any) -> Any:
        if self.pk is None:
            return ""
        return reverse("entry", kwargs={"slug": self.slug})

    @refuses("passes a string of several parts to reverse()")
    def key_and_slug(self: Any) -> Any:
        return reverse("entry", args=[f"{self.pk}-{self.slug}"])


class Formats(Form):
    @declares('PathTemplate("/posts/{slug}/", slug=F("slug"))')
    def f_string(self: Any) -> Any:
        return f"/posts/{self.slug}/"

    @declares('PathTemplate("/{pk}-{slug}.html", pk=F("pk"), slug=F("slug"))')
    def two_fields(self: Any) -> Any:
        return f"/{self.pk}-{self.slug}.html"

    @declares('PathTemplate("/{slug}/{slug}/", slug=F("slug"))')
    def same_field_twice(self: Any) -> Any:
        return f"/{self.slug}/{self.slug}/"

    @declares('PathTemplate("/{section}/{slug}/", section=F("section__slug"), slug=F("slug"))')
    def relation(self: Any) -> Any:
        return f"/{self.section.slug}/{self.slug}/"

    @declares('PathTemplate("/{section}/{slug}/", section=F("section__slug"), slug=F("slug"))')
    def relation_or_none(self: Any) -> Any:
        if self.section is None:
            return None
        return f"/{self.section.slug}/{self.slug}/"

    @declares('PathTemplate("/{section}/{slug}/", section=F("section__slug"), slug=F("slug"))')
    def relation_guarded_by_its_key(self: Any) -> Any:
        if self.section_id is None:
            return None
        return f"/{self.section.slug}/{self.slug}/"

    @declares(
        'PathTemplate("/{author}/{author__pk}/{team}/", author=F("author__name"), '
        'author__pk=F("author__pk"), team=F("author__team__slug"))'
    )
    def names_of_relations(self: Any) -> Any:
        return f"/{self.author.name}/{self.author.pk}/{self.author.team.slug}/"

    @declares('PathTemplate("/posts/{slug}/", slug=F("slug"))')
    def percent(self: Any) -> Any:
        return "/posts/%s/" % self.slug

    @declares('PathTemplate("/posts/{pk}/{slug}/", pk=F("pk"), slug=F("slug"))')
    def percent_of_a_tuple(self: Any) -> Any:
        return "/posts/%s/%s/" % (self.pk, self.slug)

    @declares('PathTemplate("/posts/{slug}/", slug=F("slug"))')
    def percent_of_a_dict(self: Any) -> Any:
        return "/posts/%(slug)s/" % {"slug": self.slug}

    @declares('PathTemplate("/100%/{slug}/", slug=F("slug"))')
    def percent_sign(self: Any) -> Any:
        return "/100%%/%s/" % self.slug

    @declares('PathTemplate("/posts/{slug}/", slug=F("slug"))')
    def percent_of_a_module_constant(self: Any) -> Any:
        return PATTERN % self.slug

    @declares('PathTemplate("/posts/{slug}/", slug=F("slug"))')
    def format_method(self: Any) -> Any:
        return "/posts/{}/".format(self.slug)

    @declares('PathTemplate("/posts/{pk}/{slug}/", pk=F("pk"), slug=F("slug"))')
    def format_by_position(self: Any) -> Any:
        return "/posts/{1}/{0}/".format(self.slug, self.pk)

    @declares('PathTemplate("/posts/{slug}/", slug=F("slug"))')
    def format_by_name(self: Any) -> Any:
        return TEMPLATE.format(slug=self.slug)

    @declares('PathTemplate("/posts/{slug}/", slug=F("slug"))')
    def format_of_a_class_attribute(self: Any) -> Any:
        return self.pattern.format(self.slug)

    @declares('PathTemplate("/posts/{slug}/", slug=F("slug"))')
    def format_of_the_item(self: Any) -> Any:
        return "/posts/{item.slug}/".format(item=self)

    @declares('PathTemplate("/posts/{slug}/", slug=F("slug"))')
    def text_conversion(self: Any) -> Any:
        return f"/posts/{self.slug!s}/"

    @declares('PathTemplate("/posts/{{{slug}}}/", slug=F("slug"))')
    def braces(self: Any) -> Any:
        return f"/posts/{{{self.slug}}}/"

    @declares('PathTemplate("/posts/{slug}/", slug=F("slug"))')
    def concatenated(self: Any) -> Any:
        return "/posts/" + self.slug + "/"

    @declares('PathTemplate("/posts/{pk}/", pk=F("pk"))')
    def concatenated_text(self: Any) -> Any:
        return "/posts/" + str(self.pk) + "/"

    @declares('PathTemplate("/{author}/{slug}", author=F("author__name"), slug=F("slug"))')
    def joined(self: Any) -> Any:
        return "/".join(["", str(self.author.name), str(self.slug)])

    @declares('PathTemplate("/posts/{slug}/print/", slug=F("slug"))')
    def appended(self: Any) -> Any:
        path = "/posts/%s" % self.slug
        path += "/print/"
        return path

    @declares('PathTemplate("/posts/{slug}/", slug=F("slug"))')
    def appended_field(self: Any) -> Any:
        path = "/posts/"
        path += self.slug
        path += "/"
        return path

    @declares('PathTemplate("/posts/{slug}/", slug=F("slug"))')
    def names_of_variables(self: Any) -> Any:
        slug = self.slug
        return "/posts/%(slug)s/" % locals()

    @declares('PathTemplate("/posts/{slug}/", slug=F("slug"))')
    @kept
    def decorated(self: Any) -> Any:
        return f"/posts/{self.slug}/"

    @declares('PathTemplate("/posts/{slug}/", slug=F("slug"))')
    def method(self: Any) -> Any:
        return self.get_path()

    @declares('PathTemplate("/{kind}/{slug}/", kind=F("kind"), slug=F("slug"))')
    def property_in_a_format(self: Any) -> Any:
        return f"{self.path_of_kind}{self.slug}/"

    @declares('PathTemplate("/{kind}/all/{pk}", kind=F("kind"), pk=F("pk"))')
    def property_in_a_concatenation(self: Any) -> Any:
        path = self.returned
        return path + str(self.pk)

    @declares('PathTemplate("/posts/{slug}/", slug=F("slug"))')
    def prefix(self: Any) -> Any:
        return f"{self.prefix}/{self.slug}/"

    @declares('PathTemplate("https://www.example.com/{slug}/", slug=F("slug"))')
    def absolute(self: Any) -> Any:
        return f"https://www.example.com/{self.slug}/"

    @declares(
        'PathTemplate("/{uid}/{number}/{public}/", uid=F("uid"), number=F("number"), public=F("public"))'
    )
    def other_types(self: Any) -> Any:
        return f"/{self.uid}/{self.number}/{self.public}/"

    @declares('PathTemplate("/{day}/{created}/", day=F("day"), created=F("created"))')
    def dates(self: Any) -> Any:
        return f"/{self.day}/{self.created}/"

    @declares('PathTemplate("/{day_year}/{slug}/", day_year=ExtractYear("day"), slug=F("slug"))')
    def year(self: Any) -> Any:
        return f"/{self.day.year}/{self.slug}/"

    @declares(
        'PathTemplate("/{created_year}/{created_month}/", '
        'created_year=ExtractYear("created", tzinfo=ZoneInfo("UTC")), '
        'created_month=ExtractMonth("created", tzinfo=ZoneInfo("UTC")))'
    )
    def parts_of_a_time(self: Any) -> Any:
        return f"/{self.created.year}/{self.created.month}/"

    @declares('PathTemplate("/posts/{slug}/", slug=F("slug"))')
    def lines(self: Any) -> Any:
        return "/posts/{slug}/".format(
            slug=self.slug,
        )

    @refuses("depends on whether `self.rank` is None")
    def none(self: Any) -> Any:
        return f"/{self.rank}/"

    @refuses("returns a string that does not begin with a slash")
    def field_first(self: Any) -> Any:
        return f"{self.path}print/"


class Computed(Form):
    @refuses("depends on the value of `self.path`")
    def fallback_for_empty(self: Any) -> Any:
        return self.path or "/none/"

    @refuses("uses `self.path.strip`")
    def stripped(self: Any) -> Any:
        return self.path.strip()

    @refuses("formats `self.day` as `%Y`")
    def formatted_date(self: Any) -> Any:
        return reverse("kind-entry", args=[f"{self.day:%Y}", self.slug])

    @refuses("uses `self.day.strftime`")
    def month_name(self: Any) -> Any:
        return reverse("kind-entry", args=[self.day.strftime("%b").lower(), self.slug])

    @refuses("uses `self.day.month` as a number")
    def two_digits(self: Any) -> Any:
        return reverse("archive", args=[self.day.year, "%02d" % self.day.month, 1, self.slug])

    @refuses("computes with the URL from `reverse()`")
    def anchor(self: Any) -> Any:
        return reverse("entry", args=[self.slug]) + "#comments"

    @refuses("creates a string from the URL from `reverse()`")
    def query(self: Any) -> Any:
        return f"{reverse('entry', args=[self.slug])}?page=1"

    @refuses("passes `self.title` to Django")
    def slugified(self: Any) -> Any:
        return reverse("entry", args=[slugify(self.title)])

    @refuses("passes an object of type Author to reverse()")
    def whole_object(self: Any) -> Any:
        return reverse("author-entry", args=[self.author, self.pk])

    @refuses("creates the name of a view from `self.kind`")
    def view_of_field(self: Any) -> Any:
        return reverse(f"{self.kind}-detail", args=[self.slug])

    @refuses("for more than its result")
    def two_digits_in_a_format(self: Any) -> Any:
        return "/%s/%02d/%s/" % (self.day.year, self.day.month, self.slug)

    @refuses("uses `self.number` as a number")
    def digits(self: Any) -> Any:
        return "/%d/" % self.number

    @refuses("formats `self.day.month` as `02d`")
    def two_digits_in_an_f_string(self: Any) -> Any:
        return f"/{self.day.year}/{self.day.month:02d}/"

    @refuses("formats `self.day` as `%Y/%m`")
    def date_in_an_f_string(self: Any) -> Any:
        return f"/{self.day:%Y/%m}/{self.slug}/"

    @refuses("creates a string from `self.slug`")
    def representation(self: Any) -> Any:
        return f"/{self.slug!r}/"

    @refuses("for more than its result")
    def padded(self: Any) -> Any:
        return "/%20s/" % self.slug

    @refuses("uses a string from `self.slug` for more than its result")
    def cut(self: Any) -> Any:
        return "/%.5s/" % self.slug

    @refuses("depends on whether `self.section` is None")
    def null_branch(self: Any) -> Any:
        if self.section:
            return f"/{self.section.slug}/{self.slug}/"
        return f"/{self.slug}/"

    @refuses("depends on whether `self.section` is None")
    def null_branch_in_a_format(self: Any) -> Any:
        return f"/{self.section.slug if self.section else 'none'}/{self.slug}/"

    @refuses("depends on the value of `self.path`")
    def or_in_a_format(self: Any) -> Any:
        return f"/{self.path or self.slug}/"

    @refuses("uses a string from `self.slug` for more than its result")
    def quoted(self: Any) -> Any:
        return iri_to_uri(f"/posts/{self.slug}/")

    @refuses("uses a string from `self.slug` for more than its result")
    def marked(self: Any) -> Any:
        return mark_safe(f"/posts/{self.slug}/")  # noqa: S308 as projects do

    @refuses("passes `self.slug` to Django")
    def html(self: Any) -> Any:
        return format_html("/posts/{}/", self.slug)

    @refuses("creates a string from `self.author`")
    def text_of_relation(self: Any) -> Any:
        return f"/{self.author}/"
