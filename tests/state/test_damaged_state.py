"""State that is damaged or from another project: files of others are never deleted."""

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
from django_sitemaps09.stores.local import LocalStore
from tests.models import Article
from tests.support.configuration import BASE
from tests.support.manifests import THERE, after_two_runs, known, paths, touched
from tests.support.sections import Numbers

pytestmark = [pytest.mark.slow, pytest.mark.sitemaps09(MAX_URLS=2)]

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
        document = json.loads(lines[place])
        within = document
        while True:
            items = list(within.items() if isinstance(within, dict) else enumerate(within))
            key, value = chance.choice(items)
            if not (isinstance(value, (dict, list)) and value) or chance.random() < 0.3:
                break
            within = value
        others = [other for _, other in items]
        within[key] = chance.choice([*HOSTILE, *others])
        lines[place] = f"{json.dumps(document)}\n".encode()
    return b"".join(lines)


@pytest.mark.django_db
class TestStateThatIsDamaged:
    """Any damage to the state of an export is detected, and no row is lost or published twice."""

    @pytest.fixture
    def before(self, folder, tmp_path):
        """Return a function that restores the folder as it was before the damage."""
        sitemaps = after_two_runs(folder)
        kept = tmp_path / "kept"
        shutil.copytree(folder, kept)

        def again():
            shutil.rmtree(folder)
            shutil.copytree(kept, folder)
            return sitemaps

        return again

    def settles(self, folder, sitemaps):
        """Check the result of an export: a clear error, or every row published exactly once."""
        try:
            report = export(output=folder, sitemaps=sitemaps)
        except ExportError as error:
            assert str(folder) in str(error)  # noqa: PT017 both results are valid
            return "refused"
        assert (report.failures, report.published) == ([], True)
        assert sorted(paths(folder)) == sorted(THERE)
        assert export(output=folder, sitemaps=sitemaps).failures == []
        assert sorted(paths(folder)) == sorted(THERE)
        return "published"

    @pytest.mark.parametrize("what", ["two pages of one number", "two lines swapped", "an open page"])
    def test_but_can_still_be_parsed_is_detected(self, folder, state, before, what):
        sitemaps = before()
        path = state / known(folder).files["articles"]
        head, *lines = path.read_text().splitlines(keepends=True)
        if what == "two lines swapped":
            lines[-2:] = reversed(lines[-2:])
        else:
            number, until, *rest = json.loads(lines[1])
            number, until = (1, until) if "number" in what else (number, None)
            lines[1] = f"{json.dumps([number, until, *rest])}\n"
        path.write_text("".join([head, *lines]))
        with pytest.raises(ManifestError, match="digest"):
            manifest.read_section(LocalStore(state, own=""), path.name)
        assert self.settles(folder, sitemaps) == "published"
        # The same holds if the digest is correct.
        before()
        document = "".join([head, *lines]).encode()
        found = manifest.unseal((state / ROOT).read_bytes())
        found["sections"]["articles"] = manifest.section_file("articles", document)
        (state / found["sections"]["articles"]).write_bytes(document)
        (state / ROOT).write_bytes(manifest.seal(found))
        with pytest.raises(ManifestError, match="page"):
            known(folder)
        assert self.settles(folder, sitemaps) == "published"

    @pytest.mark.parametrize("seed", range(6))
    @pytest.mark.parametrize("which", [ROOT, BACKUP, "articles", "numbers"])
    def test_loses_no_url_and_fails_no_run(self, folder, state, before, which, seed):
        chance = random.Random(seed)  # noqa: S311
        for _ in range(4):
            sitemaps = before()
            path = state / (which if which in (ROOT, BACKUP) else known(folder).files[which])
            path.write_bytes(damaged(path.read_bytes(), chance))
            outcome = self.settles(folder, sitemaps)
            # A format with a higher number is from a later version.
            assert outcome == "published" or which == ROOT

    def test_is_not_kept_as_the_backup(self, folder, state, before):
        sitemaps = before()
        backup = (state / BACKUP).read_bytes()
        (state / ROOT).write_bytes((state / ROOT).read_bytes()[:-9])
        assert self.settles(folder, sitemaps) == "published"
        assert known(folder, BACKUP).run
        assert (state / BACKUP).read_bytes() == backup

    @pytest.mark.parametrize("kind", ["link", "folder"])
    def test_that_is_not_a_file_is_an_error_that_says_what_to_remove(self, folder, state, before, kind):
        sitemaps = before()
        (state / ROOT).rename(state / "moved")
        if kind == "link":
            (state / ROOT).symlink_to("moved")
        else:
            (state / ROOT).mkdir()
        before_export = touched(folder)
        with pytest.raises(ExportError, match=rf"{ROOT} is not a regular file\. Remove it\."):
            export(output=folder, sitemaps=sitemaps)
        assert touched(folder) == before_export

    def test_that_is_a_link_in_the_place_of_a_section_is_rebuilt(self, folder, state, before):
        sitemaps = before()
        path = state / known(folder).files["articles"]
        path.rename(state / "moved")
        path.symlink_to("moved")
        assert self.settles(folder, sitemaps) == "published"

    @pytest.mark.parametrize("seed", range(6))
    def test_with_a_correct_digest_is_a_clear_error_too(self, folder, state, before, seed):
        """An attacker who can do this can do more, but it must not cause a traceback."""
        chance = random.Random(seed)  # noqa: S311
        for _ in range(6):
            sitemaps = before()
            found = manifest.unseal((state / ROOT).read_bytes())
            key = chance.choice([*found])
            found[key] = chance.choice(HOSTILE)
            (state / ROOT).write_bytes(manifest.seal(found))
            try:
                report = export(output=folder, sitemaps=sitemaps)
            except ExportError:
                continue
            assert report.failures == []
            assert sorted(paths(folder)) == sorted(THERE)

    @pytest.mark.parametrize("seed", range(4))
    def test_while_an_export_was_ending_is_refused_until_it_is_removed(self, folder, state, before, seed):
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
                assert self.settles(folder, sitemaps) == "refused"
        (state / JOURNAL).unlink()
        (state / ROOT).unlink()
        assert self.settles(folder, sitemaps) == "published"

    def test_since_an_earlier_version_wrote_it_is_rebuilt(self, folder, state, before):
        sitemaps = before()
        found = manifest.unseal((state / ROOT).read_bytes())
        files = {}
        for section, file in found["sections"].items():
            files[section] = f"section-{section}-run-20260901T120000-0a1b2c3d.jsonl"
            (state / file).rename(state / files[section])
        (state / ROOT).write_text(json.dumps({**found, "format": 1, "sections": files}))
        assert self.settles(folder, sitemaps) == "published"


class TestAnExportOfAnotherProject:
    @pytest.mark.parametrize(
        ("what", "advice"),
        [("base", f"pass --moved-from {BASE} once"), ("files", r"remove manifest\.json")],
    )
    def test_is_not_overwritten(self, folder, state, configure, what, advice):
        sitemaps = {"a": Numbers(3)}
        export(output=folder, sitemaps=sitemaps)
        before = touched(folder), touched(state)
        if what == "base":
            configure(BASE_URL="https://www.example.org")
        else:
            configure(FILES_URL=f"{BASE}/maps/")
        for names_ in ([], ["a"]):
            with pytest.raises(ExportError, match=f"contains an export of {BASE}.*{advice}"):
                export(names_, output=folder, sitemaps=sitemaps)
        assert (touched(folder), touched(state)) == before
        (state / ROOT).unlink()
        assert export(output=folder, sitemaps=sitemaps).failures == []
