"""Encodings with Java's names and Java's bytes.

Characters that cannot be encoded become question marks; bytes that cannot be decoded become U+FFFD exactly as in Java.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from hearth_api import ConfigError

_REPLACE = "hearth_converters.replace"
_UNPAIRED = "illegal UTF-16 surrogate"
"""Python's reason for refusing a high surrogate without a low one."""
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")


@dataclass(frozen=True)
class Charset:
    """An encoding: how to write it, and how to read it without a byte order mark."""

    name: str
    is_utf8: bool
    writes: str
    reads: str
    mark: bytes = b""

    def encode(self, text: str) -> bytes:
        """Encode a string; an empty one gets no byte order mark."""
        return self.mark + text.encode(self.writes, "replace") if text else b""

    def decode(self, data: bytes) -> str:
        """Decode bytes."""
        if self.is_utf8:
            return data.decode("utf-8", _REPLACE)
        reads = self.reads
        # Java reads UTF-16 and UTF-32 without byte order mark as big-endian, Python in the machine's byte order.
        if reads in ("utf-16", "utf-32") and not data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            reads += "-be"
        return data.decode(reads, _REPLACE if reads.startswith("utf-16") else "replace")


def charset(name: str) -> Charset:
    """Return the encoding with a name; raise ConfigError for an unknown one."""
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
    """Replace an undecodable sequence by one U+FFFD.

    In Java an encoded surrogate in UTF-8 is one error instead of three, and in UTF-16 an unpaired high surrogate
    consumes the code unit after it.
    """
    if not isinstance(error, UnicodeDecodeError):
        raise error
    if error.encoding.startswith("utf-16"):
        return "\ufffd", error.end + (2 if error.reason == _UNPAIRED else 0)
    surrogate = _SURROGATE.match(error.object, error.start)
    return "\ufffd", error.end if surrogate is None else surrogate.end()


codecs.register_error(_REPLACE, _replace)
