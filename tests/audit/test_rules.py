"""Broken sites in a folder: the audit finds each fault, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from django_sitemaps09.audit import RULES, audit
from tests.support.broken_sites import BROKEN, sound, write
from tests.support.valid_sites import VALID

pytestmark = pytest.mark.sitemaps09


def broken_rules(folder: Path) -> set[str]:
    return {finding.rule for finding in audit(directory=folder, agents=["Newsbot"]).findings}


def test_a_valid_site_breaks_no_rule(tmp_path: Path) -> None:
    report = audit(directory=write(tmp_path, sound()))
    assert report.findings == ()
    assert (report.documents, report.urls) == (3, 3)


@pytest.mark.parametrize("fault", BROKEN)
def test_an_invalid_site_breaks_exactly_the_expected_rules(fault: str, tmp_path: Path) -> None:
    write(tmp_path, {**sound(), **BROKEN[fault].files})
    assert broken_rules(tmp_path) == BROKEN[fault].rules


@pytest.mark.parametrize("shape", VALID)
def test_a_valid_site_of_an_unusual_shape_breaks_no_rule(shape: str, tmp_path: Path) -> None:
    write(tmp_path, {**sound(), **VALID[shape]})
    assert broken_rules(tmp_path) == set()


def test_the_corpus_has_150_kinds_of_faults_and_60_valid_shapes() -> None:
    assert len(BROKEN) >= 150
    assert len(VALID) >= 60
    assert all(site.rules <= RULES.keys() for site in BROKEN.values())
