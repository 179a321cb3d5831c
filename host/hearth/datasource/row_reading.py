"""Deserializes keys and values of rows with the connector's converters, like those of Kafka records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa

from hearth.staging.place import Place
from hearth.staging.plugin_plan import PluginPlan
from hearth_api import OPTIONAL_BYTES_SCHEMA
from hearth_api.batch import Batch, ColumnRun
from hearth_execution.failure import Failure
from hearth_execution.order import rows_of
from hearth_execution.transformation import without
from hearth_stage.conversion_call import Cells, Deserialize


def read_sides(
    batches: Iterable[Batch], sides: Sequence[str], places: Mapping[str | None, Place], plan: PluginPlan
) -> tuple[list[Batch], list[Failure]]:
    """Return rows with these sides deserialized, as batches of one schema each, and the rows that failed."""
    read, failures = [*batches], []
    for side in sides:
        place = places[plan.plugin(f"{side}.converter").environment]
        found: list[Batch] = []
        for batch in read:
            made, failed = _read(batch, side, place)
            found += made
            failures += failed
        read = found
    return read, failures


def _read(batch: Batch, side: str, place: Place) -> tuple[list[Batch], list[Failure]]:
    run = ColumnRun(OPTIONAL_BYTES_SCHEMA, batch.column(side))
    call = Deserialize([f"{side}.converter"], batch.topic or "", Cells({side: run}, rows_of(batch)))
    done = place.do(call)
    parts = []
    for own in done.by_converter()[0]:
        part = batch if own.rows is None else batch.take(pa.array(own.rows))
        parts.append(part.with_columns(**{side: own.column}).replace(**{f"{side}_schema": own.schema}))
    if done.failures:
        parts = [part.filter(without(part, done.failures)) for part in parts]
    return [part for part in parts if part.num_rows], done.failures
