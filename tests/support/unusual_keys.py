"""Rows of coupons, whose keys can be NULL, and of database views."""

from __future__ import annotations

from django.db import connections, models
from django.db.models import F
from django.test.utils import isolate_apps

from django_sitemaps09 import ModelSitemap, PathTemplate
from tests.models import Coupon


def section(queryset, key):
    location = PathTemplate("/{number}/", number=F("number"))
    return type("Keyed", (ModelSitemap,), {"queryset": queryset, "key": key, "location": location})


def make_coupons(using):
    """Create 20 coupons, four of them without a key, and return all of them."""
    Coupon.objects.using(using).all().delete()
    Coupon.objects.using(using).bulk_create(
        Coupon(number=number, code=number if number % 5 else None) for number in range(20)
    )
    return Coupon.objects.using(using).all()


def view(using, select, **fields):
    """Create a database view, and return its unmanaged model."""
    with connections[using].cursor() as cursor:
        cursor.execute("DROP VIEW IF EXISTS sitemaps09_view")
        cursor.execute(f"CREATE VIEW sitemaps09_view AS {select}")
    meta = type("Meta", (), {"app_label": "tests", "managed": False, "db_table": "sitemaps09_view"})
    with isolate_apps("tests"):
        return type("Joined", (models.Model,), {"__module__": __name__, "Meta": meta, **fields})


def drop_view(using):
    with connections[using].cursor() as cursor:
        cursor.execute("DROP VIEW IF EXISTS sitemaps09_view")
