"""`hearth bundle install` and related commands: output, dry runs and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hearth.cli import install_command
from hearth.cli.main import run
from tests.bundles import build
from tests.bundles.java import SINK, jar, java_class

POINTS = {"hearth.predicates": {"a.Demo": "demo:Demo"}}


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep environments out of the user's directories, and uv from the network."""
    monkeypatch.setenv("HEARTH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setattr(install_command, "default_plugin_path", lambda: tmp_path / "plugins")


def test_bundle_is_installed_upgraded_rolled_back_and_removed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Installed from an index, upgraded, rolled back, removed; each step prints a line."""
    for version in ("1.0", "2.0"):
        build.plain_wheel(tmp_path, "demo", version, POINTS)
    place = tmp_path / "plugins" / "demo.zip"
    lines = []
    for words in (
        ["install", "demo==1.0", "--index", str(tmp_path)],
        ["upgrade", "demo", "--index", str(tmp_path), "--dry-run"],
        ["upgrade", str(tmp_path / "demo-2.0-py3-none-any.whl")],
        ["rollback", "demo"],
        ["remove", "demo==1.0"],
    ):
        assert run(["bundle", *words]) == 0
        lines += capsys.readouterr().out.splitlines()
    assert lines == [
        f"installed demo 1.0 in {place}",
        f"would have: upgraded demo from 1.0 to 2.0 in {place}",
        f"upgraded demo from 1.0 to 2.0 in {place}",
        f"rolled demo back from 2.0 to 1.0 in {place}",
        f"removed demo 1.0 from {place}",
    ]


def test_json_has_the_same_facts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whether it was done as well."""
    wheel = build.plain_wheel(tmp_path, "demo", "1.0", POINTS)
    assert run(["bundle", "install", str(wheel), "--json", "--dry-run"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "action": "install",
        "name": "demo",
        "before": None,
        "after": "1.0",
        "location": str(tmp_path / "plugins" / "demo.zip"),
        "dry_run": True,
    }


def test_list_and_search_print_bundles(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As a table, or as JSON; one that is empty says so."""
    assert run(["bundle", "list"]) == 0
    assert capsys.readouterr().out == "0 bundles\n"
    build.plain_wheel(tmp_path, "demo", "1.0", POINTS)
    assert run(["bundle", "search", "dem", "--index", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[:3] == ["demo", "1.0", "a.Demo"]
    assert run(["bundle", "list", "--json", "--plugin-path", str(tmp_path)]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["name"], row["plugins"], row["earlier"]) == ("demo", ["a.Demo"], [])


def test_describe_and_diff_print_contents_of_bundles(capsys: pytest.CaptureFixture[str]) -> None:
    """No code of theirs runs."""
    one, other = str(build.packed("greeting_source")), str(build.packed("greeting_transform"))
    assert run(["bundle", "describe", one]) == 0
    out = capsys.readouterr().out
    assert out.startswith("greeting-source 1.1, wheels, Python >=3.10\n")
    assert ["greeting", "1.0", "-"] in [line.split() for line in out.splitlines()]
    assert run(["bundle", "describe", one, "--json"]) == 0
    assert [each["name"] for each in json.loads(capsys.readouterr().out)["packages"]] == [
        "greeting",
        "greeting-source",
    ]
    assert run(["bundle", "diff", one, other]) == 0
    assert ["package", "greeting", "1.0", "2.0"] in [line.split() for line in capsys.readouterr().out.splitlines()]
    assert run(["bundle", "diff", one, one]) == 0
    assert capsys.readouterr().out == "no difference\n"
    assert run(["bundle", "diff", one, other, "--json"]) == 0
    assert {"kind": "package", "name": "greeting", "before": "1.0", "after": "2.0"} in json.loads(
        capsys.readouterr().out
    )


def test_describe_prints_duplicate_classes_and_kafka_of_a_java_bundle(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Classes in two versions, and a Kafka version that differs from the one that runs them."""
    monkeypatch.setenv("HEARTH_HOME", str(tmp_path / "home"))
    jar(tmp_path / "demo" / "a.jar", java_class("a/Demo", SINK))
    jar(tmp_path / "demo" / "kafka-clients-3.9.1.jar", java_class("a/Demo", SINK, release=11))
    assert run(["bundle", "describe", str(tmp_path / "demo")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "demo undefined, 2 jars, Java 17"
    assert lines[2].startswith("a.Demo is in a.jar and kafka-clients-3.9.1.jar with different content; Java uses")
    assert lines[3].startswith("'kafka-clients-3.9.1.jar' is of Kafka '3.9.1'; plugins run on Kafka 4")
    assert run(["bundle", "describe", str(tmp_path / "demo"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["notes"] == lines[2:4]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["install", "nowhere/x.zip"], "does not exist"),
        (["install", "demo", "--offline"], "demo cannot be downloaded"),
        (["install", "maven:demo"], "maven:demo names no Maven artifact"),
        (["remove", "demo"], "demo is not installed in"),
        (["rollback", "demo"], "no earlier version of demo"),
        (["search", "demo"], "no index is given"),
    ],
)
def test_impossible_command_is_bad_input(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With a hint, and exit code 2."""
    assert run(["bundle", *words]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert "hint: " in err


def test_audit_exits_with_2_on_a_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pipeline stops there."""
    build.plain_wheel(tmp_path, "demo", "1.0", POINTS)
    assert run(["bundle", "audit", "--plugin-path", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "nothing found\n"
    (tmp_path / "list.txt").write_text("demo # old")
    words = ["bundle", "audit", "--plugin-path", str(tmp_path), "--revoked", str(tmp_path / "list.txt")]
    assert run(words) == 2
    assert capsys.readouterr().out.splitlines()[1].split()[1:] == ["revoked", "demo", "1.0:", "old"]
    assert run([*words, "--json"]) == 2
    assert json.loads(capsys.readouterr().out)[0]["kind"] == "revoked"
