"""Encodings under the names Java gives them, and with the bytes Java writes.

What cannot be encoded becomes a question mark, what cannot be decoded becomes U+FFFD, as often as in Java.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from hearth_api import ConfigError

_REPLACE = "hearth_converters.replace"
_UNPAIRED = "illegal UTF-16 surrogate"
"""Why Python refuses the first half of a pair behind which no other half stands."""
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")


@dataclass(frozen=True)
class Charset:
    """One encoding: how to write it, and how to read it when there is no byte order mark."""

    name: str
    is_utf8: bool
    writes: str
    reads: str
    mark: bytes = b""

    def encode(self, text: str) -> bytes:
        """Return the bytes of a text; only one in which something is has a byte order mark."""
        return self.mark + text.encode(self.writes, "replace") if text else b""

    def decode(self, data: bytes) -> str:
        """Return the text of bytes."""
        if self.is_utf8:
            return data.decode("utf-8", _REPLACE)
        reads = self.reads
        # Java takes UTF-16 and UTF-32 without byte order mark for big-endian, Python for what the machine is.
        if reads in ("utf-16", "utf-32") and not data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            reads += "-be"
        return data.decode(reads, _REPLACE if reads.startswith("utf-16") else "replace")


def charset(name: str) -> Charset:
    """Return the encoding of a name; an unknown one raises a ConfigError."""
    try:
        known = codecs.lookup(name)
        is_text = "a".encode(name).decode(name) == "a"
    except (LookupError, UnicodeError, ValueError) as error:
        raise ConfigError(f"Unsupported encoding {name}") from error
    if not is_text:
        raise ConfigError(f"Unsupported encoding {name}")
    if known.name == "utf-16":
        return Charset(name, False, "utf-16-be", "utf-16", codecs.BOM_UTF16_BE)
    if known.name == "utf-32":
        return Charset(name, False, "utf-32-be", "utf-32")
    return Charset(name, known.name == "utf-8", known.name, known.name)


def _replace(error: UnicodeError) -> tuple[str, int]:
    """Replace what cannot be read by one mark.

    For Java a surrogate in UTF-8 is one error and not three, and in UTF-16 the first half of a pair takes along what
    stands in the place of the other.
    """
    if not isinstance(error, UnicodeDecodeError):
        raise error
    if error.encoding.startswith("utf-16"):
        return "\ufffd", error.end + (2 if error.reason == _UNPAIRED else 0)
    surrogate = _SURROGATE.match(error.object, error.start)
    return "\ufffd", error.end if surrogate is None else surrogate.end()


codecs.register_error(_REPLACE, _replace)
