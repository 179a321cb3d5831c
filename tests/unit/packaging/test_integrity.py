"""What is not as it was packed is named, file by file."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hearth.discovery import BundleError, discover
from hearth.discovery.java.java_bundle import JavaBundle
from hearth.discovery.manifest import BILL_OF_MATERIALS
from hearth.packaging.integrity import altered_files, usable
from hearth.packaging.verify import verify
from tests.bundles import build
from tests.bundles.java import TRANSFORMATION, jar, java_class
from tests.own_home import own_home


def test_whole_bundles_are_usable() -> None:
    """One without a manifest has nothing to compare with."""
    assert usable(build.packed("greeting_source")).name == "greeting-source"
    assert list(altered_files(usable(build.wheel("greeting_transform")))) == []


def test_java_bundle_that_names_an_absent_class_is_usable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Java Connect logs the line of the service manifest and continues; here it is listed among the rejected."""
    monkeypatch.setenv("HEARTH_HOME", own_home(tmp_path))
    stale = {"META-INF/services/org.apache.kafka.connect.transforms.Transformation": b"a.A\na.Gone\n"}
    location = jar(tmp_path / "some.jar", java_class("a/A", interfaces=[TRANSFORMATION]), **stale)
    assert [each.class_name for each in usable(location).declarations] == ["a.A"]
    (rejected,) = discover([location], include_host=False).rejected
    assert "names 'a.Gone', which is not in the bundle" in rejected.reason
    assert rejected.hint == JavaBundle.fault_hint
    assert all(check.is_ok for check in verify(location) if check.name == "structure")


def test_every_listed_file_is_compared(tmp_path: Path) -> None:
    """Not the wheels alone."""
    shutil.unpack_archive(build.packed("greeting_source"), tmp_path / "unpacked")
    (tmp_path / "unpacked" / BILL_OF_MATERIALS).write_text("{}")
    with pytest.raises(BundleError, match=f"{BILL_OF_MATERIALS} is not the file that was packed"):
        usable(tmp_path / "unpacked")


def test_an_invalid_bundle_is_refused_with_the_reason(tmp_path: Path) -> None:
    """And with its path."""
    for location, words in (
        (build.truncated(tmp_path), "truncated"),
        (tmp_path / "nothing", "does not exist"),
        (build.wheel("bad_entry_points"), "not module:Class"),
    ):
        with pytest.raises(BundleError, match=words):
            usable(location)
