"""Regular expressions as Java writes them, which is how Kafka Connect's configurations write them.

They are translated into Python's own kind once, so matching runs at full speed: `syntax` holds the
grammar on top of `bracket` (classes) and `reader` (escapes), `charset` the named sets, `replacement`
what replaces a match.
"""

from __future__ import annotations

from hearth_api.pattern.error import PatternError
from hearth_api.pattern.expression import compile_pattern
from hearth_api.pattern.replacement import Replacement, compile_replacement

__all__ = ["PatternError", "Replacement", "compile_pattern", "compile_replacement"]
