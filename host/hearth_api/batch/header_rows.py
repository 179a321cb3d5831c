"""Builds the headers of many records from one column of lists, which `header_list` describes."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import islice
from typing import Any

from hearth_api.batch import arrow as pa
from hearth_api.batch.column import numbers
from hearth_api.batch.header_list import MOMENTS, grouped, repeats, ungrouped
from hearth_api.batch.plain_value import is_plain
from hearth_api.batch.wire import plain_values, strict_json
from hearth_api.header import Header, Headers
from hearth_api.java.physical import from_physical
from hearth_api.java.schema_json import schema_from_text
from hearth_api.number import narrow
from hearth_api.schema import Schema, Type

try:
    from hearth_api.batch.header_row_loop import Kind, Texts, build_rows
except ImportError:  # not compiled, see hatch_build
    build_rows = None  # type: ignore[assignment]

_NUMBERS = (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64)
_TRUTHS: dict[str | None, bool | None] = {"true": True, "false": False, None: None}
_OF_NUMBERS = "0123456789+-.eE,"


def column_to_headers(column: Any) -> list[Headers | None]:
    """Return the headers of several records from a column; None if a record has none.

    Headers of all records are built at once: building them on first access to each would cost twice as much.
    """
    return BUILD(column)


def build_by_loop(column: Any) -> list[Headers | None]:
    """Build headers in the compiled loop."""
    if len(column) == 0:
        return []
    entries = column.values
    parts = [_strings(entries.field(name)) for name in ("key", "schema", "value")]
    names, schemas, values = map(_texts, parts)
    validity, offsets = column.buffers()[:2]
    return build_rows(
        len(column), offsets.address, _address(validity), column.offset, names, schemas, values, _kind, _values
    )


def build_one_by_one(column: Any) -> list[Headers | None]:
    """Build headers without compiled code."""
    lengths = numbers("i", pa.compute.fill_null(pa.compute.list_value_length(column), 0))
    entries = column.flatten()
    names, keys = _encoded(entries.field("key"))
    schemas, codes = _encoded(entries.field("schema"))
    kinds = [None if text is None else schema_from_text(text) for text in schemas]
    groups = grouped(codes, len(kinds), entries.field("value").to_pylist())
    values = ungrouped(codes, [_values(schema, group) for schema, group in zip(kinds, groups)])
    made = map(Header, map(names.__getitem__, keys), map(kinds.__getitem__, codes), values)
    return [Headers(islice(made, length)) if length else None for length in lengths]


BUILD = build_one_by_one if build_rows is None else build_by_loop


def header_values(schema: Schema | None, texts: Any) -> list[Any]:
    """Return the values of texts made by `header_texts`."""
    return _values(schema, texts.to_pylist())


def _encoded(column: Any) -> tuple[list[Any], Sequence[int]]:
    """Return the different texts of a column and the code of each row."""
    if len(column) and repeats(column, 1):
        return [column[0].as_py()], [0] * len(column)
    coded = column.dictionary_encode("encode")
    return coded.dictionary.to_pylist(), numbers("i", coded.indices)


def _kind(text: str | None) -> Kind:
    """Return the kind of the values of a schema's text."""
    schema = None if text is None else schema_from_text(text)
    return Kind(schema, _letter(schema))


def _letter(schema: Schema | None) -> str:
    if schema is None:
        return "o"
    if schema.type is Type.STRING:
        return "u"
    if schema._kind is float:
        return "f" if schema.type is Type.FLOAT32 else "d"
    return "i" if schema._kind is int else "?" if schema._kind is bool else "o"


def _strings(column: Any) -> Any:
    return column if column.type == pa.string() else column.cast(pa.string())


def _texts(column: Any) -> Texts:
    validity, offsets, data = column.buffers()
    return Texts(_address(data), _address(offsets), _address(validity), column.offset)


def _address(buffer: Any) -> int:
    return 0 if buffer is None else int(buffer.address)


def _values(schema: Schema | None, texts: list[str | None]) -> list[Any]:
    """Return the values of texts of one schema."""
    if schema is None:
        return _plain_values(texts)
    if schema.type is Type.STRING:
        return texts
    if schema._kind is bool and _TRUTHS.keys() >= set(texts):
        return [*map(_TRUTHS.__getitem__, texts)]
    if schema.type in _NUMBERS:
        present = [text for text in texts if text is not None] if None in texts else texts
        if (numbers := _numbers(schema, present)) is not None:
            each = iter(numbers)
            return numbers if present is texts else [None if text is None else next(each) for text in texts]
    found = [value if is_plain(schema, value) else from_physical(schema, value) for value in _plain_values(texts)]
    is_narrow = schema.type is Type.FLOAT32
    return [value if value is None else narrow(value) for value in found] if is_narrow else found


def _plain_values(texts: list[str | None]) -> list[Any]:
    return plain_values(["null" if text is None else text for text in texts])


def _numbers(schema: Schema, texts: list[Any]) -> list[Any] | None:
    """Return the numbers of JSON texts, or the moments they stand for; None if one of them is not a number.

    The number of a FLOAT32 is the 32-bit float nearest to the 64-bit float that its text denotes.
    """
    if schema._kind is int:
        return [*map(int, texts)]
    joined = ",".join(texts)
    if joined.strip(_OF_NUMBERS):
        return None
    try:
        found: list[Any] = strict_json(f"[{joined}]")
    except ValueError:
        return None
    if len(found) != len(texts):
        return None
    if schema.type is Type.FLOAT32:
        return array("f", found).tolist()
    if schema.name in MOMENTS:
        to_logical = MOMENTS[schema.name][0].to_logical
        return [to_logical(schema, number) for number in found]
    return found
