"""What clients send: JSON, read by the rules of Kafka Connect's own reader."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request

from hearth.rest.answer import TooLong, Unreadable
from hearth.storage import TargetState
from hearth_api import ConfigError

JSON = "application/json"
MAX_TEXT = 20_000_000
"""Longest text, as in Kafka Connect's reader."""
MAX_BODY = 20 << 20
"""Longest body that is read, which is the longest text and some more."""
_WILDCARDS = ("*/*", "application/*")
_WORD = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_MEDIA_TYPE = re.compile(rf"({_WORD}/{_WORD})\s*(?:;.*)?")
_ENTITIES = "org.apache.kafka.connect.runtime.rest.entities"
_MAP = "java.util.LinkedHashMap"
INITIAL_STATES = {
    "RUNNING": TargetState.STARTED,
    "PAUSED": TargetState.PAUSED,
    "STOPPED": TargetState.STOPPED,
}
OFFSET_FIELDS = ("partition", "offset")
CREATE_FIELDS = ("config", "name", "initial_state")
WORKER_CONFIGURATION_FIELDS = ("name", "description", "config")


async def read_json(request: Request) -> Any:
    """Return the body of a request, numbers as the text they were written in; None when there is none."""
    return await _read_json(request, str)


async def read_offsets(request: Request) -> list[tuple[dict[str, Any] | None, dict[str, Any] | None]]:
    """Return partitions with their offsets, whose numbers are numbers; raises ConfigError where there are none."""
    body = _record(await _read_json(request), "ConnectorOffsets", ("offsets",))
    offsets = body.get("offsets")
    if offsets is not None and not isinstance(offsets, list):
        raise Unreadable(_wrong("java.util.ArrayList", offsets))
    if not offsets:
        raise ConfigError("Partitions / offsets need to be provided for an alter offsets request", code="offsets.none")
    rows = [_record(row, "ConnectorOffset", OFFSET_FIELDS) for row in offsets]
    for value in (row.get(field) for row in rows for field in OFFSET_FIELDS):
        if value is not None and not isinstance(value, dict):
            raise Unreadable(_wrong(_MAP, value))
    return [(row.get("partition"), row.get("offset")) for row in rows]


async def _read_json(request: Request, number: Callable[[str], Any] | None = None) -> Any:
    data = await read_body(request)
    if data and _media_type(request) != JSON:
        raise HTTPException(415)
    if not data.strip():
        return None
    try:
        text = data.decode(json.detect_encoding(data))
        return json.loads(text, parse_int=number, parse_float=number, parse_constant=_no_constant)
    except RecursionError as error:
        raise Unreadable("Document nesting depth exceeds the maximum allowed") from error
    except UnicodeDecodeError as error:
        raise Unreadable(f"Invalid UTF-8: {error.reason} at byte {error.start}") from error
    except json.JSONDecodeError as error:
        place = f"line: {error.lineno}, column: {error.colno}"
        raise Unreadable(f"{error.msg}\n at [Source: REDACTED; {place}]") from error


def refuse_other_types(request: Request) -> None:
    """Raise for a request that says that it brings something else than JSON, whether it brings anything or not."""
    if _media_type(request) not in (None, JSON, *_WILDCARDS):
        raise HTTPException(415)


async def read_map(request: Request) -> dict[str, Any]:
    """Return a body that is a map of texts; numbers and booleans are taken as text, nulls stay."""
    return text_map(await read_json(request))


def text_map(value: Any) -> dict[str, Any]:
    """Return a JSON object as a map of texts."""
    if value is None:
        raise Unreadable("the request has no body, expected is a JSON object")
    if not isinstance(value, dict):
        raise Unreadable(_wrong(_MAP, value))
    return {name: _text(item) for name, item in value.items()}


class CreateRequest:
    """The body of a request that creates a connector."""

    def __init__(self, body: Any) -> None:
        body = _record(body, "CreateConnectorRequest", CREATE_FIELDS)
        self.target = _target(body.get("initial_state"))
        # Kafka leaves a missing name to validation, which has a sentence for an empty one.
        self.name = (_text(body.get("name")) or "").strip()
        if body.get("config") is None:
            raise Unreadable("the request has no config")
        self.config = text_map(body["config"])


class WorkerConfigurationRequest:
    """The body of a request that creates a worker configuration."""

    def __init__(self, body: Any) -> None:
        body = _record(body, "WorkerConfiguration", WORKER_CONFIGURATION_FIELDS)
        self.name = (_text(body.get("name")) or "").strip()
        self.description = _text(body.get("description")) or ""
        self.config = text_map(body.get("config", {}))


def _record(given: Any, kind: str, fields: tuple[str, ...]) -> dict[str, Any]:
    """Return a JSON object that has no other fields than these."""
    if not isinstance(given, dict):
        raise Unreadable(
            "the request has no body that is a JSON object" if given is None else _wrong(f"{_ENTITIES}.{kind}", given)
        )
    for name in given:
        if name not in fields:
            known = ", ".join(f'"{field}"' for field in fields)
            raise Unreadable(
                f'Unrecognized field "{name}" (class {_ENTITIES}.{kind}), '
                f"not marked as ignorable ({len(fields)} known properties: {known})"
            )
    return given


def _media_type(request: Request) -> str | None:
    """Return the type of the content without its parameters, None where the client does not say."""
    given = request.headers.get("content-type")
    if given is None:
        return None
    found = _MEDIA_TYPE.fullmatch(given.strip())
    if found is None:
        raise HTTPException(400)
    return found[1].lower()


async def read_body(request: Request) -> bytes:
    """Return the body, which is read once, and no further than it may be long."""
    if not hasattr(request.state, "body"):
        request.state.body = await _read_body(request)
    return bytes(request.state.body)


async def _read_body(request: Request) -> bytes:
    declared = request.headers.get("content-length", "0")
    if declared.isdecimal() and int(declared) > MAX_BODY:
        raise _too_long()
    data = bytearray()
    async for piece in request.stream():
        data += piece
        if len(data) > MAX_BODY:
            raise _too_long()
    return bytes(data)


def _too_long() -> TooLong:
    return TooLong(f"Document length exceeds the maximum allowed ({MAX_BODY})")


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None or isinstance(value, str):
        if value is not None and len(value) > MAX_TEXT:
            raise Unreadable(f"String value length ({len(value)}) exceeds the maximum allowed ({MAX_TEXT})")
        return value
    raise Unreadable(_wrong("java.lang.String", value))


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


def _wrong(kind: str, value: Any) -> str:
    return f"Cannot deserialize value of type `{kind}` from {_token(value)}"


def _token(value: Any) -> str:
    if isinstance(value, dict):
        return "Object value (token `JsonToken.START_OBJECT`)"
    if isinstance(value, list):
        return "Array value (token `JsonToken.START_ARRAY`)"
    return "String value (token `JsonToken.VALUE_STRING`)"


def _no_constant(name: str) -> Any:
    raise Unreadable(f"Non-standard token '{name}': JSON has no such number")
