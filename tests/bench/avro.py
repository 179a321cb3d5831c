"""Cases o and p: what b and d do, on Hearth's side with Avro and a registry.

Confluent's AvroConverter is in no repository that is open to all, so Java's side has JsonConverter with schemas.
"""

from __future__ import annotations

from dataclasses import replace

from hearth_registry.schema_text import AVRO, SchemaText
from tests.bench.bench import Bench
from tests.bench.result import Result
from tests.bench.throughput import CHAIN, EXTRACT, LINE_BYTES, Sink, Source, Throughput, metrics
from tests.registry_server import RegistryServer, serving

_CONVERTER = "io.confluent.connect.avro.AvroConverter"
_SCHEMA = (
    '{"type":"record","name":"ConnectDefault","namespace":"io.confluent.connect.avro","fields":'
    '[{"name":"line","type":"string"},{"name":"source","type":["null","string"],"default":null}]}'
)
_AROUND = (b"\0\0\0\0\1" + bytes([LINE_BYTES * 2 & 0x7F | 0x80, LINE_BYTES * 2 >> 7]), b"\2\0")
"""The id of the schema and the length of the line before it; behind it an empty text for the other field."""
SOURCE = Throughput(
    "o", "FileStreamSource, three transformations, Avro (Java: Json with schemas)", True, False, CHAIN, goal=4.0
)
SINK = Throughput("p", "FileStreamSink, Avro (Java: Json with schemas), ExtractField", False, False, EXTRACT, goal=3.0)


def measure(case: Throughput, bench: Bench) -> Result:
    """Run one case in alternating pairs."""
    result = Result(case.case, f"{case.title}, {bench.records:,} lines of {LINE_BYTES} bytes", metrics(case))
    with serving() as server:
        settings = {"value.converter": _CONVERTER, "value.converter.schema.registry.url": server.url}
        worlds = {side: _world(case, bench, server, side) for side in bench.sides}
        for pair, side in bench.runs():
            worker = bench.worker(side, settings if side == "hearth" else None, strings=False)
            values = worlds[side].run(worker)
            result.add(side, **values)
            bench.say(f"{case.case} {pair}/{bench.pairs} {side}: {values['rate']:,.0f} records/s")
        for world in worlds.values():
            world.close()
    return result


def _world(case: Throughput, bench: Bench, server: RegistryServer, side: str) -> Source | Sink:
    """Return what makes the runs of a side; what its sink reads is in the form that the side has."""
    if case.is_source:
        return Source(bench, case)
    world = Sink(bench, replace(case, around=_AROUND) if side == "hearth" else case)
    server.registry.register(f"{world.topic}-value", SchemaText(AVRO, _SCHEMA))
    return world
