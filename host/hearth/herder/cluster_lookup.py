"""The Kafka cluster a host belongs to: without it there is nothing to do."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from hearth.foundation.log_repeat import CLIENT
from hearth.kafka.client import Translation, admin_config
from hearth_api import ConfigError, ConnectError

log = logging.getLogger(__name__)

TIMEOUT_KEY = "default.api.timeout.ms"
TIMEOUT_MS = 60_000
PROGRESS_SECONDS = 5.0
_ATTEMPT_SECONDS = 1.0
# Asking for the metadata of one topic answers the same as for all, and does not grow with the cluster.
_TOPIC = "__consumer_offsets"


def client_config(worker: Mapping[str, str]) -> Translation:
    """Return the configuration of the host's own admin client; the limit of its one call is kept here."""
    return admin_config({key: value for key, value in worker.items() if key != TIMEOUT_KEY})


class BrokerUnreachable(ConnectError):
    """No broker answered in time."""

    code = "environment.broker"


class ClusterLookup:
    """Asks for the cluster's id, from a thread of its own, until a broker answers or time is up.

    As in Kafka Connect a worker does not start without it: what is wrong with the address of the cluster, or with the
    way to it, shows at once and not when the first task fails.
    """

    def __init__(self, worker: Mapping[str, str], on_progress: Callable[[str], None]) -> None:
        self._servers = worker["bootstrap.servers"]
        self._worker = worker
        self._config = client_config(worker).config
        self._seconds = int(worker.get(TIMEOUT_KEY, TIMEOUT_MS)) / 1000
        self._on_progress = on_progress
        self._id: str | None = None
        self._reason = "no answer"
        self._told: dict[str, int] = {}
        """What the client heard, and its number."""
        self._mistake: ConnectError | None = None
        self._thread = threading.Thread(target=self._look_up, name="cluster-id", daemon=True)

    def start(self) -> None:
        """Begin to ask."""
        self._thread.start()

    def wait(self) -> str:
        """Return the id, telling about the progress; raises BrokerUnreachable when no broker answers in time.

        Raises ConfigError as soon as it is known that none will, because of the settings.
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
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        from hearth.kafka.access_mistake import CODE, find_mistake  # which loads librdkafka, too
        from hearth.kafka.token import authorized

        deadline = time.monotonic() + self._seconds
        try:
            own = {"error_cb": self._note, "logger": logging.getLogger(CLIENT)}
            client = AdminClient(authorized({**self._config, **own}))
        except ConnectError as error:
            self._mistake = error
            return
        except KafkaException as error:
            text = f"librdkafka makes no client of the worker's settings: {error.args[0].str()}"
            self._mistake = ConfigError(text, code=CODE, hint="correct that key in the file")
            return
        while self._id is None and time.monotonic() < deadline:
            try:
                self._id = client.list_topics(_TOPIC, timeout=min(_ATTEMPT_SECONDS, self._seconds)).cluster_id
            except KafkaException as error:
                log.debug("no answer from %s: %s", self._servers, error)
            client.poll(0)  # calls _note
            if self._id is None and self._told:
                self._mistake = find_mistake(
                    self._config, [(each, text) for text, each in self._told.items()], self._key
                )
                if self._mistake is not None:
                    return
                self._told.clear()

    def _note(self, error: Any) -> None:
        self._told[error.str()] = error.code()
        if error.name() != "_ALL_BROKERS_DOWN":  # which says less than what was said before
            self._reason = error.str()

    def _key(self, key: str) -> str:
        """Return a key as the file has it."""
        return f"admin.{key}" if f"admin.{key}" in self._worker else key
