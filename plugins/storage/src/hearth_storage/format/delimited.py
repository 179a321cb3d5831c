"""Files of delimited values (CSV), which a source reads; sinks do not write them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import BinaryIO

import pyarrow as pa
import pyarrow.csv as arrow_csv

from hearth_api import DataError, Schema
from hearth_api.batch import TableColumn
from hearth_storage.format.format import FileFormat, FormatWriter, Rows

_BLOCK = 4 * 1024 * 1024


class CsvFormat(FileFormat):
    """Rows with a header line: structs of optional strings. An empty field without quotes is null."""

    @property
    def extension(self) -> str:
        """Return `.csv`."""
        return ".csv"

    def writer(self, out: BinaryIO, schema: Schema | None) -> FormatWriter:
        """Raise an error: no reader would know the types of the columns."""
        raise DataError("CsvFormat only reads", hint="write JsonFormat or ParquetFormat")

    def read(self, file: BinaryIO, start: int = 0) -> Iterator[Rows]:
        """Yield the rows below the header line, named by its fields."""
        delimiter = str(self.settings.get("csv.delimiter") or ",")
        names = self._names(file, delimiter)
        file.seek(0)
        options = arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=True, null_values=[""],
            quoted_strings_can_be_null=False,
        )  # fmt: skip
        parsing = arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
        reading = arrow_csv.ReadOptions(block_size=_BLOCK, use_threads=False)
        try:
            with arrow_csv.open_csv(file, reading, parsing, options) as reader:
                for batch in reader:
                    if start < len(batch):
                        part = TableColumn.of(pa.struct(list(batch.schema)), "", is_nullable=False)
                        yield Rows(part.schema, part.convert(batch.slice(start).to_struct_array()))
                    start = max(0, start - len(batch))
        except pa.ArrowInvalid as error:
            raise DataError(f"the CSV file does not parse: {error}") from error

    @staticmethod
    def _names(file: BinaryIO, delimiter: str) -> list[str]:
        """Return the names of the columns by a first reading of the header."""
        lines = io.TextIOWrapper(file, "utf-8-sig", newline="")
        try:
            return next(csv.reader(lines, delimiter=delimiter), [])
        finally:
            lines.detach()
