"""Keeps the connectors of this host in the state that the store describes."""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from hearth.foundation.log_context import about, label_of
from hearth.foundation.log_level import levels
from hearth.herder.instance import TransitionFailed
from hearth.herder.leader_services import LeaderServices
from hearth.herder.queue import Queues
from hearth.herder.supervisor import NOTHING, Restart, Supervisor
from hearth.herder.task_link import TaskEvent
from hearth.storage import ConfigListener, ConfiguredConnector, RestartRequest
from hearth_api import ConnectError

log = logging.getLogger(__name__)

UPGRADES = ("upgrades",)
"""The queue that prepares upgrades, one after the other because they need the same environments."""
TERM_BITS = 32
"""Bits of a generation number within its term; the term is above them."""


class Reconciler(ConfigListener):
    """Compares what runs of a connector with the store, and makes it match.

    Every change in the store, from any host, triggers a reconciliation on the connector's own queue. It reads the
    current content of the store, so neither repeated nor missed notifications matter. A leading host runs everything
    in the store, any other host runs nothing: starting to lead reconciles everything.
    """

    def __init__(self, leader_services: LeaderServices, queues: Queues) -> None:
        self._services = leader_services
        self._queues = queues
        self._lock = threading.Lock()
        self._generations: Iterator[int] | None = None
        self._supervisors: dict[str, Supervisor] = {}
        self._changed_classes: dict[str, set[str]] = {}
        leader_services.configs.subscribe(self)
        leader_services.metrics.histories.keep_in(leader_services.board.store)

    @property
    def leads(self) -> bool:
        """Return whether this host decides what runs."""
        return self._generations is not None

    def running(self) -> list[str]:
        """Return the names of the supervised connectors."""
        with self._lock:
            return list(self._supervisors)

    def supervisors(self) -> list[Supervisor]:
        """Return the supervisors of all connectors that this host runs."""
        with self._lock:
            return [] if self._generations is None else [self._supervisors[name] for name in sorted(self._supervisors)]

    def supervisor(self, name: str) -> Supervisor | None:
        """Return the supervisor of a connector that this host runs."""
        with self._lock:
            return None if self._generations is None else self._supervisors.get(name)

    def lead(self, term: int) -> None:
        """Start running what the store describes.

        A term has a greater number than every earlier term on any host, and so have its generations.
        """
        self.follow()
        self._services.metrics.histories.leave()
        with self._lock:
            self._generations = itertools.count(term << TERM_BITS)
        for name in self._services.configs.snapshot().connectors():
            self.on_change(name)

    def follow(self, *, is_followed: bool = False) -> None:
        """Stop everything and wait until it has ended.

        If another host leads at once, tasks leave shared state, such as group membership, to their successors. Does
        not wait for the connectors' queues: a call that hangs there ends with its process.
        """
        with self._lock:
            self._generations = None
            over = list(self._supervisors.values())
        if not over:
            return
        with ThreadPoolExecutor(len(over), thread_name_prefix="end") as threads:
            ends = [threads.submit(supervisor.end, is_followed=is_followed) for supervisor in over]
        for end in ends:
            if error := end.exception():
                log.error("a connector did not end cleanly: %s", error, exc_info=error)

    def reconcile(self, name: str, restart: Restart = NOTHING) -> None:
        """Make a connector match the store, and restart what a user requested.

        Called on the connector's queue. Raises ConnectError for errors of the instance.
        """
        supervisor = self._supervisor(name)
        if supervisor is None:
            return
        entry = self._services.configs.snapshot().find(name)
        if entry is not None:
            supervisor.reconcile(entry, restart)
            return
        supervisor.end()
        self._services.board.forget(name)
        self._services.metrics.histories.forget(name)
        with self._lock:
            self._supervisors.pop(name, None)

    def on_change(self, connector: str) -> None:
        """Reconcile the connector, once for any number of changes meanwhile."""
        self._later(connector, "change", lambda: None)

    def on_restart(self, request: RestartRequest) -> None:
        """Restart the requested parts by their states when the job runs; a plugin that hangs is interrupted first."""
        term, name = self._generations, request.connector

        def restart() -> None:
            if self._generations is term is not None:  # a new term has restarted everything
                self._run_logging_errors(lambda: self.reconcile(name, self.wanted(request)))

        self._queues.post_once(name, str(request), restart, is_impatient=True)

    def wanted(self, request: RestartRequest) -> Restart:
        """Return the parts of a connector to restart, given the present states of it and its tasks."""
        store = self._services.board.store
        status = store.connector(request.connector)
        tasks = {each.task for each in store.tasks(request.connector) if request.wants_task(each.state)}
        return Restart(status is not None and request.wants_connector(status.state), tasks)

    def on_logger_level(self, namespace: str, level: str) -> None:
        """Apply a cluster-wide logger level, possibly set on another host, and forward it to the tasks."""
        levels.set(namespace, level)

    def on_plugins(self, classes: Collection[str]) -> None:
        """Restart what uses plugins of these classes, in order for each connector.

        Called when bundles have been added, changed or removed. What could not start again keeps running. Building
        environments may take long, so it runs outside the connectors' queues and blocks none.
        """
        for name in self.running():
            with self._lock:
                self._changed_classes.setdefault(name, set()).update(classes)
        self._queues.post_once(UPGRADES, "plugins", self._prepare_upgrades)

    def _prepare_upgrades(self) -> None:
        with self._lock:
            changed = {name: frozenset(classes) for name, classes in self._changed_classes.items()}
        for name, classes in changed.items():
            with about(label_of(name)):
                if self._outdated(name, classes) is not None:
                    self._queues.post_once(name, "plugins", partial(self._upgrade, name))
                    continue
            with self._lock:  # the upgrade failed; a later change may make it possible
                self._changed_classes.get(name, set()).difference_update(classes)

    def on_event(self, event: TaskEvent) -> None:
        """Pass an event of a task link on to its connector."""
        with self._lock:
            supervisor = self._supervisors.get(event.connector)
        if supervisor is not None:
            supervisor.on_event(event)

    def move(self, connector: str, task: int) -> bool:
        """Let a task drain and continue wherever its launcher places it; return whether it will."""
        with self._lock:
            supervisor = self._supervisors.get(connector)
        return supervisor is not None and supervisor.move(task)

    def _upgrade(self, name: str) -> None:
        with self._lock:
            classes = self._changed_classes.pop(name, set())
        found = self._outdated(name, classes)
        if found is None:
            return
        supervisor, entry, restart = found
        if restart.instance or restart.tasks:
            log.info("the connector restarts with the bundles now on plugin.path")
            self._run_logging_errors(lambda: supervisor.reconcile(entry, restart))

    def _outdated(self, name: str, classes: Collection[str]) -> tuple[Supervisor, ConfiguredConnector, Restart] | None:
        """Return the parts of a connector to restart; None if there are none or they could not start."""
        with self._lock:
            supervisor = self._supervisors.get(name) if self.leads else None
        entry = self._services.configs.snapshot().find(name)
        if supervisor is None or entry is None:
            return None
        restart = supervisor.outdated(entry, classes)
        return None if restart is None else (supervisor, entry, restart)

    def _later(self, name: str, what: str, act: Callable[[], None]) -> None:
        self._queues.post_once(name, what, lambda: self._act(name, act))

    def _act(self, name: str, act: Callable[[], None]) -> None:
        """Run an action and reconcile; errors are logged because no caller waits."""
        act()
        self._run_logging_errors(lambda: self.reconcile(name))

    def _run_logging_errors(self, act: Callable[[], None]) -> None:
        try:
            act()
        except TransitionFailed:
            return  # the instance has logged it
        except ConnectError as error:
            log.warning("%s", error)

    def _supervisor(self, name: str) -> Supervisor | None:
        """Return the supervisor of a connector, None if this host does not lead.

        Everything of an earlier term has ended before a term starts: two runs of one task would break the order
        (Invariant 4).
        """
        with self._lock:
            if self._generations is None:
                return None
            known = self._supervisors.get(name)
            if known is None or known.is_over:
                known = self._supervisors[name] = Supervisor(
                    name, self._services, self._generations, lambda what, act: self._later(name, what, act)
                )
            return known
