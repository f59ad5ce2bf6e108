"""Checks of the `date_field` of a `GenericSitemap`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib import sitemaps as contrib
from django.core.exceptions import ImproperlyConfigured
from django.db.models import F, Prefetch

from django_sitemaps09 import GenericSitemap
from django_sitemaps09.checks import check_declarations
from django_sitemaps09.export import export
from tests.models import Article

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sitemaps09(ENGINE="serial"),
    pytest.mark.urls("tests.urls"),
]


class TestAGenericSitemap:
    @pytest.mark.parametrize("value", [7, None, []])
    def test_needs_a_dict_with_a_queryset(self, value: Any) -> None:
        with pytest.raises(ImproperlyConfigured, match=f"'queryset', not {type(value).__name__}"):
            GenericSitemap(value)
        with pytest.raises(ImproperlyConfigured, match="'queryset', not QuerySet"):
            GenericSitemap(Article.objects.all())  # type: ignore[arg-type]

    @pytest.mark.parametrize("base", [GenericSitemap, contrib.GenericSitemap], ids=["ours", "contrib"])
    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("modifed", ("W097", "'modifed'.*tests.Article has no such field")),
            ("category__slug", ("W097", "'category__slug'.*tests.Article has no such field")),
            ("", ("W097", "not the name of a field")),
            (7, ("W097", r"7 \(int\)")),
            (["updated"], ("W097", "list")),
            ("slug", ("W099", "'slug', which is a CharField of tests.Article")),
            ("pk", ("W099", "BigAutoField")),
            ("comments", ("W099", "ManyToOneRel")),
            ("text", ("W099", "'text', which is a CharField")),
        ],
    )
    def test_has_a_date_field_that_is_a_date_of_its_rows(
        self, base: Any, name: Any, expected: tuple[str, str]
    ) -> None:
        rows = Article.objects.annotate(text=F("slug"))
        [message] = check_declarations([base({"queryset": rows, "date_field": name})])
        assert message.id == f"sitemaps09.{expected[0]}"
        assert re.search(expected[1], message.msg)

    def test_can_have_an_attribute_that_code_sets(self, monkeypatch: pytest.MonkeyPatch) -> None:
        rows = Article.objects.prefetch_related(Prefetch("comments", to_attr="remarks"))
        assert not check_declarations([GenericSitemap({"queryset": rows, "date_field": "remarks"})])
        wrong = GenericSitemap({"queryset": Article.objects.all(), "date_field": "changed_at"})
        assert len(check_declarations([wrong])) == 1
        with monkeypatch.context() as patched:
            patched.setattr(Article, "from_db", classmethod(lambda cls, *args: cls()))
            assert not check_declarations([wrong])

    def test_names_its_date_field_in_the_export(self, tmp_path: Path) -> None:
        Article.objects.create(slug="a")
        wrong = GenericSitemap({"queryset": Article.objects.all(), "date_field": 7})
        [failure] = export(sitemaps={"s": wrong}, output=tmp_path / "wrong").failures
        assert "`date_field` of GenericSitemap must be the name of a field, not 7 (int)" in failure
        missing = GenericSitemap({"queryset": Article.objects.all(), "date_field": "modifed"})
        [section] = export(sitemaps={"s": missing}, output=tmp_path / "missing").sections
        assert "'Article' object has no attribute 'modifed'" in str(section.errors[0])
