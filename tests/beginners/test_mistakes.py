"""Each mistake that a beginner makes is answered with what is wrong and what to do."""

from __future__ import annotations

import logging
import re
import sys

import pytest

from tests.beginners.mistakes import MISTAKES, Project
from tests.support.apps import registry

__all__ = ["registry"]


@pytest.fixture
def project(db, settings, monkeypatch, tmp_path, caplog):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    caplog.set_level(logging.WARNING)
    yield Project(settings, monkeypatch, tmp_path, caplog)
    for name in [name for name in sys.modules if name.partition(".")[0] == "store"]:
        del sys.modules[name]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake[0])
def test_a_mistake_is_answered_with_what_to_do(mistake, project):
    _, make, *answer = mistake
    make(project)
    assert [words for words in answer if not re.search(words, project.said)] == [], project.said
