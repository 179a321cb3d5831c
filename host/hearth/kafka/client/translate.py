"""Translates a client's configuration key by key, then fixes combinations that librdkafka refuses."""

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
"""Prefix of keys that are passed to librdkafka unchanged, for settings Java does not have."""

_NOT_WITH_CONSUMER_PROTOCOL = (
    "session.timeout.ms",
    "heartbeat.interval.ms",
    "partition.assignment.strategy",
)


def translate(role: Role, java: Mapping[str, str], written: Mapping[str, str] | None = None) -> Translation:
    """Return the configuration of a librdkafka client; raises `ConfigError` if it must not be used.

    `written` maps keys to the names under which the user wrote them, with their prefixes, for messages.
    """
    request = ClientRequest(role, java, written or {})
    for key in java:
        rule = RULES[role].get(key)
        if rule is not None:
            rule.apply(request, key)
        elif key.startswith(OWN_PREFIX):
            request.set(key.removeprefix(OWN_PREFIX), java[key].strip())
        else:
            request.warn(
                key, f"is not a key of Kafka's {role} client and has no effect{did_you_mean(key, RULES[role])}"
            )
    check_stores(request)
    _cap_backoff(request.result)
    if role == "producer":
        _bound_by_transaction(request)
    if role == "consumer":
        _leave_to_broker(request)
    return request.result


def _cap_backoff(result: Translation) -> None:
    """Limit the first backoff to the longest, as Java does."""
    for name in ("reconnect.backoff", "retry.backoff"):
        first, longest = result.config.get(f"{name}.ms"), result.config.get(f"{name}.max.ms")
        if first and longest and int(first) > int(longest):
            result.config[f"{name}.ms"] = longest


def _bound_by_transaction(request: ClientRequest) -> None:
    """Remove a delivery timeout longer than the transaction's, which librdkafka refuses."""
    config = request.result.config
    if "transactional.id" in config and "message.timeout.ms" in config:
        limit = int(config.get("transaction.timeout.ms", "60000"))
        if int(config["message.timeout.ms"]) > limit:
            del config["message.timeout.ms"]
            if "delivery.timeout.ms" in request.written:
                request.warn("delivery.timeout.ms", f"is limited by transaction.timeout.ms, {limit} is used")


def _leave_to_broker(request: ClientRequest) -> None:
    """Refuse keys that the broker decides with `group.protocol=consumer`; drop Hearth's defaults for them."""
    config = request.result.config
    if config.get("group.protocol") != "consumer":
        return
    for key in _NOT_WITH_CONSUMER_PROTOCOL:
        if key in request.written:
            raise ConfigError(f"{request.name(key)} cannot be set when group.protocol=CONSUMER")
        config.pop(key, None)
