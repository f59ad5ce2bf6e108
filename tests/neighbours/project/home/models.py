"""Page classes of a site with Wagtail."""

from wagtail.models import Page


class TextPage(Page):
    """A page whose URL is its place in the tree."""


class EventPage(Page):
    """A page that lists a second URL in sitemaps."""

    def get_sitemap_urls(self, request=None):
        first, *others = super().get_sitemap_urls(request)
        return [first, *others, {**first, "location": f"{first['location']}programme/"}]


class ConcertPage(EventPage):
    """A page of a subclass: where events are excluded, concerts are, too."""
