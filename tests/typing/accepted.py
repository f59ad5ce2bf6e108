"""What users write: declarations with each kind of hook, entries, views, exports and their reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from django.contrib.auth.models import User
from django.contrib.flatpages.models import FlatPage
from django.core.paginator import Paginator
from django.db.models import Case, F, Model, OuterRef, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce, Lower
from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from typing_extensions import assert_type

import django_sitemaps09 as sitemaps09
from django_sitemaps09 import GenericSitemap, ModelSitemap, PathTemplate, Route, Sitemap, register, views
from django_sitemaps09.exceptions import SitemapError
from django_sitemaps09.export import (
    PageFile,
    Published,
    Report,
    SectionReport,
    UrlChange,
    Verification,
    export,
    export_hosts,
    verify,
    verify_hosts,
)

ModelT = TypeVar("ModelT", bound=Model)


class Short(ModelSitemap[User]):
    model = User


@register("profiles")
class Full(ModelSitemap[User]):
    queryset = User.objects.filter(is_active=True)
    key = "username"
    limit = 10_000
    protocol = "https"
    i18n = alternates = x_default = True
    languages = ["en", "de"]
    location = Route("profile", name=F("username"))
    lastmod = F("last_login")
    changefreq = "weekly"
    priority = 0.8


class Constants(ModelSitemap[User]):
    location = "/the-same-for-all/"
    lastmod = date(2026, 1, 31)
    changefreq = "never"
    priority = 1
    protocol = languages = None


class OtherValues(Constants):
    location = "/another-one/"
    lastmod = date(2026, 2, 1)
    changefreq = "daily"
    priority = 0


class OtherTypes(ModelSitemap[User]):
    lastmod = datetime(2026, 1, 31, 10, 30)
    changefreq = None
    priority = Decimal("0.5")


class Expressions(ModelSitemap[User]):
    location = Route("profile", Lower("username"))
    lastmod = Coalesce("last_login", "date_joined")
    changefreq = Case(When(is_active=True, then=Value("daily")), default=Value("never"))
    priority = F("id") / 10


class OtherColumns(Full):
    location = Route("profile", name=Lower("username"))
    lastmod = F("date_joined")


class PathsByLanguage(ModelSitemap[User]):
    i18n = True
    location = {
        "en": PathTemplate("/en/{year}/{name}/", year=2026, name=Lower("username")),
        "de": Route("profile", name=F("username")),
        "fr": F("username"),
    }
    lastmod = F("date_joined")
    changefreq = F("username")
    priority = Value(0.5)


class Methods(ModelSitemap[User]):
    def location(self, item: User) -> str:
        assert_type(item.username, str)
        return f"{self.default_location(item)}?from=sitemap"

    def lastmod(self, item: User) -> datetime | None:
        return item.last_login

    def changefreq(self, item: User) -> str:
        return "daily" if item.is_active else "never"

    def priority(self, item: User) -> float:
        return 0.5 if item.is_active else 0.1


class OtherMethods(ModelSitemap[User]):
    def lastmod(self, item: User) -> date | None:
        return item.date_joined.date()

    def changefreq(self, item: User) -> Literal["weekly"] | None:
        return "weekly" if item.is_active else None

    def priority(self, item: User) -> Decimal | None:
        return Decimal("0.5") if item.is_active else None


class Untyped(ModelSitemap[User]):
    lastmod = priority = None

    def location(self, item: Any) -> Any:
        return item

    changefreq = location


class Above(ModelSitemap[User]):
    def get_queryset(self) -> QuerySet[User]:
        rows: QuerySet[User] = super().get_queryset().filter(is_active=True)
        return rows

    def items(self) -> QuerySet[User]:
        return super().items()

    def default_location(self, item: User) -> str:
        return super().default_location(item).lower()

    def get_latest_lastmod(self) -> date | None:
        return super().get_latest_lastmod()

    def get_languages_for_item(self, item: User) -> Sequence[str]:
        return [code for code in super().get_languages_for_item(item) if code != "de"]

    def get_protocol(self, protocol: str | None = None) -> str:
        return super().get_protocol(protocol)

    def get_domain(self, site: Any = None) -> str:
        return super().get_domain(site)

    def get_urls(
        self, page: int | str = 1, site: Any = None, protocol: str | None = None
    ) -> list[dict[str, Any]]:
        return [*super().get_urls(page, site, protocol), {"location": "/"}]

    @property
    def paginator(self) -> Paginator[Any]:
        return super().paginator


class Below(Methods):
    def lastmod(self, item: User) -> datetime | None:
        return super().lastmod(item)


class Base(ModelSitemap[ModelT]):
    changefreq = "daily"

    def get_queryset(self) -> QuerySet[ModelT]:
        rows: QuerySet[ModelT] = super().get_queryset().using("replica")
        return rows


class FlatPages(Base[FlatPage]):
    model = FlatPage

    def lastmod(self, item: FlatPage) -> None:
        return None


class Unparametrized(Sitemap):
    changefreq = "daily"

    def items(self) -> Any:
        return User.objects.all()

    def location(self, user: User) -> str:
        return f"/{user.username}/"


class UnparametrizedModel(ModelSitemap):
    location = PathTemplate("/{name}/", name=F("username"))

    def priority(self, item: User) -> float:
        return 0.5


class Page(NamedTuple):
    path: str


@register("pages")
class Pages(Sitemap[Page]):
    lastmod = date(2026, 1, 31)

    def items(self) -> Iterable[Page]:
        return [Page("/")]

    def location(self, item: Page) -> str:
        return item.path

    def extra(self) -> int:
        return 1


class Paths(Sitemap[str]):
    changefreq = "weekly"
    i18n = alternates = x_default = True

    def items(self) -> list[str]:
        return ["/a/", "/b/"]

    def lastmod(self, item: str) -> date | None:
        return None


class Rows(Sitemap[User]):
    location = F("username")
    lastmod = Subquery(User.objects.filter(pk=OuterRef("pk")).values("last_login")[:1])

    def items(self) -> QuerySet[User]:
        rows: QuerySet[User] = User.objects.all()
        return rows


class Views(sitemaps09.StaticViewSitemap):
    viewnames = ["about", "home"]
    priority = 0.5

    def location(self, item: str) -> str:
        return f"{self.default_location(item)}?a"

    def lastmod(self, item: str) -> date:
        return date(2026, 1, 31)


class Generic(GenericSitemap[User]):
    changefreq = "daily"

    def lastmod(self, item: User) -> datetime | None:
        return item.last_login


ROWS = {"queryset": User.objects.all(), "date_field": "last_login"}
generic = GenericSitemap[User](ROWS, priority=0.5, changefreq="daily", protocol="http")


def factory() -> Paths:
    return Paths()


def types_are_kept() -> None:
    assert_type(Pages().extra(), int)
    assert_type(Pages().items(), Iterable[Page])
    assert_type(register("paths", Paths), type[Paths])
    assert_type(register("generic", generic), GenericSitemap[User])
    assert_type(register("made", factory)(), Paths)
    assert_type(generic.items(), QuerySet[User])
    assert_type(Short().items(), QuerySet[User])
    assert_type(Short().default_location(User()), str)
    assert_type(Methods().location(User()), str)
    assert_type(Methods().lastmod(User()), datetime | None)
    assert_type(Route("profile", name=F("username")).url(["a"]), str)
    assert_type(PathTemplate("/{name}/", name=F("username")).url(["a"]), str | None)


sitemaps: Mapping[str, type[Sitemap[Any]] | Sitemap[Any]] = {"a": Paths, "b": Paths(), "c": Short}
urlpatterns = [
    path("", include("django_sitemaps09.urls"), {"sitemaps": sitemaps}),
    path("robots.txt", views.robots_txt, {"rules": "User-agent: *\nDisallow: /admin/"}),
    path("contrib.xml", views.index, {"sitemaps": sitemaps}),
    path("contrib-<section>.xml", views.sitemap, {"sitemaps": sitemaps}, name="sitemap"),
]


page: HttpResponse = views.sitemap(HttpRequest(), {"paths": Paths}, section="paths", template_name="a.xml")


def price(item: User) -> str:
    return f"<shop:price>{item.pk}</shop:price>"


class Everything(ModelSitemap[User]):
    model = User
    hosts = ["https://shop.example.com"]
    format = "xml"
    i18n = True
    languages = ["en", "de"]
    site_field = "site"
    extensions = [sitemaps09.Extension("shop", "https://www.example.com/shop", price)]

    def alternates(self, item: User) -> Iterator[sitemaps09.Alternate]:
        yield sitemaps09.Alternate("fr", f"https://www.example.fr/{item.pk}/")

    def x_default(self, item: User) -> bool | str:
        return item.is_active or "/"

    def images(self, item: User) -> list[sitemaps09.Image]:
        return [sitemaps09.Image("a.jpg"), sitemaps09.Image("/b.jpg", title="B")]

    def videos(self, item: User) -> Iterator[sitemaps09.Video]:
        yield sitemaps09.Video(
            "/still.jpg",
            "Title",
            "Description",
            content_loc="/film.mp4",
            restriction=sitemaps09.Restriction("allow", ["DE"]),
            platform=sitemaps09.Platform("deny", ["tv"]),
        )

    def news(self, item: User) -> sitemaps09.News | None:
        return sitemaps09.News("The Times", "en", item.date_joined, item.username)


class Latest(sitemaps09.NewsSitemap[User]):
    model = User
    date_field = "date_joined"
    publication_name = "The Times"

    def title(self, item: User) -> str:
        return item.username


def print_section(section: SectionReport) -> None:
    print(section.section, section.urls, len(section.files))  # noqa: T201 a user's own function


def announce(event: Published) -> None:
    urls: Callable[[], Iterator[UrlChange]] | None = event.urls
    assert_type(event.report.rendered_by, Mapping[str, int])
    print(event.written, [change.url for change in urls()] if urls else "")  # noqa: T201 as above


def nightly(folder: Path, sitemaps: dict[str, type[Sitemap[Any]]]) -> int:
    assert_type(export(), Report)
    try:
        report = export(
            ["articles", "pages"],
            output=folder,
            robots=folder / "robots.txt",
            base_url="https://www.example.com",
            gzip=False,
            strict=True,
            dry_run=True,
            sitemaps=sitemaps,
            progress=print_section,
        )
    except SitemapError:
        return 1
    sections: Sequence[SectionReport] = report.sections
    assert_type(report.seconds, float)
    for section in sections:
        assert_type(section.section, str)
        assert_type(section.urls, int)
        assert_type(section.skipped_items, int)
        assert_type(section.skipped_elements, int)
        files: Sequence[PageFile] = section.files
        for file in files:
            assert_type(file.name, str)
            assert_type(file.bytes, int)
            assert_type(file.lastmod, str | None)
    export(output="public", robots="public/robots.txt", progress=print)
    assert_type(verify(["articles"], repair=True), Verification)
    assert_type(verify_hosts(base_urls=["https://a.example"], workers=2), dict[str, Verification])
    reports = export_hosts(["https://a.example"], ["articles"], remove={"old"}, on_published=announce)
    assert_type(reports, dict[str, Report])
    statuses = [report.exit_status for report in reports.values() if not report.is_busy]
    return max(statuses, default=0)
