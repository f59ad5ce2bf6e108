"""What is published in a target: which export has the files of a host, or the bounds of its sections."""

from __future__ import annotations

import pytest

from django_sitemaps09.exceptions import ManifestError
from django_sitemaps09.target.published import ExportFolder, PublishedExport, find_files, find_section
from tests.support.internals import BACKUP, ROOT, Manifest, PageFile, SectionRecord, manifest, parse_base
from tests.support.stores import Overwriting, storage

pytestmark = pytest.mark.sitemaps09

A, B = parse_base("https://a.example"), parse_base("http://b.example:8000")
FLAT, OF_A, OF_B = "", "a.example", "b.example_8000"


@pytest.fixture(params=["local", "storage"], autouse=True)
def target(request, folder, configure, declare):
    if request.param == "storage":
        declare(sitemaps=storage(Overwriting))
    else:
        configure(ROOT=folder)


def publish(folder, base, day, number=1, key="id", root=ROOT, suffix="0", output=None):
    """Write the manifest of an export that began on a day of September. Return the name of its run."""
    state = ExportFolder.in_target(folder, output).state
    page = PageFile(f"sitemap-articles-{number}.xml.gz", number, None, None, 1, 1, 1, digest="0" * 64)
    document = manifest.section_document(SectionRecord(key_identity=(key,), highest=number, pages=(page,)))
    file = manifest.section_file("articles", document)
    state.write(file, document)
    run = f"run-202609{day:02}T120000-{suffix}"
    state.write(root, Manifest(run, f"{base}/", str(base), files={"articles": file}).root())
    return run


def run_of(base, output=None):
    export = find_files(base, output)
    return None if export is None else export.root.run


def folder_of_bounds(base):
    return getattr(find_section("articles", base), "folder", None)


def test_the_files_of_a_host_are_those_in_its_folder_and_never_those_of_another():
    runs = {base: publish(folder, base, 1) for folder, base in ((OF_A, A), (OF_B, B))}
    assert ({base: run_of(base) for base in (A, B)}, run_of(None)) == (runs, None)
    # Another host, whose name becomes the same folder.
    publish(OF_B, parse_base("https://b.example_8000"), 2)
    run = publish(FLAT, A, 2, suffix="9")
    assert (run_of(A), run_of(B), run_of(None)) == (run, None, run)
    # Of two exports in one second, they are those in the folder of the host.
    assert publish(OF_A, A, 2, suffix="1") == run_of(A)


def test_the_files_in_a_folder_that_is_named_are_not_those_in_the_target_of_the_settings(tmp_path):
    run = publish(OF_A, A, 1, output=tmp_path / "named")
    assert (run_of(A, tmp_path / "named"), run_of(A)) == (run, None)


@pytest.mark.parametrize("damaged", [FLAT, OF_A])
def test_the_files_are_unknown_if_one_of_two_manifests_is_damaged(damaged):
    publish(FLAT, A, 1)
    publish(OF_A, A, 2)
    ExportFolder.in_target(damaged).state.write(ROOT, b"{")
    for find in (find_files, folder_of_bounds):
        with pytest.raises(ManifestError, match="cannot be read"):
            find(A)


@pytest.mark.parametrize(("rest", "is_folder"), [
    ("/", True), ("/maps/", True), ("", False), ("/maps", False), ("/?to=/", False), ("/#/", False),
])  # fmt: skip
def test_the_files_have_no_url_that_cannot_precede_their_names(rest, is_folder):
    export = PublishedExport(ExportFolder.in_target(), Manifest("run-1", f"{A}{rest}", str(A)))
    assert export.url([A.domain]) == (f"{A}{rest}" if is_folder else None)


def test_without_an_export_or_a_target_there_are_neither_files_nor_bounds(settings):
    assert run_of(A) is run_of(None) is folder_of_bounds(A) is None
    settings.SITEMAPS09, settings.STORAGES = {}, {}
    assert run_of(A) is folder_of_bounds(A) is None


def test_the_bounds_of_a_section_are_those_of_the_newest_export_with_another_identity_each_time():
    sections = set()
    for day, (folder, number) in enumerate(((FLAT, 1), (OF_A, 1), (FLAT, 2), (FLAT, 3)), 1):
        publish(folder, A, day, number)
        section = find_section("articles", A)
        assert section.folder == folder
        sections.add((section.folder, section.file))
    assert len(sections) == 4
    # Hosts without an export share those in the target itself.
    publish(OF_B, B, 5)
    found = {base.domain[0]: folder_of_bounds(base) for base in (A, B, parse_base("https://c.d"))}
    assert found == {"a": FLAT, "b": OF_B, "c": FLAT}
    # They are none if the newest export lacks the section.
    ExportFolder.in_target(OF_A).state.write(ROOT, Manifest("run-20260909-0", f"{A}/", str(A)).root())
    assert folder_of_bounds(A) is None


def numbers(section):
    """Return the highest page numbers of the records, for a section whose key is `id`."""
    return [record.highest for record in section.records(("id",), lambda bounds: True)]


@pytest.mark.parametrize(("backup", "current", "expected"), [
    # The record of the backup is one more if it differs. Records end at one with another key.
    ((1, "id"), (2, "id"), [2, 1]), ((2, "id"), (2, "id"), [2]), ((1, "slug"), (2, "id"), [2]),
    ((1, "id"), (2, "slug"), []),
])  # fmt: skip
def test_the_records_of_a_section_are_the_current_and_the_previous_one(backup, current, expected):
    publish(OF_A, A, 1, *backup, root=BACKUP)
    publish(OF_A, A, 2, *current)
    assert numbers(find_section("articles", A)) == expected


def test_the_records_of_a_section_do_not_need_the_backup_but_their_own_file():
    publish(FLAT, A, 2, 2)
    state = ExportFolder.in_target(FLAT).state
    state.write(BACKUP, b"{")
    section = find_section("articles", A)
    assert numbers(section) == [2]
    state.delete(section.file)
    with pytest.raises(ManifestError, match="does not exist"):
        numbers(section)
