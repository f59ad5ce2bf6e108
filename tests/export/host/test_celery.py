"""Several hosts whose pages are rendered by Celery, one host after the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from django_sitemaps09.export import engines, export_hosts
from tests.support import published
from tests.support.several_hosts import FOLDERS, A, B, change, thirty, tree, written

pytest.importorskip("celery", reason="needs celery, of the extra `test-services`")

from django_sitemaps09.export.engines import celery, messages

pytestmark = [pytest.mark.django_db, pytest.mark.slow, pytest.mark.services]


class Direct(celery.Celery):
    """A broker that delivers signed JSON messages and replies at once."""

    sent: list[str] = []

    def put(self, message: str) -> None:
        self.sent.append(message)
        celery.render(message)


DIRECT = f"{__name__}.Direct"


@pytest.fixture
def direct(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the messages. This process also renders the pages, because only it can see its rows."""
    monkeypatch.setattr(engines, "_unseen_rows", lambda: None)
    monkeypatch.setattr(messages, "PAUSE", 0.0)
    Direct.sent.clear()
    return Direct.sent


class TestCelery:
    def test_sends_json_for_each_host(self, folder: Path, direct: list[str]) -> None:
        thirty()
        names = ["a", "hooks", "n", "own", "text"]
        for place, engine in ((folder / "direct", DIRECT), (folder / "serial", "serial")):
            reports = export_hosts([A, B], names, output=place, engine=engine)
            assert [report.failures for report in reports.values()] == [[], []]
        for host in (A, B):
            assert tree(folder / "direct" / FOLDERS[host]) == tree(folder / "serial" / FOLDERS[host])
        # Three messages for each section with key ranges, for one host after the other.
        found = [messages.unsign(text)[0]["renderer"]["folder"] for text in direct]
        assert found == [FOLDERS[A]] * 9 + [FOLDERS[B]] * 9
        before = published.states(folder / "direct", hidden=True)
        for report in export_hosts([A, B], names, output=folder / "direct", engine=DIRECT).values():
            assert report.written == ()
        change(15, "other")
        after = export_hosts([A, B], ["a"], output=folder / "direct", engine=DIRECT, changed_only=True)
        assert written(after) == [("sitemap-a-2.xml.gz", "sitemap.xml")] * 2
        assert published.states(folder / "direct", hidden=True).keys() - before.keys()

    def test_takes_no_foreign_folder(
        self, folder: Path, direct: list[str], caplog: pytest.LogCaptureFixture
    ) -> None:
        thirty()
        export_hosts([A, B], ["a"], output=folder / "made", engine=DIRECT)
        # The message has a valid signature, so this tests the second line of defence.
        message, _ = messages.unsign(direct[0])
        renderer = message["renderer"]
        # The run is not over.
        (folder / "made" / FOLDERS[A] / renderer["stage"]).mkdir()
        (folder / "made" / FOLDERS[A] / renderer["stage"] / "run.json").write_text("{}")
        before = published.states(folder, hidden=True)
        for name in ("../x", "/etc/x", "a/../../x", "..", ".", "a/b", "A", "a\n", ".hidden"):
            caplog.clear()
            celery.render(messages.sign(message | {"renderer": renderer | {"folder": name}}))
            assert "A message was refused: A message contains an invalid stage" in caplog.text, name
            assert published.states(folder, hidden=True) == before, name
