"""Loaded plugins of one environment, run on batches.

The same class serves the plugins that are installed with the host, inside the task runtime, and those of a bundle,
inside its stage process. Every plugin is called in its batch form where it has one and record by record otherwise;
a batch that fails is narrowed down to the records that fail, so that tolerance stays per record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hearth_api import (
    Batch,
    BatchConverter,
    BatchPredicate,
    BatchTransformation,
    ColumnRun,
    Converter,
    HeaderConverter,
    Predicate,
    Transformation,
    batch_to_sink_records,
    batch_to_source_records,
    column_to_values,
    records_to_batches,
    values_to_column,
)
from hearth_stage.failure import ErrorInfo, Failure
from hearth_stage.load import load_class, version_of
from hearth_stage.order import in_order, rows_of
from hearth_stage.retry import Retry

STAGE_OF_ROLE = {
    "key.converter": "KEY_CONVERTER",
    "value.converter": "VALUE_CONVERTER",
    "header.converter": "HEADER_CONVERTER",
}


@dataclass(frozen=True)
class Step:
    """One link of the transformation chain: a transformation and the predicate that guards it."""

    role: str
    predicate: str | None = None
    negate: bool = False


@dataclass
class Outcome:
    """What a chain made of a batch: the batches that go on and the rows that failed; other rows were dropped."""

    batches: list[Batch] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)


class Plugins:
    """The plugins of one environment that one task uses, by role."""

    def __init__(self, type_: str, retry: Retry | None = None) -> None:
        self._to_records = batch_to_source_records if type_ == "source" else batch_to_sink_records
        self._retry = retry or Retry()
        self._loaded: dict[str, Any] = {}
        self._class_names: dict[str, str] = {}

    def load(self, role: str, class_name: str, python: str, config: dict[str, str]) -> str | None:
        """Create and configure the plugin of a role; returns its version."""
        plugin = load_class(python)()
        if isinstance(plugin, Converter) and role != "header.converter":
            plugin.configure(config, role == "key.converter")
        elif isinstance(plugin, HeaderConverter) and role == "header.converter":
            plugin.configure({"converter.type": "header", **config})
        else:
            plugin.configure(config)
        self._loaded[role] = plugin
        self._class_names[role] = class_name
        return version_of(plugin)

    def close(self) -> None:
        """Close every plugin; what one of them raises does not keep the others open."""
        for plugin in self._loaded.values():
            try:
                plugin.close()
            except Exception:
                continue
        self._loaded.clear()

    # Transformations ------------------------------------------------------------------------------------------

    def apply(self, steps: list[Step], batch: Batch) -> Outcome:
        """Run a batch, its rows numbered, through consecutive steps."""
        outcome = Outcome([batch])
        for step in steps:
            arrived, outcome.batches = outcome.batches, []
            for part in arrived:
                after = self._apply_step(step, part)
                outcome.batches += after.batches
                outcome.failures += after.failures
        return outcome

    def test(self, role: str, batch: Batch) -> tuple[Any, list[Failure]]:
        """Ask a predicate about every row: a boolean array, and the rows it failed on (``False`` there)."""
        predicate: Predicate = self._loaded[role]
        if isinstance(predicate, BatchPredicate):
            try:
                return predicate.test_batch(batch), []
            except Exception:
                if batch.num_rows > 1:
                    return self._narrow_test(role, batch)
        return self._test_records(role, predicate, batch)

    def _apply_step(self, step: Step, batch: Batch) -> Outcome:
        if step.predicate is None:
            return self._transform(step.role, batch)
        import pyarrow.compute as pc

        mask, failures = self.test(step.predicate, batch)
        if step.negate:
            mask = pc.invert(mask)
        if failures:
            kept = without(batch, failures)
            batch, mask = batch.filter(kept), mask.filter(kept)
        return self.guarded(mask, batch, lambda chosen: self._transform(step.role, chosen), failures)

    @staticmethod
    def guarded(mask: Any, batch: Batch, apply: Callable[[Batch], Outcome], failures: list[Failure]) -> Outcome:
        """Apply only the rows that ``mask`` marks and put the others back between them."""
        import pyarrow.compute as pc

        chosen = batch.filter(mask)
        if chosen.num_rows == batch.num_rows:
            outcome = apply(batch)
        elif chosen.num_rows == 0:
            outcome = Outcome([batch])
        else:
            outcome = apply(chosen)
            outcome.batches = in_order([*outcome.batches, batch.filter(pc.invert(mask))])
        outcome.failures = [*failures, *outcome.failures]
        return outcome

    def _transform(self, role: str, batch: Batch) -> Outcome:
        transformation: Transformation = self._loaded[role]
        if not isinstance(transformation, BatchTransformation):
            return self._transform_records(role, transformation, batch)
        try:
            return Outcome(transformation.apply_batch(batch))
        except Exception:
            if batch.num_rows > 1:
                return self._halve(role, batch)
        single = batch  # the retries, and with them the waits, belong to the one record that fails
        try:
            return Outcome(self._retry.run(lambda: transformation.apply_batch(single)))
        except Exception as error:
            return Outcome([], [self._failure(role, "TRANSFORMATION", batch, 0, error)])

    def _halve(self, role: str, batch: Batch) -> Outcome:
        middle = batch.num_rows // 2
        first = self._transform(role, batch.slice(0, middle))
        second = self._transform(role, batch.slice(middle, batch.num_rows - middle))
        return Outcome(first.batches + second.batches, first.failures + second.failures)

    def _transform_records(self, role: str, transformation: Transformation, batch: Batch) -> Outcome:
        kept, rows, outcome = [], [], Outcome()
        for index, record in enumerate(self._to_records(batch)):
            try:
                after = self._retry.run(lambda record=record: transformation.apply(record))  # type: ignore[misc]
            except Exception as error:
                outcome.failures.append(self._failure(role, "TRANSFORMATION", batch, index, error))
                continue
            if after is not None:
                kept.append(after)
                rows.append(index)
        numbers = rows_of(batch)
        start = 0
        for part in records_to_batches(kept):
            end = start + part.num_rows
            outcome.batches.append(_with_rows(part, [int(numbers[row]) for row in rows[start:end]]))
            start = end
        return outcome

    def _narrow_test(self, role: str, batch: Batch) -> tuple[Any, list[Failure]]:
        import pyarrow as pa

        middle = batch.num_rows // 2
        first, failures = self.test(role, batch.slice(0, middle))
        second, more = self.test(role, batch.slice(middle, batch.num_rows - middle))
        return pa.concat_arrays([first, second]), failures + more

    def _test_records(self, role: str, predicate: Predicate, batch: Batch) -> tuple[Any, list[Failure]]:
        import pyarrow as pa

        answers, failures = [], []
        for index, record in enumerate(self._to_records(batch)):
            try:
                answers.append(bool(self._retry.run(lambda record=record: predicate.test(record))))  # type: ignore[misc]
            except Exception as error:
                answers.append(False)
                failures.append(self._failure(role, "TRANSFORMATION", batch, index, error))
        return pa.array(answers, pa.bool_()), failures

    # Converters -----------------------------------------------------------------------------------------------

    def serialize(self, role: str, topic: str, schema: Any, column: Any, rows: Any) -> tuple[Any, list[Failure]]:
        """Turn a column of Connect data into bytes; a row that fails is null and named among the failures."""
        converter: Converter = self._loaded[role]
        if isinstance(converter, BatchConverter):
            try:
                return converter.from_connect_batch(topic, schema, column), []
            except Exception as error:
                return self._narrow_serialize(role, topic, schema, column, rows, error)
        import pyarrow as pa

        cells, failures = [], []
        for index, value in enumerate(column_to_values(schema, column)):
            try:
                cells.append(self._retry.run(lambda value=value: converter.from_connect_data(topic, schema, value)))  # type: ignore[misc]
            except Exception as error:
                cells.append(None)
                failures.append(self._converter_failure(role, rows, index, error))
        return pa.array(cells, pa.binary()), failures

    def deserialize(self, role: str, topic: str, data: Any, rows: Any) -> tuple[list[ColumnRun], list[Failure]]:
        """Turn bytes into runs of Connect data; a failed row is a null of its run, named among the failures."""
        converter: Converter = self._loaded[role]
        if isinstance(converter, BatchConverter):
            try:
                return converter.to_connect_batch(topic, data), []
            except Exception as error:
                return self._narrow_deserialize(role, topic, data, rows, error)
        cells: list[Any] = []
        failures = []
        for index, cell in enumerate(data.to_pylist()):
            try:
                cells.append(self._retry.run(lambda cell=cell: converter.to_connect_data(topic, cell)))  # type: ignore[misc]
            except Exception as error:
                cells.append(None)
                failures.append(self._converter_failure(role, rows, index, error))
        return _runs(cells), failures

    def serialize_header(self, topic: str, key: str, schema: Any, value: Any) -> bytes | None:
        """Turn one header into bytes with the header converter."""
        converter: HeaderConverter = self._loaded["header.converter"]
        return self._retry.run(lambda: converter.from_connect_header(topic, key, schema, value))

    def deserialize_header(self, topic: str, key: str, data: bytes | None) -> Any:
        """Turn the bytes of one header into a ``SchemaAndValue`` with the header converter."""
        converter: HeaderConverter = self._loaded["header.converter"]
        return self._retry.run(lambda: converter.to_connect_header(topic, key, data))

    def class_name(self, role: str) -> str:
        """Return the class name under which the plugin of a role is known."""
        return self._class_names.get(role, role)

    def _narrow_serialize(
        self, role: str, topic: str, schema: Any, column: Any, rows: Any, error: Exception
    ) -> tuple[Any, list[Failure]]:
        import pyarrow as pa

        size = len(column)
        if size <= 1:
            return self._serialize_one(role, topic, schema, column, rows)
        middle = size // 2
        first, failures = self.serialize(role, topic, schema, column.slice(0, middle), rows[:middle])
        second, more = self.serialize(role, topic, schema, column.slice(middle), rows[middle:])
        return pa.concat_arrays([first, second]), failures + more

    def _serialize_one(self, role: str, topic: str, schema: Any, column: Any, rows: Any) -> tuple[Any, list[Failure]]:
        import pyarrow as pa

        converter: BatchConverter = self._loaded[role]
        try:
            return self._retry.run(lambda: converter.from_connect_batch(topic, schema, column)), []
        except Exception as error:
            return pa.nulls(len(column), pa.binary()), [self._converter_failure(role, rows, 0, error)]

    def _narrow_deserialize(
        self, role: str, topic: str, data: Any, rows: Any, error: Exception
    ) -> tuple[list[ColumnRun], list[Failure]]:
        size = len(data)
        if size <= 1:
            return self._deserialize_one(role, topic, data, rows)
        middle = size // 2
        first, failures = self.deserialize(role, topic, data.slice(0, middle), rows[:middle])
        second, more = self.deserialize(role, topic, data.slice(middle), rows[middle:])
        return first + second, failures + more

    def _deserialize_one(self, role: str, topic: str, data: Any, rows: Any) -> tuple[list[ColumnRun], list[Failure]]:
        converter: BatchConverter = self._loaded[role]
        try:
            return self._retry.run(lambda: converter.to_connect_batch(topic, data)), []
        except Exception as error:
            empty = [ColumnRun(None, values_to_column(None, [None] * len(data)))]
            return empty, [self._converter_failure(role, rows, 0, error)]

    def _failure(self, role: str, stage: str, batch: Batch, index: int, error: Exception) -> Failure:
        return Failure(int(rows_of(batch)[index]), stage, self.class_name(role), ErrorInfo.of(error))

    def _converter_failure(self, role: str, rows: Any, index: int, error: Exception) -> Failure:
        return Failure(int(rows[index]), STAGE_OF_ROLE[role], self.class_name(role), ErrorInfo.of(error))


def without(batch: Batch, failures: list[Failure]) -> Any:
    """Return a mask of the rows that did not fail."""
    import pyarrow as pa

    failed = {failure.row for failure in failures}
    return pa.array([row not in failed for row in rows_of(batch).tolist()], pa.bool_())


def _with_rows(batch: Batch, rows: list[int]) -> Batch:
    import pyarrow as pa

    return batch.with_columns(row=pa.array(rows, pa.int32()))


def _runs(cells: list[Any]) -> list[ColumnRun]:
    """Group converted cells into runs of one schema; a failed cell (``None``) joins the run before it."""
    runs: list[tuple[Any, list[Any]]] = []
    for cell in cells:
        schema = None if cell is None else cell.schema
        value = None if cell is None else cell.value
        if runs and (cell is None or runs[-1][0] is schema or runs[-1][0] == schema):
            runs[-1][1].append(value)
        else:
            runs.append((schema, [value]))
    return [ColumnRun(schema, values_to_column(schema, values)) for schema, values in runs]
