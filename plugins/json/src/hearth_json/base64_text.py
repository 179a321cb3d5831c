"""Base64 as Jackson reads it: padding is required, white space may stand between groups of four characters."""

from __future__ import annotations

import binascii
import re

_USUAL = re.compile("(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_GROUP = "[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}=="
_LENIENT = re.compile(f"(?:[\x00-\x20]*(?:{_GROUP}))*[\x00-\x20]*")
_GROUPS = re.compile(_GROUP)


def from_base64(text: str) -> bytes:
    """Return the bytes of a base64 text; a ValueError when it is none."""
    if _USUAL.fullmatch(text):
        return binascii.a2b_base64(text)
    if not _LENIENT.fullmatch(text):
        raise ValueError("not base64")
    return b"".join(map(binascii.a2b_base64, _GROUPS.findall(text)))
