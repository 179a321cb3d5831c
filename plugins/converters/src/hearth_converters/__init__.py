"""Kafka Connect's converters for strings, bytes, numbers and booleans, and its header converter.

`string` and `byte_array` convert keys, values and headers, as single values or columns; between binary and string a
column changes its type without a copy. `fixed_width` has one converter for each number type and one for booleans, and
`big_endian` swaps the bytes of their columns. `simple_header` infers the type of a header from its text. `charset`
reproduces Java's encodings where they differ from Python's.
"""

from hearth_converters.byte_array import ByteArrayConverter
from hearth_converters.fixed_width import (
    BooleanConverter,
    DoubleConverter,
    FloatConverter,
    IntegerConverter,
    LongConverter,
    ShortConverter,
)
from hearth_converters.simple_header import SimpleHeaderConverter
from hearth_converters.string import StringConverter

__all__ = [
    "BooleanConverter",
    "ByteArrayConverter",
    "DoubleConverter",
    "FloatConverter",
    "IntegerConverter",
    "LongConverter",
    "ShortConverter",
    "SimpleHeaderConverter",
    "StringConverter",
]
