"""Factories of Django's own sites and flat pages."""

from __future__ import annotations

from typing import Any

import factory
from django.contrib.flatpages.models import FlatPage
from django.contrib.sites.models import Site
from factory.django import DjangoModelFactory


class SiteFactory(DjangoModelFactory):  # type: ignore[type-arg]
    class Meta:
        model = Site

    domain = factory.Sequence("site-{}.example".format)
    name = factory.SelfAttribute("domain")


class FlatPageFactory(DjangoModelFactory):  # type: ignore[type-arg]
    """A flat page; `sites=[...]` names the sites that it is on."""

    class Meta:
        model = FlatPage
        skip_postgeneration_save = True

    url = factory.Sequence("/page-{}/".format)
    title = factory.SelfAttribute("url")

    @factory.post_generation
    def sites(self: Any, create: bool, sites: Any, **kwargs: Any) -> None:
        if create and sites:
            self.sites.add(*sites)
