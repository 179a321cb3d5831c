"""What keeps the connectors of this host as the store says they are to be."""

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
"""The queue on which what is to begin anew is prepared: one after the other, for all want the same environments."""
TERM_BITS = 32
"""A term may have so many generations, two to the power of it, before they would run into those of the next."""


class Reconciler(ConfigListener):
    """Compares what the store says of a connector with what runs of it, and makes it so.

    It does so whenever the store says something new, whoever wrote that, on the connector's own queue: what is
    compared is the store's content of that moment, so it matters neither how often it happens nor what was missed.
    A host that leads runs everything the store holds, and one that does not lead runs nothing: to begin is to
    reconcile everything, to end is to want nothing.
    """

    def __init__(self, leader_services: LeaderServices, queues: Queues) -> None:
        self._with = leader_services
        self._queues = queues
        self._lock = threading.Lock()
        self._generations: Iterator[int] | None = None
        self._supervisors: dict[str, Supervisor] = {}
        self._changed_classes: dict[str, set[str]] = {}
        leader_services.configs.subscribe(self)

    @property
    def leads(self) -> bool:
        """Return whether this host decides what runs."""
        return self._generations is not None

    def running(self) -> list[str]:
        """Return the names of the connectors that it has to do with."""
        with self._lock:
            return list(self._supervisors)

    def lead(self, term: int) -> None:
        """Run what the store says from now on.

        Every term has a number greater than those before it, on whichever host, and so have its generations.
        """
        self.follow()
        with self._lock:
            self._generations = itertools.count(term << TERM_BITS)
        for name in self._with.configs.snapshot().connectors():
            self.on_change(name)

    def follow(self, *, is_followed: bool = False) -> None:
        """Run nothing any more, and wait until everything has ended.

        Where another host leads at once, tasks leave to its tasks what they share with them. It does not wait for the
        connectors' queues: what hangs there is ended with its process.
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
                log.error("a connector did not end as it should: %s", error, exc_info=error)

    def reconcile(self, name: str, restart: Restart = NOTHING) -> None:
        """Make what runs of a connector what the store says, and begin anew what a user asked for.

        Called on the connector's queue. Raises ConnectError for what is wrong with the instance.
        """
        supervisor = self._supervisor(name)
        if supervisor is None:
            return
        entry = self._with.configs.snapshot().find(name)
        if entry is not None:
            supervisor.reconcile(entry, restart)
            return
        supervisor.end()
        self._with.board.forget(name)
        with self._lock:
            self._supervisors.pop(name, None)

    def on_change(self, connector: str) -> None:
        """Reconcile the connector, once however much changes meanwhile."""
        self._later(connector, "change", lambda: None)

    def on_restart(self, request: RestartRequest) -> None:
        """Begin anew what the request wants in the states of that moment; a plugin that hangs is interrupted first."""
        term, name = self._generations, request.connector

        def restart() -> None:
            if self._generations is term is not None:  # another term has begun everything anew
                self._told(lambda: self.reconcile(name, self.wanted(request)))

        self._queues.post_once(name, str(request), restart, is_impatient=True)

    def wanted(self, request: RestartRequest) -> Restart:
        """Return what begins anew of a connector in the states that it and its tasks have now."""
        store = self._with.board.store
        status = store.connector(request.connector)
        tasks = {each.task for each in store.tasks(request.connector) if request.wants_task(each.state)}
        return Restart(status is not None and request.wants_connector(status.state), tasks)

    def on_logger_level(self, namespace: str, level: str) -> None:
        """Log what a user, perhaps of another host, wants the whole cluster to log; tasks are told as well."""
        levels.set(namespace, level)

    def on_plugins(self, classes: Collection[str]) -> None:
        """Begin anew what uses plugins of these classes, in an order of its own for each connector.

        Called when bundles have come, changed or gone. What could not begin again goes on as it was. Environments may
        take long to be built, so that is done beside the queues of the connectors, which wait for none.
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
            with self._lock:  # it could not begin; what has changed since may have mended that
                self._changed_classes.get(name, set()).difference_update(classes)

    def on_event(self, event: TaskEvent) -> None:
        """Pass what the link heard on to the connector it is about."""
        with self._lock:
            supervisor = self._supervisors.get(event.connector)
        if supervisor is not None:
            supervisor.on_event(event)

    def move(self, connector: str, task: int) -> bool:
        """Let a task drain and go on wherever its launcher puts it; returns whether it will."""
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
            log.info("the connector begins anew with what is on plugin.path now")
            self._told(lambda: supervisor.reconcile(entry, restart))

    def _outdated(self, name: str, classes: Collection[str]) -> tuple[Supervisor, ConfiguredConnector, Restart] | None:
        """Return what of a connector is to begin anew; None where there is none, or it could not."""
        with self._lock:
            supervisor = self._supervisors.get(name) if self.leads else None
        entry = self._with.configs.snapshot().find(name)
        if supervisor is None or entry is None:
            return None
        restart = supervisor.outdated(entry, classes)
        return None if restart is None else (supervisor, entry, restart)

    def _later(self, name: str, what: str, act: Callable[[], None]) -> None:
        self._queues.post_once(name, what, lambda: self._act(name, act))

    def _act(self, name: str, act: Callable[[], None]) -> None:
        """Do something and reconcile; nobody waits for it, so what is wrong is logged."""
        act()
        self._told(lambda: self.reconcile(name))

    def _told(self, act: Callable[[], None]) -> None:
        try:
            act()
        except TransitionFailed:
            return  # which its instance has told
        except ConnectError as error:
            log.warning("%s", error)

    def _supervisor(self, name: str) -> Supervisor | None:
        """Return who has to do with a connector, None when this host does not lead.

        What an earlier term has left has ended, for no term begins before: two runs of one task would be out of order
        (Invariant 4).
        """
        with self._lock:
            if self._generations is None:
                return None
            known = self._supervisors.get(name)
            if known is None or known.is_over:
                known = self._supervisors[name] = Supervisor(
                    name, self._with, self._generations, lambda what, act: self._later(name, what, act)
                )
            return known
