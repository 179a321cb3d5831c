"""An author needs only the author API: its wheel is alone in an environment without a host."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import hearth_api.struct
from hearth.isolation import uv

ROOT = Path(__file__).parents[2]
README = (ROOT / "host" / "hearth_api" / "README.md").read_text("utf-8")
WRONG = """
from hearth_api import STRING_SCHEMA, SourceRecord
from hearth_api.batch import Batch

SourceRecord({"a": 1}, {"b": 2}, 3, value_schema=STRING_SCHEMA, value="x")


def count(batch: Batch) -> str:
    return batch.num_rows
"""


@pytest.fixture(scope="module", params=[False, pytest.param(True, marks=pytest.mark.long)], ids=["source", "compiled"])
def is_compiled(request: pytest.FixtureRequest) -> bool:
    """Tell whether the wheel's modules are compiled, as they are here, which takes a minute and a half."""
    compiled: bool = request.param
    return compiled


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory, is_compiled: bool) -> str:
    """Build the wheel, install it without an index, and return the interpreter that has nothing else."""
    folder = tmp_path_factory.mktemp("author")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    variables = dict(os.environ) if is_compiled else {**os.environ, "HEARTH_NO_EXTENSIONS": "1"}
    subprocess.run(build, cwd=ROOT / "host", check=True, capture_output=True, env=variables)
    (wheel,) = folder.glob("hearth_api-*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True)
    python = str(folder / "venv" / "bin" / "python")
    uv.run("pip", "install", "--offline", "--no-index", "--python", python, str(wheel))
    return python


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Write the connector and its test from the README of the author API."""
    for name, text in re.findall(r"`(\w+\.py)`[^`]*(?:`[^`]+`[^`]*)?:\n\n```python\n(.*?)^```", README, re.M | re.S):
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def ended(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Return the output of a command in a folder, without this process's environment."""
    return subprocess.run(command, cwd=folder, env={}, capture_output=True, text=True, check=False)


def test_connector_of_the_readme_passes_its_own_test(python: str, project: Path) -> None:
    """The standard suite passes as well; the test kit stores the task's offsets in place of a host."""
    run = re.findall(r"^```python\n(from hearth_api.testing import SourceRun\n.*?)^```", README, re.M | re.S)
    (project / "test_run.py").write_text("\n".join(["from counter import CounterConnector", *run]), "utf-8")
    done = ended([python, "-W", "error", "-m", "unittest", "-v"], project)
    assert done.returncode == 0, done.stderr
    assert "test_continues_from_its_offset" in done.stderr
    assert "test_source_resumes_from_offsets" in done.stderr
    assert "Failed" not in done.stderr


def test_the_environment_has_no_host(python: str, tmp_path: Path) -> None:
    """Tests that pass there pass with the API alone."""
    code = "import importlib.metadata as m; print(*sorted(each.name for each in m.distributions()))"
    assert ended([python, "-c", code], tmp_path).stdout.split() == ["hearth-api"]
    done = ended(
        [python, "-c", "import hearth_api.batch, hearth_api.java, hearth_api.worker; import hearth"], tmp_path
    )
    assert "No module named 'hearth'" in done.stderr


def test_a_wheel_built_without_a_compiler_is_pure_python(python: str, tmp_path: Path, is_compiled: bool) -> None:
    """A wheel built without a compiler contains sources, and fits every platform."""
    code = "import hearth_api.struct as one; print(one.__file__)"
    there = Path(ended([python, "-c", code], tmp_path).stdout.strip())
    assert there.name == (Path(hearth_api.struct.__file__).name if is_compiled else "struct.py")
    assert there.is_relative_to(Path(python).parents[1])


def test_mypy_uses_the_packages_types(python: str, project: Path) -> None:
    """Strict mypy, with the installed package: correct code passes, and a mistake is found."""
    mypy = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--cache-dir",
        str(project / "cache"),
        "--python-executable",
        python,
    ]
    good = ended([*mypy, "counter.py", "test_counter.py"], project)
    assert good.returncode == 0, good.stdout
    (project / "wrong.py").write_text(WRONG, "utf-8")
    bad = ended([*mypy, "wrong.py"], project)
    assert re.findall(r"^wrong\.py:(\d+): error: .*\[([\w-]+)\]$", bad.stdout, re.M) == [
        ("5", "arg-type"),
        ("9", "return-value"),
    ]
