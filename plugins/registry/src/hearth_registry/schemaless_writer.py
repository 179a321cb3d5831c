"""Data without schema, for the formats that have no way to write it."""

from __future__ import annotations

from typing import Any

from hearth_api import DataError
from hearth_registry.schema_format import PayloadWriter


class SchemalessWriter(PayloadWriter):
    """Writes nothing: a format that has to be told of what kind a value is cannot write one of no kind."""

    def __init__(self, form: str) -> None:
        """Take the name of the format."""
        self._form = form

    def payload(self, value: Any) -> bytes:
        """Raise a DataError."""
        raise DataError(
            f"data without a schema cannot be written with {self._form}, which has to be told of what kind it is",
            hint="use org.apache.kafka.connect.json.JsonConverter with schemas.enable=false",
        )
