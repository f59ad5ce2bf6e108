"""Checks of `site_field`: it must be a relation to `Site`."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.flatpages.models import FlatPage
from django.contrib.sites.models import Site
from django.db.models import CASCADE, CharField, ForeignKey, Model, OneToOneField
from django.test import override_settings
from django.test.utils import isolate_apps

from tests.models import Article, Tag
from tests.support.checking import SLUG, WITHOUT_SITES, declaration, ids, takes, unread

pytestmark = pytest.mark.usefixtures("nothing_is_asked")


@isolate_apps("tests")
def related(field: Any) -> type[Model]:
    class Offer(Model):
        site = field
        name = CharField(max_length=20)

        class Meta:
            app_label = "tests"

    return Offer


@pytest.mark.parametrize(
    ("model", "name", "expected"),
    [
        (FlatPage, "sites", []),
        (FlatPage, "title", ["E055"]),
        (FlatPage, "site", ["E055"]),
        (FlatPage, "sites__domain", ["E055"]),
        (FlatPage, 7, ["E055"]),
        (FlatPage, property(unread), []),
        (related(ForeignKey(Site, CASCADE)), "site", []),
        (related(OneToOneField(Site, CASCADE)), "site", []),
        (related(ForeignKey(Site, CASCADE)), "name", ["E055"]),
        (related(ForeignKey(Tag, CASCADE)), "site", ["E055"]),
        # Django's own checks report the missing model.
        (related(ForeignKey("nowhere.Site", CASCADE)), "site", []),
        (Article, "visits", ["E055"]),
    ],
)
def test_a_site_field_must_be_a_relation_to_site(model: Any, name: Any, expected: list[str]) -> None:
    assert ids(declaration(model=model, location=takes, site_field=name)) == expected
    unknown = declaration(model=model, location=takes, site_field=name, get_queryset=unread)
    assert ids(unknown) == (expected if name == 7 else [])


@override_settings(INSTALLED_APPS=WITHOUT_SITES)
def test_a_site_field_needs_the_sites_framework() -> None:
    assert ids(declaration(location=SLUG, site_field="site")) == ["E055"]
    assert ids(declaration(location=SLUG, site_field=None)) == []
