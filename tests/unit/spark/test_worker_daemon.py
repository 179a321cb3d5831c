"""The daemon imports the installed pyspark instead of Spark's zip, and has one thread when it forks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from hearth.spark.worker_daemon import without_zips


@pytest.fixture
def site_packages(tmp_path: Path) -> Path:
    """Return a folder with pyspark and py4j as pip installs them."""
    for package in ("pyspark", "py4j"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
    return tmp_path


def _path(site_packages: Path, *rest: Path) -> list[str]:
    zips = site_packages / "pyspark" / "python" / "lib"
    return [*(str(each) for each in (zips / "pyspark.zip", zips / "py4j-0.10.9.9-src.zip", Path("own"), *rest))]


def test_zips_are_removed_if_the_same_pyspark_is_installed(site_packages: Path) -> None:
    """Everything else keeps its place."""
    found = without_zips(_path(site_packages, site_packages), str(site_packages / "pyspark"))
    assert found == ["own", str(site_packages)]


def test_zips_stay_if_another_pyspark_is_installed(site_packages: Path, tmp_path: Path) -> None:
    """A Spark of its own, apart from this environment, brings its pyspark in the zip alone."""
    path = _path(site_packages, site_packages)
    assert without_zips(path, None) == path
    assert without_zips(path, str(tmp_path / "opt" / "spark")) == path
    assert without_zips(_path(site_packages), str(site_packages / "pyspark")) == _path(site_packages)
    (site_packages / "py4j" / "__init__.py").unlink()
    (site_packages / "py4j").rmdir()
    assert without_zips(path, str(site_packages / "pyspark")) == path


@pytest.mark.skipif(sys.platform != "linux", reason="read from /proc")
def test_daemon_has_one_thread_when_it_forks() -> None:
    """A lock that another held would be held in every worker for ever; numpy and Arrow come with threads otherwise."""
    home = Path(pyspark.__file__).parent
    zips = [str(each) for each in (home / "python" / "lib").glob("*.zip")]
    variables = {**os.environ, "SPARK_HOME": str(home), "PYTHONPATH": os.pathsep.join([*zips, *sys.path])}
    command = [sys.executable, "-m", "hearth.spark.daemon", "pyspark.worker"]
    with subprocess.Popen(command, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as daemon:
        assert daemon.stdin is not None
        assert daemon.stdout is not None
        port = int.from_bytes(daemon.stdout.read(4), "big")
        threads = os.listdir(f"/proc/{daemon.pid}/task")
        daemon.stdin.close()  # by which Spark ends it
    assert port > 0
    assert len(threads) == 1
