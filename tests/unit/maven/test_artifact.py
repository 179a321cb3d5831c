"""An artifact is fetched with what it needs, once; later it is the same, without a network."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.maven.artifact import coordinates_of, fetch_artifact
from hearth.maven.ivy import MIRROR_VARIABLE, Coordinates, JarsUnavailable
from hearth_api import ConfigError
from tests.web_server import web_server

DEMO, LIBRARY = Coordinates("org.example", "demo", "3.1"), Coordinates("org.other", "lib", "2.0")
PLUGIN = Coordinates("org.example", "demo", "3.1", "plugin", "tar.gz")
_DEPENDENCY = (
    "<dependency><groupId>{0.group}</groupId><artifactId>{0.artifact}</artifactId><version>{0.version}</version>"
)


def publish(repository: Path, file: Coordinates, *needs: Coordinates, sha1: str | None = None) -> None:
    """Put a file and its pom into a Maven repository."""
    folder = repository.joinpath(*file.group.split("."), file.artifact, file.version)
    folder.mkdir(parents=True, exist_ok=True)
    content = f"content of {file}".encode()
    (folder / file.file_name).write_bytes(content)
    (folder / f"{file.file_name}.sha1").write_text(sha1 or hashlib.sha1(content).hexdigest())
    needed = "".join(f"{_DEPENDENCY.format(each)}</dependency>" for each in needs)
    head = "<modelVersion>4.0.0</modelVersion>" + _DEPENDENCY.format(file).removeprefix("<dependency>")
    pom = f"<project>{head}<dependencies>{needed}</dependencies></project>"
    (folder / f"{file.artifact}-{file.version}.pom").write_text(pom)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Provide the folder of a Maven repository, which is the only one."""
    (tmp_path / "repository").mkdir()
    with web_server(tmp_path / "repository") as address:
        monkeypatch.setenv(MIRROR_VARIABLE, f"{address}/")
        yield tmp_path / "repository"


def test_jar_is_fetched_with_what_it_needs_and_no_stage_has(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Again without a network; what a later download brings has to be what the first brought."""
    api = Coordinates("org.apache.kafka", "connect-api", "4.3.1")
    publish(repository, LIBRARY)
    publish(repository, DEMO, LIBRARY, api)
    cache = tmp_path / "cache"
    with pytest.raises(JarsUnavailable, match=r"org\.example:demo:3\.1 has not been fetched before"):
        fetch_artifact(DEMO, is_offline=True, cache=cache)
    found = fetch_artifact(DEMO, cache=cache)
    assert [(each, path.read_text()) for each, path in found] == [
        (DEMO, f"content of {DEMO}"),
        (LIBRARY, f"content of {LIBRARY}"),
    ]
    mirror = repository / "org" / "other" / "lib" / "2.0" / "lib-2.0.jar"
    mirror.write_text("other content")
    assert fetch_artifact(DEMO, is_offline=True, cache=cache) == found
    found[1][1].unlink()
    with pytest.raises(JarsUnavailable, match=r"org\.other:lib:2\.0 arrived with SHA-256"):
        fetch_artifact(DEMO, cache=cache)


def test_file_with_a_classifier_is_complete(repository: Path, tmp_path: Path) -> None:
    """Its pom's dependencies are in it."""
    publish(repository, PLUGIN, LIBRARY)
    ((found, path),) = fetch_artifact(PLUGIN, cache=tmp_path / "cache")
    assert (found, path.name) == (PLUGIN, "org.example.demo-3.1-plugin.tar.gz")


def test_file_that_differs_from_its_checksum_is_refused(repository: Path, tmp_path: Path) -> None:
    """Nothing is kept, so a later call tries again."""
    publish(repository, DEMO, sha1="0" * 40)
    with pytest.raises(JarsUnavailable, match="invalid sha1") as caught:
        fetch_artifact(DEMO, cache=tmp_path / "cache")
    assert str(caught.value).startswith("org.example:demo:3.1 cannot be downloaded\n")
    publish(repository, DEMO)
    assert len(fetch_artifact(DEMO, cache=tmp_path / "cache")) == 1


@pytest.mark.parametrize(
    "text",
    ["", "org.example", "org.example:demo", "a:b:c:d:e", "a:b:", "a:../b:c", "a:b:c@", "a:b@c:d:e", "a:b:c@d@e"],
)
def test_other_texts_name_no_artifact(text: str) -> None:
    """The hint has the form."""
    with pytest.raises(ConfigError, match="names no Maven artifact") as caught:
        coordinates_of(f"maven:{text}")
    assert caught.value.hint == "write maven:GROUP:ARTIFACT:VERSION[:CLASSIFIER][@ENDING]"


@pytest.mark.parametrize("wanted", [DEMO, PLUGIN, Coordinates("a", "b", "1", "", "zip")])
def test_coordinates_are_read_as_they_are_written(wanted: Coordinates) -> None:
    """With classifier and ending, one of them or none."""
    assert coordinates_of(f"maven:{wanted}") == wanted
