"""Methods `get_absolute_url()` and `location()` that return a field, a URL by `reverse()`, or a path."""

# ruff: noqa: F401 the tables use the imports
from __future__ import annotations

from typing import Any

from django.shortcuts import resolve_url
from django.urls import reverse, reverse_lazy
from django.utils.encoding import iri_to_uri
from django.utils.html import format_html
from django.utils.safestring import mark_safe
from django.utils.text import slugify

from tests.suggestions.corpus import Form, kept

PATTERN = "/posts/%s/"
TEMPLATE = "/posts/{slug}/"


class Chains(Form):
    of_the_model = """
    self.path => Can be empty: F("path")
    str(self.path) => Can be empty: F("path")
    f"{self.path}" => Can be empty: F("path")
    self.code => Can be empty: F("code")
    self.author.name => Can be empty: F("author__name")
    self.section.slug if self.section else None
        => Can be empty: Case(When(Q(section__isnull=True), then=Value(None)), default=F("section__slug"),
        output_field=CharField())
    team = self.author.team
    return team.slug
        => Can be empty: F("author__team__slug")
    self.code if self.code is not None else self.path
        => Can be empty: Case(When(Q(code__isnull=True), then=F("path")), default=F("code"),
        output_field=CharField())
    "/none/" if self.code is None else self.code
        => Can be empty: Case(When(Q(code__isnull=True), then=Value("/none/")), default=F("code"),
        output_field=CharField())
    """


class Reverse(Form):
    of_the_model = """
    reverse("entry", kwargs={"slug": self.slug}) => Route("entry", slug=F("slug"))
    reverse("number", args=[self.pk]) => Route("number", F("pk"))
    reverse("number", args=[str(self.id)]) => Route("number", F("id"))
    reverse("number", args=("%s" % self.id,)) => Route("number", F("id"))
    reverse("number", kwargs=dict(pk=self.id)) => Refused: calls `dict()`
    reverse("entry", args=[f"{self.slug}"]) => Route("entry", F("slug"))
    kwargs = {"slug": str(self.slug)}
    return reverse("entry", kwargs=kwargs)
        => Route("entry", slug=F("slug"))
    reverse("entry", None, (), {"slug": self.slug}) => Route("entry", slug=F("slug"))
    reverse_lazy("entry", kwargs={"slug": self.slug}) => Route("entry", slug=F("slug"))
    reverse("blog:entry", kwargs={"slug": self.slug}) => Route("blog:entry", slug=F("slug"))
    reverse("kind-entry", args=["news", self.slug]) => Route("kind-entry", "news", F("slug"))
    reverse("author-entry", args=[self.author.name, self.pk])
        => Route("author-entry", F("author__name"), F("pk"))
    reverse("team-entry", kwargs={"team": self.author.team.slug, "pk": self.pk})
        => Route("team-entry", team=F("author__team__slug"), pk=F("pk"))
    reverse("number", args=[self.author_id]) => Route("number", F("author_id"))
    reverse("uid", kwargs={"uid": self.uid}) => Route("uid", uid=F("uid"))
    reverse("day", kwargs={"day": self.day, "slug": self.slug})
        => Route("day", day=F("day"), slug=F("slug"))
    reverse("archive", args=[self.day.year, self.day.month, self.day.day, self.slug])
        => Route("archive", ExtractYear("day"), ExtractMonth("day"), ExtractDay("day"), F("slug"))
    time = self.created
    parts = {"year": time.year, "month": time.month, "day": time.day}
    return reverse("archive", kwargs={**parts, "slug": self.slug})
        => Refused: has `{**parts, 'slug': self.slug}`
    reverse("archive", args=[str(self.day.year), "1", str(self.day.day), self.slug])
        => Route("archive", ExtractYear("day"), "1", ExtractDay("day"), F("slug"))
    reverse("entry", args=[f"{self.pk}-{self.slug}"])
        => Route("entry", Concat(Cast(F("pk"), CharField()), Value("-"), F("slug"),
        output_field=CharField()))
    """


class Formats(Form):
    of_the_model = """
    f"/posts/{self.slug}/" => PathTemplate("/posts/{slug}/", slug=F("slug"))
    f"/{self.pk}-{self.slug}.html" => PathTemplate("/{pk}-{slug}.html", pk=F("pk"), slug=F("slug"))
    f"/{self.slug}/{self.slug}/" => PathTemplate("/{slug}/{slug}/", slug=F("slug"))
    f"/{self.author.name}/{self.author.pk}/{self.author.team.slug}/"
        => PathTemplate("/{author__name}/{author__pk}/{author__team__slug}/",
        author__name=F("author__name"), author__pk=F("author__pk"),
        author__team__slug=F("author__team__slug"))
    "/posts/%s/" % self.slug => PathTemplate("/posts/{slug}/", slug=F("slug"))
    "/posts/%s/%s/" % (self.pk, self.slug)
        => PathTemplate("/posts/{pk}/{slug}/", pk=F("pk"), slug=F("slug"))
    "/posts/%(slug)s/" % {"slug": self.slug} => PathTemplate("/posts/{slug}/", slug=F("slug"))
    "/100%%/%s/" % self.slug => PathTemplate("/100%/{slug}/", slug=F("slug"))
    PATTERN % self.slug => PathTemplate("/posts/{slug}/", slug=F("slug"))
    "/posts/{}/".format(self.slug) => PathTemplate("/posts/{slug}/", slug=F("slug"))
    "/posts/{1}/{0}/".format(self.slug, self.pk)
        => PathTemplate("/posts/{pk}/{slug}/", pk=F("pk"), slug=F("slug"))
    TEMPLATE.format(slug=self.slug) => PathTemplate("/posts/{slug}/", slug=F("slug"))
    f"/posts/{self.slug!s}/" => PathTemplate("/posts/{slug}/", slug=F("slug"))
    f"/posts/{{{self.slug}}}/" => PathTemplate("/posts/{{{slug}}}/", slug=F("slug"))
    "/posts/" + self.slug + "/" => PathTemplate("/posts/{slug}/", slug=F("slug"))
    "/posts/" + str(self.pk) + "/" => PathTemplate("/posts/{pk}/", pk=F("pk"))
    self.get_path() => PathTemplate("/posts/{slug}/", slug=F("slug"))
    f"{self.path_of_kind}{self.slug}/" => PathTemplate("/{kind}/{slug}/", kind=F("kind"), slug=F("slug"))
    f"https://www.example.com/{self.slug}/"
        => PathTemplate("https://www.example.com/{slug}/", slug=F("slug"))
    f"/{self.day.year}/{self.slug}/"
        => PathTemplate("/{value_0}/{slug}/", value_0=ExtractYear("day"), slug=F("slug"))
    f"/{self.created.year}/{self.created.month}/"
        => PathTemplate("/{value_0}/{value_1}/", value_0=ExtractYear("created", tzinfo=ZoneInfo("UTC")),
        value_1=ExtractMonth("created", tzinfo=ZoneInfo("UTC")))
    "/posts/{slug}/".format(slug=self.slug,) => PathTemplate("/posts/{slug}/", slug=F("slug"))
    f"{self.path}print/" => Can be empty: Concat(F("path"), Value("print/"), output_field=CharField())
    """


class Computed(Form):
    of_the_model = """
    self.path.strip() => Refused: calls `self.path.strip()`
    reverse("kind-entry", args=[f"{self.day:%Y}", self.slug]) => Refused: has `f'{self.day:%Y}'`
    reverse("kind-entry", args=[self.day.strftime("%b").lower(), self.slug])
        => Refused: calls `self.day.strftime('%b').lower()`
    reverse("archive", args=[self.day.year, "%02d" % self.day.month, 1, self.slug])
        => Refused: formats otherwise than by plain fields: `'%02d' % self.day.month`
    reverse("entry", args=[self.slug]) + "#comments"
        => Refused: needs the text or the number of `reverse('entry', args=[self.slug])`
    f"{reverse('entry', args=[self.slug])}?page=1"
        => Refused: needs the text or the number of `reverse('entry', args=[self.slug])`
    reverse("entry", args=[slugify(self.title)]) => Refused: calls `slugify()`
    reverse("author-entry", args=[self.author, self.pk])
        => Refused: needs the text or the number of `self.author`
    reverse(f"{self.kind}-detail", args=[self.slug])
        => Refused: needs a constant name, and plain arguments, for `reverse(f'{self.kind}-detail',
        args=[self.slug])`
    "/%s/%02d/%s/" % (self.day.year, self.day.month, self.slug)
        => Refused: formats otherwise than by plain fields: `'/%s/%02d/%s/' % (self.day.year,
        self.day.month, self.slug)`
    "/%d/" % self.number => PathTemplate("/{number}/", number=F("number"))
    f"/{self.day.year}/{self.day.month:02d}/" => Refused: has `f'/{self.day.year}/{self.day.month:02d}/'`
    f"/{self.day:%Y/%m}/{self.slug}/" => Refused: has `f'/{self.day:%Y/%m}/{self.slug}/'`
    f"/{self.slug!r}/" => Refused: has `f'/{self.slug!r}/'`
    "/%20s/" % self.slug => Refused: formats otherwise than by plain fields: `'/%20s/' % self.slug`
    "/%.5s/" % self.slug => Refused: formats otherwise than by plain fields: `'/%.5s/' % self.slug`
    if self.section:
        return f"/{self.section.slug}/{self.slug}/"
    return f"/{self.slug}/"
        => Refused: has `if self.section:`
    f"/{self.section.slug if self.section else 'none'}/{self.slug}/"
        => PathTemplate("/{value_0}/{slug}/", value_0=Case(When(Q(section__isnull=True),
        then=Value("none")), default=F("section__slug"), output_field=CharField()), slug=F("slug"))
    f"/{self.path or self.slug}/"
        => PathTemplate("/{value_0}/", value_0=Case(When(Q(path=""), then=F("slug")), default=F("path"),
        output_field=CharField()))
    iri_to_uri(f"/posts/{self.slug}/") => Refused: calls `iri_to_uri()`
    mark_safe(f"/posts/{self.slug}/") => Refused: calls `mark_safe()`
    format_html("/posts/{}/", self.slug) => Refused: calls `format_html()`
    f"/{self.author}/" => Refused: needs the text or the number of `self.author`
    """


class NotLiteral(Form):
    """Methods that columns could express, but that are not read, because they need more than is written."""

    of_the_model = """
    self.section.slug => Refused: reads an attribute of what can be NULL: `self.section.slug`
    kwargs = {}
    kwargs["slug"] = self.slug
    return reverse("entry", kwargs=kwargs)
        => Refused: has `kwargs['slug'] = self.slug`
    resolve_url("entry", self.slug) => Refused: calls `resolve_url()`
    str(reverse_lazy("entry", args=[self.slug]))
        => Refused: needs the text or the number of `reverse_lazy('entry', args=[self.slug])`
    reverse("section-entry", args=[self.section.slug, self.slug])
        => Refused: reads an attribute of what can be NULL: `self.section.slug`
    reverse("rank", args=[self.rank])
        => Refused: passes what can be NULL to `reverse('rank', args=[self.rank])`
    reverse("number", kwargs={"pk": self.rank})
        => Refused: passes what can be NULL to `reverse('number', kwargs={'pk': self.rank})`
    if not self.pk:
        return None
    return reverse("entry", kwargs={"slug": self.slug})
        => Refused: has `if not self.pk:`
    if self.pk is None:
        return ""
    return reverse("entry", kwargs={"slug": self.slug})
        => Refused: has `if self.pk is None:`
    f"/{self.section.slug}/{self.slug}/"
        => Refused: reads an attribute of what can be NULL: `self.section.slug`
    if self.section is None:
        return None
    return f"/{self.section.slug}/{self.slug}/"
        => Refused: has `if self.section is None:`
    if self.section_id is None:
        return None
    return f"/{self.section.slug}/{self.slug}/"
        => Refused: has `if self.section_id is None:`
    "/posts/{item.slug}/".format(item=self) => Refused: needs the text or the number of `self`
    "/".join(["", str(self.author.name), str(self.slug)]) => Refused: calls `'/'.join()`
    path = "/posts/%s" % self.slug
    path += "/print/"
    return path
        => Refused: has `path += '/print/'`
    path = "/posts/"
    path += self.slug
    path += "/"
    return path
        => Refused: has `path += self.slug`
    slug = self.slug
    return "/posts/%(slug)s/" % locals()
        => Refused: has `slug = self.slug`
    @kept
    return f"/posts/{self.slug}/"
        => Refused: has a decorator
    path = self.returned
    return path + str(self.pk)
        => Refused: has `path += 'all/'`
    f"/{self.uid}/{self.number}/{self.public}/"
        => Refused: writes uuid in `f'/{self.uid}/{self.number}/{self.public}/'`
    f"/{self.day}/{self.created}/" => Refused: writes date in `f'/{self.day}/{self.created}/'`
    f"/{self.rank}/" => Refused: writes what can be NULL in `f'/{self.rank}/'`
    reverse("uid", args=[str(self.uid)]) => Refused: writes uuid in `str(self.uid)`
    reverse(self.viewname, kwargs=self.url_kwargs)
        => Refused: reads what is not a plain field or a property of `self`: `self.viewname`
    self.pattern.format(self.slug)
        => Refused: reads what is not a plain field or a property of `self`: `self.pattern`
    f"{self.prefix}/{self.slug}/"
        => Refused: reads what is not a plain field or a property of `self`: `self.prefix`
    f"/{self.uid}/" => Refused: writes uuid in `f'/{self.uid}/'`
    "/%s/%s/" % (self.uid, self.number) => Refused: writes uuid in `'/%s/%s/' % (self.uid, self.number)`
    f"{self.get_root()}/{self.slug}/"
        => Refused: reads what is not a plain field or a property of `self`: `self.root`
    f"{self.root}/{self.slug}/"
        => Refused: reads what is not a plain field or a property of `self`: `self.root`
    """
