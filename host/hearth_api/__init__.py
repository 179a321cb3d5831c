"""The API for authors of connectors, converters, transformations and other plugins.

It holds records and headers, schemas, structs and logical types, declarative configuration, the base classes of
plugins, and the errors that tell the host what to do. It needs the standard library only.

Further public packages, none of which exports a name of another: `hearth_api.batch` for plugins that work on whole
batches, `hearth_api.java` for Java's rules of writing, reading and ordering values, `hearth_api.worker` for plugins of
the worker rather than of a connector, `hearth_api.testing` for tests. Import from these packages only: modules inside
them may move. The host provides the package to every plugin, so bundles never contain it.

`schema`, `struct`, `struct_layout`, `text` and `validation` form an import circle, but in annotations only: they load
in the order `struct_layout`, `schema`, `validation` and `text`, `struct`. They are one idea, a value and its
description: `struct_layout` is the compiled part of `Schema` that every `Struct` reads, so its types name both
classes.
"""

import hearth_api.python_type  # noqa: F401 - it reads types for `Schema.of`
from hearth_api.builder import SchemaBuilder
from hearth_api.config.config_key import NO_DEFAULT, ConfigKey, Recommender, Validator
from hearth_api.config.definition import ConfigDef
from hearth_api.config.kind import ConfigType, Importance, Width
from hearth_api.config.parser import ClassResolver
from hearth_api.config.password import Password
from hearth_api.config.settings import Settings, key
from hearth_api.config.validator import (
    CaseInsensitiveValidString,
    Composite,
    Lambda,
    ListSize,
    NonEmptyString,
    NonEmptyStringWithoutControlChars,
    NonNull,
    Range,
    Regex,
    ValidList,
    ValidString,
)
from hearth_api.config.value import Config, ConfigValue
from hearth_api.connector import (
    Connector,
    ConnectorContext,
    ConnectorTransactionBoundaries,
    ExactlyOnceSupport,
    SinkConnector,
    SinkConnectorContext,
    SourceConnector,
    SourceConnectorContext,
)
from hearth_api.converter import (
    CONVERTER_TYPE_CONFIG,
    Converter,
    ConverterType,
    HeaderConverter,
    RegisteringConverter,
    SchemaOutlook,
    converter_config_def,
)
from hearth_api.errors import (
    ConfigError,
    ConflictError,
    ConnectError,
    DataError,
    NotFoundError,
    PluginError,
    RetriableError,
    SchemaBuilderError,
    UnknownNameError,
)
from hearth_api.header import Header, Headers
from hearth_api.logical import Date, Decimal, Time, Timestamp
from hearth_api.plugin import UNDEFINED_VERSION, ConnectPlugin
from hearth_api.plugin_metrics import MetricSensor, MetricStat, PluginMetrics, RegisteredMetric
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
from hearth_api.schema_reference import SchemaReference, needs_records
from hearth_api.struct import Struct
from hearth_api.task import (
    ErrantRecordReporter,
    OffsetStorageReader,
    SinkTask,
    SinkTaskContext,
    SourceTask,
    SourceTaskContext,
    Task,
    TransactionBoundary,
    TransactionContext,
)
from hearth_api.transformation import Predicate, Transformation
from hearth_api.validation import is_logical, validate_value

__all__ = [
    "BOOLEAN_SCHEMA",
    "BYTES_SCHEMA",
    "CONVERTER_TYPE_CONFIG",
    "FLOAT32_SCHEMA",
    "FLOAT64_SCHEMA",
    "INT16_SCHEMA",
    "INT32_SCHEMA",
    "INT64_SCHEMA",
    "INT8_SCHEMA",
    "NO_DEFAULT",
    "OPTIONAL_BOOLEAN_SCHEMA",
    "OPTIONAL_BYTES_SCHEMA",
    "OPTIONAL_FLOAT32_SCHEMA",
    "OPTIONAL_FLOAT64_SCHEMA",
    "OPTIONAL_INT16_SCHEMA",
    "OPTIONAL_INT32_SCHEMA",
    "OPTIONAL_INT64_SCHEMA",
    "OPTIONAL_INT8_SCHEMA",
    "OPTIONAL_STRING_SCHEMA",
    "STRING_SCHEMA",
    "UNDEFINED_VERSION",
    "CaseInsensitiveValidString",
    "ClassResolver",
    "Composite",
    "Config",
    "ConfigDef",
    "ConfigError",
    "ConfigKey",
    "ConfigType",
    "ConfigValue",
    "ConflictError",
    "ConnectError",
    "ConnectPlugin",
    "ConnectRecord",
    "Connector",
    "ConnectorContext",
    "ConnectorTransactionBoundaries",
    "Converter",
    "ConverterType",
    "DataError",
    "Date",
    "Decimal",
    "ErrantRecordReporter",
    "ExactlyOnceSupport",
    "Field",
    "Header",
    "HeaderConverter",
    "Headers",
    "Importance",
    "Lambda",
    "ListSize",
    "MetricSensor",
    "MetricStat",
    "NonEmptyString",
    "NonEmptyStringWithoutControlChars",
    "NonNull",
    "NotFoundError",
    "OffsetAndMetadata",
    "OffsetStorageReader",
    "Password",
    "PluginError",
    "PluginMetrics",
    "RegisteredMetric",
    "Predicate",
    "Range",
    "Recommender",
    "RecordMetadata",
    "Regex",
    "RegisteringConverter",
    "RetriableError",
    "Schema",
    "SchemaAndValue",
    "SchemaBuilder",
    "SchemaBuilderError",
    "SchemaOutlook",
    "SchemaReference",
    "Settings",
    "SinkConnector",
    "SinkConnectorContext",
    "SinkRecord",
    "SinkTask",
    "SinkTaskContext",
    "SourceConnector",
    "SourceConnectorContext",
    "SourceRecord",
    "SourceTask",
    "SourceTaskContext",
    "Struct",
    "Task",
    "Time",
    "Timestamp",
    "TimestampType",
    "TopicPartition",
    "TransactionBoundary",
    "TransactionContext",
    "Transformation",
    "Type",
    "UnknownNameError",
    "ValidList",
    "ValidString",
    "Validator",
    "Width",
    "converter_config_def",
    "is_logical",
    "needs_records",
    "key",
    "validate_value",
]
