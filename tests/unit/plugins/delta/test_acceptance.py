"""The Delta sink keeps the contract that is asked of everybody's: the standard suite, in a directory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from hearth_api import Struct
from hearth_api.testing import acceptance_tests
from hearth_delta.delta_sink import DeltaSinkConnector
from tests.unit.plugins.delta.lake import TOPIC, WORD, Lake, word


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the worlds lie where a test's files do."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def sink_world() -> dict[str, str]:
    """Name a lake that is not there."""
    return Lake(tempfile.mkdtemp()).settings(auto_create="true")


def written(config: Mapping[str, str]) -> Iterator[Struct]:
    """Yield the rows that were written."""
    lake = Lake(config["tables.location"])
    if Path(lake.address, TOPIC).exists():
        for row in lake.rows():
            yield Struct.of(WORD, row)


SinkTest = acceptance_tests(DeltaSinkConnector, sink_world, records=[word(n) for n in range(3)], read_back=written)
