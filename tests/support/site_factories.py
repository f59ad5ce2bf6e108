"""Factories of Django's own sites and flat pages."""

from __future__ import annotations

import factory
from django.contrib.flatpages.models import FlatPage
from django.contrib.sites.models import Site
from factory.django import DjangoModelFactory


class SiteFactory(DjangoModelFactory):
    class Meta:
        model = Site

    domain = factory.Sequence("site-{}.example".format)
    name = factory.SelfAttribute("domain")


class FlatPageFactory(DjangoModelFactory):
    """A flat page; `sites=[...]` names the sites that it is on."""

    class Meta:
        model = FlatPage
        skip_postgeneration_save = True

    url = factory.Sequence("/page-{}/".format)
    title = factory.SelfAttribute("url")

    @factory.post_generation
    def sites(self, create, sites, **kwargs):
        if create and sites:
            self.sites.add(*sites)
