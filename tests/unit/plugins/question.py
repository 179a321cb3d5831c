"""What Kafka's converters are asked for the golden files: cases drawn at random, the same for the same seed.

    JAVA_HOME=... python -m tests.unit.plugins.question

asks them anew (see `Answers.java`, which needs a Java from 19 on) and writes the files.
"""

from __future__ import annotations

import base64
import json
import lzma
import random
import struct
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from hearth.broker.java import find_java
from tests.peer.java_connect import connect_jars

HERE = Path(__file__).parent
_CONVERTERS = "org.apache.kafka.connect.converters."
_FORMATS = {"Short": "h", "Integer": "i", "Long": "q", "Float": "f", "Double": "d", "Boolean": "b"}
_TYPES = {"i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "f32": "float", "f64": "double"}
_EDGES = {
    "i8": (0, 1, -1, 127, -128), "i16": (0, 1, -300, 32767, -32768), "i32": (0, 66000, -1, 2**31 - 1, -(2**31)),
    "i64": (0, 1, -(2**40), 2**63 - 1, -(2**63)),
    "f32": ("0.0", "-0.0", "1.1", "3.4028235E38", "1.4E-45", "NaN", "-Infinity"),
    "f64": ("0.0", "-0.0", "1.1", "1.7976931348623157E308", "4.9E-324", "NaN", "Infinity"),
}  # fmt: skip


def fixed_width(_: random.Random) -> Iterable[dict[str, Any]]:
    """Yield every kind of value, with its schema and with others, and bytes of every length."""
    values = [[kind, plain] for kind, plains in _EDGES.items() for plain in plains]
    typed = [({"type": _TYPES[value[0]]}, value) for value in values]
    typed += [({"type": "boolean"}, ["b", True]), ({"type": "boolean"}, ["b", False]), (None, ["b", True])]
    typed += [({"type": "string"}, ["s", "12"]), ({"type": "bytes"}, ["bytes", "AAE="]), (None, None)]
    typed += [({"type": "int32", "optional": True}, None), ({"type": "string", "optional": True}, None)]
    typed += [({"type": "int32", "name": "org.apache.kafka.connect.data.Date", "version": 1}, ["date", 86_400_000])]
    typed += [({"type": "array", "items": {"type": "int32"}}, ["arr", [["i32", 1]]]), (None, ["s", "x"])]
    for name in _FORMATS:
        for schema, value in typed:
            yield {"op": "write", "converter": f"{_CONVERTERS}{name}Converter", "schema": schema, "value": value}
        for data in messages(name):
            form = {"in": None} if data is None else {"in64": base64.b64encode(data).decode()}
            yield {"op": "read", "converter": f"{_CONVERTERS}{name}Converter", **form}


def messages(name: str) -> list[bytes | None]:
    """Return bytes for a converter of one size: values, other lengths, and none."""
    letter = _FORMATS[name]
    kind = {"h": "i16", "i": "i32", "q": "i64", "f": "f32", "d": "f64"}.get(letter, "i8")
    values = [struct.pack(f">{letter}", float(each) if letter in "fd" else each) for each in _EDGES[kind]]
    return [None, *values, *(b"\x01" * length for length in range(10)), b"\xff", b"\x02"]


FILES: dict[str, tuple[int, Callable[[random.Random], Iterable[dict[str, Any]]]]] = {
    "converters/golden/fixed_width.jsonl.xz": (1, fixed_width),
}
"""The golden files, with the seeds and the makers of their questions."""


def ask(cases: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the cases with Java's answers, which were given in UTC."""
    jars = ":".join(map(str, connect_jars()))
    command = (find_java().executable, "-Duser.timezone=UTC", "-cp", jars, HERE / "Answers.java")
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    ended = subprocess.run(command, input=lines, stdout=subprocess.PIPE, encoding="utf-8", check=True)
    return [json.loads(line) for line in ended.stdout.rstrip("\n").split("\n")]


def main() -> None:
    """Write the golden files."""
    for name, (seed, make) in FILES.items():
        answered = ask(make(random.Random(seed)))
        text = "".join(json.dumps(case, ensure_ascii=False, separators=(",", ":")) + "\n" for case in answered)
        (HERE / name).write_bytes(lzma.compress(text.encode("utf-8", "surrogatepass"), preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    main()
