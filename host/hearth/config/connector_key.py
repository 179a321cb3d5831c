"""The keys every connector has."""

from __future__ import annotations

from typing import Any

from hearth_api import (
    Composite,
    ConfigError,
    ConfigType,
    ConnectError,
    Importance,
    Lambda,
    NonEmptyStringWithoutControlChars,
    NonNull,
    Range,
    Settings,
    ValidString,
    Width,
    key,
)

COMMON = "Common"
TRANSFORMS = "Transforms"
PREDICATES = "Predicates"
ERRORS = "Error Handling"

NAME = "name"
CONNECTOR_CLASS = "connector.class"
CONVERTER_KEYS = ("key.converter", "value.converter", "header.converter")
VERSION_SUFFIX = ".plugin.version"
"""Suffix of the key that selects the version of a class key (KIP-891)."""
CONNECTOR_VERSION = "connector.plugin.version"
RELOAD_ACTION, RESTART = "config.action.reload", "restart"


def unique_aliases(name: str, value: Any) -> None:
    """Raise ConfigError if an alias occurs twice in a list."""
    if len(set(value)) < len(value):
        raise ConfigError(name, value, "Duplicate alias provided.")


def alias_list(kind: str) -> Composite:
    """Return the check of a list of aliases; `kind` names what they stand for."""
    return Composite(NonNull(), Lambda(unique_aliases, f"unique {kind} aliases"))


class TooManyTasks(ConnectError):
    """A connector has more tasks than allowed; the args are its name, the number and the maximum."""

    code = "connector.too_many_tasks"
    hint = "raise tasks.max, or set tasks.max.enforce to false"

    def __str__(self) -> str:
        """Return Kafka Connect's message."""
        connector, wanted, maximum = self.args
        return (
            f"The connector {connector} has generated {wanted} tasks, which is greater than {maximum}, the maximum "
            "number of tasks it is configured to create. This behaviour should be considered a bug and is disallowed. "
            "If necessary, it can be permitted by reconfiguring the connector with 'tasks.max.enforce' set to false; "
            "however, this option will be removed in a future release of Kafka Connect."
        )


class ConnectorConfig(Settings):
    """The keys of all connectors."""

    name: str = key(
        "name",
        check=NonEmptyStringWithoutControlChars(),
        importance=Importance.HIGH,
        doc="The name of the connector, which is unique in the cluster.",
        group=COMMON,
        order_in_group=1,
        width=Width.MEDIUM,
        display_name="Connector name",
    )
    connector_class: str = key(
        "connector.class",
        importance=Importance.HIGH,
        doc="The connector class: its full name, or an alias such as FileStreamSink or FileStreamSinkConnector.",
        group=COMMON,
        order_in_group=2,
        width=Width.LONG,
        display_name="Connector class",
    )
    connector_version: str | None = key(
        "connector.plugin.version",
        default=None,
        importance=Importance.MEDIUM,
        doc="The version of the connector: one version or a Maven version range; the newest by default.",
        group=COMMON,
        order_in_group=3,
        width=Width.MEDIUM,
        display_name="Connector version",
    )
    tasks_max: int = key(
        "tasks.max",
        default=1,
        check=Range.at_least(1),
        importance=Importance.HIGH,
        doc="The maximum number of tasks of the connector.",
        group=COMMON,
        order_in_group=4,
        width=Width.SHORT,
        display_name="Tasks max",
    )
    tasks_max_enforce: bool = key(
        "tasks.max.enforce",
        default=True,
        importance=Importance.LOW,
        doc="(Deprecated) Whether a connector that asks for more tasks than tasks.max fails (the default) "
        "or runs them "
        "all with a warning.",
        group=COMMON,
        order_in_group=5,
        width=Width.SHORT,
        display_name="Enforce tasks max",
    )
    key_converter: str | None = key(
        "key.converter",
        type=ConfigType.CLASS,
        default=None,
        importance=Importance.LOW,
        doc="The converter between record keys and the bytes in Kafka; the worker's converter by default. Its own "
        "settings have the prefix key.converter.",
        group=COMMON,
        order_in_group=6,
        width=Width.SHORT,
        display_name="Key converter class",
    )
    key_converter_version: str | None = key(
        "key.converter.plugin.version",
        default=None,
        importance=Importance.LOW,
        doc="The version of the key converter.",
        group=COMMON,
        order_in_group=7,
        width=Width.SHORT,
        display_name="Key converter version",
    )
    value_converter: str | None = key(
        "value.converter",
        type=ConfigType.CLASS,
        default=None,
        importance=Importance.LOW,
        doc="The converter between record values and the bytes in Kafka; the worker's converter by default. Its own "
        "settings have the prefix value.converter.",
        group=COMMON,
        order_in_group=8,
        width=Width.SHORT,
        display_name="Value converter class",
    )
    value_converter_version: str | None = key(
        "value.converter.plugin.version",
        default=None,
        importance=Importance.LOW,
        doc="The version of the value converter.",
        group=COMMON,
        order_in_group=9,
        width=Width.SHORT,
        display_name="Value converter version",
    )
    header_converter: str | None = key(
        "header.converter",
        type=ConfigType.CLASS,
        default=None,
        importance=Importance.LOW,
        doc="The converter between header values and the bytes in Kafka; the worker's converter by default. Its own "
        "settings have the prefix header.converter.",
        group=COMMON,
        order_in_group=10,
        width=Width.SHORT,
        display_name="Header converter class",
    )
    header_converter_version: str | None = key(
        "header.converter.plugin.version",
        default=None,
        importance=Importance.LOW,
        doc="The version of the header converter.",
        group=COMMON,
        order_in_group=11,
        width=Width.SHORT,
        display_name="Header converter version",
    )
    transforms: list[str] = key(
        "transforms",
        default=[],
        check=alias_list("transformation"),
        importance=Importance.LOW,
        doc="Aliases of the transformations, in the order in which they are applied to each record; the settings of "
        "each have the prefix transforms.NAME.",
        group=TRANSFORMS,
        order_in_group=12,
        width=Width.LONG,
        display_name="Transforms",
    )
    predicates: list[str] = key(
        "predicates",
        default=[],
        check=alias_list("predicate"),
        importance=Importance.LOW,
        doc="Aliases of the predicates that transformations refer to; the settings of each have the prefix "
        "predicates.NAME.",
        group=PREDICATES,
        order_in_group=13,
        width=Width.LONG,
        display_name="Predicates",
    )
    config_action_reload: str = key(
        RELOAD_ACTION,
        default=RESTART,
        check=ValidString("none", RESTART),
        importance=Importance.LOW,
        doc="What happens when a value from a config provider expires: 'restart' restarts the connector with new "
        "values, 'none' does nothing.",
        group=COMMON,
        order_in_group=14,
        width=Width.MEDIUM,
        display_name="Reload Action",
    )
    errors_retry_timeout: int = key(
        "errors.retry.timeout",
        type=ConfigType.LONG,
        default=0,
        importance=Importance.MEDIUM,
        doc="For how many milliseconds a failed operation is retried; 0 never, -1 without limit.",
        group=ERRORS,
        order_in_group=1,
        width=Width.MEDIUM,
        display_name="Retry Timeout for Errors",
    )
    errors_retry_delay_max_ms: int = key(
        "errors.retry.delay.max.ms",
        type=ConfigType.LONG,
        default=60000,
        importance=Importance.MEDIUM,
        doc="The maximum delay between retries in milliseconds; delays of that length are randomized slightly.",
        group=ERRORS,
        order_in_group=2,
        width=Width.MEDIUM,
        display_name="Maximum Delay Between Retries for Errors",
    )
    errors_tolerance: str = key(
        "errors.tolerance",
        default="none",
        check=ValidString("none", "all"),
        importance=Importance.MEDIUM,
        doc="What happens to a record that cannot be processed: 'none' fails the task, 'all' skips the record.",
        group=ERRORS,
        order_in_group=3,
        width=Width.SHORT,
        display_name="Error Tolerance",
    )
    errors_log_enable: bool = key(
        "errors.log.enable",
        default=False,
        importance=Importance.MEDIUM,
        doc="Whether every failed operation is logged with its reason, including tolerated ones.",
        group=ERRORS,
        order_in_group=4,
        width=Width.SHORT,
        display_name="Log Errors",
    )
    errors_log_include_messages: bool = key(
        "errors.log.include.messages",
        default=False,
        importance=Importance.MEDIUM,
        doc="Whether the log includes the record's key, value and headers, which may be sensitive.",
        group=ERRORS,
        order_in_group=5,
        width=Width.SHORT,
        display_name="Log Error Details",
    )

    def refuse_too_many(self, tasks: int) -> None:
        """Raise TooManyTasks if the number of tasks exceeds tasks.max and that is enforced."""
        if tasks > self.tasks_max and self.tasks_max_enforce:
            raise TooManyTasks(self.originals.get(NAME), tasks, self.tasks_max)
