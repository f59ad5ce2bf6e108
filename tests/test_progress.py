"""The bar on a terminal, and its absence everywhere else."""

from __future__ import annotations

import io

import pytest

from django_sitemaps09.export import PageFile, progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


PAGE = PageFile("sitemap-a-1.xml.gz", None, None, 47_500, 1, 1, None, "")


def shown(stream: io.StringIO, *, wanted: bool = True) -> str:
    with progress.bar(stream, wanted=wanted) as page:
        page("articles", PAGE)
        page("articles", PAGE)
    return stream.getvalue()


def test_a_terminal_is_shown_the_section_and_the_urls() -> None:
    pytest.importorskip("tqdm")
    text = shown(Terminal())
    assert "articles" in text
    assert "95.0k URLs" in text


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()], ids=["a pipe", "not wanted"])
def test_nobody_else_is_shown_anything(stream: io.StringIO) -> None:
    assert shown(stream, wanted=not stream.isatty()) == ""


def test_a_terminal_is_shown_nothing_without_tqdm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "tqdm", None)
    assert shown(Terminal()) == ""
