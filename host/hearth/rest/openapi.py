"""The OpenAPI document of the API and its HTML page, both generated from the endpoint declarations.

The document describes this version of the API as this worker serves it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Any

from hearth.rest.endpoint import Endpoint, Query
from hearth.rest.entity import ERROR, Entity, Schema

_JSON = "application/json"
_PARAMETER = re.compile(r"\{(\w+)\}")
_NUMBERS = {"task"}
"""Path parameters that are numbers."""
_PHRASES = {
    200: "It is done.",
    201: "Created.",
    202: "Accepted; carried out asynchronously.",
    204: "It is done.",
    500: "The worker does not handle requests.",
    503: "The worker is not ready yet.",
}


def document(endpoints: Iterable[Endpoint], version: str) -> Schema:
    """Return the document in OpenAPI 3.0."""
    endpoints = [each for each in endpoints if not each.is_hidden]
    paths: dict[str, Schema] = {}
    for each in endpoints:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(each)
    return {
        "openapi": "3.0.3",
        "info": {
            "title": "Kafka Connect REST API, served by Hearth",
            "version": version,
            "license": {"name": "Apache 2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0.html"},
        },
        "paths": paths,
        "components": {"schemas": {each.name: each.schema for each in _entities(endpoints)}},
    }


def page(described: Schema) -> str:
    """Return a self-contained HTML page for a document, without scripts and external styles or fonts."""
    rows = "".join(
        _row(path, method, operation)
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
    )
    schemas = "".join(
        f'<section id="{escape(name)}"><h3>{escape(name)}</h3>{_members(schema)}</section>'
        for name, schema in described["components"]["schemas"].items()
    )
    info = described["info"]
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(info['title'])}</title>"
        f"<meta name=viewport content='width=device-width'><style>{_STYLE}</style>"
        f"<h1>{escape(info['title'])}</h1><p>Version {escape(info['version'])}; "
        f"<a href=openapi.json>the same for programs</a>.</p>{rows}<h2>What travels</h2>{schemas}</html>"
    )


def _operation(endpoint: Endpoint) -> Schema:
    found: Schema = {
        "operationId": endpoint.operation,
        "summary": endpoint.summary,
        "tags": [endpoint.path.split("/")[1] or "root"],
        "responses": {
            **{str(status): _answer(status, entity) for status, entity in endpoint.answers.items()},
            "default": {"description": "The error and its status code.", "content": _content(ERROR)},
        },
    }
    if parameters := [*map(_path_parameter, _PARAMETER.findall(endpoint.path)), *map(_parameter, endpoint.query)]:
        found["parameters"] = parameters
    if endpoint.body:
        found["requestBody"] = {"required": True, "content": _content(endpoint.body, endpoint.brings)}
    return found


def _answer(status: int, entity: Entity | None) -> Schema:
    content = {} if entity is None else {"content": _content(entity)}
    location = {"headers": {"Location": {"schema": {"type": "string"}}}} if status == 201 else {}
    return {"description": _PHRASES[status], **location, **content}


def _content(entity: Entity, media_type: str = _JSON) -> Schema:
    return {media_type: {"schema": entity.reference}}


def _path_parameter(name: str) -> Schema:
    schema = {"type": "integer", "format": "int32"} if name in _NUMBERS else {"type": "string"}
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _parameter(query: Query) -> Schema:
    if query.values:
        schema: Schema = {"type": "array", "items": {"type": "string", "enum": list(query.values)}}
    elif isinstance(query.default, bool):
        schema = {"type": "boolean", "default": query.default}
    elif query.is_required:
        schema = {"type": "string"}
    else:
        schema = {"type": "string", "default": query.default}
    required = {"required": True} if query.is_required else {}
    return {"name": query.name, "in": "query", "description": query.doc, **required, "schema": schema}


def _entities(endpoints: Sequence[Endpoint]) -> list[Entity]:
    """Return every named entity once, sorted."""
    used = [entity for each in endpoints for entity in (each.body, *each.answers.values()) if entity]
    found = {each.name: each for entity in (ERROR, *used) for each in _named(entity)}
    return [found[name] for name in sorted(found)]


def _named(entity: Entity) -> Iterator[Entity]:
    if entity.name:
        yield entity
    for part in entity.parts:
        yield from _named(part)


def _row(path: str, method: str, operation: Schema) -> str:
    parameters = "".join(
        f"<li><code>{escape(each['name'])}</code> ({each['in']}) {escape(each.get('description', ''))}</li>"
        for each in operation.get("parameters", ())
    )
    body = operation.get("requestBody")
    takes = "".join(f"<p>takes {_link(each['schema'])}</p>" for each in (body or {"content": {}})["content"].values())
    answers = "".join(
        f"<li>{escape(status)} {escape(each['description'])} {_shown(each)}</li>"
        for status, each in operation["responses"].items()
    )
    return (
        f"<details><summary><b class={method}>{method.upper()}</b> <code>{escape(path)}</code> "
        f"{escape(operation['summary'])}</summary><ul>{parameters}</ul>{takes}<ul>{answers}</ul></details>"
    )


def _shown(answer: Schema) -> str:
    return _link(answer["content"][_JSON]["schema"]) if "content" in answer else ""


def _link(schema: Any) -> str:
    """Return a short form of a schema, with links to named ones."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f"<a href='#{name}'>{name}</a>"
    for several in ("oneOf", "anyOf", "allOf"):
        if several in schema:
            return " or ".join(map(_link, schema[several]))
    if schema.get("type") == "array":
        return f"list of {_link(schema['items'])}"
    if isinstance(more := schema.get("additionalProperties"), dict):
        return f"map of {_link(more)}"
    if "properties" in schema:
        return "object of " + ", ".join(schema["properties"])
    values = " | ".join(schema["enum"]) if "enum" in schema else schema.get("type", "anything")
    return escape(values) + (" or null" if schema.get("nullable") else "")


def _members(schema: Schema) -> str:
    rows = "".join(
        f"<li><code>{escape(name)}</code> {_link(each)}</li>" for name, each in schema.get("properties", {}).items()
    )
    return f"<ul>{rows}</ul>"


_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222;"
    "background:#fff}code{font:14px ui-monospace,monospace}details{border-bottom:1px solid #ddd;padding:.3rem 0}"
    "summary{cursor:pointer}b{display:inline-block;min-width:4.5rem}.get{color:#06c}.post{color:#080}"
    ".put{color:#a60}.patch{color:#a60}.delete{color:#c00}"
    "@media(prefers-color-scheme:dark){body{background:#1b1b1b;color:#ddd}a{color:#8cf}details{border-color:#444}}"
)
