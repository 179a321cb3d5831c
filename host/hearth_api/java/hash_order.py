"""The iteration order of Java maps, which shows wherever Kafka Connect writes one as text or JSON.

`java.util.HashMap` (OpenJDK 17) iterates its buckets, and the entries of one bucket in insertion order. The bucket of
a key is its hash truncated to the table size, a power of two that doubles above three quarters full.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeVar

from hearth_api.schema import Schema, Type

T = TypeVar("T")

_USUAL_TABLE = 16
# Records repeat the same few fields; the keys of large maps rarely repeat.
_MOST_REMEMBERED = 64
_MOST_SHAPES, _MOST_HASHES = 4_000, 10_000
_SHORT = 100
"""The hashes of texts up to this length are cached."""
_TEXTS = {str}
"""Key types that may be cache keys: 1 and True are equal in Python, but not in Java."""
_NESTED = {dict, list}
_MASK = 0xFFFF_FFFF


def hash_ordered(
    entries: Mapping[Any, Any],
    key_schema: Schema | None = None,
    copied: int | None = None,
    capacity: int | None = None,
) -> dict[Any, Any]:
    """Return the entries in the order of a HashMap after inserting them one by one.

    `copied` is the number of entries if the map started as a copy of another (`new HashMap<>(map)`), which determines
    its table size; `capacity` is the number passed to `new HashMap<>(n)`. Integer keys without a schema hash as INT64.
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
    """Caches a function of the keys of a map, for maps with a few text keys.

    The same keys recur, however many combinations there are.
    """

    def __init__(self, make: Callable[[tuple[Any, ...]], T]) -> None:
        """Store the function."""
        super().__init__()
        self._make = make

    def __missing__(self, keys: tuple[Any, ...]) -> T:
        """Call the function."""
        made = self._make(keys)
        if len(keys) <= _MOST_REMEMBERED and _TEXTS.issuperset(map(type, keys)):
            if len(self) >= _MOST_SHAPES:
                self.clear()
            self[keys] = made
        return made


@lru_cache(maxsize=_MOST_REMEMBERED)
def _orders(copied: int | None, capacity: int | None) -> ByKeys[tuple[Any, ...] | None]:
    """Return a cached function of the order of keys; it returns None if they are already in order."""
    return ByKeys(lambda keys: _ordered(keys, None, copied, capacity))


_new_orders = _orders(None, None)


def json_ordered(value: Any) -> Any:
    """Return a JSON value whose objects, at any depth, are in the order of new HashMaps; changes lists in place."""
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
    """Return keys in order, or None if they already are."""
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
    """Return Java's `hashCode` of a key, as an unsigned 32-bit number."""
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
