"""Class files and jars for tests, written without a Java compiler."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

PUBLIC, SUPER, INTERFACE, ABSTRACT = 0x0001, 0x0020, 0x0200, 0x0400
TRANSFORMATION = "org/apache/kafka/connect/transforms/Transformation"
CONVERTER = "org/apache/kafka/connect/storage/Converter"
SINK = "org/apache/kafka/connect/sink/SinkConnector"
PROVIDER = "org/apache/kafka/common/config/provider/ConfigProvider"


def java_class(
    name: str,
    parent: str = "java/lang/Object",
    interfaces: Sequence[str] = (),
    flags: int = PUBLIC | SUPER,
    constructor: str = "()V",
    constructor_flags: int = PUBLIC,
    release: int = 17,
) -> bytes:
    """Return a class file with one constructor, which has no code."""
    constants: dict[bytes, int] = {}

    def constant(data: bytes) -> int:
        return constants.setdefault(data, len(constants) + 1)

    def text(value: str) -> int:
        return constant(struct.pack(">BH", 1, len(value)) + value.encode())

    def class_(value: str) -> int:
        return constant(struct.pack(">BH", 7, text(value)))

    own, above, implemented = class_(name), class_(parent), [class_(each) for each in interfaces]
    method = struct.pack(">4H", constructor_flags, text("<init>"), text(constructor), 0)
    pool = struct.pack(">H", len(constants) + 1) + b"".join(constants)
    header = struct.pack(">4H", flags, own, above, len(implemented)) + struct.pack(
        f">{len(implemented)}H", *implemented
    )
    return (
        b"\xca\xfe\xba\xbe"
        + struct.pack(">2H", 0, 44 + release)
        + pool
        + header
        + struct.pack(">2H", 0, 1)
        + method
        + bytes(2)
    )


def jar_bytes(files: Mapping[str, bytes]) -> bytes:
    """Return a jar with these files."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def jar(path: Path, *classes: bytes, **files: bytes) -> Path:
    """Write a jar of classes, each at the path of its name, and other files."""
    from hearth.discovery.java.class_file import read_header

    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(jar_bytes({f"{read_header(each).name}.class": each for each in classes} | files))
    return path
