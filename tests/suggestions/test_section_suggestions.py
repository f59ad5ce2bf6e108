"""Suggestions for sections: what is read, what is refused, and what is compared."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from django.contrib import sitemaps as contrib
from django.contrib.sitemaps import views
from django.core.exceptions import ImproperlyConfigured
from django.db.models import F, Manager, Model, Prefetch, QuerySet, SlugField
from django.db.models.lookups import Exact
from django.db.models.query import ModelIterable
from django.db.models.query_utils import DeferredAttribute
from django.db.models.signals import post_init
from django.test.utils import register_lookup
from django.urls import include, path, reverse

from django_sitemaps09 import GenericSitemap, ModelSitemap, Route, Sitemap, StaticViewSitemap
from django_sitemaps09.suggestions import compare, row_comparison, section_suggestions, suggest
from tests.models import Article, Child
from tests.suggestions.blog.models import Author, Entry, Section
from tests.suggestions.blog.rows import entries, sitemap, suggestion
from tests.support.factories import ArticleFactory

__all__ = ["entries"]

pytestmark = [
    pytest.mark.urls("tests.suggestions.blog.urls"),
    pytest.mark.sitemaps09(),
    pytest.mark.django_db,
]

SLUG = Route("entry", slug=F("slug"))


class BlogSitemap(Sitemap[Entry]):
    changefreq = "daily"

    def items(self) -> QuerySet[Entry]:
        return Entry.objects.order_by("-pk")

    def lastmod(self, item: Entry) -> Any:
        return item.updated

    def priority(self, item: Entry) -> Any:
        return round(item.number / 10)

    def images(self, item: Entry) -> list[Any]:
        raise AssertionError("other methods are not called")


class ByAuthor(ModelSitemap[Entry]):
    model = Entry

    def location(self, item: Entry) -> str:
        return reverse("author-entry", args=(item.author.name, item.pk))


class BySection(ModelSitemap[Entry]):
    queryset = Entry.objects.filter(number=-1)

    def location(self, item: Entry) -> str:
        return f"/s/{item.slug}/" if item.section else f"/n/{item.slug}/"


class OtherRows(QuerySet[Any]):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._iterable_class = type("Iterable", (ModelIterable,), {})


def evaluated_items(self: Any) -> Any:
    rows = Entry.objects.all()
    return rows if len(rows) else None


def refusal(section: Any) -> str:
    """Return the first note of a section without a suggestion."""
    found = suggestion(section)
    assert found.code is None
    return found.notes[0]


def test_the_declarations_are_printed_with_their_imports_and_with_what_stays_a_method() -> None:
    found = suggestion(BlogSitemap)
    assert found.code == (
        "from django.db.models import F\n"
        "from django_sitemaps09 import Route\n"
        "\n"
        'location = Route("entry", slug=F("slug"))\n'
        'lastmod = F("updated")'
    )
    assert found.hooks == ("location", "lastmod")
    assert found.comparison == row_comparison.Comparison(rows=20)
    first, second = found.notes
    assert first.startswith("priority stays a method: BlogSitemap.priority, line ")
    assert first.endswith(": calls `round()`.")
    assert second == "Model instances are still created for priority() and images()."


class TestSections:
    def test_are_also_those_of_dicts_in_the_urlconf(self, settings: Any) -> None:
        urls = ModuleType("urls")
        contribs = {"contrib": type("Old", (contrib.Sitemap,), {}), "other": sitemap(Entry)}
        urls.urlpatterns = [  # type: ignore[attr-defined]
            path("", include("django_sitemaps09.urls"), {"sitemaps": {"native": sitemap(Entry)}}),
            path("sitemap.xml", views.sitemap, {"sitemaps": contribs}),
        ]
        settings.ROOT_URLCONF = urls
        settings.SITEMAPS09 |= {"SITEMAPS": f"{__name__}.SECTIONS"}
        found = suggest()
        assert {suggestion.section for suggestion in found} == {"setting", "native", "contrib", "other"}
        [native] = [suggestion for suggestion in found if suggestion.section == "setting"]
        assert native.notes == ("All hooks are constants or expressions.",)

    @pytest.mark.parametrize(
        ("section", "note"),
        [
            (sitemap(Entry, location=SLUG), "All hooks are constants or expressions."),
            (type("Pages", (StaticViewSitemap,), {"viewnames": []}), "does not return a plain queryset"),
            (
                sitemap(Entry, items=lambda self: list(Entry.objects.all())),
                "does not return a plain queryset",
            ),
            (sitemap(Entry, items=lambda self: Entry.objects.values()), "does not return a plain queryset"),
            (sitemap(Entry, items=evaluated_items), "does not return a plain queryset"),
            (sitemap(Entry, queryset=Entry.objects.union(Entry.objects.all())), "a plain queryset"),
            (sitemap(Entry, items=lambda self: OtherRows(Entry)), "does not return a plain queryset"),
            (sitemap(Entry, get_urls=lambda self, **kwargs: []), "BlogSitemap overrides get_urls"),
            (
                type("Old", (contrib.Sitemap,), {"items": lambda self: Entry.objects.all()}),
                "because Old does not inherit from django_sitemaps09's Sitemap.",
            ),
            (
                lambda: contrib.GenericSitemap({"queryset": Entry.objects.all()}),
                "because GenericSitemap does",
            ),
            (sitemap(Entry, items=lambda self: 1 / 0), "ZeroDivisionError: division by zero"),
            (ModelSitemap, "ModelSitemap has no queryset"),
        ],
        ids=iter("abcdefghijklmnop"),
    )
    def test_without_a_suggestion_have_a_reason(self, section: Any, note: str) -> None:
        assert note in refusal(section)

    def test_of_generic_sitemaps_have_their_date_field(self) -> None:
        rows = {"queryset": Entry.objects.all(), "date_field": "updated"}
        assert suggestion(GenericSitemap(rows)).hooks == ("location", "lastmod")
        rows["date_field"] = "number"
        found = suggestion(GenericSitemap(rows))
        assert found.notes[0] == "lastmod stays a method: its value is integer."

    def test_can_be_without_rows(self) -> None:
        found = suggestion(sitemap(Entry, queryset=Entry.objects.filter(number__gt=1_000)))
        assert found.hooks == ("location",)
        assert found.comparison == row_comparison.Comparison()


SECTIONS = {"setting": sitemap(Entry, location=SLUG)}


class Moved(DeferredAttribute):
    def __get__(self, instance: Any, cls: Any = None) -> Any:
        return {"old": "new"}.get(str(super().__get__(instance, cls)))


def nothing(self: Any, name: str) -> Any:
    raise AttributeError(name)


OWN_NAMES = ("__init__", "from_db", "__getattribute__", "__getattr__", "pk")
TRUTH = ("__bool__", "__len__")
CHANGES = ", which can change attributes."


class TestModels:
    """What can give an instance other values than its row has is refused."""

    @pytest.mark.parametrize(
        ("owner", "name", "value", "note"),
        [
            *((Entry, name, nothing, f": Entry: has its own {name}{CHANGES}") for name in OWN_NAMES),
            *((Section, name, nothing, f": Section: has its own {name}{CHANGES}") for name in TRUTH),
            (Entry, "slug", property(lambda self: "other"), ": is a lambda."),
            (Entry, "slug", Moved(Entry._meta.get_field("slug")), "of `self`: `item.slug`."),
        ],
        ids=[*OWN_NAMES, *TRUTH, "property", "descriptor"],
    )
    def test_with_their_own_attributes_are_not_read(
        self, monkeypatch: pytest.MonkeyPatch, owner: type[Model], name: str, value: Any, note: str
    ) -> None:
        assert suggestion(BySection).hooks == ("location",)
        with monkeypatch.context() as patched:
            patched.setattr(owner, name, value, raising=False)
            found = suggestion(BySection)
        [only] = found.notes
        assert (found.code, only.startswith("location stays a method: ")) == (None, True)
        assert only.endswith(note)

    def test_with_receivers_of_post_init_are_not_read(self) -> None:
        def receive(instance: Any, **kwargs: object) -> None:
            instance.slug = "changed"

        post_init.connect(receive, sender=Entry)
        try:
            assert "Entry: has its own post_init receiver" in refusal(sitemap(Entry))
        finally:
            post_init.disconnect(receive, sender=Entry)

    def test_with_lookups_of_a_project_or_columns_of_extra_are_not_read(self) -> None:
        section = sitemap(Entry, queryset=Entry.objects.extra(select={"slug": "UPPER(slug)"}))
        assert "reads what is not a plain field" in refusal(section)
        blind = type("Blind", (Exact,), {"__module__": __name__})
        with register_lookup(SlugField, blind, lookup_name="exact"):
            assert "reads what is not a plain field" in refusal(sitemap(Entry))
        assert suggestion(sitemap(Entry)).hooks == ("location",)

    def test_whose_related_objects_can_be_others_are_not_followed(
        self, monkeypatch: pytest.MonkeyPatch, settings: Any, entries: list[Entry]
    ) -> None:
        def is_refused(rows: QuerySet[Entry]) -> bool:
            found = suggestion(type("Section", (ByAuthor,), {"queryset": rows}))
            return found.code is None and "`item.author`" in found.notes[0]

        rows = Entry.objects.all()
        assert not is_refused(rows.prefetch_related("labels"))
        assert is_refused(rows.prefetch_related(Prefetch("author", Author.objects.filter(name="x"))))
        assert is_refused(entries[0].author.entry_set.all())
        with monkeypatch.context() as patched:
            patched.setitem(vars(Author._meta), "base_manager", type("NotAllRows", (Manager,), {})())
            assert is_refused(rows)
        with monkeypatch.context() as patched:
            patched.setattr(Entry._meta.get_field("author"), "db_constraint", False)
            assert is_refused(rows)
        settings.DATABASE_ROUTERS = [SimpleNamespace(db_for_read=lambda model, **hints: None)]
        assert is_refused(rows)

    def test_without_a_table_of_django_can_have_null_everywhere(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(Entry._meta, "managed", False)
        assert "passes what can be NULL to" in refusal(sitemap(Entry))

    def test_that_inherit_from_another_table_are_read(self, settings: Any) -> None:
        settings.ROOT_URLCONF = "tests.urls"

        class Children(ModelSitemap[Child]):
            model = Child

            def location(self, item: Child) -> str:
                return f"/{item.pk}/{item.name}/"

        assert 'PathTemplate("/{pk}/{name}/"' in str(suggestion(Children).code)


class TestMethods:
    def test_of_the_setting_are_read_if_they_are_functions(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """`ABSOLUTE_URL_OVERRIDES` sets them on the model."""

        def override(entry: Any) -> str:
            return f"/override/{entry.slug}/"

        monkeypatch.setattr(Entry, "get_absolute_url", override)
        assert 'PathTemplate("/override/{slug}/"' in str(suggestion(sitemap(Entry)).code)
        monkeypatch.setattr(Entry, "get_absolute_url", lambda entry: f"/{entry.slug}/")
        assert "is a lambda" in refusal(sitemap(Entry))
        monkeypatch.setattr(Entry, "get_absolute_url", None)
        assert "is not a plain function" in refusal(sitemap(Entry))

    def test_that_are_set_on_an_object_are_not_read(self) -> None:
        section = sitemap(Entry)()
        section.location = lambda item: "/"
        assert "is not a plain function of the class" in refusal(section)

    def test_of_a_sitemap_with_its_own_attributes_are_not_read(self) -> None:
        assert "BlogSitemap: has its own __getattr__" in refusal(sitemap(Entry, __getattr__=nothing))

    def test_that_an_edited_file_no_longer_has_are_not_read(self, tmp_path: Path) -> None:
        file = tmp_path / "edited.py"
        source = "def location(self, item):\n    return f'/{item.slug}/'\n"
        file.write_text(source, encoding="utf-8")
        names: dict[str, Any] = {"__name__": "edited"}
        exec(compile(source, str(file), "exec", dont_inherit=True), names)  # noqa: S102 our own code
        section = sitemap(Entry, location=names["location"])
        assert suggestion(section).hooks == ("location",)
        file.write_text(source.replace("/{item", "/new/{item"), encoding="utf-8")
        assert "or is not the code that runs" in refusal(section)
        file.unlink()
        assert "its source is not available" in refusal(section)


class TestTheComparison:
    def test_prints_no_declaration_that_differs_on_a_row(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(section_suggestions, "declaration", lambda code: Route("number", F("pk")))
        found = suggestion(sitemap(Entry))
        assert found.code is None
        assert found.notes == (
            'The columns do not have the values of the methods: location = Route("entry", slug=F("slug")).',
        )
        first, *others = (found.comparison or row_comparison.Comparison()).differences
        assert len(others) == 2
        key = min(Entry.objects.values_list("pk", flat=True))
        assert first.startswith(
            f"row {key} is <url><loc>https://www.example.com/entries/S-0/</loc></url>, but"
        )
        assert f"/numbers/{key}/" in first

    def test_covers_all_rows_or_the_first(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(row_comparison, "_ROWS", 7)
        for rows, comparison in [
            (None, row_comparison.Comparison(20)),
            (20, row_comparison.Comparison(20)),
            (16, row_comparison.Comparison(16, False)),
            (3, row_comparison.Comparison(3, False)),
        ]:
            assert suggestion(sitemap(Entry), rows=rows).comparison == comparison

    def test_reads_a_row_again_that_changes_meanwhile(self, monkeypatch: pytest.MonkeyPatch) -> None:
        texts = row_comparison._texts
        calls = []

        def changing(*args: Any) -> Any:
            calls.append(args)
            if len(calls) == 2:
                Entry.objects.update(slug="new")
            return texts(*args)

        monkeypatch.setattr(row_comparison, "_texts", changing)
        assert suggestion(sitemap(Entry)).comparison == row_comparison.Comparison(20)
        assert len(calls) == 4

    def test_of_classes_needs_the_same_rows(self) -> None:
        ArticleFactory()
        articles = type("Articles", (ModelSitemap,), {"model": Article, "location": SLUG})
        with pytest.raises(ImproperlyConfigured, match="list rows by different keys"):
            compare(sitemap(Entry), articles)
        old = type("Old", (contrib.Sitemap,), {"items": lambda self: Entry.objects.all()})
        with pytest.raises(ImproperlyConfigured, match="Old is read through get_urls"):
            compare(old, sitemap(Entry))

    def test_of_classes_names_rows_that_only_one_lists(self) -> None:
        fewer = sitemap(Entry, queryset=Entry.objects.exclude(slug="S-3"))
        [difference] = compare(sitemap(Entry), fewer).differences
        assert "/entries/S-3/" in difference
        assert difference.endswith("but would be skipped")
        assert compare(sitemap(Entry), sitemap(Entry, location=SLUG)) == row_comparison.Comparison(20)
