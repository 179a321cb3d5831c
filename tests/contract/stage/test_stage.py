"""The contract of a stage: the same requests have the same results, whatever language its plugins are written in."""

from __future__ import annotations

import queue
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal as PythonDecimal
from pathlib import Path
from typing import Any

import pytest

from hearth.isolation.environment import Environment
from hearth.isolation.environment_store import python_environment
from hearth.isolation.interpreter import host
from hearth.isolation.java_environment import java_environment
from hearth.isolation.stage import Stage
from hearth_api import (
    INT64_SCHEMA,
    OPTIONAL_BYTES_SCHEMA,
    OPTIONAL_INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Decimal,
    Headers,
    Schema,
    SchemaBuilder,
    SinkRecord,
    SourceRecord,
    Struct,
    TopicPartition,
    Type,
)
from hearth_api.batch import Batch, batch_to_sink_records, records_by_kind, records_to_batches
from hearth_api.batch import arrow as pa
from hearth_execution.failure import RemoteError
from hearth_execution.order import number_rows
from hearth_execution.transformation import Step
from hearth_stage.call import Call
from hearth_stage.channel import Request
from hearth_stage.connector_call import (
    AlterOffsets,
    AskExactlyOnce,
    AskTaskConfigs,
    LoadConnector,
    StartConnector,
    StopConnector,
)
from hearth_stage.conversion_call import Cells, Deserialize, DeserializeHeaders, Serialize, SerializeHeaders
from hearth_stage.offset_call import ReadOffsets, StoredOffsets
from hearth_stage.plugin_call import (
    AskMetrics,
    AskStacks,
    Configure,
    Describe,
    EndTenant,
    Load,
    Ping,
    Validate,
    WantedPlugin,
)
from hearth_stage.provider_call import LoadProvider, LookUp
from hearth_stage.task_call import (
    AddCredit,
    ContextRequest,
    EndTransaction,
    HandOver,
    OpenPartitions,
    PollFailed,
    PollsEmpty,
    PreCommit,
    Put,
    StartSink,
    StartSource,
    StopSink,
    StopSource,
)
from hearth_stage.transformation_call import Apply
from tests.java_sample import compile_sample

HERE = Path(__file__).parent
SECONDS = 10


@dataclass(frozen=True)
class Nonsense(Call[None], op="nonsense"):
    """An operation that no stage knows."""


class Runner:
    """A stage of one language, the messages that it sent, and its names of the sample's plugins."""

    def __init__(self, environment: Environment, prefix: str, json: str) -> None:
        self.messages: queue.Queue[Any] = queue.Queue()
        self.prefix, self.json = prefix, json
        self.is_java = prefix == "sample."
        provider = "EnvVarConfigProvider"
        self.provider = (
            f"org.apache.kafka.common.config.provider.{provider}" if self.is_java else f"hearth_providers:{provider}"
        )
        self.offset: dict[str, Any] | None = None
        self.environment = environment
        self.stage = Stage.start(environment, prefix, self._receive)

    def _receive(self, request: Request) -> None:
        message = request.message
        if isinstance(message, ReadOffsets):
            request.reply(StoredOffsets([self.offset for _ in message.partitions]))
        else:
            self.messages.put(message)

    def named(self, name: str) -> str:
        """Return the reference of a plugin of the sample."""
        return f"{self.prefix}{name}"

    def call(self, call: Call[Any]) -> Any:
        """Return the answer of the stage."""
        return self.stage.call(call, SECONDS)

    def next(self) -> Any:
        """Return the next message of the stage."""
        return self.messages.get(timeout=SECONDS)

    def load(self, role: str, reference: str, config: dict[str, str] | None = None, **limits: Any) -> None:
        """Configure the stage for one plugin."""
        self.call(Configure("sink", limits.pop("timeout", 0), 1, **limits))
        self.call(Load([WantedPlugin(role, "as.Configured", reference, config or {})]))


@pytest.fixture(scope="module", params=["python", "java"])
def runner(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    """Start one stage of each language for all tests: each configures it again."""
    if request.param == "python":
        own = (str(HERE.parents[2] / "plugins" / name / "src") for name in ("json", "providers"))
        paths = (str(HERE / "python"), *own)
        started = Runner(python_environment("sample", host(), paths), "sample:", "hearth_json:JsonConverter")
    else:
        classes = tmp_path_factory.mktemp("classes")
        environment = java_environment("sample", classes, compile_sample(HERE / "java", classes), "sample")
        started = Runner(environment, "sample.", "org.apache.kafka.connect.json.JsonConverter")
    yield started
    started.stage.close()
    assert started.stage.connection.await_end(0) == 0  # it ended by itself


def batch_of(*values: Any, schema: Any = OPTIONAL_STRING_SCHEMA) -> Batch:
    """Return sink records of these values as one numbered batch."""
    records = [SinkRecord("t", 0, None, None, schema, value, kafka_offset=row) for row, value in enumerate(values)]
    (batch,) = records_to_batches(records)
    return number_rows(batch)


def test_unknown_operation_is_answered_with_its_name(runner: Runner) -> None:
    """The error names the operation, and the stage continues."""
    with pytest.raises(RemoteError, match="no operation 'nonsense'"):
        runner.call(Nonsense())
    runner.call(Ping())


def test_plugin_is_described_with_its_type(runner: Runner) -> None:
    """A plugin of another type than declared is refused."""
    found = runner.call(Describe(runner.named("Fickle"), "transformation"))
    assert [(key["name"], key["type"], key["required"]) for key in found.config] == [("count", "INT", True)]
    assert runner.call(Describe(runner.named("CountingSource"), "source")).version == "1.2"
    with pytest.raises(RemoteError, match="is declared as predicate but is not a Predicate"):
        runner.call(Describe(runner.named("Fickle"), "predicate"))


def test_validation_has_kafkas_messages(runner: Runner) -> None:
    """The names of values start with the prefix, those of definitions do not."""
    found = runner.call(Validate(runner.named("Fickle"), {"p.count": "x"}, "transformation", "p."))
    assert found.definitions[0]["name"] == "count"
    (value,) = found.values
    assert value["name"] == "p.count"
    assert value["errors"] == ["Invalid value x for configuration p.count: Not a number of type INT"]


def test_steps_name_the_records_that_fail(runner: Runner) -> None:
    """A record that is neither a result nor a failure was dropped; a failure has Kafka Connect's class."""
    runner.load("transforms.a", runner.named("Fickle"))
    found = runner.call(Apply([Step("transforms.a")], [batch_of("a", "bad", "drop", None, "b")]))
    (batch,) = found.batches
    assert batch.rows.tolist() == [0, 3, 4]
    (failure,) = found.failures
    assert (failure.row, failure.phase, failure.class_name) == (1, "TRANSFORMATION", "as.Configured")
    assert (failure.error.kind, failure.error.message) == ("data", "a bad record")
    assert failure.error.class_name == "org.apache.kafka.connect.errors.DataException"
    assert failure.error.trace.startswith("org.apache.kafka.connect.errors.DataException: a bad record")


def test_retriable_errors_of_a_record_are_retried(runner: Runner) -> None:
    """Without time for retries the record fails; with it, it succeeds the third time."""
    runner.load("transforms.a", runner.named("Fickle"))
    (failure,) = runner.call(Apply([Step("transforms.a")], [batch_of("later")])).failures
    assert failure.error.kind == "retriable"
    runner.load("transforms.a", runner.named("Fickle"), timeout=60_000)
    assert runner.call(Apply([Step("transforms.a")], [batch_of("later")])).failures == []


def everything() -> Any:
    """Return a struct with every type, nulls among them."""
    inner = SchemaBuilder.struct().name("inner").field("n", OPTIONAL_INT64_SCHEMA).optional().build()
    schema = (
        SchemaBuilder.struct().name("all").version(2)
        .field("id", INT64_SCHEMA)
        .field("text", OPTIONAL_STRING_SCHEMA)
        .field("data", OPTIONAL_BYTES_SCHEMA)
        .field("price", Decimal.builder(2).optional().build())
        .field("list", SchemaBuilder.array(OPTIONAL_STRING_SCHEMA).optional().build())
        .field("map", SchemaBuilder.map(STRING_SCHEMA, OPTIONAL_INT64_SCHEMA).optional().build())
        .field("inner", inner)
        .build()
    )  # fmt: skip
    full = {
        "id": 1 << 62, "text": "ü\U0001f600", "data": b"\x00\xff", "price": PythonDecimal("-12.50"),
        "list": ["a", None], "map": {"k": None, "l": 7}, "inner": Struct(inner).put("n", None),
    }  # fmt: skip
    one, other = Struct(schema), Struct(schema).put("id", 2)
    for name, value in full.items():
        one.put(name, value)
    return schema, [one, other]


def test_converter_reads_what_it_writes(runner: Runner) -> None:
    """Values of every type survive the converter, and so do nulls."""
    schema, values = everything()
    runner.load("value.converter", runner.json, {"schemas.enable": "true"})
    cells = Cells.of(batch_of(*values, schema=schema).select(["value", "row"]))
    written = runner.call(Serialize(["value.converter"], "t", cells))
    assert written.failures == []
    data = Batch(None, None, OPTIONAL_BYTES_SCHEMA, batch_of(None, None).data.select(["row"])).with_columns(
        value=written.columns["value"]
    )
    read = runner.call(Deserialize(["value.converter"], "t", Cells.of(data)))
    (run,) = read.runs
    assert run.schema == schema
    found = batch_to_sink_records(Batch("t", None, run.schema, _column(run.column)))
    assert [record.value for record in found] == values


def test_struct_inside_itself_survives_steps(runner: Runner) -> None:
    """Whether the plugin makes it or gets it; records after it have their own schema."""
    runner.load("transforms.a", runner.named("Fickle"))
    made = runner.call(Apply([Step("transforms.a")], [batch_of("tree", "b")]))
    assert made.failures == []
    tree, plain = (batch_to_sink_records(batch)[0] for batch in made.batches)
    assert (str(tree.value), plain.value) == ("Struct{name=root,children=[Struct{name=child}]}", "b")
    schema: Any = tree.value_schema
    children = schema.field("children").schema
    assert children.value_schema.field("children").schema == children
    branch = Struct(children.value_schema).put("name", "branch").put("children", tree.value["children"])
    deeper = Struct(schema).put("name", "top").put("children", [branch, branch])
    (again,) = runner.call(Apply([Step("transforms.a")], [batch_of(deeper, None, schema=schema)])).batches
    first, second = batch_to_sink_records(again)
    assert (first.value, first.value_schema, second.value) == (deeper, schema, None)


def _column(column: Any) -> Any:
    return pa.RecordBatch.from_arrays([column, pa.array(range(len(column)), pa.int64())], names=["value", "offset"])


def test_bytes_that_are_not_json_fail_alone(runner: Runner) -> None:
    """The other rows are converted."""
    runner.load("value.converter", runner.json, {"schemas.enable": "false"})
    cells = Cells.of(batch_of(b"1", b"{", b"2", schema=OPTIONAL_BYTES_SCHEMA).select(["value", "row"]))
    read = runner.call(Deserialize(["value.converter"], "t", cells))
    (failure,) = read.failures
    assert (failure.row, failure.phase, failure.error.kind) == (1, "VALUE_CONVERTER", "data")


def test_header_converter_reads_what_it_writes(runner: Runner) -> None:
    """Headers keep their order; one that is not JSON fails its record alone."""
    runner.load("header.converter", runner.json, {"schemas.enable": "true"})
    headers = [Headers().add("b", INT64_SCHEMA, 1).add("a", STRING_SCHEMA, "x").add("b", None, None), Headers()]
    records = [SinkRecord("t", 0, None, None, None, "v", headers=each, kafka_offset=0) for each in headers]
    batch = number_rows(records_to_batches(records)[0])
    written = runner.call(SerializeHeaders("t", batch))
    assert written.failures == []
    assert [[pair["key"] for pair in row] for row in written.column.to_pylist()] == [["b", "a", "b"], []]
    read = runner.call(DeserializeHeaders("t", written.column))
    assert read.failures == []
    assert read.column.to_pylist()[0][:2] == batch.column("headers").to_pylist()[0][:2]
    bad = pa.array([[{"key": "b", "value": b"{"}], []], written.column.type)
    (failure,) = runner.call(DeserializeHeaders("t", bad)).failures
    assert (failure.row, failure.phase, failure.error.kind) == (0, "HEADER_CONVERTER", "data")


def test_lists_and_maps_of_mixed_types_survive_steps(runner: Runner) -> None:
    """Kafka's header converters make such schemas, which have no inner one, of texts like ``[1,"a"]`` and ``{}``."""
    runner.load("transforms.a", runner.named("Fickle"))
    list_schema, map_schema = Schema(Type.ARRAY), Schema(Type.MAP)
    headers = Headers().add("l", list_schema, [1, "a", None]).add("m", map_schema, {}).add("n", map_schema, {"a": [1]})
    record = SinkRecord("t", 0, None, None, list_schema, [1, "a", True], headers=headers, kafka_offset=0)
    sent = number_rows(records_to_batches([record])[0])
    found = runner.call(Apply([Step("transforms.a")], [sent]))
    assert found.failures == []
    assert batch_to_sink_records(found.batches[0]) == batch_to_sink_records(sent)


def test_headers_and_positions_survive_steps(runner: Runner) -> None:
    """Source records keep source partition, offset and headers in order."""
    runner.call(Configure("source", 0, 1))
    runner.call(Load([WantedPlugin("transforms.a", "a", runner.named("Fickle"))]))
    headers = Headers().add("b", INT64_SCHEMA, 1).add("a", STRING_SCHEMA, "text").add("b", None, {"x": [1, None]})
    partition: dict[str, Any] = {"z": 1, "a": "p"}
    sent = SourceRecord(partition, {"o": 1.5}, "t", 3, STRING_SCHEMA, "k", None, {"v": True}, 99, headers)
    (batch,) = runner.call(Apply([Step("transforms.a")], [number_rows(records_by_kind([sent])[0])])).batches
    assert list(batch.source_partition) == ["z", "a"]
    (batch_again,) = records_by_kind([sent])
    for name in ("source_offset", "partition", "key", "value", "timestamp", "headers"):
        assert batch.column(name).to_pylist() == batch_again.column(name).to_pylist(), name


def test_source_task_polls_only_with_credit(runner: Runner) -> None:
    """Its records come before the error that ends it, with offsets that follow the committed one."""
    runner.offset = {"position": 1 << 40}
    runner.call(Configure("source", 0, 1))
    started = runner.call(StartSource(runner.named("CountingSource"), {}))
    assert (started.version, started.wants_records, started.wants_commits) == ("1.2", False, False)
    runner.call(Ping())
    assert runner.messages.empty()
    runner.stage.notify(AddCredit(2))
    handed = runner.next()
    assert isinstance(handed, HandOver)
    (batch,) = handed.batches
    assert batch.column("value").to_pylist() == ["v0", "v1", "v2"]
    assert batch.source_partition == {"name": "n"}
    assert batch.column("source_offset").to_pylist()[0] == f'{{"position":{1 << 40}}}'
    failed = runner.next()
    assert isinstance(failed, PollFailed)
    assert failed.error.message == "no more"
    runner.call(StopSource())


def _dripped(runner: Runner, last: type[Any], config: dict[str, str] | None = None, **how: Any) -> tuple[int, Any]:
    """Return the number of hand-overs of the slow source and the message after them; its records are in order."""
    runner.call(Configure("source", 0, 1))
    runner.call(StartSource(runner.named("DrippingSource"), config or {}, **how))
    runner.stage.notify(AddCredit(100))
    values, count = [], 0
    while not isinstance(message := runner.next(), last):
        assert isinstance(message, HandOver)
        count += 1
        values += [value for batch in message.batches for value in batch.column("value").to_pylist()]
    assert values == [f"v{number}" for number in range(40)]
    runner.call(StopSource())
    return count, message


@pytest.mark.parametrize(("joins", "ends"), [(True, range(1, 40)), (False, [40])])
def test_quick_polls_are_joined_where_the_runtime_allows_it(runner: Runner, joins: bool, ends: Any) -> None:
    """No record waits past the empty polls, or past the error that ends the task."""
    count, _ = _dripped(runner, PollsEmpty, empty_ms=50, joins_polls=joins)
    assert count in ends
    count, failed = _dripped(runner, PollFailed, {"fails": "yes"}, joins_polls=joins)
    assert count in ends
    assert failed.error.message == "no more"


def _bounded(runner: Runner, config: dict[str, str], *, ends_transactions: bool) -> list[Any]:
    """Return what the source with transactions sends: values, the ends of transactions, and its last message."""
    runner.call(Configure("source", 0, 1))
    source = runner.named("BoundedSource")
    runner.call(StartSource(source, config, ends_transactions=ends_transactions, empty_ms=20))
    runner.stage.notify(AddCredit(100))
    sent: list[Any] = []
    while not isinstance(message := runner.next(), PollsEmpty | PollFailed):
        if isinstance(message, EndTransaction):
            sent.append("abort" if message.aborts else "commit")
        else:
            sent += [value for batch in message.batches for value in batch.column("value").to_pylist()]
    runner.call(StopSource())
    return [*sent, message]


def test_transactions_end_where_the_task_says(runner: Runner) -> None:
    """After a record or after a poll; a task whose transactions the runtime ends has no context for them."""
    values = [f"v{number}" for number in range(9)]
    *sent, _ = _bounded(runner, {}, ends_transactions=True)
    assert sent == [*values[:2], "commit", *values[2:4], "abort", *values[4:], "commit"]
    *sent, _ = _bounded(runner, {}, ends_transactions=False)
    assert sent == values


def test_task_that_commits_and_aborts_one_transaction_fails(runner: Runner) -> None:
    """With Kafka Connect's words; the record is not handed over."""
    *sent, failed = _bounded(runner, {"torn": "yes"}, ends_transactions=True)
    assert "v2" not in sent
    assert failed.error.message.startswith("Connector requested both commit and abort of same record against")


def test_task_that_never_reports_exhaustion_ends_after_empty_polls(runner: Runner) -> None:
    """Java's tasks have no method for it, and Python's need not use theirs."""
    began = time.monotonic()
    _dripped(runner, PollsEmpty, empty_ms=300, ends_exhausted=True)
    assert time.monotonic() - began >= 0.3


def test_sink_task_accepts_puts_in_advance(runner: Runner) -> None:
    """A put that was sent before an earlier one failed, or before a request was read, has no effect."""
    runner.call(Configure("sink", 0, 1))
    started = runner.call(StartSink(runner.named("ChoosySink"), {}))
    assert (started.version, started.is_batch, started.takes_next) == ("3", False, True)
    runner.call(OpenPartitions([TopicPartition("t", 0)]))
    assert runner.call(Put([batch_of("a")])).taken == 1
    assert runner.call(Put([batch_of("b", "commit", "c")], heard=0, ends=[1, 2, 3])).taken == 2
    assert runner.next() == ContextRequest(commit=True)
    assert runner.call(Put([batch_of("d")], heard=1)).taken == 0
    with pytest.raises(RemoteError) as raised:
        runner.call(Put([batch_of("again")]))
    assert raised.value.is_retriable
    partition = TopicPartition("t", 0)
    assert runner.call(PreCommit({partition: 4})).offsets == {partition: 4}
    runner.call(StopSink())


def test_metrics_of_plugins_have_their_values(runner: Runner) -> None:
    """Each tenant has its own. Transformations have some in Java alone, as MBeans, which are the whole stage's."""
    runner.load("transforms.a", runner.named("Fickle"))
    runner.call(StartSource(runner.named("CountingSource"), {}))
    tenant = runner.stage.connection.channel.of(8)
    tenant.call(StartSource(runner.named("CountingSource"), {}), SECONDS)
    runner.stage.notify(AddCredit(1))
    runner.next()
    found = runner.call(AskMetrics()).metrics
    plugins = [each for each in found if each.group == "plugins"]
    beans = [each for each in found if each.group == "sample" and each.tags["type"] == "counter"]
    others = tenant.call(AskMetrics(), SECONDS).metrics
    tenant.call(EndTenant(), SECONDS)
    runner.call(StopSource())
    of_steps = [("tries", 0, {"transformation": "a"})] if runner.is_java else []
    assert sorted((each.name, each.value, each.tags) for each in plugins) == [
        ("polls", 1, {"unit": "1"}),
        ("rate", None, {}),
        *of_steps,
    ]
    assert {(each.name, each.value) for each in others} == {("polls", 0), ("rate", None)}
    if not runner.is_java:
        assert runner.call(AskMetrics()).metrics == []
        return
    assert {each.value for each in beans if each.name == "Polls"} >= {0, 1}
    assert {each.group for each in found} <= {"plugins", "sample"}
    runner.load("transforms.a", runner.named("Fickle"))
    (again,) = runner.call(AskMetrics()).metrics[: -len(beans)]
    assert again.name == "tries"


def test_connector_can_start_again(runner: Runner) -> None:
    """Its task configurations come with the name of the task's class."""
    assert runner.call(LoadConnector(runner.named("CountingSource"))).version == "1.2"
    for _ in range(2):
        runner.call(StartConnector({"name": "c"}))
        found = runner.call(AskTaskConfigs(4))
        assert found.configs == [{"topic": "t"}]
        assert found.task_class.endswith("CountingTask")
        runner.call(StopConnector())


def test_connector_is_asked_about_offsets_and_transactions(runner: Runner) -> None:
    """Before it starts; a source without the method does not see to offsets itself."""
    runner.call(LoadConnector(runner.named("CountingSource")))
    altered = runner.call(AlterOffsets({}, [[{"name": "n"}, {"position": 5}], [{"name": "m"}, None]]))
    assert altered.is_seen_to is True
    with pytest.raises(RemoteError, match="n is negative"):
        runner.call(AlterOffsets({}, [[{"name": "n"}, {"position": -1}]]))
    for support in ("SUPPORTED", "UNSUPPORTED"):
        assert runner.call(AskExactlyOnce({"support": support})).support == support
    assert runner.call(AskExactlyOnce({}, boundaries=True)).support == "UNSUPPORTED"
    runner.call(LoadConnector(runner.named("DrippingSource")))
    assert runner.call(AlterOffsets({}, [[{"name": "n"}, None]])).is_seen_to is False
    assert runner.call(AskExactlyOnce({})).support is None


def test_config_provider_finds_what_it_has(runner: Runner) -> None:
    """Keys that it lacks are left out; Kafka's own class and the one of Python have the same result."""
    runner.call(LoadProvider(runner.provider, {"allowlist.pattern": "PATH|HEARTH_.*"}))
    found = runner.call(LookUp("", ["PATH", "HOME", "HEARTH_NOTHING"]))
    assert (list(found.data), found.ttl) == (["PATH"], None)


def test_tenant_has_its_own_thread(runner: Runner) -> None:
    """Its number is that of its messages, and its end is answered."""
    channel = runner.stage.connection.channel
    tenant = channel.of(7)
    tenant.call(LoadConnector(runner.named("CountingSource")), SECONDS)
    assert "stage-7" in runner.call(AskStacks()).stacks
    tenant.call(EndTenant(), SECONDS)


def test_malformed_frame_ends_the_stage(runner: Runner) -> None:
    """A stage does not guess where the next frame begins."""
    other = Stage.start(runner.environment, "other")
    sock: socket.socket = other.connection.channel._socket
    sock.sendall(b"\x00\x00\x00\x00\xff\xff\xff\xff")
    assert other.connection.await_end(10) == 0
