"""The converters of the host keep the contract for all converters."""

from __future__ import annotations

from hearth_api import BYTES_SCHEMA, INT64_SCHEMA, STRING_SCHEMA
from hearth_api.testing import acceptance_tests
from hearth_converters.byte_array import ByteArrayConverter
from hearth_converters.fixed_width import LongConverter
from hearth_converters.string import StringConverter
from hearth_json.converter import JsonConverter

StringTest = acceptance_tests(StringConverter, {}, values=[(STRING_SCHEMA, "é"), (STRING_SCHEMA, None)])
BytesTest = acceptance_tests(ByteArrayConverter, {}, values=[(BYTES_SCHEMA, b"\x00\xff")])
LongTest = acceptance_tests(LongConverter, {}, values=[(INT64_SCHEMA, -(2**63))])
JsonTest = acceptance_tests(
    JsonConverter, {}, values=[(STRING_SCHEMA, "a"), (INT64_SCHEMA, 7), (BYTES_SCHEMA, b"\x00")]
)
