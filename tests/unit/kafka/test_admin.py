"""Topic lookup and creation on a real broker."""

from __future__ import annotations

import gc
import itertools
import weakref

import pytest
from confluent_kafka import KafkaError, KafkaException

from hearth.broker import KafkaBroker
from hearth.kafka.admin import CREATE_SECONDS, LOOK_SECONDS, TopicAdmin, code_of, is_there
from tests.reservation import reserve_port
from tests.timeouts import eventually

_names = (f"admin-{number}" for number in itertools.count())


@pytest.fixture
def admin(broker: KafkaBroker) -> TopicAdmin:
    """Provide an administrator of the session's broker."""
    return TopicAdmin({"bootstrap.servers": broker.bootstrap_servers})


def await_topic(admin: TopicAdmin, topic: str) -> None:
    """Wait until the broker shows a topic; the controller answers before it informs the broker."""
    assert eventually(lambda: admin.exists(topic), LOOK_SECONDS)


def test_created_topic_exists(admin: TopicAdmin) -> None:
    """With its partitions and replication."""
    topic = next(_names)
    assert not admin.exists(topic)
    admin.make(topic, 3, 1, {"cleanup.policy": "compact"}).result(CREATE_SECONDS)
    await_topic(admin, topic)
    partitions = admin.look(topic).result(LOOK_SECONDS).partitions
    assert [(each.id, len(each.replicas)) for each in partitions] == [(0, 1), (1, 1), (2, 1)]


def test_the_client_is_freed_with_its_admin(broker: KafkaBroker, capfd: pytest.CaptureFixture[str]) -> None:
    """No client keeps looking for a stopped broker; no garbage collection is needed."""
    own = TopicAdmin({"bootstrap.servers": broker.bootstrap_servers})
    assert not own.exists(next(_names))
    client = weakref.ref(own._client)
    gc.disable()
    try:
        del own
        assert client() is None
    finally:
        gc.enable()
    assert capfd.readouterr().err == "", "and says so past the log"


def test_existing_topic_is_left_unchanged(admin: TopicAdmin) -> None:
    """Two tasks may create the same topic at once; ``make`` reports that it exists."""
    topic = next(_names)
    admin.create(topic, 2, 1)
    admin.create(topic, 5, 1)
    await_topic(admin, topic)
    assert len(admin.look(topic).result(LOOK_SECONDS).partitions) == 2
    with pytest.raises(KafkaException) as caught:
        admin.make(topic, 2, 1).result(CREATE_SECONDS)
    assert code_of(caught.value) == "TOPIC_ALREADY_EXISTS"


def test_broker_defaults_apply_to_minus_one(admin: TopicAdmin) -> None:
    """As in Kafka Connect."""
    topic = next(_names)
    admin.create(topic, -1, -1)
    await_topic(admin, topic)


@pytest.mark.parametrize(
    ("replication", "config", "code"),
    [(9, {}, "INVALID_REPLICATION_FACTOR"), (1, {"cleanup.policy": "perhaps"}, "INVALID_CONFIG")],
)
def test_refused_topic_creation_is_raised(
    admin: TopicAdmin, replication: int, config: dict[str, str], code: str
) -> None:
    """No topic is created."""
    topic = next(_names)
    with pytest.raises(KafkaException) as caught:
        admin.create(topic, 1, replication, config)
    assert code_of(caught.value) == code
    assert not admin.exists(topic)


def test_unavailable_broker_is_no_refusal() -> None:
    """It may come back, unlike a wrong password."""
    admin = TopicAdmin({"bootstrap.servers": f"127.0.0.1:{reserve_port()}", "log_level": "0"})
    admin.look("t")
    assert admin._client.poll(LOOK_SECONDS), "no error of a connection was told"
    admin.check()


def test_only_topic_errors_decide_whether_a_topic_exists() -> None:
    """Other errors are raised: a topic taken for missing would be created."""
    assert is_there(None)
    assert is_there(KafkaException(KafkaError(KafkaError.TOPIC_ALREADY_EXISTS)))
    assert not is_there(KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)))
    for error in (KafkaException(KafkaError(KafkaError._TIMED_OUT)), TimeoutError("away")):
        with pytest.raises(type(error)) as caught:
            is_there(error)
        assert caught.value is error
