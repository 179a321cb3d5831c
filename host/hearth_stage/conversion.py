"""Conversions as calls: how columns and headers travel to a converter that lives in a stage process.

Each ``answer_*`` function serves a call inside the stage process; the ``ask_*`` function above it makes that call.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from hearth_api import OPTIONAL_BYTES_SCHEMA, Batch, ColumnRun, PluginError
from hearth_api import arrow as pa
from hearth_execution.converter import Converters
from hearth_execution.failure import Failure
from hearth_execution.order import rows_of
from hearth_execution.raw_header import RawHeaders
from hearth_stage.channel import Reply, Request


class Caller(Protocol):
    """Whatever makes calls: a stage."""

    def call(self, op: str, args: dict[str, Any], batches: Sequence[Batch] = ()) -> Reply:
        """Send a request and wait for its answer."""


def ask_serialize(
    stage: Caller, role: str, topic: str, schema: Any, column: Any, rows: Any, headers: dict[int, RawHeaders]
) -> tuple[Any, list[Failure]]:
    """Have a column serialized; what the converter changes of ``headers`` is changed in there."""
    args = {"role": role, "topic": topic, "headers": _rows_to_text(headers)}
    reply = stage.call("serialize", args, [_cells(schema, column, rows)])
    headers.update(_rows_from_text(reply.args["headers"]))
    written = reply.batches[0].column("value")
    if str(written.type) != "binary" or len(written) != len(rows):  # its memory goes to librdkafka as it is
        raise PluginError(f"{role}: the stage returned {len(written)} of {written.type} for {len(rows)} cells")
    return written, _failures(reply)


def answer_serialize(converters: Converters, request: Request) -> Reply:
    """Serialize the ``value`` column of the request."""
    batch = request.batches[0]
    args = request.args
    given = _rows_from_text(args["headers"])
    headers = dict(given)
    column, failures = converters.serialize(
        args["role"], args["topic"], batch.value_schema, batch.column("value"), rows_of(batch), headers
    )
    reply = _reply(failures, [_cells(OPTIONAL_BYTES_SCHEMA, column)])
    reply.args["headers"] = _rows_to_text({row: own for row, own in headers.items() if own != given.get(row)})
    return reply


def ask_deserialize(
    stage: Caller, role: str, topic: str, data: Any, rows: Any, headers: Mapping[int, RawHeaders]
) -> tuple[list[ColumnRun], list[Failure]]:
    """Have bytes turned into Connect data."""
    args = {"role": role, "topic": topic, "headers": _rows_to_text(headers)}
    reply = stage.call("deserialize", args, [_cells(OPTIONAL_BYTES_SCHEMA, data, rows)])
    return [ColumnRun(run.value_schema, run.column("value")) for run in reply.batches], _failures(reply)


def answer_deserialize(converters: Converters, request: Request) -> Reply:
    """Deserialize the ``value`` column of the request; one batch per run of a schema."""
    batch = request.batches[0]
    args = request.args
    headers = _rows_from_text(args["headers"])
    runs, failures = converters.deserialize(
        args["role"], args["topic"], batch.column("value"), rows_of(batch), headers
    )
    return _reply(failures, [_cells(run.schema, run.column) for run in runs])


def ask_write_headers(stage: Caller, topic: str, batch: Batch) -> tuple[list[RawHeaders], list[Failure]]:
    """Have the headers of a batch serialized."""
    reply = stage.call("serialize_headers", {"topic": topic}, [batch])
    return [_headers_from_text(row) for row in reply.args["rows"]], _failures(reply)


def answer_write_headers(converters: Converters, request: Request) -> Reply:
    """Serialize the headers of the request's batch."""
    rows, failures = converters.write_headers(request.args["topic"], request.batches[0])
    reply = _reply(failures)
    reply.args["rows"] = [_headers_to_text(row) for row in rows]
    return reply


def ask_read_headers(
    stage: Caller, topic: str, headers: Mapping[int, RawHeaders], count: int
) -> tuple[Any, list[Failure]]:
    """Have raw headers, by row, turned into a column of ``count`` rows."""
    args = {"topic": topic, "rows": _rows_to_text(headers), "count": count}
    reply = stage.call("deserialize_headers", args)
    return reply.batches[0].column("headers"), _failures(reply)


def answer_read_headers(converters: Converters, request: Request) -> Reply:
    """Deserialize the raw headers of the request."""
    args = request.args
    column, failures = converters.read_headers(args["topic"], _rows_from_text(args["rows"]), args["count"])
    cells = _cells(OPTIONAL_BYTES_SCHEMA, pa.nulls(args["count"], pa.binary()))
    return _reply(failures, [cells.with_columns(headers=column)])


def _cells(schema: Any, column: Any, rows: Any = None) -> Batch:
    columns = {"value": column} if rows is None else {"value": column, "row": pa.array(rows, pa.int32())}
    data = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    return Batch(None, None, schema, data)


def _reply(failures: list[Failure], batches: list[Batch] | None = None) -> Reply:
    return Reply({"failures": [failure.to_json() for failure in failures]}, batches or [])


def _failures(reply: Reply) -> list[Failure]:
    return [Failure.from_json(each) for each in reply.args["failures"]]


def _rows_to_text(rows: Mapping[int, RawHeaders]) -> dict[str, Any]:
    """Return the headers of some rows as JSON can hold them."""
    return {str(row): _headers_to_text(own) for row, own in rows.items()}


def _rows_from_text(rows: Mapping[str, Any]) -> dict[int, RawHeaders]:
    """Read what ``_rows_to_text`` gave."""
    return {int(row): _headers_from_text(own) for row, own in rows.items()}


def _headers_to_text(headers: RawHeaders) -> list[list[str | None]]:
    """Return the headers of one row as JSON can hold them."""
    return [[key, None if data is None else base64.b64encode(data).decode()] for key, data in headers]


def _headers_from_text(headers: list[list[Any]]) -> RawHeaders:
    """Read what ``_headers_to_text`` gave."""
    return [(key, None if data is None else base64.b64decode(data)) for key, data in headers]
