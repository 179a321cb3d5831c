"""Cases o to r, u and v: cases b and d, on Hearth's side with a registry and one of its three formats.

Confluent's converters are in no public repository, so Java's side has JsonConverter with schemas.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from hearth_registry.schema_text import AVRO, JSON, PROTOBUF, SchemaText
from tests.bench.bench import Bench
from tests.bench.result import Result
from tests.bench.throughput import CHAIN, EXTRACT, LINE_BYTES, Sink, Source, Throughput, metrics
from tests.registry_server import RegistryServer, serving

_ID = b"\0\0\0\0\1"


@dataclass(frozen=True)
class Form:
    """A format: its converter, the schema of a line and an optional text, and the bytes around such a line.

    A sink's records have an empty text as the second field.
    """

    name: str
    converter: str
    schema: SchemaText
    around: tuple[bytes, bytes]


_FORMS = {
    ("o", "p"): Form(
        "Avro",
        "io.confluent.connect.avro.AvroConverter",
        SchemaText(
            AVRO,
            '{"type":"record","name":"ConnectDefault","namespace":"io.confluent.connect.avro","fields":'
            '[{"name":"line","type":"string"},{"name":"source","type":["null","string"],"default":null}]}',
        ),
        (_ID + bytes([LINE_BYTES * 2 & 0x7F | 0x80, LINE_BYTES * 2 >> 7]), b"\2\0"),
    ),
    ("q", "r"): Form(
        "JSON Schema",
        "io.confluent.connect.json.JsonSchemaConverter",
        SchemaText(
            JSON,
            '{"type":"object","properties":{"line":{"type":"string","connect.index":0},'
            '"source":{"connect.index":1,"oneOf":[{"type":"null"},{"type":"string"}]}}}',
        ),
        (_ID + b'{"line":"', b'","source":""}'),
    ),
    ("u", "v"): Form(
        "Protobuf",
        "io.confluent.connect.protobuf.ProtobufConverter",
        SchemaText(
            PROTOBUF, 'syntax = "proto3";\n\nmessage ConnectDefault1 {\n  string line = 1;\n  string source = 2;\n}\n'
        ),
        (_ID + b"\0\x0a" + bytes([LINE_BYTES]), b""),
    ),
}
_GOALS = {"o": 4.0, "p": 3.0}
"""Goals as multiples of Java's rate; the default is to be as fast as Java."""


def _cases() -> dict[str, partial[Result]]:
    """Return the measuring function of each case, a source and a sink for each format."""
    found = {}
    for (source, sink), form in _FORMS.items():
        label = f"{form.name} (Java: Json with schemas)"
        for letter, case in (
            (source, Throughput(source, f"FileStreamSource, three transformations, {label}", True, False, CHAIN, 1.0)),
            (sink, Throughput(sink, f"FileStreamSink, {label}, ExtractField", False, False, EXTRACT, 1.0)),
        ):
            found[letter] = partial(_measure, form, replace(case, goal=_GOALS.get(letter, 1.0)))
    return found


def _measure(form: Form, case: Throughput, bench: Bench) -> Result:
    """Run one case in alternating pairs."""
    result = Result(case.case, f"{case.title}, {bench.records:,} lines of {LINE_BYTES} bytes", metrics(case))
    with serving() as server:
        settings = {"value.converter": form.converter, "value.converter.schema.registry.url": server.url}
        worlds = {side: _world(form, case, bench, server, side) for side in bench.sides}
        for pair, side in bench.runs():
            worker = bench.worker(side, settings if side == "hearth" else None, strings=False)
            values = worlds[side].run(worker)
            result.add(side, **values)
            bench.say(f"{case.case} {pair}/{bench.pairs} {side}: {values['rate']:,.0f} records/s")
        for world in worlds.values():
            world.close()
    return result


def _world(form: Form, case: Throughput, bench: Bench, server: RegistryServer, side: str) -> Source | Sink:
    """Return the input of a side's runs; its sink's records are in the side's format."""
    if case.is_source:
        return Source(bench, case)
    world = Sink(bench, replace(case, around=form.around) if side == "hearth" else case)
    server.registry.register(f"{world.topic}-value", form.schema)
    return world


CASES = _cases()
