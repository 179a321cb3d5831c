"""A host's application on a standalone cluster: its master has to know it, and to forget those of earlier leaders.

A host that leads no more may not know that yet, for it stands still, or is cut off. Spark's driver goes on beside it,
and keeps the cores of the cluster. So an application says of which cluster of hosts it is, and behind whom its host
leads: whoever comes later ends it, with all that runs there. One that was begun before its host leads, and has no
executors yet, is good for the very next term, and says the same: nobody who led before may end it.

A master that is started again has forgotten its applications, unless `spark.deploy.recoveryMode` says otherwise. Its
workers end what runs of those, and Spark waits for ever: its driver greets a master only once.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hearth.spark.address import PROBE_SECONDS, master_endpoints

log = logging.getLogger(__name__)

LOOK_SECONDS = 15.0
"""How long a master is not asked that has not gone away."""
AWAY_SECONDS = 0.5
"""How often one is looked for that has."""

_CLUSTER, _TERM = "HEARTH_CLUSTER", "HEARTH_TERM"
_TO_EXECUTORS = "spark.executorEnv."
_MESSAGES = "DeployMessages$"


@dataclass(frozen=True)
class Term:
    """Which term of which cluster of hosts an application follows: it belongs to the next one after it.

    The number is that of the last claim, or of a key that was written since: 0 where nobody has led yet.
    """

    cluster: str
    number: int

    def settings(self) -> dict[str, str]:
        """Return what has an application say so, to its master and its executors."""
        return {f"{_TO_EXECUTORS}{_CLUSTER}": self.cluster, f"{_TO_EXECUTORS}{_TERM}": str(self.number)}

    def follows(self, other: Term | None) -> bool:
        """Return whether nothing of the other may run any more: somebody has led since it was begun, and another."""
        return other is not None and other.cluster == self.cluster and other.number < self.number


@dataclass(frozen=True)
class MasterState:
    """What a master knows: its applications, by their ids, and whether a worker could run one."""

    applications: dict[str, Term | None]
    has_workers: bool


class StandaloneApplication:
    """The application of a Spark context, as the masters of `spark.master` know it."""

    def __init__(self, context: Any, master: str, term: Term | None) -> None:
        self._context, self._endpoints, self._term = context, master_endpoints(master), term
        self._id: str = context.applicationId

    def watch(
        self,
        on_away: Callable[[], None],
        on_forgotten: Callable[[], None],
        is_over: threading.Event,
        on_met: Callable[[], None] | None = None,
    ) -> None:
        """See to it until ``is_over``, or until ``on_forgotten`` was told that the master knows it no more.

        ``on_away`` is told before, when the master knows it no more and has no workers yet: until these are back all
        that runs goes on. ``on_met`` is told when a master that was away, or another one, knows it.
        """
        is_forgotten = has_been_away = False
        while not is_over.is_set():
            state = self._asked()
            if state is None:
                is_over.wait(AWAY_SECONDS)
                continue
            if self._id in state.applications:
                self._end_earlier(state)
                if has_been_away and on_met is not None:
                    on_met()
                is_forgotten, has_been_away = False, self._is_away_soon()
                continue
            if state.has_workers:
                log.warning("Spark's master has forgotten application %s", self._id)
                on_forgotten()
                return
            if not is_forgotten:
                on_away()
            is_forgotten = True
            is_over.wait(AWAY_SECONDS)

    def _end_earlier(self, state: MasterState) -> None:
        for application, term in state.applications.items():
            if self._term is not None and self._term.follows(term):
                log.warning("application %s is ended, whose host leads no more", application)
                self._end(application)

    def _end(self, application: str) -> None:
        self._master.send(getattr(_deploy(self._context), f"{_MESSAGES}UnregisterApplication")(application))

    def _asked(self) -> MasterState | None:
        """Return what the master knows that leads; None where none answers."""
        jvm, backend = self._context._jvm, self._context._jsc.sc().schedulerBackend()
        question = getattr(getattr(_deploy(self._context), f"{_MESSAGES}RequestMasterState$"), "MODULE$")
        answer = jvm.java.lang.Class.forName(f"org.apache.spark.deploy.{_MESSAGES}MasterStateResponse")
        kind = jvm.scala.reflect.ClassTag.apply(answer)
        for endpoint in self._endpoints:
            with contextlib.suppress(Exception):  # nobody is there, or it is on its way up or down
                socket.create_connection(endpoint, PROBE_SECONDS).close()  # Spark waits for two minutes
                address = jvm.org.apache.spark.rpc.RpcAddress(*endpoint)
                self._master = backend.rpcEnv().setupEndpointRef(address, "Master")
                state = self._master.askSync(question, kind)
                if state.status().toString() != "STANDBY":
                    self._endpoint = endpoint
                    return _read(state)
        return None

    def _is_away_soon(self) -> bool:
        """Wait until the connection to the master has ended, on which nothing is said; False where it has not soon."""
        try:
            with socket.create_connection(self._endpoint, PROBE_SECONDS) as connection:
                connection.settimeout(LOOK_SECONDS)
                connection.recv(1)
        except TimeoutError:
            return False
        except OSError:
            return True
        return True


def _read(state: Any) -> MasterState:
    applications = {each.id(): _term_of(each.desc().command().environment()) for each in state.activeApps()}
    return MasterState(applications, any(each.state().toString() == "ALIVE" for each in state.workers()))


def _term_of(environment: Any) -> Term | None:
    if not (environment.contains(_CLUSTER) and environment.contains(_TERM)):
        return None
    cluster, number = environment.apply(_CLUSTER), environment.apply(_TERM)
    return Term(cluster, int(number)) if number.isdecimal() else None


def _deploy(context: Any) -> Any:
    return context._jvm.org.apache.spark.deploy
