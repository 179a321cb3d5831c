"""The topic creation groups of a source connector (KIP-158)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hearth.config.connector_key import unique_aliases
from hearth.config.source_key import TOPIC_CREATION
from hearth_api import NO_DEFAULT, ConfigDef, ConfigError, ConfigType, Importance, Lambda, Width
from hearth_api.java import PatternError, compile_pattern, hash_ordered, parse_type

PREFIX = "topic.creation."
GROUPS = "topic.creation.groups"
DEFAULT_GROUP = "default"
BROKER_DEFAULT = -1
_KEYS = ("include", "exclude", "replication.factor", "partitions")


@dataclass(frozen=True)
class TopicGroup:
    """A group of topics with common creation settings."""

    name: str
    include: list[str]
    exclude: list[str]
    replication_factor: int
    partitions: int
    topic_config: dict[str, str]

    def takes(self, topic: str) -> bool:
        """Return whether a topic belongs to this group; exclusion takes precedence over inclusion.

        As in Kafka Connect, the patterns are joined into one, so a flag in a pattern applies to all later ones.
        """
        excluded, included = (compile_pattern("|".join(each)) for each in (self.exclude, self.include))
        return excluded.fullmatch(topic) is None and included.fullmatch(topic) is not None

    def describe(self, topic: str) -> str:
        """Return a topic of this group in the format in which Kafka's messages show a NewTopic."""
        settings = ", ".join(f"{name}={value}" for name, value in hash_ordered(self.topic_config).items())
        return (
            f"(name={topic}, numPartitions={self.partitions}, replicationFactor={self.replication_factor}, "
            f"replicasAssignments=null, configs={{{settings}}})"
        )


def topic_groups(props: Mapping[str, str]) -> list[TopicGroup]:
    """Return the groups in matching order, the default last; none without topic creation keys.

    Raises ConfigError for the first invalid value, or if the default group's required keys are missing.
    """
    if not any(name.startswith(PREFIX) for name in props):
        return []
    patterns = (f"{PREFIX}{DEFAULT_GROUP}.include", f"{PREFIX}{DEFAULT_GROUP}.exclude")
    default = _group(DEFAULT_GROUP, {name: props[name] for name in props if name not in patterns}, None)
    listed = parse_type(GROUPS, props.get(GROUPS, ""), ConfigType.LIST)
    unique_aliases(GROUPS, listed)
    return [*(_group(alias, props, default) for alias in listed if alias != DEFAULT_GROUP), default]


def _group(alias: str, props: Mapping[str, str], default: TopicGroup | None) -> TopicGroup:
    prefix = f"{PREFIX}{alias}."
    definition = ConfigDef()
    definition.embed(prefix, f"{TOPIC_CREATION}: {alias}", 0, _definition(alias, default))
    parsed = definition.parse(props)
    given = {name[len(prefix) :]: value for name, value in props.items() if name.startswith(prefix)}
    topic_config = {name: value for name, value in given.items() if name and name not in _KEYS}
    include, exclude, replication_factor, partitions = (parsed[prefix + name] for name in _KEYS)
    return TopicGroup(alias, include, exclude, replication_factor, partitions, topic_config)


def _definition(alias: str, default: TopicGroup | None) -> ConfigDef:
    """Return the keys of a group: the numbers are required for the default group, and inherited by the others."""
    common: dict[str, Any] = {
        "importance": Importance.LOW,
        "group": f"{TOPIC_CREATION}: {alias}",
        "width": Width.LONG,
    }
    include = {"include": [".*"] if default is None else [], "exclude": []}
    verbs = {"include": "belongs to", "exclude": "stays out of"}
    definition = ConfigDef()
    for order, name in enumerate(include, 1):
        definition.define(
            name, ConfigType.LIST, include[name], Lambda(_compilable, "list of regular expressions"),
            doc=f"Regular expressions; a topic whose whole name one of them matches {verbs[name]} the group.",
            order_in_group=order, display_name=f"{name.title()[:-1]}sion Topic Pattern for {alias}", **common,
        )  # fmt: skip
    definition.define(
        "replication.factor", ConfigType.SHORT, default.replication_factor if default else NO_DEFAULT,
        Lambda(check_replication_factor, "positive number not above the number of brokers, or -1"),
        doc="The replication factor of the group's topics; -1 leaves it to the broker.",
        order_in_group=3, display_name=f"Replication Factor for Topics in {alias}", **common,
    )  # fmt: skip
    return definition.define(
        "partitions", ConfigType.INT, default.partitions if default else NO_DEFAULT,
        Lambda(check_partitions, "positive number, or -1"),
        doc="The number of partitions of the group's topics; -1 leaves it to the broker.",
        order_in_group=4, display_name=f"Partition Count for Topics in {alias}", **common,
    )  # fmt: skip


def _compilable(name: str, value: Any) -> None:
    try:
        for pattern in value:
            compile_pattern(pattern)
    except PatternError as error:
        raise ConfigError(name, value, f"Syntax error in regular expression: {error}") from error


def check_replication_factor(name: str, value: Any) -> None:
    """Raise ConfigError unless the replication factor is positive or -1, the broker's default."""
    if value != BROKER_DEFAULT and value < 1:
        rule = "Replication factor must be positive and not larger than the number of brokers"
        raise ConfigError(name, value, f"{rule} in the Kafka cluster, or -1 to use the broker's default")


def check_partitions(name: str, value: Any) -> None:
    """Raise ConfigError unless the number of partitions is positive or -1, the broker's default."""
    if value != BROKER_DEFAULT and value < 1:
        raise ConfigError(name, value, "Number of partitions must be positive, or -1 to use the broker's default")
