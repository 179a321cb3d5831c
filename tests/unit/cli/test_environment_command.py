"""`hearth environments` lists environments and removes unused ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hearth.cli.main import run
from tests.unit.isolation.test_environment_inventory import Shelf


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    """Environments of a user."""
    monkeypatch.setenv("HEARTH_HOME", str(tmp_path))
    return Shelf(tmp_path)


def test_list_prints_environments_and_prune_removes_unused_ones(
    shelf: Shelf, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a table and as JSON."""
    assert run(["environments", "list"]) == 0
    assert capsys.readouterr().out == "0 environments\n"
    old = shelf.use("one")
    new = shelf.use("one", "1.1")
    shelf.age(old, 8)
    assert run(["environments", "list"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["ENVIRONMENT", "SIZE", "STATE", "LAST", "USED", "OF"]
    assert [line.split()[3] for line in lines[:2]] == ["needed", "unused"]
    assert lines[-1] == "2 environments"
    assert run(["environments", "prune", "--dry-run"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith(" would be freed")
    assert run(["environments", "prune", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["key"], row["needed"], row["running"], row["uses"][0]["bundle"]) == (old, False, False, "one")
    assert run(["environments", "list", "--json"]) == 0
    assert [each["key"] for each in json.loads(capsys.readouterr().out)] == [new]
