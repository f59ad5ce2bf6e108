"""More plain methods: chains of fields, `reverse()` and formats, on models and on sitemaps."""

# ruff: noqa: F401 the tables use the imports
from __future__ import annotations

from typing import Any

from django.urls import reverse, reverse as url_of, reverse_lazy

from tests.suggestions.corpus import Form

BASE = "/base"
ROUTE = "entry"
YEAR = 2026
LABEL: str = "label"


class PlainChains(Form):
    of_the_model = """
    path = self.path
    return path
        => Can be empty: F("path")
    path: str = self.path
    return path
        => Can be empty: F("path")
    self.slug => Can be empty: F("slug")
    author = self.author
    team = author.team
    slug = team.slug
    return slug
        => Can be empty: F("author__team__slug")
    """
    of_the_sitemap = """
    item.path => Can be empty: F("path")
    item.get_url() => Route("entry", slug=F("slug"))
    item.kept => PathTemplate("/kept/{slug}/", slug=F("slug"))
    str(item.path) => Can be empty: F("path")
    """


class PlainReverse(Form):
    of_the_model = """
    reverse("author-entry", args=(self.author.name, self.pk))
        => Route("author-entry", F("author__name"), F("pk"))
    args = [self.slug]
    return reverse("entry", args=args)
        => Route("entry", F("slug"))
    reverse(viewname="entry", kwargs={"slug": self.slug}) => Route("entry", slug=F("slug"))
    reverse("entry", urlconf=None, args=[self.slug]) => Route("entry", F("slug"))
    url_of("entry", args=[self.slug]) => Route("entry", F("slug"))
    reverse_lazy("entry", args=[self.slug]) => Route("entry", F("slug"))
    reverse(ROUTE, args=[self.slug]) => Route("entry", F("slug"))
    reverse(f"blog:{ROUTE}", args=[self.slug]) => Route("blog:entry", F("slug"))
    reverse("archive", args=[YEAR, 1, 2, self.slug]) => Route("archive", 2026, 1, 2, F("slug"))
    reverse("entry", args=[f"{self.kind}-{self.slug}"])
        => Route("entry", Concat(F("kind"), Value("-"), F("slug"), output_field=CharField()))
    reverse("entry", args=[self.kind + "-" + self.slug])
        => Route("entry", Concat(F("kind"), Value("-"), F("slug"), output_field=CharField()))
    reverse("entry", args=["%s-%d" % (self.slug, self.pk)])
        => Route("entry", Concat(F("slug"), Value("-"), Cast(F("pk"), CharField()),
        output_field=CharField()))
    reverse("author-entry", kwargs={"author": self.author.name, "pk": self.author.pk})
        => Route("author-entry", author=F("author__name"), pk=F("author__pk"))
    reverse("number", args=[str(self.author_id)]) => Route("number", F("author_id"))
    kwargs = {"kind": self.kind, "slug": self.slug}
    url = reverse("kind-entry", kwargs=kwargs)
    return url
        => Route("kind-entry", kind=F("kind"), slug=F("slug"))
    reverse("archive", kwargs={"year": self.day.year, "month": 1, "day": self.day.day, "slug": self.slug})
        => Route("archive", year=ExtractYear("day"), month=1, day=ExtractDay("day"), slug=F("slug"))
    time = self.created
    return reverse("archive", args=[time.year, time.month, time.day, self.slug])
        => Route("archive", ExtractYear("created", tzinfo=ZoneInfo("UTC")), ExtractMonth("created",
        tzinfo=ZoneInfo("UTC")), ExtractDay("created", tzinfo=ZoneInfo("UTC")), F("slug"))
    reverse("entry", args=[self.pk]) => Route("entry", F("pk"))
    reverse("number", args=[self.slug]) => Route("number", F("slug"))
    reverse("no-such-name", args=[self.slug]) => Route("no-such-name", F("slug"))
    reverse("rank", args=[self.public]) => Route("rank", F("public"))
    """
    of_the_sitemap = """
    reverse("entry", args=[item.slug]) => Route("entry", F("slug"))
    reverse("team-entry", kwargs={"team": item.author.team.slug, "pk": item.pk})
        => Route("team-entry", team=F("author__team__slug"), pk=F("pk"))
    """


class PlainFormats(Form):
    of_the_model = """
    f"{BASE}/{self.slug}/" => PathTemplate("/base/{slug}/", slug=F("slug"))
    f"/{LABEL}/{self.slug}/" => PathTemplate("/label/{slug}/", slug=F("slug"))
    f"/{YEAR}/{self.slug}/" => PathTemplate("/2026/{slug}/", slug=F("slug"))
    BASE + "/%s/" % self.slug => PathTemplate("/base/{slug}/", slug=F("slug"))
    f"/{self.kind}/" + f"{self.slug}/" => PathTemplate("/{kind}/{slug}/", kind=F("kind"), slug=F("slug"))
    f"/{f'{self.kind}-{self.slug}'}/" => PathTemplate("/{kind}-{slug}/", kind=F("kind"), slug=F("slug"))
    f"/{self.kind}/{self.slug}/" => PathTemplate("/{kind}/{slug}/", kind=F("kind"), slug=F("slug"))
    "/{kind}/{slug}/".format(kind=self.kind, slug=self.slug)
        => PathTemplate("/{kind}/{slug}/", kind=F("kind"), slug=F("slug"))
    "/{0}/{0}/".format(self.slug) => PathTemplate("/{slug}/{slug}/", slug=F("slug"))
    "/{!s}/".format(self.slug) => PathTemplate("/{slug}/", slug=F("slug"))
    "/%d-%s/" % (self.number, self.slug)
        => PathTemplate("/{number}-{slug}/", number=F("number"), slug=F("slug"))
    kind = self.kind
    slug = self.slug
    return f"/{kind}/{slug}/"
        => PathTemplate("/{kind}/{slug}/", kind=F("kind"), slug=F("slug"))
    parts = {"kind": self.kind, "slug": self.slug}
    return "/%(kind)s/%(slug)s/" % parts
        => PathTemplate("/{kind}/{slug}/", kind=F("kind"), slug=F("slug"))
    template = "/posts/{}/"
    return template.format(self.slug)
        => PathTemplate("/posts/{slug}/", slug=F("slug"))
    "/" + str(self.author.name) + "/" + str(self.author_id)
        => PathTemplate("/{author__name}/{author_id}", author__name=F("author__name"),
        author_id=F("author_id"))
    f"/posts/{self.slug}/#comments" => PathTemplate("/posts/{slug}/#comments", slug=F("slug"))
    f"/posts/?slug={self.slug}&page=1" => PathTemplate("/posts/?slug={slug}&page=1", slug=F("slug"))
    f"{self.path}all/" => Can be empty: Concat(F("path"), Value("all/"), output_field=CharField())
    self.path + self.slug => Can be empty: Concat(F("path"), F("slug"), output_field=CharField())
    "" + self.path + "" => Can be empty: F("path")
    f"/{self.author.team.slug}/{self.author.name}/{self.slug}/{self.kind}/"
        => PathTemplate("/{author__team__slug}/{author__name}/{slug}/{kind}/",
        author__team__slug=F("author__team__slug"), author__name=F("author__name"), slug=F("slug"),
        kind=F("kind"))
    f"/100%/%s/{self.slug}/" => PathTemplate("/100%/%s/{slug}/", slug=F("slug"))
    "/{}/{slug}/%s/" % self.slug => PathTemplate("/{{}}/{{slug}}/{slug}/", slug=F("slug"))
    f"/<int:pk>/{self.slug}/" => Refused: PathTemplate('/<int:pk>/{slug}/'): write {pk}, not <int:pk>
    """
    of_the_sitemap = """
    f"/{item.kind}/{item.slug}/" => PathTemplate("/{kind}/{slug}/", kind=F("kind"), slug=F("slug"))
    "/posts/" + item.slug + "/" => PathTemplate("/posts/{slug}/", slug=F("slug"))
    """
