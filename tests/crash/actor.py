"""Executes acts on a running worker at their times and keeps a journal of them."""

from __future__ import annotations

import http.client
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from hearth.broker import KafkaBroker
from tests.crash.act import Act
from tests.crash.process import find, owner, tree
from tests.peer.worker import Worker
from tests.timeouts import eventually

_SETTLE = 60.0
_MOST_UNANSWERED = 3
_TRACE_LINES = 4


class Journal:
    """Acts and observations with the seconds since the start; also written to a file, for diagnosis."""

    def __init__(self, path: Path) -> None:
        self._path, self._file = path, path.open("w", buffering=1)
        self.started = time.time()

    def note(self, text: str) -> None:
        """Add an entry."""
        now = time.time()
        self._file.write(f"{now - self.started:8.3f} {time.strftime('%H:%M:%S', time.gmtime(now))} {text}\n")

    def text(self) -> str:
        """Return all entries and the path of the file."""
        return f"{self._path.read_text()}\nsee {self._path}"

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class Operator:
    """Sends the operator's REST requests, and the requests that restore the connectors at the end."""

    def __init__(self, worker: Worker, connectors: Mapping[str, dict[str, str]], journal: Journal) -> None:
        """Take the configurations by the names that acts use: sink and source."""
        self._worker, self._journal = worker, journal
        self._unanswered = 0
        self.configs = {target: dict(config) for target, config in connectors.items()}

    def act(self, act: Act) -> None:
        """Execute one act; note an unsuccessful response without failing, since Java's worker refuses some as well."""
        name = self.configs[act.target]["name"]
        if act.kind == "rescale":
            self.configs[act.target]["tasks.max"] = str(int(act.number))
            self._call("PUT", f"/connectors/{name}/config", self.configs[act.target])
        elif act.kind == "restart":
            self._call("POST", f"/connectors/{name}/restart?includeTasks=true")
        elif act.kind == "restart-task":
            self._call("POST", f"/connectors/{name}/tasks/{int(act.number)}/restart")
        elif act.kind == "recreate":
            self.remove(act.target)
            time.sleep(act.number)
            self.ensure(act.target)
        else:
            self._call("PUT", f"/connectors/{name}/{act.kind}")

    def remove(self, target: str) -> None:
        """Delete a connector; it delivers and commits the records it holds first."""
        self._call("DELETE", f"/connectors/{self.configs[target]['name']}")

    def ensure(self, target: str) -> None:
        """Create a connector unless it exists or the worker does not respond: Java's herder can deadlock."""
        config = self.configs[target]

        def is_settled() -> bool:
            return self._call("POST", "/connectors", _body(config)) in (201, 409) or self._is_given_up

        eventually(is_settled, _SETTLE, 0.5)

    def heal(self) -> None:
        """Get both connectors and all their tasks to run."""
        for target, config in self.configs.items():
            if self._call("GET", f"/connectors/{config['name']}/status") != 200:
                self.ensure(target)
            self._call("PUT", f"/connectors/{config['name']}/resume")

    @property
    def _is_given_up(self) -> bool:
        return self._unanswered == _MOST_UNANSWERED

    def _call(self, method: str, path: str, body: object = None) -> int:
        """Return the status of the response; stop calling a worker after several calls without a response."""
        if self._is_given_up:
            return 0
        before = time.monotonic()
        try:
            answer = self._worker.rest.call(method, path, body)
        except (OSError, http.client.HTTPException) as error:
            self._unanswered += 1
            self._journal.note(f"{method} {path}: {error!r}")
            return 0
        self._unanswered = 0
        took = time.monotonic() - before
        text = answer.text[:200] if answer.status >= 400 else ""
        self._journal.note(f"{method} {path}: {answer.status} after {took:.2f} s {text}")
        return answer.status


class Watchman:
    """Restarts failed tasks, as an on-call engineer does, and keeps their traces."""

    def __init__(self, worker: Worker, names: Iterable[str], journal: Journal) -> None:
        self._worker, self._names, self._journal = worker, list(names), journal
        self.failures: list[str] = []

    def look(self) -> None:
        """Restart failed tasks."""
        for name in self._names:
            self._look_at(name)

    def _look_at(self, name: str) -> None:
        try:
            for task in self._failed(name):
                trace = "\n".join((task.get("trace") or "").strip().splitlines()[:_TRACE_LINES])
                self._journal.note(f"{name}-{task['id']} has FAILED: {task.get('trace')}")
                self.failures.append(f"{name}-{task['id']}: {trace}")
                self._worker.rest.call("POST", f"/connectors/{name}/tasks/{task['id']}/restart")
        except (OSError, http.client.HTTPException) as error:
            self._journal.note(f"no state of {name}: {error!r}")

    def _failed(self, name: str) -> list[dict[str, str]]:
        """Return the connector's failed tasks; Java also reports tasks that no longer belong to it."""
        status = self._worker.rest.call("GET", f"/connectors/{name}/status")
        info = self._worker.rest.call("GET", f"/connectors/{name}")
        if status.status != 200 or info.status != 200:
            return []
        present = {task["task"] for task in info.json["tasks"]}
        return [task for task in status.json["tasks"] if task["state"] == "FAILED" and task["id"] in present]


class Fate:
    """Throttles the sink's system, suspends the broker and kills processes."""

    def __init__(self, broker: KafkaBroker, unwell: Path, journal: Journal) -> None:
        self._broker, self._unwell, self._journal = broker, unwell, journal

    def act(self, act: Act) -> None:
        """Execute one act."""
        self._journal.note(act.kind)
        if act.kind == "unwell":
            self._unwell.touch()
        elif act.kind == "well":
            self._unwell.unlink(missing_ok=True)
        else:
            self._signal_broker(signal.SIGSTOP if act.kind == "stop-broker" else signal.SIGCONT)

    def end(self) -> None:
        """End all faults."""
        self._signal_broker(signal.SIGCONT)
        self._unwell.unlink(missing_ok=True)

    def _signal_broker(self, number: signal.Signals) -> None:
        assert self._broker.pid is not None
        os.kill(self._broker.pid, number)


class Killer:
    """Kills a stage of the host or the Python worker above it; only descendants of the host."""

    def __init__(self, host: int, stages: Mapping[str, Callable[[], list[int]]], journal: Journal) -> None:
        """Take the functions that return the process ids of a target's runs, read from its books."""
        self._host, self._stages, self._journal = host, stages, journal

    def act(self, act: Act) -> None:
        """Kill one process, if there is one at the moment."""
        ours = {each.pid for each in tree(self._host)} - {self._host}
        alive = [pid for pid in self._stages[act.target]() if pid in ours]
        if not alive:
            self._journal.note(f"{act.kind} {act.target}: nothing to kill")
            return
        try:
            pid = alive[-1] if act.kind == "kill-stage" else owner(find(alive[-1])).pid
            if pid not in ours or "java" in find(pid).command.split(" ")[0]:
                self._journal.note(f"{act.kind} {act.target}: {pid} is not a task process")
                return
            self._journal.note(f"{act.kind} {act.target}: {pid} {find(pid).command[-80:]}")
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            self._journal.note(f"{act.kind} {act.target}: the process has already ended")


def carry_out(acts: Iterable[Act], do: Callable[[Act], None], stop: threading.Event, started: float) -> None:
    """Execute acts at their times, overdue ones immediately, until all are done or ``stop`` is set."""
    for act in acts:
        if stop.wait(max(0.0, started + act.at - time.monotonic())):
            return
        do(act)


def repeat(action: Callable[[], object], every: float, stop: threading.Event) -> None:
    """Call an action at intervals until ``stop`` is set."""
    while not stop.wait(every):
        action()


def _body(config: dict[str, str]) -> dict[str, object]:
    return {"name": config["name"], "config": config}
