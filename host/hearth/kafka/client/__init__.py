"""Client settings: a configuration written for Java's Kafka clients becomes one for librdkafka.

`key` is the one table, Java key by Java key; `rule` holds the kinds of fate a key may have, `grouped`, `tls`
and `sasl` those that take more than a line. `assembly` puts together what a task's clients get: Kafka
Connect's own defaults, Hearth's, the worker's prefixed keys and the connector's overrides. A key that cannot
be honoured is named in a warning or an error, never dropped in silence.
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
