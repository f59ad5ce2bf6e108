"""Settings of a site with one of the packages, and those of its how-to."""

import os

from tests.docs.pages import follow

#: The name of the package, and the page and the chapter of its how-to.
NAME = os.environ["SITEMAPS09_NEIGHBOUR"]
PAGE = f"docs/howto/{'shops' if NAME in ('oscar', 'translated-models') else 'cms'}.md"
CHAPTER = NAME.replace("-", " ").capitalize() if NAME != "django-cms" else "django CMS"

SECRET_KEY = "not secret"
ALLOWED_HOSTS = ["*"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
ROOT_URLCONF = "mysite.urls"
LANGUAGE_CODE = "en"
STATIC_URL = "/static/"
MIDDLEWARE = []
PROCESSORS = ["django.template.context_processors.request", "django.contrib.auth.context_processors.auth"]
PROCESSORS += ["django.contrib.messages.context_processors.messages"]
LOADERS = [("django.template.loaders.locmem.Loader", {"page.html": ""})]
LOADERS += ["django.template.loaders.app_directories.Loader"]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "OPTIONS": {"context_processors": PROCESSORS, "loaders": LOADERS},
    }
]
CONTRIB = ("auth", "contenttypes", "messages", "sessions", "staticfiles")
INSTALLED_APPS = [f"django.contrib.{name}" for name in CONTRIB]

if NAME == "django-cms":
    INSTALLED_APPS += ["django.contrib.sites", "django.contrib.admin", "cms", "menus", "treebeard"]
    LANGUAGES = [("en", "English"), ("de", "German"), ("fr", "French")]
    CMS_LANGUAGES = {
        site: [{"code": code, "name": name, "public": code != "fr"} for code, name in LANGUAGES]
        for site in (1, 2)
    }
    CMS_TEMPLATES = [("page.html", "Page")]
    CMS_CONFIRM_VERSION4 = True
    SITE_ID = 1
elif NAME == "flatpages":
    INSTALLED_APPS += ["django.contrib.sites", "django.contrib.flatpages"]
elif NAME == "oscar":
    from oscar.defaults import *  # noqa: F403

    apps = "analytics checkout address shipping catalogue communication partner basket payment offer order "
    apps += "customer search voucher wishlists dashboard"
    dashboards = "reports users orders catalogue offers partners pages ranges reviews vouchers "
    dashboards += "communications shipping"
    INSTALLED_APPS += [
        *("django.contrib.sites", "django.contrib.flatpages", "oscar.config.Shop"),
        *(f"oscar.apps.{name}.apps.{name.title()}Config" for name in apps.split()),
        "oscar.apps.catalogue.reviews.apps.CatalogueReviewsConfig",
        *(f"oscar.apps.dashboard.{name}.apps.{name.title()}DashboardConfig" for name in dashboards.split()),
        *("widget_tweaks", "haystack", "treebeard", "django_tables2"),
    ]
    HAYSTACK_CONNECTIONS = {"default": {"ENGINE": "haystack.backends.simple_backend.SimpleEngine"}}
    LANGUAGES = [("en", "English"), ("de", "German")]
    SITE_ID = 1
elif NAME == "translated-models":
    INSTALLED_APPS = ["modeltranslation", "parler", "news", "shop", *INSTALLED_APPS]
    LANGUAGES = [("en", "English"), ("de", "German"), ("pt-br", "Brazilian Portuguese")]
    PARLER_LANGUAGES = {None: tuple({"code": code} for code, _ in LANGUAGES)}
else:
    rooms = ("documents", "images", "admin", "search", "users")
    INSTALLED_APPS += ["home", *(f"wagtail.{room}" for room in rooms), "wagtail", "taggit", "modelcluster"]
    # Wagtail serves each locale in the language that this middleware activates.
    MIDDLEWARE = ["django.middleware.locale.LocaleMiddleware"]
    WAGTAIL_I18N_ENABLED = True
    LANGUAGES = WAGTAIL_CONTENT_LANGUAGES = [("en", "English"), ("fr", "French")]
    WAGTAIL_SITE_NAME = "Example"
    WAGTAILADMIN_BASE_URL = "https://www.example.com"

follow(PAGE, CHAPTER, "mysite/settings.py", globals())
