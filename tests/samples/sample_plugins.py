"""Plugins the tests load by name, in the test's own process or, by way of this directory, in a stage process.

Values are text: ``bad`` fails, ``drop`` is dropped, ``later`` fails twice before it goes well. Each kind exists for
records, for batches, and for such batches only as suit it, and all say the same. ``calls`` counts what was done to
which value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hearth_api import (
    INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    ConnectRecord,
    Converter,
    DataError,
    HeaderConverter,
    Headers,
    Predicate,
    RetriableError,
    Schema,
    SchemaAndValue,
    Transformation,
)
from hearth_api.batch import Batch, BatchConverter, BatchPredicate, BatchTransformation, ColumnRun

calls: Counter[str] = Counter()
closed: list[str] = []


def check(text: str | None) -> None:
    """Fail as the value says."""
    calls[str(text)] += 1
    if text == "bad":
        raise DataError("the value is 'bad'")
    if text == "later" and calls["later"] % 3:
        raise RetriableError("later, please")


class Upper(Transformation):
    """Writes values in capitals, record by record."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Take the name under which `close` is noted."""
        self._name = str(configs.get("name", "upper"))

    def apply(self, record: Any) -> Any:
        """Return the record in capitals."""
        check(record.value)
        return None if record.value == "drop" else record.new_record(value=record.value.upper())

    def close(self) -> None:
        """Note that this was called."""
        closed.append(self._name)


class UpperBatch(BatchTransformation, Upper):
    """Writes values in capitals, batch by batch."""

    def apply_batch(self, batch: Batch) -> list[Batch]:
        """Return the batch in capitals."""
        for text in batch.column("value").to_pylist():
            check(text)
        kept = batch.filter(pc.not_equal(batch.column("value"), "drop"))
        return [kept.with_columns(value=pc.utf8_upper(kept.column("value")))]


class UpperUnsure(UpperBatch):
    """Leaves batches that hold ``b`` to the records."""

    def apply_batch(self, batch: Batch) -> Any:
        """Return the batch in capitals, unless it has to be left."""
        return NotImplemented if "b" in batch.column("value").to_pylist() else super().apply_batch(batch)


class Route(Transformation):
    """Sends every record to the topic its value names, so that one batch becomes several."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Need nothing."""

    def apply(self, record: Any) -> Any:
        """Return the record with another topic."""
        check(record.value)
        return record.new_record(topic=f"to-{record.value}")


class Misfit(Transformation):
    """Returns records whose value does not fit their schema where the value is ``mismatch``."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Need nothing."""

    def apply(self, record: Any) -> Any:
        """Return the record, spoilt where its value asks for it."""
        return record.new_record(value=7) if record.value == "mismatch" else record


class Forgetful(BatchTransformation):
    """Loses the column ``row``, which a batch transformation must carry along."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Need nothing."""

    def apply(self, record: Any) -> Any:
        """Return the record."""
        return record

    def apply_batch(self, batch: Batch) -> list[Batch]:
        """Return the batch without row numbers."""
        return [batch.with_columns(row=None)]


class IsLong(Predicate):
    """Chooses values of more than three letters, record by record."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Need nothing."""

    def test(self, record: ConnectRecord) -> bool:
        """Return whether the value is long."""
        check(record.value)
        return len(record.value) > 3


class IsLongBatch(BatchPredicate, IsLong):
    """Chooses values of more than three letters, batch by batch."""

    def test_batch(self, batch: Batch) -> Any:
        """Return which values are long."""
        for text in batch.column("value").to_pylist():
            check(text)
        return pc.greater(pc.utf8_length(batch.column("value")), 3)


class IsLongUnsure(IsLongBatch):
    """Leaves batches that hold ``no`` or ``b`` to the records."""

    def test_batch(self, batch: Batch) -> Any:
        """Return which values are long, unless that has to be left."""
        return NotImplemented if {"no", "b"} & set(batch.column("value").to_pylist()) else super().test_batch(batch)


class Shortsighted(BatchPredicate, IsLong):
    """Answers for the first row only."""

    def test_batch(self, batch: Batch) -> Any:
        """Return too few answers."""
        return pa.array([True])


class Text(Converter):
    """Writes text as UTF-8 and reads digits as numbers, value by value."""

    def configure(self, configs: Mapping[str, Any], is_key: bool) -> None:
        """Remember which side this is."""
        self.is_key = is_key

    def from_connect_data(
        self, topic: str, schema: Schema | None, value: Any, headers: Headers | None = None
    ) -> bytes | None:
        """Return the text as bytes."""
        check(value)
        return None if value is None else str(value).encode()

    def to_connect_data(self, topic: str, data: bytes | None, headers: Headers | None = None) -> SchemaAndValue:
        """Return digits as a number and everything else as text."""
        text = None if data is None else data.decode()
        check(text)
        if text is not None and text.isdigit():
            return SchemaAndValue(INT64_SCHEMA, int(text))
        return SchemaAndValue(OPTIONAL_STRING_SCHEMA, text)

    def close(self) -> None:
        """Note that this was called."""
        closed.append("key" if self.is_key else "value")


class Heading(Text):
    """Writes the length of a text into the headers of its record, and reads headers into the text."""

    def from_connect_data(
        self, topic: str, schema: Schema | None, value: Any, headers: Headers | None = None
    ) -> bytes | None:
        """Return the text as bytes, after a change of the headers."""
        assert headers is not None
        if value is not None:
            headers.remove("old")
            headers.add("length", None, 6) if value == "number" else headers.add_bytes("length", b"%d" % len(value))
            headers.add_string("text", value)
        return super().from_connect_data(topic, schema, value, headers)

    def to_connect_data(self, topic: str, data: bytes | None, headers: Headers | None = None) -> SchemaAndValue:
        """Return the text with the headers behind it."""
        found = " ".join(f"{each.key}={each.value}" for each in headers or ())
        return SchemaAndValue(OPTIONAL_STRING_SCHEMA, f"{'' if data is None else data.decode()} {found}")


class WordForNull(Text):
    """Writes a word for a null."""

    def from_connect_data(
        self, topic: str, schema: Schema | None, value: Any, headers: Headers | None = None
    ) -> bytes | None:
        """Return the text, or the word."""
        return b"nothing" if value is None else super().from_connect_data(topic, schema, value, headers)


class TextBatch(BatchConverter, Text):
    """Does the same column by column."""

    def from_connect_batch(self, topic: str, schema: Schema | None, column: Any) -> Any:
        """Return the text as bytes."""
        return pa.array([self.from_connect_data(topic, schema, value) for value in column.to_pylist()], pa.binary())

    def to_connect_batch(self, topic: str, data: Any) -> list[ColumnRun]:
        """Return one run for each value, which is allowed."""
        cells = [self.to_connect_data(topic, each) for each in data.to_pylist()]
        kinds = {None: pa.string(), "INT64": pa.int64()}
        return [
            ColumnRun(each.schema, pa.array([each.value], kinds["INT64" if each.schema is INT64_SCHEMA else None]))
            for each in cells
        ]


class TextUnsure(TextBatch):
    """Leaves columns that hold a null or ``1`` to the values."""

    def from_connect_batch(self, topic: str, schema: Schema | None, column: Any) -> Any:
        """Return the text as bytes, unless that has to be left."""
        return NotImplemented if column.null_count else super().from_connect_batch(topic, schema, column)

    def to_connect_batch(self, topic: str, data: Any) -> Any:
        """Return one run for each value, unless that has to be left."""
        return NotImplemented if b"1" in data.to_pylist() else super().to_connect_batch(topic, data)


class Short(TextBatch):
    """Returns one value too few, which would lose a record."""

    def from_connect_batch(self, topic: str, schema: Schema | None, column: Any) -> Any:
        """Return too few cells."""
        return super().from_connect_batch(topic, schema, column.slice(1))

    def to_connect_batch(self, topic: str, data: Any) -> list[ColumnRun]:
        """Return too few values."""
        return super().to_connect_batch(topic, data.slice(1))


class TextHeader(HeaderConverter):
    """Writes header values as UTF-8."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Remember the settings."""
        self.configs = dict(configs)

    def from_connect_header(self, topic: str, header_key: str, schema: Schema | None, value: Any) -> bytes | None:
        """Return the text as bytes."""
        check(value)
        return None if value is None else str(value).encode()

    def to_connect_header(self, topic: str, header_key: str, data: bytes | None) -> SchemaAndValue:
        """Return the bytes as text."""
        text = None if data is None else data.decode()
        check(text)
        return SchemaAndValue(OPTIONAL_STRING_SCHEMA, text)

    def close(self) -> None:
        """Note that this was called."""
        closed.append("header")
