"""Errors of librdkafka, and which of them are temporary or permanent."""

from __future__ import annotations

import ctypes

from hearth.kafka.library import ERR_AUTHENTICATION, ERR_SSL, OK, library
from hearth_api import ConnectError

_PASSING = frozenset(
    {
        "_TRANSPORT", "_RESOLVE", "_ALL_BROKERS_DOWN", "_TIMED_OUT", "_MSG_TIMED_OUT", "_TIMED_OUT_QUEUE", "_FAIL",
        "_UNKNOWN_PARTITION", "_UNKNOWN_TOPIC", "_NODE_UPDATE", "_WAIT_COORD", "_IN_PROGRESS", "_RETRY", "_STATE",
        "_MAX_POLL_EXCEEDED", "UNKNOWN_TOPIC_OR_PART", "LEADER_NOT_AVAILABLE", "NOT_LEADER_FOR_PARTITION",
        "REQUEST_TIMED_OUT", "BROKER_NOT_AVAILABLE", "REPLICA_NOT_AVAILABLE", "NETWORK_EXCEPTION",
        "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR", "ILLEGAL_GENERATION",
        "UNKNOWN_MEMBER_ID", "REBALANCE_IN_PROGRESS", "KAFKA_STORAGE_ERROR", "FETCH_SESSION_ID_NOT_FOUND",
        "INVALID_FETCH_SESSION_EPOCH", "FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH", "OFFSET_NOT_AVAILABLE",
        "MEMBER_ID_REQUIRED", "UNSTABLE_OFFSET_COMMIT", "UNKNOWN_TOPIC_ID",
    }
)  # fmt: skip
"""Java's ``RetriableException``s and similar errors, and librdkafka's for brokers that are unavailable for now."""


_PASSING_LOGINS = ("Failed to acquire SASL OAUTHBEARER token", "Broker: Request not valid in current SASL state")


class KafkaError(ConnectError):
    """librdkafka reported an error; ``number`` is its code, ``name`` its symbol."""

    code = "kafka.client"

    def __init__(self, number: int, reason: str | None = None) -> None:
        rdkafka = library()
        self.number = number
        self.name = rdkafka.err2name(number).decode()
        super().__init__(reason or rdkafka.err2str(number).decode())

    @property
    def is_passing(self) -> bool:
        """Return whether a retry may succeed, because brokers return, leaders move and groups settle."""
        return self.name in _PASSING


def fatal_error(client: int | None, number: int, reason: str | None = None) -> KafkaError:
    """Return the fatal error of a client; the error it reports says only that there is one."""
    text = ctypes.create_string_buffer(512)
    cause = library().fatal_error(client, text, len(text))
    return KafkaError(cause or number, text.value.decode(errors="replace") or reason or None)


def is_refusal(number: int, reason: str, *, has_worked: bool) -> bool:
    """Return whether an error event means refused credentials or certificates, which fails a task in Java.

    librdkafka uses one error number for a refused SASL handshake and for one cut off by the broker's shutdown: the
    reason distinguishes them. A missing token is permanent for a client that never had one; others keep theirs.
    Brokers refuse a new login within a second, which clients attempt as their token expires: they reconnect then.
    """
    if number != ERR_AUTHENTICATION:
        return number == ERR_SSL
    if any(each in reason for each in _PASSING_LOGINS):
        return not has_worked
    return "handshake failed: Local:" not in reason and "Disconnected:" not in reason


def check(number: int) -> None:
    """Raise ``KafkaError`` unless ``number`` is 0."""
    if number != OK:
        raise KafkaError(number)


def check_object(error: int | None) -> None:
    """Raise the error of an ``rd_kafka_error_t *``, and free it; ``NULL`` is no error."""
    if error:
        rdkafka = library()
        number, text = rdkafka.error_code(error), rdkafka.error_string(error).decode()
        rdkafka.error_destroy(error)
        raise KafkaError(number, text)
