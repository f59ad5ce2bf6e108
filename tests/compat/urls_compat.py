"""The project after it changed the import."""

from __future__ import annotations

from django_sitemaps09 import views
from tests.compat.cases.parts import COMPAT_BASES as BASES
from tests.compat.urls import routes

urlpatterns = routes(BASES, views)
