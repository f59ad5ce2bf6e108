"""More plain methods: chains of fields, `reverse()` and formats, on models and on sitemaps."""

# ruff: noqa: UP031, UP032, RET504
from __future__ import annotations

from typing import Any

from django.urls import reverse, reverse as url_of, reverse_lazy

from tests.suggestions.corpus import Form

BASE = "/base"
ROUTE = "entry"
YEAR = 2026
LABEL: str = "label"


class PlainChains(Form):
    def name_of_a_variable(self: Any) -> Any:
        """Can be empty: F("path")"""
        path = self.path
        return path

    def variable_with_a_type(self: Any) -> Any:
        """Can be empty: F("path")"""
        path: str = self.path
        return path

    def slug(self: Any) -> Any:
        """Can be empty: F("slug")"""
        return self.slug

    def deep(self: Any) -> Any:
        """Can be empty: F("author__team__slug")"""
        author = self.author
        team = author.team
        slug = team.slug
        return slug

    def of_the_item(self: Any, item: Any) -> Any:
        """Can be empty: F("path")"""
        return item.path

    def method_of_the_item(self: Any, item: Any) -> Any:
        """Route("entry", slug=F("slug"))"""
        return item.get_url()

    def property_of_the_item(self: Any, item: Any) -> Any:
        """PathTemplate("/kept/{slug}/", slug=F("slug"))"""
        return item.kept

    def text_of_the_item(self: Any, item: Any) -> Any:
        """Can be empty: F("path")"""
        return str(item.path)


class PlainReverse(Form):
    def tuple_of_arguments(self: Any) -> Any:
        """Route("author-entry", F("author__name"), F("pk"))"""
        return reverse("author-entry", args=(self.author.name, self.pk))

    def list_in_a_variable(self: Any) -> Any:
        """Route("entry", F("slug"))"""
        args = [self.slug]
        return reverse("entry", args=args)

    def keywords_only(self: Any) -> Any:
        """Route("entry", slug=F("slug"))"""
        return reverse(viewname="entry", kwargs={"slug": self.slug})

    def none_as_urlconf(self: Any) -> Any:
        """Route("entry", F("slug"))"""
        return reverse("entry", urlconf=None, args=[self.slug])

    def imported_by_another_name(self: Any) -> Any:
        """Route("entry", F("slug"))"""
        return url_of("entry", args=[self.slug])

    def lazy(self: Any) -> Any:
        """Route("entry", F("slug"))"""
        return reverse_lazy("entry", args=[self.slug])

    def name_in_a_constant(self: Any) -> Any:
        """Route("entry", F("slug"))"""
        return reverse(ROUTE, args=[self.slug])

    def name_in_a_format(self: Any) -> Any:
        """Route("blog:entry", F("slug"))"""
        return reverse(f"blog:{ROUTE}", args=[self.slug])

    def constant_number(self: Any) -> Any:
        """Route("archive", 2026, 1, 2, F("slug"))"""
        return reverse("archive", args=[YEAR, 1, 2, self.slug])

    def joined_argument(self: Any) -> Any:
        """Route("entry", Concat(F("kind"), Value("-"), F("slug"), output_field=CharField()))"""
        return reverse("entry", args=[f"{self.kind}-{self.slug}"])

    def added_argument(self: Any) -> Any:
        """Route("entry", Concat(F("kind"), Value("-"), F("slug"), output_field=CharField()))"""
        return reverse("entry", args=[self.kind + "-" + self.slug])

    def percent_argument(self: Any) -> Any:
        """
        Route("entry", Concat(F("slug"), Value("-"), Cast(F("pk"), CharField()),
        output_field=CharField()))
        """
        return reverse("entry", args=["%s-%d" % (self.slug, self.pk)])

    def number_of_a_relation(self: Any) -> Any:
        """Route("author-entry", author=F("author__name"), pk=F("author__pk"))"""
        return reverse("author-entry", kwargs={"author": self.author.name, "pk": self.author.pk})

    def text_of_the_key_of_a_relation(self: Any) -> Any:
        """Route("number", F("author_id"))"""
        return reverse("number", args=[str(self.author_id)])

    def in_two_steps(self: Any) -> Any:
        """Route("kind-entry", kind=F("kind"), slug=F("slug"))"""
        kwargs = {"kind": self.kind, "slug": self.slug}
        url = reverse("kind-entry", kwargs=kwargs)
        return url

    def year_and_constants(self: Any) -> Any:
        """Route("archive", year=ExtractYear("day"), month=1, day=ExtractDay("day"), slug=F("slug"))"""
        return reverse(
            "archive", kwargs={"year": self.day.year, "month": 1, "day": self.day.day, "slug": self.slug}
        )

    def parts_of_a_time(self: Any) -> Any:
        """
        Route("archive", ExtractYear("created", tzinfo=ZoneInfo("UTC")), ExtractMonth("created",
        tzinfo=ZoneInfo("UTC")), ExtractDay("created", tzinfo=ZoneInfo("UTC")), F("slug"))
        """
        time = self.created
        return reverse("archive", args=[time.year, time.month, time.day, self.slug])

    def number_where_text_is_expected(self: Any) -> Any:
        """Route("entry", F("pk"))"""
        return reverse("entry", args=[self.pk])

    def text_where_a_number_is_expected(self: Any) -> Any:
        """Route("number", F("slug"))"""
        return reverse("number", args=[self.slug])

    def unknown_name(self: Any) -> Any:
        """Route("no-such-name", F("slug"))"""
        return reverse("no-such-name", args=[self.slug])

    def boolean(self: Any) -> Any:
        """Route("rank", F("public"))"""
        return reverse("rank", args=[self.public])

    def of_the_item(self: Any, item: Any) -> Any:
        """Route("entry", F("slug"))"""
        return reverse("entry", args=[item.slug])

    def of_the_item_by_keywords(self: Any, item: Any) -> Any:
        """Route("team-entry", team=F("author__team__slug"), pk=F("pk"))"""
        return reverse("team-entry", kwargs={"team": item.author.team.slug, "pk": item.pk})


class PlainFormats(Form):
    def constant_of_the_module(self: Any) -> Any:
        """PathTemplate("/base/{slug}/", slug=F("slug"))"""
        return f"{BASE}/{self.slug}/"

    def typed_constant(self: Any) -> Any:
        """PathTemplate("/label/{slug}/", slug=F("slug"))"""
        return f"/{LABEL}/{self.slug}/"

    def number_of_the_module(self: Any) -> Any:
        """PathTemplate("/2026/{slug}/", slug=F("slug"))"""
        return f"/{YEAR}/{self.slug}/"

    def format_of_a_sum(self: Any) -> Any:
        """PathTemplate("/base/{slug}/", slug=F("slug"))"""
        return BASE + "/%s/" % self.slug

    def sum_of_f_strings(self: Any) -> Any:
        """PathTemplate("/{kind}/{slug}/", kind=F("kind"), slug=F("slug"))"""
        return f"/{self.kind}/" + f"{self.slug}/"

    def f_string_in_an_f_string(self: Any) -> Any:
        """PathTemplate("/{kind}-{slug}/", kind=F("kind"), slug=F("slug"))"""
        return f"/{f'{self.kind}-{self.slug}'}/"

    def implicit_concatenation(self: Any) -> Any:
        """PathTemplate("/{kind}/{slug}/", kind=F("kind"), slug=F("slug"))"""
        return f"/{self.kind}/{self.slug}/"

    def two_keywords(self: Any) -> Any:
        """PathTemplate("/{kind}/{slug}/", kind=F("kind"), slug=F("slug"))"""
        return "/{kind}/{slug}/".format(kind=self.kind, slug=self.slug)

    def same_position_twice(self: Any) -> Any:
        """PathTemplate("/{slug}/{slug}/", slug=F("slug"))"""
        return "/{0}/{0}/".format(self.slug)

    def converted_field(self: Any) -> Any:
        """PathTemplate("/{slug}/", slug=F("slug"))"""
        return "/{!s}/".format(self.slug)

    def digits(self: Any) -> Any:
        """PathTemplate("/{number}-{slug}/", number=F("number"), slug=F("slug"))"""
        return "/%d-%s/" % (self.number, self.slug)

    def parts_in_variables(self: Any) -> Any:
        """PathTemplate("/{kind}/{slug}/", kind=F("kind"), slug=F("slug"))"""
        kind = self.kind
        slug = self.slug
        return f"/{kind}/{slug}/"

    def dict_in_a_variable(self: Any) -> Any:
        """PathTemplate("/{kind}/{slug}/", kind=F("kind"), slug=F("slug"))"""
        parts = {"kind": self.kind, "slug": self.slug}
        return "/%(kind)s/%(slug)s/" % parts

    def template_in_a_variable(self: Any) -> Any:
        """PathTemplate("/posts/{slug}/", slug=F("slug"))"""
        template = "/posts/{}/"
        return template.format(self.slug)

    def text_of_text(self: Any) -> Any:
        """
        PathTemplate("/{author__name}/{author_id}", author__name=F("author__name"),
        author_id=F("author_id"))
        """
        return "/" + str(self.author.name) + "/" + str(self.author_id)

    def anchor(self: Any) -> Any:
        """PathTemplate("/posts/{slug}/#comments", slug=F("slug"))"""
        return f"/posts/{self.slug}/#comments"

    def query(self: Any) -> Any:
        """PathTemplate("/posts/?slug={slug}&page=1", slug=F("slug"))"""
        return f"/posts/?slug={self.slug}&page=1"

    def text_first(self: Any) -> Any:
        """Can be empty: Concat(F("path"), Value("all/"), output_field=CharField())"""
        return f"{self.path}all/"

    def only_fields(self: Any) -> Any:
        """Can be empty: Concat(F("path"), F("slug"), output_field=CharField())"""
        return self.path + self.slug

    def empty_text(self: Any) -> Any:
        """Can be empty: F("path")"""
        return "" + self.path + ""

    def names_that_are_keywords(self: Any) -> Any:
        """
        PathTemplate("/{author__team__slug}/{author__name}/{slug}/{kind}/",
        author__team__slug=F("author__team__slug"), author__name=F("author__name"), slug=F("slug"),
        kind=F("kind"))
        """
        return f"/{self.author.team.slug}/{self.author.name}/{self.slug}/{self.kind}/"

    def percent_sign_in_an_f_string(self: Any) -> Any:
        """PathTemplate("/100%/%s/{slug}/", slug=F("slug"))"""
        return f"/100%/%s/{self.slug}/"

    def braces_in_a_percent_format(self: Any) -> Any:
        """PathTemplate("/{{}}/{{slug}}/{slug}/", slug=F("slug"))"""
        return "/{}/{slug}/%s/" % self.slug

    def pattern_of_a_path(self: Any) -> Any:
        """Refused: PathTemplate('/<int:pk>/{slug}/'): write {pk}, not <int:pk>"""
        return f"/<int:pk>/{self.slug}/"

    def of_the_item(self: Any, item: Any) -> Any:
        """PathTemplate("/{kind}/{slug}/", kind=F("kind"), slug=F("slug"))"""
        return f"/{item.kind}/{item.slug}/"

    def sum_of_the_item(self: Any, item: Any) -> Any:
        """PathTemplate("/posts/{slug}/", slug=F("slug"))"""
        return "/posts/" + item.slug + "/"
