"""Gives a Parquet file the schema and the metadata that Java's writer would have put into its footer.

Arrow's writer names and annotates columns by its own types. The bytes of the columns are those of any schema with the
same columns and levels, so only the footer differs.
"""

from __future__ import annotations

from collections.abc import Mapping

from hearth_storage.format.compact_protocol import BINARY, LIST, STRUCT, CompactReader, Fields, struct_bytes
from hearth_storage.format.parquet_element import Element

MAGIC = b"PAR1"
TRAILER = 8
"""Bytes after the footer: its length and the magic number."""
_SCHEMA, _ROW_GROUPS, _KEY_VALUES = 2, 4, 5
_COLUMNS, _COLUMN_META, _PATH = 1, 3, 3


def footer_size(end: bytes) -> int:
    """Return the size of the footer, without the trailer, by the last bytes of a file."""
    return int.from_bytes(end[-TRAILER:-4], "little")


def rewritten(footer: bytes, root: Element, key_values: Mapping[str, str]) -> bytes:
    """Return a footer, with its trailer, with another schema of the same columns and other key-value metadata."""
    fields = CompactReader(footer).struct()
    fields[_SCHEMA] = (LIST, (STRUCT, list(root.forms())))
    pairs: list[Fields] = [
        {1: (BINARY, name.encode()), 2: (BINARY, value.encode())} for name, value in key_values.items()
    ]
    fields[_KEY_VALUES] = (LIST, (STRUCT, pairs))
    paths = [[name.encode() for name in path] for path, _ in root.leaves()]
    for group in fields[_ROW_GROUPS][1][1]:
        columns = group[_COLUMNS][1][1]
        for column, path in zip(columns, paths, strict=True):
            column[_COLUMN_META][1][_PATH] = (LIST, (BINARY, path))
    made = struct_bytes(dict(sorted(fields.items())))
    return made + len(made).to_bytes(4, "little") + MAGIC
