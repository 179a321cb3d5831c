"""Connectors that share a process, with random actions of users and failures: real processes, a fake Spark."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hearth.storage import RestartRequest, TargetState
from hearth_api import ConnectError
from tests.timeouts import TIMEOUT, eventually
from tests.unit.herder.fake import Bench

STATES = {TargetState.STARTED: "RUNNING", TargetState.PAUSED: "PAUSED", TargetState.STOPPED: "STOPPED"}
GOOD = ""
DEEDS = [GOOD] * 8 + ["raise", "exit", "hang"]
"""What a connector does on start or validation."""
LIMIT = "500"
"""Timeout in milliseconds of a call that hangs."""


@dataclass
class Wanted:
    """The last requested state of a connector."""

    deed: str
    target: TargetState = TargetState.STARTED
    run: int | None = None
    """The run of its task that must continue, if nothing has been done that ends it."""


class Crowd:
    """Connectors, the requests made, and the expected results."""

    def __init__(self, root: Path, chance: random.Random, size: int) -> None:
        self.bench = Bench(root, {"plugin.call.timeout.ms": "20000"})
        self.herder = self.bench.herder
        self._chance = chance
        self._names = [f"c{number}" for number in range(size)]
        self._wanted: dict[str, Wanted] = {}
        self._asked: list[tuple[str, Future[Any]]] = []

    def act(self) -> None:
        """Perform a random action on a connector, usually without waiting."""
        name = self._chance.choice(self._names)
        known = self._wanted.get(name)
        if known is None:
            self._put(name)
            return
        acts: list[Callable[[], None]] = [
            partial(self._put, name),
            partial(self._delete, name),
            partial(self._want, name, known),
            partial(self._restart, name),
            self._kill,
            self._validate,
        ]
        self._chance.choices(acts, [2, 1, 3, 3, 4, 2])[0]()

    def settle(self) -> None:
        """Wait until all requests are done, and check the results."""
        for name, asked in self._asked:
            error = asked.exception(TIMEOUT)
            assert error is None or isinstance(error, ConnectError), (name, error)
        self._asked.clear()
        for name, wanted in self._wanted.items():
            assert eventually(partial(self._is_right, name, wanted), TIMEOUT), self._described(name)
            self._remember(name, wanted)
        assert sorted(self.herder.connectors()) == sorted(self._wanted)

    def _put(self, name: str) -> None:
        deed = self._chance.choice(DEEDS)
        config = {"name": name, "connector.class": "FileStreamSource", "topic": "t", "do.start": deed}
        config["text"] = str(self._chance.random())
        if deed == "hang":
            config["plugin.call.timeout.ms"] = LIMIT
        known = self._wanted.get(name)
        self._wanted[name] = Wanted(deed, TargetState.STARTED if known is None else known.target)
        self._ask(name, self.herder.put(name, config), is_awaited=True)

    def _delete(self, name: str) -> None:
        del self._wanted[name]
        self._ask(name, self.herder.delete(name), is_awaited=True)

    def _want(self, name: str, known: Wanted) -> None:
        known.target = self._chance.choice(list(TargetState))
        if known.target is TargetState.STOPPED:
            known.run = None
        self._ask(name, self.herder.want(name, known.target))

    def _restart(self, name: str) -> None:
        if self._chance.random() < 0.5:
            self._ask(name, self.herder.restart_connector(name))
            return
        self._wanted[name].run = None
        self._ask(name, self.herder.restart(RestartRequest(name, include_tasks=True)))

    def _kill(self) -> None:
        """Kill the shared process, whatever it is doing."""
        for opened in list(self.herder._services.pool._processes._shared.values()):
            if opened.done() and opened.exception() is None and opened.result().is_alive:
                opened.result().stage.kill()

    def _validate(self) -> None:
        config = {"name": "x", "connector.class": "FileStreamSource", "topic": "t"}
        config |= {"do.validate": self._chance.choice(DEEDS), "plugin.call.timeout.ms": LIMIT}
        self._ask("x", self.herder.validate(config))

    def _ask(self, name: str, asked: Future[Any], *, is_awaited: bool = False) -> None:
        """Continue while the request is carried out; wait for one that creates another connector of the name."""
        self._asked.append((name, asked))
        if is_awaited:
            asked.exception(TIMEOUT)

    def _is_right(self, name: str, wanted: Wanted) -> bool:
        found = self.bench.statuses.connector(name)
        if found is None:
            return False
        target = STATES[wanted.target]
        if wanted.deed != GOOD:
            return str(found.state) in (target, "FAILED") and (str(found.state), target) != ("RUNNING", "RUNNING")
        tasks = [str(each.state) for each in self.bench.statuses.tasks(name)]
        if wanted.run is not None or wanted.target is TargetState.STARTED:
            is_task_right = tasks == [target]
        else:
            is_task_right = tasks in ([], [target])  # a connector paused after a stop has no tasks yet
        run = self.bench.supervisor(name)._run
        lives = run is not None and run._stage is not None and run._stage.is_alive
        return str(found.state) == target and is_task_right and (lives or target != "RUNNING")

    def _remember(self, name: str, wanted: Wanted) -> None:
        """Check that the expected run continues, and expect the present one from now on."""
        if wanted.deed != GOOD or not self.bench.statuses.tasks(name):
            wanted.run = None
            return
        generation = self.bench.spark.newest(name, 0).generation
        assert wanted.run in (None, generation), f"the task of {name} was disturbed"
        if wanted.target is TargetState.STARTED:  # a change made while paused takes effect on resume
            wanted.run = generation

    def _described(self, name: str) -> str:
        status = self.bench.statuses.connector(name)
        return f"{name} is to be {self._wanted[name]} and is {status}, its tasks {self.bench.statuses.tasks(name)}"


@pytest.fixture(autouse=True)
def _errors_only() -> Iterator[None]:
    """Skip the handlers for records below ERROR, which are frequent here."""
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize(
    ("seed", "size", "rounds"),
    [(1, 6, 6), *(pytest.param(seed, 20, 60, marks=pytest.mark.long) for seed in range(20))],
)
def test_connectors_reach_their_target_state_whatever_other_tenants_do(
    tmp_path: Path, seed: int, size: int, rounds: int
) -> None:
    """A well-behaved connector never fails and keeps its task; after all are deleted no process remains."""
    crowd = Crowd(tmp_path, random.Random(seed), size)
    try:
        for _ in range(rounds):
            for _ in range(size):
                crowd.act()
            crowd.settle()
    finally:
        made = list(crowd.herder._services.pool._processes._made)
        crowd.herder.shut_down()
    assert not [each for each in made if each.is_alive]
