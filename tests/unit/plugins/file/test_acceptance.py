"""The file connectors keep the contract for all connectors: the standard suite, on files."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from hearth_api.testing import acceptance_tests
from hearth_file.sink import FileStreamSinkConnector
from hearth_file.source import FileStreamSourceConnector


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Create files in the test's directory."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def source_world() -> dict[str, str]:
    """Make a file with a few lines."""
    path = Path(tempfile.mkdtemp(), "in.txt")
    path.write_text("".join(f"line {number}\n" for number in range(5)))
    return {"topic": "lines", "file": str(path)}


def sink_world() -> dict[str, str]:
    """Return the name of a missing file."""
    return {"file": str(Path(tempfile.mkdtemp(), "out.txt"))}


def written(config: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines that were written."""
    yield from Path(config["file"]).read_text().splitlines()


SourceTest = acceptance_tests(FileStreamSourceConnector, source_world, count=3)
SinkTest = acceptance_tests(FileStreamSinkConnector, sink_world, read_back=written)
