"""Random requests, valid and invalid by the API's own OpenAPI document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.rest.client import CONFIG, Client, serve

UNREADABLE = re.compile(
    r"the body of the request |the request has no |Unrecognized field |Cannot deserialize value |"
    r"Cannot construct instance |"
    r"(?s:.*)\n at \[Source: REDACTED|Invalid UTF-8|Non-standard token |Document nesting depth |"
    r"(?s:.*)BadRequestException: Connector config \{|Kafka Connect in standalone mode does not support "
)
"""Errors that have status 500 in Java as well: unreadable bodies, and requests for clusters only."""
NAMES = {"connector": ("c", "nobody"), "pluginName": ("FileStreamSource", "JsonConverter", "nothing"), "task": (0, 7)}
"""Existing names for half of the paths; random names would never match a connector."""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Serve for all requests of this file."""
    yield from serve(tmp_path_factory.mktemp("fuzz"))


def requests_of(document: Any) -> st.SearchStrategy[Any]:
    """Return requests for every operation, both valid and invalid by the document."""
    import schemathesis
    from schemathesis.core.result import Ok
    from schemathesis.generation import GenerationMode

    results = schemathesis.openapi.from_dict(document).get_all_operations()
    operations = [found.ok() for found in results if isinstance(found, Ok)]
    modes = list(GenerationMode)
    return st.one_of([each.as_strategy(generation_mode=mode) for each in operations for mode in modes])


def test_every_request_gets_a_documented_response(shared: Client) -> None:
    """None hangs, none fails that does not fail in Java, and the responses are those of the document."""
    from schemathesis.checks import load_all_checks

    load_all_checks()
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

    document = shared.call("GET", "/openapi.json").json
    checks = [content_type_conformance, response_schema_conformance, status_code_conformance]

    @settings(max_examples=settings().max_examples // 2, suppress_health_check=list(HealthCheck))
    @given(requests_of(document), st.fixed_dictionaries({k: st.none() | st.sampled_from(v) for k, v in NAMES.items()}))
    def ask(case: Any, named: dict[str, Any]) -> None:
        for name in set(case.path_parameters or ()) & set(named):
            if named[name] is not None:
                case.path_parameters[name] = named[name]
        if named["connector"] is not None and "name" in (case.query or {}):
            case.query["name"] = named["connector"]
        answer = case.call(base_url=f"http://127.0.0.1:{shared.ports[0]}", timeout=30)
        if answer.status_code >= 500:
            assert answer.status_code == 500
            assert UNREADABLE.match(answer.json()["message"]), answer.text
        case.validate_response(answer, checks=checks)

    shared.call("PUT", "/connectors/c/config", CONFIG)
    ask()
    assert shared.call("GET", "/health").status == 200
