"""The offsets of connectors over HTTP (KIP-875), compared with a live Kafka Connect 4.3.1."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pytest

from hearth.herder import connector_offset
from hearth.kafka.kafka_error import KafkaError
from hearth.storage import State
from hearth_api import TopicPartition
from tests.unit.rest.client import Answer, Client, error

ONLY_STOPPED = (
    "Connectors must be in the STOPPED state before their offsets can be modified. This can be done for the specified "
    "connector by issuing a 'PUT' request to the '/connectors/c/stop' endpoint"
)
EXTERNAL = (
    "The Connect framework-managed offsets for this connector have been {0} successfully. However, if this connector "
    "manages offsets externally, they will need to be manually {0} in the system that the connector uses."
)
PATH = "/connectors/c/offsets"
HERE = TopicPartition("t", 0)
UNKNOWN_MEMBER, NOT_AUTHORIZED = 25, 30


class Group:
    """The offsets of a consumer group in a broker that may reject changes."""

    committed: dict[TopicPartition, int]
    refusal: int | None

    def __init__(self, config: Mapping[str, str], group: str) -> None:
        assert group == "connect-c"

    @classmethod
    def empty(cls) -> type[Group]:
        """Return an empty group."""
        cls.committed, cls.refusal = {}, None
        return cls

    def list(self) -> dict[TopicPartition, int]:
        """Return a copy."""
        return dict(self.committed)

    def alter(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit offsets."""
        self._refuse()
        self.committed.update(offsets)

    def delete(self, partitions: Collection[TopicPartition]) -> None:
        """Delete some offsets."""
        self._refuse()
        for each in partitions:
            self.committed.pop(each, None)

    def forget_group(self) -> None:
        """Delete all offsets."""
        self._refuse()
        self.committed.clear()

    def _refuse(self) -> None:
        if self.refusal is not None:
            raise KafkaError(self.refusal)


@pytest.fixture
def group(monkeypatch: pytest.MonkeyPatch) -> type[Group]:
    """Provide the group of the sink that a test creates."""
    monkeypatch.setattr(connector_offset, "GroupOffsets", Group.empty())
    return Group


def stopped(client: Client, **changes: Any) -> Client:
    """Stop a created connector."""
    client.create(**changes)
    assert client.call("PUT", "/connectors/c/stop").status == 204
    return client


def stopped_sink(client: Client) -> Client:
    """Stop a sink; the source's topic key has no meaning for it."""
    return stopped(client, **{"connector.class": "FileStreamSink", "topics": "t"})


def alter(client: Client, partition: Any, offset: Any) -> tuple[int, str]:
    """Alter one offset."""
    answer = client.call("PATCH", PATH, {"offsets": [{"partition": partition, "offset": offset}]})
    return answer.status, answer.text


def message(text: str) -> tuple[int, str]:
    """Return the response of a success."""
    return 200, f'{{"message":"{text}"}}'


class TestSource:
    """Offsets in the store."""

    def test_offsets_are_listed_as_they_were_committed(self, client: Client) -> None:
        """Only those of this connector, whether it runs or not."""
        client.create()
        assert client.call("GET", PATH).text == '{"offsets":[]}'
        client.bench.offsets.put("c", [({"p": 1}, {"n": 2}), ({"p": 2}, {"n": None, "m": "x"})])
        client.bench.offsets.put("d", [({"p": 1}, {"n": 9})])
        assert client.call("GET", f"{PATH}/").text == (
            '{"offsets":[{"partition":{"p":1},"offset":{"n":2}},{"partition":{"p":2},"offset":{"n":null,"m":"x"}}]}'
        )

    def test_only_a_stopped_connector_can_be_altered(self, client: Client) -> None:
        """Running, paused and unknown ones are rejected."""
        assert alter(client, {"p": 1}, {"n": 2}) == error(404, "Connector c not found")
        client.create()
        assert alter(client, {"p": 1}, {"n": 2}) == error(400, ONLY_STOPPED)
        client.call("PUT", "/connectors/c/pause")
        client.bench.await_connector("c", State.PAUSED)
        answer = client.call("DELETE", PATH)
        assert (answer.status, answer.text) == error(400, ONLY_STOPPED)

    def test_offsets_are_altered_and_reset(self, client: Client) -> None:
        """Numbers stay numbers, and the last offset of a repeated partition wins."""
        stopped(client)
        assert alter(client, {"p": 1}, {"n": 2, "f": 0.5}) == message(EXTERNAL.format("altered"))
        rows = [({"p": 2, "q": "x"}, {"n": 1}), ({"p": 1}, None), ({"q": "x", "p": 2}, {"n": 3})]
        body = {"offsets": [{"partition": partition, "offset": offset} for partition, offset in rows]}
        assert client.call("PATCH", PATH, body).status == 200
        assert client.bench.offsets.partitions("c") == [{"p": 2, "q": "x"}]
        assert client.bench.offsets.get("c", [{"p": 2, "q": "x"}]) == [{"n": 3}]
        answer = client.call("DELETE", PATH)
        assert (answer.status, answer.text) == message(EXTERNAL.format("reset"))
        assert client.bench.offsets.partitions("c") == []

    @pytest.mark.parametrize(
        ("deed", "status", "text"),
        [
            ("accept", 200, "The offsets for this connector have been altered successfully"),
            ("refuse", 500, "not these"),
            ("raise", 500, "Failed to modify offsets for source connector c"),
            ("never", 500,
             "Failed to modify offsets for connector c because it doesn't support external modification of offsets"),
        ],
    )  # fmt: skip
    def test_a_connector_can_reject_offsets(self, client: Client, deed: str, status: int, text: str) -> None:
        """Rejected offsets are not written."""
        stopped(client, **{"do.alter.offsets": deed})
        assert alter(client, {"p": 1}, {"n": 2}) == (message(text) if status == 200 else error(status, text))
        assert bool(client.bench.offsets.partitions("c")) is (status == 200)

    @pytest.mark.parametrize(
        ("offset", "kind"), [({"n": [1]}, "ARRAY"), ({"n": {}}, "MAP"), ({"n": 2**63}, "class java.math.BigInteger")]
    )
    def test_invalid_values_in_offsets_are_rejected(self, client: Client, offset: Any, kind: str) -> None:
        """In offsets and in partitions."""
        text = f"Offsets may only contain primitive types as values, but field n contains {kind}"
        stopped(client)
        assert alter(client, {"p": 1}, offset) == error(500, text)
        assert alter(client, offset, {"p": 1}) == error(500, text)

    def test_an_offset_needs_a_partition(self, client: Client) -> None:
        """Removing a null partition is allowed."""
        stopped(client)
        assert alter(client, None, {"n": 1}) == error(400, "The partition of a source offset cannot be null")
        assert alter(client, None, None)[0] == 200

    @pytest.mark.parametrize("body", [{}, {"offsets": None}, {"offsets": []}])
    def test_a_request_without_offsets_is_rejected(self, client: Client, body: Any) -> None:
        """Whether the connector exists or not."""
        answer = client.call("PATCH", PATH, body)
        assert (answer.status, answer.text) == error(
            400, "Partitions / offsets need to be provided for an alter offsets request"
        )

    @pytest.mark.parametrize(
        ("body", "says"),
        [
            ({"zz": 1}, "runtime.rest.entities.ConnectorOffsets), not marked as ignorable (one known property: "),
            ({"offsets": [{"zz": 1}]}, "entities.ConnectorOffset), not marked as ignorable (2 known properties: "),
            ({"offsets": {"a": 1}}, "`java.util.ArrayList<"),
            ({"offsets": [None]}, "because \"offset\" is null"),
            ({"offsets": [{"partition": 5}]}, "`java.util.LinkedHashMap<"),
        ],
    )  # fmt: skip
    def test_a_body_of_another_shape_is_unreadable(self, client: Client, body: Any, says: str) -> None:
        """500, as from Kafka Connect's reader."""
        answer = client.call("PATCH", PATH, body)
        assert answer.status == 500
        assert says in answer.json["message"]


class TestSink:
    """Offsets in the consumer group."""

    def test_offsets_of_a_sink_are_those_of_its_group(self, client: Client, group: type[Group]) -> None:
        """Listed, altered, removed one by one, and reset."""
        stopped_sink(client)
        assert alter(client, {"kafka_topic": "t", "kafka_partition": "0"}, {"kafka_offset": "5"})[0] == 200
        assert alter(client, {"kafka_topic": "t", "kafka_partition": 1}, {"kafka_offset": 7})[0] == 200
        assert group.committed == {HERE: 5, TopicPartition("t", 1): 7}
        assert alter(client, {"kafka_topic": "t", "kafka_partition": 1}, None) == message(EXTERNAL.format("altered"))
        assert client.call("GET", PATH).text == (
            '{"offsets":[{"partition":{"kafka_partition":0,"kafka_topic":"t"},"offset":{"kafka_offset":5}}]}'
        )
        answer = client.call("DELETE", PATH)
        assert (answer.status, answer.text) == message(EXTERNAL.format("reset"))
        assert group.committed == {}

    @pytest.mark.parametrize(
        ("partition", "offset", "text"),
        [
            (None, None, "The partition for a sink connector offset cannot be null or missing"),
            ({"kafka_topic": "t"}, None,
             "The partition for a sink connector offset must contain the keys 'kafka_topic' and 'kafka_partition'"),
            ({"kafka_topic": None, "kafka_partition": 0}, None,
             "Kafka topic names must be valid strings and may not be null"),
            ({"kafka_topic": "t", "kafka_partition": None}, None,
             "Kafka partitions must be valid numbers and may not be null"),
            ({"kafka_topic": "t", "kafka_partition": 1.5}, None,
             "Failed to parse the following Kafka partition value in the provided offsets: '1.5'. Partition values "
             "for sink connectors need to be integers."),
            ({"kafka_topic": "t", "kafka_partition": 0}, {},
             "The offset for a sink connector should either be null or contain the key 'kafka_offset'"),
            ({"kafka_topic": "t", "kafka_partition": 0}, {"kafka_offset": None},
             "Failed to parse the following Kafka offset value in the provided offsets: 'null'. Offset values for "
             "sink connectors need to be integers."),
        ],
    )  # fmt: skip
    def test_an_invalid_sink_offset_is_rejected(
        self, client: Client, group: type[Group], partition: Any, offset: Any, text: str
    ) -> None:
        """With Kafka's messages."""
        stopped_sink(client)
        assert alter(client, partition, offset) == error(400, text)
        assert group.committed == {}

    @pytest.mark.parametrize("refusal", [UNKNOWN_MEMBER, NOT_AUTHORIZED])
    def test_an_error_of_the_broker_is_reported(self, client: Client, group: type[Group], refusal: int) -> None:
        """Above all that the group still has members."""
        stopped_sink(client)
        group.committed[HERE] = 5
        group.refusal = refusal
        status, text = alter(client, {"kafka_topic": "t", "kafka_partition": 0}, {"kafka_offset": 6})
        answer = client.call("DELETE", PATH)
        assert (status, answer.status, group.committed) == (500, 500, {HERE: 5})
        if refusal == UNKNOWN_MEMBER:
            assert "Failed to alter consumer group offsets for connector c either because its tasks haven't" in text
            assert "the request to reset its offsets" in answer.text
        else:
            assert text == error(500, "Failed to alter consumer group offsets for connector c")[1]
            assert answer.text == error(500, "Failed to reset consumer group offsets for sink connector c")[1]


class TestInitial:
    """Initial offsets of a new connector (KIP-995), which Kafka Connect 4.3.1 does not have."""

    @staticmethod
    def create(client: Client, offsets: Any, state: Any = None, **changes: Any) -> Answer:
        """Create a connector with offsets."""
        config = {"connector.class": "FileStreamSource", "topic": "t", **changes}
        body = {"name": "c", "config": config, "initial_state": state, "initial_offsets": offsets}
        return client.call("POST", "/connectors", body)

    def test_tasks_start_at_the_initial_offsets(self, client: Client) -> None:
        """Only at those, whatever an earlier connector of the name left; numbers stay numbers."""
        client.bench.offsets.put("c", [({"p": 1}, {"n": 1}), ({"p": 2}, {"n": 1})])
        answer = self.create(client, [{"partition": {"p": 2}, "offset": {"n": 7, "f": 0.5}}], **{"batch.size": 20})
        assert (answer.status, answer.json["offsets_status"]) == (201, EXTERNAL.format("altered"))
        assert answer.json["config"]["batch.size"] == "20"
        assert answer.headers["location"].endswith("/connectors/c")
        client.bench.await_task("c", State.RUNNING)
        assert client.bench.offsets.partitions("c") == [{"p": 2}]
        assert client.bench.offsets.get("c", [{"p": 2}]) == [{"n": 7, "f": 0.5}]

    @pytest.mark.parametrize("state", ["PAUSED", "STOPPED"])
    def test_a_connector_with_offsets_reaches_its_target_state(self, client: Client, state: str) -> None:
        """Once the offsets are written."""
        assert self.create(client, [{"partition": {"p": 1}, "offset": {"n": 7}}], state).status == 201
        client.bench.await_connector("c", State(state))
        assert client.bench.offsets.get("c", [{"p": 1}]) == [{"n": 7}]

    def test_initial_offsets_of_a_sink_are_written_to_its_group(self, client: Client, group: type[Group]) -> None:
        """Others are removed."""
        group.committed = {HERE: 5, TopicPartition("t", 1): 6}
        offsets = [{"partition": {"kafka_topic": "t", "kafka_partition": 0}, "offset": {"kafka_offset": 9}}]
        answer = self.create(client, offsets, **{"connector.class": "FileStreamSink", "topics": "t"})
        assert answer.status == 201
        assert group.committed == {HERE: 9}

    @pytest.mark.parametrize("deed", ["refuse", "raise", "never"])
    def test_a_connector_with_rejected_offsets_is_not_created(self, client: Client, deed: str) -> None:
        """Its name is available again at once, and earlier offsets remain."""
        client.bench.offsets.put("c", [({"p": 1}, {"n": 1})])
        offsets = [{"partition": {"p": 2}, "offset": {"n": 7}}]
        assert self.create(client, offsets, **{"do.alter.offsets": deed}).status == 500
        assert client.bench.offsets.partitions("c") == [{"p": 1}]
        assert self.create(client, offsets).status == 201

    def test_an_existing_connector_is_not_changed(self, client: Client) -> None:
        """Nor are its offsets."""
        client.create()
        client.bench.offsets.put("c", [({"p": 1}, {"n": 1})])
        assert self.create(client, [{"partition": {"p": 1}, "offset": None}]).status == 409
        assert client.bench.offsets.get("c", [{"p": 1}]) == [{"n": 1}]
        assert client.call("GET", "/connectors/c").status == 200

    @pytest.mark.parametrize("offsets", [[], {}, "x", [1], [None], [{"partition": 1}], [{"p": {}}]])
    def test_an_invalid_list_of_offsets_is_rejected(self, client: Client, offsets: Any) -> None:
        """As when altering offsets, and nothing is created."""
        assert self.create(client, offsets).status in (400, 500)
        assert client.call("GET", "/connectors").json == []

    def test_requests_without_offsets_are_answered_as_in_java(self, client: Client) -> None:
        """Null means none, and unknown fields are rejected with Java's message, which does not list this one."""
        answer = self.create(client, None)
        assert (answer.status, "offsets_status" in answer.json) == (201, False)
        refused = client.call("POST", "/connectors", {"zz": 1, "initial_offsets": []})
        assert '(3 known properties: "config", "name", "initial_state")' in refused.json["message"]
