"""Columns of JSON texts: finds rows with the same layout, and splits and writes many at a time. Loads Arrow and numpy.

`template` finds the varying parts of texts whose constant parts are the same, for JSON readers. `uniform_rows` does so
for schemaless columns, with `scalars` in place of the varying parts; `stretch` writes the values composed of them.
`spans` cuts texts and joins them. `rewriting` rewrites texts of any layout, and
`map_members` reads and replaces a few members of their maps.
"""

from hearth_api.layout.map_members import MapMembers, MemberGroup
from hearth_api.layout.rewriting import Moves, Rewriting, flattened, java_lines
from hearth_api.layout.scalars import ScalarsOfColumn
from hearth_api.layout.spans import (
    Spans,
    address_of,
    as_string,
    chosen,
    constant,
    copied,
    join,
    memory,
    nulled,
    number_type,
    replaced,
    rows_of,
)
from hearth_api.layout.stretch import to_texts
from hearth_api.layout.template import Fitting, Known, NoTemplateError, Payloads, Template, Walker, are_few, cut
from hearth_api.layout.uniform_rows import Layouts, UniformRows, in_rows

try:
    from hearth_api.layout.row_text import RowTexts, packed_texts
except ImportError:  # not compiled, see hatch_build
    RowTexts = packed_texts = None  # type: ignore[assignment, misc]

__all__ = [
    "UniformRows",
    "Fitting",
    "Known",
    "Layouts",
    "MapMembers",
    "MemberGroup",
    "ScalarsOfColumn",
    "Moves",
    "NoTemplateError",
    "Payloads",
    "Rewriting",
    "RowTexts",
    "Spans",
    "Template",
    "Walker",
    "address_of",
    "are_few",
    "as_string",
    "chosen",
    "constant",
    "copied",
    "cut",
    "flattened",
    "in_rows",
    "java_lines",
    "join",
    "memory",
    "nulled",
    "number_type",
    "packed_texts",
    "replaced",
    "rows_of",
    "to_texts",
]
