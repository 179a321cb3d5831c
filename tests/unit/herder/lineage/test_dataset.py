"""Names of datasets."""

from __future__ import annotations

import pytest

from hearth.herder.lineage.dataset import DatasetName, Wiring, outside, topics

JDBC = "io.confluent.connect.jdbc.Jdbc"


@pytest.mark.parametrize(
    ("config", "tasks", "names"),
    [
        ({"connector.class": "FileStreamSink", "file": "/data/out.txt"}, [], [("file", "/data/out.txt")]),
        (
            {"connector.class": f"{JDBC}SinkConnector", "connection.url": "jdbc:postgresql://u:p@db/shop?ssl=true"},
            [],
            [("postgres://db:5432", "shop.public.orders")],
        ),
        (
            {"connector.class": f"{JDBC}SourceConnector", "connection.url": "jdbc:mysql://db:3307/shop"},
            [{"tables": '"shop"."a","b"'}, {"tables": '"c"'}],
            [("mysql://db:3307", "shop.a"), ("mysql://db:3307", "shop.b"), ("mysql://db:3307", "shop.c")],
        ),
        (
            {
                "connector.class": "JdbcSink",
                "connection.url": "jdbc:postgresql://db/shop",
                "table.name.format": "x.${topic}",
            },
            [],
            [("postgres://db:5432", "shop.x.orders")],
        ),
        (
            {"connector.class": "io.confluent.connect.s3.S3SinkConnector", "s3.bucket.name": "lake"},
            [],
            [("s3://lake", "topics/orders")],
        ),
        ({"connector.class": "org.example.Unknown", "file": "x"}, [], []),
        ({"connector.class": "FileStreamSource", "file": "${env:PLACE}/x"}, [], []),
        ({"connector.class": "JdbcSink", "connection.url": "${file:/secrets:url}"}, [], []),
    ],
)
def test_the_other_side_is_named(
    config: dict[str, str], tasks: list[dict[str, str]], names: list[tuple[str, str]]
) -> None:
    """By class and keys; nothing that a variable hides, and no user or password of a URL."""
    assert outside(Wiring(config, tasks, ["orders"])) == [DatasetName(*each) for each in names]


def test_topics_are_at_the_first_broker() -> None:
    """As OpenLineage's conventions have it."""
    assert topics("a:1, b:2", ["t"]) == [DatasetName("kafka://a:1", "t")]
