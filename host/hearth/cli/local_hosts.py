"""Several hosts of one's own, that stand in for each other, and a Spark cluster that runs their tasks."""

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
"""How often it is asked who leads."""
GROUP = "hearth-quickstart"
TOPICS = ("config", "offset", "status")


class LocalHosts:
    """Hosts of one cluster, which together are used like one: whoever of them is there answers."""

    def __init__(self, folder: Path, port: int, settings: Mapping[str, str], count: int) -> None:
        """Describe hosts that will listen on `port` and the next free ones; nothing is started yet."""
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
        """Return where one of them answers."""
        return next((host.url for host in self._hosts if host.is_running), self._hosts[0].url)

    @property
    def log(self) -> Path:
        """Return what holds the folders with their logs."""
        return self.folder

    @property
    def is_running(self) -> bool:
        """Return whether any of them is alive."""
        return any(host.is_running for host in self._hosts)

    def start(self) -> None:
        """Start Spark, then the hosts one after the other; the first one leads."""
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
        """Send a request to a host that is there."""
        return next((host for host in self._hosts if host.is_running), self._hosts[0]).request(method, path, body)

    def await_sparks_page(self) -> None:
        """Return nothing: on a cluster Spark's page is not opened unless somebody asks for it."""

    def failure(self, fact: str) -> ConnectError:
        """Return the error that tells a fact about them together with the last words of one."""
        return self._hosts[0].failure(fact)

    def processes(self) -> Iterator[tuple[str, int]]:
        """Yield what runs, with its process id: who is killed is stood in for."""
        for host in self._hosts:
            yield f"the host at {host.url}", host.pid
        for number, pid in enumerate(self.spark.pids[1:]):
            yield f"Spark worker {number + 1}", pid

    def news(self, connector: str) -> Iterator[str]:
        """Yield what has changed since this was asked last: which hosts have ended, and which one leads."""
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
            yield f"tasks run in the name of the host at {self._leader}"
