"""A real HDFS of tests: a name node and a data node in one Java, from Maven."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hearth.maven.jar import fetch_jars
from tests.java import java

LOCK = Path(__file__).with_name("hadoop.txt")


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Run a cluster with its data in a directory; yield its address, `hdfs://127.0.0.1:PORT`."""
    with java(fetch_jars(LOCK)) as jvm:
        configuration = jvm.org.apache.hadoop.conf.Configuration()
        configuration.set("hdfs.minidfs.basedir", str(folder))
        configuration.set("dfs.replication", "1")
        cluster = jvm.org.apache.hadoop.hdfs.MiniDFSCluster.Builder(configuration).numDataNodes(1).build()
        try:
            yield f"hdfs://127.0.0.1:{cluster.getNameNodePort()}"
        finally:
            cluster.shutdown()
