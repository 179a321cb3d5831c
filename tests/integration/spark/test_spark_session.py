"""Scripts that read DataFrames without further settings: how they find the format, and what they print."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.peer.hearth_connect import ROOT, file_bundle
from tests.spark_python import short_lived

CUT_SHORT = ROOT / "tests" / "integration" / "datasource" / "cut_short.py"
OF_SPARK = ("bash", "sh", "env", "dirname", "java", "ps", "uname", "hostname", "rm", "chmod")
"""The programs that Spark and its scripts look up on the PATH."""
JVM_OPTIONS = short_lived()["spark.driver.extraJavaOptions"]
LATE = """
import sys
import hearth.spark
from hearth_api import ConnectError
from pyspark.sql import SparkSession
started = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
spark = started.config("spark.driver.extraJavaOptions", sys.argv[1]).getOrCreate()
try:
    hearth.spark.session()
except ConnectError as error:
    print(f"{error.code}|{error}|{error.hint}")
"""


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    """Provide an environment whose only Python on the PATH finds no packages."""
    path = tmp_path / "path"
    path.mkdir()
    for name in OF_SPARK:
        found = shutil.which(name)
        if found is not None:
            (path / name).symlink_to(found)
    (path / "python3").write_text("#!/bin/sh\nexit 1\n")
    (path / "python3").chmod(0o755)
    taken = ("PATH", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "PYTHONPATH", "VIRTUAL_ENV", "SPARK_HOME")
    return {name: text for name, text in os.environ.items() if name not in taken} | {"PATH": str(path)}


def run(variables: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a script with the Python of these tests, without activating its environment."""
    done = subprocess.run(
        [sys.executable, *arguments], env=variables, capture_output=True, text=True, check=False, timeout=1000
    )
    assert done.returncode == 0, done.stderr[-8000:]
    return done


def cut_short(variables: dict[str, str], folder: Path, *ways: str) -> list[str]:
    """Run `cut_short.py`; return its output. Its standard error must have no Python traceback."""
    done = run(variables, str(CUT_SHORT), str(folder), str(file_bundle()), JVM_OPTIONS, *ways)
    assert [line for line in done.stderr.splitlines() if "Traceback" in line or "Error" in line] == []
    return [line for line in done.stdout.splitlines() if line.startswith(("little", "much"))]


def test_a_script_finds_the_format_and_prints_no_traceback_when_a_read_is_cut_short(
    variables: dict[str, str], tmp_path: Path
) -> None:
    """The PATH has no Python with Hearth; Spark closes the connection while a worker sends, and at the end."""
    ways = ("much", "show", "little", "limit", "little", "head", "much", "cancel")
    assert cut_short(variables, tmp_path, *ways) == ["much show", "little limit", "little head", "much cancel"]


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_reads_cut_short_in_any_way_print_no_traceback(variables: dict[str, str], tmp_path: Path) -> None:
    """Spark's own methods, cancelled jobs, and jobs that fail elsewhere."""
    assert len(cut_short(variables, tmp_path)) == 22


def test_a_running_session_whose_python_lacks_hearth_is_refused(variables: dict[str, str]) -> None:
    """The error names that Python and the remedy."""
    code, fact, hint = run(variables, "-c", LATE, JVM_OPTIONS).stdout.strip().split("|")
    assert code == "environment.spark.python"
    assert fact == "Spark already runs in this process and looks up formats with 'python3', which has no Hearth"
    assert "call hearth.spark.session() before anything else starts Spark" in hint
    assert f"PYSPARK_DRIVER_PYTHON={sys.executable}" in hint


def test_a_running_session_whose_python_has_hearth_is_used(variables: dict[str, str]) -> None:
    """Whatever the Python's name is."""
    own = Path(variables["PATH"], "own")
    own.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    own.chmod(0o755)
    assert run(variables | {"PYSPARK_PYTHON": str(own)}, "-c", LATE, JVM_OPTIONS).stdout.strip() == ""
