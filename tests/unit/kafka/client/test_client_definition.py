"""The definitions of Java's clients, as a validation shows them."""

from __future__ import annotations

from hearth.kafka.client.client_definition import client_definition
from hearth.kafka.client.key import RULES
from hearth_api import ConfigType, Importance
from hearth_api.java import config_key_to_json


def test_every_key_of_the_table_is_defined() -> None:
    """And no other: what becomes of a key and what it looks like are two sides of the same keys."""
    for role in ("producer", "consumer", "admin"):
        assert set(client_definition(role).names) == set(RULES[role])


def test_a_key_is_each_clients_own() -> None:
    """The same name has another default elsewhere."""
    retries = {role: client_definition(role).keys["retries"].importance for role in ("producer", "admin")}
    assert retries == {"producer": Importance.HIGH, "admin": Importance.LOW}
    assert client_definition("consumer", ["retries"]).names == []


def test_a_definition_has_the_requested_names() -> None:
    """With types, defaults that are null, empty or absent, and their form in REST."""
    found = client_definition("producer", ["sasl.jaas.config", "key.serializer", "client.id", "zz"]).keys
    assert {name: key.type for name, key in found.items()} == {
        "client.id": ConfigType.STRING,
        "key.serializer": ConfigType.CLASS,
        "sasl.jaas.config": ConfigType.PASSWORD,
    }
    shown = [config_key_to_json(key) for key in found.values()]
    assert [(key["required"], key["default_value"]) for key in shown] == [(False, ""), (True, None), (False, None)]
