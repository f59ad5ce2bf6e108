"""`manage.py export_sitemaps`, also with `--verify`: its output, its errors, and its exit status."""

from __future__ import annotations

import inspect
import json
import os
import re
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command, get_commands, load_command_class
from django.utils.translation import override

from django_sitemaps09.export import export
from django_sitemaps09.export.options import ExportOptions, VerifyOptions, documented_options
from tests.support import commands, published
from tests.support.commands import FINE, Bad, environment
from tests.support.configuration import BASE
from tests.support.internals import STATE, LocalStore, exclusive_lock, export_sitemaps
from tests.support.processes import ended, started, until
from tests.support.search_engines import KEY
from tests.support.sections import Numbers, declare

said = partial(commands.said, "export_sitemaps")
failed = partial(commands.failed, "export_sitemaps")
#: The ID of a user without rights.
OTHER = 65_534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
ALL_FILES = {"sitemap.xml", "sitemap-a-1.xml.gz", "sitemap-products-1.xml.gz"}

pytestmark = pytest.mark.sitemaps09(SITEMAPS="tests.support.commands.FINE")


#: Section whose `lastmod` raises for every item, and whose item number 1 has no valid location.
Undated = declare(Bad, lastmod=lambda self, item: item.updated)


def written(folder):
    return {path.name for path in folder.iterdir() if path.is_file()} if folder.exists() else set()


def squeezed(out):
    """Return the output without times, and with one space between columns."""
    out = re.sub(r"^[\d,]+ URLs per second, peak memory .*$", "SPEED", out, flags=re.MULTILINE)
    return re.sub(r" +", " ", re.sub(r"\d+\.\d\d$", "0.00", out, flags=re.MULTILINE))


def test_the_table_has_the_numbers_of_each_section_and_of_all(folder, tmp_path, monkeypatch):
    robots = tmp_path / "robots.txt"
    out, err = said("--output", folder, "--robots", robots)
    a, products = ((folder / f"sitemap-{name}-1.xml.gz").stat().st_size for name in ("a", "products"))
    assert (squeezed(out), err) == (f"""\
a: 3 URLs
products: 1,234 URLs

section URLs pages written unchanged removed bytes on disk seconds
a 3 1 1 0 0 281 {a:,} 0.00
products 1,234 1 1 0 0 73,040 {products:,} 0.00
all 1,237 2 2 0 0 73,321 {a + products:,} 0.00
SPEED
Published {BASE}/sitemap.xml to {folder}
{robots}: written
""", "")  # fmt: skip
    # A later run tells what became of pages, URLs and robots.txt.
    out, _ = said("--output", folder, "--changes", "--robots", robots)
    starts = ("a  ", "products  ", "all  ")
    rows = [line.split()[2:6] for line in out.splitlines() if line.startswith(starts)]
    assert rows == [[pages, "0", pages, "0"] for pages in "112"]
    assert "0 URLs added, 0 URLs removed, 0 URLs changed\nNothing has changed in " in out
    assert out.endswith(f"{robots}: unchanged\n")
    monkeypatch.setitem(FINE, "a", Numbers(4))
    out, _ = said("a", "--output", folder, "--changes")
    assert "1 URL added, 0 URLs removed, 0 URLs changed\n" in out
    assert not re.search(r"\b1 (URL|page|file)s|robots\.txt", out)


@pytest.mark.parametrize("name", ["b", "b-name-with-more-than-twenty-characters"])
def test_the_table_has_columns_in_line_after_a_line_for_each_section(folder, monkeypatch, name):
    out, seen = StringIO(), []

    class Listening(Numbers):
        def items(self):
            seen.append(out.getvalue())
            return super().items()

    monkeypatch.setitem(FINE, name, Listening(2))
    call_command("export_sitemaps", "--output", str(folder), stdout=out)
    assert seen == ["a: 3 URLs\nproducts: 1,234 URLs\n"]
    rows = out.getvalue().splitlines()[4:9]
    assert len({len(row) for row in rows}) == 1
    ends = {row.index(words) + len(words) for row in rows for words in ("URLs", " 1,234") if words in row}
    assert len(ends) == 1


def test_the_table_counts_skipped_items_and_elements_apart(folder, monkeypatch):
    """The section is published, although each `lastmod` raises an error."""
    monkeypatch.setitem(FINE, "a", Undated(4))
    monkeypatch.setitem(FINE, "products", Undated(1, start=2))
    monkeypatch.setitem(FINE, "fine", Numbers(2))
    out, _ = said("--output", folder)
    assert "a: 1 item and 4 elements skipped; first error: item 1, lastmod: AttributeError: " in out
    assert "products: 1 element skipped; first error: item 1, lastmod: AttributeError: " in out
    assert ("fine: 0 skipped" in out, written(folder) > ALL_FILES) == (False, True)
    found = json.loads(said("--output", folder, "--format", "json")[0])["sections"]
    counts = [(each["skipped_items"], each["skipped_elements"], each["urls"]) for each in found]
    assert counts == [(1, 4, 3), (0, 1, 1), (0, 0, 2)]


@pytest.mark.parametrize(("sections", "option", "words", "end"), [
    ("FINE", "--dry-run", ["to write", "to remove"], "Without --dry-run, 3 files would be written."),
    ("LAME", "--strict", ["not written", "not removed"], "Nothing was written."),
])  # fmt: skip
def test_the_table_does_not_say_written_if_nothing_was(folder, configure, sections, option, words, end):
    configure(SITEMAPS=f"tests.support.commands.{sections}")
    if option == "--strict":
        out, _, error = failed("--output", folder, option)
        assert str(error) == "Nothing was published, because items or elements were skipped (strict)."
    else:
        out, err = said("--output", folder, option, "--changes")
        assert err == "Changed URLs were not counted, because a dry run keeps no files to compare.\n"
        assert said("--output", folder, option)[1] == ""
    [head] = [line for line in out.splitlines() if line.startswith("section ")]
    columns = f"section URLs pages {words[0]} unchanged {words[1]} bytes on disk seconds"
    assert head.split() == columns.split()
    assert (out.splitlines()[-1], "Nothing was written." in out, written(folder)) == (end, True, set())


def test_the_table_has_the_published_numbers_of_a_section_that_is_held_back(folder, monkeypatch):
    said("--output", folder)
    monkeypatch.setitem(FINE, "products", Numbers(1))
    out, _, error = failed("--output", folder)
    rows = [line.split()[:6] for line in out.splitlines() if line.startswith(("products  ", "all  "))]
    assert rows == [["products", "1,234", "1", "0", "1", "0"], ["all", "1,237", "2", "0", "2", "0"]]
    assert "products: failed; the published files are kept (1,234 URLs on 1 page)\n" in out
    assert "it would shrink from 1,234 to 1 URL, which is more than" in str(error)
    document = json.loads(failed("--output", folder, "--format", "json")[0])
    assert document["failures"] == str(error).splitlines()
    [_, held] = document["sections"]
    assert (held["urls"], held["unchanged"], len(held["files"])) == (1_234, 1, 1)


def test_json_is_the_report_of_export_and_verbosity_0_prints_nothing(folder, tmp_path):
    robots = tmp_path / "robots.txt"
    robots.write_text("User-agent: *\nDisallow: /\n")
    twin = folder.with_name("twin")
    out, err = said("--output", twin, "--robots", robots, "--format", "json")
    document = json.loads(out.replace(str(twin), str(folder)))
    # A warning is on standard error.
    assert [f"{warning}\n" for warning in document["warnings"]] == [err]
    assert err.startswith(f"{robots}: line 2 (")
    assert document.pop("robots") == "written"
    report = json.loads(json.dumps(export(output=folder, robots=robots).as_dict()))
    assert report.pop("robots") == "unchanged"
    assert (report["urls"], report["exit_status"], report["urls_per_second"] > 0) == (1_237, 0, True)
    assert report["rendered_by"] == {"the export itself": 2}
    # Hints contain times, and the peak memory of this process includes earlier tests.
    clocked = ("seconds", "hints", "urls_per_second", "memory", "workers_memory")

    def timeless(found):
        if isinstance(found, dict):
            return {name: timeless(value) for name, value in found.items() if name not in clocked}
        return [*map(timeless, found)] if isinstance(found, list) else found

    assert (timeless(document), said("--output", folder, verbosity=0)) == (timeless(report), ("", ""))


@pytest.mark.django_db
def test_the_command_warns_of_a_urlconf_that_it_does_not_know(folder, settings):
    settings.MIDDLEWARE = ["tests.tools.checks.test_views.by_host"]
    one, sites = ("--output", folder, "--base-url", BASE), ("--output", folder / "sites", "--all-sites")

    def warned(*arguments):
        words = "The middleware tests.tools.checks.test_views.by_host sets request.urlconf"
        return words in said(*arguments)[1]

    assert [warned(*one), warned("--output", folder), warned(*sites)] == [True, False, True]
    settings.SILENCED_SYSTEM_CHECKS = ["sitemaps09.W079"]
    assert not warned(*one)


#: What the command asks `export()` for without options.
DEFAULTS = {
    **dict.fromkeys(("output", "robots", "base_url", "gzip", "engine", "workers", "submit")),
    **dict.fromkeys(("strict", "dry_run", "changed_only", "rebalance", "changes"), False),
    **{name: [] for name in ("names", "force", "remove", "moved_from")},
}


@pytest.mark.parametrize(("line", "asked"), [
    ("", {}), ("products a", {"names": ["products", "a"]}),
    ("--output x --robots r", {"output": "x", "robots": "r"}),
    ("--base-url https://example.org --no-gzip", {"base_url": "https://example.org", "gzip": False}),
    ("--force a --force products --remove b", {"force": ["a", "products"], "remove": ["b"]}),
    ("--engine serial --workers 1", {"engine": "serial", "workers": 1}),
    ("--strict --dry-run --changes", {"strict": True, "dry_run": True, "changes": True}),
    ("--changed-only --rebalance", {"changed_only": True, "rebalance": True}),
    ("--submit", {"submit": True}),
    ("--moved-from https://a.test --moved-from b", {"moved_from": ["https://a.test", "b"]}),
])  # fmt: skip
def test_each_option_is_an_argument_of_export(monkeypatch, line, asked):
    def recorded(*arguments, **options):
        found = inspect.signature(export).bind(*arguments, **options).arguments
        assert callable(found.pop("progress"))
        assert found == DEFAULTS | asked
        raise OSError("enough")

    monkeypatch.setattr(export_sitemaps, "export", recorded)
    assert str(failed(*line.split())[2]) == "enough"


def test_each_option_has_the_text_of_its_argument():
    parser = load_command_class("django_sitemaps09", "export_sitemaps").create_parser("", "")
    described = {action.dest: action.help for action in parser._actions}
    described["names"] = described["sections"]
    expected = {
        name: text
        for options_type in (ExportOptions, VerifyOptions)
        for name, (_, text) in documented_options(options_type).items()
        # Their values are not text, or the command reverses them.
        if name not in {"sitemaps", "on_published", "progress", "on_page", "on_plan", "gzip"}
    }
    expected["base_url"] += "; repeat it for several hosts"
    assert described.items() >= expected.items()
    help_text = " ".join(parser.format_help().split())
    options = [f"--{name.replace('_', '-')}" for name in expected if name != "names"]
    assert [option for option in (*options, "--no-gzip") if option not in help_text] == []


@pytest.mark.parametrize(("arguments", "keys", "words"), [
    ([], {"ROOT": None}, "--output DIR"), (["--ouptut", "x"], {}, "--ouptut"),
    (["--format", "xml"], {}, "xml"), (["prodcts"], {}, "Did you mean 'products'?"),
    (["--base-url", "example.com"], {}, "--base-url: 'example.com'"),
    ([], {"SITEMAPS": f"{__name__}.NOTHING"}, "NOTHING"),
    ([], {"SITEMAPS": f"{__name__}.BASE"}, "not a dict"),
    ([], {"SITEMAPS": "tests.support.commands.NONE"}, "no section to export"),
    ([], {"BASE_URL": "example.com"}, "BASE_URL"), ([], {"ROBOTS_TXT": 1}, "ROBOTS_TXT"),
])  # fmt: skip
def test_an_error_is_named_before_anything_is_written(folder, configure, arguments, keys, words):
    configure(**{"ROOT": folder, **keys})
    out, _, error = failed(*arguments)
    assert (words in str(error), out, error.returncode, folder.exists()) == (True, "", 1, False)


def test_an_error_of_robots_txt_comes_after_the_sitemap_is_published(folder, tmp_path):
    robots = tmp_path / "missing" / "robots.txt"
    out, _, error = failed("--output", folder, "--robots", robots)
    assert (str(robots) in str(error), f"{robots}: failed" in out) == (True, True)
    assert written(folder) == ALL_FILES


@contextmanager
def another_user():
    """Run as a user without rights, if this user is root."""
    if os.geteuid() != 0:
        yield
        return
    # That user may be unable to read the checkout, so find now what is otherwise found when it is needed.
    get_commands()
    for name in ("management.commands.submit_sitemaps", "export.notify.client"):
        import_module(f"django_sitemaps09.{name}")
    with override(settings.LANGUAGE_CODE):
        os.seteuid(OTHER)
        try:
            yield
        finally:
            os.seteuid(0)


@pytest.fixture
def parent():
    """A folder that another user can access, since pytest's own folders are private."""
    with TemporaryDirectory(prefix="sitemaps09-tests-") as made:
        Path(made).chmod(0o755)
        yield Path(made)


@pytest.mark.parametrize("name", ["there", "there/new"])
def test_an_error_of_a_folder_that_cannot_be_written_says_what_to_do(parent, name):
    said("--output", parent / "first")
    (parent / "there").mkdir(0o555)
    place = parent / name
    with another_user():
        error = str(failed("--output", place)[2])
    assert error.startswith(f"Cannot export to {place}: {parent}/there/")
    assert "(Permission denied). Choose another folder with --output, " in error
    owner = "the user root" if os.geteuid() == 0 else "this user"
    advice = f"{parent}/there belongs to {owner}: "
    assert (advice if place.exists() else f"Or create {place} for the user who exports.") in error


@needs_root
@pytest.mark.parametrize("private", [False, True])
@pytest.mark.parametrize("command", [
    "export_sitemaps", "export_sitemaps --dry-run", "export_sitemaps --verify", "submit_sitemaps",
    f"submit_sitemaps --base-url {BASE}",
])  # fmt: skip
def test_an_error_of_a_folder_of_another_user_names_the_owner(parent, configure, private, command):
    folder = parent / "public"
    said("--output", folder)
    folder.chmod(0o700 if private else 0o777)
    configure(ROOT=folder, INDEXNOW_KEY=KEY)
    words = f"{folder if private else folder / STATE} belongs to the user root: run this as its"
    with another_user(), pytest.raises(CommandError, match=words):
        call_command(*command.split())


@needs_root
def test_an_error_of_a_folder_that_became_that_of_another_user_names_the_owner(parent):
    folder = parent / "public"
    folder.mkdir()
    os.chown(folder, OTHER, -1)
    with another_user():
        said("--output", folder, "products")
    os.chown(folder, 0, -1)
    with another_user():
        error = str(failed("--output", folder)[2])
    assert f"{folder}: Permission denied. {folder} belongs to the user root: " in error
    assert said("--output", folder, "--verify")


@pytest.fixture
def start(tmp_path):
    def run(sections, *arguments):
        command = ("-m", "django", "export_sitemaps", *arguments)
        return started(*command, environ=environment(tmp_path, sections), cwd=tmp_path)

    return run


@pytest.mark.slow
def test_the_exit_status_is_0_if_an_item_is_skipped(start, folder):
    """Without `LOGGING`, Python prints warnings to standard error."""
    arguments = ["LAME", "--output", folder, "--base-url", BASE]
    status, out, err = ended(start(*arguments, "--verbosity", 0))
    assert (status, out, len(err.splitlines())) == (0, "", 1)
    assert err.startswith("bad: 1 item skipped; first error: item 2, location: ValueError: ")
    status, out, err = ended(start(*arguments, "--format=json"))
    assert (status, json.loads(out)["urls"], "Section 'bad': skipped item 2" in err) == (0, 6, True)


@pytest.mark.slow
def test_the_exit_status_is_1_without_a_traceback_if_a_section_failed_or_it_cannot_start(start, folder):
    # There is neither a BASE_URL nor a table of sites.
    status, out, err = ended(start("FINE", "--output", folder))
    assert (status, out, folder.exists(), "no such table" in err) == (1, "", False, True)
    assert (err.startswith("CommandError: "), "Traceback" in err) == (True, False)
    status, out, err = ended(start("HALF", "--output", folder, "--base-url", BASE))
    assert (status, "Traceback" in err) == (1, False)
    assert "Section 'broken': OSError: the disk with the numbers is gone." in err
    assert out.splitlines()[:2] == ["a: 3 URLs", "broken: OSError: the disk with the numbers is gone"]


@pytest.mark.slow
def test_the_exit_status_is_75_while_another_export_runs(start, folder, tmp_path):
    arguments = ("--output", folder, "--base-url", BASE)
    with start("SLOW", *arguments) as first:
        try:
            inside, robots = tmp_path / "inside", tmp_path / "robots.txt"
            until(lambda: inside.exists() or first.poll() is not None, "the export never began")
            before = sorted(folder.rglob("*"))
            assert any(path.match(".sitemaps09/run-*/sitemap-products-1.xml.gz") for path in before)
            second = ended(start("FINE", *arguments, "--robots", robots))
            assert (sorted(folder.rglob("*")), robots.exists()) == (before, False)
        finally:
            (tmp_path / "open").touch()
            first.communicate(timeout=60)
    error = f"CommandError: Another export is writing to {folder}; nothing was changed.\n"
    assert (second, first.returncode, written(folder)) == ((75, "", error), 0, ALL_FILES)
    assert ended(start("FINE", *arguments))[0] == 0


PAGE = "sitemap-a-1.xml.gz"
HOSTS = ("a.example", "b.example")
URLS = [f"--base-url=https://{host}" for host in HOSTS]


def rejected(*arguments, status=1):
    out, err, error = commands.failed("export_sitemaps", *arguments)
    assert (error.returncode, err) == (status, "")
    return out, str(error)


@pytest.fixture
def public(folder):
    said("--output", folder)
    return folder


def test_an_intact_export_is_counted_and_damage_named_with_what_to_do_until_it_is_repaired(public):
    verify = ("--output", public, "--verify")
    out, err = said(*verify)
    assert out.startswith(f"{public}: verified 3 files with 1,237 URLs in ")
    assert (out.count("\n"), err) == (1, "")
    whole = (public / PAGE).read_bytes()
    (public / PAGE).unlink()
    (public / "sitemap.xml").write_bytes(b"")
    before = published.states(public, hidden=True)
    *lines, advice = rejected(*verify)[1].splitlines()
    assert [line.partition(" in ")[0] for line in lines] == ["sitemap.xml", PAGE]
    assert (advice[-13:], published.states(public, hidden=True)) == ("add --repair.", before)
    out, err = said(*verify, "--repair")
    assert (f"{PAGE} was repaired: " in out, err, (public / PAGE).read_bytes()) == (True, "", whole)


def test_damage_that_a_repair_leaves_is_named_without_advice_to_repair(public, configure):
    (public / PAGE).unlink()
    configure(SITEMAPS="tests.support.commands.PART")
    _, error = rejected("--output", public, "--verify", "--repair")
    assert (PAGE in error, "--repair" in error) == (True, False)


def test_json_has_the_documented_keys(public):
    verify = ("--output", public, "--verify", "--format", "json")
    document = json.loads(said(*verify)[0])
    keys = "target index_url files urls bytes damaged failures is_unfinished seconds repair"
    assert " ".join(sorted(document)) == " ".join(sorted(keys.split()))
    assert (document["urls"], document["damaged"], document["repair"]) == (1_237, [], None)
    (public / PAGE).unlink()
    [damaged] = json.loads(rejected(*verify)[0])["damaged"]
    assert damaged.pop("problem")
    assert damaged == {"name": PAGE, "section": "a", "repaired": False}
    document = json.loads(said(*verify, "--repair")[0])
    assert (document["damaged"][0]["repaired"], document["repair"]["written"]) == (True, [PAGE])


@pytest.mark.parametrize(
    "option", ["--verify --rebalance", "--verify --changed-only", "--verify --dry-run", "--repair"]
)
def test_options_that_do_not_belong_together_are_refused(public, option):
    error = rejected("--output", public, *option.split())[1]
    assert [word for word in (*option.split(), "--verify") if word not in error] == []


def test_several_hosts_have_a_result_each_and_one_that_is_locked_does_not_stop_the_others(folder):
    said("--output", folder, *URLS)
    (folder / "b.example" / PAGE).unlink()
    out, error = rejected("--output", folder, *URLS, "--verify", "--format=json")
    assert [len(result["damaged"]) for result in json.loads(out)["hosts"].values()] == [0, 1]
    assert str(folder / "b.example") in error
    (folder / "a.example" / PAGE).unlink()
    with exclusive_lock(LocalStore(folder / "a.example")):
        _, error = rejected("--output", folder, *URLS, "--verify", "--repair", status=75)
        assert f"https://a.example: Another export is writing to {folder / 'a.example'}" in error
        assert [(folder / host / PAGE).exists() for host in HOSTS] == [False, True]
        # Any other failure counts more.
        (folder / "b.example" / PAGE).unlink()
        (folder / "b.example" / PAGE).mkdir()
        rejected("--output", folder, *URLS, "--verify", "--repair", status=1)
