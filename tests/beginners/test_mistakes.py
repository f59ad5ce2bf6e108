"""Each mistake that a beginner makes is answered with what is wrong and what to do."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.beginners.mistakes import MISTAKES, Mistake
from tests.beginners.project import Project
from tests.support.apps import registry

__all__ = ["registry"]

pytestmark = pytest.mark.django_db


@pytest.fixture
def project(
    settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> Iterator[Project]:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    caplog.set_level(logging.WARNING)
    yield Project(settings, monkeypatch, tmp_path, caplog)
    for name in list(sys.modules):
        if name.partition(".")[0] == "store":
            del sys.modules[name]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.what)
def test_a_mistake_is_answered_with_what_to_do(mistake: Mistake, project: Project) -> None:
    mistake.make(project)
    said = project.said
    for words in mistake.answer:
        assert re.search(words, said), said


def test_there_are_eighty_mistakes() -> None:
    assert len({mistake.what for mistake in MISTAKES}) == len(MISTAKES) >= 80
