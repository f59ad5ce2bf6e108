"""Settings of a shop with Oscar in two languages, and those of the how-to."""

from oscar.defaults import *  # noqa: F403

from tests.neighbours.base_settings import *  # noqa: F403
from tests.neighbours.base_settings import INSTALLED_APPS
from tests.neighbours.following import follow

_APPS = (
    *("analytics", "checkout", "address", "shipping", "catalogue", "communication", "partner", "basket"),
    *("payment", "offer", "order", "customer", "search", "voucher", "wishlists", "dashboard"),
)
_DASHBOARDS = (
    *("reports", "users", "orders", "catalogue", "offers", "partners", "pages", "ranges", "reviews"),
    *("vouchers", "communications", "shipping"),
)
INSTALLED_APPS = [
    *INSTALLED_APPS,
    "django.contrib.sites",
    "django.contrib.flatpages",
    "oscar.config.Shop",
    *(f"oscar.apps.{name}.apps.{name.title()}Config" for name in _APPS),
    "oscar.apps.catalogue.reviews.apps.CatalogueReviewsConfig",
    *(f"oscar.apps.dashboard.{name}.apps.{name.title()}DashboardConfig" for name in _DASHBOARDS),
    *("widget_tweaks", "haystack", "treebeard", "django_tables2"),
]
HAYSTACK_CONNECTIONS = {"default": {"ENGINE": "haystack.backends.simple_backend.SimpleEngine"}}
LANGUAGES = [("en", "English"), ("de", "German")]
SITE_ID = 1
follow("docs/howto/oscar.md", "mysite/settings.py", globals())
