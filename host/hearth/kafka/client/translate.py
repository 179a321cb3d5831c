"""Goes through a client's configuration key by key, then mends combinations that librdkafka refuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from hearth.foundation.nearest import did_you_mean
from hearth.kafka.client.key import RULES
from hearth.kafka.client.rule import ClientRequest, Translation
from hearth.kafka.client.store_check import check_stores
from hearth_api import ConfigError

Role = Literal["producer", "consumer", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)
OWN_PREFIX = "librdkafka."
"""A key with this prefix reaches librdkafka as it is, for settings Java does not have."""

_NOT_WITH_CONSUMER_PROTOCOL = (
    "session.timeout.ms",
    "heartbeat.interval.ms",
    "partition.assignment.strategy",
)


def translate(role: Role, java: Mapping[str, str], written: Mapping[str, str] | None = None) -> Translation:
    """Return the configuration of a librdkafka client; raises `ConfigError` for what must not go on.

    `written` tells the names under which the user wrote the keys, with their prefixes, for the messages.
    """
    request = ClientRequest(role, java, written or {})
    for key in java:
        rule = RULES[role].get(key)
        if rule is not None:
            rule.apply(request, key)
        elif key.startswith(OWN_PREFIX):
            request.set(key.removeprefix(OWN_PREFIX), java[key].strip())
        else:
            request.warn(key, f"is no key of Kafka's {role} client and has no effect{did_you_mean(key, RULES[role])}")
    check_stores(request)
    _cap_backoff(request.result)
    if role == "producer":
        _bound_by_transaction(request)
    if role == "consumer":
        _leave_to_broker(request)
    return request.result


def _cap_backoff(result: Translation) -> None:
    """Let the longest wait be the first one as well when the first is longer, as Java does."""
    for name in ("reconnect.backoff", "retry.backoff"):
        first, longest = result.config.get(f"{name}.ms"), result.config.get(f"{name}.max.ms")
        if first and longest and int(first) > int(longest):
            result.config[f"{name}.ms"] = longest


def _bound_by_transaction(request: ClientRequest) -> None:
    """Leave the time for a delivery to the transaction: librdkafka allows no more than that."""
    config = request.result.config
    if "transactional.id" in config and "message.timeout.ms" in config:
        limit = int(config.get("transaction.timeout.ms", "60000"))
        if int(config["message.timeout.ms"]) > limit:
            del config["message.timeout.ms"]
            if "delivery.timeout.ms" in request.written:
                request.warn("delivery.timeout.ms", f"is bounded by transaction.timeout.ms, {limit} is used")


def _leave_to_broker(request: ClientRequest) -> None:
    """Refuse what the broker decides with `group.protocol=consumer`; Hearth's own defaults give way."""
    config = request.result.config
    if config.get("group.protocol") != "consumer":
        return
    for key in _NOT_WITH_CONSUMER_PROTOCOL:
        if key in request.written:
            raise ConfigError(f"{request.name(key)} cannot be set when group.protocol=CONSUMER")
        config.pop(key, None)
