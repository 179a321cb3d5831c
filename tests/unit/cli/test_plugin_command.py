"""`hearth plugins` lists and describes without a server."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hearth.cli import plugin_command
from hearth.cli.main import run
from tests.bundles import build
from tests.bundles.java import jar_bytes, java_class

CLASS = "org.example.greeting.GreetingSourceConnector"


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep environments and descriptions out of the user's directories."""
    monkeypatch.setenv("HEARTH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("UV_OFFLINE", "1")


@pytest.fixture(scope="module")
def bundles() -> str:
    """A plugin.path with two bundles."""
    return str(build.plugin_path("greeting_source", "greeting_transform"))


def _rows(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = json.loads(capsys.readouterr().out)
    return [row for row in rows if row["location"] != "classpath"]


def test_list_prints_a_table(bundles: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each plugin is one line: class, type, version, aliases, location."""
    assert run(["plugins", "list", "--plugin-path", bundles]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["CLASS", "TYPE", "VERSION", "ALIASES", "LOCATION"]
    (line,) = [line.split() for line in lines if line.startswith(CLASS)]
    location = f"{bundles}/greeting_source-1.1.zip"
    assert line == [CLASS, "source", "1.1", "GreetingSourceConnector,", "GreetingSource", location]


def test_list_prints_json(bundles: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Standard output is one array of plugins, nothing else."""
    assert run(["plugins", "list", "--plugin-path", bundles, "--json"]) == 0
    row = next(row for row in _rows(capsys) if row["class"] == CLASS)
    assert row == {
        "class": CLASS,
        "type": "source",
        "version": "1.1",
        "aliases": ["GreetingSourceConnector", "GreetingSource"],
        "location": f"{bundles}/greeting_source-1.1.zip",
        "reference": "greeting_source.connector:GreetingSourceConnector",
        "bundle": "greeting-source 1.1",
    }


def test_list_takes_several_elements_and_one_type(bundles: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Elements are separated by commas; a type leaves the others out."""
    path = f"{bundles},{build.wheel('marks_on_import')}"
    assert run(["plugins", "list", "--plugin-path", path, "--type", "transformation", "--json"]) == 0
    assert {row["class"] for row in _rows(capsys)} == {"org.example.greeting.Greet", "org.example.MarksOnImport"}


def test_list_takes_plugin_path_from_a_worker_file(
    bundles: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The properties file of a worker has the plugin.path that its host would use."""
    worker = tmp_path / "worker.properties"
    worker.write_text(f"bootstrap.servers=localhost:9092\nplugin.path=\\\n  {bundles}\n")
    assert run(["plugins", "list", "--worker-config", str(worker), "--json"]) == 0
    assert len(_rows(capsys)) == 2


def test_list_rejects_bundles_that_the_worker_does_not_trust(
    bundles: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the worker itself does."""
    worker = tmp_path / "worker.properties"
    worker.write_text(f"plugin.path={bundles},{build.wheel('marks_on_import')}\nplugin.trust=hashed\n")
    assert run(["plugins", "list", "--worker-config", str(worker), "--strict"]) == 2
    out = capsys.readouterr().out
    assert CLASS in out
    assert "reason: its files have no hashes (plugin.trust is hashed)" in out


def test_list_shows_why_a_candidate_is_rejected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Below the table each rejected candidate has its location, reason and hint."""
    broken = build.truncated(tmp_path)
    assert run(["plugins", "list", "--plugin-path", str(broken)]) == 0
    out = capsys.readouterr().out
    assert f"rejected: {broken}\n  reason: {broken.name}: it is truncated or not a zip file" in out
    assert "hint:   copy or download it again" in out


def test_list_groups_rejected_candidates_by_their_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A directory of libraries, as plugin.path often names one, does not bury the plugins; --rejected names all."""
    folder = tmp_path / "java"
    folder.mkdir()
    for name in "abcde":
        (folder / f"{name}.jar").write_bytes(jar_bytes({f"{name}.class": java_class(name)}))
    assert run(["plugins", "list", "--plugin-path", str(folder)]) == 0
    out = capsys.readouterr().out
    assert out.count("rejected: ") == 1
    assert f"          {folder}/c.jar\n          2 more\n  reason: none of its Java classes is a plugin" in out
    assert run(["plugins", "list", "--plugin-path", str(folder), "--rejected"]) == 0
    assert capsys.readouterr().out.count(f"{folder}/") == 5


def test_rejected_candidates_are_not_part_of_the_json_array(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --json they go to standard error, or are the array when they are asked for."""
    broken = build.truncated(tmp_path)
    assert run(["plugins", "list", "--plugin-path", str(broken), "--json"]) == 0
    caught = capsys.readouterr()
    assert isinstance(json.loads(caught.out), list)
    assert f"rejected: {broken}" in caught.err
    assert run(["plugins", "list", "--plugin-path", str(broken), "--json", "--rejected"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert set(row) == {"location", "reason", "hint"}
    assert row["location"] == str(broken)


def test_missing_element_is_bad_input(bundles: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A mistyped path gives exit code 2; the elements that exist are listed."""
    assert run(["plugins", "list", "--plugin-path", f"{bundles},{tmp_path}/nowhere"]) == 2
    out = capsys.readouterr().out
    assert CLASS in out
    assert f"rejected: {tmp_path}/nowhere\n  reason: it does not exist" in out


def test_default_path_is_that_of_a_worker_without_the_key(
    bundles: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the host itself has is listed in any case."""
    monkeypatch.setattr(plugin_command, "default_plugin_path", lambda: Path(bundles))
    assert run(["plugins", "list", "--json"]) == 0
    found = {row["class"] for row in json.loads(capsys.readouterr().out)}
    assert found > {CLASS, "org.apache.kafka.connect.json.JsonConverter"}
    monkeypatch.setattr(plugin_command, "default_plugin_path", lambda: Path("/nowhere"))
    assert run(["plugins", "list", "--json"]) == 0
    assert _rows(capsys) == []


def test_strict_fails_if_a_candidate_is_rejected(
    bundles: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pipeline stops there."""
    assert run(["plugins", "list", "--strict", "--plugin-path", bundles]) == 0
    assert run(["plugins", "list", "--strict", "--plugin-path", f"{bundles},{build.truncated(tmp_path)}"]) == 2


def test_second_bundle_with_the_same_class_and_version_is_reported(
    bundles: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The list names the unused bundle and the one that is used."""
    other = tmp_path / "greeting.zip"
    shutil.copy(build.packed("greeting_source"), other)
    first, second = sorted([str(other), f"{bundles}/greeting_source-1.1.zip"])
    assert run(["plugins", "list", "--strict", "--json", "--rejected", "--plugin-path", f"{other},{bundles}"]) == 2
    (row,) = json.loads(capsys.readouterr().out)
    assert row["location"] == first
    assert row["reason"] == f"{CLASS} 1.1 is in {second} as well, which is the one that is used"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--worker-config", "/nowhere/worker.properties"], "/nowhere/worker.properties"),
        (["--plugin-path", ".", "--type", "nonsense"], "nonsense"),
    ],
)
def test_wrong_arguments_are_bad_input(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What is wrong is named, with exit code 2."""
    assert run(["plugins", "list", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_worker_file_without_plugin_path_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file and the key are named."""
    (tmp_path / "worker.properties").write_text("group.id=x\n")
    assert run(["plugins", "list", "--worker-config", str(tmp_path / "worker.properties")]) == 2
    assert "worker.properties has no plugin.path" in capsys.readouterr().err


def test_describe_prints_the_keys_of_a_packed_plugin(bundles: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An alias will do; the keys come from the bundle, no process is started."""
    assert run(["plugins", "describe", "GreetingSource", "--plugin-path", bundles]) == 0
    out = capsys.readouterr().out
    assert f"class:     {CLASS}" in out
    assert "Topic of the greetings." in out
    assert "(required)" in out


@pytest.mark.parametrize("where", ["greeting_source packed", "marks_on_import wheel"])
def test_describe_prints_json(where: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A packed plugin and one that has to be asked are described in the same form."""
    name, form = where.split()
    location = build.packed(name) if form == "packed" else build.wheel(name)
    class_name = CLASS if form == "packed" else "org.example.MarksOnImport"
    assert run(["plugins", "describe", class_name, "--plugin-path", str(location), "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert (row["class"], row["location"]) == (class_name, str(location))
    assert [key["name"] for key in row["config"]] == (["topic", "count"] if form == "packed" else [])


def test_unknown_name_gets_a_suggestion(bundles: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code is 2 and the hint names what may have been meant."""
    assert run(["plugins", "describe", "GreetingSuorce", "--plugin-path", bundles]) == 2
    assert "nearest names: GreetingSource" in capsys.readouterr().err


def test_list_imports_no_large_library(bundles: str) -> None:
    """The command loads no Arrow, no Spark, no Kafka client and no server: it has to answer at once."""
    program = (
        "import sys; from hearth.cli.main import run; code = run(sys.argv[1:])\n"
        "heavy = {'pyarrow', 'numpy', 'pyspark', 'confluent_kafka', 'starlette', 'uvicorn', 'filelock'}\n"
        "sys.exit(str(sorted(heavy & set(sys.modules))) if heavy & set(sys.modules) else code)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, "plugins", "list", "--plugin-path", bundles],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr
