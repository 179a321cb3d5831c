"""One of the two sides of a comparison: Java Connect or Hearth, on one broker."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any, Protocol

from tests.peer.kept import CHECKOUT
from tests.peer.topic import Topics
from tests.peer.worker import Worker

_PATIENT = {"task.shutdown.graceful.timeout.ms": "30000"}  # all tasks of a worker stop at the same time


class MakeWorker(Protocol):
    """Creates a worker that is not started yet."""

    def __call__(self, folder: Path, bootstrap_servers: str, settings: Mapping[str, str]) -> Worker:
        """Return a worker with Kafka's sample settings, changed and extended."""


class Side:
    """The workers of one side, each started when a case needs its settings, and kept for the next one."""

    def __init__(
        self, make: MakeWorker, folder: Path, topics: Topics, settings: Mapping[str, Mapping[str, str]]
    ) -> None:
        """``settings`` are worker settings by the names that cases use."""
        self.folder = folder
        self.topics = topics
        self._make, self._settings = make, settings
        self._running: dict[str, Worker] = {}
        self._numbers = count()

    def __enter__(self) -> Side:
        return self

    def __exit__(self, *_error: object) -> None:
        for name in list(self._running):
            self.stop(name)

    def worker(self, name: str) -> Worker:
        """Return the running worker of some settings."""
        if name not in self._running:
            settings = {**self._settings[name], **_PATIENT}
            folder = self.folder / f"worker-{next(self._numbers)}"
            worker = self._make(folder, self.topics.bootstrap_servers, settings)
            self._running[name] = worker.__enter__()
        return self._running[name]

    def stop(self, name: str) -> None:
        """Stop the worker of some settings with its connectors."""
        self._running.pop(name).stop()

    def neutral(self, answer: Any) -> Any:
        """Return an answer without names of this broker or this checkout."""
        text = json.dumps(answer)
        for own, word in ((self.topics.cluster_id, "{cluster}"), (str(CHECKOUT), "{checkout}")):
            text = text.replace(own, word)
        return json.loads(text)
