"""Wheels are selected for another Python or platform."""

from __future__ import annotations

from pathlib import Path

import pytest

from hearth.cli import bundle_command
from hearth.packaging.wheel_target import PLATFORMS, WheelTarget, wheel_targets
from hearth_api import ConfigError

LINUX, MAC, WINDOWS = (
    WheelTarget("3.12", "linux-aarch64"),
    WheelTarget("3.11", "macos-arm64"),
    WheelTarget("3.13", "windows-amd64"),
)


@pytest.mark.parametrize(
    ("tags", "takers"),
    [
        ("py3-none-any", [LINUX, MAC, WINDOWS]),
        ("cp312-cp312-manylinux_2_17_aarch64.manylinux2014_aarch64", [LINUX]),
        ("cp312-cp312-manylinux_2_34_aarch64", []),
        ("cp310-abi3-macosx_11_0_universal2", [MAC]),
        ("cp311-cp311-macosx_11_0_arm64", [MAC]),
        ("cp313-cp313-win_amd64", [WINDOWS]),
        ("cp312-cp312-win_amd64", []),
    ],
)
def test_wheels_that_run_there_are_taken(tags: str, takers: list[WheelTarget]) -> None:
    """By the tags in their names, as installers do."""
    wheel = Path(f"lib-1.0-{tags}.whl")
    assert [each for each in (LINUX, MAC, WINDOWS) if each.takes(wheel)] == takers


def test_every_python_is_combined_with_every_platform() -> None:
    """What is not named is that of this machine; nothing named is nothing more."""
    assert wheel_targets([], []) == []
    assert len(wheel_targets(["3.11", "3.12"], ["linux-x86_64", "macos-arm64"])) == 4
    (own,) = wheel_targets(["3.12"], [])
    assert own.platform in PLATFORMS
    with pytest.raises(ConfigError, match=r"'2\.7' is not a Python version"):
        wheel_targets(["2.7"], [])


def test_command_has_the_same_platforms() -> None:
    """It names them without importing their module."""
    assert set(PLATFORMS) == set(bundle_command.PLATFORMS)
