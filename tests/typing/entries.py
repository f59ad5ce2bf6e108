"""Entries as users write them."""

from __future__ import annotations

from collections.abc import Iterator

from django.contrib.auth.models import User

from django_sitemaps09 import (
    Alternate,
    Extension,
    Image,
    ModelSitemap,
    News,
    NewsSitemap,
    Platform,
    Restriction,
    Sitemap,
    Video,
)


def price(item: User) -> str:
    return f"<shop:price>{item.pk}</shop:price>"


class Everything(ModelSitemap[User]):
    model = User
    hosts = ["https://shop.example.com"]
    format = "xml"
    i18n = True
    languages = ["en", "de"]
    site_field = "site"
    extensions = [Extension("shop", "https://www.example.com/shop", price)]

    def alternates(self, item: User) -> Iterator[Alternate]:
        yield Alternate("fr", f"https://www.example.fr/{item.pk}/")

    def x_default(self, item: User) -> bool | str:
        return item.is_active or "/"

    def images(self, item: User) -> list[Image]:
        return [Image("a.jpg"), Image("/b.jpg", title="B")]

    def videos(self, item: User) -> Iterator[Video]:
        yield Video(
            "/still.jpg",
            "Title",
            "Description",
            content_loc="/film.mp4",
            restriction=Restriction("allow", ["DE"]),
            platform=Platform("deny", ["tv"]),
        )

    def news(self, item: User) -> News | None:
        return News("The Times", "en", item.date_joined, item.username)


class Switches(Sitemap[str]):
    i18n = True
    alternates = True
    x_default = True


class Latest(NewsSitemap[User]):
    model = User
    date_field = "date_joined"
    publication_name = "The Times"

    def title(self, item: User) -> str:
        return item.username
