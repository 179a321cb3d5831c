"""The questions to Kafka's own classes for the golden files: handwritten cases and random ones.

JAVA_HOME=... python -m tests.unit.plugins.question repeats all of them (see `Answers.java`, which needs Java 19 or
newer) and writes the files. Add a handwritten case to its file as a line without an answer; the random ones are the
same for the same seed.
"""

from __future__ import annotations

import base64
import decimal
import itertools
import json
import lzma
import random
import re
import struct
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from hearth.foundation.java import find_java
from hearth_api.java import double_text, float_text
from tests.peer.java_connect import connect_jars
from tests.unit.plugins.sample import cases

HERE = Path(__file__).parent
COUNT_OF_TEXTS = 20_000
COUNT_OF_WRITES = 5_000
COUNT_OF_READS = 5_000
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


_JSON = "org.apache.kafka.connect.json.JsonConverter"
_SIMPLE = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
_LOGICAL = {"Date": "int32", "Time": "int32", "Timestamp": "int64", "Decimal": "bytes"}
_SWITCHES = (("schemas.enable", "false"), ("decimal.format", "numeric"), ("replace.null.with.default", "false"))
_TEXTS = ("", "a", "true", "12", "\xe9\u2003\U0001f600", '"\\', "\x00\x1f\x7f\u2028", "AAE=", "A A=", "</a>")
_NUMBERS = (
    "0", "-0", "1", "-129", "300", "70000", "2147483648", "12345678901234567890", "1.5", "-0.0", "1e400", "1E-7",
    "0.1", "00012", "1.0", "123456789012345678901234567890.5", "86399999", "86400001", "-1",
)  # fmt: skip
_KEYS: dict[str, tuple[str, tuple[Any, ...]]] = {
    "string": ("s", _TEXTS), "int32": ("i32", (0, 1, 70000)), "boolean": ("b", (False, True)),
}  # fmt: skip
_UNFIT = (["s", "x"], ["b", True], ["bytes", "AAE="], ["arr", []])
_SLIPS = ("null", "true", "5", '"x"', "[]", "{}", "[1]", '{"a":1}', "", "1.5", "NaN", "'a'")


def json_writes(draw: random.Random) -> Iterable[dict[str, Any]]:
    """Yield values of schemas of every kind for the converters to JSON and to headers, some of them unfit."""
    for _ in range(COUNT_OF_WRITES):
        schema = None if draw.random() < 0.1 else schema_of(draw, 2)
        value = value_of(draw, schema, 2) if draw.random() < 0.95 else draw.choice(_UNFIT)
        case = {"op": "write", "schema": schema, "value": value}
        if draw.random() < 0.3:
            yield {**case, "converter": _SIMPLE}
        else:
            yield {**case, "converter": _JSON, "config": config_of(draw)}


def json_reads(draw: random.Random) -> Iterable[dict[str, Any]]:
    """Yield messages for the converter from JSON: envelopes and bare payloads, with slips in either."""
    for _ in range(COUNT_OF_READS):
        schema = schema_of(draw, 2)
        config = config_of(draw)
        payload = payload_of(draw, schema, 2)
        text = slipped(draw, json.dumps(schema, ensure_ascii=draw.random() < 0.5), 0.15)
        if draw.random() < 0.1:
            config["schema.content"] = text
            message = payload
        elif draw.random() < 0.1:
            members = draw.sample(
                [f'"schema":{text}', f'"payload":{payload}', '"x":1', '"payload":1'], draw.randint(0, 3)
            )
            message = f"{{{','.join(members)}}}"
        elif "schemas.enable" in config:
            message = payload
        else:
            message = f'{{"schema":{draw.choice((text, text, text, "null"))},"payload":{payload}}}'
        yield {"op": "read", "converter": _JSON, "config": config, "in": slipped(draw, message, 0.05)}


def config_of(draw: random.Random) -> dict[str, str]:
    """Return settings of which few differ from the defaults."""
    return {key: text for key, text in _SWITCHES if draw.random() < 0.25}


def slipped(draw: random.Random, text: str, chance: float) -> str:
    """Return JSON, with a token or a letter changed now and then."""
    if draw.random() > chance:
        return text
    if draw.random() < 0.3:
        return mutated(draw, text)
    tokens = list(re.finditer(r'"[^"]*"|[-\w.]+|[\[\]{}:,]', text))
    token = draw.choice(tokens) if tokens else None
    return draw.choice(_SLIPS) if token is None else text[: token.start()] + draw.choice(_SLIPS) + text[token.end() :]


def schema_of(draw: random.Random, depth: int) -> dict[str, Any]:
    """Return the JSON form of a schema, with a default where its type has plain ones."""
    kinds = ["plain", "plain", "logical", *(["array", "map", "struct", "struct"] if depth else [])]
    kind = draw.choice(kinds)
    schema: dict[str, Any] = {"type": kind}
    if kind == "plain":
        schema["type"] = draw.choice((*_TYPES.values(), "boolean", "string", "bytes"))
    elif kind == "logical":
        name = draw.choice(tuple(_LOGICAL))
        schema |= {"type": _LOGICAL[name], "name": f"org.apache.kafka.connect.data.{name}", "version": 1}
        if name == "Decimal":
            schema["parameters"] = {"scale": str(draw.randint(-1, 3))}
    elif kind == "array":
        schema["items"] = schema_of(draw, depth - 1)
    elif kind == "map":
        keys = {"type": draw.choice(("string", "string", "int32", "boolean"))}
        schema |= {"keys": keys, "values": schema_of(draw, depth - 1)}
    else:
        names = draw.sample(("a", "b", "\xe9"), draw.randint(0, 3))
        schema["fields"] = [{**schema_of(draw, depth - 1), "field": name} for name in names]
    if draw.random() < 0.5:
        schema["optional"] = draw.random() < 0.7
    if draw.random() < 0.1:
        schema |= {"doc": draw.choice(_TEXTS), "version": draw.randint(1, 9)}
    if kind == "plain" and draw.random() < 0.2:
        schema["default"] = json.loads(payload_of(draw, {**schema, "optional": False}, 0, sound=True))
    return schema


def payload_of(draw: random.Random, schema: dict[str, Any], depth: int, sound: bool = False) -> str:
    """Return JSON for a schema, which seldom fits when it need not be sound."""
    type_, name = schema["type"], str(schema.get("name")).rpartition(".")[2]
    if not sound and draw.random() < 0.08:
        numbers: tuple[str, ...] = () if name == "Decimal" else _NUMBERS
        return draw.choice(("null", "true", '"x"', "[]", "{}", *numbers, json.dumps(draw.choice(_TEXTS))))
    if schema.get("optional") and draw.random() < 0.3:
        return "null"
    if type_ == "struct":
        members = (f"{json.dumps(each['field'])}:{payload_of(draw, each, depth - 1)}" for each in schema["fields"])
        return f"{{{','.join(member for member in members if draw.random() < 0.95)}}}"
    if type_ == "array":
        return f"[{','.join(payload_of(draw, schema['items'], depth - 1) for _ in range(draw.randint(0, 2)))}]"
    if type_ == "map":
        keys, items = [payload_of(draw, schema["keys"], 0) for _ in range(draw.randint(0, 2))], schema["values"]
        pairs = [(key, payload_of(draw, items, depth - 1)) for key in keys]
        is_object = schema["keys"]["type"] == "string" and all(key.startswith('"') for key, _ in pairs)
        if is_object:
            return f"{{{','.join(f'{key}:{item}' for key, item in pairs)}}}"
        return f"[{','.join(f'[{key},{item}]' for key, item in pairs)}]"
    if type_ == "boolean":
        return draw.choice(("true", "false"))
    if type_ == "string":
        return json.dumps(draw.choice(_TEXTS), ensure_ascii=draw.random() < 0.5)
    if type_ == "bytes":
        scale = int(schema["parameters"]["scale"]) if name == "Decimal" else -1
        if scale >= 0 and draw.random() < 0.4:
            return str(decimal.Decimal(draw.randint(-(10**25), 10**25)).scaleb(-scale, decimal.Context(prec=50)))
        return draw.choice(('"AAE="', '"/w=="', '"Kg=="'))
    if sound or name in _LOGICAL:
        return draw.choice(("0", "1", "100"))
    return draw.choice(_NUMBERS)


def value_of(draw: random.Random, schema: dict[str, Any] | None, depth: int, sound: bool = False) -> Any:
    """Return the form of a value, which seldom does not fit its schema unless it has to be sound."""
    if schema is None:
        inner = schema_of(draw, 0)
        if depth and draw.random() < 0.5:
            items = [value_of(draw, None, depth - 1, sound) for _ in range(draw.randint(0, 2))]
            keys = draw.sample(_TEXTS, len(items)) if draw.random() < 0.8 else range(len(items))
            names = [["s" if isinstance(key, str) else "i64", key] for key in keys]
            return draw.choice((["arr", items], ["map", [list(pair) for pair in zip(names, items)]]))
        return None if draw.random() < 0.1 else wide(value_of(draw, {**inner, "optional": False}, 0, sound))
    type_, name = schema["type"], str(schema.get("name")).rpartition(".")[2]
    if draw.random() < (0.25 if schema.get("optional") else 0 if sound else 0.02):
        return None
    if type_ == "struct":
        return ["struct", {each["field"]: value_of(draw, each, depth - 1, sound) for each in schema["fields"]}]
    if type_ == "array":
        return ["arr", [value_of(draw, schema["items"], depth - 1, sound) for _ in range(draw.randint(0, 2))]]
    if type_ == "map":
        kind, among = _KEYS[schema["keys"]["type"]]
        chosen = draw.sample(among, draw.randint(0, 2))
        return ["map", [[[kind, key], value_of(draw, schema["values"], depth - 1, sound)] for key in chosen]]
    if name == "Decimal":
        scale = int(schema["parameters"]["scale"]) + (draw.random() < (0 if sound else 0.05))
        return ["dec", str(decimal.Decimal(draw.randint(-(10**30), 10**30)).scaleb(-scale, decimal.Context(prec=50)))]
    if name in _LOGICAL:
        millis = {"Date": draw.randint(-9999, 99999) * 86_400_000, "Time": draw.randint(0, 86_399_999)}
        return ["date", millis.get(name, draw.randint(-(10**12), 10**13))]
    return plain_of(draw, type_)


def plain_of(draw: random.Random, type_: str) -> list[Any]:
    """Return the form of a number, text, boolean or bytes."""
    if type_ == "boolean":
        return ["b", draw.random() < 0.5]
    if type_ == "string":
        return ["s", draw.choice(_TEXTS)]
    if type_ == "bytes":
        return ["bytes", base64.b64encode(draw.randbytes(draw.randint(0, 4))).decode()]
    kind = next(kind for kind, name in _TYPES.items() if name == type_)
    if kind[0] == "i" or draw.random() < 0.3:
        return [kind, draw.choice(_EDGES[kind])]
    bits = draw.randbytes(8)
    return [
        kind,
        float_text(struct.unpack("f", bits[:4])[0]) if kind == "f32" else double_text(struct.unpack("d", bits)[0]),
    ]


def wide(form: Any) -> Any:
    """Return a form without small numbers, which Python does not tell from large ones without a schema."""
    if form is None or form[0] not in ("i8", "i16", "i32", "f32"):
        return form
    return ["i64" if form[0][0] == "i" else "f64", form[1]]


FILES: dict[str, tuple[int, Callable[[random.Random], Iterable[dict[str, Any]]]]] = {
    "golden/fixed_width.jsonl.xz": (1, fixed_width),
    "../hearth_api/java/golden/texts.jsonl.xz": (2, texts),
    "golden/drawn_writes.jsonl.xz": (3, json_writes),
    "golden/drawn_reads.jsonl.xz": (4, json_reads),
}
"""The golden files of cases that are drawn, with the seeds and the makers of their questions."""
ASKED = {
    "write": ("op", "converter", "config", "schema", "value"),
    "read": ("op", "converter", "config", "in", "in64", "parts"),
    "parse": ("op", "text"),
    "apply": ("op", "class", "config", "record"),
    "test": ("op", "class", "config", "record"),
}
"""The members of a case that are its question."""


def by_hand(path: Path) -> list[dict[str, Any]]:
    """Return the questions of a golden file that people write."""
    return [{name: case[name] for name in ASKED[case["op"]] if name in case} for case in cases(path)]


def ask(questions: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the questions with Java's answers, which were given in UTC."""
    jars = ":".join(map(str, connect_jars()))
    zone = ("-Duser.timezone=UTC", "-Duser.language=en", "-Duser.country=US")
    command = (find_java().executable, *zone, "-cp", jars, HERE / "Answers.java")
    lines = "".join(json.dumps(case) + "\n" for case in questions)
    ended = subprocess.run(command, input=lines, capture_output=True, encoding="utf-8", check=True)
    return [json.loads(line) for line in ended.stdout.rstrip("\n").split("\n")]


def main() -> None:
    """Write the golden files."""
    asked = {HERE / name: [*make(random.Random(seed))] for name, (seed, make) in FILES.items()}
    asked |= {path: by_hand(path) for path in sorted((HERE / "golden").glob("*.jsonl"))}
    answers = iter(ask(case for questions in asked.values() for case in questions))
    for path, questions in asked.items():
        answered = itertools.islice(answers, len(questions))
        text = "".join(json.dumps(case, ensure_ascii=False, separators=(",", ":")) + "\n" for case in answered)
        data = text.encode("utf-8", "surrogatepass")
        is_large = path.suffix == ".xz"
        path.write_bytes(lzma.compress(data, preset=9 | lzma.PRESET_EXTREME) if is_large else data)


if __name__ == "__main__":
    main()
