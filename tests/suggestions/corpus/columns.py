"""Methods that fields, `reverse()` and paths make plain, conditions of columns, and their neighbours."""

# ruff: noqa: F401 the tables use the imports
from __future__ import annotations

from datetime import datetime, timedelta, timezone as zones

from django.db import models
from django.db.models import Case, Count, ExpressionWrapper, F, OuterRef, Subquery, Value, When
from django.db.models.functions import Coalesce, Length, TruncDay
from django.shortcuts import resolve_url
from django.urls import reverse, reverse as url_of, reverse_lazy
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import mark_safe
from django.utils.text import slugify
from django.utils.timezone import now

from tests.suggestions.blog.models import Author
from tests.suggestions.corpus import Form, kept

PATTERN = "/posts/%s/"
TEMPLATE = "/posts/{slug}/"
BASE = "/base"
ROUTE = "entry"
YEAR = 2026
LABEL: str = "label"


class Chains(Form):
    of_the_model = """
    self.path => Empty: F("path")
    f"{self.path}" => Empty: F("path")
    self.code => Empty: F("code")
    self.author.name => Empty: F("author__name")
    self.section.slug if self.section else None
        => Empty: If(Q(section NULL) then V(None)) else F("section__slug"), TEXT)
    team = self.author.team; return team.slug => Empty: F("author__team__slug")
    self.code if self.code is not None else self.path
        => Empty: If(Q(code NULL) then F("path")) else F("code"), TEXT)
    "/none/" if self.code is None else self.code
        => Empty: If(Q(code NULL) then V("/none/")) else F("code"), TEXT)
    path: str = self.path; return path => Empty: F("path")
    self.slug => Empty: F("slug")
    """
    of_the_sitemap = """
    item.get_url() => Route("entry", slug)
    item.kept => Path("/kept/{slug}/", slug)
    str(item.path) => Empty: F("path")
    """


class Reverse(Form):
    of_the_model = """
    reverse("entry", kwargs={"slug": self.slug}) => Route("entry", slug)
    reverse("number", args=[str(self.id)]) => Route("number", F("id"))
    reverse("number", kwargs=dict(pk=self.id)) => ! calls `dict()`
    kwargs = {"slug": str(self.slug)}; return reverse("entry", kwargs=kwargs) => Route("entry", slug)
    reverse("entry", None, (), {"slug": self.slug}) => Route("entry", slug)
    reverse_lazy("entry", kwargs={"slug": self.slug}) => Route("entry", slug)
    reverse("blog:entry", kwargs={"slug": self.slug}) => Route("blog:entry", slug)
    reverse("kind-entry", args=["news", self.slug]) => Route("kind-entry", "news", F("slug"))
    reverse("author-entry", args=[self.author.name, self.pk])
        => Route("author-entry", F("author__name"), F("pk"))
    reverse("team-entry", kwargs={"team": self.author.team.slug, "pk": self.pk})
        => Route("team-entry", team=F("author__team__slug"), pk)
    reverse("uid", kwargs={"uid": self.uid}) => Route("uid", uid)
    reverse("day", kwargs={"day": self.day, "slug": self.slug}) => Route("day", day, slug)
    reverse("archive", args=[self.day.year, self.day.month, self.day.day, self.slug])
        => Route("archive", ExtractYear("day"), ExtractMonth("day"), ExtractDay("day"), F("slug"))
    time = self.created
    parts = {"year": time.year, "month": time.month, "day": time.day}
    return reverse("archive", kwargs={**parts, "slug": self.slug}) => ! has `{**parts, 'slug': self.slug}`
    reverse("archive", args=[str(self.day.year), "1", str(self.day.day), self.slug])
        => Route("archive", ExtractYear("day"), "1", ExtractDay("day"), F("slug"))
    reverse("entry", args=[f"{self.pk}-{self.slug}"])
        => Route("entry", Concat(Cast(F("pk"), str), V("-"), F("slug"), TEXT))
    args = [self.slug]; return reverse("entry", args=args) => Route("entry", F("slug"))
    reverse(viewname="entry", kwargs={"slug": self.slug}) => Route("entry", slug)
    reverse("entry", urlconf=None, args=[self.slug]) => Route("entry", F("slug"))
    url_of("entry", args=[self.slug]) => Route("entry", F("slug"))
    reverse_lazy("entry", args=[self.slug]) => Route("entry", F("slug"))
    reverse(ROUTE, args=[self.slug]) => Route("entry", F("slug"))
    reverse(f"blog:{ROUTE}", args=[self.slug]) => Route("blog:entry", F("slug"))
    reverse("archive", args=[YEAR, 1, 2, self.slug]) => Route("archive", 2026, 1, 2, F("slug"))
    reverse("entry", args=[f"{self.kind}-{self.slug}"])
        => Route("entry", Concat(F("kind"), V("-"), F("slug"), TEXT))
    reverse("entry", args=["%s-%d" % (self.slug, self.pk)])
        => Route("entry", Concat(F("slug"), V("-"), Cast(F("pk"), str), TEXT))
    reverse("number", args=[str(self.author_id)]) => Route("number", F("author_id"))
    reverse("entry", args=[self.pk]) => Route("entry", F("pk"))
    reverse("number", args=[self.slug]) => Route("number", F("slug"))
    reverse("no-such-name", args=[self.slug]) => Route("no-such-name", F("slug"))
    reverse("rank", args=[self.public]) => Route("rank", F("public"))
    """
    of_the_sitemap = """
    """


class Formats(Form):
    of_the_model = """
    f"/posts/{self.slug}/" => Path("/posts/{slug}/", slug)
    f"/{self.pk}-{self.slug}.html" => Path("/{pk}-{slug}.html", pk, slug)
    f"/{self.author.name}/{self.author.pk}/{self.author.team.slug}/"
        => Path("/{author__name}/{author__pk}/{author__team__slug}/", author__name, author__pk,
        author__team__slug)
    "/posts/%s/%s/" % (self.pk, self.slug) => Path("/posts/{pk}/{slug}/", pk, slug)
    "/posts/%(slug)s/" % {"slug": self.slug} => Path("/posts/{slug}/", slug)
    "/100%%/%s/" % self.slug => Path("/100%/{slug}/", slug)
    PATTERN % self.slug => Path("/posts/{slug}/", slug)
    "/posts/{1}/{0}/".format(self.slug, self.pk) => Path("/posts/{pk}/{slug}/", pk, slug)
    f"/posts/{self.slug!s}/" => Path("/posts/{slug}/", slug)
    f"/posts/{{{self.slug}}}/" => Path("/posts/{{{slug}}}/", slug)
    "/posts/" + self.slug + "/" => Path("/posts/{slug}/", slug)
    self.get_path() => Path("/posts/{slug}/", slug)
    f"{self.path_of_kind}{self.slug}/" => Path("/{kind}/{slug}/", kind, slug)
    f"https://www.example.com/{self.slug}/" => Path("https://www.example.com/{slug}/", slug)
    f"/{self.day.year}/{self.slug}/" => Path("/{value_0}/{slug}/", value_0=ExtractYear("day"), slug)
    f"/{self.created.year}/{self.created.month}/"
        => Path("/{value_0}/{value_1}/", value_0=ExtractYear("created", tzinfo=UTC),
        value_1=ExtractMonth("created", tzinfo=UTC))
    f"{self.path}print/" => Empty: Concat(F("path"), V("print/"), TEXT)
    f"{BASE}/{self.slug}/" => Path("/base/{slug}/", slug)
    f"/{LABEL}/{self.slug}/" => Path("/label/{slug}/", slug)
    f"/{self.kind}/" + f"{self.slug}/" => Path("/{kind}/{slug}/", kind, slug)
    f"/{f'{self.kind}-{self.slug}'}/" => Path("/{kind}-{slug}/", kind, slug)
    "/{kind}/{slug}/".format(kind=self.kind, slug=self.slug) => Path("/{kind}/{slug}/", kind, slug)
    "/{0}/{0}/".format(self.slug) => Path("/{slug}/{slug}/", slug)
    "/{!s}/".format(self.slug) => Path("/{slug}/", slug)
    "/%d-%s/" % (self.number, self.slug) => Path("/{number}-{slug}/", number, slug)
    f"/posts/{self.slug}/#comments" => Path("/posts/{slug}/#comments", slug)
    f"/posts/?slug={self.slug}&page=1" => Path("/posts/?slug={slug}&page=1", slug)
    self.path + self.slug => Empty: Concat(F("path"), F("slug"), TEXT)
    "" + self.path + "" => Empty: F("path")
    f"/100%/%s/{self.slug}/" => Path("/100%/%s/{slug}/", slug)
    "/{}/{slug}/%s/" % self.slug => Path("/{{}}/{{slug}}/{slug}/", slug)
    f"/<int:pk>/{self.slug}/" => ! PathTemplate('/<int:pk>/{slug}/'): write {pk}, not <int:pk>
    """
    of_the_sitemap = """
    """


class Computed(Form):
    of_the_model = """
    self.path.strip() => ! calls it
    reverse("kind-entry", args=[f"{self.day:%Y}", self.slug]) => ! has `f'{self.day:%Y}'`
    reverse("archive", args=[self.day.year, "%02d" % self.day.month, 1, self.slug])
        => ! formats otherwise `'%02d' % self.day.month`
    reverse("entry", args=[self.slug]) + "#comments" => ! writes `reverse('entry', args=[self.slug])`
    f"{reverse('entry', args=[self.slug])}?page=1" => ! writes `reverse('entry', args=[self.slug])`
    reverse("entry", args=[slugify(self.title)]) => ! calls `slugify()`
    reverse("author-entry", args=[self.author, self.pk]) => ! writes `self.author`
    reverse(f"{self.kind}-detail", args=[self.slug]) => ! reverses it
    "/%s/%02d/%s/" % (self.day.year, self.day.month, self.slug) => ! formats otherwise it
    "/%d/" % self.number => Path("/{number}/", number)
    f"/{self.day.year}/{self.day.month:02d}/" => ! has it
    f"/{self.slug!r}/" => ! has it
    "/%20s/" % self.slug => ! formats otherwise it
    if self.section: return f"/{self.section.slug}/{self.slug}/"
    return f"/{self.slug}/" => ! has `if self.section:`
    f"/{self.section.slug if self.section else 'none'}/{self.slug}/"
        => Path("/{value_0}/{slug}/", value_0=If(Q(section NULL) then V("none")) else F("section__slug"),
        TEXT), slug)
    f"/{self.path or self.slug}/"
        => Path("/{value_0}/", value_0=If(Q(path="") then F("slug")) else F("path"), TEXT))
    f"/{self.author}/" => ! writes `self.author`
    kwargs = {}; kwargs["slug"] = self.slug; return reverse("entry", kwargs=kwargs)
        => ! has `kwargs['slug'] = self.slug`
    resolve_url("entry", self.slug) => ! calls `resolve_url()`
    str(reverse_lazy("entry", args=[self.slug])) => ! writes `reverse_lazy('entry', args=[self.slug])`
    reverse("section-entry", args=[self.section.slug, self.slug]) => ! reads of NULL `self.section.slug`
    reverse("rank", args=[self.rank]) => ! passes NULL to it
    if not self.pk: return None
    return reverse("entry", kwargs={"slug": self.slug}) => ! has `if not self.pk:`
    "/posts/{item.slug}/".format(item=self) => ! writes `self`
    "/".join(["", str(self.author.name), str(self.slug)]) => ! calls `'/'.join()`
    path = "/posts/"; path += self.slug; path += "/"; return path => ! has `path += self.slug`
    slug = self.slug; return "/posts/%(slug)s/" % locals() => ! has `slug = self.slug`
    @kept
    return f"/posts/{self.slug}/" => ! has a decorator
    path = self.returned; return path + str(self.pk) => ! has `path += 'all/'`
    f"/{self.uid}/{self.number}/{self.public}/" => ! writes uuid in it
    f"/{self.rank}/" => ! writes NULL in it
    reverse("uid", args=[str(self.uid)]) => ! writes uuid in `str(self.uid)`
    reverse(self.viewname, kwargs=self.url_kwargs) => ! reads otherwise `self.viewname`
    f"{self.prefix}/{self.slug}/" => ! reads otherwise `self.prefix`
    f"/{self.uid}/" => ! writes uuid in it
    f"{self.get_root()}/{self.slug}/" => ! reads otherwise `self.root`
    """


class Conditions(Form):
    of_the_model = """
    self.path or "/none/" => Empty: If(Q(path="") then V("/none/")) else F("path"), TEXT)
    self.code or self.path or f"/posts/{self.slug}/"
        => Empty: If(Q(code="") | Q(code NULL) then If(Q(path="") then Concat(V("/posts/"), F("slug"),
        V("/"), TEXT)) else F("path"), TEXT)) else F("code"), TEXT)
    reverse("rank", args=[self.code or "none"])
        => Route("rank", If(Q(code="") | Q(code NULL) then V("none")) else F("code"), TEXT))
    section = self.section
    return reverse("section-entry", args=[section.slug if section else "none", self.slug])
        => Route("section-entry", If(Q(section NULL) then V("none")) else F("section__slug"), TEXT),
        F("slug"))
    reverse("number", args=[self.rank or 0])
        => Route("number", If(Q(rank=0) | Q(rank NULL) then V(0)) else F("rank"), INT))
    f"/{'none' if self.code is None else self.code}/{self.slug}/"
        => Path("/{value_0}/{slug}/", value_0=If(Q(code NULL) then V("none")) else F("code"), TEXT), slug)
    f"/{self.code if self.code is not None else 'none'}/"
        => Path("/{value_0}/", value_0=If(Q(code NULL) then V("none")) else F("code"), TEXT))
    f"/{self.code if self.rank is not None else 'none'}/" => ! writes NULL in it
    "/hidden/" if not self.public else f"/{self.pk}/"
        => If(Q(public=False) then V("/hidden/")) else Concat(V("/"), Cast(F("pk"), str), V("/"), TEXT),
        TEXT)
    f"/{self.section.slug}/" if not self.section is None else "/none/"
        => If(Q(section NULL) then V("/none/")) else Concat(V("/"), F("section__slug"), V("/"), TEXT),
        TEXT)
    f"/{self.section.slug}/" if self.section_id else "/none/"
        => If(Q(section_id=0) | Q(section_id NULL) then V("/none/")) else Concat(V("/"),
        F("section__slug"), V("/"), TEXT), TEXT)
    parent = "none" if self.section is None else (self.section.slug or "empty")
    return f"/{parent}/{self.slug}/"
        => Path("/{value_0}/{slug}/", value_0=If(Q(section NULL) then V("none")) else
        If(Q(section__slug="") then V("empty")) else F("section__slug"), TEXT), TEXT), slug)
    f"/{self.section.parent.slug}/" if self.section else "/none/"
        => ! reads of NULL `self.section.parent.slug`
    section = self.section
    slug = "none" if section is None else (section.parent.slug if section.parent else "root")
    return f"/{slug}/"
        => Path("/{value_0}/", value_0=If(Q(section NULL) then V("none")) else If(Q(section__parent NULL)
        then V("root")) else F("section__parent__slug"), TEXT), TEXT))
    "/none/" if self.path == "" else self.path
        => Empty: If(Q(path="") then V("/none/")) else F("path"), TEXT)
    "/none/" if self.code == None else self.code => ! compares `self.code == None`
    "/zero/" if self.number == 0 else f"/{self.slug}/" => If(Q(number=0) then V("/zero/")) else SLUG, TEXT)
    "/big/" if self.rank > 5 else f"/{self.slug}/" => ! compares `self.rank > 5`
    "/zero/" if self.number == "0" else f"/{self.slug}/" => ! compares `self.number == '0'`
    "/public/" if self.public == True else f"/{self.slug}/" => ! has `True`
    "/some/" if 0 < self.number < 500 else f"/{self.slug}/" => ! compares `0 < self.number < 500`
    "/same/" if self.slug == self.title else f"/{self.slug}/" => ! compares `self.slug == self.title`
    "/some/" if self.public and self.path else f"/{self.slug}/" => ! has `self.public and self.path`
    "/old/" if self.day.year < 2026 else f"/{self.slug}/" => ! compares `self.day.year < 2026`
    f"/{self.slug}/" if self.updated else "/new/" => If(Q(updated NULL) then V("/new/")) else SLUG, TEXT)
    f"/{self.slug}/" if self.created else "/new/" => ! asks for the truth of `self.created`
    f"/{self.slug}/" if self.weight else "/light/"
        => If(Q(weight=0) | Q(weight NULL) then V("/light/")) else SLUG, TEXT)
    reverse("entry" if self.public else "blog:entry", args=[self.slug]) => ! reverses it
    reverse("entry", args=[self.slug]) if self.public else "/hidden/" => ! routes it
    self.path or reverse("entry", args=[self.slug]) => ! routes it
    f"/{self.rank or 'none'}/" => ! chooses between integer and text in `self.rank or 'none'`
    f"/{self.uid if self.public else 'hidden'}/"
        => ! chooses between text and uuid in `self.uid if self.public else 'hidden'`
    f"/{self.uid}/" if self.public else "/hidden/" => ! writes uuid in `f'/{self.uid}/'`
    f"/{self.number}/{self.slug}/" if self.public else f"/{self.pk}/"
        => If(Q(public=False) then Concat(V("/"), Cast(F("pk"), str), V("/"), TEXT)) else Concat(V("/"),
        Cast(F("number"), str), V("/"), F("slug"), V("/"), TEXT), TEXT)
    self.path if self.public else None => Empty: If(Q(public=False) then V(None)) else F("path"), TEXT)
    "/a/" if self.public else ("/b/" if self.number else f"/{self.slug}/")
        => If(Q(public=False) then If(Q(number=0) then SLUG) else V("/b/"), TEXT)) else V("/a/"), TEXT)
    f"/100%/{self.slug}/%s/" if self.public else "/50%/{}/"
        => If(Q(public=False) then V("/50%/{}/")) else Concat(V("/100%/"), F("slug"), V("/%s/"), TEXT),
        TEXT)
    """


class Lastmods(Form):
    hook = "lastmod"
    of_the_sitemap = """
    item.updated => F("updated")
    item.day => F("day")
    item.author.changed => F("author__changed")
    item.section.changed => ! reads of NULL it
    if item.section: return item.section.changed
    return None => ! has `if item.section:`
    item.updated or item.created => If(Q(updated NULL) then F("created")) else F("updated"), TIME)
    item.updated or item.author.changed or item.created
        => If(Q(updated NULL) then If(Q(author__changed NULL) then F("created")) else F("author__changed"),
        TIME)) else F("updated"), TIME)
    updated, created = item.updated, item.created; return created if updated is None else updated
        => ! has `updated, created = (item.updated, item.created)`
    item.updated or item.day => ! chooses between date and datetime in it
    item.updated and item.updated.date() => ! has it
    None => None
    item.updated if hasattr(item, "updated") else item.created => ! calls `hasattr()`
    max(item.created, item.author.changed) => ! calls `max()`
    timezone.localtime(item.created).date() => ! calls it
    datetime.combine(item.day, datetime.min.time()) => ! calls `datetime.combine()`
    item.labels.order_by("-pk").first() => ! calls it
    item.created if item.section is None else item.author.changed
        => If(Q(section NULL) then F("created")) else F("author__changed"), TIME)
    item.day if item.public else None => If(Q(public=False) then V(None)) else F("day"), DATE)
    item.updated if item.kind == "post" else item.created
        => If(Q(kind="post") then F("updated")) else F("created"), TIME)
    item.section.changed if item.section else item.created
        => If(Q(section NULL) then F("created")) else F("section__changed"), TIME)
    """


class Changefreqs(Form):
    hook = "changefreq"
    of_the_sitemap = """
    "daily" => "daily"
    item.freq => F("freq")
    item.freq if item.freq is not None else "weekly"
        => If(Q(freq NULL) then V("weekly")) else F("freq"), TEXT)
    item.freq or "weekly" => If(Q(freq="") | Q(freq NULL) then V("weekly")) else F("freq"), TEXT)
    if item.updated and item.updated > now() - timedelta(days=7): return "daily"
    return "monthly" => ! has `if item.updated and item.updated > now() - timedelta(days=7):`
    f"{item.kind}ly" => Concat(F("kind"), V("ly"), TEXT)
    """


class Priorities(Form):
    hook = "priority"
    of_the_sitemap = """
    0.5 => 0.5
    item.weight => F("weight")
    0.5 if item.weight is None else item.weight => If(Q(weight NULL) then V(0.5)) else F("weight"), FLOAT)
    item.weight / 10 if item.weight is not None else None => ! has `item.weight / 10`
    round(item.weight, 1) => ! calls `round()`
    0.9 if item.number > 10 else 0.1 => ! compares `item.number > 10`
    "%.1f" % item.weight => ! formats otherwise it
    0.5 if item.section_id is None else 0.8 => If(Q(section_id NULL) then V(0.5)) else V(0.8), FLOAT)
    0.9 if item.number == 10 else 0.1 => If(Q(number=10) then V(0.9)) else V(0.1), FLOAT)
    item.weight or 0.5 => If(Q(weight=0) | Q(weight NULL) then V(0.5)) else F("weight"), FLOAT)
    1 if item.public else 0 => If(Q(public=False) then V(0)) else V(1), INT)
    1 if item.public else 0.5 => ! chooses between float and integer in it
    0.9 if item.updated is None else None => If(Q(updated NULL) then V(0.9)) else V(None), FLOAT)
    """


class AnnotatedTexts(Form):
    annotations = {"total": Count("labels"), "url": F("path")}
    of_the_sitemap = """
    item.url => Empty: F("url")
    f"/{item.total}/" => ! writes NULL in it
    """


class AnnotatedTimes(Form):
    hook = "lastmod"
    annotations = {
        "first": F("created"),
        "either": Coalesce("updated", "created"),
        "related": F("author__changed"),
        "midnight": TruncDay("created", tzinfo=zones.utc),
        "mixed": Coalesce("day", "created", output_field=models.DateTimeField()),
        "nested": Subquery(Author.objects.filter(pk=OuterRef("author")).values("changed")[:1]),
    }
    of_the_sitemap = """
    item.midnight => F("midnight")
    item.updated or item.first => If(Q(updated NULL) then F("first")) else F("updated"), TIME)
    item.updated or item.related => If(Q(updated NULL) then F("related")) else F("updated"), TIME)
    item.updated or item.midnight => ! chooses between computed datetime and datetime in it
    item.updated or item.mixed => ! chooses between computed datetime and datetime in it
    item.updated or item.nested => ! chooses between computed datetime and datetime in it
    """


class AnnotatedNumbers(Form):
    hook = "priority"
    annotations = {
        "total": Count("labels"),
        "first": Coalesce("rank", "number", Value(2)),
        "halved": ExpressionWrapper(F("number") * 0.5, models.IntegerField()),
        "second": Coalesce("rank", F("number") * 1),
        "rounded": Coalesce("rank", Value(1.5), output_field=models.IntegerField()),
        "length": Case(When(rank=1, then=2), default=Length("slug")),
    }
    of_the_sitemap = """
    0.9 if item.total else 0.1 => If(Q(total=0) | Q(total NULL) then V(0.1)) else V(0.9), FLOAT)
    0.9 if item.first == 2 else 0.1 => If(Q(first=2) then V(0.9)) else V(0.1), FLOAT)
    0.9 if item.halved == 2 else 0.1 => ! compares `item.halved == 2`
    0.9 if item.second == 2 else 0.1 => ! compares `item.second == 2`
    0.9 if item.rounded == 1 else 0.1 => ! compares `item.rounded == 1`
    0.9 if item.length == 2 else 0.1 => ! compares `item.length == 2`
    """
