"""Keys for IndexNow."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from django_sitemaps09.notify import generate_key
from django_sitemaps09.notify.engines import all_keys, key_for

pytestmark = pytest.mark.sitemaps09


def test_a_new_key_has_32_random_hexadecimal_digits() -> None:
    keys = {generate_key() for _ in range(100)}
    assert len(keys) == 100
    assert all(re.fullmatch("[0-9a-f]{32}", key) for key in keys)


def test_a_single_key_applies_to_every_host(configure: Callable[..., None]) -> None:
    configure(INDEXNOW_KEY="0123456789")
    assert key_for("a.b") == key_for("c.d") == "0123456789"
    assert [*all_keys()] == ["0123456789"]


def test_a_host_that_is_not_in_a_dict_has_no_key(configure: Callable[..., None]) -> None:
    configure(INDEXNOW_KEY={"a.b": "0123456789", "c.d": "abcdefgh"})
    assert (key_for("a.b"), key_for("c.d"), key_for("e.f")) == ("0123456789", "abcdefgh", None)
    assert [*all_keys()] == ["0123456789", "abcdefgh"]


def test_without_the_setting_there_is_no_key() -> None:
    assert key_for("a.b") is None
    assert [*all_keys()] == []
