"""Several local hosts that form a cluster, and the Spark cluster that runs their tasks."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hearth.cli.local import LocalHost
from hearth.spark.local_cluster import LocalCluster
from hearth.spark.standalone_master import AUTHENTICATE, ENCRYPT, SECRET
from hearth_api import ConnectError

SPARK_WORKERS = 2
LOOK_SECONDS = 1.0
"""How often the leader is looked up."""
GROUP = "hearth-quickstart"
TOPICS = ("config", "offset", "status")


class LocalHosts:
    """Hosts of one cluster, used like a single host: any running one answers."""

    def __init__(self, folder: Path, port: int, settings: Mapping[str, str], count: int) -> None:
        """Describe hosts that will listen on `port` and the next free ones; nothing starts yet."""
        self.folder = folder
        secret = {AUTHENTICATE: "true", ENCRYPT: "true", SECRET: secrets.token_urlsafe()}
        self.spark = LocalCluster(folder / "spark", SPARK_WORKERS, properties=secret)
        own = {
            **settings,
            **secret,
            **self.spark.settings(),
            "group.id": GROUP,
            **{f"{each}.storage.topic": f"{GROUP}-{each}s" for each in TOPICS},
            **{f"{each}.storage.replication.factor": "1" for each in TOPICS},
        }
        self._hosts = [
            LocalHost(folder / f"host-{number + 1}", port + number, own, "distributed") for number in range(count)
        ]
        self._leader: str | None = None
        self._ended: set[str] = set()
        self._look_at = 0.0

    @property
    def url(self) -> str:
        """Return the address of a running host."""
        return next((host.url for host in self._hosts if host.is_running), self._hosts[0].url)

    @property
    def log(self) -> Path:
        """Return the folder above the hosts' logs."""
        return self.folder

    @property
    def is_running(self) -> bool:
        """Return whether any host is alive."""
        return any(host.is_running for host in self._hosts)

    def start(self) -> None:
        """Start Spark, then the hosts one by one; the first one leads."""
        self.spark.start()
        for host in self._hosts:
            host.folder.mkdir(parents=True, exist_ok=True)
            host.start()

    def stop(self) -> None:
        """Stop the hosts in order, the leading one last, then Spark."""
        for host in sorted(self._hosts, key=lambda each: each.address == self._leader):
            host.stop()
        self.spark.stop()

    def request(self, method: str, path: str, body: object = None) -> Any:
        """Send a request to a running host."""
        return next((host for host in self._hosts if host.is_running), self._hosts[0]).request(method, path, body)

    def await_sparks_page(self) -> None:
        """Return nothing: on a cluster, Spark's UI is off unless it is configured."""

    def failure(self, fact: str) -> ConnectError:
        """Return an error with a fact about the hosts and the last lines of the first one's log."""
        return self._hosts[0].failure(fact)

    def processes(self) -> Iterator[tuple[str, int]]:
        """Yield each process with its id: if one is killed, another takes over."""
        for host in self._hosts:
            yield f"the host at {host.url}", host.pid
        for number, pid in enumerate(self.spark.pids[1:]):
            yield f"Spark worker {number + 1}", pid

    def news(self, connector: str) -> Iterator[str]:
        """Yield changes since the last call: hosts that have ended, and a new leader."""
        for host in self._hosts:
            if not host.is_running and host.url not in self._ended:
                self._ended.add(host.url)
                yield f"the host at {host.url} has ended"
        if time.monotonic() < self._look_at:
            return
        self._look_at = time.monotonic() + LOOK_SECONDS
        try:
            status = self.request("GET", f"/connectors/{connector}/status")
        except ConnectError:
            return
        if status["tasks"] and status["connector"]["worker_id"] != self._leader:
            self._leader = status["connector"]["worker_id"]
            yield f"the leading host is {self._leader}"
