"""The history beside the manifest: what the last exports changed, skipped or failed to do."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from django_sitemaps09.export import export, export_hosts
from django_sitemaps09.target import journal as history
from tests.support.exports import Bad, Failing
from tests.support.internals import EXPORTED, HISTORY, MAX_RUNS, STATE, ItemError, LocalStore, manifest
from tests.support.sections import Numbers

pytestmark = pytest.mark.sitemaps09(ENGINE="serial")


store = pytest.fixture(lambda folder: LocalStore(folder / STATE, 0o600, own=""))


@pytest.fixture
def run(folder, store):
    """Return a function that exports, and returns all runs, the last one first."""

    def exported(**sections):
        known = {"strict", "remove", "changed_only"} & {*sections}
        export(output=folder, **{name: sections.pop(name) for name in known}, sitemaps=sections)
        return history.read_history(store)

    return exported


def test_a_run_is_recorded_with_what_it_changed_if_anything_is_new(folder, run, clock):
    run(a=Numbers(3), b=Numbers(2))
    for options in ({}, {}, {"changed_only": True}):
        second, first = run(a=Numbers(5), b=Numbers(2), **options)
    a, b = history.SectionChange("a", 0, 3, 1, 0), history.SectionChange("b", 0, 2, 1, 0)
    assert (first.sections, second.sections) == ((a, b), (history.SectionChange("a", 3, 5, 1, 0),))
    assert (second.started, second.is_published, second.failures) == (clock.time.timestamp(), True, ())
    assert run(a=Numbers(5), remove=["b"])[0].sections == (history.SectionChange("b", 2, 0, 0, 1),)
    written = (folder / STATE / HISTORY).stat().st_mtime_ns
    run(a=Numbers(5))
    assert (folder / STATE / HISTORY).stat().st_mtime_ns == written


def test_a_run_is_recorded_with_skipped_items_and_when_a_problem_is_gone(run):
    for _ in range(2):
        [first] = run(a=Bad(5, [1]))
    [change] = first.sections
    assert (change.skipped_items, change.is_complete) == (2, True)
    assert {error.key: error.field for error in change.errors} == {"2": "location", "4": "priority"}
    assert isinstance(change.errors[0], ItemError)
    run(a=Bad(3, [1, 2]))
    [change] = run(a=Bad(2, [1]))[0].sections
    assert (change.written, [error.key for error in change.errors]) == (0, ["2"])
    # The errors of a section have a bound. Of 99 items it is the location, and of one the priority.
    [change] = run(a=Bad(100, range(1, 100)))[0].sections
    assert (len(change.errors), change.skipped_items) == (10, 99 + 1)


def test_a_run_that_fails_is_recorded_once(run):
    run(a=Numbers(3))
    for _ in range(2):
        runs = run(a=Failing(3, 0))
    [change] = runs[0].sections
    assert (len(runs), bool(runs[0].failures), "the project is broken" in change.failure) == (2, True, True)
    assert (change.previous_urls, change.urls, change.is_complete) == (3, 3, False)
    strict = run(a=Bad(9, [1]), strict=True)[0]
    [change] = strict.sections
    assert (strict.is_published, change.previous_urls, change.urls) == (False, 3, 3)
    assert (change.written, change.skipped_items) == (0, 2)


def test_a_run_of_several_hosts_or_that_could_not_publish_is_recorded(run, folder, store, monkeypatch):
    hosts = ["one.example", "two.example"]
    export_hosts([f"https://{host}" for host in hosts], output=folder, sitemaps={"a": Numbers(3)})
    found = [history.read_history(LocalStore(folder / host / STATE, 0o600, own="")) for host in hosts]
    assert [*map(len, found)] == [1, 1]
    run(a=Numbers(3))
    with monkeypatch.context() as patch:
        patch.setattr(LocalStore, "promote", Mock(side_effect=OSError(28, "No space left on device")))
        with pytest.raises(OSError, match="No space left"):
            run(a=Numbers(4))
    failed, _ = history.read_history(store)
    assert (failed.is_published, failed.sections) == (False, ())
    assert failed.failures == ("OSError: [Errno 28] No space left on device",)


def test_a_history_that_the_disk_has_no_space_for_is_one_line_of_the_log(folder, monkeypatch, caplog):
    write = LocalStore.write

    def limited(store, name, content):
        if name == HISTORY:
            raise OSError(28, "No space left on device", str(folder / name))
        write(store, name, content)

    monkeypatch.setattr(LocalStore, "write", limited)
    report = export(output=folder, sitemaps={"a": Numbers(3)})
    [record] = caplog.records
    assert (report.published, report.failures, record.exc_info) == (True, [], None)
    assert record.getMessage().endswith(f"No space left on device: '{folder / HISTORY}'")
    assert "\n" not in record.getMessage()


@pytest.mark.parametrize("most", [None, 2_000])
def test_the_history_has_a_bound_of_runs_and_of_bytes(folder, store, monkeypatch, most):
    if most:
        monkeypatch.setattr(history, "_MAX_BYTES", most)
    for number in range(1, MAX_RUNS + 6):
        changes = (history.SectionChange("a", 0, number, 1, 0),)
        history.record_run(store, history.RecordedRun(float(number), True, 1.0, changes))
        started = [run.started for run in history.read_history(store)]
        assert started == [float(number - place) for place in range(len(started))]
        assert len(started) >= min(number, 5 if most else MAX_RUNS)
        assert most is None or (folder / STATE / HISTORY).stat().st_size <= most
    assert most or len(started) == MAX_RUNS


def test_the_history_has_the_same_bounds_if_others_have_written_it(store):
    long = "<" * 500
    change = history.SectionChange("a", 0, 1, 1, 0, 99, (ItemError(*[long] * 3),) * 99, failure=long)
    runs = [history.RecordedRun(1.0, True, 1.0, (change,), (long,) * 20)] * (MAX_RUNS + 9)
    store.write(HISTORY, manifest.seal({"format": 1, "runs": runs}))
    runs = history.read_history(store)
    assert (len(runs), len(runs[0].failures)) == (MAX_RUNS, 10)
    [change] = runs[0].sections
    texts = [*runs[0].failures, *(text for error in change.errors for text in error), change.failure]
    assert (len(change.errors), {len(str(text)) for text in texts}) == (10, {200})


def test_a_history_in_another_format_is_not_read(run, store):
    run(a=Numbers(3))
    for number, runs in ((1, 1), (2, 0)):
        store.write(HISTORY, manifest.seal({"format": number, "runs": [[1e9, True, 1.0, []]]}))
        store.write(EXPORTED, manifest.seal({"format": number, "sections": {"a": 1e9}}))
        assert len(history.read_history(store)) == len(history.read_exported(store)) == runs


#: Times that no page can show, and changes of sections with other columns.
FORGED = [*([started, True] for started in (1e300, -1e300, 1e11, -1, "later"))]
FORGED += [[1e9, True, 1.0, [change]] for change in (["a", "b", 1, 1, 1], ["a", 1, 1, 1, 1, [], []])]


def test_a_history_that_is_damaged_is_replaced(run, store):
    contents = [b"", b"{", b"[]", b'{"format": 1, "runs": []}', b'{"format": 1, "runs": [], "digest": "x"}']
    for content in (*contents, *(manifest.seal({"format": 1, "runs": [values]}) for values in FORGED)):
        store.write(HISTORY, content)
        assert history.read_history(store) == []
    assert len(run(a=Numbers(3))) == 1
