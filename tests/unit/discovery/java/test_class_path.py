"""A jar's manifest may add files of the bundle to the class path, and none outside it."""

from __future__ import annotations

import pytest

from hearth.discovery.java.class_path import refuse_outside
from hearth.discovery.refusal import BundleError


@pytest.mark.parametrize("entries", ["other.jar", "lib/a.jar ./b.jar", "../demo/c.jar", "lib/../d.jar", ""])
def test_entries_in_the_bundle_are_accepted(entries: str) -> None:
    """Relative to the jar's own folder, and possibly folded into several lines."""
    refuse_outside("demo/main.jar", f"Manifest-Version: 1.0\r\nClass-Path: {entries[:4]}\r\n {entries[4:]}\r\n")


@pytest.mark.parametrize(
    "entry",
    [
        "../../evil.jar",
        "lib/../../../evil.jar",
        "/etc/evil.jar",
        "file:/evil.jar",
        "http://evil.example/a.jar",
        "C:/a.jar",
    ],
)
def test_entry_outside_the_bundle_is_named(entry: str) -> None:
    """Also as one of several."""
    with pytest.raises(BundleError, match=r"the Class-Path of demo/main\.jar names .*, which is outside the bundle"):
        refuse_outside("demo/main.jar", f"Manifest-Version: 1.0\nClass-Path: good.jar {entry}\n")
