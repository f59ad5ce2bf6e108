"""What is published in a target: which export has the files of a host, or the bounds of its sections."""

from __future__ import annotations


import pytest

from django_sitemaps09 import published
from django_sitemaps09.exceptions import ManifestError
from django_sitemaps09.protocol import parse_base
from django_sitemaps09.published import ExportFolder
from django_sitemaps09.state import manifest
from django_sitemaps09.state.manifest import BACKUP, ROOT, Manifest, PageFile, SectionRecord
from tests.support.stores import Overwriting, storage

pytestmark = pytest.mark.sitemaps09

A, B = parse_base("https://a.example"), parse_base("http://b.example:8000")
FLAT, OF_A, OF_B = "", "a.example", "b.example_8000"
RECORD = SectionRecord(key_identity=("id",), highest=1)


@pytest.fixture(params=["local", "storage", "output"])
def output(request, folder, configure, declare):
    """A target, in the settings or as an argument."""
    if request.param == "output":
        configure(ROOT=folder / "elsewhere")
        return folder
    if request.param == "storage":
        declare(sitemaps=storage(Overwriting))
    else:
        configure(ROOT=folder)
    return None


def record(number, key_identity="id"):
    page = PageFile(f"sitemap-articles-{number}.xml.gz", number, None, None, 1, 1, 1, digest="0" * 64)
    return SectionRecord(key_identity=(key_identity,), highest=number, pages=(page,))


def publish(output, folder, base, day, section=RECORD, root=ROOT, suffix="0"):
    """Write the manifest of an export that began on a day of September. Return the name of its run."""
    state = ExportFolder.in_target(folder, output).state
    document = manifest.section_document(section)
    file = manifest.section_file("articles", document)
    state.write(file, document)
    run = f"run-202609{day:02}T120000-{suffix}"
    state.write(root, Manifest(run, f"{base}/", str(base), files={"articles": file}).root())
    return run


def run_of(base, output):
    export = published.find_files(base, output)
    return None if export is None else export.root.run


def folder_of_bounds(base, output):
    section = published.find_section("articles", base, output)
    return None if section is None else section.folder


class TestTheFiles:
    def test_are_those_in_the_folder_of_the_host(self, output):
        runs = {base: publish(output, folder, base, 1) for folder, base in ((OF_A, A), (OF_B, B))}
        assert {base: run_of(base, output) for base in (A, B)} == runs
        assert run_of(None, output) is None

    def test_are_never_those_of_another_host(self, output):
        run = publish(output, FLAT, A, 1)
        # Another host, whose name becomes the same folder.
        publish(output, OF_B, parse_base("https://b.example_8000"), 2)
        assert (run_of(A, output), run_of(B, output), run_of(None, output)) == (run, None, run)

    @pytest.mark.parametrize("newest", [FLAT, OF_A])
    def test_of_two_exports_are_those_of_the_newest_run(self, output, newest, caplog):
        runs = {
            # The random part of a name decides nothing.
            folder: publish(output, folder, A, 2 if folder == newest else 1, suffix=suffix)
            for folder, suffix in ((FLAT, "5"), (OF_A, "9" if newest == FLAT else "1"))
        }
        publish(output, OF_B, B, 3)
        for _ in range(3):
            export = published.find_files(A, output)
            assert export is not None
            assert (export.folder.name, export.root.run) == (newest, runs[newest])
        [message] = caplog.messages
        assert message.startswith(f"{A} has two exports, in {export.folder.store.label} and in ")

    def test_of_two_exports_in_one_second_are_in_the_folder_of_the_host(self, output):
        publish(output, FLAT, A, 1, suffix="9")
        run = publish(output, OF_A, A, 1, suffix="1")
        assert run_of(A, output) == run

    @pytest.mark.parametrize("damaged", [FLAT, OF_A])
    def test_are_unknown_if_one_of_two_manifests_is_damaged(self, output, damaged):
        publish(output, FLAT, A, 1)
        publish(output, OF_A, A, 2)
        ExportFolder.in_target(damaged, output).state.write(ROOT, b"{")
        with pytest.raises(ManifestError, match="cannot be read"):
            published.find_files(A, output)
        with pytest.raises(ManifestError, match="cannot be read"):
            published.find_section("articles", A, output)

    @pytest.mark.parametrize(
        ("rest", "is_folder"),
        [("/", True), ("/maps/", True), ("", False), ("/maps", False), ("/?to=/", False), ("/#/", False)],
    )
    def test_have_no_url_that_cannot_precede_their_names(self, output, rest, is_folder):
        folder = ExportFolder.in_target(FLAT, output)
        export = published.PublishedExport(folder, Manifest("run-1", f"{A}{rest}", str(A)))
        assert export.url([A.domain]) == (f"{A}{rest}" if is_folder else None)

    def test_without_an_export_or_a_target_are_none(self, output, settings):
        assert run_of(A, output) is run_of(None, output) is None
        assert folder_of_bounds(A, output) is None
        settings.SITEMAPS09, settings.STORAGES = {}, {}
        assert run_of(A, None) is folder_of_bounds(A, None) is None


class TestTheBoundsOfASection:
    def test_are_those_of_the_files_of_the_host(self, output):
        publish(output, FLAT, A, 1)
        publish(output, OF_A, A, 2)
        assert folder_of_bounds(A, output) == OF_A
        publish(output, FLAT, A, 3)
        assert folder_of_bounds(A, output) == FLAT

    def test_are_shared_by_hosts_without_an_export(self, output):
        publish(output, OF_B, B, 1)
        publish(output, FLAT, A, 2)
        assert [folder_of_bounds(base, output) for base in (A, B)] == [FLAT, OF_B]
        assert folder_of_bounds(parse_base("https://c.example"), output) == FLAT

    def test_are_none_if_the_newest_export_lacks_the_section(self, output):
        publish(output, FLAT, A, 1)
        state = ExportFolder.in_target(OF_A, output).state
        state.write(ROOT, Manifest("run-20260902T120000-0", f"{A}/", str(A)).root())
        assert folder_of_bounds(A, output) is None

    def test_have_another_identity_after_each_change(self, output):
        sections = set()
        for folder, number in ((FLAT, 1), (FLAT, 2), (OF_A, 2)):
            publish(output, folder, A, 1 if folder == FLAT else 2, record(number))
            section = published.find_section("articles", A, output)
            assert section is not None
            sections.add((section.folder, section.file))
        assert len(sections) == 3


class Keys:
    """A source whose key is `id`."""

    key_identity = ("id",)

    def in_order(self, bounds):
        return True


class TestTheRecords:
    def numbers(self, section, output):
        assert section is not None
        source = Keys()
        return [record.highest for record in section.records(source, output)]

    def test_are_the_current_one_and_that_of_the_backup_if_it_differs(self, output):
        publish(output, OF_A, A, 1, record(1), root=BACKUP)
        publish(output, OF_A, A, 2, record(2))
        assert self.numbers(published.find_section("articles", A, output), output) == [2, 1]
        publish(output, OF_A, A, 1, record(2), root=BACKUP)
        assert self.numbers(published.find_section("articles", A, output), output) == [2]

    def test_end_at_one_with_another_key(self, output):
        publish(output, FLAT, A, 1, record(1, "slug"), root=BACKUP)
        publish(output, FLAT, A, 2, record(2))
        assert self.numbers(published.find_section("articles", A, output), output) == [2]
        publish(output, FLAT, A, 1, record(1), root=BACKUP)
        publish(output, FLAT, A, 2, record(2, "slug"))
        assert self.numbers(published.find_section("articles", A, output), output) == []

    def test_do_not_need_the_backup(self, output):
        publish(output, FLAT, A, 2, record(2))
        state = ExportFolder.in_target(FLAT, output).state
        state.write(BACKUP, b"{")
        section = published.find_section("articles", A, output)
        assert self.numbers(section, output) == [2]
        assert section is not None
        state.delete(section.file)
        with pytest.raises(ManifestError, match="does not exist"):
            self.numbers(section, output)
