"""Properties files, read exactly as `java.util.Properties.load(InputStream)` reads them.

A file is ISO-8859-1, whatever the author's editor uses: Kafka's tools read it so, and a configuration must mean the
same here. Other characters are written as `\\uXXXX`. The one exception is a file with a byte order mark, which is read
in that encoding: Java would read the mark as part of the first key.
"""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from pathlib import Path

from hearth_api import ConfigError
from hearth_api.java import parse_properties

_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def load(path: Path) -> dict[str, str]:
    """Return the keys and values of a file; raises `ConfigError`, with the file's name, for a bad one."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(
            f"{path}: {(error.strerror or str(error)).lower()}",
            code="properties.unreadable",
            hint="use a readable file of key=value lines",
        ) from error
    return parse(data, str(path))


def parse(data: bytes, source: str = "<bytes>") -> dict[str, str]:
    """Return the keys and values in `data`; `source` names it in errors."""
    return parse_properties(_text(data, source), source)


def render(entries: Mapping[str, str]) -> str:
    """Return ASCII text that `parse` and Java read as these entries."""
    lines = (f"{_escape(key, ' =:#!')}={_escape(value, '')}\n" for key, value in entries.items())
    return "".join(lines)


def _text(data: bytes, source: str) -> str:
    for mark, encoding in _MARKS.items():
        if data.startswith(mark):
            try:
                return data[len(mark) :].decode(encoding)
            except UnicodeDecodeError as error:
                raise ConfigError(
                    f"{source} has a byte order mark but is not {encoding}: {error.reason} at byte {error.start}",
                    code="properties.encoding",
                    hint="save it as UTF-8, or without a byte order mark",
                ) from error
    return data.decode("latin-1")


def _escape(text: str, special: str) -> str:
    """Escape a leading space, `special` characters, control characters and everything beyond ASCII."""
    units = text.encode("utf-16-be", "surrogatepass")
    written: list[str] = []
    for high, low in zip(units[::2], units[1::2], strict=True):
        character = chr(high << 8 | low)
        if character == "\\" or character in special or (character == " " and not written):
            written.append("\\" + character)
        elif " " <= character <= "~":
            written.append(character)
        else:
            written.append(f"\\u{high:02x}{low:02x}")
    return "".join(written)
