"""What is wrong with the bundles of plugin.path is found, and nothing else."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import pytest

from hearth.discovery.revocation import read_revocations
from hearth.packaging.audit import Finding, audit
from tests.bundles import build


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Provide a directory with a good bundle."""
    folder = tmp_path / "plugins"
    folder.mkdir()
    shutil.copy(build.packed("greeting_source"), folder / "greeting_source.zip")
    return folder


def revoked(tmp_path: Path, *lines: str) -> Path:
    """Write a list."""
    path = tmp_path / "revoked.txt"
    path.write_text("\n".join(["# what is not to be used", "", *lines]))
    return path


def test_good_bundles_have_no_findings(place: Path, tmp_path: Path) -> None:
    """A list of other things finds nothing either."""
    listed = read_revocations(revoked(tmp_path, "greeting>1.0", "sha256:" + "0" * 64))
    assert audit([place], listed) == []


def test_altered_and_unreadable_bundles_are_found(place: Path) -> None:
    """A changed file, one that was not packed, a bundle that cannot be read."""
    build.truncated(place)
    with zipfile.ZipFile(place / "greeting_source.zip", "a") as archive:
        archive.writestr("extra.py", "")
    shutil.unpack_archive(build.packed("greeting_source"), place / "unpacked")
    (place / "unpacked" / "wheels" / "greeting-1.0-py3-none-any.whl").write_bytes(
        build.wheel("greeting_2").read_bytes()
    )
    found = {(Path(each.location).name, each.kind) for each in audit([place])}
    assert found == {
        ("greeting_source.zip", "unlisted"),
        ("greeting_transform-1.2-py3-none-any.whl", "rejected"),
        ("unpacked", "altered"),
    }


@pytest.mark.parametrize("line", ["greeting==1.0", "Greeting_Source", "greeting-source<2", "sha256"])
def test_bundles_and_packages_in_them_are_revoked_by_name_or_hash(line: str, place: Path, tmp_path: Path) -> None:
    """The reason is reported."""
    if line == "sha256":
        with zipfile.ZipFile(place / "greeting_source.zip") as archive:
            from hashlib import sha256

            wheel = archive.read("wheels/greeting-1.0-py3-none-any.whl")
            line = f"sha256:{sha256(wheel).hexdigest()}"
    (found,) = audit([place], read_revocations(revoked(tmp_path, f"{line}  # leaks passwords")))
    assert (found.kind, found.detail.rpartition(": ")[2]) == ("revoked", "leaks passwords")
    assert found.location == str(place / "greeting_source.zip")
    assert isinstance(found, Finding)
