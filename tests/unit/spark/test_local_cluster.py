"""A local Spark cluster: settings for hosts, its secret, and errors of its start."""

from __future__ import annotations

from pathlib import Path

import pytest

from hearth.spark.local_cluster import ClusterFailed, LocalCluster


def cluster(folder: Path, *through: str) -> LocalCluster:
    """Return a cluster that asks for a secret."""
    secret = {"spark.authenticate.secret": "geheim"}
    return LocalCluster(folder, workers=2, through=through, properties=secret, find_port=lambda: 7177)


def test_settings_name_the_master_without_its_secret(tmp_path: Path) -> None:
    """And have a secret of their own."""
    settings = cluster(tmp_path).settings()
    assert settings["spark.master"] == "spark://127.0.0.1:7177"
    assert "geheim" not in str(settings)


def test_failed_master_is_an_error_with_its_log(tmp_path: Path) -> None:
    """The secret is in a file that its user alone may read, and on no command line."""
    failing = cluster(tmp_path / "spark", "sh", "-c", 'echo "$@"; exit 1', "sh")
    with pytest.raises(ClusterFailed, match="the Spark master did not start") as caught:
        failing.start()
    failing.stop()
    assert caught.value.hint == f"see {failing.log}"
    text = failing.log.read_text()
    assert "org.apache.spark.deploy.master.Master" in text
    assert "geheim" not in text
    defaults = tmp_path / "spark" / "spark-defaults.conf"
    assert "geheim" in defaults.read_text()
    assert defaults.stat().st_mode & 0o077 == 0
