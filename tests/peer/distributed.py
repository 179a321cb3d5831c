"""Cluster workers, Java's and Hearth's, with the same file, so that each can take over from the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.peer.hearth_connect import HearthConnect
from tests.peer.java_connect import SMALL_OPTIONS, JavaConnect

GROUP = "connect-peers"
"""A session timeout that a sink's consumers could have as well."""


def cluster_settings(group: str) -> dict[str, str]:
    """Return the settings of a cluster with this name, on a single broker."""
    topics = {f"{each}.storage.topic": f"{group}-{each}s" for each in ("config", "offset", "status")}
    copies = {f"{each}.storage.replication.factor": "1" for each in ("config", "offset", "status")}
    partitions = {"offset.storage.partitions": "5", "status.storage.partitions": "2"}
    return {"group.id": group, **topics, **copies, **partitions}


class JavaDistributed(JavaConnect):
    """`connect-distributed` of Kafka."""

    main_class = "org.apache.kafka.connect.cli.ConnectDistributed"

    def __init__(
        self,
        folder: Path,
        bootstrap_servers: str,
        group: str,
        settings: Mapping[str, str] | None = None,
        jvm_options: Sequence[str] = SMALL_OPTIONS,
    ) -> None:
        properties = {**cluster_settings(group), **(settings or {})}
        super().__init__(folder, bootstrap_servers, properties, jvm_options=jvm_options)
        del self._settings["offset.storage.file.filename"]


class HearthDistributed(HearthConnect):
    """`hearth distributed`."""

    command = "distributed"

    def __init__(
        self, folder: Path, bootstrap_servers: str, group: str, settings: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(folder, bootstrap_servers, {**cluster_settings(group), **(settings or {})})
        del self._settings["offset.storage.file.filename"]
