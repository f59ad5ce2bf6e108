"""`manage.py export_sitemaps`: its output, its errors, and its exit status."""

from __future__ import annotations

import inspect
import json
import os
import re
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from django.core.management import CommandError, call_command, get_commands

from django_sitemaps09.export import export
from django_sitemaps09.management.commands import export_sitemaps
from django_sitemaps09.stores import STATE
from tests.support import commands
from tests.support.commands import FINE, Bad, environment
from tests.support.configuration import BASE
from tests.support.processes import ended, started
from tests.support.search_engines import KEY
from tests.support.sections import Numbers
from tests.support.waiting import until

said = partial(commands.said, "export_sitemaps")
failed = partial(commands.failed, "export_sitemaps")
#: The ID of a user without rights.
OTHER = 65_534

pytestmark = pytest.mark.sitemaps09(SITEMAPS="tests.support.commands.FINE")


@pytest.fixture
def use(settings):
    """Use the sections with this name, and other settings."""

    def change(name, **keys):
        settings.SITEMAPS09 = {"BASE_URL": BASE, "SITEMAPS": f"tests.support.commands.{name}", **keys}

    return change


@contextmanager
def another_user():
    """Run as a user without rights, if this user is root."""
    if os.geteuid() != 0:
        yield
        return
    # That user may be unable to read the checkout, so find now what is otherwise found when it is needed.
    get_commands()
    for name in ("management.commands.submit_sitemaps", "notify.client"):
        import_module(f"django_sitemaps09.{name}")
    os.seteuid(OTHER)
    try:
        yield
    finally:
        os.seteuid(0)


class Undated(Bad):
    """Section whose `lastmod` raises for every item, and whose item number 1 has no valid location."""

    def lastmod(self, item):
        return item.updated


def written(folder):
    return {path.name for path in folder.iterdir() if path.is_file()} if folder.exists() else set()


class TestTheTable:
    def test_has_the_numbers_of_each_section_and_of_all(self, folder):
        out, err = said("--output", folder)
        lines = [line.split() for line in out.splitlines() if line.strip()]
        assert err == ""
        assert lines[:2] == [["a:", "3", "URLs"], ["products:", "1,234", "URLs"]]
        head = "section URLs pages written unchanged removed bytes on disk seconds"
        assert lines[2] == head.split()
        sizes = [(folder / f"sitemap-{name}-1.xml.gz").stat().st_size for name in ("a", "products")]
        (plain,) = {line[6] for line in lines if line[0] == "products"}
        assert 1_234 * 50 < int(plain.replace(",", "")) < 1_234 * 70
        assert [line[:6] for line in lines[3:6]] == [
            ["a", "3", "1", "1", "0", "0"],
            ["products", "1,234", "1", "1", "0", "0"],
            ["all", "1,237", "2", "2", "0", "0"],
        ]
        assert [line[7] for line in lines[3:6]] == [f"{size:,}" for size in (*sizes, sum(sizes))]
        assert all(float(line[8]) >= 0 for line in lines[3:6])
        assert lines[6][1:4] == ["URLs", "per", "second,"]
        assert lines[7] == ["Published", f"{BASE}/sitemap.xml", "to", str(folder)]
        assert len(lines) == 8

    def test_tells_what_became_of_pages_and_urls(self, folder, monkeypatch):
        said("--output", folder)
        out, _ = said("--output", folder, "--changes")
        lines = [line.split() for line in out.splitlines() if line.strip()]
        assert [line[2:6] for line in lines[3:6]] == [[pages, "0", pages, "0"] for pages in "112"]
        assert "0 URLs added, 0 URLs removed, 0 URLs changed" in out
        monkeypatch.setitem(FINE, "a", Numbers(4))
        out, _ = said("a", "--output", folder, "--changes")
        assert "1 URL added, 0 URLs removed, 0 URLs changed\n" in out
        assert not re.search(r"\b1 (URL|page|file)s", out)

    @pytest.mark.parametrize("name", ["b", "b-name-with-more-than-twenty-characters"])
    def test_has_columns_in_line(self, folder, monkeypatch, name):
        monkeypatch.setitem(FINE, name, Numbers(2))
        out, _ = said("--output", folder)
        rows = out.splitlines()[4:9]
        assert len({len(row) for row in rows}) == 1
        assert {row.index("URLs") + 4 for row in rows if "URLs" in row} == {
            row.index(" 1,234") + 6 for row in rows if " 1,234" in row
        }

    def test_comes_after_a_line_for_each_section_while_the_command_works(self, folder, monkeypatch):
        out, seen = StringIO(), []

        class Listening(Numbers):
            def items(self):
                seen.append(out.getvalue())
                return super().items()

        monkeypatch.setitem(FINE, "products", Listening(2))
        call_command("export_sitemaps", "--output", str(folder), stdout=out)
        assert seen == ["a: 3 URLs\n"]

    def test_counts_skipped_items_and_elements_apart(self, folder, monkeypatch):
        """The section is published, although each `lastmod` raises an error."""
        monkeypatch.setitem(FINE, "a", Undated(4))
        monkeypatch.setitem(FINE, "products", Undated(1, start=2))
        monkeypatch.setitem(FINE, "fine", Numbers(2))
        out, _ = said("--output", folder)
        assert "a: 1 item and 4 elements skipped; first error: item " in out
        assert "products: 1 element skipped; first error: item 1, lastmod: AttributeError: " in out
        assert "fine: 0 skipped" not in out
        assert {"sitemap-a-1.xml.gz", "sitemap-products-1.xml.gz"} < written(folder)
        found = json.loads(said("--output", folder, "--format", "json")[0])["sections"]
        names = ("skipped_items", "skipped_elements", "urls")
        counts = {section["section"]: [section[name] for name in names] for section in found}
        assert counts == {"a": [1, 4, 3], "products": [0, 1, 1], "fine": [0, 0, 2]}
        _, _, error = failed("--output", folder.with_name("strict"), "--strict")
        assert str(error) == "Nothing was published, because items or elements were skipped (strict)."

    def test_tells_what_became_of_robots_txt(self, folder, tmp_path):
        robots = tmp_path / "robots.txt"
        for state in ("written", "unchanged"):
            assert f"{robots}: {state}\n" in said("--output", folder, "--robots", robots)[0]
        assert "robots.txt" not in said("--output", folder)[0]
        robots.write_text("User-agent: *\nDisallow: /\n")
        out, err = said("--output", folder, "--robots", robots)
        assert ("line 2" in out, "line 2" in err, str(robots) in err) == (False, True, True)

    @pytest.mark.django_db
    def test_warns_of_a_urlconf_that_it_does_not_know(self, folder, settings):
        settings.MIDDLEWARE = ["tests.checks.test_views.by_host"]
        warning = "The middleware tests.checks.test_views.by_host sets request.urlconf"
        assert warning in said("--output", folder, "--base-url", BASE)[1]
        assert warning not in said("--output", folder)[1]
        assert warning in said("--output", folder / "sites", "--all-sites")[1]
        settings.SILENCED_SYSTEM_CHECKS = ["sitemaps09.W079"]
        assert warning not in said("--output", folder, "--base-url", BASE)[1]

    @pytest.mark.parametrize(
        ("sections", "argument", "words"),
        [
            ("FINE", "--dry-run", ["to write", "to remove"]),
            ("LAME", "--strict", ["not written", "not removed"]),
        ],
    )
    def test_has_no_count_of_written_files_if_nothing_was_written(
        self, folder, use, sections, argument, words
    ):
        use(sections)
        out = StringIO()
        with suppress(CommandError):
            call_command("export_sitemaps", "--output", str(folder), argument, stdout=out)
        assert written(folder) == set()
        [head] = [line for line in out.getvalue().splitlines() if line.startswith("section ")]
        columns = f"section URLs pages {words[0]} unchanged {words[1]} bytes on disk seconds"
        assert head.split() == columns.split()
        assert "Nothing was written." in out.getvalue()
        is_dry_run = argument == "--dry-run"
        assert ("Without --dry-run, 3 files would be written." in out.getvalue()) is is_dry_run

    def test_has_the_published_numbers_of_a_section_that_is_held_back(self, folder, use, monkeypatch):
        said("--output", folder)
        monkeypatch.setitem(FINE, "products", Numbers(1))
        out, _, error = failed("--output", folder)
        [row] = [line.split() for line in out.splitlines() if line.startswith("products  ")]
        assert row[:6] == ["products", "1,234", "1", "0", "1", "0"]
        [total] = [line.split() for line in out.splitlines() if line.startswith("all  ")]
        assert total[:6] == ["all", "1,237", "2", "0", "2", "0"]
        kept = "products: failed; the published files are kept (1,234 URLs on 1 page)\n"
        assert kept in out
        assert "it would shrink from 1,234 to 1 URL, which is more than" in str(error)
        [_, held] = json.loads(failed("--output", folder, "--format", "json")[0])["sections"]
        assert (held["urls"], held["unchanged"], len(held["files"])) == (1_234, 1, 1)

    def test_says_why_a_dry_run_has_no_changes(self, folder):
        said("--output", folder)
        _, err = said("--output", folder, "--dry-run", "--changes")
        assert err == ("Changed URLs were not counted, because a dry run keeps no files to compare.\n")
        assert said("--output", folder, "--dry-run")[1] == ""


def test_verbosity_0_prints_nothing_if_nothing_is_wrong(folder):
    assert said("--output", folder, verbosity=0) == ("", "")
    assert len(written(folder)) == 3


class TestJson:
    def test_is_all_that_there_is_on_standard_output(self, folder, tmp_path):
        robots = tmp_path / "robots.txt"
        robots.write_text("User-agent: *\nDisallow: /\n")
        out, err = said("--output", folder, "--robots", robots, "--format", "json")
        report = json.loads(out)
        assert "line 2" in err
        assert (report["urls"], report["published"], report["failures"]) == (1_237, True, [])
        assert (report["folder"], report["index_url"]) == (str(folder), f"{BASE}/sitemap.xml")
        assert report["robots"] == "written"
        assert len(report["warnings"]) == 1
        assert [section["section"] for section in report["sections"]] == ["a", "products"]
        for section in report["sections"]:
            (file,) = section["files"]
            assert (folder / file["name"]).stat().st_size == file["size"] == section["size"]
            assert section["failure"] is None

    def test_is_written_if_a_section_failed_too(self, folder, use):
        use("HALF")
        out, _, error = failed("--output", folder, "--format", "json")
        report = json.loads(out)
        assert report["failures"] == str(error).splitlines()
        assert report["sections"][1]["failure"] == "OSError: the disk with the numbers is gone"
        assert written(folder) == {"sitemap.xml", "sitemap-a-1.xml.gz"}

    def test_is_the_report_of_export(self, folder):
        twin = folder.with_name("twin")
        out, _ = said("--output", twin, "--format", "json")
        out = out.replace(str(twin), str(folder))
        report = export(output=folder).as_dict()

        # Hints contain times, and the peak memory of this process includes earlier tests.
        clocked = ("seconds", "hints", "urls_per_second", "memory", "workers_memory")

        def timeless(found):
            if isinstance(found, dict):
                return {name: timeless(value) for name, value in found.items() if name not in clocked}
            return [timeless(value) for value in found] if isinstance(found, list | tuple) else found

        assert timeless(json.loads(out)) == timeless(report)


class TestTheArguments:
    @pytest.fixture
    def given(self, monkeypatch, folder):
        """Return the arguments that `export()` is called with."""
        given = []

        def recorded(*arguments, **options):
            given.append(inspect.signature(export).bind(*arguments, **options).arguments)
            return export(*arguments, **{**options, "output": folder})

        monkeypatch.setattr(export_sitemaps, "export", recorded)
        return given

    def test_are_none_of_its_own_by_default(self, given):
        said()
        (options,) = given
        assert callable(options.pop("progress"))
        names = ("output", "robots", "base_url", "gzip", "engine", "workers", "submit")
        not_given = dict.fromkeys(names)
        switches = ("strict", "dry_run", "changed_only", "rebalance", "changes")
        nothing = {"names": [], "force": [], "remove": [], "moved_from": []}
        assert options == nothing | not_given | dict.fromkeys(switches, False)

    def test_are_passed_to_export(self, given, configure):
        configure(INDEXNOW_KEY="0123456789abcdef")
        switches = ("strict", "dry_run", "changed_only", "rebalance", "changes", "submit")
        line = (
            "products a --output x --robots r --base-url https://example.org --no-gzip --force a "
            "--force products --engine serial --workers 1 --format=json"
        )
        said(*line.split(), *(f"--{switch.replace('_', '-')}" for switch in switches))
        assert given == [
            {
                "names": ["products", "a"],
                "output": "x",
                "robots": "r",
                "base_url": "https://example.org",
                "gzip": False,
                "force": ["a", "products"],
                "remove": [],
                "moved_from": [],
                "engine": "serial",
                "workers": 1,
                **dict.fromkeys(switches, True),
            }
        ]

    def test_can_name_the_host_from_which_the_site_has_moved(self, given):
        with pytest.raises(CommandError, match="contains no export that could move"):
            said("--moved-from", "https://a.test", "--moved-from", "https://b.test", "--format=json")
        assert given[0]["moved_from"] == ["https://a.test", "https://b.test"]

    def test_do_what_they_say(self, folder):
        said("a", "--output", folder, "--no-gzip", "--base-url", "http://127.0.0.1:8000")
        assert written(folder) == {"sitemap.xml", "sitemap-a-1.xml"}
        assert b"<loc>http://127.0.0.1:8000/numbers/0/</loc>" in (folder / "sitemap-a-1.xml").read_bytes()

    @pytest.mark.parametrize("wrong", [["--format", "xml"], ["--ouptut", "x"]])
    def test_that_do_not_exist_are_refused(self, folder, wrong):
        with pytest.raises(CommandError):
            said("--output", folder, *wrong)
        assert not folder.exists()


class TestAnError:
    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["prodcts"], "Did you mean 'products'?"),
            (["--base-url", "example.com"], "--base-url: 'example.com'"),
        ],
    )
    def test_is_named_before_anything_is_written(self, folder, arguments, words):
        out, _, error = failed("--output", folder, *arguments)
        assert words in str(error)
        assert (out, error.returncode, folder.exists()) == ("", 1, False)

    @pytest.mark.parametrize(
        ("keys", "words"),
        [
            ({"SITEMAPS": f"{__name__}.NOTHING"}, "NOTHING"),
            ({"SITEMAPS": f"{__name__}.BASE"}, "not a dict"),
            ({"SITEMAPS": "tests.support.commands.NONE"}, "no section to export"),
            ({"BASE_URL": "example.com"}, "BASE_URL"),
            ({"FILES_URL": "/x"}, "FILES_URL"),
            ({"ROBOTS_TXT": 1}, "ROBOTS_TXT"),
        ],
    )
    def test_of_the_settings_is_one(self, folder, configure, keys, words):
        configure(**keys)
        assert words in str(failed("--output", folder)[2])
        assert not folder.exists()

    def test_without_a_target_names_the_option(self):
        assert "--output DIR" in str(failed()[2])

    @pytest.mark.parametrize("name", ["there", "there/new"])
    def test_of_a_folder_that_cannot_be_written_says_what_to_do(self, name):
        # Another user must be able to access the folder, but pytest's own folders are private.
        with TemporaryDirectory(prefix="sitemaps09-tests-") as folder:
            said("--output", Path(folder, "first"))
            Path(folder).chmod(0o755)
            Path(folder, "there").mkdir(0o555)
            place = Path(folder, name)
            with another_user():
                _, _, error = failed("--output", place)
            assert str(error).startswith(f"Cannot export to {place}: {folder}/there/")
            assert "(Permission denied). Choose another folder with --output, " in str(error)
            owner = "the user root" if os.geteuid() == 0 else "this user"
            belongs = f"{folder}/there belongs to {owner}: "
            advice = belongs if place.exists() else f"Or create {place} for the user who exports."
            assert advice in str(error)

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
    @pytest.mark.parametrize("private", [False, True])
    @pytest.mark.parametrize(
        "command",
        [
            *(
                "export_sitemaps",
                "export_sitemaps --dry-run",
                "export_sitemaps --verify",
                "submit_sitemaps",
            ),
            f"submit_sitemaps --base-url {BASE}",
        ],
    )
    def test_of_a_folder_of_another_user_names_the_owner(self, configure, private, command):
        with TemporaryDirectory(prefix="sitemaps09-tests-") as parent:
            Path(parent).chmod(0o755)
            folder = Path(parent, "public")
            said("--output", folder)
            folder.chmod(0o700 if private else 0o777)
            configure(ROOT=folder, INDEXNOW_KEY=KEY)
            with another_user(), pytest.raises(CommandError) as raised:
                call_command(*command.split())
            owned = folder if private else folder / STATE
            assert f"{owned} belongs to the user root: run this as its owner, " in str(raised.value)

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
    def test_of_a_folder_that_became_that_of_another_user_names_the_owner(self):
        with TemporaryDirectory(prefix="sitemaps09-tests-") as parent:
            folder = Path(parent, "public")
            Path(parent).chmod(0o755)
            folder.mkdir()
            os.chown(folder, OTHER, -1)
            with another_user():
                said("--output", folder, "products")
            os.chown(folder, 0, -1)
            with another_user():
                _, _, error = failed("--output", folder)
            assert f"{folder}: Permission denied. {folder} belongs to the user root: " in str(error)
            assert said("--output", folder, "--verify")

    def test_of_robots_txt_comes_after_the_sitemap_is_published(self, folder, tmp_path):
        robots = tmp_path / "missing" / "robots.txt"
        out, _, error = failed("--output", folder, "--robots", robots)
        assert str(robots) in str(error)
        assert f"{robots}: failed" in out
        assert written(folder) == {"sitemap.xml", "sitemap-a-1.xml.gz", "sitemap-products-1.xml.gz"}


class Shell:
    """`manage.py` in separate processes with their own settings."""

    def __init__(self, folder):
        self.folder = folder

    def start(self, sections, *arguments):
        command = ("-m", "django", "export_sitemaps", *arguments)
        return started(*command, environ=environment(self.folder, sections), cwd=self.folder)

    def run(self, sections, *arguments):
        """Run `manage.py`, and return exit status, standard output and standard error."""
        return ended(self.start(sections, *arguments))

    @contextmanager
    def waiting(self, *arguments):
        """Start an export that waits in the middle, and continues at the end of the block."""
        with self.start("SLOW", *arguments) as process:
            try:
                inside = self.folder / "inside"
                until(lambda: inside.exists() or process.poll() is not None, "the export never began")
                yield process
            finally:
                (self.folder / "open").touch()
                process.communicate(timeout=60)


@pytest.fixture
def shell(tmp_path):
    return Shell(tmp_path)


class TestTheExitStatus:
    def test_is_0_if_an_item_is_skipped(self, shell, folder):
        """Without `LOGGING`, Python prints warnings to standard error."""
        arguments = ["LAME", "--output", folder, "--base-url", BASE]
        status, out, err = shell.run(*arguments, "--verbosity", 0)
        assert (status, out, len(err.splitlines())) == (0, "", 1)
        assert err.startswith("bad: 1 item skipped; first error: item 2, location: ValueError: ")
        status, out, err = shell.run(*arguments, "--format=json")
        assert (status, json.loads(out)["urls"]) == (0, 6)
        assert "Section 'bad': skipped item 2" in err

    def test_is_1_if_a_section_failed_and_no_traceback_is_shown(self, shell, folder):
        status, out, err = shell.run("HALF", "--output", folder, "--base-url", BASE)
        assert status == 1
        assert "Section 'broken': OSError: the disk with the numbers is gone." in err
        assert "Traceback" not in err
        assert out.splitlines()[:2] == ["a: 3 URLs", "broken: OSError: the disk with the numbers is gone"]

    def test_is_1_if_it_cannot_start(self, shell, folder):
        # There is neither a BASE_URL nor a table of sites.
        status, out, err = shell.run("FINE", "--output", folder)
        assert (status, out, folder.exists()) == (1, "", False)
        assert err.startswith("CommandError: ")
        assert "no such table" in err
        assert "Traceback" not in err

    def test_is_75_while_another_export_runs(self, shell, folder):
        with shell.waiting("--output", folder, "--base-url", BASE) as first:
            before = sorted(folder.rglob("*"))
            assert any(path.match(".sitemaps09/run-*/sitemap-products-1.xml.gz") for path in before)
            robots = folder.with_name("robots.txt")
            status, out, err = shell.run("FINE", "--output", folder, "--base-url", BASE, "--robots", robots)
            assert sorted(folder.rglob("*")) == before
            assert not robots.exists()
        assert (status, out) == (75, "")
        assert err == f"CommandError: Another export is writing to {folder}; nothing was changed.\n"
        assert first.returncode == 0
        assert written(folder) == {"sitemap.xml", "sitemap-a-1.xml.gz", "sitemap-products-1.xml.gz"}
        assert shell.run("FINE", "--output", folder, "--base-url", BASE)[0] == 0
