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
"""What follows a class key to make the key that selects a version of that class (KIP-891)."""
CONNECTOR_VERSION = "connector.plugin.version"
RELOAD_ACTION, RESTART = "config.action.reload", "restart"


def unique_aliases(name: str, value: Any) -> None:
    """Raise ConfigError when an alias stands twice in a list."""
    if len(set(value)) < len(value):
        raise ConfigError(name, value, "Duplicate alias provided.")


def alias_list(kind: str) -> Composite:
    """Return the check of a list of aliases; `kind` says of what."""
    return Composite(NonNull(), Lambda(unique_aliases, f"unique {kind} aliases"))


class TooManyTasks(ConnectError):
    """A connector has more tasks than its configuration allows: its name, how many they are, and may be."""

    code = "connector.too_many_tasks"
    hint = "raise tasks.max, or set tasks.max.enforce to false"

    def __str__(self) -> str:
        """Word it as Kafka Connect does."""
        connector, wanted, maximum = self.args
        return (
            f"The connector {connector} has generated {wanted} tasks, which is greater than {maximum}, the maximum "
            "number of tasks it is configured to create. This behaviour should be considered a bug and is disallowed. "
            "If necessary, it can be permitted by reconfiguring the connector with 'tasks.max.enforce' set to false; "
            "however, this option will be removed in a future release of Kafka Connect."
        )


class ConnectorConfig(Settings):
    """What a configuration of a connector may say, whatever the connector."""

    name: str = key(
        "name",
        check=NonEmptyStringWithoutControlChars(),
        importance=Importance.HIGH,
        doc="The connector's name; no other connector of the cluster may have it.",
        group=COMMON,
        order_in_group=1,
        width=Width.MEDIUM,
        display_name="Connector name",
    )
    connector_class: str = key(
        "connector.class",
        importance=Importance.HIGH,
        doc="The connector to run: its full class name, or an alias such as FileStreamSink or "
        "FileStreamSinkConnector.",
        group=COMMON,
        order_in_group=2,
        width=Width.LONG,
        display_name="Connector class",
    )
    connector_version: str | None = key(
        "connector.plugin.version",
        default=None,
        importance=Importance.MEDIUM,
        doc="Which version of the connector to run: one version or a Maven version range; the newest unless given.",
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
        doc="The most tasks the connector may split its work into.",
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
        doc="The converter between record keys and the bytes in Kafka; the worker's converter unless given. "
        "Its own settings stand below key.converter.",
        group=COMMON,
        order_in_group=6,
        width=Width.SHORT,
        display_name="Key converter class",
    )
    key_converter_version: str | None = key(
        "key.converter.plugin.version",
        default=None,
        importance=Importance.LOW,
        doc="Which version of the key converter to use.",
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
        doc="The converter between record values and the bytes in Kafka; the worker's converter unless "
        "given. "
        "Its own settings stand below value.converter.",
        group=COMMON,
        order_in_group=8,
        width=Width.SHORT,
        display_name="Value converter class",
    )
    value_converter_version: str | None = key(
        "value.converter.plugin.version",
        default=None,
        importance=Importance.LOW,
        doc="Which version of the value converter to use.",
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
        doc="The converter between header values and the bytes in Kafka; the worker's converter unless "
        "given. "
        "Its own settings stand below header.converter.",
        group=COMMON,
        order_in_group=10,
        width=Width.SHORT,
        display_name="Header converter class",
    )
    header_converter_version: str | None = key(
        "header.converter.plugin.version",
        default=None,
        importance=Importance.LOW,
        doc="Which version of the header converter to use.",
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
        doc="Names, of your choice, of the transformations each record passes, in this order; each is set "
        "up below "
        "transforms.NAME.",
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
        doc="Names, of your choice, of the predicates that transformations refer to; each is set up below "
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
        doc="What happens when a config provider says that a value it gave has expired: 'restart' starts "
        "the connector "
        "anew with fresh values, 'none' does nothing.",
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
        doc="For how many milliseconds an operation that failed is tried again; 0 is not at all, -1 is for ever.",
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
        doc="The longest pause between two tries in milliseconds; pauses of that length vary a little.",
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
        doc="What a record does that cannot be processed: 'none' fails the task, 'all' leaves the record out.",
        group=ERRORS,
        order_in_group=3,
        width=Width.SHORT,
        display_name="Error Tolerance",
    )
    errors_log_enable: bool = key(
        "errors.log.enable",
        default=False,
        importance=Importance.MEDIUM,
        doc="Whether every failed operation is logged, with what failed and why, also those that are tolerated.",
        group=ERRORS,
        order_in_group=4,
        width=Width.SHORT,
        display_name="Log Errors",
    )
    errors_log_include_messages: bool = key(
        "errors.log.include.messages",
        default=False,
        importance=Importance.MEDIUM,
        doc="Whether that log also shows the record itself: keys, values and headers may hold what logs should not.",
        group=ERRORS,
        order_in_group=5,
        width=Width.SHORT,
        display_name="Log Error Details",
    )

    def refuse_too_many(self, tasks: int) -> None:
        """Raise TooManyTasks for more tasks than may be, where that is enforced."""
        if tasks > self.tasks_max and self.tasks_max_enforce:
            raise TooManyTasks(self.originals.get(NAME), tasks, self.tasks_max)
