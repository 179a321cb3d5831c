"""Java's rules, for the host and for plugins that must match a Java class to the letter.

It covers the text of numbers, values and records, the iteration order of Java's maps, Java's regular expressions and
property files, Kafka Connect's conversions between values (`Values`), its projection of one schema onto another, and
the JSON of stored offsets, schemas and configuration definitions.

Value text, numbers and expressions are defined in lower modules, because the author classes' messages use them;
everything else here is built on these classes.
"""

from hearth_api.calendar import Day, day_number, day_of
from hearth_api.config.parser import parse_type, trimmed
from hearth_api.errors import SchemaProjectorError
from hearth_api.java.config_json import config_def_to_json, config_key_to_json, config_value_to_json
from hearth_api.java.conversion import (
    convert_to,
    convert_to_boolean,
    convert_to_date,
    convert_to_decimal,
    convert_to_list,
    convert_to_map,
    convert_to_string,
    convert_to_struct,
    convert_to_time,
    convert_to_timestamp,
)
from hearth_api.java.hash_order import ByKeys, hash_ordered, json_ordered
from hearth_api.java.inference import infer_schema, java_class
from hearth_api.java.java_properties import parse_properties
from hearth_api.java.offset_json import offset_to_json, offsets_to_json
from hearth_api.java.physical import from_physical, to_physical
from hearth_api.java.projector import project
from hearth_api.java.record_text import record_text
from hearth_api.java.scalar import (
    convert_to_float32,
    convert_to_float64,
    convert_to_int8,
    convert_to_int16,
    convert_to_int32,
    convert_to_int64,
)
from hearth_api.java.schema_json import schema_from_json, schema_from_text, schema_to_json, schema_to_text
from hearth_api.java.values import parse_string, parse_strings
from hearth_api.number import decimal_to_float32, to_long, wrap
from hearth_api.pattern.error import PatternError
from hearth_api.pattern.expression import compile_pattern
from hearth_api.pattern.replacement import compile_replacement
from hearth_api.text import double_text, float_text, java_text

__all__ = [
    "ByKeys",
    "Day",
    "PatternError",
    "SchemaProjectorError",
    "compile_pattern",
    "compile_replacement",
    "config_def_to_json",
    "config_key_to_json",
    "config_value_to_json",
    "convert_to",
    "convert_to_boolean",
    "convert_to_date",
    "convert_to_decimal",
    "convert_to_float32",
    "convert_to_float64",
    "convert_to_int16",
    "convert_to_int32",
    "convert_to_int64",
    "convert_to_int8",
    "convert_to_list",
    "convert_to_map",
    "convert_to_string",
    "convert_to_struct",
    "convert_to_time",
    "convert_to_timestamp",
    "day_number",
    "day_of",
    "decimal_to_float32",
    "double_text",
    "float_text",
    "from_physical",
    "hash_ordered",
    "infer_schema",
    "java_class",
    "java_text",
    "json_ordered",
    "offset_to_json",
    "offsets_to_json",
    "parse_properties",
    "parse_string",
    "parse_strings",
    "parse_type",
    "project",
    "record_text",
    "schema_from_json",
    "schema_from_text",
    "schema_to_json",
    "schema_to_text",
    "to_long",
    "to_physical",
    "trimmed",
    "wrap",
]
