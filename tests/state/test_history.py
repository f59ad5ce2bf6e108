"""The history beside the manifest: what the last exports changed, skipped or failed to do."""

from __future__ import annotations

import pytest

from django_sitemaps09.entries import ItemError
from django_sitemaps09.export import export, export_hosts
from django_sitemaps09.state import history, manifest
from django_sitemaps09.state.history import (
    EXPORTED,
    HISTORY,
    MAX_RUNS,
    RecordedRun,
    SectionChange,
    read_exported,
    read_history,
    record_run,
)
from django_sitemaps09.stores import STATE
from django_sitemaps09.stores.local import LocalStore
from tests.support.exports import Bad, Failing
from tests.support.sections import Numbers

pytestmark = pytest.mark.sitemaps09(ENGINE="serial")


def state_of(folder):
    return LocalStore(folder / STATE, 0o600, own="")


def recorded(folder):
    return read_history(state_of(folder))


class TestARun:
    def test_is_recorded_with_what_it_changed(self, folder, clock):
        export(output=folder, sitemaps={"a": Numbers(3), "b": Numbers(2)})
        export(output=folder, sitemaps={"a": Numbers(5), "b": Numbers(2)})
        second, first = recorded(folder)
        assert first.sections == (SectionChange("a", 0, 3, 1, 0), SectionChange("b", 0, 2, 1, 0))
        assert second.sections == (SectionChange("a", 3, 5, 1, 0),)
        assert (second.started, second.is_published, second.failures) == (clock.time.timestamp(), True, ())

    def test_is_not_recorded_if_nothing_is_new(self, folder):
        for _ in range(3):
            export(output=folder, sitemaps={"a": Bad(3, [1])})
        assert len(recorded(folder)) == 1
        written = (folder / STATE / HISTORY).stat().st_mtime_ns
        export(output=folder, sitemaps={"a": Bad(3, [1])}, changed_only=True)
        assert (folder / STATE / HISTORY).stat().st_mtime_ns == written

    def test_is_recorded_with_skipped_items(self, folder):
        export(output=folder, sitemaps={"a": Bad(5, [1])})
        [run] = recorded(folder)
        [change] = run.sections
        assert (change.skipped_items, change.is_complete) == (2, True)
        fields = {error.key: error.field for error in change.errors}
        assert fields == {"2": "location", "4": "priority"}
        assert isinstance(change.errors[0], ItemError)

    def test_is_recorded_if_a_problem_is_gone(self, folder):
        export(output=folder, sitemaps={"a": Bad(3, [1, 2])})
        export(output=folder, sitemaps={"a": Bad(2, [1])})
        run = recorded(folder)[0]
        assert run.sections[0].written == 0
        assert [error.key for error in run.sections[0].errors] == ["2"]

    def test_is_recorded_once_with_a_failure(self, folder):
        export(output=folder, sitemaps={"a": Numbers(3)})
        for _ in range(2):
            export(output=folder, sitemaps={"a": Failing(3, 0)})
        runs = recorded(folder)
        assert len(runs) == 2
        [change] = runs[0].sections
        assert change.failure is not None
        assert "the project is broken" in change.failure
        assert (change.previous_urls, change.urls, change.is_complete) == (3, 3, False)
        assert runs[0].failures

    def test_that_publishes_nothing_changes_nothing(self, folder):
        export(output=folder, sitemaps={"a": Numbers(3)})
        export(output=folder, sitemaps={"a": Bad(9, [1])}, strict=True)
        run = recorded(folder)[0]
        assert not run.is_published
        [change] = run.sections
        assert (change.previous_urls, change.urls, change.written, change.skipped_items) == (3, 3, 0, 2)

    def test_records_a_section_that_it_removes(self, folder):
        export(output=folder, sitemaps={"a": Numbers(3), "b": Numbers(4)})
        export(output=folder, sitemaps={"a": Numbers(3)}, remove=["b"])
        assert recorded(folder)[0].sections == (SectionChange("b", 4, 0, 0, 1),)

    def test_of_several_hosts_is_recorded_for_each(self, folder):
        urls = ["https://one.example", "https://two.example"]
        export_hosts(urls, output=folder, sitemaps={"a": Numbers(3)})
        assert [len(recorded(folder / name)) for name in ("one.example", "two.example")] == [1, 1]


class TestTheHistory:
    def test_has_a_bound(self, folder):
        state = state_of(folder)
        for number in range(MAX_RUNS + 5):
            record_run(state, RecordedRun(float(number), True, 1.0, (SectionChange("a", 0, number, 1, 0),)))
        runs = read_history(state)
        assert [run.started for run in runs] == [float(n) for n in range(MAX_RUNS + 4, 4, -1)]

    def test_forgets_older_runs_before_it_is_too_large_to_be_read(self, folder, monkeypatch):
        monkeypatch.setattr(history, "_MAX_BYTES", 2_000)
        state = state_of(folder)
        for number in range(1, 31):
            record_run(state, RecordedRun(float(number), True, 1.0, (SectionChange("a", 0, number, 1, 0),)))
            assert (folder / STATE / HISTORY).stat().st_size <= 2_000
            runs = read_history(state)
            assert runs[0].started == number
            assert len(runs) >= min(number, 5)

    def test_has_the_same_bounds_if_others_have_written_it(self, folder):
        long = "<" * 500
        change = SectionChange("a", 0, 1, 1, 0, 99, (ItemError(*[long] * 3),) * 99, failure=long)
        runs = [RecordedRun(1.0, True, 1.0, (change,), (long,) * 20)] * (MAX_RUNS + 9)
        state_of(folder).write(HISTORY, manifest.seal({"format": 1, "runs": runs}))
        runs = recorded(folder)
        assert (len(runs), len(runs[0].failures)) == (MAX_RUNS, 10)
        [change] = runs[0].sections
        texts = [*runs[0].failures, *(text for error in change.errors for text in error), change.failure]
        assert (len(change.errors), {len(str(text)) for text in texts}) == (10, {200})

    def test_has_a_bound_for_each_section(self, folder):
        export(output=folder, sitemaps={"a": Bad(100, range(1, 100))})
        [run] = recorded(folder)
        # Of 99 items the location, and of one the priority.
        assert (len(run.sections[0].errors), run.sections[0].skipped_items) == (10, 99 + 1)

    @pytest.mark.parametrize("started", [1e300, -1e300, 1e11, -1, "later"])
    def test_with_a_time_that_no_page_can_show_is_damaged(self, folder, started):
        state = state_of(folder)
        for values in (
            [started, True],
            [1e9, True, 1.0, [["a", "b", 1, 1, 1]]],
            [1e9, True, 1.0, [["a", 1, 1, 1, 1, [], []]]],
        ):
            state.write(HISTORY, manifest.seal({"format": 1, "runs": [values]}))
            assert read_history(state) == []

    def test_in_another_format_is_not_read(self, folder):
        export(output=folder, sitemaps={"a": Numbers(3)})
        state = state_of(folder)
        run, time = [1e9, True, 1.0, []], {"a": 1e9}
        for number, runs in ((1, 1), (2, 0)):
            state.write(HISTORY, manifest.seal({"format": number, "runs": [run]}))
            state.write(EXPORTED, manifest.seal({"format": number, "sections": time}))
            assert len(read_history(state)) == len(read_exported(state)) == runs

    @pytest.mark.parametrize(
        "content",
        [b"", b"{", b"[]", b'{"format": 1, "runs": []}', b'{"format": 1, "runs": [], "digest": "x"}'],
    )
    def test_that_is_damaged_is_replaced(self, folder, content):
        state = state_of(folder)
        state.write(HISTORY, content)
        assert read_history(state) == []
        export(output=folder, sitemaps={"a": Numbers(3)})
        assert len(recorded(folder)) == 1

    def test_has_a_publication_that_failed(self, folder, monkeypatch):
        export(output=folder, sitemaps={"a": Numbers(3)})

        def fail(*arguments):
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(LocalStore, "promote", fail)
            with pytest.raises(OSError, match="No space left"):
                export(output=folder, sitemaps={"a": Numbers(4)})
        run, _ = recorded(folder)
        assert (run.is_published, run.sections) == (False, ())
        assert run.failures == ("OSError: [Errno 28] No space left on device",)

    def test_that_the_disk_has_no_space_for_is_one_line_of_the_log(self, folder, monkeypatch, caplog):
        write = LocalStore.write

        def limited(store, name, content):
            if name == HISTORY:
                raise OSError(28, "No space left on device", str(folder / name))
            write(store, name, content)

        monkeypatch.setattr(LocalStore, "write", limited)
        report = export(output=folder, sitemaps={"a": Numbers(3)})
        assert (report.published, report.failures) == (True, [])
        [record] = caplog.records
        assert record.exc_info is None
        assert record.getMessage().endswith(f"No space left on device: '{folder / HISTORY}'")
        assert "\n" not in record.getMessage()
