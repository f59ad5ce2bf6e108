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


#: Views, which read the bounds, have no other target than that of the settings.
in_settings = pytest.mark.parametrize("output", ["local", "storage"], indirect=True)


def publish(output, folder, base, day, number=1, key="id", root=ROOT, suffix="0"):
    """Write the manifest of an export that began on a day of September. Return the name of its run."""
    state = ExportFolder.in_target(folder, output).state
    page = PageFile(f"sitemap-articles-{number}.xml.gz", number, None, None, 1, 1, 1, digest="0" * 64)
    document = manifest.section_document(SectionRecord(key_identity=(key,), highest=number, pages=(page,)))
    file = manifest.section_file("articles", document)
    state.write(file, document)
    run = f"run-202609{day:02}T120000-{suffix}"
    state.write(root, Manifest(run, f"{base}/", str(base), files={"articles": file}).root())
    return run


def run_of(base, output):
    export = find_files(base, output)
    return None if export is None else export.root.run


def folder_of_bounds(base):
    section = find_section("articles", base)
    return None if section is None else section.folder


def test_the_files_of_a_host_are_those_in_its_folder_and_never_those_of_another(output):
    runs = {base: publish(output, folder, base, 1) for folder, base in ((OF_A, A), (OF_B, B))}
    assert {base: run_of(base, output) for base in (A, B)} == runs
    assert run_of(None, output) is None
    # Another host, whose name becomes the same folder.
    publish(output, OF_B, parse_base("https://b.example_8000"), 2)
    run = publish(output, FLAT, A, 2, suffix="9")
    assert (run_of(A, output), run_of(B, output), run_of(None, output)) == (run, None, run)
    # Of two exports in one second, they are those in the folder of the host.
    assert publish(output, OF_A, A, 2, suffix="1") == run_of(A, output)


@in_settings
@pytest.mark.parametrize("damaged", [FLAT, OF_A])
def test_the_files_are_unknown_if_one_of_two_manifests_is_damaged(output, damaged):
    publish(output, FLAT, A, 1)
    publish(output, OF_A, A, 2)
    ExportFolder.in_target(damaged, output).state.write(ROOT, b"{")
    for find in (find_files, folder_of_bounds):
        with pytest.raises(ManifestError, match="cannot be read"):
            find(A)


@pytest.mark.parametrize(
    ("rest", "is_folder"),
    [("/", True), ("/maps/", True), ("", False), ("/maps", False), ("/?to=/", False), ("/#/", False)],
)
def test_the_files_have_no_url_that_cannot_precede_their_names(output, rest, is_folder):
    folder = ExportFolder.in_target(FLAT, output)
    export = PublishedExport(folder, Manifest("run-1", f"{A}{rest}", str(A)))
    assert export.url([A.domain]) == (f"{A}{rest}" if is_folder else None)


def test_without_an_export_or_a_target_there_are_neither_files_nor_bounds(output, settings):
    assert run_of(A, output) is run_of(None, output) is folder_of_bounds(A) is None
    settings.SITEMAPS09, settings.STORAGES = {}, {}
    assert run_of(A, None) is folder_of_bounds(A) is None


@in_settings
def test_the_bounds_of_a_section_are_those_of_the_newest_export_with_another_identity_each_time(output):
    sections = set()
    for day, (folder, number) in enumerate(((FLAT, 1), (OF_A, 1), (FLAT, 2), (FLAT, 3)), 1):
        publish(output, folder, A, day, number)
        section = find_section("articles", A)
        assert section.folder == folder
        sections.add((section.folder, section.file))
    assert len(sections) == 4
    # Hosts without an export share those in the target itself.
    publish(output, OF_B, B, 5)
    found = {base.domain[0]: folder_of_bounds(base) for base in (A, B, parse_base("https://c.d"))}
    assert found == {"a": FLAT, "b": OF_B, "c": FLAT}
    # They are none if the newest export lacks the section.
    state = ExportFolder.in_target(OF_A, output).state
    state.write(ROOT, Manifest("run-20260909T120000-0", f"{A}/", str(A)).root())
    assert folder_of_bounds(A) is None


def numbers(section):
    """Return the highest page numbers of the records, for a section whose key is `id`."""
    return [record.highest for record in section.records(("id",), lambda bounds: True)]


@in_settings
@pytest.mark.parametrize(("backup", "current", "expected"), [
    # The record of the backup is one more if it differs. Records end at one with another key.
    ((1, "id"), (2, "id"), [2, 1]), ((2, "id"), (2, "id"), [2]), ((1, "slug"), (2, "id"), [2]),
    ((1, "id"), (2, "slug"), []),
])  # fmt: skip
def test_the_records_of_a_section_are_the_current_and_the_previous_one(output, backup, current, expected):
    publish(output, OF_A, A, 1, *backup, root=BACKUP)
    publish(output, OF_A, A, 2, *current)
    assert numbers(find_section("articles", A)) == expected


@in_settings
def test_the_records_of_a_section_do_not_need_the_backup_but_their_own_file(output):
    publish(output, FLAT, A, 2, 2)
    state = ExportFolder.in_target(FLAT, output).state
    state.write(BACKUP, b"{")
    section = find_section("articles", A)
    assert numbers(section) == [2]
    state.delete(section.file)
    with pytest.raises(ManifestError, match="does not exist"):
        numbers(section)
