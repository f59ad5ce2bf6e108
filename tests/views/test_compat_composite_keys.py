"""Pages of the compatibility views whose rows have a composite key, and an aggregate over a relation."""

from __future__ import annotations

from typing import Any

import pytest
from django.db.models import Count, F, Max, QuerySet
from django.test import RequestFactory

from django_sitemaps09 import ModelSitemap, PathTemplate, views
from tests.models import Article, Category, Ticket
from tests.support.databases import parameter, require

pytestmark = [pytest.mark.services, pytest.mark.sitemaps09]


def counted(rows: QuerySet[Any]) -> QuerySet[Any]:
    return rows.annotate(articles=Count("category__article"))


DECLARATIONS: dict[str, dict[str, Any]] = {
    "declared": {"lastmod": Max("category__article__updated")},
    "in the queryset": {"queryset": counted(Ticket.objects.all())},
    "in both": {
        "queryset": counted(Ticket.objects.all()),
        "lastmod": Max("category__article__updated"),
    },
    "in a filter": {"queryset": counted(Ticket.objects.all()).filter(articles__gt=1)},
    "in a union": {
        "queryset": counted(Ticket.objects.all()).union(counted(Ticket.objects.filter(number=1)))
    },
    "as values": {"queryset": counted(Ticket.objects.values("category_id", "number"))},
}


@pytest.mark.parametrize("name", DECLARATIONS)
@pytest.mark.parametrize("alias", [parameter(alias) for alias in ("default", "postgresql", "mariadb")])
def test_list_all_rows(alias: str, name: str) -> None:
    require(alias)
    for number in range(3):
        category = Category.objects.using(alias).create(slug=f"c{number}")
        for place in range(4):
            Ticket.objects.using(alias).create(category=category, number=place)
            Article.objects.using(alias).create(slug=f"a{number}{place}", category=category)
    location = PathTemplate("/{a}/{b}/", a=F("category_id"), b=F("number"))
    section = type(
        "Tickets", (ModelSitemap,), {"model": Ticket, "location": location, **DECLARATIONS[name]}
    )
    if "queryset" in DECLARATIONS[name]:
        section.queryset = section.queryset.using(alias)
    else:
        section.queryset = Ticket.objects.using(alias)
    section.limit = 5
    found: set[bytes] = set()
    for page in (1, 2, 3):
        request = RequestFactory().get("/", {"p": page})
        content = views.sitemap(request, {"s": section}).render().content
        found |= {line for line in content.splitlines() if b"<loc>" in line}
    assert len(found) == 12
    assert section().paginator.count == 12
