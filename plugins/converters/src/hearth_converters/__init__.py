"""Kafka Connect's converters for text, bytes, numbers and booleans, and its converter for headers.

`string` and `byte_array` convert keys, values and headers, single values or whole columns; between binary and text a
column changes its type and nothing is copied. So do those of `fixed_width`, one for each size of number and one for
booleans; `big_endian` turns the bytes of their columns round. `simple_header` guesses the type of a header from its
text. `charset` holds what Java's encodings do differently from Python's.
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
