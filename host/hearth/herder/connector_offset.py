"""Lists, alters and resets the offsets of connectors; altering and resetting require a stopped connector (KIP-875)."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from hearth.config.connector_key import NAME
from hearth.discovery import PluginType
from hearth.herder.fencing import fence_earlier_tasks
from hearth.herder.leader_services import LeaderServices
from hearth.herder.queue import Queues
from hearth.kafka.group_offset import GroupOffsets, has_members
from hearth.kafka.kafka_error import KafkaError
from hearth.storage import ConfiguredConnector, NotLeading, TargetState
from hearth.storage.memory import partition_key
from hearth_api import ConfigError, ConnectError, DataError, NotFoundError, TopicPartition
from hearth_execution.failure import RemoteError

log = logging.getLogger(__name__)

Offsets = Sequence[tuple[dict[str, Any] | None, dict[str, Any] | None]]
"""Partitions with their offsets; None removes a partition."""

TOPIC, PARTITION, OFFSET = "kafka_topic", "kafka_partition", "kafka_offset"
"""Keys of a sink's partitions and offsets."""
_INT = re.compile(r"[+-]?[0-9]+")
_MOST = 1 << 31, 1 << 63
"""Exclusive upper bounds: Kafka partitions are Java ints, offsets are longs."""
_OWN_ERRORS = "org.apache.kafka.connect.errors."
"""A connector's errors of this package are passed on unchanged, as in Kafka Connect."""
_ONLY_STOPPED = (
    "Connectors must be in the STOPPED state before their offsets can be modified. This can be done for the specified "
    "connector by issuing a 'PUT' request to the '/connectors/{}/stop' endpoint"
)
_DONE = "The offsets for this connector have been {0} successfully"
_HALF_DONE = (
    "The Connect framework-managed offsets for this connector have been {0} successfully. However, if this connector "
    "manages offsets externally, they will need to be manually {0} in the system that the connector uses."
)
_HAS_MEMBERS = (
    "Failed to {0} consumer group offsets for connector {1} either because its tasks haven't stopped completely yet "
    "or the connector was resumed before the request to {0} its offsets could be successfully completed. If the "
    "connector is in a stopped state, this operation can be safely retried. If it doesn't eventually succeed, the "
    "Connect cluster may need to be restarted to get rid of the zombie sink tasks."
)


class ConnectorOffsets:
    """Reads and changes the offsets of connectors; its answers and errors use Kafka Connect's texts.

    A source's offsets are in the store, a sink's are those of its consumer group. Changes run on the connector's
    queue, after all earlier requests and while no task runs: earlier tasks have committed their records, and no task
    starts before the new offsets are written (invariants 1 and 2).
    """

    def __init__(self, leader_services: LeaderServices, queues: Queues, settle: Callable[[str], None]) -> None:
        """``settle`` reconciles a connector with the store, on the connector's queue."""
        self._services = leader_services
        self._queues = queues
        self._settle = settle

    def read(self, name: str) -> Future[dict[str, Any]]:
        """Return a ConnectorOffsets."""
        return self._queues.submit(object(), lambda: self._listed(name))

    def alter(self, name: str, offsets: Offsets) -> Future[dict[str, str]]:
        """Write new offsets; the answer is a message."""
        return self._queues.submit(name, lambda: self._modify(name, offsets))

    def replace(self, name: str, offsets: Offsets) -> Future[dict[str, str]]:
        """Write offsets and remove all others that an earlier connector of this name left."""
        return self._queues.submit(name, lambda: self._modify(name, offsets, are_all=True))

    def reset(self, name: str) -> Future[dict[str, str]]:
        """Remove all offsets; the answer is a message."""
        return self._queues.submit(name, lambda: self._modify(name, None))

    def _listed(self, name: str) -> dict[str, Any]:
        found = self._known(name, self._entry(name))
        return {"offsets": [{"partition": partition, "offset": offset} for partition, offset in found]}

    def _known(self, name: str, entry: ConfiguredConnector) -> Offsets:
        return self._of_group(name, entry) if self._is_sink(entry) else self._stored(name)

    def _stored(self, name: str) -> Offsets:
        partitions = self._services.offsets.partitions(name)
        stored = zip(partitions, self._services.offsets.get(name, partitions), strict=True)
        return [(partition, offset) for partition, offset in stored if offset is not None]

    def _of_group(self, name: str, entry: ConfiguredConnector) -> Offsets:
        try:
            found = self._group(name, entry).list()
        except KafkaError as error:
            raise _failed(f"Failed to retrieve consumer group offsets for sink connector {name}", error) from error
        return [({PARTITION: each.partition, TOPIC: each.topic}, {OFFSET: offset}) for each, offset in found.items()]

    def _modify(self, name: str, offsets: Offsets | None, *, are_all: bool = False) -> dict[str, str]:
        entry = self._entry(name)
        if entry.target is not TargetState.STOPPED or entry.tasks:
            raise ConfigError(_ONLY_STOPPED.format(name), code="connector.not_stopped")
        self._settle(name)
        if offsets is not None and are_all:  # the last offset of a repeated partition wins
            offsets = [*((partition, None) for partition, _ in self._known(name, entry)), *offsets]
        modify = self._modify_sink if self._is_sink(entry) else self._modify_source
        is_seen_to = modify(name, entry, offsets)
        return {"message": (_DONE if is_seen_to else _HALF_DONE).format("reset" if offsets is None else "altered")}

    def _modify_source(self, name: str, entry: ConfiguredConnector, offsets: Offsets | None) -> bool:
        self._fence(name, entry)
        if offsets is None:
            offsets = [(partition, None) for partition in self._services.offsets.partitions(name)]
        # The last offset of a repeated partition wins.
        wanted = list({partition_key(partition or {}): (partition, offset) for partition, offset in offsets}.values())
        for each in (part for row in wanted for part in row):
            _check_format(each or {})
        is_seen_to = self._ask_connector(name, entry, "source", [[partition, offset] for partition, offset in wanted])
        if any(partition is None and offset is not None for partition, offset in wanted):
            raise ConfigError("The partition of a source offset cannot be null", code="offsets.invalid")
        self._services.offsets.put(
            name, [(part, offset) for part, offset in wanted if part is not None]
        )  # Invariant 5
        return is_seen_to

    def _fence(self, name: str, entry: ConfiguredConnector) -> None:
        """Fence zombie tasks, so that none commits an offset after this (KIP-618)."""
        try:
            fence_earlier_tasks(self._services.configs, self._services.planner, {**entry.config, NAME: name}, 0)
        except NotLeading:
            raise
        except ConnectError as error:
            log.error("the offsets are not changed because earlier tasks could not be fenced: %s", error)
            text = "Failed to perform zombie fencing for source connector prior to modifying offsets"
            raise ConnectError(text, code="offsets.fencing") from error

    def _modify_sink(self, name: str, entry: ConfiguredConnector, offsets: Offsets | None) -> bool:
        group = self._group(name, entry)
        if offsets is not None:
            wanted = parse_sink_offsets(offsets)
        else:
            try:
                wanted = dict.fromkeys(group.list())
            except KafkaError as error:
                text = f"Failed to list offsets prior to resetting offsets for sink connector {name}"
                raise _failed(text, error) from error
        rows = [[each.topic, each.partition, offset] for each, offset in wanted.items()]
        is_seen_to = self._ask_connector(name, entry, "sink", rows)
        if any(offset is not None and offset < 0 for offset in wanted.values()):
            raise ConnectError(f"Failed to modify offsets for sink connector {name}", code="offsets.invalid")
        deed, kind = ("reset", "sink connector") if offsets is None else ("alter", "connector")
        try:
            group.forget_group() if offsets is None else _write(group, wanted)
        except KafkaError as error:
            text = f"Failed to {deed} consumer group offsets for {kind} {name}"
            raise _failed(_HAS_MEMBERS.format(deed, name) if has_members(error) else text, error) from error
        return is_seen_to

    def _ask_connector(self, name: str, entry: ConfiguredConnector, kind: str, rows: list[Any]) -> bool:
        """Return whether the connector handled the new offsets; raise the error with which it rejects them."""
        directory, pool = self._services.directory, self._services.pool
        plugin = directory.connector(entry.config)
        worker = self._services.planner.worker_for(entry.config)
        try:
            is_seen_to = pool.ask(
                plugin,
                directory.environment(plugin).confined(worker.confinement(entry.config)),
                worker.call_seconds(entry.config),
                lambda stage, seconds: stage.alter_offsets(plugin, entry.config, rows, seconds),
                worker.is_apart(entry.config),
            )
        except RemoteError as error:
            if error.info.class_name.startswith(_OWN_ERRORS):
                raise ConnectError(error.info.message, code="offsets.refused") from error
            log.error("the connector rejected the new offsets:\n%s", error.trace)
            raise ConnectError(f"Failed to modify offsets for {kind} connector {name}", code="plugin") from error
        if is_seen_to is None:
            raise ConnectError(
                f"Failed to modify offsets for connector {name} because it doesn't support external modification "
                "of offsets",
                code="offsets.unsupported",
            )
        return is_seen_to

    def _group(self, name: str, entry: ConfiguredConnector) -> GroupOffsets:
        return GroupOffsets(*self._services.planner.sink_group({**entry.config, NAME: name}))

    def _is_sink(self, entry: ConfiguredConnector) -> bool:
        return self._services.directory.connector(entry.config).type is PluginType.SINK

    def _entry(self, name: str) -> ConfiguredConnector:
        entry = self._services.configs.snapshot().find(name)
        if entry is None:
            raise NotFoundError(f"Connector {name} not found", code="connector.unknown")
        return replace(entry, config=self._services.resolve(entry).config)


def parse_sink_offsets(offsets: Offsets) -> dict[TopicPartition, int | None]:
    """Return a sink's offsets, whose numbers may be strings; raise ConfigError for invalid ones."""
    return {_sink_partition(partition): _sink_offset(offset) for partition, offset in offsets}


def _sink_partition(given: Mapping[str, Any] | None) -> TopicPartition:
    if given is None:
        raise _invalid("The partition for a sink connector offset cannot be null or missing")
    if TOPIC not in given or PARTITION not in given:
        raise _invalid(f"The partition for a sink connector offset must contain the keys '{TOPIC}' and '{PARTITION}'")
    if given[TOPIC] is None:
        raise _invalid("Kafka topic names must be valid strings and may not be null")
    if given[PARTITION] is None:
        raise _invalid("Kafka partitions must be valid numbers and may not be null")
    return TopicPartition(_text(given[TOPIC]), _number("partition", given[PARTITION], _MOST[0]))


def _sink_offset(given: Mapping[str, Any] | None) -> int | None:
    if given is None:
        return None
    if OFFSET not in given:
        raise _invalid(f"The offset for a sink connector should either be null or contain the key '{OFFSET}'")
    return _number("offset", given[OFFSET], _MOST[1])


def _number(what: str, given: Any, most: int) -> int:
    text = _text(given)
    if not _INT.fullmatch(text) or not -most <= int(text) < most:
        raise _invalid(
            f"Failed to parse the following Kafka {what} value in the provided offsets: '{text}'. "
            f"{what.capitalize()} values for sink connectors need to be integers."
        )
    return int(text)


def _text(value: Any) -> str:
    """Return a value as Java formats it."""
    return json.dumps(value) if value is None or isinstance(value, bool) else str(value)


def _invalid(text: str) -> ConfigError:
    return ConfigError(text, code="offsets.invalid")


def _check_format(part: Mapping[str, Any]) -> None:
    """Raise DataError for a source partition or offset with values that no task could have written."""
    for key, value in part.items():
        kind = "ARRAY" if isinstance(value, list) else "MAP" if isinstance(value, dict) else None
        if type(value) is int and not -_MOST[1] <= value < _MOST[1]:
            kind = "class java.math.BigInteger"
        if kind is not None:
            raise DataError(f"Offsets may only contain primitive types as values, but field {key} contains {kind}")


def _write(group: GroupOffsets, offsets: Mapping[TopicPartition, int | None]) -> None:
    """Commit offsets, and delete those that are None."""
    if committed := {each: offset for each, offset in offsets.items() if offset is not None}:
        group.alter(committed)
    if forgotten := [each for each, offset in offsets.items() if offset is None]:
        group.delete(forgotten)


def _failed(text: str, error: KafkaError) -> ConnectError:
    """Return an error with Kafka Connect's text for a broker error; the log has the details."""
    log.error("%s: %s", text, error)
    return ConnectError(text, code="offsets.group")
