"""Version ranges, Maven's and Python's."""

from __future__ import annotations

import pytest

from hearth.herder.plugin.version import VersionRange
from hearth_api import ConfigError

VERSIONS = ["0.9", "1.0", "1.1", "1.2", "2.0-rc1", "2.0", "2.1"]


@pytest.mark.parametrize("text", [None, "latest"])
def test_no_range_selects_the_newest(text: str | None) -> None:
    """Whatever version that is."""
    assert VersionRange.parse(text) is None


@pytest.mark.parametrize(
    ("text", "newest", "shown"),
    [
        ("1.0", "1.0", "[1.0,1.0]"),
        ("1.0.0", "1.0", "[1.0.0,1.0.0]"),
        ("[1.0]", "1.0", "[1.0,1.0]"),
        ("[1.0,2.0)", "2.0-rc1", "[1.0,2.0)"),
        ("(1.0,1.2]", "1.2", "(1.0,1.2]"),
        ("(,1.0],[1.2,)", "2.1", "(,1.0],[1.2,)"),
        ("(,1.0)", "0.9", "(,1.0)"),
        ("9.9", None, "[9.9,9.9]"),
        ("", None, "[,]"),
        (" LATEST ", None, "[LATEST,LATEST]"),
        (">=1.0,<2", "1.2", "<2,>=1.0"),
        (" ~=1.0 ", "1.2", "~=1.0"),
        ("==1.*", "1.2", "==1.*"),
        ("== 1.0.0", "1.0", "==1.0.0"),
        ("!=2.1", "2.0", "!=2.1"),
        (">=2.0rc1,!=2.0,<2.1", "2.0-rc1", "!=2.0,<2.1,>=2.0rc1"),
        (">3", None, ">3"),
    ],
)
def test_the_newest_version_in_a_range_is_selected(text: str, newest: str | None, shown: str) -> None:
    """A bare version matches only itself."""
    wanted = VersionRange.parse(text)
    assert wanted is not None
    assert wanted.newest(VERSIONS) == newest
    assert str(wanted) == shown


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[1,", "Unbounded range: [1,"),
        ("[1.0,2.0) and more", "Only fully-qualified sets allowed in multiple set scenario: [1.0,2.0) and more"),
        ("1.0]", "Only fully-qualified sets allowed in multiple set scenario: [1.0]]"),
        ("[1],(1.0)", "Single version must be surrounded by []: (1.0)"),
        ("[2.0,1.0]", "Range defies version ordering: [2.0,1.0]"),
        ("2.0,1.0", "Range defies version ordering: [2.0,1.0]"),
        ("[1,3] [2,4]", "Ranges overlap: [1,3] [2,4]"),
        ("[1,3],(,4)", "Ranges overlap: [1,3],(,4)"),
        (">=1.0 <2", "Neither a Maven version range nor one of PEP 440: >=1.0 <2"),
        ("=>1", "Neither a Maven version range nor one of PEP 440: =>1"),
    ],
)
def test_an_invalid_range_is_rejected_with_mavens_message(text: str, says: str) -> None:
    """As in Kafka Connect, which does not know Python's ranges."""
    with pytest.raises(ConfigError) as caught:
        VersionRange.parse(text)
    assert says in str(caught.value)


def test_versions_that_are_invalid_in_python_match_no_python_range() -> None:
    """Bundles made for Java may have any version."""
    wanted = VersionRange.parse(">=0")
    assert wanted is not None
    assert wanted.newest(["1.0", "1.1-SNAPSHOT-x", "unknown"]) == "1.0"
