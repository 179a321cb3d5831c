"""`hearth convert`: each form becomes each other and stays the same connector."""

from __future__ import annotations

from pathlib import Path

import pytest

from hearth.client.connector_file import read_connector_file
from tests.integration.cli.conftest import Cli

FORMS = {"json": "json", "properties": "properties", "yaml": "yaml", "strimzi": "yaml"}
LINES = "name=lines\nconnector.class=FileStreamSource\ntasks.max=1\nfile=in \\u00fc.txt\ntopic=t\n"


@pytest.mark.parametrize("first", FORMS)
@pytest.mark.parametrize("second", FORMS)
def test_every_form_becomes_every_other(program: Cli, tmp_path: Path, first: str, second: str) -> None:
    """With the same keys and texts."""
    given = tmp_path / "lines.properties"
    given.write_text(LINES)
    wanted = read_connector_file(given).config
    for form in (first, second):
        text = program("convert", str(given), "-o", form).out
        given = tmp_path / f"lines-{form}.{FORMS[form]}"
        given.write_text(text)
    assert read_connector_file(given).config == wanted


def test_what_a_form_cannot_say_is_said(program: Cli, tmp_path: Path) -> None:
    """On standard error; the file is written all the same."""
    stopped = tmp_path / "stopped.json"
    stopped.write_text('{"name": "My_Lines", "config": {"connector.class": "X"}, "initial_state": "STOPPED"}')
    plain = program("convert", str(stopped), "-o", "properties")
    assert (plain.code, plain.out) == (0, "name=My_Lines\nconnector.class=X\n")
    assert "its state STOPPED is left out" in plain.err
    assert "Kubernetes takes no such name" in program("convert", str(stopped), "-o", "strimzi").err
    assert "initial_state: STOPPED" in program("convert", str(stopped), "-o", "yaml").out


def test_a_folder_becomes_a_folder(program: Cli, tmp_path: Path) -> None:
    """Several connectors fit in one file only in YAML."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.properties").write_text(f"name={name}\nconnector.class=X\n")
    assert program("convert", str(tmp_path), "-o", "strimzi").out.count("kind: KafkaConnector") == 2
    refused = program("convert", str(tmp_path))
    assert (refused.code, "hint: --to DIR" in refused.err) == (2, True)
    written = program("convert", str(tmp_path), "--to", str(tmp_path / "json"))
    assert written.code == 0
    assert sorted(each.name for each in (tmp_path / "json").iterdir()) == ["a.json", "b.json"]
