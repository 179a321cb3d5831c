"""The log of a Java task of Confluent's HDFS sink, written and read by Hadoop's own classes.

The order of the calls is that of Confluent's `WALFile` and `FSWAL`; the bytes of texts are of Hadoop's `Text`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from tests.hdfs_cluster import HdfsCluster

_MARK = 16
_BETWEEN_MARKS = 2000


class JavaLog:
    """A log that a Java task has open."""

    def __init__(self, cluster: HdfsCluster, path: str) -> None:
        self._jvm = cluster.jvm
        self._files = file_system(cluster)
        self._out = self._files.create(self._jvm.org.apache.hadoop.fs.Path(path), True)
        self._mark = os.urandom(_MARK)
        self._out.write(b"WAL\0")
        self._out.write(self._mark)
        self._marked = 0

    def append(self, key: str, value: str = "") -> None:
        """Append a record and synchronize, as before each rename."""
        if self._out.getPos() >= self._marked + _BETWEEN_MARKS:
            self._out.writeInt(-1)
            self._out.write(self._mark)
            self._marked = self._out.getPos()
        buffer = self._jvm.org.apache.hadoop.io.DataOutputBuffer()
        self._jvm.org.apache.hadoop.io.Text.writeString(buffer, key)
        size = buffer.getLength()
        self._jvm.org.apache.hadoop.io.Text.writeString(buffer, value)
        self._out.writeInt(buffer.getLength())
        self._out.writeInt(size)
        self._out.write(buffer.getData(), 0, buffer.getLength())
        self._out.hsync()

    def close(self) -> None:
        """Close the log and the task's connection."""
        self._out.close()
        self._files.close()


def file_system(cluster: HdfsCluster) -> Any:
    """Return Hadoop's file system."""
    configuration = cluster.jvm.org.apache.hadoop.conf.Configuration()
    return cluster.jvm.org.apache.hadoop.fs.FileSystem.newInstance(
        cluster.jvm.java.net.URI.create(cluster.url), configuration
    )


def read_log(cluster: HdfsCluster, path: str) -> Iterable[tuple[str, str]]:
    """Return the records of a log."""
    files = file_system(cluster)
    target = cluster.jvm.org.apache.hadoop.fs.Path(path)
    size, file = files.getFileStatus(target).getLen(), files.open(target)
    text = cluster.jvm.org.apache.hadoop.io.Text
    assert [file.readByte() for _ in range(4)] == [*b"WAL\0"]
    file.seek(4 + _MARK)
    found = []
    while file.getPos() < size:
        length, key_length, start = file.readInt(), file.readInt(), file.getPos()
        key = text.readString(file)
        assert file.getPos() == start + key_length
        found.append((key, text.readString(file)))
        assert file.getPos() == start + length
    files.close()
    return found
