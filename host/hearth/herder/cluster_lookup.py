"""Looks up the id of the worker's Kafka cluster, without which a worker does not start."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping

from hearth.kafka.client import Translation, access_of, admin_config, consumer_config, producer_config
from hearth_api import ConnectError

TIMEOUT_KEY = "default.api.timeout.ms"
TIMEOUT_MS = 60_000
PROGRESS_SECONDS = 5.0
OTHER_SECONDS = 3.0
_ATTEMPT_SECONDS = 1.0


def client_config(worker: Mapping[str, str]) -> Translation:
    """Return the host's admin client configuration without the API timeout, which `ClusterLookup` enforces."""
    return admin_config({key: value for key, value in worker.items() if key != TIMEOUT_KEY})


def of_other_clients(worker: Mapping[str, str]) -> Iterator[str]:
    """Yield the reasons why task clients whose brokers or credentials differ from the host's cannot connect.

    These are warnings, not errors: a worker that runs only sinks needs no producer.
    """
    from hearth.kafka.access_attempt import find_access_mistake

    own = access_of(client_config(worker).config)
    for prefix, client in (
        ("producer.", producer_config(worker, {})),
        ("consumer.", consumer_config(worker, {}, "any")),
    ):
        if (other := access_of(client.config)) != own:
            mistake = find_access_mistake(other, OTHER_SECONDS, lambda key, prefix=prefix: prefix + key)  # type: ignore[misc]
            if mistake is not None:
                yield f"{mistake}: {mistake.hint}" if mistake.hint else str(mistake)


class BrokerUnreachable(ConnectError):
    """No broker answered in time."""

    code = "environment.broker"


class ClusterLookup:
    """Asks for the cluster id on a background thread until a broker answers or the time is up.

    As in Kafka Connect, a worker does not start without it, so a wrong address or an unreachable cluster shows at once
    and not when the first task fails.
    """

    def __init__(self, worker: Mapping[str, str], on_progress: Callable[[str], None]) -> None:
        self._servers = worker["bootstrap.servers"]
        self._worker = worker
        self._config = client_config(worker).config
        self._seconds = int(worker.get(TIMEOUT_KEY, TIMEOUT_MS)) / 1000
        self._on_progress = on_progress
        self._id: str | None = None
        self._reason = "no answer"
        self._mistake: ConnectError | None = None
        self._thread = threading.Thread(target=self._look_up, name="cluster-id", daemon=True)

    def start(self) -> None:
        """Start asking."""
        self._thread.start()

    def wait(self) -> str:
        """Return the id and report progress while waiting; raise BrokerUnreachable if no broker answers in time.

        Raises another ConnectError as soon as the settings, or the brokers' replies, show that none can answer.
        """
        began = time.monotonic()
        while self._thread.is_alive():
            self._thread.join(PROGRESS_SECONDS)
            if self._thread.is_alive():
                waited = time.monotonic() - began
                self._on_progress(
                    f"waiting for a broker at bootstrap.servers={self._servers} ({waited:.0f} s): {self._reason}"
                )
        if self._mistake is not None:
            raise self._mistake
        if self._id is None:
            raise BrokerUnreachable(
                f"no broker answered at bootstrap.servers={self._servers!r} within {self._seconds:g} s: "
                f"{self._reason}",
                hint="start Kafka (`hearth broker` runs one on this machine) or correct bootstrap.servers",
            )
        return self._id

    def _look_up(self) -> None:
        from hearth.kafka.access_attempt import AccessAttempt  # loads librdkafka as well

        deadline = time.monotonic() + self._seconds
        try:
            attempt = AccessAttempt(self._config, self._key)
            while self._id is None and time.monotonic() < deadline:
                self._id = attempt.ask(min(_ATTEMPT_SECONDS, self._seconds))
                self._reason = attempt.reason
        except ConnectError as error:
            self._mistake = error

    def _key(self, key: str) -> str:
        """Return a key as the worker file spells it."""
        return f"admin.{key}" if f"admin.{key}" in self._worker else key
