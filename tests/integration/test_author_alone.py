"""An author needs the author API and nothing else: its wheel, alone in an environment, with no host anywhere."""

from __future__ import annotations

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


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Build the wheel, install it without an index, and return the interpreter that has it and nothing else."""
    folder = tmp_path_factory.mktemp("author")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=ROOT / "host", check=True, capture_output=True)
    (wheel,) = folder.glob("hearth_api-*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True)
    python = str(folder / "venv" / "bin" / "python")
    uv.run("pip", "install", "--offline", "--no-index", "--python", python, str(wheel))
    return python


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Write the connector and its test as the README of the author API shows them."""
    for name, text in re.findall(r"`(\w+\.py)`[^`]*(?:`[^`]+`[^`]*)?:\n\n```python\n(.*?)^```", README, re.M | re.S):
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def ended(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Return what a command said in a folder, without anything of this process's surroundings."""
    return subprocess.run(command, cwd=folder, env={}, capture_output=True, text=True, check=False)


def test_connector_of_the_readme_passes_its_own_test(python: str, project: Path) -> None:
    """And the standard suite; the kit for tests gives the task its offsets, and plays the host."""
    run = re.findall(r"^```python\n(from hearth_api.testing import SourceRun\n.*?)^```", README, re.M | re.S)
    (project / "test_run.py").write_text("\n".join(["from counter import CounterConnector", *run]), "utf-8")
    done = ended([python, "-W", "error", "-m", "unittest", "-v"], project)
    assert done.returncode == 0, done.stderr
    assert "test_goes_on_where_its_offset_says" in done.stderr
    assert "test_source_goes_on_where_offsets_say" in done.stderr
    assert "Failed" not in done.stderr


def test_nothing_of_the_host_is_there(python: str, tmp_path: Path) -> None:
    """What passes there passes with the API alone."""
    code = "import importlib.metadata as m; print(*sorted(each.name for each in m.distributions()))"
    assert ended([python, "-c", code], tmp_path).stdout.split() == ["hearth-api"]
    done = ended(
        [python, "-c", "import hearth_api.batch, hearth_api.java, hearth_api.worker; import hearth"], tmp_path
    )
    assert "No module named 'hearth'" in done.stderr


def test_what_is_compiled_here_is_compiled_there(python: str, tmp_path: Path) -> None:
    """A wheel that is built where there is no compiler has the source, and is one for every platform."""
    code = "import hearth_api.struct as one; print(one.__file__)"
    there = Path(ended([python, "-c", code], tmp_path).stdout.strip())
    assert there.name == Path(hearth_api.struct.__file__).name
    assert there.is_relative_to(Path(python).parents[1])


def test_types_are_seen(python: str, project: Path) -> None:
    """Strictly, through the installed package: what is right passes, and what is wrong is found."""
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
