"""The archive for executors that have only a Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from hearth.spark import host_archive
from hearth.spark.host_archive import IMPORT_PATH, NAME, STAYING, write_host_archive

TRIED = (
    "import hearth.runtime.task, hearth.runtime.shared_runtime, hearth_converters.string, hearth_json.converter, sys;"
    "print(*{each.__file__ for each in sys.modules.values() if getattr(each, '__file__', None)}, sep=chr(10))"
)


def test_archive_has_only_packages_that_tasks_need() -> None:
    """With its metadata, by which plugins are found; what Spark brings stays, and what is of use to hosts alone."""
    names = {name for each in host_archive._distributions() for _, name in host_archive._files(each)}
    assert {"hearth/runtime/task.py", "hearth_stage/__main__.py", "hearth_json/converter.py"} <= names
    assert {"pyarrow/__init__.py", "confluent_kafka/__init__.py", "cryptography/__init__.py"} <= names
    assert any(name.endswith("entry_points.txt") and name.startswith("hearth_converters") for name in names)
    assert not {name.split("/")[0] for name in names} & {*STAYING, "pytest", "mypy"}


@pytest.mark.long
def test_python_without_packages_runs_tasks_from_the_archive(tmp_path: Path) -> None:
    """Whatever is imported comes from there or from the Python itself; Spark brings its own part."""
    archive = write_host_archive(tmp_path / "host.zip")
    with ZipFile(archive) as file:
        names = file.namelist()
        file.extractall(tmp_path / NAME)
    assert not [name for name in names if name.split("/")[1] in STAYING]
    bare = os.path.realpath(sys.executable)
    ended = subprocess.run(
        [bare, "-c", TRIED], env={"PYTHONPATH": IMPORT_PATH}, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    base = subprocess.run(
        [bare, "-c", "import sys; print(sys.base_prefix)"], capture_output=True, text=True, check=True
    ).stdout.strip()
    foreign = [line for line in ended.stdout.split() if not line.startswith((str(tmp_path / IMPORT_PATH), base))]
    assert foreign == []


def test_editable_install_is_archived_as_its_packages(tmp_path: Path) -> None:
    """The installation itself only points to its packages; other files next to them are left out."""
    for name in (
        "one/__init__.py",
        "one/inner/data.txt",
        "one/__pycache__/x.pyc",
        "decisions/README.md",
        "a-b/__init__.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    assert [name for _, name in host_archive._packages(tmp_path)] == ["one/__init__.py", "one/inner/data.txt"]
    assert list(host_archive._packages(Path("import os"))) == []
