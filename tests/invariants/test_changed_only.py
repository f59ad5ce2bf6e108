"""An export with `--changed-only` publishes the same files as a full one."""

from __future__ import annotations

import os
import random
from datetime import timedelta

import pytest
from django.db.models import F, Value
from django.db.models.functions import Concat
from django.urls import set_script_prefix

from django_sitemaps09 import Route
from tests.support.databases import ALIASES, parameter
from tests.support.twins import NEWER, OLD, ROWS, START, add, path, published, some

pytestmark = pytest.mark.slow


def of_category(twins, **values):
    from tests.models import Category

    Category.objects.using(twins.using).filter(slug="red").update(**values)


def swap(twins):
    """Swap two rows of one page, so that the sums of their columns do not change."""
    one, other = some(twins, 110, 120).order_by("pk")
    some(twins, 110).update(slug=other.slug, category=other.category)
    some(twins, 120).update(slug=one.slug, category=one.category)


def instead(twins):
    """Replace rows of a page by as many others, none of them newer."""
    some(twins, 210).delete()
    add(twins, 211)


#: Changes that neither the count nor the newest lastmod shows.
UNDATED = {
    "a column": lambda twins: some(twins, 330).update(slug="other"),
    "a column of all": lambda twins: twins.articles.update(weight="0.7"),
    "a null": lambda twins: some(twins, 330).update(weight=None),
    "an older lastmod": lambda twins: some(twins, 330).update(updated=OLD - timedelta(days=9)),
    "a joined slug": lambda twins: of_category(twins, slug="scarlet"),
    "a row that goes to another category": lambda twins: some(twins, 330).update(
        category=twins.articles.get(pk=340).category
    ),
    "two that change places": swap,
    "one instead of another": instead,
    "upper case": lambda twins: some(twins, 330).update(slug="A33"),
    "a space at the end": lambda twins: some(twins, 330).update(slug="a33 "),
}

SEEN = {
    "nothing": lambda twins: None,
    "a column with a newer lastmod": lambda twins: some(twins, 330).update(slug="x", updated=NEWER),
    "two columns in two pages": lambda twins: some(twins, 330, 770).update(
        slug=Concat(F("slug"), Value("x")), updated=NEWER
    ),
    "a row behind": lambda twins: add(twins, 5_000),
    "a row in between": lambda twins: add(twins, 335),
    "an old one, that was committed late": lambda twins: add(twins, 335, OLD - timedelta(days=99)),
    "one without a lastmod": lambda twins: add(twins, 335, None),
    "one of the future": lambda twins: add(twins, 335, START + timedelta(days=99)),
    "a row before the first": lambda twins: add(twins, 1),
    "many in one page": lambda twins: [add(twins, pk) for pk in range(331, 340)],
    "many behind": lambda twins: [add(twins, pk) for pk in range(5_000, 5_030)],
    "one less": lambda twins: some(twins, 330).delete(),
    "a page less": lambda twins: some(twins, *range(310, 410, 10)).delete(),
    "the last page less": lambda twins: some(twins, *range(910, 1_010, 10)).delete(),
    "most of some pages less": lambda twins: some(twins, *range(320, 600, 10)).delete(),
    "all of one lastmod": lambda twins: some(twins, *range(310, 410, 10)).update(updated=None),
    "a key within its page, where no URL is of it": lambda twins: some(twins, 330).update(id=331),
    "a key to another page": lambda twins: some(twins, 330).update(id=5_000),
}


def declared(**attributes):
    return lambda twins: twins.attributes.update(attributes)


def keys(**given):
    return lambda twins: twins.keys.update(given)


def setting(name, value):
    return lambda twins: setattr(twins.settings, name, value)


#: Everything except rows that determines the bytes of pages.
DECLARED = {
    "a constant": declared(changefreq="weekly"),
    "another expression": declared(location=path(Value("x/"), F("slug"))),
    "another lastmod": declared(lastmod=F("day")),
    "no lastmod": declared(lastmod=None),
    "a method": declared(location=lambda sitemap, item: f"/method/{item.slug}/"),
    "a protocol": declared(protocol="http"),
    "languages": declared(i18n=True, alternates=True, limit=9, location=Route("article", slug=F("slug"))),
    "a filter": lambda twins: twins.attributes.update(queryset=twins.articles.filter(pk__lt=555)),
    "a filter of nearly as many": lambda twins: twins.attributes.update(
        queryset=twins.articles.exclude(pk=330)
    ),
    "a lower limit of the class": declared(limit=7),
    "lower MAX_URLS": keys(MAX_URLS=6),
    "higher MAX_URLS": keys(MAX_URLS=30),
    "lower MAX_BYTES": keys(MAX_BYTES=900),
    "no gzip": keys(GZIP=False),
    "another codec": keys(GZIP_LEVEL=9),
    "a stylesheet": keys(STYLESHEET=True),
    "another zone": setting("TIME_ZONE", "Asia/Tokyo"),
    "another language": setting("LANGUAGE_CODE", "de"),
    "rebalance": lambda twins: twins.options.update(rebalance=True),
    "a method for the rows": lambda twins: twins.attributes.update(
        queryset=None, get_queryset=lambda sitemap: twins.articles.filter(pk__gt=100)
    ),
}
#: What is declared is compared without the database, so that one server stands for both.
CHANGES = [
    pytest.param(alias, change, marks=found.marks, id=f"{name}-{found.id}")
    for alias, found in ((alias, parameter(alias, transaction=alias != "default")) for alias in ALIASES)
    for name, change in (SEEN | UNDATED | ({} if alias == "mariadb" else DECLARED)).items()
]


class TestWhatIsPublished:
    @pytest.mark.parametrize(("snapshot_using", "change"), CHANGES, indirect=["snapshot_using"])
    def test_is_the_same_after_any_change(self, twins, change):
        twins.settled()
        change(twins)
        for _ in range(2):
            twins.run()
            assert twins.same

    def test_is_the_same_under_another_prefix(self, twins):
        twins.attributes["location"] = Route("article", slug=F("slug"))
        twins.settled()
        set_script_prefix("/shop/")
        assert twins.run().skipped == 0
        assert twins.same
        assert b"/shop/" in published(twins.folder / "changed")["sitemap-a-1.xml.gz"]

    @pytest.mark.parametrize("harm", ["gone", "cut", "longer"])
    def test_repairs_a_file_that_was_damaged(self, twins, harm):
        twins.settled()
        path = twins.folder / "changed" / "sitemap-a-4.xml.gz"
        whole = path.read_bytes()
        if harm == "gone":
            path.unlink()
        else:
            path.write_bytes(whole[:-9] if harm == "cut" else whole + b"more")
        report = twins.run()
        assert report.skipped == len(report.files) - 1
        assert twins.same


#: Runs of the test of random changes. For more of them: SITEMAPS09_STEPS=500, -o faulthandler_timeout=0.
STEPS = int(os.environ.get("SITEMAPS09_STEPS", "20"))


class Steps:
    """Random changes of rows, the same ones for the same seed on each database."""

    def __init__(self, twins, seed):
        self.twins, self.random = twins, random.Random(seed)  # noqa: S311

    def any(self):
        """Make one of the changes below, and return its name."""
        choices = [name for name in sorted(vars(Steps)) if name[0] not in "_a"]
        name = self.random.choice(choices)
        getattr(self, name)()
        return name

    def _pks(self, count):
        """Return the keys of consecutive rows."""
        found = list(self.twins.articles.order_by("pk").values_list("pk", flat=True))
        start = self.random.randrange(max(1, len(found) - count))
        return found[start : start + count]

    def _rows(self, count=1):
        return some(self.twins, *self._pks(count))

    def _slug(self):
        return self.random.choice(["a", "A", "é", "a ", "a/b", "'", "\\", "&", ""]) + str(
            self.random.randrange(10**6)
        )

    def _swap(self, *names):
        one, other = self.twins.articles.filter(pk__in=self.random.sample(self._pks(60), 2))
        some(self.twins, one.pk).update(**{name: getattr(other, name) for name in names})
        some(self.twins, other.pk).update(**{name: getattr(one, name) for name in names})

    def _free(self):
        taken = set(self.twins.articles.values_list("pk", flat=True))
        return self.random.choice([pk for pk in range(1, 2_000) if pk not in taken])

    def insert(self):
        add(self.twins, self._free(), self.random.choice([None, OLD, self.twins.now[0]]))

    def insert_behind(self):
        last = self.twins.articles.latest("pk").pk
        for pk in range(last + 1, last + 1 + self.random.randrange(1, 25)):
            add(self.twins, pk)

    def delete(self):
        self._rows().delete()

    def delete_a_range(self):
        if self.twins.articles.count() > ROWS:
            self._rows(self.random.randrange(5, 30)).delete()

    def delete_one_for_another(self):
        [pk] = self._pks(1)
        some(self.twins, pk).delete()
        add(self.twins, self._free())

    def update(self):
        self._rows().update(slug=self._slug())

    def update_many(self):
        self._rows(self.random.randrange(2, 40)).update(weight=self.random.choice([None, "0.1", "0.9"]))

    def update_all(self):
        self.twins.articles.update(weight=self.random.choice(["0.3", "0.4"]))

    def update_a_category(self):
        from tests.models import Category

        category = self.random.choice(Category.objects.using(self.twins.using).order_by("pk"))
        Category.objects.using(self.twins.using).filter(pk=category.pk).update(
            slug=f"c{self.random.randrange(10**6)}"
        )

    def to_another_category(self):
        from tests.models import Category

        pks = Category.objects.using(self.twins.using).order_by("pk").values_list("pk", flat=True)
        self._rows().update(category=self.random.choice(pks))

    def swap_slugs(self):
        self._swap("slug")

    def swap_slugs_and_categories(self):
        self._swap("slug", "category_id")

    def swap_lastmods(self):
        self._swap("updated")

    def lastmod_back(self):
        self._rows().update(updated=OLD - timedelta(days=self.random.randrange(900)))

    def lastmod_newer(self):
        ago = timedelta(minutes=self.random.choice([-900, 0, 5, 9, 11, 59]))
        self._rows().update(updated=self.twins.now[0] - ago, slug=self._slug())

    def lastmod_gone(self):
        self._rows(self.random.choice([1, 12])).update(updated=None)

    def lastmod_by_a_part_of_a_second(self):
        self._rows().update(updated=OLD + timedelta(microseconds=self.random.randrange(10**6)))

    def key(self):
        self._rows().update(id=self._free())

    def nothing(self):
        pass


@pytest.mark.timeout(max(120, STEPS * 10))
def test_random_changes_never_make_it_differ_from_a_full_run(twins):
    seed = int(os.environ.get("SITEMAPS09_SEED") or random.randrange(10**9))  # noqa: S311
    print(f"SITEMAPS09_SEED={seed}")  # noqa: T201
    twins.keys["MAX_SHRINK"] = 1.0
    twins.run()
    steps, done, skipped = Steps(twins, seed), [], 0
    for number in range(STEPS):
        done.append([steps.any() for _ in range(steps.random.choice([1, 1, 2, 3]))])
        skipped += twins.run(timedelta(minutes=steps.random.choice([1, 8, 60, 60]))).skipped
        assert twins.same, f"SITEMAPS09_SEED={seed}, step {number}: {done[-3:]}"
    assert skipped > STEPS


class TestTimes:
    """A long transaction can commit rows that are older than those already read."""

    def test_of_the_last_ten_minutes_are_read_again(self, twins):
        twins.settled()
        seen = twins.now[0] - timedelta(minutes=1)
        some(twins, 330).update(updated=seen)
        report = twins.run(timedelta())
        assert report.skipped == len(report.files) - 1
        # Count and newest lastmod are unchanged, but the change is detected.
        some(twins, 340).update(slug="late", updated=seen - timedelta(minutes=3))
        report = twins.run(timedelta(minutes=5))
        assert report.skipped == len(report.files) - 1
        assert twins.same
        assert b"late" in published(twins.folder / "changed")["sitemap-a-4.xml.gz"]
        # Once it is older than that, it is read for the last time.
        twins.run(timedelta(minutes=60))
        report = twins.run(timedelta(minutes=1))
        assert report.skipped == len(report.files)

    def test_of_the_future_are_read_until_they_are_past(self, twins):
        twins.settled()
        some(twins, 330).update(updated=twins.now[0] + timedelta(days=2))
        twins.run()
        for _ in range(2):
            some(twins, 340).update(slug=Concat(F("slug"), Value("x")))
            report = twins.run()
            assert report.skipped == len(report.files) - 1
            assert twins.same
        twins.run(timedelta(days=3))
        report = twins.run()
        assert report.skipped == len(report.files)


class TestWhatComesLate:
    def test_is_seen_though_a_page_was_exported_when_its_rows_were_young(self, twins):
        """A row is committed late, and its lastmod is not newer than another one on its page."""
        from tests.models import Article

        twins.settled()
        rows = Article.objects.using(twins.using)
        young = twins.now[0] + timedelta(hours=1) - timedelta(seconds=60)
        rows.filter(pk=10).update(updated=young)
        twins.run()
        rows.filter(pk=20).update(updated=young - timedelta(seconds=1), slug="late")
        twins.run(timedelta(hours=30))
        assert twins.same_but_for_the_index
        assert b"/late" in b"".join(published(twins.folder / "changed").values())
