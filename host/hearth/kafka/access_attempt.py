"""Asks brokers who they are as a client would, and says at once why its settings will never get an answer."""

from __future__ import annotations

import logging
import re
import socket
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from hearth.foundation.log_repeat import CLIENT
from hearth.kafka.access_diagnosis import CODE, MOST_SERVERS, SECONDS, find_mistake, is_answered
from hearth.kafka.token import authorized
from hearth_api import ConfigError, ConnectError

log = logging.getLogger(__name__)

# Asking for the metadata of one topic answers the same as for all, and does not grow with the cluster.
_TOPIC = "__consumer_offsets"
_LEARNED = re.compile(
    r"(?:^|://|\s)\[?([^\[\]\s/]+?)\]?:(\d+)/\d+: (?:Connect to |Failed to resolve |Connection setup timed out)"
)
"""What is said of a broker whose number is known: its address comes from another, and not from the settings."""
_PAUSE_SECONDS = 1.0
Address = tuple[str, int]


class AdvertisedUnreachable(ConnectError):
    """Brokers answer, and send their clients to addresses that cannot be reached."""

    code = "environment.broker"


class AccessAttempt:
    """One client that asks; raises ConnectError as soon as it is known that none with its settings will get on."""

    def __init__(self, config: Mapping[str, Any], name: Callable[[str], str] = str) -> None:
        """``config`` are settings of librdkafka, ``name`` returns a key of Java's as the user wrote it."""
        self._config = config
        self._name = name
        self._told: dict[str, int] = {}
        """What the client heard, and its number."""
        self.reason = "no answer"
        own = {"error_cb": self._note, "logger": logging.getLogger(CLIENT)}
        try:
            self._client = AdminClient(authorized({**config, **own}))
        except KafkaException as error:
            text = f"librdkafka makes no client of these settings: {error.args[0].str()}"
            raise ConfigError(text, code=CODE, hint="correct that key") from error

    def ask(self, seconds: float) -> str | None:
        """Return the id of the cluster, ``None`` where no broker answers within ``seconds``."""
        try:
            found = self._client.list_topics(_TOPIC, timeout=seconds)
        except KafkaException as error:
            log.debug("no answer from %s: %s", self._config.get("bootstrap.servers"), error)
            found = None
        self._client.poll(0)  # calls _note
        if found is not None:
            self._check_advertised([(each.host, each.port) for each in found.brokers.values()])
            cluster: str = found.cluster_id
            return cluster
        if self._told:
            mistake = find_mistake(self._config, [(each, text) for text, each in self._told.items()], self._name)
            if mistake is not None:
                raise mistake
            # librdkafka forgets the address by which it has learned of others, perhaps before it has answered.
            self._check_advertised(advertised(self._told))
            self._told.clear()
        return None

    def _check_advertised(self, addresses: Sequence[Address]) -> None:
        """Raise AdvertisedUnreachable where no broker is at the address to which it sends clients, twice in a row."""
        if _unreached(addresses) is None:
            return
        time.sleep(_PAUSE_SECONDS)  # it may have gone just now
        reason = _unreached(addresses)
        servers = self._config.get("bootstrap.servers", "")
        if reason is None or not is_answered(servers):
            return
        shown = ", ".join(f"{host}:{port}" for host, port in addresses[:MOST_SERVERS])
        fact = f"its brokers advertise {shown}, where nobody is reached from here: {reason}"
        raise AdvertisedUnreachable(
            f"{self._name('bootstrap.servers')}={servers!r} is answered, and {fact}",
            hint="let advertised.listeners of the brokers name addresses that this machine reaches",
        )

    def _note(self, error: Any) -> None:
        self._told[error.str()] = error.code()
        if error.name() != "_ALL_BROKERS_DOWN":  # which says less than what was said before
            self.reason = error.str()


def advertised(told: Iterable[str]) -> list[Address]:
    """Return the addresses that a client was sent to and does not reach, of the errors that it tells."""
    found = (match for text in told if (match := _LEARNED.search(text)) is not None)
    return list(dict.fromkeys((match[1], int(match[2])) for match in found))


def _unreached(addresses: Sequence[Address]) -> str | None:
    """Return why the first addresses cannot be reached, ``None`` where one can, or there is none."""
    reason: str | None = None
    for host, port in addresses[:MOST_SERVERS]:
        try:
            socket.create_connection((host, port), SECONDS).close()
        except OSError as error:
            reason = reason or error.strerror or str(error)
        else:
            return None
    return reason


def find_access_mistake(
    config: Mapping[str, Any], seconds: float, name: Callable[[str], str] = str
) -> ConnectError | None:
    """Return why a client with these settings does not get on, ``None`` where it does, or nothing is known in time."""
    deadline = time.monotonic() + seconds
    try:
        attempt = AccessAttempt(config, name)
        while attempt.ask(min(1.0, seconds)) is None and time.monotonic() < deadline:
            pass
    except ConnectError as error:
        return error
    return None
