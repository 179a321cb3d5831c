"""Filter by a condition on the data: Confluent's Filter, as documented by Confluent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, ClassVar

from hearth_api import ConfigError, ConnectError, DataError, Importance, Lambda, Schema, Settings, ValidString, key
from hearth_api.batch import Batch, BatchTransformation, LateErrors, PartlyFailed, column_to_values, frameless
from hearth_transforms.json_path import JsonPath
from hearth_transforms.plugin import KafkaPlugin
from hearth_transforms.requirement import require_map, require_struct
from hearth_transforms.side import KEY, VALUE, R, Side

_PURPOSE = "filtering"


def _check_path(name: str, value: str | None) -> None:
    try:
        JsonPath(value or "")
    except ValueError as error:
        raise ConfigError(name, value, f"Invalid json path: {error}") from error


class PathFilterConfig(Settings):
    """Settings of Filter."""

    filter_condition: str = key(
        "filter.condition",
        check=Lambda(_check_path, "valid json path"),
        importance=Importance.HIGH,
        doc="A path in the syntax of JsonPath for Java, such as $[?(@.author == 'Tolstoy')]; a record matches if the"
        " path has a result.",
    )
    filter_type: str = key(
        "filter.type",
        check=ValidString("include", "exclude"),
        importance=Importance.HIGH,
        doc="Which records pass: those that match (include) or all others (exclude).",
    )
    missing_or_null_behavior: str = key(
        "missing.or.null.behavior",
        default="fail",
        check=ValidString("fail", "include", "exclude"),
        importance=Importance.MEDIUM,
        doc="How a record without the fields of the path is handled: it is an error (fail), passes (include) or is"
        " dropped (exclude). A field in a condition in brackets may be missing; it equals nothing.",
    )


class PathFilter(KafkaPlugin, BatchTransformation):
    """Drops records by a condition on the key or value; records with a null pass."""

    settings = PathFilterConfig
    side: ClassVar[Side]

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Parse the path."""
        config = PathFilterConfig(configs)
        self._text, self._path = config.filter_condition, JsonPath(config.filter_condition)
        self._includes = config.filter_type == "include"
        self._missing = config.missing_or_null_behavior

    def apply(self, record: R) -> R | None:
        """Keep or drop a record."""
        return record if self._is_kept(self.side.schema(record), self.side.value(record)) else None

    def apply_batch(self, batch: Batch) -> list[Batch] | PartlyFailed:
        """Keep the matching rows without rebuilding their values."""
        import numpy as np
        import pyarrow as pa

        schema, column = self.side.schema(batch), batch.column(self.side.name)
        if column is None:
            return [batch]
        kept, errors = np.zeros(len(column), bool), LateErrors()
        for rows, value in self._values(schema, column):
            try:
                kept[rows] = self._is_kept(schema, value)
            except ConnectError as error:
                errors.add(rows, partial(_always, frameless(error)))
        passed = [batch if kept.all() else batch.filter(pa.array(kept))]
        return PartlyFailed(passed, errors) if errors else passed

    def _values(self, schema: Schema | None, column: Any) -> Iterator[tuple[Any, Any]]:
        """Yield the values of a column, with the numbers of their rows; of maps, only what the path reads.

        Maps in which this is the same are one value.
        """
        import numpy as np

        left = np.ones(len(column), bool)
        if schema is None and self._path.names is not None:
            from hearth_transforms.plain_column import read_members

            for rows, value in read_members(column, self._path.names):
                left[rows] = False
                yield rows, value
        if left.any():
            rows = np.flatnonzero(left)
            part = column if left.all() else column.take(rows)
            yield from zip(rows[:, None], column_to_values(schema, part))

    def _is_kept(self, schema: Schema | None, value: Any) -> bool:
        if value is None:
            return True
        data = require_map(value, _PURPOSE) if schema is None else require_struct(value, _PURPOSE, schema)
        found = self._path.find(data)
        if found is not None:
            return bool(found) == self._includes
        if self._missing == "fail":
            raise DataError(
                f"the {self.side.name} has nothing where filter.condition {self._text!r} leads;"
                " missing.or.null.behavior sets whether such records pass (include) or are dropped (exclude)"
            )
        return self._missing == "include"


def _always(error: Exception, row: int) -> Exception:
    """Return the error, whatever the row."""
    return error


class PathFilterKey(PathFilter):
    """Filters by the key."""

    side = KEY


class PathFilterValue(PathFilter):
    """Filters by the value."""

    side = VALUE
