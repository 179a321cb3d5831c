"""Filter by a condition on the data: Confluent's Filter, as documented by Confluent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from hearth_api import ConfigError, DataError, Importance, Lambda, Schema, Settings, ValidString, key
from hearth_api.batch import Batch, BatchTransformation, column_to_values
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

    def apply_batch(self, batch: Batch) -> list[Batch]:
        """Keep the matching rows without rebuilding their values."""
        import pyarrow as pa

        schema, column = self.side.schema(batch), batch.column(self.side.name)
        if column is None:
            return [batch]
        kept = [self._is_kept(schema, value) for value in column_to_values(schema, column)]
        return [batch if all(kept) else batch.filter(pa.array(kept, pa.bool_()))]

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


class PathFilterKey(PathFilter):
    """Filters by the key."""

    side = KEY


class PathFilterValue(PathFilter):
    """Filters by the value."""

    side = VALUE
