"""Reads the header of a Java class file: its name, what it extends, and whether a plugin can be created from it."""

from __future__ import annotations

import struct
import sys
from typing import NamedTuple

from hearth.discovery.bundle_limits import MAX_PATH
from hearth.discovery.refusal import BundleError

PUBLIC, INTERFACE, ABSTRACT = 0x0001, 0x0200, 0x0400
_MAGIC = b"\xca\xfe\xba\xbe"
_UTF8, _CLASS = 1, 7
_SIZES = {3: 5, 4: 5, 5: 9, 6: 9, 7: 3, 8: 3, 9: 5, 10: 5, 11: 5, 12: 5, 15: 4, 16: 3, 17: 5, 18: 5, 19: 3, 20: 3}
"""Size in bytes of each kind of constant, with its tag."""
_WIDE = (5, 6)
"""Tags of long and double, which take two places in the constant pool."""
_FIRST_RELEASE = 44
"""Java N writes class files of major version 44 + N."""


class ClassHeader(NamedTuple):
    """What a class file says about its class; names are in the form ``java/lang/Object``."""

    name: str
    parents: tuple[str, ...]
    """The class that it extends and the interfaces that it implements."""
    flags: int
    release: int
    """The Java release that the class needs, such as 17."""

    @property
    def is_concrete(self) -> bool:
        """Return whether other packages can create objects of the class."""
        return self.flags & (PUBLIC | INTERFACE | ABSTRACT) == PUBLIC


def read_header(data: bytes) -> ClassHeader:
    """Read a class file up to its interfaces; raise ``BundleError`` if it is none."""
    try:
        places, place = _constants(data)
        flags, own, above, count = struct.unpack_from(">4H", data, place)
        interfaces = struct.unpack_from(f">{count}H", data, place + 8)
        parents = tuple(_class_name(data, places, each) for each in (above, *interfaces) if each)
        (major,) = struct.unpack_from(">H", data, 6)
        return ClassHeader(_class_name(data, places, own), parents, flags, max(1, major - _FIRST_RELEASE))
    except (struct.error, LookupError, ValueError) as error:
        raise _damaged(error) from error


def has_public_constructor(data: bytes) -> bool:
    """Return whether a class has a public constructor without parameters; raise ``BundleError`` for a damaged file."""
    try:
        places, place = _constants(data)
        (interfaces,) = struct.unpack_from(">H", data, place + 6)
        place = _after_members(data, place + 8 + 2 * interfaces)
        (methods,) = struct.unpack_from(">H", data, place)
        place += 2
        for _ in range(methods):
            flags, name, kind = struct.unpack_from(">3H", data, place)
            if flags & PUBLIC and _text(data, places[name]) == b"<init>" and _text(data, places[kind]) == b"()V":
                return True
            place = _after_attributes(data, place + 6)
    except (struct.error, LookupError, ValueError) as error:
        raise _damaged(error) from error
    return False


def _constants(data: bytes) -> tuple[list[int], int]:
    """Return the offsets of the constants by number, and the offset after them."""
    if data[:4] != _MAGIC:
        raise ValueError("it does not start as a class file")
    place, number, count = 10, 1, data[8] << 8 | data[9]
    places = [0] * count
    while number < count:
        places[number] = place
        tag = data[place]
        if tag == _UTF8:
            place += 3 + (data[place + 1] << 8 | data[place + 2])
        else:
            place += _SIZES[tag]
            number += tag in _WIDE
        number += 1
    return places, place


def _class_name(data: bytes, places: list[int], number: int) -> str:
    place = places[number]
    if not place or data[place] != _CLASS:
        raise ValueError("it names a class by an entry that is not a class")
    found = _text(data, places[data[place + 1] << 8 | data[place + 2]])
    if len(found) > MAX_PATH:
        raise ValueError(f"it has a name of {len(found)} bytes")
    return sys.intern(found.decode("utf-8", "replace"))  # many classes name the same ones


def _text(data: bytes, place: int) -> bytes:
    if not place or data[place] != _UTF8:
        raise ValueError("it has a name that is no text")
    end = place + 3 + (data[place + 1] << 8 | data[place + 2])
    if end > len(data):
        raise ValueError("it ends too early")
    return data[place + 3 : end]


def _after_members(data: bytes, place: int) -> int:
    """Return the offset after a list of fields or methods."""
    (count,) = struct.unpack_from(">H", data, place)
    place += 2
    for _ in range(count):
        place = _after_attributes(data, place + 6)
    return place


def _after_attributes(data: bytes, place: int) -> int:
    (count,) = struct.unpack_from(">H", data, place)
    place += 2
    for _ in range(count):
        (size,) = struct.unpack_from(">I", data, place + 2)
        place += 6 + size
    return place


def _damaged(error: Exception) -> BundleError:
    reason = str(error) if isinstance(error, ValueError) else "it ends too early, or names what it does not have"
    return BundleError(f"it is no class file that Java can load ({reason})", hint="get the jar again from its author")
