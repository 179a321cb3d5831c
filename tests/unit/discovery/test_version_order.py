"""Versions are ordered as Maven orders them."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.discovery.version_order import compare, version_key

ASCENDING = [
    "undefined",
    "0.9",
    "1.0.dev1",
    "1.0-alpha",
    "1.0-beta",
    "1.0-beta-2",
    "1.0-milestone1",
    "1.0-rc1",
    "1.0-rc2",
    "1.0-SNAPSHOT",
    "1.0",
    "1.0-sp1",
    "1.0-zebra",
    "1.0-1",
    "1.0.1",
    "1.2",
    "1.10",
    "2-rc1",
    "2",
    "10",
]

_NUMBERS = st.lists(st.sampled_from(["0", "1", "2", "10"]), min_size=1, max_size=3).map(".".join)
_SUFFIXES = st.sampled_from(
    ["", "-alpha", "-beta-2", "-rc1", ".RC2", "-SNAPSHOT", ".Final", "a1", "-sp", "-jre", "-1"]
)
_VERSIONS = st.tuples(_NUMBERS, _SUFFIXES).map("".join)


def test_versions_ascend_as_kafka_connect_lists_them() -> None:
    """Every version of the list is older than every one after it (fact sheet 2.7, Maven's own examples)."""
    for older, newer in itertools.combinations(ASCENDING, 2):
        assert compare(older, newer) < 0, (older, newer)
        assert compare(newer, older) > 0, (newer, older)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("1.0", "1.0.0"),
        ("1", "1.0-final"),
        ("1.0-ga", "1-release"),
        ("1.0-cr1", "1.0-RC1"),
        ("1a1", "1-alpha-1"),
    ],
)
def test_spellings_of_one_version_are_equal(left: str, right: str) -> None:
    """Trailing zeros, release words, case and abbreviations make no difference."""
    assert compare(left, right) == 0


def test_latest_is_last_when_sorted() -> None:
    """The sort key puts the latest version last, whatever the order before."""
    newest_first = ASCENDING[::-1]
    assert sorted(newest_first, key=version_key) == ASCENDING


@given(_VERSIONS, _VERSIONS, _VERSIONS)
def test_order_is_consistent(first: str, second: str, third: str) -> None:
    """The order is antisymmetric and transitive, so that there is a latest of several versions."""
    assert compare(first, second) == -compare(second, first)
    low, middle, high = sorted([first, second, third], key=version_key)
    assert compare(low, middle) <= 0
    assert compare(middle, high) <= 0
    assert compare(low, high) <= 0


@pytest.mark.parametrize("version", ["1²", "²", "1.0-①", "٣.1", "1" * 200, "1-" * 99 + "1"])
def test_every_version_text_can_be_ordered(version: str) -> None:
    """Digits that ``int`` refuses, digits of other scripts, and numbers and nesting as long as a name may be."""
    assert compare(version, version) == 0
    assert compare(version, "1.0") == -compare("1.0", version)
