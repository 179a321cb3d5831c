"""The codecs of blocks in Avro container files."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from hearth_api import DataError

_RAW_DEFLATE = -15
_CHECKSUM = 4


@dataclass(frozen=True)
class AvroCodec:
    """Compresses and decompresses blocks."""

    compress: Callable[[bytes], bytes]
    decompress: Callable[[bytes], bytes]


def codec_of(name: str) -> AvroCodec:
    """Return a codec by its name in Avro; raises DataError for an unknown one."""
    if name not in CODECS:
        raise DataError(f"the Avro file has the codec {name!r}, known are {', '.join(CODECS)}")
    return CODECS[name]


def _deflated(data: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=_RAW_DEFLATE)
    return compressor.compress(data) + compressor.flush()


def _inflated(data: bytes) -> bytes:
    return zlib.decompress(data, _RAW_DEFLATE)


def _snappy(data: bytes) -> bytes:
    compressed: bytes = pa.compress(data, "snappy", asbytes=True)
    return compressed + zlib.crc32(data).to_bytes(_CHECKSUM, "big")


def _unsnappy(data: bytes) -> bytes:
    data, checksum = data[:-_CHECKSUM], data[-_CHECKSUM:]
    plain: bytes = pa.decompress(data, _snappy_size(data), "snappy", asbytes=True)
    if zlib.crc32(plain).to_bytes(_CHECKSUM, "big") != checksum:
        raise DataError("the Avro file is damaged: the checksum of a block does not fit")
    return plain


def _snappy_size(data: bytes) -> int:
    """Return the size after decompression, a varint with which the data begins."""
    size = shift = 0
    for byte in data:
        size |= (byte & 0x7F) << shift
        if byte < 0x80:
            return size
        shift += 7
    raise DataError("the Avro file is damaged: a block has no size")


def _zstandard(data: bytes) -> bytes:
    compressed: bytes = pa.Codec("zstd").compress(data, asbytes=True)
    return compressed


def _unzstandard(data: bytes) -> bytes:
    plain: bytes = pa.CompressedInputStream(pa.BufferReader(data), "zstd").read()
    return plain


CODECS = {
    "null": AvroCodec(bytes, bytes),
    "deflate": AvroCodec(_deflated, _inflated),
    "snappy": AvroCodec(_snappy, _unsnappy),
    "zstandard": AvroCodec(_zstandard, _unzstandard),
    "bzip2": AvroCodec(bz2.compress, bz2.decompress),
    "xz": AvroCodec(lzma.compress, lzma.decompress),
}
"""The codecs by name; those of Java's library."""
