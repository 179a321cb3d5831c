"""Kafka Connect's JsonConverter: values and schemas as JSON, byte for byte as the Java class writes them.

Each direction exists twice. The plain form handles one value: `value_writer` and `schema_writer` make text,
`tree` reads JSON as Jackson does, `value_reader` and `schema_reader` turn it into Connect values. The form with
columns never looks at single records while they are regular: `column_writer` joins columns to JSON texts, `envelope`
finds the rows that share a schema, and `column_reader` cuts their payloads into columns by a `template` that one of
them gave. Rows that a fast step cannot prove to be equal to the plain form go to the plain form, as do all errors.
"""

from hearth_json.converter import JsonConverter

__all__ = ["JsonConverter"]
