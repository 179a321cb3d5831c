"""Kafka Connect's JsonConverter: values and schemas as JSON, byte for byte as the Java class writes them.

Each direction has two forms. The plain form converts one value: `value_writer` and `schema_writer` write text, `tree`
parses JSON as Jackson does, `value_reader` and `schema_reader` turn it into Connect values. The column form does not
access single records while they are regular: `column_writer` joins columns to JSON texts, `envelope` finds the rows
that share a schema, and `column_reader` splits their payloads into columns by a `layout` learned from one of them.
Rows for which a fast step may differ from the plain form, and all errors, are left to the plain form.
"""

from hearth_json.converter import JsonConverter

__all__ = ["JsonConverter"]
