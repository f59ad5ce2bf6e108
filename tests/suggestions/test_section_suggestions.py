"""Suggestions for sections: which sections get one, the proof on rows, and the code to paste."""

from __future__ import annotations

import gc
import re
import sys
from functools import lru_cache
from importlib import import_module
from inspect import getattr_static, getsourcelines
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from django.conf import settings
from django.contrib.sitemaps import (
    GenericSitemap as ContribGenericSitemap,
    Sitemap as ContribSitemap,
    views as contrib_views,
)
from django.core.cache import cache
from django.core.exceptions import ImproperlyConfigured
from django.db import connection, connections
from django.db.models import F, Manager, Model, Prefetch, QuerySet
from django.db.models.query import ModelIterable
from django.db.models.query_utils import DeferredAttribute
from django.test.utils import CaptureQueriesContext
from django.urls import NoReverseMatch, include, path, reverse
from django.utils import timezone

from django_sitemaps09 import GenericSitemap, ModelSitemap, Route, Sitemap, StaticViewSitemap
from django_sitemaps09.suggestions import section_proof, suggest
from django_sitemaps09.suggestions.section_proof import Sample
from tests.suggestions.blog import models as blog
from tests.suggestions.blog.models import Author, Entry, Label
from tests.suggestions.blog.rows import entries, sitemap, suggestion
from tests.support.sources import compiled, rendered

__all__ = ["entries"]

pytestmark = [
    pytest.mark.urls("tests.suggestions.blog.urls"),
    pytest.mark.sitemaps09(),
    pytest.mark.django_db,
]

SLUG = Route("entry", slug=F("slug"))


class BlogSitemap(Sitemap[Entry]):
    """The entries."""

    changefreq = "daily"  # often

    def items(self) -> QuerySet[Entry]:
        return Entry.objects.order_by("-pk")

    def lastmod(self, item: Entry) -> Any:
        return item.updated

    @property
    def priority(self) -> Any:
        return lambda item: 0.5

    def images(self, item: Entry) -> list[Any]:
        return []


def run(code: str | None) -> type[Any]:
    """Return the class that pasted code defines."""
    assert code is not None
    names = dict(globals())
    exec(code, names)  # noqa: S102 the code under test
    found: type[Any] = names[code.rpartition("class ")[2].partition("(")[0]]
    return found


def text(section: Any) -> str:
    return "".join(page.text for page in rendered(compiled(section)))


class TestTheCode:
    def test_is_the_class_with_declarations_instead_of_its_methods(self) -> None:
        assert suggestion(BlogSitemap).code == (
            "from django.db.models import F\n"
            "from django_sitemaps09 import Route\n"
            "\n"
            "\n"
            "class BlogSitemap(Sitemap[Entry]):\n"
            '    """The entries."""\n'
            "\n"
            '    changefreq = "daily"  # often\n'
            '    location = Route("entry", slug=F("slug"))\n'
            '    lastmod = F("updated")\n'
            "    priority = 0.5\n"
            "\n"
            "    def items(self) -> QuerySet[Entry]:\n"
            '        return Entry.objects.order_by("-pk")\n'
            "\n"
            "    def images(self, item: Entry) -> list[Any]:\n"
            "        return []"
        )

    def test_has_the_same_bytes_if_it_is_pasted(self) -> None:
        assert text(run(suggestion(BlogSitemap).code)) == text(BlogSitemap)

    def test_is_a_subclass_if_other_sections_use_the_class_or_the_section_is_an_instance(self) -> None:
        queryset = {"queryset": Entry.objects.all(), "date_field": "created"}
        generic = GenericSitemap(queryset, priority=0.3)
        found = suggest(sitemaps={"a": BlogSitemap, "b-c": BlogSitemap, "generic": generic})
        lines = [str(suggestion.code).splitlines() for suggestion in found]
        assert [line for code in lines for line in code if line.startswith("class ")] == [
            "class ASitemap(BlogSitemap):",
            "class BCSitemap(BlogSitemap):",
            "class GenericSitemap(BaseGenericSitemap):",
        ]
        assert "from django_sitemaps09 import GenericSitemap as BaseGenericSitemap, Route" in lines[2]
        assert text(run(found[1].code)) == text(BlogSitemap)

    def test_of_a_generic_sitemap_keeps_its_arguments(self) -> None:
        arguments = {"queryset": Entry.objects.all(), "date_field": "created"}
        generic = GenericSitemap(arguments, priority=0.3)
        [found] = suggest(sitemaps={"old": generic})
        assert found.hooks == ("location", "lastmod")
        declared = run(found.code)(arguments, priority=0.3)
        assert text(declared) == text(generic)
        assert not compiled(declared).declaration.needs_items

    def test_names_the_hooks_that_still_need_items(self) -> None:
        assert suggestion(BlogSitemap).notes == ("Model instances are still created for images().",)
        assert suggestion(sitemap(Entry)).notes == ()
        translated = sitemap(Entry, i18n=True, x_default=True, alternates=True)
        assert not any("x_default()" in note for note in suggestion(translated).notes)

    def test_is_a_subclass_if_the_class_of_another_section_inherits_from_it(self) -> None:
        class Child(BlogSitemap):
            pass

        first, second = suggest(sitemaps={"a": BlogSitemap, "b": Child})
        assert "class ASitemap(BlogSitemap):" in str(first.code)
        assert "class Child(BlogSitemap):" in str(second.code)


class TestSections:
    def test_are_also_those_of_dicts_in_the_urlconf(self, settings: Any) -> None:
        urls = ModuleType("urls")
        contribs = {"contrib": type("Old", (ContribSitemap,), {}), "other": sitemap(Entry)}
        urls.urlpatterns = [  # type: ignore[attr-defined]
            path("", include("django_sitemaps09.urls"), {"sitemaps": {"native": sitemap(Entry)}}),
            path("sitemap.xml", contrib_views.sitemap, {"sitemaps": contribs}),
        ]
        settings.ROOT_URLCONF = urls
        settings.SITEMAPS09 |= {"SITEMAPS": f"{__name__}.SECTIONS"}
        found = suggest()
        assert {suggestion.section for suggestion in found} == {"setting", "native", "contrib", "other"}
        [native] = [suggestion for suggestion in found if suggestion.section == "setting"]
        assert native.notes == ("All hooks are constants or expressions.",)


SECTIONS = {"setting": sitemap(Entry, location=SLUG)}


class TestSectionsWithoutASuggestion:
    @pytest.mark.parametrize(
        ("section", "note"),
        [
            (sitemap(Entry, location=SLUG), "All hooks are constants or expressions."),
            (type("Pages", (StaticViewSitemap,), {"viewnames": []}), "items() does not return a queryset"),
            (
                sitemap(Entry, items=lambda self: list(Entry.objects.all())),
                "items() returns a list of rows. Return the queryset instead",
            ),
            (
                sitemap(Entry, items=lambda self: Entry.objects.values()),
                "items() does not return a queryset",
            ),
            (
                sitemap(Entry, get_urls=lambda self, *args, **kwargs: []),
                "The section is read through get_urls(), because BlogSitemap overrides get_urls.",
            ),
            (
                type("Old", (ContribSitemap,), {"items": lambda self: Entry.objects.all()}),
                "because Old does not inherit from django_sitemaps09's Sitemap.",
            ),
            (
                lambda: ContribGenericSitemap({"queryset": Entry.objects.all()}),
                "because GenericSitemap does",
            ),
            (sitemap(Entry, items=lambda self: 1 / 0), "ZeroDivisionError: division by zero"),
            (ModelSitemap, "ModelSitemap has no queryset"),
        ],
    )
    def test_say_why(self, section: Any, note: str) -> None:
        found = suggestion(section)
        assert found.code is None
        assert note in " ".join(found.notes)

    def test_a_queryset_with_rows_of_other_classes_has_none(self) -> None:
        class Rows(QuerySet[Any]):
            def __init__(self, *args: Any, **kwargs: Any) -> None:
                super().__init__(*args, **kwargs)
                self._iterable_class = type("Iterable", (ModelIterable,), {})

        found = suggestion(sitemap(Entry, queryset=Rows(Entry)))
        assert found.notes == ("items() does not return a queryset of model instances.",)

    def test_an_attribute_that_only_instances_have_is_not_known(self) -> None:
        rows = Entry.objects.prefetch_related(Prefetch("labels", to_attr="all_labels"))
        section = sitemap(
            Entry,
            location=SLUG,
            queryset=rows,
            priority=lambda self, item: 0.9 if getattr(item, "all_labels", None) else 0.1,
        )
        [note] = suggestion(section).notes
        assert note.endswith(": uses `item.all_labels`.")


class NotAllRows(Manager[Any]):
    """A manager that hides rows."""


def is_public(self: Any, item: Any) -> float:
    # The code recognizes the stand-in.
    return 0.9 if getattr_static(item, "public", False) else 0.1


class TestTheProof:
    def test_a_second_url_for_items_without_a_first_one_is_not_overlooked(self) -> None:
        """No item of a sample may need the second URL."""

        class Fallback(ModelSitemap[Entry]):
            model = Entry

            def location(self, item: Entry) -> str:
                try:
                    return reverse("entry", kwargs={"slug": item.slug})
                except NoReverseMatch:
                    return reverse("number", args=[item.pk])

        found = suggestion(Fallback)
        assert found.code is None
        assert "catches errors from reverse()" in found.notes[0]

    def test_a_field_whose_instances_have_other_values_is_no_column(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(Entry, "slug", property(lambda self: "another", lambda self, value: None))
        found = suggestion(sitemap(Entry))
        assert "uses `self.slug`, which is not a plain field" in found.notes[0]

    def test_a_field_with_a_descriptor_of_its_own_is_no_column(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It can change values that are not in the sample."""

        class Moved(DeferredAttribute):
            def __get__(self, instance: Any, cls: Any = None) -> Any:
                value = super().__get__(instance, cls)
                return "new" if value == "old" else value

        field: Any = Entry._meta.get_field("slug")
        monkeypatch.setattr(field, "descriptor_class", Moved)
        monkeypatch.setattr(Entry, "slug", Moved(field))
        found = suggestion(sitemap(Entry))
        assert "uses `self.slug`, which is not a plain field" in found.notes[0]

    def test_a_relation_that_can_hide_rows_is_not_followed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        class Named(ModelSitemap[Entry]):
            model = Entry

            def location(self, item: Entry) -> str:
                return reverse("author-entry", args=(item.author.name, item.pk))

        assert suggestion(Named).code is not None
        monkeypatch.setattr(Author._meta, "base_manager", NotAllRows())
        found = suggestion(Named)
        assert found.code is None
        assert "whose model has its own base manager" in found.notes[0]

    def test_a_difference_shows_both_values_with_the_key_and_does_not_prevent_other_hooks(
        self, entries: list[Entry]
    ) -> None:
        found = suggestion(sitemap(Entry, priority=is_public))
        assert found.hooks == ("location",)
        [note] = found.notes
        assert note.startswith("priority stays a method: 0.1 cannot replace it: item ")
        different = next(entry for entry in entries if entry.public)
        assert f"item {different.pk} is <url><loc>" in note
        now, would_be = note.split(" now, but would be ")
        assert "<priority>0.9</priority>" in now
        assert "<priority>0.1</priority>" in would_be

    def test_an_item_that_only_one_declaration_writes_is_a_difference(self, entries: list[Entry]) -> None:
        """For an entry without a section, the method fails, but the URL of the column contains None."""
        found = suggestion(sitemap(blog.SectionRequired))
        assert found.code is None
        [note] = found.notes
        without = next(entry for entry in entries if entry.section is None)
        assert f"cannot replace it: item {without.pk} is skipped now, but would be <url>" in note

    def test_a_field_that_could_be_null_is_named_if_no_row_has_null(self) -> None:
        rows = blog.SectionRequired.objects.filter(section__isnull=False)
        found = suggestion(sitemap(blog.SectionRequired, queryset=rows))
        assert found.hooks == ("location",)
        assert found.notes == (
            "No item has NULL in `section`. For such an item, the method raises an error, and the "
            "item is skipped. The declaration would write None into its URL.",
        )

    def test_a_sample_always_has_rows_with_null_and_all_items_are_compared_on_request(self) -> None:
        first = Entry.objects.get(slug="S-1")
        fields = {name: getattr(first, name) for name in ("author", "section", "day", "created")}
        Entry.objects.filter(section__isnull=True).delete()
        rows = [Entry(slug=f"x-{number}", number=0, **fields) for number in range(400)]
        Entry.objects.bulk_create(rows)
        lone = Entry.objects.get(slug="x-200")
        Entry.objects.filter(pk=lone.pk).update(section=None)
        section = sitemap(blog.SectionRequired)
        for options in ({"sample": 20}, {"sample": None}):
            [note] = suggestion(section, **options).notes
            assert f"item {lone.pk} is skipped now" in note
        Entry.objects.filter(pk=lone.pk).delete()
        assert suggestion(section, sample=20).items == 20
        assert suggestion(section, sample=None).items == Entry.objects.count() > 400

    def test_a_row_that_differs_outside_the_sample_is_found_among_all_items(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(section_proof, "_PARTS", 2)
        monkeypatch.setattr(section_proof, "SAMPLE", 4)
        Entry.objects.update(public=False)
        different = Entry.objects.order_by("pk")[10]
        Entry.objects.filter(pk=different.pk).update(public=True)
        section = sitemap(Entry, location=SLUG, priority=is_public)
        assert suggestion(section, sample=4).items == 4
        found = suggestion(section, sample=None)
        assert found.code is None
        assert found.notes[0].startswith(
            f"The columns cannot replace the methods: item {different.pk} is <url>"
        )

    def test_a_column_that_the_database_cannot_compute_does_not_prevent_the_others(self) -> None:
        section = sitemap(
            Entry,
            lastmod=lambda self, item: item.day if item.updated is None else item.updated,
            priority=lambda self, item: 0.5,
        )
        found = suggestion(section)
        assert found.hooks == ("location", "priority")
        assert found.notes[0].startswith(
            'lastmod stays a method: Coalesce(F("updated"), F("day")) cannot replace it: '
        )

    def test_nothing_is_suggested_without_rows(self) -> None:
        found = suggestion(sitemap(Entry, queryset=Entry.objects.filter(number__gt=1_000)))
        assert found.code is None
        assert "There is no item to compare" in found.notes[0]

    def test_a_slice_is_compared_up_to_the_size_of_the_sample(self) -> None:
        section = sitemap(Entry, queryset=Entry.objects.order_by("pk")[:15])
        assert [suggestion(section, sample=size).items for size in (5, None)] == [5, 15]

    def test_the_time_per_url_is_measured_for_at_least_100_urls(self) -> None:
        assert suggestion(BlogSitemap).microseconds is None
        first = Entry.objects.get(slug="S-1")
        fields = {name: getattr(first, name) for name in ("author", "section", "day", "created")}
        Entry.objects.bulk_create(Entry(slug=f"x-{number}", number=0, **fields) for number in range(300))
        before, after = suggestion(sitemap(Entry)).microseconds or (0, 0)
        assert 0 < after < before


class TestSideEffects:
    def test_changes_are_rolled_back(self) -> None:
        def lastmod(self: Any, item: Any) -> Any:
            return item.updated

        class Counting(ModelSitemap[Entry]):
            model = Entry
            location = SLUG

            def get_queryset(self) -> QuerySet[Entry]:
                return super().get_queryset()

            def priority(self, item: Entry) -> float:
                if item.number:
                    Label.objects.filter(name="first").update(name="changed")
                return 0.5

        Counting.lastmod = lastmod  # type: ignore[method-assign, assignment]
        found = suggestion(Counting)
        assert "lastmod = F(" in found.notes[-1]
        assert Label.objects.get().name == "first"

    def test_changes_in_items_are_rolled_back(self) -> None:
        class Counting(BlogSitemap):
            def items(self) -> QuerySet[Entry]:
                Label.objects.update(name="changed")
                return Entry.objects.order_by("pk")

        assert suggestion(Counting).hooks
        assert Label.objects.get().name == "first"

    def test_a_value_that_a_method_caches_is_not_a_symbol(self) -> None:
        @lru_cache
        def root() -> str:
            return reverse("entry", kwargs={"slug": "root"})

        class Rooted(ModelSitemap[Entry]):
            model = Entry

            def location(self, item: Entry) -> str:
                return f"{root()}{item.slug}/"

        code = str(suggestion(Rooted).code)
        assert 'location = PathTemplate("/entries/root/{slug}/", slug=F("slug"))' in code
        # The function is not the project's own, so it can return anything.
        assert re.search("# As it was at .+ UTC, because .+, uses `root`", code)
        assert root() == reverse("entry", kwargs={"slug": "root"})
        assert root.cache_info().misses == 1

    def test_a_hook_that_saves_rows_is_not_called_for_other_hooks(self) -> None:
        class Saving(ModelSitemap[Entry]):
            model = Entry

            def priority(self, item: Entry) -> float:
                if item.number:
                    item.save()
                return 0.5

        found = suggestion(Saving)
        assert found.hooks == ("location",)
        [note] = found.notes
        assert note.endswith("depends on the value of `item.number`.")

    def test_a_location_that_saves_rows_ends_the_proof(self) -> None:
        class Saving(BlogSitemap):
            def location(self, item: Entry) -> str:
                if item.number:
                    item.save()
                return item.get_absolute_url()

        found = suggestion(Saving)
        assert found.code is None
        assert found.notes == ("A hook saves or deletes Entry objects.",)

    def test_tracing_queries_nothing_else(self) -> None:
        """One query reads an item, to see which attributes it has."""
        with CaptureQueriesContext(connection) as queries:
            found = suggestion(sitemap(blog.Branch))
        assert found.code is None
        assert len([query["sql"] for query in queries if "blog_entry" in query["sql"]]) == 1


def test_the_stand_in_is_an_instance_of_the_model_but_no_row() -> None:
    def priority(self: Any, item: Any) -> float:
        if isinstance(item, Model) and isinstance(item.author, blog.Author) and item:
            return 0.5
        return 0.1

    assert "priority = 0.5" in str(suggestion(sitemap(Entry, location=SLUG, priority=priority)).code)


class Tracked(Entry):
    """A model that keeps the original slug of each instance."""

    class Meta:
        proxy = True
        app_label = "blog"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.original = self.slug


def failing(error: type[Exception]) -> Any:
    def lastmod(self: Any, item: Any) -> Any:
        raise error("no lastmod")

    return lastmod


class TestHooksThatAreNotDeclared:
    @pytest.mark.parametrize(
        ("lastmod", "words"),
        [
            (lambda self, item: timezone.now(), "returns an object of type datetime"),
            (
                lambda self, item: "2026" if item.updated is None else item.updated,
                'Coalesce(F("updated"), Value("2026")) cannot replace it',
            ),
            *((failing(error), "no lastmod") for error in (ImproperlyConfigured, ValueError, KeyError)),
        ],
        ids=["the time", "another type", "ImproperlyConfigured", "ValueError", "KeyError"],
    )
    def test_do_not_prevent_others(self, lastmod: Any, words: str) -> None:
        found = suggestion(sitemap(Entry, lastmod=lastmod))
        assert found.hooks == ("location",)
        assert words in found.notes[0]

    def test_are_called_where_the_declaration_has_no_gain(self) -> None:
        section = sitemap(
            Entry,
            location=lambda self, item: item.get_absolute_url() if item.public else "/",
            lastmod=lambda self, item: item.updated,
            changefreq=lambda self, item: "daily",
        )
        found = suggestion(section)
        assert found.code is None
        assert found.notes[-1] == (
            'No gain by itself: lastmod = F("updated") and changefreq = "daily", because model instances '
            "are still created for location()."
        )

    def test_can_save_queries_for_related_objects(self) -> None:
        section = sitemap(
            Entry,
            location=lambda self, item: item.get_absolute_url() if item.public else "/",
            lastmod=lambda self, item: item.author.changed,
        )
        assert suggestion(section).hooks == ("lastmod",)


def test_a_suggestion_that_was_not_faster_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sample, "microseconds", lambda self, sitemap: 5.0)
    assert suggestion(sitemap(Entry)).notes == ("No gain by itself, as measured.",)


def test_the_line_that_catches_errors_is_the_line_of_the_model() -> None:
    def get_absolute_url(self: Any) -> str:
        try:
            return reverse("entry", kwargs={"slug": self.slug})
        except NoReverseMatch:
            return "/"

    section = sitemap(Entry, location=lambda self, item: get_absolute_url(item))
    line = getsourcelines(get_absolute_url)[1] + 2
    assert suggestion(section).notes[0].endswith(f"line {line}: catches errors from reverse().")


def test_callbacks_of_the_garbage_collector_are_not_a_part_of_a_hook() -> None:
    """They run whenever enough objects exist. Test tools have such callbacks."""

    def callback(phase: str, info: object) -> None:
        try:
            calls.append(phase)
        except RecursionError:  # pragma: no cover
            calls.clear()

    def location(self: Any, item: Entry) -> str:
        return f"/{item.slug}/" if [[] for _ in range(50)] else ""

    calls: list[str] = []
    thresholds = gc.get_threshold()
    gc.callbacks.append(callback)
    gc.set_threshold(1)
    try:
        found = suggestion(sitemap(Entry, location=location))
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(callback)
    assert calls
    assert found.hooks == ("location",)


def test_functions_that_an_import_runs_are_not_a_part_of_a_hook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first reverse() of a process imports the URLconf, for example."""
    code = "def load():\n    try:\n        {}['a']\n    except KeyError:\n        return '/'\nload()\n"
    (tmp_path / "imported_by_a_hook.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)

    def location(self: Any, item: Entry) -> str:
        import_module("imported_by_a_hook")
        return f"/{item.slug}/"

    try:
        assert suggestion(sitemap(Entry, location=location)).hooks == ("location",)
    finally:
        sys.modules.pop("imported_by_a_hook", None)


def test_methods_that_run_for_each_instance_are_named() -> None:
    assert suggestion(sitemap(Tracked)).notes == (
        "Columns do not run Tracked.__init__(), which can change the values of instances.",
    )


def test_the_entry_of_a_dict_is_shown_for_a_generic_sitemap() -> None:
    [found] = suggest(sitemaps={"categories": GenericSitemap({"queryset": Entry.objects.all()})})
    assert "class CategoriesSitemap(GenericSitemap):" in str(found.code)
    assert found.notes == (
        'The entry of the section becomes "categories": CategoriesSitemap(...), with the same arguments.',
    )


SIZES = {"big": 0.8}


def of_clock(self: Any, item: Any) -> float:
    return 0.9 if timezone.now().minute < 60 else 0.4


def of_setting(self: Any, item: Any) -> float:
    return float(getattr(settings, "MISSING", 0.4))


def of_cache(self: Any, item: Any) -> float:
    return float(cache.get("missing", 0.4))


def of_dict(self: Any, item: Any) -> float:
    return SIZES["big"]


def of_import(self: Any, item: Any) -> float:
    import random

    return 0.4 if random.random() < 2 else 0.9  # noqa: S311 not secret


class TestConstants:
    def named(self, priority: Any) -> list[str]:
        """Return the declaration of a priority with the line above it."""
        section = sitemap(Entry, location=SLUG, priority=priority)
        code = str(suggestion(section).code).splitlines()
        position = next(number for number, line in enumerate(code) if "priority = " in line)
        return [line.strip() for line in code[position - 1 : position + 1]]

    def test_of_the_code_have_no_comment(self) -> None:
        def priority(self: Any, item: Any) -> float:
            return 0.5

        assert self.named(priority) == ["class BlogSitemap(BaseBlogSitemap):", "priority = 0.5"]

    @pytest.mark.parametrize(
        ("method", "name"),
        [
            (of_clock, "timezone"),
            (of_setting, "settings"),
            (of_cache, "cache"),
            (of_dict, "SIZES"),
            (of_import, "random"),
        ],
    )
    def test_that_were_computed_have_a_comment_with_the_time(self, method: Any, name: str) -> None:
        comment, declaration = self.named(method)
        assert declaration.startswith("priority = 0.")
        assert re.fullmatch(
            rf"# As it was at \d+-\d\d-\d\d \d\d:\d\d UTC, because .*{method.__name__}, line \d+, "
            rf"uses `{name}`\.",
            comment,
        )

    def test_that_a_method_of_the_model_computes_have_a_comment_too(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def get_absolute_url(self: Any) -> str:
            return f"/{timezone.now().year}/{self.slug}/"

        monkeypatch.setattr(Entry, "get_absolute_url", get_absolute_url)
        assert "uses `timezone`" in str(suggestion(sitemap(Entry)).code)


class TestTimeZones:
    """Instances have times in the zone of the connection, whatever the current time zone is."""

    @pytest.fixture(params=[None, "America/New_York", "Asia/Kolkata"])
    def zone(self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
        if request.param and connection.vendor != "sqlite":
            pytest.skip("a server needs another connection")
        monkeypatch.setitem(connection.settings_dict, "TIME_ZONE", request.param)
        own = connections[connection.alias]
        for name in ("timezone", "timezone_name"):
            monkeypatch.setitem(vars(own), name, getattr(type(own), name).func(own))
        return request.param or "UTC"

    def test_dates_are_those_of_instances(self, zone: str) -> None:
        section = sitemap(
            Entry,
            location=lambda self, item: f"/{item.created.year}/{item.created.day}/{item.slug}/",
            lastmod=lambda self, item: item.created.date(),
        )
        found = suggestion(section)
        assert found.hooks == ("location", "lastmod"), found.notes
        assert f'TruncDate("created", tzinfo=ZoneInfo("{zone}"))' in str(found.code)


def test_strings_of_code_without_source_are_refused() -> None:
    names: dict[str, Any] = {}
    exec("def location(self, item):\n    return f'/{item.slug}/'", names)  # noqa: S102 our own code
    [note] = suggestion(sitemap(Entry, location=names["location"])).notes
    assert note.endswith("creates a string from `item.slug` in a function without source code.")
