"""The project before it changed the import."""

from __future__ import annotations

from django.contrib.sitemaps import views

from tests.compat.cases.parts import CONTRIB_BASES as BASES
from tests.compat.urls import routes

urlpatterns = routes(BASES, views)
