"""What is not as it was packed is named, file by file."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hearth.discovery import BundleError
from hearth.packaging.bill_of_materials import BILL_OF_MATERIALS
from hearth.packaging.integrity import altered_files, usable
from tests.bundles import build


def test_whole_bundles_are_usable() -> None:
    """One without a manifest has nothing to compare with."""
    assert usable(build.packed("greeting_source")).name == "greeting-source"
    assert list(altered_files(usable(build.wheel("greeting_transform")))) == []


def test_every_listed_file_is_compared(tmp_path: Path) -> None:
    """Not the wheels alone."""
    shutil.unpack_archive(build.packed("greeting_source"), tmp_path / "unpacked")
    (tmp_path / "unpacked" / BILL_OF_MATERIALS).write_text("{}")
    with pytest.raises(BundleError, match=f"{BILL_OF_MATERIALS} is not the file that was packed"):
        usable(tmp_path / "unpacked")


def test_an_invalid_bundle_is_refused_with_the_reason(tmp_path: Path) -> None:
    """With the place it lies at."""
    for location, words in (
        (build.truncated(tmp_path), "truncated"),
        (tmp_path / "nothing", "does not exist"),
        (build.wheel("bad_entry_points"), "not module:Class"),
    ):
        with pytest.raises(BundleError, match=words):
            usable(location)
