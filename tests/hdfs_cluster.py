"""A real HDFS of tests: a name node and a data node in one Java, from Maven."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from hearth.maven.jar import fetch_jars
from tests.java import java

LOCK = Path(__file__).with_name("hadoop.txt")


class HdfsCluster(NamedTuple):
    """Its address, `hdfs://127.0.0.1:PORT`, and the Java that runs it, which has Hadoop's classes."""

    url: str
    jvm: Any


@contextmanager
def serving(folder: Path) -> Iterator[HdfsCluster]:
    """Run a cluster with its data in a directory."""
    with java(fetch_jars(LOCK)) as jvm:
        configuration = jvm.org.apache.hadoop.conf.Configuration()
        configuration.set("hdfs.minidfs.basedir", str(folder))
        configuration.set("dfs.replication", "1")
        cluster = jvm.org.apache.hadoop.hdfs.MiniDFSCluster.Builder(configuration).numDataNodes(1).build()
        try:
            yield HdfsCluster(f"hdfs://127.0.0.1:{cluster.getNameNodePort()}", jvm)
        finally:
            cluster.shutdown()
