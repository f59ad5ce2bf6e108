"""A shop with Oscar. Its releases have no sitemaps, so these are typical sitemaps of its models."""

from typing import Any

import site_base
from oscar.defaults import *  # noqa: F403
from site_base import *  # noqa: F403

INSTALLED_APPS = [
    *site_base.INSTALLED_APPS,
    "django.contrib.admin",
    "django.contrib.flatpages",
    *("oscar.config.Shop", "oscar.apps.analytics.apps.AnalyticsConfig"),
    *("oscar.apps.checkout.apps.CheckoutConfig", "oscar.apps.address.apps.AddressConfig"),
    *("oscar.apps.shipping.apps.ShippingConfig", "oscar.apps.catalogue.apps.CatalogueConfig"),
    *(
        "oscar.apps.catalogue.reviews.apps.CatalogueReviewsConfig",
        "oscar.apps.communication.apps.CommunicationConfig",
    ),
    *("oscar.apps.partner.apps.PartnerConfig", "oscar.apps.basket.apps.BasketConfig"),
    *("oscar.apps.payment.apps.PaymentConfig", "oscar.apps.offer.apps.OfferConfig"),
    *("oscar.apps.order.apps.OrderConfig", "oscar.apps.customer.apps.CustomerConfig"),
    *("oscar.apps.search.apps.SearchConfig", "oscar.apps.voucher.apps.VoucherConfig"),
    *("oscar.apps.wishlists.apps.WishlistsConfig", "oscar.apps.dashboard.apps.DashboardConfig"),
    *(
        "oscar.apps.dashboard.reports.apps.ReportsDashboardConfig",
        "oscar.apps.dashboard.users.apps.UsersDashboardConfig",
    ),
    *(
        "oscar.apps.dashboard.orders.apps.OrdersDashboardConfig",
        "oscar.apps.dashboard.catalogue.apps.CatalogueDashboardConfig",
    ),
    *(
        "oscar.apps.dashboard.offers.apps.OffersDashboardConfig",
        "oscar.apps.dashboard.partners.apps.PartnersDashboardConfig",
    ),
    *(
        "oscar.apps.dashboard.pages.apps.PagesDashboardConfig",
        "oscar.apps.dashboard.ranges.apps.RangesDashboardConfig",
    ),
    *(
        "oscar.apps.dashboard.reviews.apps.ReviewsDashboardConfig",
        "oscar.apps.dashboard.vouchers.apps.VouchersDashboardConfig",
    ),
    *("oscar.apps.dashboard.communications.apps.CommunicationsDashboardConfig",),
    *("oscar.apps.dashboard.shipping.apps.ShippingDashboardConfig",),
    *("widget_tweaks", "haystack", "treebeard", "django_tables2"),
]
HAYSTACK_CONNECTIONS = {"default": {"ENGINE": "haystack.backends.simple_backend.SimpleEngine"}}
LANGUAGES = [("en", "English"), ("de", "German")]


def create() -> None:
    from oscar.apps.catalogue.models import Category, Product, ProductClass

    kind = ProductClass.objects.create(name="Thing")
    for number in range(10):
        Product.objects.create(
            product_class=kind, title=f"Thing {number}", slug=f"thing-{number}", is_public=number != 4
        )
    parent = Category.add_root(name="Garden")
    for number in range(7):
        child = parent.add_child(name=f"Garden {number}")
        parent = child if number == 3 else type(child).objects.get(pk=parent.pk)


def sitemaps() -> dict[str, Any]:
    from django.contrib.sitemaps import GenericSitemap, Sitemap
    from django.urls import reverse
    from oscar.apps.catalogue.models import Category, Product

    class Views(Sitemap):
        def items(self) -> list[str]:
            return ["catalogue:index", "search:search"]

        def location(self, item: str) -> str:
            return reverse(item)

    class Products(Sitemap):
        i18n = True
        alternates = True

        def items(self) -> Any:
            return Product.objects.browsable()

        def lastmod(self, item: Any) -> Any:
            return item.date_updated

    class Categories(Sitemap):
        changefreq = "weekly"

        def items(self) -> Any:
            return Category.objects.browsable()

    products = {"queryset": Product.objects.all(), "date_field": "date_updated"}
    return {
        "categories": Categories,
        "generic": GenericSitemap(products, priority=0.6),
        "products": Products,
        "views": Views,
    }


def urls() -> list[Any]:
    from django.apps import apps
    from django.conf.urls.i18n import i18n_patterns
    from django.urls import include, path

    return [
        path("i18n/", include("django.conf.urls.i18n")),
        *i18n_patterns(path("", include(apps.get_app_config("oscar").urls[0]))),
    ]
