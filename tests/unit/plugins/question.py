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
COUNT_OF_TEXTS = 20_000
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
    typed: list[tuple[Any, Any]] = [({"type": _TYPES[str(value[0])]}, value) for value in values]
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


_ALPHABETS = (
    '[]{}:,"\\ \t019a-+.eEtZtrunl\u0661\xe9', '[]:,1"a ', '{}:,1"a ', "0123456789.-+eE", "0123456789-:TZ. ",
    "truefalsn ", '\\,:"a1', "\x00\x1f\x7f\u2003\u3000\U0001f600\ufeff1[]a",
)  # fmt: skip
_WORDS = (
    "true", "false", "null", "True", "NaN", "Infinity", "-0", "+5", "00123", "1.10", "1e3", "1E-7", "0x10", "1f", "1L",
    "1_000", "9223372036854775807", "9223372036854775808", "1e19", "1.0", "1e39", "1e309", ".5", "5.", "--1", "+", "-",
    "1e", "127", "128", "32768", "2147483648", "16777217", "0.1", "-0.0", "\u0661\u0662", "abc", "a b", "\xe9", "\\",
    '"', '""', '"a"', '"1"', "2019-08-23", "2019-8-23x", "2019-13-45", "14:34:54.346Z", "14\\:34\\:54.346Z",
    "2019-08-23T14:34:54.346Z", "[]", "{}", "1.23456789", "3.4028235e38", "3.4028236e38", "1e-46",
    "1.7976931348623157e308", "0.0000001", "100000000000000000000",
)  # fmt: skip


def texts(draw: random.Random) -> Iterable[dict[str, Any]]:
    """Yield texts for `Values.parseString`: noise, words, moments, numbers, and arrays and maps, often broken."""
    makers = (noise, noise, noise, word, moment, number, container, container, container)
    seen: set[str] = set()
    while len(seen) < COUNT_OF_TEXTS:
        text = draw.choice(makers)(draw)
        if text not in seen:
            seen.add(text)
            yield {"op": "parse", "text": text}


def noise(draw: random.Random) -> str:
    """Return some letters of one alphabet."""
    return "".join(draw.choices(draw.choice(_ALPHABETS), k=draw.randint(0, 9)))


def word(draw: random.Random) -> str:
    """Return a word, perhaps with white space or another around it."""
    return (
        draw.choice(("", "", " ", "\t"))
        + draw.choice(_WORDS)
        + draw.choice(("", "", " ", ",", " x", "]", "}", noise(draw)))
    )


def moment(draw: random.Random) -> str:
    """Return what looks like a date, a time of day or a timestamp."""
    day = f"{draw.randint(1, 9999):04}-{draw.randint(0, 14):02}-{draw.randint(0, 33):02}"
    time = f"{draw.randint(0, 23):02}:{draw.randint(0, 59):02}:{draw.randint(0, 59):02}.{draw.randint(0, 999):03}Z"
    text = draw.choice((day, time, f"{day}T{time}", f"{day}T{time}"))
    return text.replace(":", draw.choice((":", "\\:"))) if draw.random() < 0.6 else mutated(draw, text)


def number(draw: random.Random) -> str:
    """Return a number, whole or not, near the limits of the types as well."""
    digits = str(
        draw.choice((draw.getrandbits(draw.randint(1, 80)), 1 << draw.choice((7, 8, 15, 16, 24, 31, 53, 63))))
    )
    point = draw.randint(0, len(digits))
    text = digits[:point] + draw.choice(("", ".")) + digits[point:]
    return draw.choice(("", "-", "+")) + text + (f"e{draw.randint(-50, 50)}" if draw.random() < 0.3 else "")


def container(draw: random.Random, depth: int = 2) -> str:
    """Return an array or a map, of values of one kind or of several, with a slip now and then."""
    makers = (number, number, word, word, quoted, moment)
    shared = None if draw.random() < 0.3 else draw.choice(makers)
    is_deep = depth > 0 and draw.random() < 0.2

    def kind(draw: random.Random) -> str:
        return container(draw, depth - 1) if is_deep else (shared or draw.choice(makers))(draw)

    items = [kind(draw) for _ in range(draw.choice((0, 1, 1, 2, 2, 3)))]
    space = draw.choice(("", "", " "))
    if draw.random() < 0.5:
        text = f"[{(',' + space).join(items)}]"
    else:
        keys = draw.choice((quoted, number, kind))
        text = f"{{{(',' + space).join(f'{keys(draw)}{space}:{item}' for item in items)}}}"
    return mutated(draw, text) if draw.random() < 0.2 else text


def quoted(draw: random.Random) -> str:
    """Return a text in quotes."""
    return f'"{draw.choice((word, noise))(draw)}"' if draw.random() < 0.4 else f'"{draw.choice("abc")}"'


def mutated(draw: random.Random, text: str) -> str:
    """Return a text with one letter more, less or other."""
    place = draw.randint(0, len(text))
    return text[:place] + draw.choice(("", noise(draw)[:1])) + text[place + draw.randint(0, 1) :]


FILES: dict[str, tuple[int, Callable[[random.Random], Iterable[dict[str, Any]]]]] = {
    "converters/golden/fixed_width.jsonl.xz": (1, fixed_width),
    "../hearth_api/java/golden/texts.jsonl.xz": (2, texts),
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
