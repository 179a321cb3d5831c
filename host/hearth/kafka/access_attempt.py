"""Connects to brokers as a client does, and reports at once if the client's settings can never work."""

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
from hearth.kafka.access_diagnosis import CODE, MOST_SERVERS, SECONDS, AccessMistake, find_mistake, is_answered
from hearth.kafka.token import authorized
from hearth_api import ConfigError, ConnectError

log = logging.getLogger(__name__)

# The metadata of one topic is enough, and its size does not grow with the cluster.
_TOPIC = "__consumer_offsets"
_LEARNED = re.compile(
    r"(?:^|://|\s)\[?([^\[\]\s/]+?)\]?:(\d+)/\d+: (?:Connect to |Failed to resolve |Connection setup timed out)"
)
"""Matches errors about brokers with a known id: their addresses come from other brokers, not from the settings."""
_PAUSE_SECONDS = 1.0
Address = tuple[str, int]


class AdvertisedUnreachable(AccessMistake):
    """Brokers answer, and advertise addresses that cannot be reached."""

    code = "environment.broker"


class AccessAttempt:
    """A test client; raises ConnectError as soon as it is known that no client with its settings can work."""

    def __init__(self, config: Mapping[str, Any], name: Callable[[str], str] = str) -> None:
        """``config`` holds librdkafka settings; ``name`` maps a Java key to the form in which the user wrote it."""
        self._config = config
        self._name = name
        self._errors: dict[str, int] = {}
        """Error texts of the client, with their numbers."""
        self.reason = "no answer"
        own = {"error_cb": self._note, "logger": logging.getLogger(CLIENT)}
        try:
            self._client = AdminClient(authorized({**config, **own}))
        except KafkaException as error:
            text = f"librdkafka refuses these client settings: {error.args[0].str()}"
            raise ConfigError(text, code=CODE, hint="correct that key") from error

    def ask(self, seconds: float) -> str | None:
        """Return the id of the cluster, or ``None`` if no broker answers within ``seconds``."""
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
        if self._errors:
            mistake = find_mistake(self._config, [(each, text) for text, each in self._errors.items()], self._name)
            if mistake is not None:
                raise mistake
            # librdkafka drops the bootstrap address once it knows brokers, perhaps before it answers.
            self._check_advertised(advertised(self._errors))
            self._errors.clear()
        return None

    def _check_advertised(self, addresses: Sequence[Address]) -> None:
        """Raise AdvertisedUnreachable if none of the advertised addresses can be reached, twice in a row."""
        if _unreached(addresses) is None:
            return
        time.sleep(_PAUSE_SECONDS)  # it may just have stopped
        reason = _unreached(addresses)
        servers = self._config.get("bootstrap.servers", "")
        if reason is None or not is_answered(servers):
            return
        shown = ", ".join(f"{host}:{port}" for host, port in addresses[:MOST_SERVERS])
        fact = f"its brokers advertise {shown}, which cannot be reached from here: {reason}"
        raise AdvertisedUnreachable(
            self._name("bootstrap.servers"),
            servers,
            f" answers, but {fact}",
            hint="set advertised.listeners of the brokers to addresses that this machine can reach",
        )

    def _note(self, error: Any) -> None:
        self._errors[error.str()] = error.code()
        if error.name() != "_ALL_BROKERS_DOWN":  # less specific than the errors before it
            self.reason = error.str()


def advertised(errors: Iterable[str]) -> list[Address]:
    """Return the advertised addresses that a client does not reach, taken from its errors."""
    found = (match for text in errors if (match := _LEARNED.search(text)) is not None)
    return list(dict.fromkeys((match[1], int(match[2])) for match in found))


def _unreached(addresses: Sequence[Address]) -> str | None:
    """Return why the first addresses cannot be reached, ``None`` if one can, or there is none."""
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
    """Return why a client with these settings cannot work, ``None`` if it can, or nothing is known in time."""
    deadline = time.monotonic() + seconds
    try:
        attempt = AccessAttempt(config, name)
        while attempt.ask(min(1.0, seconds)) is None and time.monotonic() < deadline:
            pass
    except ConnectError as error:
        return error
    return None
