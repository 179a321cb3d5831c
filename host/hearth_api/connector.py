"""Connectors split the work into task configurations and watch for changes; tasks move the data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

from hearth_api.config.definition import ConfigDef
from hearth_api.config.value import Config
from hearth_api.errors import ConnectError
from hearth_api.plugin import ConnectPlugin

if TYPE_CHECKING:
    from hearth_api.record import TopicPartition
    from hearth_api.task import OffsetStorageReader, Task


class ExactlyOnceSupport(Enum):
    """Whether a source connector can deliver exactly once (KIP-618)."""

    SUPPORTED = "SUPPORTED"
    UNSUPPORTED = "UNSUPPORTED"


class ConnectorTransactionBoundaries(Enum):
    """Whether a source connector can define transaction boundaries (KIP-618)."""

    SUPPORTED = "SUPPORTED"
    UNSUPPORTED = "UNSUPPORTED"


class ConnectorContext(ABC):
    """Gives a running connector access to the host, which provides it; plugins never implement it.

    All methods may be called from any thread of the connector between `start` and `stop`. Follows Kafka's
    `ConnectorContext`.
    """

    @abstractmethod
    def request_task_reconfiguration(self) -> None:
        """Ask the host to call `task_configs` again because the input or output has changed.

        Returns at once. The host makes the call later, on the thread of all calls to the connector, and may answer
        several requests with one call. Tasks restart only if the new configurations differ from the stored ones.
        """

    @abstractmethod
    def raise_error(self, error: BaseException) -> None:
        """Report that the connector cannot continue.

        The connector's state becomes FAILED, with the traceback of the error in its status. Returns at once; nothing
        restarts and running tasks continue. The connector should stop its own background work.
        """


class SourceConnectorContext(ConnectorContext):
    """Gives a source connector access to the host; follows Kafka's `SourceConnectorContext`."""

    @abstractmethod
    def offset_storage_reader(self) -> OffsetStorageReader:
        """Return the reader of this connector's committed source offsets, never `None`."""


class SinkConnectorContext(ConnectorContext):
    """Gives a sink connector access to the host; follows Kafka's `SinkConnectorContext`."""


class Connector(ConnectPlugin, ABC):
    """Plans the work of its tasks; never touches a record.

    Derive from `SourceConnector` or `SinkConnector`. Order of calls on one instance: `initialize`, `start`, then
    `task_configs` any number of times, `reconfigure` when the configuration changes, finally `stop`. `config`,
    `validate`, `version` and `task_class` may be called on an instance that is never started. Calls never overlap, and
    each has a deadline: a connector that does not return becomes FAILED. The connector may start threads of its own.
    It runs in the environment of its bundle, separate from the host and from its tasks: a task sees only what
    `task_configs` returns, nothing kept in memory here. All connector instances of a bundle share one process, each on
    its own thread, and see the same modules; since the process keeps running, `stop` must end what `start` began. Only
    `plugin.isolation=connector` gives an instance its own process and main thread. Follows Kafka's `Connector`.
    """

    context: ConnectorContext

    def initialize(self, context: ConnectorContext) -> None:
        """Keep the context; called once per instance, before `start`."""
        self.context = context

    @abstractmethod
    def start(self, props: Mapping[str, str]) -> None:
        """Start watching the other system, if there is anything to watch.

        Called on a fresh or a stopped instance with the whole connector configuration, variables resolved and
        validated at least once (but perhaps by an older host: parse again). Must return soon; run long work on a
        thread. If it raises, the connector becomes FAILED with the traceback, and no task starts.
        """

    def reconfigure(self, props: Mapping[str, str]) -> None:
        """Apply a changed configuration; by default stops and starts again.

        Called instead of `stop` and `start` where the host can keep the instance. The host may still stop and start
        for a change, so override it only to save work, such as keeping a connection.
        """
        self.stop()
        self.start(props)

    @abstractmethod
    def task_class(self) -> type[Task]:
        """Return the class of this connector's tasks.

        Called wherever a task is about to run, so it must not depend on `start`. The class must be importable in the
        bundle's environment and constructible without arguments.
        """

    @abstractmethod
    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """Split the work into at most `max_tasks` task configurations (`tasks.max`, 1 or more).

        Called after `start` and after every `request_task_reconfiguration`. Each mapping becomes the
        `props` of one task, index 0 first; it must hold everything the task needs, usually including the
        connector's own settings. Fewer than `max_tasks` is fine, an empty list runs no task. More than
        `max_tasks` fails the connector unless `tasks.max.enforce` is false (KIP-1004). Keep the result
        stable: a changed list restarts tasks.
        """

    @abstractmethod
    def stop(self) -> None:
        """Stop what `start` began and release it.

        Called once after `start`, even if `start` raised; not called if the process was killed.
        """

    def validate(self, connector_configs: Mapping[str, str]) -> Config:
        """Check a configuration and return one `ConfigValue` per key; by default checks what `config` defines.

        Called for `PUT /connector-plugins/NAME/config/validate` and before a connector is created or changed, on an
        instance that is not started, with variables resolved. Report a wrong value as an error message of its
        `ConfigValue`; raise only if the check itself cannot run. Override it to add checks across keys or against the
        other system, starting from `super().validate(...)`. Must not return `None`.
        """
        definition: ConfigDef | None = self.config()
        if definition is None:
            raise ConnectError(f"{type(self).__qualname__}.config() must return a ConfigDef that is not null.")
        return Config(definition.validate(connector_configs))

    @abstractmethod
    def config(self) -> ConfigDef:
        """Return the definition of the connector's own keys.

        As `ConnectPlugin.config`. Omit the keys every connector has (`name`, `tasks.max`, `key.converter`, ...): the
        host adds them. If both define a key, this definition is shown and the host's errors on it are hidden.
        """

    @abstractmethod
    def version(self) -> str:
        """Return the version of the connector; see `ConnectPlugin.version`."""


class SourceConnector(Connector):
    """A connector whose tasks read another system and write to Kafka; follows Kafka's `SourceConnector`."""

    def exactly_once_support(self, connector_config: Mapping[str, str]) -> ExactlyOnceSupport | None:
        """Return whether this connector delivers exactly once with the proposed configuration (KIP-618).

        Called during validation when the worker supports exactly once and the connector requires it,
        possibly before `start`. `None`, the default, means "unknown" and is treated as unsupported.
        """
        return None

    def can_define_transaction_boundaries(self, connector_config: Mapping[str, str]) -> ConnectorTransactionBoundaries:
        """Return whether the tasks define transaction boundaries (KIP-618).

        Called before `start`, only with `transaction.boundary=connector` on a worker that supports
        exactly once. Must not return `None`; UNSUPPORTED is the default and fails the validation.
        """
        return ConnectorTransactionBoundaries.UNSUPPORTED

    def alter_offsets(
        self,
        connector_config: Mapping[str, str],
        offsets: Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]],
    ) -> bool:
        """Check or perform a user's request to alter or reset source offsets (KIP-875).

        Called for `PATCH` and `DELETE /connectors/NAME/offsets` on a stopped connector, on an instance that is not
        started, before the host writes the offsets itself. `offsets` maps each source partition to its new offset;
        `None` means reset. It may be empty, and the same request may be repeated if the host's write failed in
        between, so make it idempotent. An override returns true; the default returns false, which tells users that the
        connector did not check. Raise `ConnectError` to refuse the request with its message, or `NotImplementedError`
        if offsets of this connector cannot be altered at all.
        """
        return False


class SinkConnector(Connector):
    """A connector whose tasks read Kafka and write to another system; follows Kafka's `SinkConnector`."""

    TOPICS_CONFIG = "topics"

    def alter_offsets(self, connector_config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        """Check or perform a user's request to alter or reset consumer offsets (KIP-875).

        As `SourceConnector.alter_offsets`, with Kafka partitions and the offset of the next record to read; `None`
        means reset.
        """
        return False
