"""Reads the bodies of requests: JSON, by the rules of Kafka Connect's own reader."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request

from hearth.rest.answer import TooLong, Unreadable
from hearth.rest.json_token import DEPTH, TOO_DEEP
from hearth.rest.media_range import JSON, MediaRange, content_range
from hearth.rest.shape import (
    ENTITIES,
    AnyShape,
    ListShape,
    MapShape,
    RecordShape,
    Shape,
    TextShape,
    WordShape,
    explain,
)
from hearth.storage import TargetState
from hearth_api import ConfigError
from hearth_api.java import trimmed

MAX_TEXT = 20_000_000
"""Longest string, as in Kafka Connect's reader."""
MAX_BODY = 20 << 20
"""Longest body: the longest string and some more."""
_MAP = "java.util.LinkedHashMap"
_GET = "java.util.Map.get(Object)"
INITIAL_STATES = {
    "RUNNING": TargetState.STARTED,
    "PAUSED": TargetState.PAUSED,
    "STOPPED": TargetState.STOPPED,
}
_TEXTS = MapShape(TextShape())
_STATE = WordShape(f"{ENTITIES}.CreateConnectorRequest$InitialState", tuple(INITIAL_STATES))
_OFFSET = RecordShape(
    f"{ENTITIES}.ConnectorOffset", {"partition": MapShape(AnyShape()), "offset": MapShape(AnyShape())}
)
Offsets = list[tuple[dict[str, Any] | None, dict[str, Any] | None]]
"""Partitions with their offsets."""
_CREATE = RecordShape(
    f"{ENTITIES}.CreateConnectorRequest",
    {"config": _TEXTS, "name": TextShape(), "initial_state": _STATE},
    {"initial_offsets": ListShape(_OFFSET)},
)
_OFFSETS = RecordShape(f"{ENTITIES}.ConnectorOffsets", {"offsets": ListShape(_OFFSET)})
_WORKER_CONFIGURATION = RecordShape(
    f"{ENTITIES}.WorkerConfiguration", {"name": TextShape(), "description": TextShape(), "config": _TEXTS}
)

T = TypeVar("T")


async def read_json(request: Request, shape: Shape, take: Callable[[Any], T], *, are_numbers: bool = False) -> T:
    """Return the result of ``take`` for the body, which is None if empty.

    Numbers are passed as their text unless ``are_numbers``. Raises Unreadable with the reason if the body is not JSON
    or does not have the shape.
    """
    data = await read_body(request)
    given = media_type(request)
    if data and not (given and given.is_json):
        raise HTTPException(415)
    try:
        return take(_parsed(data, None if are_numbers else str))
    except Unreadable as error:
        raise Unreadable(explain(data, shape) or str(error)) from error


def _parsed(data: bytes, number: Callable[[str], Any] | None) -> Any:
    if not data.strip():
        return None
    try:
        text = data.decode(json.detect_encoding(data))
        tree = json.loads(text, parse_int=number, parse_float=number, parse_constant=_no_constant)
        # Python's own nesting limit differs between versions.
        if text.count("[") + text.count("{") > DEPTH and _is_deeper(tree, DEPTH):
            raise Unreadable(TOO_DEEP)
        return tree
    except RecursionError as error:
        raise Unreadable(TOO_DEEP) from error
    except UnicodeDecodeError as error:
        raise Unreadable(f"Invalid UTF-8: {error.reason} at byte {error.start}") from error
    except json.JSONDecodeError as error:
        place = f"line: {error.lineno}, column: {error.colno}"
        raise Unreadable(f"{error.msg}\n at [Source: REDACTED; {place}]") from error


def _is_deeper(tree: Any, most: int) -> bool:
    """Return whether arrays and objects are nested deeper than the limit."""
    level = [tree]
    for _ in range(most + 1):
        level = [each for each in level if isinstance(each, (dict, list))]
        if not level:
            return False
        level = [item for each in level for item in (each.values() if isinstance(each, dict) else each)]
    return True


async def read_offsets(request: Request) -> Offsets:
    """Return partitions with their offsets, with numbers parsed; raise ConfigError if there are none."""
    return await read_json(request, _OFFSETS, _offsets, are_numbers=True)


def _offsets(body: Any) -> Offsets:
    if body is None:
        raise _missing(f"{ENTITIES}.ConnectorOffsets.offsets()", "offsets")
    offsets = _record(body, _OFFSETS).get("offsets")
    if offsets is not None and not isinstance(offsets, list):
        raise Unreadable(_wrong("java.util.ArrayList", offsets))
    if not offsets:
        raise ConfigError("Partitions / offsets need to be provided for an alter offsets request", code="offsets.none")
    if None in offsets:
        raise _missing(f"{ENTITIES}.ConnectorOffset.partition()", "offset")
    rows = [_record(row, _OFFSET) for row in offsets]
    for value in (row.get(field) for row in rows for field in _OFFSET.members):
        if value is not None and not isinstance(value, dict):
            raise Unreadable(_wrong(_MAP, value))
    return [(row.get("partition"), row.get("offset")) for row in rows]


def refuse_other_types(request: Request) -> None:
    """Raise an error if the request declares a content type other than JSON, even without a body."""
    given = media_type(request)
    if given and not given.takes(JSON):
        raise HTTPException(415)


async def read_map(request: Request, name: str = "connectorConfig") -> dict[str, Any]:
    """Return a body that maps strings to strings; numbers and booleans are taken as text, nulls are kept.

    ``name`` appears in the error for a missing body.
    """
    found = await read_changes(request)
    if found is None:
        raise _missing(_GET, name)
    return found


async def read_maps(request: Request) -> list[dict[str, Any]]:
    """Return a body that is a list of string maps."""
    return await read_json(request, ListShape(_TEXTS), _maps)


def _maps(body: Any) -> list[dict[str, Any]]:
    if not isinstance(body, list):
        raise Unreadable(_wrong("java.util.ArrayList", body))
    return [text_map(each) for each in body]


async def read_changes(request: Request) -> dict[str, Any] | None:
    """Return a body that is a string map, None if empty."""
    return await read_json(request, _TEXTS, lambda body: None if body is None else text_map(body))


def text_map(value: Any) -> dict[str, Any]:
    """Return a JSON object as a string map."""
    if not isinstance(value, dict):
        raise Unreadable(_wrong(_MAP, value))
    return {name: _text(item) for name, item in value.items()}


class CreateRequest:
    """The body of a request that creates a connector."""

    def __init__(self, body: Any) -> None:
        if body is None:
            raise _missing(f"{ENTITIES}.CreateConnectorRequest.name()", "createRequest")
        body = _record(body, _CREATE)
        self.target = _target(body.get("initial_state"))
        self.offsets: Offsets | None = None
        # Kafka Connect leaves a missing name to validation, which reports an empty one.
        self.name = trimmed(_text(body.get("name")) or "")
        if body.get("config") is None:
            raise _missing(_GET, "connectorConfig")
        self.config = text_map(body["config"])

    @classmethod
    async def read(cls, request: Request) -> CreateRequest:
        """Read the body; the numbers of its configuration are texts, those of its offsets are parsed."""
        made = await read_json(request, _CREATE, cls)
        made.offsets = await read_json(request, _CREATE, _initial_offsets, are_numbers=True)
        return made


def _initial_offsets(body: dict[str, Any]) -> Offsets | None:
    given = body.get("initial_offsets")
    return None if given is None else _offsets({"offsets": given})


class WorkerConfigurationRequest:
    """The body of a request that creates a worker configuration."""

    def __init__(self, body: Any) -> None:
        if body is None:
            raise Unreadable("the body of the request is not a JSON object")
        body = _record(body, _WORKER_CONFIGURATION)
        self.name = trimmed(_text(body.get("name")) or "")
        self.description = _text(body.get("description")) or ""
        config = body.get("config", {})
        if config is None:
            raise Unreadable("the request has no config")
        self.config = text_map(config)

    @classmethod
    async def read(cls, request: Request) -> WorkerConfigurationRequest:
        """Read the body."""
        return await read_json(request, _WORKER_CONFIGURATION, cls)


def _record(given: Any, shape: RecordShape) -> dict[str, Any]:
    """Return a JSON object that has only the fields of a shape."""
    if not isinstance(given, dict):
        raise Unreadable(_wrong(shape.java, given))
    for name in given:
        if name not in shape.members and name not in shape.own:
            raise Unreadable(f'Unrecognized field "{name}" (class {shape.java}), not marked as ignorable')
    return given


def no_changes() -> Unreadable:
    """Return the error for a request to change a configuration without changes."""
    return _missing("java.util.Map.forEach(java.util.function.BiConsumer)", "patch")


def _missing(call: str, name: str) -> Unreadable:
    """Return Java's message for a null value, word for word, because clients may check it."""
    return Unreadable(f'Cannot invoke "{call}" because "{name}" is null')


def media_type(request: Request) -> MediaRange | None:
    """Return the media type of the content, None if the client does not declare one."""
    given = request.headers.get("content-type")
    return None if given is None else content_range(given)


async def read_body(request: Request) -> bytes:
    """Return the body, read once and up to the limit."""
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
            most = f"{MAX_TEXT}, from `StreamReadConstraints.getMaxStringLength()`"
            raise Unreadable(f"String value length ({len(value)}) exceeds the maximum allowed ({most})")
        return value
    raise Unreadable(_wrong("java.lang.String", value))


def _target(given: Any) -> TargetState | None:
    if given is None:
        return None
    state = INITIAL_STATES.get(str(given).upper())
    if state is None:
        raise Unreadable(f"Cannot construct instance of `{_STATE.java}`")
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
