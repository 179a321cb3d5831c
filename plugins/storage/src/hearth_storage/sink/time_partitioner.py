"""Directories by time, and where a record's time comes from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from hearth_api import DataError, Schema, Timestamp, Type
from hearth_api.batch import Batch
from hearth_storage.sink.joda_format import JodaFormat, zone_of
from hearth_storage.sink.nested_field import field_of
from hearth_storage.sink.partitioner import Partitioner

HOUR, DAY = 3_600_000, 86_400_000


class TimestampExtractor(ABC):
    """Tells a record's time; one's own is a class that `timestamp.extractor` names as `module.Class`."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """Take the keys of the connector, as a partitioner does."""
        self.settings = settings

    @abstractmethod
    def times(self, batch: Batch, now: int) -> Any:
        """Return the time of each record in ms as an Arrow array of int64; `now` is that of the put."""


class WallclockTimestampExtractor(TimestampExtractor):
    """The time of the put, so that a record written again may be in another directory."""

    def times(self, batch: Batch, now: int) -> Any:
        """Return the time of the put."""
        return pa.repeat(pa.scalar(now, pa.int64()), batch.num_rows)


class RecordTimestampExtractor(TimestampExtractor):
    """The timestamp of the record."""

    def times(self, batch: Batch, now: int) -> Any:
        """Return the timestamps."""
        column = batch.column("timestamp")
        return pa.nulls(batch.num_rows, pa.int64()) if column is None else column


class RecordFieldTimestampExtractor(TimestampExtractor):
    """A field of the value: a Timestamp, a number of ms, or a text in ISO 8601, in UTC unless it has an offset."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        self._field: str = settings["timestamp.field"]

    def times(self, batch: Batch, now: int) -> Any:
        """Return the times of the field; a null or another type raises a `DataError`."""
        column = batch.column("value")
        if column is None:
            raise DataError("Error encoding partition.", hint="a record without value has no field with its time")
        if batch.value_schema is None:
            return pa.array([self._of_json(text) for text in column.to_pylist()], pa.int64())
        if batch.value_schema.type is not Type.STRUCT:
            raise DataError("Error encoding partition.", hint="RecordField needs values that are structs or maps")
        schema, found = field_of(self._field, batch.value_schema, column)
        if found.null_count:
            raise DataError(f"The field '{self._field}' does not exist.", hint="it is null in a record")
        return self._of_column(schema, found)

    def _of_column(self, schema: Schema, column: Any) -> Any:
        if schema.name == Timestamp.LOGICAL_NAME or schema.type in (Type.INT32, Type.INT64):
            return pc.cast(column, pa.int64())
        if schema.type is Type.STRING:
            return pa.array([_parsed(text) for text in column.to_pylist()], pa.int64())
        raise DataError(f"Error extracting timestamp from record field: {self._field}")

    def _of_json(self, text: str | None) -> int:
        value: Any = None if text is None else orjson.loads(text)
        for name in self._field.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        if isinstance(value, str):
            return _parsed(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise DataError(f"Error extracting timestamp from record field: {self._field}")
        return int(value)


class TimeBasedPartitioner(Partitioner):
    """A directory for each period of time, named by `path.format`."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        self._duration = self.duration(settings)
        self._format = JodaFormat(self.pattern(settings), zone_of(settings["timezone"]))
        self._extractor: TimestampExtractor = settings["timestamp.extractor"](settings)
        self._texts: dict[int, str] = {}

    def duration(self, settings: Mapping[str, Any]) -> int:
        """Return the length of a period in ms."""
        found: int = settings["partition.duration.ms"]
        return found

    def pattern(self, settings: Mapping[str, Any]) -> str:
        """Return the pattern of the directory."""
        found: str = settings["path.format"]
        return found.removesuffix(self.delimiter)

    def times(self, batch: Batch, now: int) -> Any:
        """Return what the extractor finds; a record without time raises a `DataError`."""
        found = self._extractor.times(batch, now)
        if found.null_count:
            raise DataError(
                f"Unable to determine timestamp using timestamp.extractor {type(self._extractor).__name__}"
            )
        return found

    def encode(self, batch: Batch, partition: int, now: int) -> Any:
        """Return the text of each record's period."""
        times = self.times(batch, now).to_numpy(zero_copy_only=False)
        quarters, rows = np.unique(times // HOUR * 4 + times % HOUR // (HOUR // 4), return_inverse=True)
        ahead = np.array([self._format.offset(int(each) * (HOUR // 4)) for each in quarters], np.int64)[rows]
        local = times + ahead
        periods = np.trunc(local / self._duration).astype(np.int64) if (local < 0).any() else local // self._duration
        _, first, codes = np.unique(periods, return_index=True, return_inverse=True)
        texts = [self._text(int(times[row]), int(periods[row])) for row in first]
        return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(texts, pa.string()))

    def _text(self, time: int, period: int) -> str:
        text = self._texts.get(period)
        if text is None:
            try:
                text = self._format.text(self._format.start(time, self._duration))
            except OverflowError as error:
                raise DataError(f"{time} is no time of a record in ms") from error
            self._texts[period] = text
        return text


class DailyPartitioner(TimeBasedPartitioner):
    """A directory for each day: `year=2026/month=11/day=28`."""

    def duration(self, settings: Mapping[str, Any]) -> int:
        """Return a day."""
        return DAY

    def pattern(self, settings: Mapping[str, Any]) -> str:
        """Return Confluent's pattern."""
        return self.delimiter.join(("'year'=YYYY", "'month'=MM", "'day'=dd"))


class HourlyPartitioner(TimeBasedPartitioner):
    """A directory for each hour: `year=2026/month=11/day=28/hour=09`."""

    def duration(self, settings: Mapping[str, Any]) -> int:
        """Return an hour."""
        return HOUR

    def pattern(self, settings: Mapping[str, Any]) -> str:
        """Return Confluent's pattern."""
        return self.delimiter.join(("'year'=YYYY", "'month'=MM", "'day'=dd", "'hour'=HH"))


def _parsed(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)
    except ValueError as error:
        raise DataError(f"Invalid format: {text!r}", hint="timestamp.field takes ISO 8601 or milliseconds") from error
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return int(moment.timestamp() * 1000)
