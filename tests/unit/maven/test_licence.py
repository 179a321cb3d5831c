"""The licence of an artifact is that of its pom, or else of the poms above it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.maven.ivy import MIRROR_VARIABLE, Coordinates
from hearth.maven.licence import fetch_licences
from tests.web_server import web_server

OWN, INHERITED, NONE, ABSENT = (
    Coordinates("org.example", name, "1") for name in ("own", "inherited", "none", "absent")
)
_LICENCE = "<licenses><license><name>{}</name></license></licenses>"
_PARENT = "<parent><groupId>org.example</groupId><artifactId>{}</artifactId><version>1</version></parent>"
_POMS = {
    "top": _LICENCE.format("Top &amp; Co"),
    "middle": _PARENT.format("top"),
    "own": _PARENT.format("middle")
    + _LICENCE.format("MIT").replace("</licenses>", "")
    + "<license><name>BSD</name></license></licenses>",
    "inherited": _PARENT.format("middle"),
    "none": "",
}


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Provide the folder of a Maven repository, which is the only one."""
    folder = tmp_path / "repository"
    for name, content in _POMS.items():
        place = folder / "org" / "example" / name / "1" / f"{name}-1.pom"
        place.parent.mkdir(parents=True)
        own = f"<groupId>org.example</groupId><artifactId>{name}</artifactId><version>1</version>"
        packaging = "<packaging>pom</packaging>" if name in ("top", "middle") else ""
        place.write_text(f"<project><modelVersion>4.0.0</modelVersion>{own}{packaging}{content}</project>")
    with web_server(folder) as address:
        monkeypatch.setenv(MIRROR_VARIABLE, f"{address}/")
        yield folder


def test_licences_come_from_the_nearest_pom_that_has_some(repository: Path, tmp_path: Path) -> None:
    """An artifact without a pom is left out, and hides no other; known ones are not fetched again."""
    found = fetch_licences([OWN, INHERITED, NONE, ABSENT], cache=tmp_path / "cache")
    assert found == {OWN: ["MIT", "BSD"], INHERITED: ["Top & Co"], NONE: []}
    for pom in repository.rglob("*.pom"):
        pom.unlink()
    assert fetch_licences([OWN, INHERITED, ABSENT], is_offline=True, cache=tmp_path / "cache") == {
        OWN: ["MIT", "BSD"],
        INHERITED: ["Top & Co"],
    }
