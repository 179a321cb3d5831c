"""A pipeline to kill: source file, topic and sink file on a real host, with a ledger."""

from __future__ import annotations

import os
import signal
import threading
import time
import uuid
from collections.abc import Mapping
from pathlib import Path

from tests.crash.ledger import Ledger
from tests.crash.process import Process, await_end, carried, holder, owner, tree
from tests.peer.hearth_connect import HearthConnect
from tests.peer.topic import Topics

STRING = "org.apache.kafka.connect.storage.StringConverter"


class Pipeline:
    """The connectors NAME-source and NAME-sink on a dedicated host, which may be killed and restarted."""

    def __init__(self, folder: Path, topics: Topics, settings: Mapping[str, str] | None = None) -> None:
        """Describe host and connectors; offsets are committed often, so that there are many chances of an error."""
        self.name = f"crash-{uuid.uuid4().hex[:8]}"
        topics.create(self.name)
        self.processes: set[Process] = set()
        own = {
            "offset.flush.interval.ms": "200",
            "key.converter": STRING,
            "value.converter": STRING,
            "offset.storage.file.filename": str(folder / "connect.offsets"),
            **(settings or {}),
        }
        self.ledger = Ledger(folder, topics.bootstrap_servers, self.name, Path(own["offset.storage.file.filename"]))
        self.host = HearthConnect(folder, topics.bootstrap_servers, own, self.connectors())

    def connectors(self) -> list[dict[str, str]]:
        """Return the configurations of both connectors."""
        files = "org.apache.kafka.connect.file.FileStream"
        source = {"connector.class": f"{files}SourceConnector", "file": str(self.ledger.source), "topic": self.name}
        sink = {"connector.class": f"{files}SinkConnector", "file": str(self.ledger.sink), "topics": self.name}
        return [{"name": f"{self.name}-source", **source}, {"name": f"{self.name}-sink", **sink}]

    def start(self) -> float:
        """Start the host, and return how many seconds it takes until a new line arrives."""
        started = time.monotonic()
        self.host.start()
        self.await_new_line()
        return time.monotonic() - started

    def create(self, kind: str) -> None:
        """Create the source or the sink again after it was deleted."""
        self.host.run(next(each for each in self.connectors() if each["name"].endswith(kind)))

    def await_new_line(self) -> float:
        """Append a line, and return how many seconds it takes to arrive; show the host's output if it does not."""
        try:
            return self.ledger.await_new_line()
        except AssertionError as error:
            states = [self.host.rest.status(config["name"]) for config in self.connectors()]
            raise AssertionError(f"{error}\n{states}\n{self.host.last_words()}") from None

    def seen(self) -> list[Process]:
        """Return the host and all its processes, and remember them for `await_end`."""
        processes = tree(self.host.pid)
        self.processes.update(processes)
        return processes

    def stage(self, kind: str) -> Process:
        """Return the stage process of the source's or of the sink's task, which has the file open."""
        return holder(self.ledger.source if kind == "source" else self.ledger.sink)

    def python_worker(self, kind: str) -> Process:
        """Return the process in which Spark runs the task, the owner of its stage."""
        return owner(self.stage(kind))

    def kill(self) -> None:
        """SIGKILL the host's own process; its other processes must end by themselves."""
        processes = self.seen()
        self.host.kill()
        await_end(processes)

    def kill_and_flow(self, pid: int) -> float:
        """SIGKILL a process, and return after how many seconds a new line arrives; the process's tree must end."""
        below = carried(pid)
        os.kill(pid, signal.SIGKILL)
        seconds = self.await_new_line()
        await_end(below)
        return seconds

    def stop(self) -> None:
        """Stop the host in order, and check that none of its processes is left."""
        if self.host.is_running:
            self.seen()
        self.host.stop()
        await_end(list(self.processes))

    def close(self) -> None:
        """Stop the host and close the client."""
        try:
            self.stop()
        finally:
            self.ledger.close()


def pass_time(seconds: float) -> None:
    """Sleep: the moment of a kill is a time, there is no condition to wait for."""
    threading.Event().wait(seconds)
