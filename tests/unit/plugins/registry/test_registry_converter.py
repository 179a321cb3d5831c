"""What the three converters share, by a format that is easy to read."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_api import ConfigError, DataError, Headers, RetriableError
from hearth_execution.failure import summary_of
from hearth_registry.failure_wording import DisconnectedError, NetworkError, ThrottledError
from hearth_registry.memory_registry import MemoryRegistry, guid_of
from hearth_registry.schema_text import AVRO, JSON, SchemaText
from tests.registry_server import RegistryServer, serving
from tests.timeouts import TIMEOUT
from tests.unit.plugins.registry.both_forms import in_columns, in_records
from tests.unit.plugins.registry.toy import TEXT, ToyConverter, schema
from tests.unit.run_order import values_in_order

ASSOCIATION = "GET /associations/resources/-/t?resourceType=topic&associationType=value"
REGISTER = "POST /subjects/t-value/versions?normalize=false"
LOOK_UP = "POST /subjects/t-value?normalize=false&deleted={}"
BY_ID = "GET /schemas/ids/1?fetchMaxId=false&subject=t-value"
FIRST = b"\0\0\0\0\1"
SUBJECTS = "io.confluent.kafka.serializers.subject."
IDS = "io.confluent.kafka.serializers.schema.id."


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    """Serve an empty registry."""
    with serving() as server:
        yield server


def converter(server: RegistryServer, *, is_key: Any = False, **keys: Any) -> ToyConverter:
    """Return a converter that asks a server once."""
    made = ToyConverter()
    names = {name.replace("_", "."): str(value) for name, value in keys.items()}
    made.configure({"schema.registry.url": server.url, "max.retries": "0", **names}, is_key)
    return made


# Writing ------------------------------------------------------------------------------------------------------


def test_a_schema_is_registered_once_and_its_id_precedes_each_payload(server: RegistryServer) -> None:
    """The order of the requests is Java's."""
    toy = converter(server)
    assert [toy.from_connect_data("t", TEXT, each) for each in ("a", "b")] == [
        FIRST + b"String=a",
        FIRST + b"String=b",
    ]
    assert server.requests == [ASSOCIATION, REGISTER]
    assert server.bodies[1] == {"schemaType": "AVRO", "schema": "String"}
    sent = server.headers[1]
    assert sent["Content-Type"] == "application/vnd.schemaregistry.v1+json"
    assert sent["Confluent-Accept-Unknown-Properties"] == "true"
    assert "Accept" not in sent


def test_each_schema_is_registered_once_also_where_they_take_turns(server: RegistryServer) -> None:
    """Its cost is paid once a schema, not once a record."""
    toy = converter(server)
    data = [toy.from_connect_data("t", schema(name), "x") for name in "abab"]
    assert [each and each[:5].hex() for each in data] == ["0000000001", "0000000002", "0000000001", "0000000002"]
    assert server.requests == [ASSOCIATION, REGISTER] * 2


def test_a_column_sends_the_requests_of_one_value_and_has_the_same_bytes(server: RegistryServer) -> None:
    """Nulls stay nulls; all of them register nothing."""
    toy = converter(server)
    assert toy.from_connect_batch("t", TEXT, pa.nulls(2, pa.string())).to_pylist() == [None, None]
    assert server.requests == []
    column = toy.from_connect_batch("t", TEXT, pa.array(["a", None, "b"]))
    assert column.to_pylist() == [toy.from_connect_data("t", TEXT, each) for each in ("a", None, "b")]
    assert toy.from_connect_batch("t", TEXT, pa.array([], pa.string())).to_pylist() == []
    assert toy.from_connect_batch("t", TEXT, pa.array(["single"])) is NotImplemented
    assert server.requests == [ASSOCIATION, REGISTER]


@pytest.mark.parametrize("as_column", [False, True])
def test_an_invalid_value_registers_nothing(server: RegistryServer, as_column: bool) -> None:
    """A value of the wrong class is a DataError as it is, one that the schema has no place for is worded."""
    toy = converter(server)
    for value, message in [(7, "no text: 7"), ("odd", "Failed to serialize Avro data from topic t:")]:
        write, data = (toy.from_connect_batch, pa.array([value])) if as_column else (toy.from_connect_data, value)
        with pytest.raises(DataError) as caught:
            write("t", TEXT, data)
        assert str(caught.value) == message
    assert server.requests == []
    assert "SerializationException: Error serializing Avro message" in summary_of(caught.value)


def test_the_answered_schema_is_used_for_writing(server: RegistryServer) -> None:
    """A registry may change a schema's text."""
    server.fault = lambda method, path: (200, b'{"id":9,"schema":"Stranger"}') if "versions" in path else None
    assert converter(server).from_connect_data("t", TEXT, "a") == b"\0\0\0\0\x09Stranger=a"


def test_latest_version_is_used_if_it_reads_the_values_schema(server: RegistryServer) -> None:
    """It is asked for once, too."""
    server.registry.register("t-value", SchemaText(AVRO, "Some"))
    toy = converter(server, auto_register_schemas="false", use_latest_version="true")
    for _ in range(2):
        assert toy.from_connect_data("t", TEXT, "a") == FIRST + b"Some=a"
    assert server.requests == [ASSOCIATION, "GET /subjects/t-value/versions/latest"]
    with pytest.raises(DataError, match="Failed to serialize Avro") as caught:
        toy.from_connect_data("t", schema("Other"), "a")
    assert "Incompatible schema of type 'AVRO'. Set latest.compatibility.strict=false to dis" in summary_of(
        caught.value
    )
    lax = converter(
        server, auto_register_schemas="false", use_latest_version="true", latest_compatibility_strict="false"
    )
    assert lax.from_connect_data("t", schema("Other"), "a") == FIRST + b"Some=a"


def test_the_schema_keys_have_an_order_of_precedence(server: RegistryServer) -> None:
    """By id, by GUID, by metadata, or by its own text; registering goes before all of them."""
    text = SchemaText(AVRO, "Some", metadata={"properties": {"k": "v"}})
    server.registry.register("t-value", text)
    guid = guid_of(text)
    asked = {
        "use_schema_id": ("1", [BY_ID]),
        "use_schema_guid": (guid, [f"GET /schemas/guids/{guid}", LOOK_UP.format("false")]),
        "use_latest_with_metadata": ("k=v", ["GET /subjects/t-value/metadata?key=k&value=v&deleted=true"]),
    }
    for key, (value, requests) in asked.items():
        server.requests.clear()
        toy = converter(server, auto_register_schemas="false", **{key: value})
        assert toy.from_connect_data("t", TEXT, "a") == FIRST + b"Some=a"
        assert server.requests == [ASSOCIATION, *requests]
    server.requests.clear()
    toy = converter(server, auto_register_schemas="false", normalize_schemas="true")
    assert toy.from_connect_data("t", schema("Some"), "a") == FIRST + b"Some=a"
    assert server.requests == [ASSOCIATION, "POST /subjects/t-value?normalize=true&deleted=false"]


def test_the_guid_is_written_into_a_header_once(server: RegistryServer) -> None:
    """The payload has no prefix then, and columns do not support it."""
    toy = converter(server, value_schema_id_serializer=IDS + "HeaderSchemaIdSerializer")
    headers = Headers()
    for _ in range(2):
        assert toy.from_connect_data("t", TEXT, "a", headers) == b"String=a"
    assert [(each.key, each.value[:1], len(each.value)) for each in headers] == [("__value_schema_id", b"\1", 17)]
    assert toy.from_connect_batch("t", TEXT, pa.array(["a"])) is NotImplemented
    with pytest.raises(DataError) as caught:
        toy.from_connect_data("t", TEXT, "a", None)
    assert "SerializationException: Missing headers" in summary_of(caught.value)
    assert toy.to_connect_data("t", b"String=a", headers).value == "a (String as String)"
    server.is_old = True
    old = converter(server, value_schema_id_serializer=IDS + "HeaderSchemaIdSerializer")
    with pytest.raises(DataError) as caught:
        old.from_connect_data("t", TEXT, "a", headers)
    assert "Schema GUID is null" in summary_of(caught.value)


def test_a_schema_is_checked_without_registering_it(server: RegistryServer) -> None:
    """As a new one, as the version that it is, and as one that the registry refuses."""
    server.registry.judge = lambda _subject, text, _before: ["no"] if text.text == "Bad" else []
    toy = converter(server)
    new = toy.outlook("t", schema("Some"))
    assert (new.subject, new.text, new.version, new.latest, new.against) == ("t-value", "Some", None, None, ())
    server.registry.register("t-value", SchemaText(AVRO, "Some"))
    known, bad = toy.outlook("t", schema("Some")), toy.outlook("t", schema("Bad"))
    assert (known.version, known.latest, known.latest_version, known.against) == (1, "Some", 1, ())
    assert (bad.version, bad.latest_version, bad.against, bad.compatibility) == (None, 1, ("no",), "BACKWARD")
    assert not any("/versions?" in each and "compatibility" not in each for each in server.requests)


# Subjects -----------------------------------------------------------------------------------------------------


def test_a_topic_may_be_associated_with_a_subject(server: RegistryServer) -> None:
    """One that an old registry knows nothing of is the topic's own."""
    server.registry.associations["t", True] = ["own"]
    assert converter(server, is_key=True).from_connect_data("t", TEXT, "a") == FIRST + b"String=a"
    assert server.requests[-1] == "POST /subjects/own/versions?normalize=false"
    server.is_old = True
    assert converter(server, is_key=True).from_connect_data("t/x", TEXT, "a") == FIRST + b"String=a"
    assert server.requests[-1] == "POST /subjects/t%2Fx-key/versions?normalize=false"


@pytest.mark.parametrize(
    ("strategy", "subject"),
    [("TopicNameStrategy", "t-value"), ("RecordNameStrategy", "String"), ("TopicRecordNameStrategy", "t-String")],
)
def test_other_strategies_request_no_association(server: RegistryServer, strategy: str, subject: str) -> None:
    """Those that use the schema request it twice when reading, as in Java."""
    toy = converter(server, value_subject_name_strategy=SUBJECTS + strategy)
    data = toy.from_connect_data("t", TEXT, "a")
    assert toy.to_connect_data("t", data).value == "a (String as String)"
    requests = [
        f"POST /subjects/{subject}/versions?normalize=false",
        "GET /schemas/ids/1?fetchMaxId=false",
        f"GET /schemas/ids/1?fetchMaxId=false&subject={subject}",
        f"POST /subjects/{subject}?normalize=false&deleted=true",
    ]
    assert server.requests == (requests if strategy != "TopicNameStrategy" else [requests[0], *requests[2:]])


def test_a_missing_subject_is_a_data_error(server: RegistryServer) -> None:
    """The sentence is Java's."""
    toy = converter(server, value_subject_name_strategy=SUBJECTS + "RecordNameStrategy")
    with pytest.raises(DataError, match="Failed to serialize Avro data from topic t:") as caught:
        toy.from_connect_data("t", schema("no name"), "a")
    words = (
        "In configuration value.subject.name.strategy = io.confluent.kafka.serializers.subject.RecordNameStrategy, "
    )
    assert words + "the message value must only be a record schema" in summary_of(caught.value)
    server.registry.associations["t", False] = ["one", "two"]
    with pytest.raises(DataError) as caught:
        converter(server).from_connect_data("t", TEXT, "a")
    assert "Multiple associated subjects found for topic t" in summary_of(caught.value)
    with pytest.raises(DataError) as caught:
        converter(server, subject_name_strategy_fallback_type="NONE").from_connect_data("other", TEXT, "a")
    assert "No associated subject found for topic other" in summary_of(caught.value)


# Reading ------------------------------------------------------------------------------------------------------


def test_a_schema_is_requested_once_with_its_version(server: RegistryServer) -> None:
    """Id, then version, in Java's order; null is nothing at all."""
    server.registry.register("t-value", SchemaText(AVRO, "Other"))
    server.registry.register("t-value", SchemaText(AVRO, "Some"))
    toy = converter(server)
    for _ in range(2):
        found = toy.to_connect_data("t", b"\0\0\0\0\2Some=a")
        assert (found.schema and found.schema.name, found.schema and found.schema.version) == ("Some", 2)
        assert found.value == "a (Some as Some)"
    assert server.requests == [ASSOCIATION, BY_ID.replace("1?", "2?"), LOOK_UP.format("true")]
    assert toy.to_connect_data("t", None) == (None, None)


def test_values_are_read_as_the_latest_version(server: RegistryServer) -> None:
    """Where a key says so."""
    server.registry.register("t-value", SchemaText(AVRO, "Other"))
    server.registry.register("t-value", SchemaText(AVRO, "Some"))
    toy = converter(server, use_latest_version="true")
    assert toy.to_connect_data("t", FIRST + b"Other=a").value == "a (Other as Some)"
    assert server.requests[-1] == "GET /subjects/t-value/versions/latest"


def test_a_column_of_several_schemas_is_read_schema_by_schema(server: RegistryServer) -> None:
    """The rows keep their order, and each schema is asked for once."""
    for name in ("A", "B"):
        server.registry.register("t-value", SchemaText(AVRO, name))
    toy = converter(server)
    cells = [b"\0\0\0\0\1A=1", b"\0\0\0\0\1A=2", None, b"\0\0\0\0\2B=3", b"\0\0\0\0\1A=4"]
    runs = toy.to_connect_batch("t", pa.array(cells, pa.binary()))
    single = [toy.to_connect_data("t", each) for each in cells]
    assert values_in_order(runs) == [(each.schema, each.value) for each in single]
    assert [[*run.rows] for run in runs] == [[0, 1, 4], [3], [2]]
    assert len(server.requests) == 5
    many = pa.array([b"\0\0\0" + number.to_bytes(2, "big") + b"S=x" for number in range(100)], pa.binary())
    server.fault = lambda _method, path: (200, b'{"schema":"S","version":1}') if "associations" not in path else None
    assert converter(server).to_connect_batch("t", many) is NotImplemented
    assert toy.to_connect_batch("t", pa.array([], pa.binary())) == []


_CELLS = (
    b"\0\0\0\0\1A=1", b"\0\0\0\0\2B=2", None, b"", b"\0\0\0\0", b"{}", b"\7\0\0\0\1A=1", b"\1\0\0\0\1A=1",
    b"\0\0\0\0\1 broken", b"\0\0\0\0\2",
)  # fmt: skip


@given(st.lists(st.sampled_from(_CELLS), max_size=30))
def test_a_column_fails_in_the_rows_in_which_single_values_fail(cells: list[bytes | None]) -> None:
    """Each failed row has the error of the record form, the others have their values."""
    with serving() as server:
        for name in ("A", "B"):
            server.registry.register("t-value", SchemaText(AVRO, name))
        toy = converter(server)
        assert in_columns(toy, cells) == [in_records(toy, cell) for cell in cells]


def test_a_header_identifies_the_schema(server: RegistryServer) -> None:
    """The last header with the name; the converter declares that name to the host."""
    found = server.registry.register("t-value", SchemaText(AVRO, "Some"))
    assert found.guid is not None
    headers = Headers().add_bytes("__value_schema_id", b"\1" + bytes.fromhex(found.guid.replace("-", "")))
    toy = converter(server)
    assert toy.header_names == {"__value_schema_id"}
    assert toy.to_connect_data("t", b"Some=a", headers).value == "a (Some as Some)"
    assert f"GET /schemas/guids/{found.guid}" in server.requests
    plain = converter(server, value_schema_id_deserializer=IDS + "PrefixSchemaIdDeserializer")
    assert plain.header_names == frozenset()
    assert plain.to_connect_data("t", FIRST + b"Some=a", headers).value == "a (Some as Some)"


def test_the_keys_can_set_the_schema_of_all_bytes(server: RegistryServer) -> None:
    """Payloads have no prefix then; without an id the configuration is incomplete."""
    server.registry.register("t-value", SchemaText(AVRO, "Some"))
    reader = IDS + "ConfigSchemaIdDeserializer"
    toy = converter(server, value_schema_id_deserializer=reader, use_schema_id="1")
    assert toy.to_connect_data("t", b"Some=a").value == "a (Some as Some)"
    (run,) = toy.to_connect_batch("t", pa.array([b"Some=a", b"Some=b"], pa.binary()))
    assert run.column.to_pylist() == ["a (Some as Some)", "b (Some as Some)"]
    with pytest.raises(ConfigError, match=r"use\.schema\.id or use\.schema\.guid"):
        converter(server, value_schema_id_deserializer=reader)


@pytest.mark.parametrize(
    ("data", "inner"),
    [
        (b"", "BufferUnderflowException"),
        (b"\0\0\0\0", "BufferUnderflowException"),
        (b"{}", "IllegalArgumentException: Unknown magic byte!"),
    ],
)
def test_bytes_without_id_are_a_data_error(server: RegistryServer, data: bytes, inner: str) -> None:
    """With Java's causes, and what to look at."""
    with pytest.raises(DataError) as caught:
        converter(server).to_connect_data("t", data)
    assert str(caught.value) == "Failed to deserialize data for topic t to Avro:"
    assert "SerializationException: Error deserializing schema ID" in summary_of(caught.value)
    assert inner in summary_of(caught.value)
    assert caught.value.hint is not None


def test_an_unknown_id_is_named_with_its_request(server: RegistryServer) -> None:
    """So is a schema that is not one of the topic's, and a payload that cannot be read."""
    server.registry.register("other", SchemaText(AVRO, "Some"))
    toy = converter(server)
    inner = {
        b"\0\0\0\0\x63x": "Error retrieving Avro value schema for id SchemaId{schemaType='AVRO', id=99, guid='null',"
        " messageIndexes=null}",
        FIRST + b"Some=x": "Error retrieving Avro value schema version for id SchemaId{schemaType='AVRO', id=1,",
    }
    for data, words in inner.items():
        with pytest.raises(DataError, match=r"Failed to deserialize data for topic t to Avro:$") as caught:
            toy.to_connect_data("t", data)
        assert words in summary_of(caught.value)
        assert "RestClientException: " in summary_of(caught.value)
    server.registry.register("t-value", SchemaText(AVRO, "Some"))
    with pytest.raises(DataError) as caught:
        toy.to_connect_data("t", FIRST + b"short")
    assert "Error deserializing Avro message for id SchemaId{schemaType='AVRO', id=1" in summary_of(caught.value)


def test_a_registry_that_answers_with_a_wrong_schema_is_reported(server: RegistryServer) -> None:
    """A schema of another format, one with data contract rules, and an invalid one."""
    texts = [
        SchemaText(JSON, "{}"),
        SchemaText(AVRO, "Some", rules={"domainRules": [{"name": "r"}]}),
        SchemaText(AVRO, "bad"),
    ]
    words = ["schema 1 is of type JSON, not AVRO", "has rules of a data contract", "a bad schema"]
    for text, word in zip(texts, words):
        server.registry = MemoryRegistry()
        server.registry.register("t-value", text)
        with pytest.raises(DataError) as caught:
            converter(server).to_connect_data("t", FIRST + b"Some=x")
        assert word in summary_of(caught.value)


# Failures -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "error", "message"),
    [
        (401, ConfigError, "Failed to access Avro data from topic t : Error registering Avro schemaString"),
        (403, ConfigError, "Failed to access Avro data from topic t : Error registering Avro schemaString"),
        (404, DataError, "Failed to serialize Avro data from topic t:"),
        (409, DataError, "Failed to serialize Avro data from topic t:"),
        (422, DataError, "Failed to serialize Avro data from topic t:"),
        (408, RetriableError, "Failed to serialize Avro data from topic t :"),
        (500, RetriableError, "Failed to serialize Avro data from topic t :"),
        (503, RetriableError, "Failed to serialize Avro data from topic t :"),
        (504, RetriableError, "Failed to serialize Avro data from topic t :"),
        (429, ThrottledError, "Error registering Avro schemaString"),
        (502, DisconnectedError, "Error registering Avro schemaString"),
    ],
)
def test_each_status_raises_the_java_converters_error(
    server: RegistryServer, status: int, error: type[Exception], message: str
) -> None:
    """What Connect does about it follows from the class."""
    body = b'{"error_code":%d,"message":"no"}' % status
    server.fault = lambda method, path: (status, body) if "versions" in path else None
    with pytest.raises(error) as caught:
        converter(server).from_connect_data("t", TEXT, "a")
    assert (type(caught.value), str(caught.value)) == (error, message)
    assert f"RestClientException: no; error code: {status}" in summary_of(caught.value)


def test_a_response_that_is_not_json_is_reported(server: RegistryServer) -> None:
    """The page's beginning is in the trace, whatever its status."""
    for status in (200, 404):
        server.fault = partial(_page, status)
        with pytest.raises(DataError) as caught:
            converter(server).from_connect_data("t", TEXT, "a")
        assert "<html>Proxy" in summary_of(caught.value)
        assert "error code: 50005" in summary_of(caught.value)


def _page(status: int, _method: str, path: str) -> tuple[int, bytes] | None:
    return (status, b"<html>Proxy") if "versions" in path else None


def test_nothing_is_remembered_of_a_failure(server: RegistryServer) -> None:
    """The next record, or another attempt with this one, asks again."""
    toy = converter(server)
    server.fault = lambda _method, _path: (503, b"{}")
    for _ in range(2):
        with pytest.raises(RetriableError):
            toy.from_connect_data("t", TEXT, "a")
    server.fault = lambda _method, _path: None
    assert toy.from_connect_data("t", TEXT, "a") == FIRST + b"String=a"


def test_a_registry_that_is_away_is_named_and_worth_another_attempt() -> None:
    """Address, topic and what to do are in the words; Connect calls again within errors.retry.timeout."""
    with serving() as server:
        toy = converter(server)
        url = server.url
    for call in (lambda: toy.from_connect_data("t", TEXT, "a"), lambda: toy.to_connect_data("t", FIRST + b"x")):
        with pytest.raises(NetworkError) as caught:
            call()
        assert isinstance(caught.value, RetriableError)
        assert url in str(caught.value)
        assert "Connection refused" in str(caught.value)
    assert str(caught.value).startswith("Network connection error while deserializing data for topic t: http")
    assert caught.value.java_name == "org.apache.kafka.common.errors.NetworkException"
    assert "errors.retry.timeout" in str(caught.value.hint)


def test_a_registry_that_keeps_silent_is_worth_another_attempt(server: RegistryServer) -> None:
    """In both directions, with Java's messages."""
    answered = threading.Event()

    def late(_method: str, path: str) -> tuple[int, bytes] | None:
        if "subjects" in path or "ids" in path:
            answered.wait(TIMEOUT)
        return None

    server.fault = late
    toy = converter(server, http_read_timeout_ms="50")
    calls: list[tuple[Callable[[], object], str, str]] = [
        (lambda: toy.from_connect_data("t", TEXT, "a"), "Failed to serialize Avro data from topic t :", "serializing"),
        (lambda: toy.to_connect_data("t", FIRST), "Failed to deserialize data for topic t to Avro: ", "deserializing"),
    ]
    for call, message, inner in calls:
        with pytest.raises(RetriableError) as caught:
            call()
        assert (type(caught.value), str(caught.value)) == (RetriableError, message)
        summary = summary_of(caught.value)
        assert f"TimeoutException: Error {inner} Avro message" in summary
        assert f"SocketTimeoutException: {server.url}: timed out" in summary
    answered.set()


def test_an_id_beyond_the_prefix_is_refused(server: RegistryServer) -> None:
    """An invalid answer of the registry is an error of the record, and nothing is written."""
    for answer in (b'{"id":4294967296}', b'{"id":-7}', b'{"version":1}'):
        server.fault = partial(_registered_as, answer)
        with pytest.raises(DataError, match="Failed to serialize Avro data from topic t:"):
            converter(server).from_connect_data("t", TEXT, "a")


def _registered_as(answer: bytes, _method: str, path: str) -> tuple[int, bytes] | None:
    return (200, answer) if "versions" in path else None


def test_memory_registry_is_shared_by_its_scope() -> None:
    """What a source writes to mock://, a sink of the same process reads."""
    one, two = ToyConverter(), ToyConverter()
    one.configure({"schema.registry.url": "mock://shared-by-two"}, False)
    two.configure({"schema.registry.url": "mock://shared-by-two"}, False)
    data = one.from_connect_data("t", TEXT, "a")
    assert two.to_connect_data("t", data).value == "a (String as String)"
