"""Refuses data without schema, for formats that cannot write it."""

from __future__ import annotations

from typing import Any

from hearth_api import DataError
from hearth_registry.schema_format import PayloadWriter


class SchemalessWriter(PayloadWriter):
    """A writer that refuses every value, since the format requires a schema."""

    def __init__(self, form: str) -> None:
        """Set the name of the format."""
        self._form = form

    def payload(self, value: Any) -> bytes:
        """Raise a DataError."""
        raise DataError(
            f"data without a schema cannot be written with {self._form}, which requires a schema",
            hint="use org.apache.kafka.connect.json.JsonConverter with schemas.enable=false",
        )
