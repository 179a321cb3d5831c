"""A file format: how columns become a file, and a file columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, NamedTuple

from hearth_api import Schema, Settings

FORMAT = "hearth_storage.format.format:FileFormat"
"""The class of formats, as `class_choice` names it."""
FORMATS = {
    "AvroFormat": "hearth_storage.format.avro:AvroFormat",
    "JsonFormat": "hearth_storage.format.json_lines:JsonFormat",
    "ParquetFormat": "hearth_storage.format.parquet:ParquetFormat",
    "ByteArrayFormat": "hearth_storage.format.text:ByteArrayFormat",
    "StringFormat": "hearth_storage.format.text:StringFormat",
}
"""Confluent's names of formats, and the classes here."""


class FormatWriter(ABC):
    """Writes columns of one schema to a file. Used by one thread at a time."""

    @abstractmethod
    def write(self, column: Any) -> None:
        """Write a column, an Arrow array of `hearth_api.batch.arrow_type(schema)`.

        Raises `DataError` for a value that the format cannot hold, and has then written nothing of the column.
        """

    @property
    @abstractmethod
    def size(self) -> int:
        """Return the bytes written so far, with an estimate of those that wait to be encoded."""

    @abstractmethod
    def close(self) -> None:
        """Complete the file; the file object stays open."""


class Rows(NamedTuple):
    """Consecutive rows of a file: their schema, None for schemaless, and an Arrow array of its type."""

    schema: Schema | None
    column: Any


def given_values(settings: Settings) -> dict[str, Any]:
    """Return the keys for formats: parsed, or as they are where the settings do not declare them."""
    given = {**settings.originals, **settings.parsed}
    separator = "format.bytearray.separator"
    if separator in settings.originals:  # parsing takes white space away
        given[separator] = settings.originals[separator]
    return given


class FileFormat(ABC):
    """A format with its settings; made once for each task and shared by its threads.

    The constructor takes the parsed settings of the connector, a mapping of a key's name to its value, such as
    `{"parquet.codec": "snappy", "connect.meta.data": True}`. It raises `ConfigError` for values that do not fit, with
    key, value and remedy.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.settings = settings

    @property
    @abstractmethod
    def extension(self) -> str:
        """Return how names of files end, such as `.snappy.parquet`."""

    @abstractmethod
    def writer(self, out: BinaryIO, schema: Schema | None) -> FormatWriter:
        """Return a writer of a new file of a schema, None for schemaless values (Arrow texts of JSON).

        `out` can only write and tell. A column of keys, of values or of headers is written the same way, to a file of
        its own. Raises `DataError` for a schema that the format cannot hold.
        """

    def check(self, schema: Schema | None, column: Any) -> None:
        """Raise `DataError` for values that no file can hold, before records wait; `writer` has taken the schema."""
        return

    @abstractmethod
    def read(self, file: BinaryIO, start: int = 0) -> Iterator[Rows]:
        """Yield the rows of a file, from row `start` on; `file` can seek."""
