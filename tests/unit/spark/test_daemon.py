"""The daemon imports pyspark from where it is installed, not from the zip that Spark puts before it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hearth.spark.daemon import without_zips


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


def test_zips_are_left_out_where_the_same_pyspark_is_installed(site_packages: Path) -> None:
    """Everything else keeps its place."""
    found = without_zips(_path(site_packages, site_packages), str(site_packages / "pyspark"))
    assert found == ["own", str(site_packages)]


def test_zips_stay_where_nothing_can_take_their_place(site_packages: Path, tmp_path: Path) -> None:
    """A Spark of its own, apart from this environment, brings its pyspark in the zip alone."""
    path = _path(site_packages, site_packages)
    assert without_zips(path, None) == path
    assert without_zips(path, str(tmp_path / "opt" / "spark")) == path
    assert without_zips(_path(site_packages), str(site_packages / "pyspark")) == _path(site_packages)
    (site_packages / "py4j" / "__init__.py").unlink()
    (site_packages / "py4j").rmdir()
    assert without_zips(path, str(site_packages / "pyspark")) == path
