"""Client settings: translates a configuration for Java's Kafka clients to librdkafka.

`key` is the table of all Java keys; `rule` has the kinds of rules, `grouped`, `tls` and `sasl` the longer ones.
`assembly` merges the settings of a task's clients: Kafka Connect's defaults, Hearth's, the worker's prefixed keys and
the connector's overrides. A key that cannot be honoured causes a warning or an error, and is never dropped silently.
"""

from hearth.kafka.client.assembly import (
    access_of,
    admin_config,
    consumer_config,
    group_name,
    internal_config,
    offset_config,
    producer_config,
)
from hearth.kafka.client.rule import Translation
from hearth.kafka.client.translate import ROLES, Role, translate

__all__ = [
    "ROLES",
    "Role",
    "Translation",
    "access_of",
    "admin_config",
    "consumer_config",
    "group_name",
    "internal_config",
    "offset_config",
    "producer_config",
    "translate",
]
