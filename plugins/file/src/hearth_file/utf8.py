"""UTF-8 as Java decodes it."""

from __future__ import annotations

import codecs
import re

_ERRORS = "hearth_file.java"
# A surrogate that was encoded like any other character: Java replaces it as a whole, Python byte by byte.
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")


def decode(data: bytes) -> str:
    """Return the text, with U+FFFD where and as often as Java puts it for bytes that are no UTF-8."""
    return data.decode("utf-8", _ERRORS)


def _replace(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    surrogate = _SURROGATE.match(error.object, error.start)
    return "\N{REPLACEMENT CHARACTER}", surrogate.end() if surrogate else error.end


codecs.register_error(_ERRORS, _replace)
