"""What clients send: JSON, read by the rules of Kafka Connect's own reader."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request

from hearth.rest.error import Unreadable
from hearth.storage import TargetState

JSON = "application/json"
INITIAL_STATES = {
    "RUNNING": TargetState.STARTED,
    "PAUSED": TargetState.PAUSED,
    "STOPPED": TargetState.STOPPED,
}
CREATE_FIELDS = ("config", "name", "initial_state")


async def read_json(request: Request) -> Any:
    """Return the body of a request, numbers as the text they were written in; None when there is none."""
    data = await request.body()
    content_type = request.headers.get("content-type", JSON).partition(";")[0].strip().lower()
    if data and content_type != JSON:
        raise HTTPException(415)
    if not data.strip():
        return None
    try:
        return json.loads(data, parse_int=str, parse_float=str, parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise Unreadable(f"Invalid UTF-8: {error.reason} at byte {error.start}") from error
    except json.JSONDecodeError as error:
        place = f"line: {error.lineno}, column: {error.colno}"
        raise Unreadable(f"{error.msg}\n at [Source: REDACTED; {place}]") from error


async def read_map(request: Request) -> dict[str, Any]:
    """Return a body that is a map of texts; numbers and booleans are taken as text, nulls stay."""
    body = await read_json(request)
    if body is None:
        raise Unreadable("the request has no body, expected is a JSON object")
    return text_map(body)


def text_map(value: Any) -> dict[str, Any]:
    """Return a JSON object as a map of texts."""
    if not isinstance(value, dict):
        raise Unreadable(f"Cannot deserialize value of type `java.util.LinkedHashMap` from {_token(value)}")
    return {name: _text(item) for name, item in value.items()}


class CreateRequest:
    """The body of a request that creates a connector."""

    def __init__(self, body: Any) -> None:
        if not isinstance(body, dict):
            raise Unreadable("the request has no body that is a JSON object" if body is None else _wrong(body))
        for name in body:
            if name not in CREATE_FIELDS:
                known = ", ".join(f'"{field}"' for field in CREATE_FIELDS)
                raise Unreadable(
                    f'Unrecognized field "{name}" (class '
                    "org.apache.kafka.connect.runtime.rest.entities.CreateConnectorRequest), "
                    f"not marked as ignorable ({len(CREATE_FIELDS)} known properties: {known})"
                )
        self.target = _target(body.get("initial_state"))
        # Kafka leaves a missing name to validation, which has a sentence for an empty one.
        self.name = (_text(body.get("name")) or "").strip()
        if body.get("config") is None:
            raise Unreadable("the request has no config")
        self.config = text_map(body["config"])


def flag(values: Mapping[str, str], name: str) -> bool:
    """Return a boolean query parameter; what is not `true` is false, as in Java."""
    return values.get(name, "false").strip().lower() == "true"


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None or isinstance(value, str):
        return value
    raise Unreadable(f"Cannot deserialize value of type `java.lang.String` from {_token(value)}")


def _target(given: Any) -> TargetState | None:
    if given is None:
        return None
    state = INITIAL_STATES.get(str(given).upper())
    if state is None:
        raise Unreadable(
            "Cannot construct instance of "
            "`org.apache.kafka.connect.runtime.rest.entities.CreateConnectorRequest$InitialState`, problem: "
            "No enum constant org.apache.kafka.connect.runtime.rest.entities.CreateConnectorRequest.InitialState."
            f"{str(given).upper()}"
        )
    return state


def _wrong(body: Any) -> str:
    return (
        "Cannot deserialize value of type "
        f"`org.apache.kafka.connect.runtime.rest.entities.CreateConnectorRequest` from {_token(body)}"
    )


def _token(value: Any) -> str:
    if isinstance(value, dict):
        return "Object value (token `JsonToken.START_OBJECT`)"
    if isinstance(value, list):
        return "Array value (token `JsonToken.START_ARRAY`)"
    return "String value (token `JsonToken.VALUE_STRING`)"


def _no_constant(name: str) -> Any:
    raise Unreadable(f"Non-standard token '{name}': JSON has no such number")
