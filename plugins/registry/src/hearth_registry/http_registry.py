"""The registry over HTTP: requests and responses of Confluent's API, version 1."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from hearth_registry.registry import (
    LATEST,
    SUBJECT_NOT_FOUND,
    UNREADABLE,
    VERSION_NOT_FOUND,
    RegisteredSchema,
    Registry,
    RegistryRefusal,
)
from hearth_registry.registry_request import RegistryRequests
from hearth_registry.schema_text import AVRO, Reference, SchemaText

NOT_FOUND = 404
_MOST_ID = (1 << 31) - 1

T = TypeVar("T")


class HttpRegistry(Registry):
    """A client of a registry with one or more addresses."""

    def __init__(self, requests: RegistryRequests, propagate_tags: bool = False) -> None:
        """Send requests with `requests`; the other arguments are request options from the configuration."""
        self._requests = requests
        self._propagate_tags = propagate_tags

    def register(self, subject: str, schema: SchemaText, normalize: bool = False) -> RegisteredSchema:
        """Post the schema as a version; old registries return only the id."""
        body = _to_json(schema)
        if self._propagate_tags:
            body["propagateSchemaTags"] = True
        path = _path("subjects", subject, "versions", normalize=normalize)
        return self._schema("POST", path, body)

    def look_up(
        self, subject: str, schema: SchemaText, normalize: bool = False, deleted: bool = False
    ) -> RegisteredSchema:
        """Post the schema to the subject."""
        path = _path("subjects", subject, normalize=normalize, deleted=deleted)
        return self._schema("POST", path, _to_json(schema))

    def by_id(self, schema_id: int, subject: str | None) -> RegisteredSchema:
        """Get the schema; the response does not repeat the id."""
        extra = {} if subject is None else {"subject": subject}
        path = _path("schemas", "ids", str(schema_id), fetchMaxId=False, **extra)
        return self._schema("GET", path, with_id=schema_id)

    def by_guid(self, guid: str) -> RegisteredSchema:
        """Get the schema; the id in the response may be of any context."""
        return self._schema("GET", _path("schemas", "guids", guid))

    def by_version(self, subject: str, version: int, deleted: bool = False) -> RegisteredSchema:
        """Get it."""
        which = "latest" if version == LATEST else str(version)
        extra = {"deleted": True} if deleted else {}
        return self._schema("GET", _path("subjects", subject, "versions", which, **extra))

    def by_metadata(self, subject: str, metadata: Mapping[str, str]) -> RegisteredSchema:
        """Get the version, including deleted ones."""
        pairs = [part for name, value in metadata.items() for part in (("key", name), ("value", value))]
        query = urlencode([*pairs, ("deleted", "true")])
        return self._schema("GET", f"{_path('subjects', subject, 'metadata')}?{query}")

    def associated_subjects(self, cluster: str, topic: str, is_key: bool) -> list[str]:
        """Get the associations; empty if not found or not supported by the registry."""
        kind = "key" if is_key else "value"
        path = _path("associations", "resources", cluster, topic, resourceType="topic", associationType=kind)
        try:
            return self._ask("GET", path, lambda rows: [str(row["subject"]) for row in rows])
        except RegistryRefusal as refusal:
            if refusal.status == NOT_FOUND:
                return []
            raise

    def incompatibilities(self, subject: str, schema: SchemaText) -> list[str]:
        """Post the schema to the compatibility endpoint; use a default message if the registry returns none."""
        path = _path("compatibility", "subjects", subject, "versions", verbose=True)
        try:
            return self._ask("POST", path, _against, _to_json(schema))
        except RegistryRefusal as refusal:
            if refusal.error_code in (SUBJECT_NOT_FOUND, VERSION_NOT_FOUND):
                return []
            raise

    def compatibility(self, subject: str) -> str:
        """Get the level of the subject, or with `defaultToGlobal` the global one."""
        try:
            return self._ask("GET", _path("config", subject, defaultToGlobal=True), _level)
        except RegistryRefusal as refusal:
            if refusal.status != NOT_FOUND:
                raise
            return self._ask("GET", "/config", _level)

    def _schema(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, with_id: int | None = None
    ) -> RegisteredSchema:
        return self._ask(method, path, lambda answer: _from_json(answer, with_id), body)

    def _ask(self, method: str, path: str, read: Callable[[Any], T], body: Mapping[str, Any] | None = None) -> T:
        """Parse a response; raise RegistryRefusal if a required member is missing."""
        answer = self._requests.send(method, path, body)
        try:
            return read(answer)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            message = f"an invalid answer to {method} {path}: {_short(answer)}"
            raise RegistryRefusal(message, 200, UNREADABLE) from error


def _against(answer: Any) -> list[str]:
    if answer["is_compatible"]:
        return []
    return [str(each) for each in answer.get("messages") or ["the registry says that it is incompatible"]]


def _level(answer: Any) -> str:
    return str(answer["compatibilityLevel"])


def _path(*parts: str, **query: Any) -> str:
    path = "".join("/" + quote(part, safe="", errors="replace") for part in parts)
    given = {name: str(value).lower() if isinstance(value, bool) else value for name, value in query.items()}
    return f"{path}?{urlencode(given, quote_via=quote, errors='replace')}" if given else path


def _to_json(schema: SchemaText) -> dict[str, Any]:
    """Return the request body of a schema; empty members are omitted, the type never is."""
    members: dict[str, Any] = {"schemaType": schema.schema_type}
    if schema.references:
        members["references"] = [
            {"name": each.name, "subject": each.subject, "version": each.version} for each in schema.references
        ]
    members["schema"] = schema.text
    return members


def _from_json(members: Mapping[str, Any], with_id: int | None) -> RegisteredSchema:
    schema_id, version = members.get("id", with_id), members.get("version")
    if schema_id is not None and not 0 <= int(schema_id) <= _MOST_ID:
        raise ValueError("an id of more than 4 bytes")
    return RegisteredSchema(
        None if schema_id is None else int(schema_id),
        members.get("guid"),
        members.get("subject"),
        None if version is None else int(version),
        _text_from_json(members) if members.get("schema") is not None else None,
    )


def _text_from_json(members: Mapping[str, Any]) -> SchemaText:
    references = tuple(
        Reference(str(each["name"]), str(each["subject"]), int(each["version"]))
        for each in members.get("references") or ()
    )
    kind = str(members.get("schemaType") or AVRO)
    return SchemaText(kind, str(members["schema"]), references, members.get("metadata"), members.get("ruleSet"))


def _short(answer: Any) -> str:
    text = json.dumps(answer)
    return text if len(text) <= 200 else text[:200] + "..."
