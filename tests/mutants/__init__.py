"""Measure which share of mutants of the package the tests kill.

Use it before and after you delete or rewrite tests: the same mutants must die. A mutant is the package with
one small change: a comparison, a constant, a boolean operator, a returned value or a dropped statement.

    python -m tests.mutants --state /tmp/mutants/before.jsonl --count 500 --seed 41
    python -m tests.mutants --state /tmp/mutants/after.jsonl --again /tmp/mutants/before.jsonl
    python -m tests.mutants --state /tmp/mutants/before.jsonl --report
    python -m tests.mutants --state /tmp/mutants/views.jsonl --count 50 --rooms views --tests tests/views

The first command copies the checkout to `before.tree`, and runs all tests there once under coverage (from
the extra `test`). `before.coverage` then says which test executes which line. It judges each mutant in a
forked process, and adds the result to the state file. If it is interrupted, the same command continues,
with the same copy. The second command judges the same mutants with the tests of today. A mutant whose code
has moved is found by its text; one whose code is gone is not judged. A mutant is in one of these states:

* `killed`: a test fails that passes without the mutant after the same other tests; or the process crashes.
* `survived`: all tests pass. At most 60 seconds of tests run, those of the mutant's room first.
* `not judged`: time ran out, no test imports the module, or the code is gone.
* `pending`: to be judged.

A mutant inside a function replaces the code of that function in a fork of a process that has collected all
tests and made the database. Others, and those of functions that run at import, are imported in a fork of a
process that has imported neither the package nor its tests. Tests marked `slow` or `services` do not run.
Processes that tests start without `fork`, such as `manage.py`, run the package without the mutant.
"""
