"""The OpenAPI document: what it says of the API is what the API does."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

from tests.unit.rest.client import CONFIG, Client

KAFKAS = {
    "alterConnectorOffsets", "createConnector", "destroyConnector", "getConnector", "getConnectorActiveTopics",
    "getConnectorConfig", "getConnectorConfigDef", "getConnectorStatus", "getOffsets", "getTaskConfigs",
    "getLogger", "getTaskStatus", "healthCheck", "listConnectorPlugins", "listConnectors", "listLoggers",
    "patchConnectorConfig", "pauseConnector", "setLevel",
    "putConnectorConfig", "resetConnectorActiveTopics", "resetConnectorOffsets", "restartConnector", "restartTask",
    "resumeConnector", "serverInfo", "stopConnector", "validateConfigs",
}  # fmt: skip
"""The operations of Kafka Connect's own document."""
BY_NAME = {
    "alterConnectorOffsets", "destroyConnector", "getConnector", "getConnectorActiveTopics", "getConnectorConfig",
    "getConnectorStatus", "getOffsets", "getTaskConfigs", "getTaskStatus", "patchConnectorConfig", "pauseConnector",
    "putConnectorConfig", "resetConnectorActiveTopics", "resetConnectorOffsets", "restartConnector", "restartTask",
    "resumeConnector", "stopConnector",
}  # fmt: skip
"""Those of one connector, which are there again with its name as a parameter."""
OWN = {
    "explainConnector", "explainConnectorByName", "getHearthConnector", "getHearthConnectorByName", "listLogLines",
    "listLogLinesByName", "listOwners", "listReports",
    "listDeadLetters", "previewConnector", "replayDeadLetters", "setOwner",
    "createWorkerConfiguration", "deleteWorkerConfiguration", "getWorkerConfiguration", "listWorkerConfigurations",
    "installBundle", "listBundles", "liveness", "metrics", "removeBundle", "rollBackBundle",
    *(f"{each}ByName" for each in BY_NAME),
}  # fmt: skip


def operations(document: dict[str, Any]) -> dict[str, tuple[str, str, dict[str, Any]]]:
    """Return method, path and description of each operation by its name."""
    return {
        operation["operationId"]: (method.upper(), path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }


def resolved(schema: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    """Return a schema without references to others."""
    name = schema.get("$ref", "").rpartition("/")[2]
    return document["components"]["schemas"][name] if name else schema


def fits(value: Any, schema: dict[str, Any], document: dict[str, Any]) -> bool:
    """Return whether a value matches a schema exactly; only the features that the document uses are supported."""
    schema = resolved(schema, document)
    if several := schema.get("oneOf") or schema.get("anyOf") or schema.get("allOf"):
        return (value is None and schema.get("nullable", False)) or any(
            fits(value, each, document) for each in several
        )
    if value is None:
        return bool(schema.get("nullable"))
    if schema["type"] == "array":
        return isinstance(value, list) and all(fits(item, schema["items"], document) for item in value)
    if schema["type"] == "object":
        known, more = schema.get("properties", {}), schema.get("additionalProperties")
        return (
            isinstance(value, dict)
            and set(schema.get("required", ())) <= set(value)
            and all(
                fits(item, known[key], document)
                if key in known
                else more is True or bool(more and fits(item, more, document))
                for key, item in value.items()
            )
        )
    if schema["type"] == "number":
        return type(value) in (int, float)
    kinds: dict[str, type[Any]] = {"string": str, "integer": int, "boolean": bool}
    return type(value) is kinds[schema["type"]] and value in schema.get("enum", [value])


def test_it_names_kafkas_operations_and_serves_each(client: Client) -> None:
    """And Hearth's own, no more and no fewer; a method of a path is answered, be it with an error of its own."""
    document = client.call("GET", "/openapi.json").json
    found = operations(document)
    assert set(found) == KAFKAS | OWN
    for name, (method, path, operation) in found.items():
        assert operation["summary"].endswith("."), name
        allowed = client.call("OPTIONS", re.sub(r"\{\w+\}", "0", path)).headers["allow"].split(",")
        assert method in allowed, name


def test_answers_match_the_document(client: Client) -> None:
    """Every entity that travels, with a connector that runs."""
    document = client.call("GET", "/openapi.json").json
    found = operations(document)
    client.create("c")
    bodies = {
        "createConnector": {"name": "d", "config": CONFIG},
        "putConnectorConfig": CONFIG,
        "putConnectorConfigByName": CONFIG,
        "patchConnectorConfig": {"a": "b"},
        "patchConnectorConfigByName": {"a": "b"},
        "validateConfigs": CONFIG,
    }
    paths = {
        "pluginName": "FileStreamSource",
        "connector": "c",
        "task": "0",
        "configuration": "default",
        "logger": "root",
    }

    def addressed(path: str) -> str:
        query = "?name=c" if path.startswith("/hearth/") else ""
        return re.sub(r"\{(\w+)\}", lambda part: paths[part[1]], path) + query

    asked = {
        name: client.call(method, addressed(path), bodies.get(name))
        for name, (method, path, _) in found.items()
        if (method == "GET" and name not in ("metrics", "listDeadLetters")) or name in bodies
    }  # the metrics are no JSON, and dead letters need a broker
    for query in ("?expand=info&expand=status", "?expand=info"):
        asked[f"listConnectors{query}"] = client.call("GET", f"/connectors{query}")
    asked["listConnectorPlugins?"] = client.call("GET", "/connector-plugins?connectorsOnly=false")
    for name, answer in asked.items():
        responses = found[name.partition("?")[0]][2]["responses"]
        assert str(answer.status) in responses, (name, answer)
        schema = responses[str(answer.status)]["content"]["application/json"]["schema"]
        assert fits(answer.json, schema, document), (name, answer.text, schema)
    refused = client.call("GET", "/connectors/nobody")
    assert fits(refused.json, document["components"]["schemas"]["ErrorMessage"], document)


def test_every_reference_leads_somewhere(client: Client) -> None:
    """And everything that is described is used."""
    document = client.call("GET", "/openapi.json")
    used = set(re.findall(r'"#/components/schemas/(\w+)"', document.text))
    assert used == set(document.json["components"]["schemas"])


class Page(HTMLParser):
    """What a page loads, links to, and has for links to lead to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: set[str] = set()
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag brings in."""
        found = dict(attrs)
        self.loads += [str(found[name]) for name in ("src", "data") if name in found]
        self.loads += [str(found["href"])] if tag == "link" else []
        self.links |= {str(found["href"])} if tag == "a" else set()
        self.ids |= {str(found["id"])} if "id" in found else set()


def test_its_page_needs_nothing_but_itself(client: Client) -> None:
    """No script and no font of elsewhere: a worker may have no way to the internet, nor may its reader."""
    answer = client.call("GET", "/openapi.html")
    page = Page(answer.text)
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert page.loads == []
    assert {link.removeprefix("#") for link in page.links if link.startswith("#")} <= page.ids
    assert {link for link in page.links if not link.startswith("#")} == {"openapi.json"}
    document = client.call("GET", "/openapi.json").json
    assert all(f"<code>{path}</code>" in answer.text for path in document["paths"])
