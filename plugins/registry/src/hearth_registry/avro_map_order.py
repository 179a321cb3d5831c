"""The entry order in Java of a map read from Avro, visible wherever it is printed or written."""

from __future__ import annotations

from functools import lru_cache

from hearth_api.java import hash_ordered

_MOST_REMEMBERED = 64
_USUAL_TABLE = 16
_MASK = 0xFFFF_FFFF


def order_read(keys: tuple[str, ...], are_utf8: bool) -> tuple[str, ...]:
    """Return distinct keys in the order of Java's map after reading them in sequence.

    The keys pass through two hash tables: Avro's, whose keys are `Utf8` unless the schema asks for strings, and
    Connect's, which keeps the order of the first table within a bucket.
    """
    return (_remembered if len(keys) <= _MOST_REMEMBERED else _order_read)(keys, are_utf8)


def _order_read(keys: tuple[str, ...], are_utf8: bool) -> tuple[str, ...]:
    first = _utf8_ordered(keys) if are_utf8 else keys
    return tuple(hash_ordered(dict.fromkeys(first), capacity=len(keys)))


_remembered = lru_cache(maxsize=1000)(_order_read)


def _utf8_ordered(keys: tuple[str, ...]) -> list[str]:
    """Return keys in the order of a hash table that uses the hash of Avro's `Utf8`."""
    size = _USUAL_TABLE
    while len(keys) > size * 0.75:
        size *= 2
    return sorted(keys, key=lambda key: _spread(_utf8_hash(key)) & (size - 1))


def _utf8_hash(key: str) -> int:
    hash_ = 1
    for byte in key.encode("utf-8", "replace"):
        hash_ = (hash_ * 31 + (byte if byte < 0x80 else byte - 0x100)) & _MASK
    return hash_


def _spread(hash_: int) -> int:
    return hash_ ^ (hash_ >> 16)
