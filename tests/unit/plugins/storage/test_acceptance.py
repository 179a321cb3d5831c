"""The sink keeps the contract that is asked of everybody's: the standard suite, on a directory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import orjson
import pytest

from hearth_api import Struct
from hearth_api.testing import acceptance_tests
from hearth_storage.place.local_place import LocalPlace
from hearth_storage.sink.store_sink import FilesSinkConnector
from tests.unit.plugins.storage.world import ORDER, local_settings, names, order


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the worlds lie where a test's files do."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def sink_world() -> dict[str, str]:
    """Name an empty directory."""
    return local_settings(tempfile.mkdtemp(), flush_size="1")


def written(config: Mapping[str, str]) -> Iterator[Struct]:
    """Yield the records of all files."""
    place = LocalPlace(config["directory"])
    for name in names(place):
        for line in place.read(name).splitlines():
            yield Struct.of(ORDER, orjson.loads(line))


SinkTest = acceptance_tests(FilesSinkConnector, sink_world, records=[order(at) for at in range(3)], read_back=written)
