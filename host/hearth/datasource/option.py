"""The options of a DataFrame's reader or writer: the data source's own, and the configuration of the connector."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from hearth.foundation.nearest import did_you_mean
from hearth_api import ConfigError, ConfigType, Importance, Lambda, Range, Settings, ValidString, key

OWN = "hearth."
"""What the names of the data source's own options begin with; all others are the connector's."""
DRIVER, EXECUTORS = "driver", "executors"
CONFIG, PLUGIN_PATH, CONNECTOR_CLASS = "hearth.config", "plugin.path", "connector.class"
_OF_SPARK = frozenset({"path", "checkpointlocation", "queryname", "serialization.format"})
"""What Spark itself adds to options, or takes from them; a connector that has such a key gets it by hearth.config."""


def _absent_or_not_negative(name: str, value: Any) -> None:
    if value is not None:
        Range.at_least(0).ensure_valid(name, value)


class DataSourceSettings(Settings):
    """The options that are the data source's own."""

    plugin_path: list[str] | None = key(
        PLUGIN_PATH,
        type=ConfigType.LIST,
        default=None,
        importance=Importance.HIGH,
        doc="Directories of bundles, or single bundles, with commas in between, on the machine of the driver.",
    )
    config: str | None = key(
        CONFIG,
        default=None,
        doc="A configuration as JSON text, whose names keep their case; it goes before other options.",
    )
    spool: str | None = key(
        "hearth.spool",
        default=None,
        importance=Importance.HIGH,
        doc="Where a streaming read keeps what was polled, with its positions: a directory, or an address that fsspec "
        "reaches, of its own for each query.",
    )
    tasks_on: str = key(
        "hearth.tasks.on",
        default=DRIVER,
        check=ValidString(DRIVER, EXECUTORS),
        doc="Where the tasks of a streaming read run: beside the driver, or on executors, which then reach the spool.",
    )
    idle_ms: int | None = key(
        "hearth.idle.ms",
        type=ConfigType.LONG,
        default=None,
        check=Lambda(_absent_or_not_negative, "[0,...]"),
        doc="For how many milliseconds the polls of a source bring nothing before a bounded read ends. Unless it "
        "is set, 100, and none where the source knows that there is nothing more, as one of files does.",
    )
    probe_ms: int = key(
        "hearth.probe.ms",
        type=ConfigType.LONG,
        default=10_000,
        check=Range.at_least(1),
        doc="For how many milliseconds the first records are waited for, by whose schema columns are typed.",
    )
    max_records: int | None = key(
        "hearth.max.records",
        type=ConfigType.LONG,
        default=None,
        doc="How many records each task of a batch read brings at most.",
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
        doc="What the column value holds: values of the schema's own type, JSON text, a variant, or bytes as the "
        "value.converter writes and reads them.",
    )
    dead_letters: str | None = key(
        "hearth.dead.letters",
        default=None,
        doc="The directory, or an address that Arrow can write to, for rows that a sink could not process: files of "
        "JSON lines, with what went wrong.",
    )
    batch_id: int | None = key(
        "hearth.batch.id",
        type=ConfigType.LONG,
        default=None,
        doc="Which batch a batch write is: rows have the same offsets whenever it is written again under the same "
        "number. By the time of the write unless given; a streaming write has the number of its micro-batch.",
    )
    flush_ms: int = key(
        "hearth.flush.ms",
        type=ConfigType.LONG,
        default=10_000,
        check=Range.at_least(0),
        doc="For how many milliseconds a sink is asked at the end of a batch to write all it has, before that fails.",
    )
    retry_ms: int = key(
        "hearth.retry.ms",
        type=ConfigType.LONG,
        default=600_000,
        check=Range.at_least(0),
        doc="For how many milliseconds a sink may put off the same rows, before the write fails.",
    )
    keep_ms: int = key(
        "hearth.keep.ms",
        type=ConfigType.LONG,
        default=10_000,
        check=Range.at_least(0),
        doc="For how many milliseconds an executor keeps a sink's task for the next micro-batch, then stops it.",
    )


@dataclass(frozen=True)
class Options:
    """Options as they were given: the data source's own, typed, and the connector's configuration.

    ``exact`` are the names in ``config`` that are in their own case; of the others Spark has left lower-case letters
    alone (``hearth.datasource.option_name``). No text shows what is configured: it may be secret.
    """

    settings: DataSourceSettings = field(repr=False)
    config: Mapping[str, str] = field(repr=False)
    exact: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, given: Mapping[str, str]) -> Options:
        """Read options; raises ConfigError for the first that is wrong, and for one of ours that is not there."""
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
                hint=f"name the connector: .option({CONNECTOR_CLASS!r}, ...); in SQL, where tables keep no options, "
                f"FROM t WITH ({CONNECTOR_CLASS!r} = ...)",
            )  # fmt: skip
        return cls(DataSourceSettings(own), config, frozenset(exact))


def _is_own(name: str) -> bool:
    return name.lower().startswith(OWN) or name.lower() == PLUGIN_PATH


def _exact(text: str | None) -> dict[str, str]:
    """Return the configuration that stands in an option as JSON text; members that are null say nothing."""
    if text is None:
        return {}
    try:
        members = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise ConfigError(
            f"{CONFIG} is no JSON: {error}", hint="give an object: a name and a value for each"
        ) from error
    if not isinstance(members, dict):
        raise ConfigError(f"{CONFIG} is {type(members).__name__} of JSON, no object", hint='as in {"file": "out.txt"}')
    return {name: _text(name, value) for name, value in members.items() if value is not None}


def _text(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (list, dict)):
        raise ConfigError(f"{CONFIG}: {name} is a list or an object", hint="a value is a text, a number or a boolean")
    return orjson.dumps(value).decode()
