"""URLconf of the site. The sitemaps need two lines, the include and robots.txt, and the inspector one."""

from __future__ import annotations

from django.conf.urls.i18n import i18n_patterns
from django.contrib.auth.views import LoginView
from django.urls import include, path

from articles import views as articles
from django_sitemaps09 import views as sitemaps
from pages import views as pages
from products import views as products

urlpatterns = [
    path("", include("django_sitemaps09.urls")),
    path("robots.txt", sitemaps.robots_txt, {"rules": "User-agent: *\nAllow: /\n"}, name="robots"),
    path("sitemaps/", include("django_sitemaps09.tools.inspector.urls")),
    path("login/", LoginView.as_view(template_name="login.html"), name="login"),
    path("", pages.home, name="home"),
    path("about/", pages.about, name="about"),
    path("contact/", pages.contact, name="contact"),
    path("info/", include("django.contrib.flatpages.urls")),
    path("articles/<slug:category>/<str:slug>/", articles.article, name="article"),
    path("images/<int:number>.svg", articles.image, name="image"),
    path("legacy/", include("legacy.urls")),
]

# English at /products/..., German at /de/products/... Without a prefix for the default language, x-default
# is the English page itself, not a redirect.
urlpatterns += i18n_patterns(
    path("products/<str:code>/", products.product, name="product"),
    prefix_default_language=False,
)
