"""Columns of JSON texts: rows that are laid out alike, found, cut and written many at a time. Loads Arrow and numpy.

`template` finds what differs in texts whose constant parts are the same, for who reads JSON. `alike` does so for
columns without schema, where `scalars` stand for what differs and `stretch` writes the values that they are put
together to. `piece` cuts texts and joins them. `rewriting` writes texts anew, whatever they have in common.
"""

from hearth_api.layout.rewriting import Moves, Rewriting, java_lines
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
from hearth_api.layout.uniform_rows import Grouped, GroupedParts, Layouts, UniformRows, in_rows

try:
    from hearth_api.layout.row_text import RowTexts, packed_texts
except ImportError:  # it was not compiled, see hatch_build
    RowTexts = packed_texts = None  # type: ignore[assignment, misc]

__all__ = [
    "UniformRows",
    "Fitting",
    "Grouped",
    "GroupedParts",
    "Known",
    "Layouts",
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
