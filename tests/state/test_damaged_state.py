"""State that is lost, damaged, forged or of another project: no row is lost, no file of others deleted."""

from __future__ import annotations

import json
import random
import shutil
from unittest.mock import Mock

import pytest

from django_sitemaps09.exceptions import ExportError, ManifestError
from django_sitemaps09.export import export
from django_sitemaps09.export.publishing import publication
from django_sitemaps09.state import manifest
from django_sitemaps09.state.journal import JOURNAL
from django_sitemaps09.state.manifest import BACKUP, ROOT
from django_sitemaps09.stores import LocalStore
from tests.models import Article
from tests.support.configuration import BASE
from tests.support.manifests import (
    DAY,
    THERE,
    after_two_runs,
    articles,
    entries,
    known,
    numbers_of,
    paths,
    touched,
    write_articles,
)
from tests.support.sections import Numbers

pytestmark = [pytest.mark.slow, pytest.mark.django_db, pytest.mark.sitemaps09(MAX_URLS=2)]

#: Values that replace another value.
HOSTILE = [
    *(None, True, -1, 0, 7, 10**30, 1e400, float("nan"), "", "x", "1", [], {}, [[]], [7], {"a": 7}),
    *("../x", "\ud800", "sitemap.xml", "sitemap-articles-1.xml.gz"),
]


def damaged(content, chance):
    """Return damaged content. Damaged JSON usually remains valid JSON."""
    lines = content.splitlines(keepends=True)
    what = chance.randrange(6)
    if what == 0 and len(lines) > 1:
        first, second = chance.sample(range(len(lines)), 2)
        lines[first], lines[second] = lines[second], lines[first]
    elif what == 1:
        lines.insert(chance.randrange(len(lines) + 1), chance.choice(lines))
    elif what == 2:
        del lines[chance.randrange(len(lines))]
    elif what == 3:
        place = chance.randrange(len(content))
        return content[:place] + bytes([chance.randrange(256)]) + content[place + 1 :]
    else:
        place = chance.randrange(len(lines))
        document = within = json.loads(lines[place])
        while True:
            items = list(within.items() if isinstance(within, dict) else enumerate(within))
            key, value = chance.choice(items)
            if not (isinstance(value, (dict, list)) and value) or chance.random() < 0.3:
                break
            within = value
        within[key] = chance.choice([*HOSTILE, *(other for _, other in items)])
        lines[place] = f"{json.dumps(document)}\n".encode()
    return b"".join(lines)


def pick(contents, words):
    """Return the contents of the files with these words in their names."""
    return {name: content for name, content in contents.items() if words in name}


def change_root(state, **values):
    """Replace values of the manifest, with a correct digest."""
    (state / ROOT).write_bytes(manifest.seal({**manifest.unseal((state / ROOT).read_bytes()), **values}))


@pytest.fixture
def before(folder, tmp_path):
    """Return a function that restores the folder after two runs, and returns the sections."""
    sitemaps = after_two_runs(folder)
    shutil.copytree(folder, tmp_path / "kept")

    def again():
        shutil.rmtree(folder)
        shutil.copytree(tmp_path / "kept", folder)
        return sitemaps

    return again


def settles(folder, sitemaps):
    """Check the result of an export: a clear error, or every row published exactly once."""
    try:
        report = export(output=folder, sitemaps=sitemaps)
    except ExportError as error:
        assert str(folder) in str(error)  # noqa: PT017 both results are valid
        return "refused"
    assert (report.failures, report.published, sorted(paths(folder))) == ([], True, sorted(THERE))
    assert (export(output=folder, sitemaps=sitemaps).failures, sorted(paths(folder))) == ([], sorted(THERE))
    return "published"


def recovers(folder, sitemaps):
    """Check all invariants of a run that knows only the published files."""
    old = touched(folder)
    report = export(output=folder, sitemaps=sitemaps)
    assert (report.failures, report.published, paths(folder)) == ([], True, THERE)
    # Previous numbers are never used for other rows.
    assert numbers_of(folder, "articles") == [5, 6, 7]
    # Listed files do not disappear at once, and files that are due for deletion are remembered.
    new = touched(folder)
    assert {name for name in old if new[name] != old[name] and "-numbers-" not in name} == {"sitemap.xml"}
    assert all(new[name][0] == old[name][0] for name in old if name != "sitemap.xml")
    assert {f"sitemap-articles-{number}.xml.gz" for number in range(1, 5)} <= set(known(folder).removed)
    assert (export(output=folder, sitemaps=sitemaps).written, touched(folder)) == ((), new)


@pytest.mark.parametrize(("which", "damage", "change"), [
    *((which, "gone", None) for which in (ROOT, "articles")),
    *((which, "empty", lambda data: b"") for which in (ROOT, "articles")),
    (ROOT, "cut", lambda data: data[: len(data) // 2]), (ROOT, "a list", lambda data: b"[]"),
    (ROOT, "no UTF-8", lambda data: b"\xff" + data),
    (ROOT, "a list of sections", lambda data: json.dumps({**json.loads(data), "sections": []}).encode()),
    (ROOT, "a format of letters", lambda data: json.dumps({**json.loads(data), "format": "x"}).encode()),
    ("articles", "cut", lambda data: data[:-20]),
    ("articles", "without its head", lambda data: data[data.index(b"\n") + 1 :]),
    ("articles", "an invalid page", lambda data: data + b"[1, 2]\n"),
    ("articles", "a number as page", lambda data: data + b"7\n"),
])  # fmt: skip
def test_a_manifest_that_cannot_be_read_is_rebuilt_with_fresh_numbers(folder, state, which, damage, change):
    sitemaps = after_two_runs(folder)
    path = state / (ROOT if which == ROOT else known(folder).files[which])
    if change is None:
        path.unlink()
    else:
        path.write_bytes(change(path.read_bytes()))
    recovers(folder, sitemaps)


def test_a_manifest_of_a_later_version_is_refused_until_it_is_removed(folder, state):
    sitemaps = after_two_runs(folder)
    found = json.loads((state / ROOT).read_bytes())
    (state / ROOT).write_text(json.dumps({**found, "format": manifest.FORMAT + 1}))
    old = touched(folder), touched(state)
    with pytest.raises(ManifestError, match=r"manifest\.json was written by a later version.*remove"):
        export(output=folder, sitemaps=sitemaps)
    assert (touched(folder), touched(state)) == old
    (state / ROOT).unlink()
    recovers(folder, sitemaps)


def test_a_manifest_with_a_damaged_backup_loses_only_the_removed_files(folder, state):
    sitemaps = after_two_runs(folder)
    for name in (ROOT, BACKUP):
        (state / name).write_bytes(b"")
    assert (export(output=folder, sitemaps=sitemaps).failures, paths(folder)) == ([], THERE)
    assert numbers_of(folder, "articles") == [5, 6, 7]
    # Its file is never deleted, because nothing records any more that it is ours.
    assert "sitemap-articles-2.xml.gz" not in known(folder).removed
    assert (folder / "sitemap-articles-2.xml.gz").exists()


def test_a_damaged_manifest_leaves_sections_that_are_not_exported_as_their_index_names_them(folder, state):
    sitemaps = after_two_runs(folder)
    old, listed = touched(folder), entries(folder)
    (state / ROOT).write_bytes(b"")
    assert export(["numbers"], output=folder, sitemaps=sitemaps).failures == []
    assert pick(entries(folder), "articles") == pick(listed, "articles")
    assert pick(touched(folder), "-articles-") == pick(old, "-articles-")


@pytest.mark.parametrize("which", [ROOT, "section", "gone"])
def test_a_damaged_manifest_does_not_disarm_the_guard(folder, state, configure, which):
    configure(MAX_URLS=100)
    for count in (249, 250):
        export(output=folder, sitemaps={"a": Numbers(count), "b": Numbers(count - 249)})
    if which == "gone":
        (state / ROOT).unlink()
    else:
        (state / (ROOT if which == ROOT else known(folder).files["b"])).write_bytes(b"")
    old = touched(folder)
    [failure] = export(output=folder, sitemaps={"a": Numbers(3), "b": Numbers(1)}).failures
    assert ("'a'" in failure, "--force a" in failure) == (True, True)
    assert pick(touched(folder), "-a-") == pick(old, "-a-")


def test_a_damaged_manifest_lets_no_number_be_used_again(folder, state, configure, clock):
    configure(KEEP_REMOVED=0)
    write_articles(*range(1, 7))
    sitemaps = {"articles": articles(), "numbers": Numbers(1)}
    export(output=folder, sitemaps=sitemaps)
    Article.objects.filter(pk__gte=3).delete()
    for _ in range(3):
        clock.time += DAY
        Article.objects.filter(pk=1).update(slug=f"a{clock.time:%d}")
        export(output=folder, sitemaps=sitemaps)
    assert not (folder / "sitemap-articles-3.xml.gz").exists()
    (state / ROOT).write_bytes(b"")
    export(output=folder, sitemaps=sitemaps)
    assert numbers_of(folder, "articles") == [4]


@pytest.mark.parametrize("what", ["two pages of one number", "two lines swapped", "an open page"])
def test_damage_that_can_still_be_parsed_is_detected(folder, state, before, what):
    sitemaps = before()
    path = state / known(folder).files["articles"]
    head, *lines = path.read_text().splitlines(keepends=True)
    if what == "two lines swapped":
        lines[-2:] = reversed(lines[-2:])
    else:
        number, until, *rest = json.loads(lines[1])
        number, until = (1, until) if "number" in what else (number, None)
        lines[1] = f"{json.dumps([number, until, *rest])}\n"
    document = "".join([head, *lines])
    path.write_text(document)
    with pytest.raises(ManifestError, match="digest"):
        manifest.read_section(LocalStore(state, own=""), path.name)
    assert settles(folder, sitemaps) == "published"
    # The same holds if the digest is correct.
    before()
    file = manifest.section_file("articles", document.encode())
    (state / file).write_text(document)
    change_root(
        state, sections={**manifest.unseal((state / ROOT).read_bytes())["sections"], "articles": file}
    )
    with pytest.raises(ManifestError, match="page"):
        known(folder)
    assert settles(folder, sitemaps) == "published"


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("which", [ROOT, BACKUP, "articles", "numbers"])
def test_any_damage_loses_no_url_and_fails_no_run(folder, state, before, which, seed):
    chance = random.Random(seed)  # noqa: S311
    for _ in range(4):
        sitemaps = before()
        path = state / (which if which in (ROOT, BACKUP) else known(folder).files[which])
        path.write_bytes(damaged(path.read_bytes(), chance))
        # A format with a higher number is from a later version.
        assert settles(folder, sitemaps) == "published" or which == ROOT


@pytest.mark.parametrize("seed", range(6))
def test_any_damage_with_a_correct_digest_is_a_clear_error_too(folder, state, before, seed):
    """An attacker who can do this can do more, but it must not cause a traceback."""
    chance = random.Random(seed)  # noqa: S311
    for _ in range(6):
        sitemaps = before()
        found = manifest.unseal((state / ROOT).read_bytes())
        change_root(state, **{chance.choice([*found]): chance.choice(HOSTILE)})
        try:
            report = export(output=folder, sitemaps=sitemaps)
        except ExportError:
            continue
        assert (report.failures, sorted(paths(folder))) == ([], sorted(THERE))


@pytest.mark.parametrize("seed", range(4))
def test_a_damaged_journal_is_refused_until_it_is_removed(folder, state, before, seed):
    chance = random.Random(seed)  # noqa: S311
    sitemaps = before()
    Article.objects.filter(pk=7).update(slug="changed-again")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(publication, "replace_manifest", Mock(side_effect=OSError("killed")))
        with pytest.raises(OSError, match="killed"):
            export(output=folder, sitemaps=sitemaps)
    Article.objects.filter(pk=7).update(slug="changed")
    journal = (state / JOURNAL).read_bytes()
    for _ in range(4):
        (state / JOURNAL).write_bytes(damaged(journal, chance))
        if (state / JOURNAL).read_bytes() != journal:
            assert settles(folder, sitemaps) == "refused"
    (state / JOURNAL).unlink()
    (state / ROOT).unlink()
    assert settles(folder, sitemaps) == "published"


def test_a_damaged_manifest_is_not_kept_as_the_backup(folder, state, before):
    sitemaps = before()
    backup = (state / BACKUP).read_bytes()
    (state / ROOT).write_bytes((state / ROOT).read_bytes()[:-9])
    assert settles(folder, sitemaps) == "published"
    assert (bool(known(folder, BACKUP).run), (state / BACKUP).read_bytes()) == (True, backup)


@pytest.mark.parametrize("kind", ["link", "folder"])
def test_a_manifest_that_is_not_a_file_is_an_error_that_says_what_to_remove(folder, state, before, kind):
    sitemaps = before()
    # A link in the place of a section is only rebuilt.
    path = state / known(folder).files["articles"]
    path.rename(state / "moved")
    path.symlink_to("moved")
    assert settles(folder, sitemaps) == "published"
    before()
    (state / ROOT).rename(state / "moved")
    if kind == "link":
        (state / ROOT).symlink_to("moved")
    else:
        (state / ROOT).mkdir()
    old = touched(folder)
    with pytest.raises(ExportError, match=rf"{ROOT} is not a regular file\. Remove it\."):
        export(output=folder, sitemaps=sitemaps)
    assert touched(folder) == old


def test_a_manifest_of_the_first_format_is_rebuilt(folder, state, before):
    sitemaps = before()
    found = manifest.unseal((state / ROOT).read_bytes())
    files = {}
    for section, file in found["sections"].items():
        files[section] = f"section-{section}-run-20260901T120000-0a1b2c3d.jsonl"
        (state / file).rename(state / files[section])
    (state / ROOT).write_text(json.dumps({**found, "format": 1, "sections": files}))
    assert settles(folder, sitemaps) == "published"


@pytest.mark.parametrize(("keys", "advice"), [
    ({"BASE_URL": "https://www.example.org"}, f"pass --moved-from {BASE} once"),
    ({"FILES_URL": f"{BASE}/maps/"}, r"remove manifest\.json"),
])  # fmt: skip
def test_an_export_of_another_project_is_not_overwritten(folder, state, configure, keys, advice):
    sitemaps = {"a": Numbers(3)}
    export(output=folder, sitemaps=sitemaps)
    old = touched(folder), touched(state)
    configure(**keys)
    for names in ([], ["a"]):
        with pytest.raises(ExportError, match=f"contains an export of {BASE}.*{advice}"):
            export(names, output=folder, sitemaps=sitemaps)
    assert (touched(folder), touched(state)) == old
    (state / ROOT).unlink()
    assert export(output=folder, sitemaps=sitemaps).failures == []


@pytest.fixture
def victim(folder):
    """The folder of an export beside files of others."""
    write_articles(1, 2, 3)
    export(output=folder, sitemaps={"articles": articles()})
    for path in (folder / "index.html", folder.parent / "victim.txt"):
        path.write_text("mine")
    return folder


@pytest.mark.parametrize("values", [
    {"removed": {"index.html": 0}}, {"removed": {"../victim.txt": 0}}, {"indexes": ["index.html"]},
    {"sections": {"articles": "../../victim.txt"}},
    {"sections": {"../x": f"section-../x-{'0' * 32}.jsonl"}},
    {"sections": {"articles": f"section-other-{'0' * 32}.jsonl"}},
])  # fmt: skip
def test_a_forged_manifest_names_no_foreign_file(victim, state, values):
    """An attacker who can write to the state folder can only cause files to be written again."""
    change_root(state, **values)
    for _ in range(2):
        assert export(output=victim, sitemaps={"articles": articles()}).failures == []
    assert (victim / "index.html").read_text() == (victim.parent / "victim.txt").read_text() == "mine"


@pytest.mark.parametrize(
    "line", ['[-5, null, 1, 1, 1, null, null, "", null, 1]', '["x"]', "[" * 100_000, '{"a": 1}']
)
def test_a_forged_section_with_invalid_pages_is_divided_again(victim, state, line):
    head = (state / known(victim).files["articles"]).read_text().splitlines()[0]
    document = f"{head}\n{line}\n".replace('"pages": 2', '"pages": 1').encode()
    file = manifest.section_file("articles", document)
    (state / file).write_bytes(document)
    change_root(state, sections={"articles": file})
    assert export(output=victim, sitemaps={"articles": articles()}).failures == []
