"""The REST server of a real host: with TLS, and with a REST extension from a bundle."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Mapping
from pathlib import Path

from tests.integration.conftest import Host


def asked(host: Host, path: str, headers: Mapping[str, str] | None = None) -> tuple[int, str]:
    """Return status and text of a TLS response, with a client that trusts only this host's certificate."""
    context = ssl.create_default_context(cafile=str(host.certificate))
    context.check_hostname = False
    connection = http.client.HTTPSConnection("127.0.0.1", host.https_port, timeout=30, context=context)
    connection.request("GET", path, headers=dict(headers or {}))
    answer = connection.getresponse()
    status, text = answer.status, answer.read().decode()
    connection.close()
    return status, text


def test_a_bundles_extension_filters_tls_requests(host: Host, name: str, tmp_path: Path) -> None:
    """It runs in its own process; it rejects requests, and reports running connectors."""
    (tmp_path / "in.txt").write_text("a line\n")
    host.run({"name": name, "connector.class": "FileStreamSource", "file": str(tmp_path / "in.txt"), "topic": name})
    status, text = asked(host, f"/doorman/{name}")
    response = json.loads(text)
    assert (status, response["running"]) == (200, 1)
    assert response["pid"] != host.pid
    assert asked(host, "/connectors", {"Doorman": "no"}) == (403, "not today")
    assert name in json.loads(asked(host, "/connectors")[1])
    assert asked(host, "/doorman/nobody")[0] == 404
