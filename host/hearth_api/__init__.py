"""What a plugin may import: records, schemas, batches, configuration and the classes plugins derive from.

Everything an author needs is exported here. The package uses the standard library only; pyarrow is loaded when the
first batch is made. The host provides it, so bundles never contain it.
"""

from hearth_api.batch import Batch
from hearth_api.batch_record import (
    batch_to_sink_records,
    batch_to_source_records,
    column_to_headers,
    headers_to_column,
    offset_to_json,
    records_to_batches,
)
from hearth_api.builder import SchemaBuilder
from hearth_api.column import arrow_type, column_to_values, values_to_column
from hearth_api.errors import (
    ConfigError,
    ConflictError,
    ConnectError,
    DataError,
    NotFoundError,
    PluginError,
    RetriableError,
    SchemaBuilderError,
    SchemaProjectorError,
)
from hearth_api.header import Header, Headers
from hearth_api.logical import Date, Decimal, Time, Timestamp
from hearth_api.physical import from_physical, to_physical
from hearth_api.record import (
    ConnectRecord,
    OffsetAndMetadata,
    RecordMetadata,
    SchemaAndValue,
    SinkRecord,
    SourceRecord,
    TimestampType,
    TopicPartition,
)
from hearth_api.schema import (
    BOOLEAN_SCHEMA,
    BYTES_SCHEMA,
    FLOAT32_SCHEMA,
    FLOAT64_SCHEMA,
    INT8_SCHEMA,
    INT16_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_BOOLEAN_SCHEMA,
    OPTIONAL_BYTES_SCHEMA,
    OPTIONAL_FLOAT32_SCHEMA,
    OPTIONAL_FLOAT64_SCHEMA,
    OPTIONAL_INT8_SCHEMA,
    OPTIONAL_INT16_SCHEMA,
    OPTIONAL_INT32_SCHEMA,
    OPTIONAL_INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Field,
    Schema,
    Type,
)
from hearth_api.schema_json import schema_from_json, schema_from_text, schema_to_json, schema_to_text
from hearth_api.struct import Struct
from hearth_api.text import double_text, float_text, java_text
from hearth_api.validation import is_logical, validate_value
from hearth_api.wire import plain_from_json, plain_to_json, value_from_json, value_to_json

__all__ = [
    "BOOLEAN_SCHEMA",
    "BYTES_SCHEMA",
    "Batch",
    "ConfigError",
    "ConflictError",
    "ConnectError",
    "ConnectRecord",
    "DataError",
    "Date",
    "Decimal",
    "FLOAT32_SCHEMA",
    "FLOAT64_SCHEMA",
    "Field",
    "Header",
    "Headers",
    "INT16_SCHEMA",
    "INT32_SCHEMA",
    "INT64_SCHEMA",
    "INT8_SCHEMA",
    "NotFoundError",
    "OPTIONAL_BOOLEAN_SCHEMA",
    "OPTIONAL_BYTES_SCHEMA",
    "OPTIONAL_FLOAT32_SCHEMA",
    "OPTIONAL_FLOAT64_SCHEMA",
    "OPTIONAL_INT16_SCHEMA",
    "OPTIONAL_INT32_SCHEMA",
    "OPTIONAL_INT64_SCHEMA",
    "OPTIONAL_INT8_SCHEMA",
    "OPTIONAL_STRING_SCHEMA",
    "OffsetAndMetadata",
    "PluginError",
    "RecordMetadata",
    "RetriableError",
    "STRING_SCHEMA",
    "Schema",
    "SchemaAndValue",
    "SchemaBuilder",
    "SchemaBuilderError",
    "SchemaProjectorError",
    "SinkRecord",
    "SourceRecord",
    "Struct",
    "Time",
    "Timestamp",
    "TimestampType",
    "TopicPartition",
    "Type",
    "arrow_type",
    "batch_to_sink_records",
    "batch_to_source_records",
    "column_to_headers",
    "column_to_values",
    "double_text",
    "float_text",
    "from_physical",
    "headers_to_column",
    "is_logical",
    "java_text",
    "offset_to_json",
    "plain_from_json",
    "plain_to_json",
    "records_to_batches",
    "schema_from_json",
    "schema_from_text",
    "schema_to_json",
    "schema_to_text",
    "to_physical",
    "validate_value",
    "value_from_json",
    "value_to_json",
    "values_to_column",
]
