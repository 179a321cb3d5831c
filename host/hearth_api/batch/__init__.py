"""Batches, for plugins that work on columns and for hosts that run plugins.

A `Batch` is a table of records in Arrow columns. Plugins that take batches derive from the classes of `batch_plugin`,
in addition to their form for records. `records_to_batches` and its counterparts convert between records and batches,
`column` between values and columns, and `wire` writes the JSON text of values for which columns have no type. Arrow is
imported through `arrow`, which loads it with the first batch, so plugins for records do not need pyarrow.
"""

from hearth_api.batch import arrow
from hearth_api.batch.batch import Batch
from hearth_api.batch.batch_plugin import (
    BatchConverter,
    BatchHeaderConverter,
    BatchPredicate,
    BatchSinkTask,
    BatchSourceTask,
    BatchTransformation,
    ColumnRun,
    Declined,
    HeaderColumns,
    PartlyFailed,
    frameless,
)
from hearth_api.batch.batch_record import (
    batch_to_source_records,
    packed_by_kind,
    records_by_kind,
    records_to_batches,
)
from hearth_api.batch.column import arrow_type, column_to_values, fill_nulls, values_to_column
from hearth_api.batch.header_list import (
    header_columns,
    header_lists,
    header_text,
    header_texts,
    headers_to_column,
    repeats,
    schema_texts,
)
from hearth_api.batch.header_parsing import parse_headers
from hearth_api.batch.header_rows import column_to_headers, header_values
from hearth_api.batch.late_error import LateErrors
from hearth_api.batch.packed_records import PackedRecords, RecordKind
from hearth_api.batch.record_copy import LASTING, copies_of
from hearth_api.batch.scalar_column import ScalarColumn, UnlikeError
from hearth_api.batch.sink_row import batch_to_sink_records
from hearth_api.batch.table_column import TableColumn, list_form, map_form, plain_form, struct_form
from hearth_api.batch.text_column import column_to_texts
from hearth_api.batch.wire import plain_from_json, plain_to_json, value_from_json, value_to_json

__all__ = [
    "LASTING",
    "Batch",
    "BatchConverter",
    "BatchHeaderConverter",
    "BatchPredicate",
    "BatchSinkTask",
    "BatchSourceTask",
    "BatchTransformation",
    "ColumnRun",
    "Declined",
    "HeaderColumns",
    "LateErrors",
    "ScalarColumn",
    "PackedRecords",
    "PartlyFailed",
    "RecordKind",
    "TableColumn",
    "UnlikeError",
    "arrow",
    "arrow_type",
    "batch_to_sink_records",
    "batch_to_source_records",
    "column_to_headers",
    "column_to_texts",
    "column_to_values",
    "copies_of",
    "fill_nulls",
    "header_columns",
    "frameless",
    "header_lists",
    "header_text",
    "header_texts",
    "header_values",
    "headers_to_column",
    "list_form",
    "map_form",
    "packed_by_kind",
    "parse_headers",
    "plain_form",
    "plain_from_json",
    "plain_to_json",
    "records_by_kind",
    "records_to_batches",
    "repeats",
    "schema_texts",
    "struct_form",
    "value_from_json",
    "value_to_json",
    "values_to_column",
]
