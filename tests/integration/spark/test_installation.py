"""Bundles and Hearth on executors that have neither."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from hearth.spark import install
from hearth.spark.gateway import installed_spark
from tests.bench.cluster import SparkCluster
from tests.bundles.build import plugin_path
from tests.integration.datasource.writing import UPSERT, kept, session, write
from tests.peer.hearth_connect import ROOT

OF_SPARK = ("pyspark", "py4j", "pyarrow", "numpy", "numpy.libs")
"""What whoever uses Spark's Python data sources has on every executor."""


def bare(folder: Path, hidden: list[Path]) -> list[str]:
    """Return what starts a program that sees neither Hearth nor a package but Spark's own, nor what is hidden."""
    packages = installed_spark().parent
    kept = {name: folder / name for name in OF_SPARK if (packages / name).is_dir()}
    for own in kept.values():
        own.mkdir(parents=True)
    steps = [
        *(f"mount --bind {packages / name} {own}" for name, own in kept.items()),
        *(f"mount -t tmpfs none {each}" for each in (*hidden, ROOT / "host", ROOT / "plugins", packages)),
        *(f"mkdir {packages / name} && mount --bind {own} {packages / name}" for name, own in kept.items()),
    ]
    command = " && ".join(steps)
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", f'{command} && exec "$@"', "sh"]


@pytest.mark.long
def test_bundles_and_hearth_travel_to_executors_that_have_neither(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two workers of a real master, which have Python and what Spark needs: a mount of theirs hides all else."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("a mount of one's own takes root and util-linux")
    home, database = tmp_path / "home", tmp_path / "d.sqlite"
    home.mkdir()
    bundles = plugin_path("upsert")
    monkeypatch.setenv("HEARTH_HOME", str(home))
    through = bare(tmp_path / "kept", [home, bundles])
    with (
        SparkCluster(tmp_path / "cluster", 2, through=through) as cluster,
        session(cluster.url, {"spark.executor.cores": "1", "spark.cores.max": "2"}) as spark,
    ):
        rows = spark.range(1000, numPartitions=4).selectExpr("cast(id AS string) AS value")
        with pytest.raises(Exception, match=r"No module named 'hearth"):
            write(rows, str(bundles), connector__class=UPSERT, databaseFile=database)
        assert install(spark, str(bundles)) == ["upsert"]
        write(rows, str(bundles), connector__class=UPSERT, databaseFile=database)
        assert sorted(int(each[3]) for each in kept(database)) == list(range(1000))
