"""Commands of the client, run against the shared host."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hearth.cli.main import run
from tests.integration.conftest import Host
from tests.integration.thread_host import file_sink, file_source


@dataclass(frozen=True)
class Printed:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Return standard output as data."""
        return json.loads(self.out)


Cli = Callable[..., Printed]


@pytest.fixture
def program(capsys: pytest.CaptureFixture[str]) -> Cli:
    """Provide a function that runs a command in this process."""

    def called(*words: str) -> Printed:
        capsys.readouterr()
        code = run(words)
        return Printed(code, *capsys.readouterr())

    return called


@pytest.fixture
def cli(host: Host, program: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Provide a function that runs a command on the shared host; contexts are those of the test."""
    monkeypatch.setenv("HEARTH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HEARTH_URL", f"http://127.0.0.1:{host.port}")
    return program


@pytest.fixture
def pair(host: Host, name: str, tmp_path: Path) -> tuple[str, str]:
    """Provide the names of a running source and a running sink of files, which have copied one line."""
    source, sink = f"{name}-in", f"{name}-out"
    (tmp_path / "in.txt").write_text("one\n")
    host.run(file_source(source, tmp_path / "in.txt", f"{name}-lines"))
    host.run(file_sink(sink, tmp_path / "out.txt", f"{name}-lines"))
    return source, sink
