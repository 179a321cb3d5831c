"""Avro, JSON Schema and Protobuf with a schema registry, as Confluent's converters write and read them.

What all three share: `registry_setting` declares their keys, `wire_format` what stands before a payload, `subject`
under which name a schema is registered; `registry` says what a registry is asked, answered by `http_registry` over
HTTP, by `memory_registry` for `mock://`, and by `cached_registry` for whoever asks again. `registry_converter` puts
these together with a `schema_format`, of which there is one for each of the three.

Avro: `avro_type` is a schema and its text, `avro_parser` reads the text; `avro_schema_writer` and `avro_schema_reader`
turn Connect schemas into such and back, `avro_value_writer` and `avro_value_reader` values one by one (of what
`avro_output`, `avro_input`, `avro_scalar`, `avro_anything` and `avro_skip` have), `avro_column_writer` and
`avro_column_reader` many at once, and `avro_compatibility` tells what a schema can read. `avro_format` has all of it.
"""
