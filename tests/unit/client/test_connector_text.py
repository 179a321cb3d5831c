"""Texts of connectors; `hearth convert` and `hearth export` are tested with what reads them again."""

from __future__ import annotations

import json

import pytest

from hearth.client.connector_text import FORMS, WrittenConnector

CONFIG = {"topic": "t", "connector.class": "X", "a": "é"}


def test_equal_configurations_are_equal_texts() -> None:
    """The name and the class come first."""
    other = dict(reversed(CONFIG.items()))
    for form in FORMS.values():
        assert form(WrittenConnector("c", CONFIG)) == form(WrittenConnector("c", other))
    assert list(WrittenConnector("c", CONFIG).sorted) == ["name", "connector.class", "a", "topic"]


@pytest.mark.parametrize("state", ["RUNNING", "STOPPED"])
def test_only_another_state_than_running_is_said(state: str) -> None:
    """As the request that creates the connector."""
    document = json.loads(FORMS["json"](WrittenConnector("c", CONFIG, state)))
    assert document.get("initial_state", "RUNNING") == state
    assert document["config"] == {"name": "c", **CONFIG}
