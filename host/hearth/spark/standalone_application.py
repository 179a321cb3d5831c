"""Watches a host's application on a standalone cluster, and ends the applications of earlier leaders.

A host that has lost the lead may not know it, because it is suspended or cut off. Its Spark driver keeps running and
keeps the cores of the cluster. So an application carries its cluster of hosts and the term that it follows, and a
later leader ends applications of earlier terms with everything that runs there. A standby application, which starts
before its host leads and has no executors, carries the term that it will follow, so an earlier leader cannot end it.

A restarted master has forgotten its applications unless `spark.deploy.recoveryMode` is set. Its workers end their
executors, and Spark would wait forever, because its driver registers with a master only once.
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
"""Interval of the checks while the master is reachable."""
AWAY_SECONDS = 0.5
"""Interval of the checks while the master is unreachable."""

_CLUSTER, _TERM = "HEARTH_CLUSTER", "HEARTH_TERM"
_TO_EXECUTORS = "spark.executorEnv."
_MESSAGES = "DeployMessages$"


@dataclass(frozen=True)
class Term:
    """The term of a cluster of hosts that an application follows; the application belongs to the next term.

    The number is the offset of the last claim, or of a key that was written since; 0 if no host has led yet.
    """

    cluster: str
    number: int

    def settings(self) -> dict[str, str]:
        """Return the Spark settings that carry the term to the master and the executors."""
        return {f"{_TO_EXECUTORS}{_CLUSTER}": self.cluster, f"{_TO_EXECUTORS}{_TERM}": str(self.number)}

    def follows(self, other: Term | None) -> bool:
        """Return whether the other term is an earlier one of the same cluster, so that its application must end."""
        return other is not None and other.cluster == self.cluster and other.number < self.number


@dataclass(frozen=True)
class MasterState:
    """The state of a master: its applications by id, and whether it has live workers."""

    applications: dict[str, Term | None]
    has_workers: bool


class StandaloneApplication:
    """The application of a Spark context on the masters of `spark.master`."""

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
        """Watch the application until ``is_over``, or until the master forgets it and ``on_forgotten`` is called.

        Before that, ``on_away`` is called when the master no longer knows the application but has no workers yet:
        until they return, executors keep running. ``on_met`` is called when a master that was unreachable, or another
        one, knows the application.
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
                log.warning("ending application %s: its host no longer leads", application)
                self._end(application)

    def _end(self, application: str) -> None:
        self._master.send(getattr(_deploy(self._context), f"{_MESSAGES}UnregisterApplication")(application))

    def _asked(self) -> MasterState | None:
        """Return the state of the active master, or None if none answers."""
        jvm, backend = self._context._jvm, self._context._jsc.sc().schedulerBackend()
        question = getattr(getattr(_deploy(self._context), f"{_MESSAGES}RequestMasterState$"), "MODULE$")
        answer = jvm.java.lang.Class.forName(f"org.apache.spark.deploy.{_MESSAGES}MasterStateResponse")
        kind = jvm.scala.reflect.ClassTag.apply(answer)
        for endpoint in self._endpoints:
            with contextlib.suppress(Exception):  # the master is down, starting or stopping
                socket.create_connection(endpoint, PROBE_SECONDS).close()  # Spark would wait two minutes
                address = jvm.org.apache.spark.rpc.RpcAddress(*endpoint)
                self._master = backend.rpcEnv().setupEndpointRef(address, "Master")
                state = self._master.askSync(question, kind)
                if state.status().toString() != "STANDBY":
                    self._endpoint = endpoint
                    return _read(state)
        return None

    def _is_away_soon(self) -> bool:
        """Wait until an idle connection to the master closes; False if it is still open after ``LOOK_SECONDS``."""
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
