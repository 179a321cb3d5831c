"""Requests of previews are checked before anything is opened."""

from __future__ import annotations

from typing import Any

import pytest

from hearth.herder.preview import PreviewRequest, parse_request
from hearth_api import ConfigError


def test_a_request_has_defaults_and_texts() -> None:
    """The name may be in the configuration; values of it become texts."""
    assert parse_request({"config": {"name": "c", "tasks.max": 1}}) == PreviewRequest(
        "c", {"name": "c", "tasks.max": "1"}
    )
    whole = {"name": "n", "config": {}, "records": [{"value": 1}], "from": "end", "limit": 2, "seconds": 0.5}
    found = parse_request({**whole, "accept_effects": True, "values": "shape"})
    assert found == PreviewRequest("n", {}, ({"value": 1},), "end", 2, 0.5, True, "shape")
    found.refuse()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"limit": 0}, "limit is 0"),
        ({"seconds": 61}, "seconds is 61"),
        ({"from": "x"}, "from is 'x'"),
        ({"values": "off"}, "values is 'off'"),
    ],
)
def test_bounds_are_checked(changes: dict[str, Any], words: str) -> None:
    """With what is allowed."""
    with pytest.raises(ConfigError, match=words):
        parse_request({"config": {}, **changes}).refuse()


@pytest.mark.parametrize(
    "given", [None, [], {}, {"config": "x"}, {"config": {}, "nosuch": 1}, {"config": {}, "name": 1}]
)
def test_other_bodies_are_refused(given: Any) -> None:
    """Before anything is made of them."""
    with pytest.raises(ConfigError):
        parse_request(given)
