"""A client for Kafka Connect's REST API that returns responses unchecked."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass
from typing import Any

_TIMEOUT = 100.0  # Kafka Connect itself gives up after 90 seconds


@dataclass(frozen=True)
class Answer:
    """A response; `json` is None if the body is empty or not JSON."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        """Return the body as data."""
        try:
            return json.loads(self.text) if self.text else None
        except ValueError:
            return None


class RestClient:
    """Sends requests to one worker on 127.0.0.1."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.timeout = _TIMEOUT

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        content_type: str | None = "application/json",
        accept: str | None = None,
    ) -> Answer:
        """Send one request; a `str` body is sent unchanged, any other as JSON.

        Without `content_type` and `accept` the request has no such headers, also if it has a body.
        """
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.timeout)
        try:
            data = body if isinstance(body, str) or body is None else json.dumps(body)
            headers = {"Content-Type": content_type} if data is not None and content_type is not None else {}
            if accept is not None:
                headers["Accept"] = accept
            connection.request(method, path, data, headers)
            answer = connection.getresponse()
            fields = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, fields, answer.read().decode())
        finally:
            connection.close()

    def create(self, config: dict[str, str]) -> Answer:
        """Post a connector whose configuration contains its name."""
        return self.call("POST", "/connectors", {"name": config["name"], "config": config})

    def status(self, name: str) -> Any:
        """Return a connector's status."""
        return self.call("GET", f"/connectors/{name}/status").json

    def states(self, name: str) -> list[str]:
        """Return the states of a connector and of its tasks; empty if it does not exist."""
        answer = self.call("GET", f"/connectors/{name}/status")
        if answer.status != 200:
            return []
        status = answer.json
        return [status["connector"]["state"], *(task["state"] for task in status["tasks"])]

    def is_up(self) -> bool:
        """Return whether the API responds."""
        try:
            return self.call("GET", "/connectors").status == 200
        except (OSError, http.client.HTTPException):
            return False
