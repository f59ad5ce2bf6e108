"""Suggestions for sections: what is read, what is refused, and what is compared."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace

import pytest
from django.contrib import sitemaps as contrib
from django.contrib.sitemaps import views
from django.core.exceptions import ImproperlyConfigured
from django.db.models import F, Manager, Prefetch, QuerySet, SlugField
from django.db.models.lookups import Exact
from django.db.models.query import ModelIterable
from django.db.models.query_utils import DeferredAttribute
from django.db.models.signals import post_init
from django.test.utils import register_lookup
from django.urls import include, path, reverse

from django_sitemaps09 import GenericSitemap, ModelSitemap, Route, StaticViewSitemap
from django_sitemaps09.tools.suggestions import compare, section_suggestions, suggest
from tests.models import Child
from tests.support.factories import ArticleFactory
from tests.support.sections import declare
from tests.tools.suggestions.blog.models import Author, Entry, Section
from tests.tools.suggestions.blog.rows import entries, sitemap, suggestion

__all__ = ["entries"]

pytestmark = [
    pytest.mark.urls("tests.tools.suggestions.blog.urls"),
    pytest.mark.sitemaps09(SITEMAPS=f"{__name__}.SECTIONS"),
    pytest.mark.django_db,
]

SLUG = Route("entry", slug=F("slug"))
SECTIONS = {"setting": sitemap(location=SLUG)}


class ByAuthor(ModelSitemap):
    model = Entry

    def location(self, item):
        return reverse("author-entry", args=(item.author.name, item.pk))


class BySection(ModelSitemap):
    queryset = Entry.objects.filter(number=-1)

    def location(self, item):
        return f"/s/{item.slug}/" if item.section else f"/n/{item.slug}/"


def nothing(self, name):
    raise AttributeError(name)


class OtherRows(QuerySet):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._iterable_class = type("Iterable", (ModelIterable,), {})


def evaluated_items(self):
    rows = Entry.objects.all()
    return rows if len(rows) else None


class Calling(type):
    def __call__(cls, *args):
        return super().__call__(*args)


def refusal(section):
    found = suggestion(section)
    assert found.code is None
    return found.notes[0]


def test_sections_are_those_of_the_setting_and_of_dicts_in_the_urlconf(settings):
    urls, contribs = ModuleType("urls"), {"contrib": declare(contrib.Sitemap), "other": sitemap()}
    urls.urlpatterns = [
        path("", include("django_sitemaps09.urls"), {"sitemaps": {"native": sitemap()}}),
        path("sitemap.xml", views.sitemap, {"sitemaps": contribs}),
    ]
    settings.ROOT_URLCONF = urls
    found = {suggestion.section: suggestion for suggestion in suggest()}
    assert {*found} == {"setting", "native", "contrib", "other"}
    assert found["setting"].notes == ("All hooks are constants or expressions.",)


NO_QUERYSET = "does not return a plain queryset"


@pytest.mark.parametrize(("section", "note"), [
    (declare(StaticViewSitemap, viewnames=[]), NO_QUERYSET),
    (sitemap(items=lambda self: list(Entry.objects.all())), NO_QUERYSET),
    (sitemap(items=lambda self: Entry.objects.values()), NO_QUERYSET),
    (sitemap(items=evaluated_items), NO_QUERYSET),
    (sitemap(queryset=Entry.objects.union(Entry.objects.all())), NO_QUERYSET),
    (sitemap(items=lambda self: OtherRows(Entry)), NO_QUERYSET),
    (sitemap(get_urls=lambda self, **kwargs: []), "BlogSitemap overrides get_urls"),
    (declare(contrib.Sitemap), "because Declared does not inherit from django_sitemaps09's Sitemap."),
    (lambda: contrib.GenericSitemap({"queryset": Entry.objects.all()}), "because GenericSitemap does"),
    (sitemap(items=lambda self: 1 / 0), "ZeroDivisionError: division by zero"),
    (ModelSitemap, "ModelSitemap has no queryset"),
    (sitemap(__getattr__=nothing), "BlogSitemap: has its own __getattr__"),
    (Calling("Called", (sitemap(),), {}), "Called: has its own metaclass"),
], ids=iter("abcdefghijklmnop"))  # fmt: skip
def test_a_section_without_a_suggestion_has_a_reason(section, note):
    assert note in refusal(section)


def test_a_generic_sitemap_has_its_date_field_and_a_section_without_rows_a_suggestion():
    rows = {"queryset": Entry.objects.all(), "date_field": "updated"}
    assert suggestion(GenericSitemap(rows)).hooks == ("location", "lastmod")
    found = suggestion(GenericSitemap(rows | {"date_field": "number"}))
    assert found.notes[0] == "lastmod stays a method: its value is integer."
    found = suggestion(sitemap(queryset=Entry.objects.filter(number__gt=1_000)))
    assert (found.hooks, found.comparison) == (("location",), section_suggestions.Comparison())


class Moved(DeferredAttribute):
    def __get__(self, instance, cls=None):
        return {"old": "new"}.get(str(super().__get__(instance, cls)))


CHANGES = ", which can change attributes."
OWN = [(Entry, name) for name in ("__init__", "from_db", "__getattribute__", "__getattr__", "pk")]
OWN += [(Section, name) for name in ("__bool__", "__len__")]


@pytest.mark.parametrize(("owner", "name", "value", "note"), [
    *((owner, name, nothing, f"{owner.__name__}: has its own {name}{CHANGES}") for owner, name in OWN),
    (Entry, "slug", property(lambda self: "other"), ": is a lambda."),
    (Entry, "slug", Moved(Entry._meta.get_field("slug")), "of `self`: `item.slug`."),
], ids=[*(name for _, name in OWN), "property", "descriptor"])  # fmt: skip
def test_a_model_that_can_give_an_instance_other_values_is_not_read(monkeypatch, owner, name, value, note):
    assert suggestion(BySection).hooks == ("location",)
    with monkeypatch.context() as patched:
        patched.setattr(owner, name, value, raising=False)
        found = suggestion(BySection)
    [only] = found.notes
    assert (found.code, only.startswith("location stays a method: ")) == (None, True)
    assert only.endswith(note)


def test_a_model_with_a_receiver_or_rows_with_lookups_or_columns_of_a_project_are_not_read():
    def receive(instance, **kwargs):
        instance.slug = "changed"

    post_init.connect(receive, sender=Entry)
    try:
        assert "Entry: has its own post_init receiver" in refusal(sitemap())
    finally:
        post_init.disconnect(receive, sender=Entry)
    section = sitemap(queryset=Entry.objects.extra(select={"slug": "UPPER(slug)"}))
    assert "reads what is not a plain field" in refusal(section)
    with register_lookup(SlugField, type("Blind", (Exact,), {"__module__": __name__}), lookup_name="exact"):
        assert "reads what is not a plain field" in refusal(sitemap())
    assert suggestion(sitemap()).hooks == ("location",)


def test_related_objects_that_can_be_others_are_not_followed(monkeypatch, settings, entries):
    def is_refused(rows):
        found = suggestion(declare(ByAuthor, queryset=rows))
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


def test_a_table_that_django_does_not_manage_can_have_null_everywhere(monkeypatch):
    monkeypatch.setattr(Entry._meta, "managed", False)
    assert "passes what can be NULL to" in refusal(sitemap())


class Children(ModelSitemap):
    model = Child

    def location(self, item):
        return f"/{item.pk}/{item.name}/"


@pytest.mark.urls("tests.urls")
def test_a_model_that_inherits_from_another_table_is_read():
    assert 'PathTemplate("/{pk}/{name}/"' in suggestion(Children).code


def overridden(entry):
    return f"/override/{entry.slug}/"


def test_a_method_that_a_setting_or_an_object_overrides_is_read_if_it_is_a_function(monkeypatch):
    """`ABSOLUTE_URL_OVERRIDES` sets them on the model."""
    monkeypatch.setattr(Entry, "get_absolute_url", overridden)
    assert 'PathTemplate("/override/{slug}/"' in suggestion(sitemap()).code
    monkeypatch.setattr(Entry, "get_absolute_url", lambda entry: f"/{entry.slug}/")
    assert "is a lambda" in refusal(sitemap())
    monkeypatch.setattr(Entry, "get_absolute_url", None)
    assert "is not a plain function" in refusal(sitemap())
    section = sitemap()()
    section.location = lambda item: "/"
    assert "is not a plain function of the class" in refusal(section)


def test_a_method_that_an_edited_file_no_longer_has_is_not_read(tmp_path):
    file, source = tmp_path / "edited.py", "def location(self, item):\n    return f'/{item.slug}/'\n"
    file.write_text(source, encoding="utf-8")
    names = {"__name__": "edited"}
    exec(compile(source, str(file), "exec", dont_inherit=True), names)  # noqa: S102 our own code
    section = sitemap(location=names["location"])
    assert suggestion(section).hooks == ("location",)
    file.write_text(source.replace("/{item", "/new/{item"), encoding="utf-8")
    assert "or is not the code that runs" in refusal(section)
    file.unlink()
    assert "its source is not available" in refusal(section)


def test_a_declaration_that_differs_on_a_row_is_not_printed(monkeypatch):
    monkeypatch.setattr(section_suggestions, "declaration", lambda code: Route("number", F("pk")))
    found = suggestion(sitemap())
    note = 'The columns do not have the values of the methods: location = Route("entry", slug=F("slug")).'
    assert (found.code, found.notes, len(found.comparison.differences)) == (None, (note,), 3)
    key, first = min(Entry.objects.values_list("pk", flat=True)), found.comparison.differences[0]
    assert first.startswith(f"row {key} is <url><loc>https://www.example.com/entries/S-0/</loc></url>, but")
    assert f"/numbers/{key}/" in first


def test_a_comparison_covers_all_rows_or_the_first(monkeypatch):
    monkeypatch.setattr(section_suggestions, "_ROWS", 7)
    for rows, *expected in (None, 20), (20, 20), (16, 16, False), (3, 3, False):
        assert suggestion(sitemap(), rows=rows).comparison == section_suggestions.Comparison(*expected)


def test_a_row_that_changes_during_the_comparison_is_read_again(monkeypatch):
    texts, calls = section_suggestions._texts, []

    def changing(*args):
        calls.append(args)
        if len(calls) == 2:
            Entry.objects.update(slug="new")
        return texts(*args)

    monkeypatch.setattr(section_suggestions, "_texts", changing)
    assert (suggestion(sitemap()).comparison, len(calls)) == (section_suggestions.Comparison(20), 4)


def test_two_classes_are_compared_if_they_list_rows_of_one_model():
    with pytest.raises(ImproperlyConfigured, match="list rows by different keys"):
        compare(sitemap(), declare(queryset=type(ArticleFactory()).objects.all(), location=SLUG))
    with pytest.raises(ImproperlyConfigured, match="Declared is read through get_urls"):
        compare(declare(contrib.Sitemap, items=lambda self: Entry.objects.all()), sitemap())
    [difference] = compare(sitemap(), sitemap(queryset=Entry.objects.exclude(slug="S-3"))).differences
    assert "/entries/S-3/" in difference
    assert difference.endswith("but would be skipped")
    assert compare(sitemap(), sitemap(location=SLUG)) == section_suggestions.Comparison(20)
