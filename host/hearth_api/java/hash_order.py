"""The order in which Java iterates a map, which shows wherever Kafka Connect writes one as text or JSON.

`java.util.HashMap` (OpenJDK 17) goes through its buckets, and through the entries of one bucket as they came. The
bucket of a key is its hash cut to the size of the table, a power of two that doubles above three quarters full.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeVar

from hearth_api.schema import Schema, Type

T = TypeVar("T")

_USUAL_TABLE = 16
# Records have the same few fields again and again; a large map has keys of its own.
_MOST_REMEMBERED = 64
_MOST_SHAPES, _MOST_HASHES = 4_000, 10_000
_SHORT = 100
"""The hash of so long a text is remembered."""
_TEXTS = {str}
"""The types of keys by which something is remembered: 1 and True are equal keys, and are not in Java."""
_NESTED = {dict, list}
_MASK = 0xFFFF_FFFF


def hash_ordered(
    entries: Mapping[Any, Any],
    key_schema: Schema | None = None,
    copied: int | None = None,
    capacity: int | None = None,
) -> dict[Any, Any]:
    """Return the entries in the order of a HashMap to which they were put one after the other.

    Where the map began as a copy of another (`new HashMap<>(map)`), `copied` is the number of that one's entries,
    which tells how large the table was; one made for a number of entries (`new HashMap<>(n)`) has that `capacity`.
    Keys without a schema that are integers are hashed as INT64.
    """
    if len(entries) < 2:
        return dict(entries)
    keys = tuple(entries)
    if key_schema is None or key_schema.type is Type.STRING:
        order = (_new_orders if copied is None and capacity is None else _orders(copied, capacity))[keys]
    else:
        order = _ordered(keys, key_schema.type, copied, capacity)
    return dict(entries) if order is None else {key: entries[key] for key in order}


class ByKeys(dict["tuple[Any, ...]", T]):
    """What a function makes of the keys of a map, remembered where these are a few texts.

    Maps of the same keys come again and again, however many shapes there are.
    """

    def __init__(self, make: Callable[[tuple[Any, ...]], T]) -> None:
        """Take the function."""
        super().__init__()
        self._make = make

    def __missing__(self, keys: tuple[Any, ...]) -> T:
        """Ask the function."""
        made = self._make(keys)
        if len(keys) <= _MOST_REMEMBERED and _TEXTS.issuperset(map(type, keys)):
            if len(self) >= _MOST_SHAPES:
                self.clear()
            self[keys] = made
        return made


@lru_cache(maxsize=_MOST_REMEMBERED)
def _orders(copied: int | None, capacity: int | None) -> ByKeys[tuple[Any, ...] | None]:
    """Return what tells the order of keys, None where they are in it."""
    return ByKeys(lambda keys: _ordered(keys, None, copied, capacity))


_new_orders = _orders(None, None)


def json_ordered(value: Any) -> Any:
    """Return a value of JSON whose objects, at any depth, have the order of new HashMaps; lists are changed."""
    if type(value) is dict:
        order = _new_orders[tuple(value)]
        if order is not None:
            value = {key: value[key] for key in order}
        for key, item in value.items():
            if type(item) in _NESTED:
                value[key] = json_ordered(item)
    elif type(value) is list and not _NESTED.isdisjoint(map(type, value)):
        value[:] = map(json_ordered, value)
    return value


def _ordered(
    keys: tuple[Any, ...], type_: Type | None, copied: int | None, capacity: int | None
) -> tuple[Any, ...] | None:
    """Return keys in their order, None where they are in it."""
    size = _table_size(len(keys), _first_table(copied, capacity))
    order = tuple(sorted(keys, key=lambda key: _spread(_hash(key, type_)) & (size - 1)))
    return None if order == keys else order


def _first_table(copied: int | None, capacity: int | None) -> int:
    if copied:
        capacity = int(copied / 0.75 + 1)
    return _USUAL_TABLE if capacity is None else 1 << max(0, capacity - 1).bit_length()


def _table_size(count: int, smallest: int) -> int:
    size = smallest
    while count > size * 0.75:
        size *= 2
    return size


def _spread(hash_: int) -> int:
    return hash_ ^ (hash_ >> 16)


def _hash(key: Any, type_: Type | None) -> int:
    """Return Java's `hashCode` of a key, as an unsigned number of 32 bits."""
    if key is None:
        return 0
    if isinstance(key, str):
        return _of_short_text(key) if len(key) <= _SHORT else _of_text(key)
    if isinstance(key, bool):
        return 1231 if key else 1237
    if isinstance(key, int):
        is_long = type_ is None or type_ is Type.INT64
        return _of_long(key) if is_long else key & _MASK
    if isinstance(key, float):
        return int(struct.unpack(">I", struct.pack(">f", key))[0]) if type_ is Type.FLOAT32 else _of_double(key)
    return 0


def _of_long(number: int) -> int:
    return (number ^ (number >> 32)) & _MASK


def _of_double(number: float) -> int:
    return _of_long(struct.unpack(">q", struct.pack(">d", number))[0])


def _of_text(text: str) -> int:
    units = text.encode("utf-16-le", "surrogatepass")
    hash_ = 0
    for unit in struct.unpack(f"<{len(units) // 2}H", units):
        hash_ = (hash_ * 31 + unit) & _MASK
    return hash_


_of_short_text = lru_cache(maxsize=_MOST_HASHES)(_of_text)
