"""The options of a DataFrame reader or writer: those of the data source, and the connector's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from hearth.foundation.nearest import did_you_mean
from hearth_api import ConfigError, ConfigType, Importance, Lambda, Range, Settings, ValidString, key

OWN = "hearth."
"""Prefix of the data source's own options; all others are the connector's."""
DRIVER, EXECUTORS = "driver", "executors"
CONFIG, PLUGIN_PATH, CONNECTOR_CLASS = "hearth.config", "plugin.path", "connector.class"
_OF_SPARK = frozenset({"path", "checkpointlocation", "queryname", "serialization.format"})
"""Options of Spark itself; a connector's key of such a name can only be set in hearth.config."""


def _absent_or_not_negative(name: str, value: Any) -> None:
    if value is not None:
        Range.at_least(0).ensure_valid(name, value)


class DataSourceSettings(Settings):
    """The data source's own options."""

    plugin_path: list[str] | None = key(
        PLUGIN_PATH,
        type=ConfigType.LIST,
        default=None,
        importance=Importance.HIGH,
        doc="Directories of bundles, or single bundles, separated by commas, on the driver's machine.",
    )
    config: str | None = key(
        CONFIG,
        default=None,
        doc="A configuration as JSON text, whose names keep their case; it overrides other options.",
    )
    spool: str | None = key(
        "hearth.spool",
        default=None,
        importance=Importance.HIGH,
        doc="Where a streaming read keeps polled records and their positions: a directory or an fsspec address, "
        "separate for each query.",
    )
    tasks_on: str = key(
        "hearth.tasks.on",
        default=DRIVER,
        check=ValidString(DRIVER, EXECUTORS),
        doc="Where the tasks of a streaming read run: on the driver, or on executors that reach the spool.",
    )
    idle_ms: int | None = key(
        "hearth.idle.ms",
        type=ConfigType.LONG,
        default=None,
        check=Lambda(_absent_or_not_negative, "[0,...]"),
        doc="For how many milliseconds the polls of a source must be empty before a bounded read ends. Default 100, "
        "or 0 for a source that knows when it is at its end, such as the file source.",
    )
    probe_ms: int = key(
        "hearth.probe.ms",
        type=ConfigType.LONG,
        default=10_000,
        check=Range.at_least(1),
        doc="For how many milliseconds to wait for the first record, whose schema gives the columns their types.",
    )
    max_records: int | None = key(
        "hearth.max.records",
        type=ConfigType.LONG,
        default=None,
        doc="How many records each task of a batch read returns at most.",
    )
    max_records_per_trigger: int | None = key(
        "hearth.max.records.per.trigger",
        type=ConfigType.LONG,
        default=None,
        doc="How many records a micro-batch of a streaming read has at most.",
    )
    value: str = key(
        "hearth.value",
        default="typed",
        check=ValidString("typed", "json", "variant", "binary"),
        doc="The type of the column value: typed by the schema, JSON text, a variant, or bytes as the "
        "value.converter writes and reads them.",
    )
    dead_letters: str | None = key(
        "hearth.dead.letters",
        default=None,
        doc="A directory, or an address that Arrow can write to, for rows that a sink could not process: JSON lines "
        "files with the rows and their errors.",
    )
    batch_id: int | None = key(
        "hearth.batch.id",
        type=ConfigType.LONG,
        default=None,
        doc="The number of a batch write: rows have the same offsets when they are written again with the same "
        "number. By default derived from the time; a streaming write uses the number of its micro-batch.",
    )
    flush_ms: int = key(
        "hearth.flush.ms",
        type=ConfigType.LONG,
        default=10_000,
        check=Range.at_least(0),
        doc="For how many milliseconds a sink is asked to flush all rows at the end of a batch before that fails.",
    )
    retry_ms: int = key(
        "hearth.retry.ms",
        type=ConfigType.LONG,
        default=600_000,
        check=Range.at_least(0),
        doc="For how many milliseconds a sink may retry the same rows before the write fails.",
    )
    keep_ms: int = key(
        "hearth.keep.ms",
        type=ConfigType.LONG,
        default=10_000,
        check=Range.at_least(0),
        doc="For how many milliseconds an executor keeps a sink's task for the next micro-batch before it stops it.",
    )


@dataclass(frozen=True)
class Options:
    """Parsed options: the data source's own, typed, and the connector's configuration.

    ``exact`` are the names in ``config`` that have their original case; Spark has lower-cased the others
    (``hearth.datasource.option_name``). The repr does not show values, which may be secret.
    """

    settings: DataSourceSettings = field(repr=False)
    config: Mapping[str, str] = field(repr=False)
    exact: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, given: Mapping[str, str]) -> Options:
        """Parse options; raises ConfigError for a wrong value and for an unknown option of the data source."""
        lower = {name.lower(): value for name, value in given.items()}
        exact = _exact(lower.get(CONFIG))
        covered = {name.lower() for name in exact}
        every = {name: value for name, value in lower.items() if name not in covered} | exact
        own = {name.lower(): value for name, value in every.items() if _is_own(name)}
        known = [name for name in DataSourceSettings.definition().keys if name.startswith(OWN)]
        for name in own:
            if name.startswith(OWN) and name not in known:
                raise ConfigError(name, own[name], f"there is no such option{did_you_mean(name, known)}")
        config = {
            name: value
            for name, value in every.items()
            if not _is_own(name) and (name in exact or name not in _OF_SPARK)
        }
        if not config.get(CONNECTOR_CLASS, "").strip():
            raise ConfigError(
                CONNECTOR_CLASS, None, "it is not set",
                hint=f"set the connector: .option({CONNECTOR_CLASS!r}, ...); in SQL, where tables keep no options, "
                f"FROM t WITH ({CONNECTOR_CLASS!r} = ...)",
            )  # fmt: skip
        return cls(DataSourceSettings(own), config, frozenset(exact))


def _is_own(name: str) -> bool:
    return name.lower().startswith(OWN) or name.lower() == PLUGIN_PATH


def _exact(text: str | None) -> dict[str, str]:
    """Parse the configuration in an option with JSON text; null members are ignored."""
    if text is None:
        return {}
    try:
        members = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise ConfigError(
            f"{CONFIG} is not valid JSON: {error}", hint="write a JSON object of names and values"
        ) from error
    if not isinstance(members, dict):
        raise ConfigError(
            f"{CONFIG} is a JSON {type(members).__name__}, expected an object", hint='as in {"file": "out.txt"}'
        )
    return {name: _text(name, value) for name, value in members.items() if value is not None}


def _text(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (list, dict)):
        raise ConfigError(f"{CONFIG}: {name} is a list or an object", hint="use a string, a number or a boolean")
    return orjson.dumps(value).decode()
