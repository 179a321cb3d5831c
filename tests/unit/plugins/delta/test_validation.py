"""Bad configurations get an error at the key that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from hearth_delta.delta_sink import DeltaSinkConnector
from tests.unit.plugins.delta.lake import WORD, Lake, record


def errors(settings: dict[str, str]) -> dict[str, str]:
    """Return the messages of validation by key."""
    config = DeltaSinkConnector().validate(settings)
    return {value.name: "; ".join(value.error_messages) for value in config.values if value.error_messages}


@pytest.mark.parametrize(
    ("more", "key", "message"),
    [
        ({"tables.location": "lake"}, "tables.location", "is neither an absolute path nor an address"),
        ({"tables.location": "ftp://host/lake"}, "tables.location", "has an unknown scheme; known are s3,"),
        ({"insert.mode": "update"}, "insert.mode", "String must be one of: insert, upsert"),
        ({"insert.mode": "upsert"}, "insert.mode", "upsert needs a primary key: set pk.mode"),
        ({"delete.enabled": "true"}, "delete.enabled", "only supported for insert.mode upsert"),
        ({"pk.fields": "id"}, "pk.fields", "has no meaning without pk.mode"),
        ({"aws.access.key.id": "a"}, "aws.access.key.id", "is given with aws.secret.access.key"),
        ({"flush.size": "0"}, "flush.size", "Value must be at least 1"),
        ({"auto.create": "false"}, "auto.create", "there is no table"),
    ],
)
def test_a_bad_value(tmp_path: Path, more: dict[str, str], key: str, message: str) -> None:
    """It is named with what would be right."""
    found = errors({**Lake(tmp_path).settings(auto_create="true"), **more})
    assert list(found) == [key]
    assert message in found[key]


def test_a_good_configuration(tmp_path: Path) -> None:
    """Also for a table that is there, with other words for its partitions refused."""
    lake = Lake(tmp_path)
    settings = {"partition_field_name": "id", "pk_mode": "record_key"}
    assert errors(lake.settings(auto_create="true", **settings)) == {}
    with lake.sink(**settings) as run:
        run.put([record(0, WORD, {"word": "a"}, 1)])
        run.pre_commit()
    assert errors(lake.settings(**settings)) == {}
    assert errors(lake.settings()) == {}
    found = errors(lake.settings(partition_field_name="other"))
    assert "is partitioned by id: a table keeps its partitions" in found["partition.field.name"]


def test_tables_of_routed_topics_are_not_asked_for(tmp_path: Path) -> None:
    """Their names are known when records come."""
    assert errors(Lake(tmp_path).settings(auto_create="false", transforms="route")) == {}
