"""Methods with conditions that a column can express, and their neighbours that it cannot."""

# ruff: noqa: E711
from __future__ import annotations

from typing import Any

from django.urls import reverse

from tests.suggestions.corpus import Form


class Conditions(Form):
    def text_or_text(self: Any) -> Any:
        """Can be empty:
        Case(When(Q(path=""), then=Value("/none/")), default=F("path"), output_field=CharField())"""
        return self.path or "/none/"

    def nullable_text_or_text(self: Any) -> Any:
        """Can be empty:
        Case(When(Q(code="") | Q(code__isnull=True), then=Value("/none/")), default=F("code"),
        output_field=CharField())"""
        return self.code or "/none/"

    def one_of_three(self: Any) -> Any:
        """Can be empty: Case(When(Q(code="") | Q(code__isnull=True), then=Case(When(Q(path=""),
        then=Concat(Value("/posts/"), F("slug"), Value("/"), output_field=CharField())),
        default=F("path"), output_field=CharField())), default=F("code"), output_field=CharField())"""
        return self.code or self.path or f"/posts/{self.slug}/"

    def argument(self: Any) -> Any:
        """
        Route("rank", Case(When(Q(code="") | Q(code__isnull=True), then=Value("none")), default=F("code"),
        output_field=CharField()))
        """
        return reverse("rank", args=[self.code or "none"])

    def argument_of_a_relation(self: Any) -> Any:
        """
        Route("section-entry", Case(When(Q(section__isnull=True), then=Value("none")),
        default=F("section__slug"), output_field=CharField()), F("slug"))
        """
        section = self.section
        return reverse("section-entry", args=[section.slug if section else "none", self.slug])

    def argument_of_a_number(self: Any) -> Any:
        """
        Route("number", Case(When(Q(rank=0) | Q(rank__isnull=True), then=Value(0)), default=F("rank"),
        output_field=IntegerField()))
        """
        return reverse("number", args=[self.rank or 0])

    def null_text_in_a_path(self: Any) -> Any:
        """
        PathTemplate("/{value_0}/{slug}/", value_0=Case(When(Q(code__isnull=True), then=Value("none")),
        default=F("code"), output_field=CharField()), slug=F("slug"))
        """
        return f"/{'none' if self.code is None else self.code}/{self.slug}/"

    def not_null_text_in_a_path(self: Any) -> Any:
        """
        PathTemplate("/{value_0}/", value_0=Case(When(Q(code__isnull=True), then=Value("none")),
        default=F("code"), output_field=CharField()))
        """
        return f"/{self.code if self.code is not None else 'none'}/"

    def guard_of_another_field(self: Any) -> Any:
        """Refused: writes what can be NULL in `f'/{(self.code if self.rank is not None else 'none')}/'`"""
        return f"/{self.code if self.rank is not None else 'none'}/"

    def wrong_branch(self: Any) -> Any:
        """Refused: writes what can be NULL in `f'/{(self.code if self.code is None else 'none')}/'`"""
        return f"/{self.code if self.code is None else 'none'}/"

    def not_in_a_test(self: Any) -> Any:
        """
        Case(When(Q(public=False), then=Value("/hidden/")), default=Concat(Value("/"), Cast(F("pk"),
        CharField()), Value("/"), output_field=CharField()), output_field=CharField())
        """
        return "/hidden/" if not self.public else f"/{self.pk}/"

    def not_null_in_a_test(self: Any) -> Any:
        """
        Case(When(Q(section__isnull=True), then=Value("/none/")), default=Concat(Value("/"),
        F("section__slug"), Value("/"), output_field=CharField()), output_field=CharField())
        """
        return f"/{self.section.slug}/" if not self.section is None else "/none/"  # noqa: E714

    def guarded_by_the_key(self: Any) -> Any:
        """
        Case(When(Q(section_id=0) | Q(section_id__isnull=True), then=Value("/none/")),
        default=Concat(Value("/"), F("section__slug"), Value("/"), output_field=CharField()),
        output_field=CharField())
        """
        return f"/{self.section.slug}/" if self.section_id else "/none/"

    def guarded_by_null_of_the_key(self: Any) -> Any:
        """
        Case(When(Q(section_id__isnull=True), then=Value("/none/")), default=Concat(Value("/"),
        F("section__slug"), Value("/"), output_field=CharField()), output_field=CharField())
        """
        return "/none/" if self.section_id is None else f"/{self.section.slug}/"

    def two_guards(self: Any) -> Any:
        """
        PathTemplate("/{value_0}/{slug}/", value_0=Case(When(Q(section__isnull=True), then=Value("none")),
        default=Case(When(Q(section__slug=""), then=Value("empty")), default=F("section__slug"),
        output_field=CharField()), output_field=CharField()), slug=F("slug"))
        """
        parent = "none" if self.section is None else (self.section.slug or "empty")
        return f"/{parent}/{self.slug}/"

    def parent_without_a_guard(self: Any) -> Any:
        """Refused: reads an attribute of what can be NULL: `self.section.parent.slug`"""
        return f"/{self.section.parent.slug}/" if self.section else "/none/"

    def parent_with_a_guard(self: Any) -> Any:
        """
        PathTemplate("/{value_0}/", value_0=Case(When(Q(section__isnull=True), then=Value("none")),
        default=Case(When(Q(section__parent__isnull=True), then=Value("root")),
        default=F("section__parent__slug"), output_field=CharField()), output_field=CharField()))
        """
        section = self.section
        slug = "none" if section is None else (section.parent.slug if section.parent else "root")
        return f"/{slug}/"

    def equal_text(self: Any) -> Any:
        """
        Case(When(Q(kind="note"), then=Value("/note/")), default=Concat(Value("/"), F("slug"), Value("/"),
        output_field=CharField()), output_field=CharField())
        """
        return "/note/" if self.kind == "note" else f"/{self.slug}/"

    def other_text(self: Any) -> Any:
        """
        Case(When(Q(kind="note"), then=Value("/note/")), default=Concat(Value("/"), F("slug"), Value("/"),
        output_field=CharField()), output_field=CharField())
        """
        return f"/{self.slug}/" if self.kind != "note" else "/note/"

    def equal_to_an_empty_text(self: Any) -> Any:
        """Can be empty:
        Case(When(Q(path=""), then=Value("/none/")), default=F("path"), output_field=CharField())"""
        return "/none/" if self.path == "" else self.path

    def equal_nullable_text(self: Any) -> Any:
        """
        Case(When(Q(code="None"), then=Value("/none/")), default=Concat(Value("/"), F("slug"), Value("/"),
        output_field=CharField()), output_field=CharField())
        """
        return "/none/" if self.code == "None" else f"/{self.slug}/"

    def other_than_a_nullable_text(self: Any) -> Any:
        """
        Case(When(Q(code="50%"), then=Value("/none/")), default=Concat(Value("/"), F("slug"), Value("/"),
        output_field=CharField()), output_field=CharField())
        """
        return f"/{self.slug}/" if self.code != "50%" else "/none/"

    def equal_text_of_a_relation(self: Any) -> Any:
        """
        Case(When(Q(author__name="draft"), then=Value("/a/")), default=Concat(Value("/"), F("slug"),
        Value("/"), output_field=CharField()), output_field=CharField())
        """
        return "/a/" if self.author.name == "draft" else f"/{self.slug}/"

    def equal_to_null(self: Any) -> Any:
        """Refused: compares, maybe not as the database does, `self.code == None`"""
        return "/none/" if self.code == None else self.code

    def equal_to_a_number(self: Any) -> Any:
        """
        Case(When(Q(number=0), then=Value("/zero/")), default=Concat(Value("/"), F("slug"), Value("/"),
        output_field=CharField()), output_field=CharField())
        """
        return "/zero/" if self.number == 0 else f"/{self.slug}/"

    def nullable_number_equal_to_zero(self: Any) -> Any:
        """
        Case(When(Q(rank=0), then=Value("/zero/")), default=Concat(Value("/"), F("slug"), Value("/"),
        output_field=CharField()), output_field=CharField())
        """
        return "/zero/" if self.rank == 0 else f"/{self.slug}/"

    def nullable_number_greater(self: Any) -> Any:
        """Refused: compares, maybe not as the database does, `self.rank > 5`"""
        return "/big/" if self.rank > 5 else f"/{self.slug}/"

    def number_at_most(self: Any) -> Any:
        """Refused: compares, maybe not as the database does, `self.number <= -50`"""
        return "/small/" if self.number <= -50 else f"/{self.slug}/"

    def number_that_no_database_has(self: Any) -> Any:
        """Refused: has `999999999999999999999`"""
        return "/big/" if self.author_id == 999999999999999999999 else f"/{self.slug}/"

    def number_equal_to_a_text(self: Any) -> Any:
        """Refused: compares, maybe not as the database does, `self.number == '0'`"""
        return "/zero/" if self.number == "0" else f"/{self.slug}/"

    def equal_to_true(self: Any) -> Any:
        """Refused: has `True`"""
        return "/public/" if self.public == True else f"/{self.slug}/"  # noqa: E712

    def chained(self: Any) -> Any:
        """Refused: compares, maybe not as the database does, `0 < self.number < 500`"""
        return "/some/" if 0 < self.number < 500 else f"/{self.slug}/"

    def greater_text(self: Any) -> Any:
        """Refused: compares, maybe not as the database does, `self.slug > 'm'`"""
        return "/some/" if self.slug > "m" else f"/{self.slug}/"

    def two_fields(self: Any) -> Any:
        """Refused: compares, maybe not as the database does, `self.slug == self.title`"""
        return "/same/" if self.slug == self.title else f"/{self.slug}/"

    def both(self: Any) -> Any:
        """Refused: has `self.public and self.path`"""
        return "/some/" if self.public and self.path else f"/{self.slug}/"

    def year_in_a_test(self: Any) -> Any:
        """Refused: compares, maybe not as the database does, `self.day.year < 2026`"""
        return "/old/" if self.day.year < 2026 else f"/{self.slug}/"

    def date_in_a_test(self: Any) -> Any:
        """
        Case(When(Q(updated__isnull=True), then=Value("/new/")), default=Concat(Value("/"), F("slug"),
        Value("/"), output_field=CharField()), output_field=CharField())
        """
        return f"/{self.slug}/" if self.updated else "/new/"

    def date_that_is_always_true(self: Any) -> Any:
        """Refused: asks for the truth of `self.created`"""
        return f"/{self.slug}/" if self.created else "/new/"

    def weight_in_a_test(self: Any) -> Any:
        """
        Case(When(Q(weight=0) | Q(weight__isnull=True), then=Value("/light/")), default=Concat(Value("/"),
        F("slug"), Value("/"), output_field=CharField()), output_field=CharField())
        """
        return f"/{self.slug}/" if self.weight else "/light/"

    def relation_that_is_always_true(self: Any) -> Any:
        """Refused: asks for the truth of `self.author`"""
        return f"/{self.slug}/" if self.author else "/anonymous/"

    def two_names_of_views(self: Any) -> Any:
        """
        Refused: needs a constant name, and plain arguments, for `reverse('entry' if self.public else
        'blog:entry', args=[self.slug])`
        """
        return reverse("entry" if self.public else "blog:entry", args=[self.slug])

    def reverse_or_text(self: Any) -> Any:
        """
        Refused: needs a Route in Case(), which is not possible, for `reverse('entry', args=[self.slug])
        if self.public else '/hidden/'`
        """
        return reverse("entry", args=[self.slug]) if self.public else "/hidden/"

    def path_or_reverse(self: Any) -> Any:
        """
        Refused: needs a Route in Case(), which is not possible, for `self.path or reverse('entry',
        args=[self.slug])`
        """
        return self.path or reverse("entry", args=[self.slug])

    def number_or_text(self: Any) -> Any:
        """Refused: chooses between integer and text in `self.rank or 'none'`"""
        return f"/{self.rank or 'none'}/"

    def uuid_or_text(self: Any) -> Any:
        """Refused: chooses between text and uuid in `self.uid if self.public else 'hidden'`"""
        return f"/{self.uid if self.public else 'hidden'}/"

    def uuid_in_a_branch(self: Any) -> Any:
        """Refused: writes uuid in `f'/{self.uid}/'`"""
        return f"/{self.uid}/" if self.public else "/hidden/"

    def number_in_a_branch(self: Any) -> Any:
        """
        Case(When(Q(public=False), then=Concat(Value("/"), Cast(F("pk"), CharField()), Value("/"),
        output_field=CharField())), default=Concat(Value("/"), Cast(F("number"), CharField()), Value("/"),
        F("slug"), Value("/"), output_field=CharField()), output_field=CharField())
        """
        return f"/{self.number}/{self.slug}/" if self.public else f"/{self.pk}/"

    def year_in_a_branch(self: Any) -> Any:
        """
        Case(When(Q(public=False), then=Value("/hidden/")), default=Concat(Value("/"),
        Cast(ExtractYear("day"), CharField()), Value("/"), output_field=CharField()),
        output_field=CharField())
        """
        return f"/{self.day.year}/" if self.public else "/hidden/"

    def none_in_a_branch(self: Any) -> Any:
        """Can be empty:
        Case(When(Q(public=False), then=Value(None)), default=F("path"), output_field=CharField())"""
        return self.path if self.public else None

    def condition_in_a_condition(self: Any) -> Any:
        """
        Case(When(Q(public=False), then=Case(When(Q(number=0), then=Concat(Value("/"), F("slug"),
        Value("/"), output_field=CharField())), default=Value("/b/"), output_field=CharField())),
        default=Value("/a/"), output_field=CharField())
        """
        return "/a/" if self.public else ("/b/" if self.number else f"/{self.slug}/")

    def percent_signs(self: Any) -> Any:
        """
        Case(When(Q(public=False), then=Value("/50%/{}/")), default=Concat(Value("/100%/"), F("slug"),
        Value("/%s/"), output_field=CharField()), output_field=CharField())
        """
        return f"/100%/{self.slug}/%s/" if self.public else "/50%/{}/"


class ConditionalPriorities(Form):
    hook = "priority"

    def public(self: Any, item: Any) -> Any:
        """Case(When(Q(public=False), then=Value(0.1)), default=Value(0.9), output_field=FloatField())"""
        return 0.9 if item.public else 0.1

    def weight(self: Any, item: Any) -> Any:
        """
        Case(When(Q(weight=0) | Q(weight__isnull=True), then=Value(0.5)), default=F("weight"),
        output_field=FloatField())
        """
        return item.weight or 0.5

    def kind(self: Any, item: Any) -> Any:
        """Case(When(Q(kind="post"), then=Value(1.0)), default=Value(0.5), output_field=FloatField())"""
        return 1.0 if item.kind == "post" else 0.5

    def integers(self: Any, item: Any) -> Any:
        """Case(When(Q(public=False), then=Value(0)), default=Value(1), output_field=IntegerField())"""
        return 1 if item.public else 0

    def integer_or_float(self: Any, item: Any) -> Any:
        """Refused: chooses between float and integer in `1 if item.public else 0.5`"""
        return 1 if item.public else 0.5

    def constant_of_the_class(self: Any, item: Any) -> Any:
        """
        Case(When(Q(updated__isnull=True), then=Value(0.9)), default=Value(None),
        output_field=FloatField())
        """
        return 0.9 if item.updated is None else None


class ConditionalLastmods(Form):
    hook = "lastmod"

    def days(self: Any, item: Any) -> Any:
        """Case(When(Q(public=False), then=Value(None)), default=F("day"), output_field=DateField())"""
        return item.day if item.public else None

    def by_kind(self: Any, item: Any) -> Any:
        """
        Case(When(Q(kind="post"), then=F("updated")), default=F("created"), output_field=DateTimeField())
        """
        return item.updated if item.kind == "post" else item.created

    def of_the_section(self: Any, item: Any) -> Any:
        """
        Case(When(Q(section__isnull=True), then=F("created")), default=F("section__changed"),
        output_field=DateTimeField())
        """
        return item.section.changed if item.section else item.created
