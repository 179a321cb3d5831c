"""Downloads: messages, and Java's proxy options."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from hearth.maven.ivy import MIRROR_VARIABLE, Coordinates, JarsUnavailable, Progress, download, ivy_jar, proxy_options

_KAFKA = Coordinates("org.apache.kafka", "kafka-clients", "4.3.1")


def test_ivy_is_found_inside_pyspark() -> None:
    """No Maven and no Ivy has to be installed: pyspark brings one."""
    assert ivy_jar().name.startswith("ivy-")


def test_repository_that_does_not_answer_is_an_error_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a network the message keeps Ivy's last words and the hint names what can be set."""
    monkeypatch.setenv(MIRROR_VARIABLE, "http://127.0.0.1:9/maven2/")
    with pytest.raises(JarsUnavailable, match="cannot be downloaded") as caught:
        download([_KAFKA], tmp_path, Progress(io.StringIO()))
    assert caught.value.code == "environment.jars"
    assert MIRROR_VARIABLE in str(caught.value.hint)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, []),
        ({"https_proxy": "http://proxy.example:3128"}, ["-Dhttps.proxyHost=proxy.example", "-Dhttps.proxyPort=3128"]),
        ({"HTTPS_PROXY": "proxy.example"}, ["-Dhttps.proxyHost=proxy.example", "-Dhttps.proxyPort=8080"]),
    ],
)
def test_proxy_of_the_environment_is_passed_to_java(environ: dict[str, str], expected: list[str]) -> None:
    """Java does not read https_proxy by itself."""
    assert proxy_options(environ) == expected


def test_progress_shows_what_was_fetched_and_where_it_is() -> None:
    """At the start and at the end, with numbers and the directory."""
    stream = io.StringIO()
    progress = Progress(stream)
    progress.start(2)
    progress.step(1, 2)
    progress.finish(2, 3_000_000, Path("somewhere"))
    text = stream.getvalue()
    assert "fetching Kafka's jars (2 files)" in text
    assert "2 files, 3 MB" in text
    assert "kept in somewhere" in text


def test_coordinates_read_back_as_written() -> None:
    """The text form is group:artifact:version, with type and classifier of the file."""
    assert Coordinates.parse(str(_KAFKA)) == _KAFKA
    program = Coordinates.parse("io.example:app:3.0:all@tar.gz")
    assert (str(program), program.file_name) == ("io.example:app:3.0:all@tar.gz", "app-3.0-all.tar.gz")
    assert _KAFKA.file_name == "kafka-clients-4.3.1.jar"
