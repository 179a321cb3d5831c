"""Elements of plugin.path lead to candidates as they do in Kafka."""

from __future__ import annotations

from pathlib import Path

import pytest

from hearth.discovery import Rejected, discover, split_plugin_path
from hearth.discovery.location import candidates
from tests.bundles import build


def _names(*elements: Path) -> list[str]:
    return [found.name for found in candidates(elements) if isinstance(found, Path)]


def test_plugin_path_is_a_comma_list_of_paths_made_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Blanks around commas and empty elements are ignored; a relative path starts at the working directory."""
    monkeypatch.chdir(tmp_path)
    assert split_plugin_path(" /a/b , c,, ") == [Path("/a/b"), tmp_path / "c"]
    assert split_plugin_path("") == []


def test_each_child_of_a_directory_is_a_candidate(tmp_path: Path) -> None:
    """Directories and files are both candidates, in the order of their names; hidden ones are not."""
    for name in ("b", "a", ".hidden"):
        (tmp_path / name).mkdir()
    (tmp_path / "c.zip").touch()
    assert _names(tmp_path) == ["a", "b", "c.zip"]


def test_archive_is_a_candidate_itself(tmp_path: Path) -> None:
    """An element may be an archive instead of a directory."""
    (tmp_path / "c.zip").touch()
    assert _names(tmp_path / "c.zip") == ["c.zip"]


def test_directory_that_is_a_bundle_is_a_candidate_itself(tmp_path: Path) -> None:
    """A directory with .dist-info folders, or with a manifest, is one bundle, not a directory of bundles."""
    build.site(tmp_path / "site", "demo")
    (tmp_path / "packed").mkdir()
    (tmp_path / "packed" / "hearth-bundle.json").touch()
    assert _names(tmp_path / "site", tmp_path / "packed") == ["site", "packed"]


def test_candidate_reached_twice_counts_once(tmp_path: Path) -> None:
    """An element named twice, or a child that is an element too, gives its plugins once."""
    (tmp_path / "a.zip").touch()
    assert _names(tmp_path, tmp_path, tmp_path / "a.zip") == ["a.zip"]


def test_missing_element_is_rejected(tmp_path: Path) -> None:
    """An element that does not exist is named with a remedy, the others are read."""
    catalogue = discover([tmp_path / "nowhere", build.packed("greeting_source")], include_host=False)
    assert catalogue.rejected == (
        Rejected(str(tmp_path / "nowhere"), "it does not exist", "create it, or correct the path"),
    )
    assert len(catalogue.plugins) == 1


def test_broken_link_is_rejected(tmp_path: Path) -> None:
    """A child that links to nothing says so."""
    (tmp_path / "gone.zip").symlink_to("missing.zip")
    (rejected,) = discover([tmp_path], include_host=False).rejected
    assert rejected.reason == "it links to 'missing.zip', which does not exist"


def test_unreadable_candidate_is_rejected(tmp_path: Path) -> None:
    """What the operating system says of a candidate is passed on; here a link that leads to itself."""
    (tmp_path / "loop.zip").symlink_to("loop.zip")
    (rejected,) = discover([tmp_path], include_host=False).rejected
    assert "it cannot be read: too many levels of symbolic links" in rejected.reason


def test_unreadable_element_is_rejected(tmp_path: Path) -> None:
    """An element that cannot be looked at is named like any other candidate."""
    (tmp_path / "file").touch()
    (rejected,) = discover([tmp_path / "file" / "below"], include_host=False).rejected
    assert rejected.reason == "it cannot be read: not a directory"


def test_other_files_next_to_bundles_are_not_rejected(tmp_path: Path) -> None:
    """A README in a plugin directory is passed over; named as an element it is rejected."""
    (tmp_path / "README.md").touch()
    assert discover([tmp_path], include_host=False).rejected == ()
    (rejected,) = discover([tmp_path / "README.md"], include_host=False).rejected
    assert rejected.reason == "no bundle format reads it"
