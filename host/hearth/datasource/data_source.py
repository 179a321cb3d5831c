"""The data source ``hearth`` for Spark: its schema, readers and writers."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, DataSourceWriter
from pyspark.sql.types import BinaryType, StringType, StructType, VariantType

from hearth.datasource.data_source_error import instructive
from hearth.datasource.option import Options

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceStreamWriter


class HearthDataSource(DataSource):  # type: ignore[misc]
    """Any connector of plugin.path as a source or sink of DataFrames.

    Spark creates it for each call, in new processes, so it holds only the options and imports what a call needs when
    it is called.
    """

    options: MutableMapping[str, str]

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "hearth"

    def schema(self) -> StructType:
        """Return the columns of a read without a given schema, with the types of the source's first record."""
        from hearth.datasource.planning import planned
        from hearth.datasource.polled_rows import BINARY, JSON, VARIANT, read_options
        from hearth.datasource.schema_probe import first_schemas
        from hearth.datasource.spark_type import read_schema, spark_type
        from hearth.discovery import PluginType

        with instructive():
            options = Options.parse(self.options)
            plans = planned(read_options(options), PluginType.SOURCE).plans
            if not plans:
                return read_schema(StringType(), StringType())
            key, value = first_schemas(plans[0], options.settings.probe_ms)
            forms = {JSON: StringType(), VARIANT: VariantType(), BINARY: BinaryType()}
            return read_schema(spark_type(key), forms.get(options.settings.value) or spark_type(value))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of a batch."""
        from hearth.datasource.batch_read import HearthReader
        from hearth.datasource.spark_type import check_columns

        with instructive():
            check_columns(schema)
        return HearthReader(self.options, schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  (Spark's name)
        """Return the reader of a stream."""
        from hearth.datasource.spark_type import check_columns
        from hearth.datasource.stream_read import HearthStreamReader

        with instructive():
            check_columns(schema)
        return HearthStreamReader(self.options, schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Return the writer of a batch."""
        from hearth.datasource.write import batch_writer

        return batch_writer(self.options, schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802  (Spark's name)
        """Return the writer of a query's micro-batches."""
        from hearth.datasource.write import stream_writer

        return stream_writer(self.options, schema, overwrite)
