"""The topics of connectors over HTTP (KIP-558)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.rest.client import Client, error, serve

DISABLED = error(403, "Topic tracking is disabled.")


def test_topics_of_a_connector_are_listed_until_they_are_reset(client: Client) -> None:
    """Other connectors' topics remain, and the tasks report theirs again."""
    for name in ("c", "d"):
        client.bench.statuses.add_topic(name, "t")
    client.bench.statuses.add_topic("c", "u")
    assert client.call("GET", "/connectors/c/topics").text == '{"c":{"topics":["t","u"]}}'
    answer = client.call("PUT", "/connectors/c/topics/reset")
    assert (answer.status, answer.text) == (202, "")
    assert client.bench.spark.commands == [("c", -1, "topics.forget")]
    assert client.call("GET", "/connectors/c/topics").text == '{"c":{"topics":[]}}'
    assert client.call("GET", "/connectors/d/topics").text == '{"d":{"topics":["t"]}}'


def test_a_connector_that_does_not_exist_has_no_topics(client: Client) -> None:
    """As in Kafka Connect, which only asks its store."""
    assert client.call("GET", "/connectors/c/topics/").text == '{"c":{"topics":[]}}'
    assert client.call("PUT", "/connectors/c/topics/reset").status == 202


@pytest.mark.parametrize(
    ("key", "listed", "reset"),
    [
        ("topic.tracking.enable", DISABLED, DISABLED),
        (
            "topic.tracking.allow.reset",
            (200, '{"c":{"topics":["t"]}}'),
            error(403, "Topic tracking reset is disabled."),
        ),
    ],
)
def test_the_worker_may_disable_topic_tracking_and_reset(
    tmp_path: Path, key: str, listed: tuple[int, str], reset: tuple[int, str]
) -> None:
    """A rejected request changes nothing."""
    for client in serve(tmp_path, {key: "false"}):
        client.bench.statuses.add_topic("c", "t")
        answers = [client.call("GET", "/connectors/c/topics"), client.call("PUT", "/connectors/c/topics/reset")]
        assert [(each.status, each.text) for each in answers] == [listed, reset]
        assert client.bench.statuses.topics("c") == ["t"]
