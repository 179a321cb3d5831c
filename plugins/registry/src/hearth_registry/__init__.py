"""Avro, JSON Schema and Protobuf converters with a schema registry, compatible with Confluent's.

The common part: `registry_setting` declares the keys, `wire_format` encodes the prefix of a payload, `subject` finds
the name that a schema is registered under. `registry` is the interface of a registry, implemented by `http_registry`,
by `memory_registry` for `mock://`, and by `cached_registry` as a cache. `registry_converter` combines these with a
`schema_format`, of which there is one for each of the three formats.

Avro: `avro_type` models a schema and prints its text, `avro_parser` parses it. `avro_schema_writer` and
`avro_schema_reader` convert Connect schemas to Avro and back; `avro_value_writer` and `avro_value_reader` convert
single values (with `avro_output`, `avro_input`, `avro_scalar`, `avro_anything` and `avro_skip`);
`avro_column_writer` and `avro_column_reader` convert columns; `avro_compatibility` compares schemas. `avro_format`
combines all of these.
"""
