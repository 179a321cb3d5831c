"""A schema registry over HTTP for tests: it responds as Confluent's does, and fails on request."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from hearth_registry.memory_registry import MemoryRegistry
from hearth_registry.registry import LATEST, RegisteredSchema, RegistryRefusal
from hearth_registry.schema_text import AVRO, Reference, SchemaText

Fault = Callable[[str, str], "tuple[int, bytes] | None"]
"""Returns the response for a method and path, a status and a body, or None for the regular one."""


class RegistryServer(ThreadingHTTPServer):
    """Serves an in-memory registry on a free local port."""

    daemon_threads = True

    def __init__(self, registry: MemoryRegistry | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.registry = registry or MemoryRegistry()
        self.requests: list[str] = []
        """Method and path of every request, in order."""
        self.bodies: list[Any] = []
        self.headers: list[dict[str, str]] = []
        self.fault: Fault = lambda _method, _path: None
        self.reads_json = True
        self.announced = 0
        """How many bytes the Content-Length exceeds the body by."""
        self.is_old = False
        """Whether it responds like versions before 8.0: registration returns an id, and there are no associations."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that close the connection."""

    @property
    def url(self) -> str:
        """Return its address."""
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def serving(registry: MemoryRegistry | None = None) -> Iterator[RegistryServer]:
    """Serve while the block runs."""
    with RegistryServer(registry) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: RegistryServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer("GET")

    def do_POST(self) -> None:
        self._answer("POST")

    def log_message(self, *_: Any) -> None:
        """Log nothing."""

    def _answer(self, method: str) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        sent = self.rfile.read(length).decode()
        body = (json.loads(sent) if self.server.reads_json else sent) if length else None
        self.server.requests.append(f"{method} {self.path}")
        self.server.bodies.append(body)
        self.server.headers.append(dict(self.headers))
        fault = self.server.fault(method, self.path)
        status, content = self._found(method, body) if fault is None else fault
        self.send_response(status)
        self.send_header("Content-Length", str(len(content) + self.server.announced))
        self.close_connection = True
        self.end_headers()
        self.wfile.write(content)

    def _found(self, method: str, body: Any) -> tuple[int, bytes]:
        url = urlsplit(self.path)
        parts = [unquote(part) for part in url.path.strip("/").split("/")]
        query = {name: values[-1] for name, values in parse_qs(url.query).items()}
        try:
            answer = self._route(method, parts, query, body)
        except RegistryRefusal as refusal:
            status, answer = refusal.status, {"error_code": refusal.error_code, "message": refusal.args[0]}
            return status, json.dumps(answer).encode()
        if answer is None:
            return 404, b'{"error_code":404,"message":"HTTP 404 Not Found"}'
        return 200, json.dumps(answer).encode()

    def _route(self, method: str, parts: list[str], query: dict[str, str], body: Any) -> Any:
        registry, deleted = self.server.registry, query.get("deleted") == "true"
        match method, parts:
            case "POST", ["subjects", subject, "versions"]:
                found = registry.register(subject, _text(body))
                return {"id": found.schema_id} if self.server.is_old else _members(found)
            case "POST", ["subjects", subject]:
                return _members(registry.look_up(subject, _text(body), deleted=deleted))
            case "GET", ["schemas", "ids", schema_id]:
                return _members(registry.by_id(int(schema_id), query.get("subject")), without=("id", "guid"))
            case "GET", ["schemas", "guids", guid] if not self.server.is_old:
                return _members(registry.by_guid(guid))
            case "GET", ["subjects", subject, "versions", version]:
                number = LATEST if version == "latest" else int(version)
                return _members(registry.by_version(subject, number, deleted))
            case "GET", ["subjects", subject, "metadata"]:
                pairs = parse_qs(urlsplit(self.path).query)
                return _members(registry.by_metadata(subject, dict(zip(pairs["key"], pairs["value"]))))
            case "GET", ["associations", "resources", cluster, topic] if not self.server.is_old:
                found_subjects = registry.associated_subjects(cluster, topic, query["associationType"] == "key")
                return [{"subject": each} for each in found_subjects]
            case "POST", ["compatibility", "subjects", subject, "versions"]:
                against = registry.incompatibilities(subject, _text(body))
                return {"is_compatible": not against, "messages": against}
            case "GET", ["config", *_]:
                return {"compatibilityLevel": registry.level}
        return None


def _text(body: Any) -> SchemaText:
    references = tuple(Reference(**each) for each in body.get("references") or ())
    return SchemaText(body.get("schemaType", AVRO), body["schema"], references, body.get("metadata"))


def _members(found: RegisteredSchema, without: tuple[str, ...] = ()) -> dict[str, Any]:
    text = found.text
    assert text is not None
    members = {
        "id": found.schema_id,
        "guid": found.guid,
        "subject": found.subject,
        "version": found.version,
        "schema": text.text,
        "schemaType": None if text.schema_type == AVRO else text.schema_type,
        "references": [vars(each) for each in text.references] or None,
        "metadata": text.metadata,
        "ruleSet": text.rules,
    }
    return {name: value for name, value in members.items() if value is not None and name not in without}
