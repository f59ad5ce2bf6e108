"""Code that mypy must reject: with `strict`, an unused `type: ignore` is an error."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from django.contrib.auth.models import User
from django.contrib.flatpages.models import FlatPage
from django.db.models import F, QuerySet

from django_sitemaps09 import GenericSitemap, ModelSitemap, PathTemplate, Route, StaticViewSitemap, register
from django_sitemaps09.export import export, export_hosts, verify

others: QuerySet[FlatPage] = FlatPage.objects.all()


class Attributes(ModelSitemap[User]):
    model = FlatPage  # type: ignore[assignment]
    queryset = others  # type: ignore[assignment]
    key = F("username")  # type: ignore[assignment]
    location = 7  # type: ignore[assignment]
    lastmod = "2026-01-31"  # type: ignore[assignment]
    changefreq = 7  # type: ignore[assignment]
    priority = "high"  # type: ignore[assignment]

    def get_queryset(self) -> QuerySet[FlatPage]:  # type: ignore[override]
        return others


class RoutesElsewhere(ModelSitemap[User]):
    lastmod = Route("profile", name=F("username"))  # type: ignore[assignment]
    changefreq = PathTemplate("/{name}/", name=F("username"))  # type: ignore[assignment]


class OtherItems(ModelSitemap[User]):
    def location(self, item: FlatPage) -> str:  # type: ignore[override]
        return item.url

    def lastmod(self, item: FlatPage) -> date | None:  # type: ignore[override]
        return None

    def changefreq(self, item: FlatPage) -> str:  # type: ignore[override]
        return "daily"

    def priority(self, item: FlatPage) -> float:  # type: ignore[override]
        return 0.5


class OtherValues(ModelSitemap[User]):
    def location(self, item: User) -> str | None:  # type: ignore[override]
        return None

    def lastmod(self, item: User) -> str:  # type: ignore[override]
        return "2026-01-31"

    def changefreq(self, item: User) -> int:  # type: ignore[override]
        return 7

    def priority(self, item: User) -> str:  # type: ignore[override]
        return "high"


class Views(StaticViewSitemap):
    viewnames = [1, 2]  # type: ignore[list-item]

    def location(self) -> str:  # type: ignore[override]
        return "/"


class NoModel(ModelSitemap[str]):  # type: ignore[type-var]
    pass


Route(7)  # type: ignore[arg-type]
Route()  # type: ignore[call-arg]
Route(viewname="profile")  # type: ignore[call-arg]
PathTemplate(7)  # type: ignore[arg-type]
PathTemplate()  # type: ignore[call-arg]
PathTemplate("/{}/", F("username"))  # type: ignore[arg-type]
register()  # type: ignore[call-overload]
register(7, Views)  # type: ignore[call-overload]
GenericSitemap[User]()  # type: ignore[call-arg]
export(output=7)  # type: ignore[arg-type]
export(["profiles"], Path("public"))  # type: ignore[call-arg]
export(compress=True)  # type: ignore[call-arg]
export(strict="yes")  # type: ignore[arg-type]
export_hosts()  # type: ignore[call-arg]
export_hosts([7])  # type: ignore[list-item]
export_hosts(["https://a.example"], [], "public")  # type: ignore[call-arg]
export_hosts(["https://a.example"], base_url="https://a.example")  # type: ignore[call-arg]
verify(dry_run=True)  # type: ignore[call-arg]
Attributes().default_location(FlatPage())  # type: ignore[arg-type]
